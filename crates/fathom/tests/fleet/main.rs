//! One test on several hosts: namespaces of this machine, joined by MPI, TCP, or pipes.
#![allow(clippy::unwrap_used, reason = "tests fail by it")]
#![cfg(target_os = "linux")]

mod clients;
mod interrupted;
mod launched;
mod libraries;
mod lost;
mod shared;
mod strangers;
mod studies;
mod unreached;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use model::fleet::RankFacts;
use model::results::{JobResults, Results};
use model::{Nanos, PerDirection};
use run::hosts::{Comm, Duplex, Incoming, Role, StreamComm, accept_session};
use testbed::{Directory, Hosts, Slurm, TmpFs, Unavailable, need};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fathom");
/// No test takes longer, whatever is lost.
const WATCHDOG: Duration = Duration::from_secs(60);
const TOKEN: &str = "0123456789abcdef";

/// What a process left.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
    took: Duration,
}

fn own<'a>(command: &'a mut Command, journal: &Path) -> &'a mut Command {
    command
        .env("FATHOM_HISTORY", "off")
        .env("FATHOM_JOURNAL", journal)
        .env("FATHOM_TOKEN", TOKEN)
        .env_remove("FATHOM_ALLOW_DESTROY")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
}

/// Waits for a process, and kills it where it takes too long.
fn end(mut child: Child) -> Ran {
    let begun = Instant::now();
    while begun.elapsed() < WATCHDOG && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let took = begun.elapsed();
    let _ = child.kill();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    Ran {
        code: status.code(),
        out: String::from_utf8_lossy(&stdout).into_owned(),
        err: String::from_utf8_lossy(&stderr).into_owned(),
        took,
    }
}

impl Ran {
    #[track_caller]
    fn expect(&self, code: i32, parts: &[&str]) -> &Ran {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        assert!(self.took < WATCHDOG, "it hung");
        for part in parts {
            let there = self.out.contains(part) || self.err.contains(part);
            assert!(there, "`{part}` is missing:\n{}\n{}", self.out, self.err);
        }
        self
    }
}

/// A place with a job file.
struct Ground {
    folder: Directory,
}

impl Ground {
    /// In memory: what hosts do among themselves is the subject, and launchers wait for no disk.
    fn new(job: &str) -> Option<Ground> {
        let folder = need(Directory::fast())?;
        fs::write(folder.path().join("job.toml"), job).unwrap();
        Some(Ground { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn journal(&self) -> PathBuf {
        self.path("journal")
    }

    /// The words of a run that saves its result under a name.
    fn words(&self, saved: &str) -> Vec<String> {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        [
            "run".into(),
            text(self.path("job.toml")),
            "--quiet".into(),
            "--save".into(),
            text(self.path(saved)),
        ]
        .into()
    }

    fn saved(&self, name: &str) -> Results {
        archive::load(&self.path(name)).unwrap()
    }

    /// `fathom run --hosts` on the first host, or here.
    fn with_hosts(&self, hosts: Option<&Hosts>, list: &str, saved: &str) -> Child {
        let mut command = match hosts {
            Some(hosts) => hosts.on(0, PROGRAM),
            None => Command::new(PROGRAM),
        };
        let agent = hosts.map(|hosts| hosts.agent().to_owned()).unwrap_or_default();
        own(&mut command, &self.journal())
            .args(self.words(saved))
            .args(["--hosts", list])
            .env("FATHOM_SSH", agent)
            .env("FATHOM_REMOTE", PROGRAM)
            .spawn()
            .unwrap()
    }

    /// A worker on each host that waits at a port for one test.
    fn workers(&self, hosts: &Hosts) -> Vec<Child> {
        let numbers = 0..hosts.names().len();
        let worker = |number: usize| {
            let mut command = hosts.on(number, PROGRAM);
            own(&mut command, &self.journal())
                .args(["agent", "--listen", "0.0.0.0:7745", "--once"])
                .spawn()
                .unwrap()
        };
        let workers = numbers.map(worker).collect();
        std::thread::sleep(Duration::from_millis(500));
        workers
    }

    /// What `fathom recover` makes of what the ranks kept.
    fn recovered(&self) -> Results {
        let mut command = Command::new(PROGRAM);
        let journal = self.journal();
        let recover = own(&mut command, &journal)
            .arg("recover")
            .arg(&journal)
            .arg("--save")
            .arg(self.path("recovered"))
            .spawn()
            .unwrap();
        end(recover).expect(6, &["journal entries of each host", "IOPS", "INTERRUPTED"]);
        self.saved("recovered")
    }

    /// Three ranks on this machine by Open MPI 5, which lets the others live where one dies.
    fn with_ulfm(&self, folder: &Path, saved: &str) -> Child {
        let mut command = Command::new(folder.join("bin/mpirun"));
        command
            .args(["--with-ft", "ulfm", "--oversubscribe", "-n", "3"])
            .env("PRTE_ALLOW_RUN_AS_ROOT", "1")
            .env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        own(&mut command, &self.journal())
            .arg(PROGRAM)
            .args(self.words(saved))
            .spawn()
            .unwrap()
    }

    /// Three ranks by a launcher of MPI, one on each host.
    fn with_mpi(&self, hosts: &Hosts, launcher: &str, saved: &str) -> Child {
        let agent = hosts.agent().to_str().unwrap();
        let list: Vec<String> = hosts.names().iter().map(|name| format!("{name}:1")).collect();
        let list = list.join(",");
        let mut command = hosts.on(0, launcher);
        match launcher {
            "mpirun.openmpi" => command.args([
                "--host", &list, "-n", "3", "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca",
                "btl_tcp_if_include", "e0", "--mca", "oob_tcp_if_include", "e0", "-x", "FATHOM_HISTORY", "-x",
                "FATHOM_JOURNAL",
            ]),
            _ => command.args(["-launcher", "ssh", "-launcher-exec", agent, "-hosts", &list, "-n", "3"]),
        };
        own(&mut command, &self.journal())
            .arg(PROGRAM)
            .args(self.words(saved))
            .spawn()
            .unwrap()
    }
}

const SIMULATED: &str = "seed = 7\n[[job]]\nname = \"r\"\ntarget = \"simulated:disk\"\ndepth = 4\nread = 70\noperations = 5000\n\
                         [simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"exponential 100us\"\n";

/// What is added up of all ranks: series, histograms by interval, operations of each rank by
/// interval.
fn added(results: &Results) -> Vec<JobResults> {
    let mut jobs = results.steps[0].jobs.clone();
    // What a worker has used of its machine differs; what it has measured is looked at elsewhere.
    jobs.iter_mut().for_each(|job| job.workers.clear());
    jobs
}

/// What must be the same however the messages went.
fn measured(results: &Results) -> Vec<(u32, u32, PerDirection<Option<model::results::DirectionResults>>, Nanos)> {
    let workers = results.steps[0].jobs[0].workers.iter();
    let one = |worker: &model::results::WorkerResults| {
        let part = JobResults {
            workers: vec![worker.clone()],
            ..JobResults::default()
        };
        let directions = part.directions().map(|found| found.clone().map(Cow::into_owned));
        (worker.rank, worker.worker, directions, worker.measured_ns)
    };
    workers.map(one).collect()
}

/// The list of hosts with [`Ground::workers`].
fn by_tcp(hosts: &Hosts) -> String {
    let one = |name: &String| format!("tcp://{name}:7745");
    hosts.names().iter().map(one).collect::<Vec<_>>().join(",")
}

fn ranks(results: &Results) -> &[RankFacts] {
    &results.fleet.as_ref().unwrap().ranks
}

#[test]
fn the_carrier_changes_nothing() {
    let Some(hosts) = need(Hosts::with_count(3)) else {
        return;
    };
    // Some intervals of a second.
    let job = SIMULATED.replace("operations = 5000", "operations = 100000");
    let Some(ground) = Ground::new(&job) else { return };
    end(ground.with_hosts(None, "local,local,local", "pipes")).expect(0, &["by pipes"]);
    let list = hosts.names().join(",");
    end(ground.with_hosts(Some(&hosts), &list, "ssh")).expect(0, &["by ssh"]);
    let workers = ground.workers(&hosts);
    end(ground.with_hosts(Some(&hosts), &by_tcp(&hosts), "tcp")).expect(0, &["by TCP"]);
    for worker in workers {
        end(worker).expect(0, &[]);
    }
    for (launcher, saved) in [("mpirun.openmpi", "open-mpi"), ("mpirun.mpich", "mpich")] {
        end(ground.with_mpi(&hosts, launcher, saved)).expect(0, &["by MPI ("]);
    }
    let by_pipes = ground.saved("pipes");
    let expected = measured(&by_pipes);
    assert_eq!(expected.len(), 3);
    let job = &by_pipes.steps[0].jobs[0];
    assert!(
        job.series.iter().any(|series| series.points.read.len() > 1),
        "{:?}",
        job.series
    );
    assert_eq!(job.rank_series.len(), 3);
    let operations = job.total().operations;
    assert_eq!(operations, 300_000);
    // Each rank has drawn its own numbers.
    assert_ne!(expected[0].2, expected[1].2);
    for saved in ["ssh", "tcp", "open-mpi", "mpich"] {
        let results = ground.saved(saved);
        assert_eq!(measured(&results), expected, "{saved}");
        assert_eq!(added(&results), added(&by_pipes), "{saved}");
        assert_eq!(
            results.steps[0].jobs[0].total(),
            by_pipes.steps[0].jobs[0].total(),
            "{saved}"
        );
        let names: Vec<&str> = ranks(&results).iter().map(|rank| rank.host.as_str()).collect();
        assert_eq!(names, hosts.names(), "{saved}");
        for rank in ranks(&results) {
            assert!(
                rank.starts_ns.len() == 1 && rank.starts_ns[0].abs() < 1_000_000_000,
                "{saved}: {rank:?}"
            );
            // There is one clock in truth; each process counts from its own start.
            assert!(rank.lost.is_none() && rank.ended_ns.is_some(), "{saved}: {rank:?}");
        }
    }
}

#[test]
fn slurm_starts_them_too() {
    let Some(slurm) = need(Slurm::new()) else { return };
    let Some(ground) = Ground::new(SIMULATED) else { return };
    end(ground.with_hosts(None, "local,local,local", "pipes")).expect(0, &[]);
    let by_srun = |mpi: &str, saved: &str, head: Option<&str>| {
        let mut command = slurm.command("srun");
        let words = [mpi, "--ntasks=3", PROGRAM];
        end(own(&mut command, &ground.journal())
            .args(words)
            .args(ground.words(saved))
            .envs(head.map(|head| ("FATHOM_HEAD", head)))
            .spawn()
            .unwrap())
    };
    by_srun("--mpi=pmi2", "slurm", None).expect(0, &["by MPI (MPICH"]);
    assert_eq!(measured(&ground.saved("slurm")), measured(&ground.saved("pipes")));
    if need(slurm.has_pmix()).is_some() {
        by_srun("--mpi=pmix", "pmix", None).expect(0, &["by MPI (Open MPI"]);
        assert_eq!(measured(&ground.saved("pmix")), measured(&ground.saved("pipes")));
    }
    by_srun("--mpi=none", "none", None).expect(3, &["one of 3 processes", "srun --mpi=pmix", "FATHOM_HEAD"]);
    // The list of Slurm names the host of the first.
    by_srun("--mpi=none", "met", Some(":7746")).expect(0, &["by TCP"]);
    assert_eq!(measured(&ground.saved("met")), measured(&ground.saved("pipes")));
}

#[test]
fn the_total_is_the_sum_of_the_ranks() {
    let Some(ground) = Ground::new(
        "[[job]]\nname = \"w\"\ntarget = \"%h-%r.dat\"\nsize = \"8m\"\nread = 50\ndepth = 4\ntime = \"2s\"\nlog = \"log\"\n",
    ) else {
        return;
    };
    let folder = ground.folder.path().to_owned();
    let mut command = Command::new(PROGRAM);
    let child = own(&mut command, &ground.journal())
        .args(ground.words("saved"))
        .args(["--hosts", "local,local,local"])
        .current_dir(&folder)
        .spawn()
        .unwrap();
    end(child).expect(0, &[]);
    let results = ground.saved("saved");
    let total = results.steps[0].jobs[0].total();
    // Every rank has written down each of its operations.
    let mut lines = 0;
    let mut buckets = model::histogram::Histogram::new();
    for rank in 0..3 {
        let text = fs::read_to_string(folder.join(format!("log.{rank}"))).unwrap();
        let mut rows = text.lines();
        let header: Vec<&str> = rows.next().unwrap().split(',').collect();
        let column = header.iter().position(|name| name.starts_with("total")).unwrap();
        for row in rows {
            lines += 1;
            buckets.record(row.split(',').nth(column).unwrap().parse().unwrap());
        }
    }
    assert_eq!(total.operations, lines);
    assert_eq!(total.total, buckets);
    for rank in ranks(&results) {
        // Workers are let go half a millisecond after their process is.
        assert!(rank.starts_ns.len() == 1 && rank.starts_ns[0] > 300_000, "{rank:?}");
    }
    assert!(!ground.journal().join("x").exists());
    let left = fs::read_dir(ground.journal()).map_or(0, Iterator::count);
    assert_eq!(left, 0, "what has arrived is not kept");
}

/// Waits until every rank of a run keeps something of it.
fn kept_by(ground: &Ground, ranks: usize) {
    let begun = Instant::now();
    let count = || {
        let folders = fs::read_dir(ground.journal()).into_iter().flatten().flatten();
        folders
            .map(|folder| fs::read_dir(folder.path()).map_or(0, Iterator::count))
            .max()
            .unwrap_or(0)
    };
    while count() < ranks {
        assert!(begun.elapsed() < Duration::from_secs(40), "nothing is kept");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Processes of this test alone: those that have its journal in their environment.
fn processes(ground: &Ground, with_word: &str) -> Vec<u32> {
    let marked = format!("FATHOM_JOURNAL={}", ground.journal().display());
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut found: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| {
            let read = |what: &str| fs::read(format!("/proc/{process}/{what}")).unwrap_or_default();
            let has = |bytes: &[u8], word: &str| bytes.split(|byte| *byte == 0).any(|one| one == word.as_bytes());
            let is_ours = fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|path| path == Path::new(PROGRAM));
            is_ours && has(&read("environ"), &marked) && has(&read("cmdline"), with_word)
        })
        .collect();
    found.sort_unstable();
    found
}

/// The process of a rank, by the variable that its launcher sets.
fn of_rank(processes: &[u32], rank: u32) -> u32 {
    let words = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].map(|name| format!("{name}={rank}"));
    let is_it = |process: &&u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|one| words.iter().any(|word| one == word.as_bytes()))
    };
    *processes.iter().find(is_it).expect("each rank has a process")
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Time in which every rank has reported some intervals.
fn let_it_measure() {
    std::thread::sleep(Duration::from_millis(3500));
}

const ON_FILES: &str = "[[job]]\nname = \"w\"\ntarget = \"/TMP/%r.dat\"\nsize = \"8m\"\nread = 50\ndepth = 2\ntime = \"40s\"\nrate = \"200iops\"\n";

fn long() -> Option<Ground> {
    let ground = Ground::new("")?;
    let job = ON_FILES.replace("/TMP", ground.folder.path().to_str().unwrap());
    fs::write(ground.path("job.toml"), job).unwrap();
    Some(ground)
}

/// A promise is about all hosts together.
#[test]
fn what_is_promised_is_divided_among_hosts() {
    let Some(ground) = Ground::new(SIMULATED) else { return };
    let mut command = Command::new(PROGRAM);
    let child = own(&mut command, &ground.journal())
        .args([
            "verify", "--hosts", "local,local", "--require", "iops>=1000,p99<=3ms", "--quiet",
        ])
        .args(["--time", "2s", "--warm-up", "500ms", "--preflight", "0", "--save"])
        .args([ground.path("saved"), ground.path("job.toml")])
        .arg("--junit")
        .arg(ground.path("junit.xml"))
        .spawn()
        .unwrap();
    // Who reads it must know of how many it speaks.
    end(child).expect(0, &["PASS", "by 2 processes on ", "its part of the rate"]);
    let junit = fs::read_to_string(ground.path("junit.xml")).unwrap();
    assert!(
        junit.contains("issued_by") && junit.contains("2 processes on "),
        "{junit}"
    );
    let results = ground.saved("saved");
    let of_each: Vec<u64> = measured(&results)
        .iter()
        .map(|(_, _, found, _)| found.read.as_ref().unwrap().operations)
        .collect();
    assert_eq!(of_each.len(), 2);
    assert!(
        of_each.iter().all(|operations| (900..=1100).contains(operations)),
        "{of_each:?}"
    );
}

#[test]
fn two_hosts_are_compared_in_turns() {
    let Some(ground) = Ground::new("") else { return };
    let file = ground.path("f.dat");
    fs::write(&file, vec![7; 1 << 20]).unwrap();
    let compare = |list: &str, more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        let child = own(&mut command, &ground.journal())
            .args(["ab", "--on", list, file.to_str().unwrap(), "--quiet"])
            .args(["--time", "200ms", "--warm-up", "0", "--out", "json"])
            .args(more)
            .spawn()
            .unwrap();
        end(child)
    };
    let saved = ground.path("study");
    compare("local,local", &["--save", saved.to_str().unwrap()]).expect(0, &["\"margin\""]);
    let study = archive::load_study(&saved).unwrap();
    assert_eq!(study.runs.len(), 12);
    for run in &study.runs {
        let results = &run.results;
        assert_eq!(ranks(results).len(), 1);
        assert!(results.steps[0].jobs[0].total().operations > 0);
    }
    let mut command = Command::new(PROGRAM);
    let child = own(&mut command, &ground.journal())
        .args(["ab", "--mirror", "--from", saved.to_str().unwrap()])
        .spawn()
        .unwrap();
    end(child).expect(0, &["mirror"]);
    let mut command = Command::new(PROGRAM);
    let child = own(&mut command, &ground.journal())
        .args([
            "ab",
            "--on",
            "local,local",
            "--target",
            file.to_str().unwrap(),
            "--quiet",
        ])
        .args(["--time", "50ms", "--warm-up", "0", "--out", "json"])
        .spawn()
        .unwrap();
    end(child).expect(0, &["\"margin\""]);
    compare("local", &[]).expect(4, &["two hosts"]);
    compare("local,nonsense://x", &[]).expect(3, &["nonsense"]);
}

#[test]
fn a_host_that_cannot_take_part_is_named_before_anything_is_measured() {
    // A target that is not there on one of them.
    let Some(small) = need(TmpFs::of_size(4 << 20)) else {
        return;
    };
    let Some(ground) = Ground::new("") else { return };
    let there = ground.path("0.dat");
    fs::write(&there, vec![7; 1 << 20]).unwrap();
    let job = format!(
        "[[job]]\nname = \"r\"\ntarget = \"{}/%r.dat\"\ntime = \"20s\"\n",
        ground.folder.path().display()
    );
    fs::write(ground.path("job.toml"), job).unwrap();
    let refused = end(ground.with_hosts(None, "local,local", "saved"));
    refused.expect(3, &["rank 1", "1.dat"]);
    // No host was lost, and each says why once.
    assert!(!refused.err.contains("lost"), "{}", refused.err);
    assert_eq!(refused.err.matches("1.dat").count(), 1, "{}", refused.err);
    // All leave in order, so that no launcher makes another exit code of it.
    for launcher in ["mpirun.openmpi", "mpirun.mpich"] {
        let mut command = Command::new(launcher);
        let own = own(&mut command, &ground.journal());
        let words = if launcher == "mpirun.mpich" {
            vec!["-n", "2"]
        } else {
            vec!["--oversubscribe", "-n", "2"]
        };
        let words = [words, vec![PROGRAM, "run"]].concat();
        let started = own.args(words).arg(ground.path("job.toml")).spawn();
        let missing = |error| Unavailable::because(format!("{launcher}: {error}"));
        let Some(child) = need(started.map_err(missing)) else {
            return;
        };
        end(child).expect(3, &["rank 1", "1.dat"]);
    }
    // A disk that is full on one of them.
    let room = small.path().display();
    let link = ground.path("1");
    fs::create_dir(ground.path("0")).unwrap();
    std::os::unix::fs::symlink(small.path(), &link).unwrap();
    let job = format!(
        "[[job]]\nname = \"w\"\ntarget = \"{}/%r/f.dat\"\nsize = \"16m\"\nwrite = 100\ntime = \"20s\"\n",
        ground.folder.path().display()
    );
    fs::write(ground.path("job.toml"), job).unwrap();
    end(ground.with_hosts(None, "local,local", "saved")).expect(3, &["rank 1"]);
    assert!(
        !ground.path("0/f.dat").exists(),
        "what was prepared elsewhere is removed; {room}"
    );
}

#[test]
fn a_wrong_token_or_version_is_refused() {
    let Some(ground) = Ground::new(SIMULATED) else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let mut command = Command::new(PROGRAM);
    let mut worker = own(&mut command, &ground.journal())
        .args(["agent", "--listen", &port.to_string()])
        .env("FATHOM_TOKEN", "another-token-of-16")
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let list = format!("tcp://127.0.0.1:{port}");
    end(ground.with_hosts(None, &list, "saved")).expect(3, &["the same token", "help: set FATHOM_TOKEN"]);
    let _ = worker.kill();
    let _ = worker.wait();

    // One that says it is another version.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let old = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let session = accept_session(&mut stream, Role::Agent, TOKEN, || true).unwrap();
        let halves = (stream.try_clone().unwrap(), stream);
        let comm = StreamComm::new(
            1,
            2,
            vec![Duplex::sealed(Box::new(halves.0), Box::new(halves.1), session)],
            "TCP",
        );
        let hello = r#"{"Hello":{"protocol":1,"version":"0.0.1","host":{"name":"old","system":"","kernel":"","architecture":""},"widened_from":null}}"#;
        comm.send(0, hello.as_bytes());
        // Until the coordinator has left.
        while !matches!(comm.receive(WATCHDOG), None | Some(Incoming::Lost { .. })) {}
    });
    let list = format!("tcp://127.0.0.1:{port}");
    end(ground.with_hosts(None, &list, "saved")).expect(3, &["old", "fathom 0.0.1", "install the same version"]);
    old.join().unwrap();
}

#[test]
fn a_launcher_without_its_library_says_what_to_install() {
    let mut command = Command::new(PROGRAM);
    let folder = std::env::temp_dir();
    let child = own(&mut command, &folder)
        .args(["run", "--target", "simulated:x"])
        .env("PMI_SIZE", "4")
        .env("FATHOM_MPI_LIBRARY", "/nonexistent/libmpi.so")
        .spawn()
        .unwrap();
    end(child).expect(3, &["one of 4 processes", "/nonexistent/libmpi.so", "MPICH"]);
}
