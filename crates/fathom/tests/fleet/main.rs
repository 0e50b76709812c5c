//! One test on several hosts: namespaces of this machine, joined by MPI, TCP, or pipes.
#![allow(clippy::unwrap_used, reason = "tests fail by it")]
#![cfg(target_os = "linux")]

#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "shared with the tests of our own command line")]
mod calling;
mod clients;
mod interrupted;
mod launched;
mod libraries;
mod lost;
mod shared;
mod strangers;
mod studies;
mod unreached;
mod vdbench;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use calling::{PROGRAM, Ran, kill, wait_until};
use model::fleet::RankFacts;
use model::results::{JobResults, Results};
use model::{Nanos, PerDirection};
use run::hosts::{Comm, Duplex, Incoming, Role, StreamComm, accept_session};
use testbed::{AssertContains, Directory, Hosts, Slurm, TmpFs, Unavailable, With, need};

/// Maximum duration of a test, even if hosts are lost.
const WATCHDOG: Duration = Duration::from_secs(60);
const TOKEN: &str = "0123456789abcdef";

/// Separates a command from the history, the journal and the permissions of the user.
fn prepare(mut command: Command, folder: &Path) -> Command {
    command
        .env("FATHOM_HISTORY", "off")
        .env("FATHOM_JOURNAL", folder.join("journal"))
        .env("FATHOM_TOKEN", TOKEN)
        .env_remove("FATHOM_ALLOW_DESTROY")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A command of which the journal is in this folder.
fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    prepare(Command::new(program), folder)
}

fn run(command: &mut Command) -> Ran {
    end(command.spawn().unwrap())
}

/// Hosts that are namespaces of this machine.
fn hosts(count: usize) -> Option<Hosts> {
    need(Hosts::with_count(count))
}

/// A port on which no program listens.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits for a process, and kills it if it takes too long, which fails the test.
#[track_caller]
fn end(mut child: Child) -> Ran {
    let begun = Instant::now();
    while begun.elapsed() < WATCHDOG && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(10));
    }
    let took = begun.elapsed();
    let _ = child.kill();
    let ran = Ran::new(&child.wait_with_output().unwrap(), took);
    assert!(took < WATCHDOG, "it hung: {ran:#?}");
    ran
}

/// A folder with a job file.
struct Workspace {
    folder: Directory,
}

impl Workspace {
    /// Creates the folder in memory, because these tests are not about disks.
    fn new(job: &str) -> Option<Workspace> {
        let folder = need(Directory::fast())?;
        fs::write(folder.path().join("job.toml"), job).unwrap();
        Some(Workspace { folder })
    }

    /// `DIR` in the job is the folder.
    fn with_job(job: &str) -> Option<Workspace> {
        let workspace = Workspace::new("")?;
        workspace.write_job(job);
        Some(workspace)
    }

    fn write_job(&self, job: &str) {
        let folder = self.folder.path().to_str().unwrap();
        fs::write(self.path("job.toml"), job.replace("DIR", folder)).unwrap();
    }

    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        command(program, self.folder.path())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn journal(&self) -> PathBuf {
        self.path("journal")
    }

    /// The arguments of a run that saves its result under a name.
    fn run_args(&self, saved: &str) -> Vec<String> {
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

    /// Starts `fathom run --hosts` on the first host, or on this machine.
    fn with_hosts(&self, hosts: Option<&Hosts>, list: &str, saved: &str) -> Child {
        let command = hosts.map_or_else(|| Command::new(PROGRAM), |hosts| hosts.on(0, PROGRAM));
        let agent = hosts.map(|hosts| hosts.agent().to_owned()).unwrap_or_default();
        prepare(command, self.folder.path())
            .args(self.run_args(saved))
            .args(["--hosts", list])
            .env("FATHOM_SSH", agent)
            .env("FATHOM_REMOTE", PROGRAM)
            .spawn()
            .unwrap()
    }

    /// Starts an agent on each host, which listens on a port for one test.
    fn start_agents(&self, hosts: &Hosts) -> Vec<Child> {
        let numbers = 0..hosts.names().len();
        let worker = |number: usize| {
            prepare(hosts.on(number, PROGRAM), self.folder.path())
                .args(["agent", "--listen", "0.0.0.0:7745", "--once"])
                .spawn()
                .unwrap()
        };
        let workers = numbers.map(worker).collect();
        sleep(Duration::from_millis(500));
        workers
    }

    /// A command of an agent that connects to this machine.
    fn connecting_agent(&self, address: &str) -> Command {
        let mut command = self.command(PROGRAM);
        command.args(["agent", "--connect", address]);
        command
    }

    /// Recovers the results from the journals of the ranks.
    fn recovered(&self) -> Results {
        let mut command = self.command(PROGRAM);
        command.arg("recover").arg(self.journal());
        let ran = run(command.arg("--save").arg(self.path("recovered")));
        ran.expect(6, &["journal entries of each host", "IOPS", "INTERRUPTED"]);
        self.saved("recovered")
    }

    /// Starts three ranks on this machine with Open MPI 5. There, the others survive a lost rank.
    fn with_ulfm(&self, folder: &Path, saved: &str) -> Child {
        self.command(folder.join("bin/mpirun"))
            .args(["--with-ft", "ulfm", "--oversubscribe", "-n", "3", PROGRAM])
            .env("PRTE_ALLOW_RUN_AS_ROOT", "1")
            .env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .args(self.run_args(saved))
            .spawn()
            .unwrap()
    }

    /// Starts three ranks with an MPI launcher, one on each host.
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
        prepare(command, self.folder.path())
            .arg(PROGRAM)
            .args(self.run_args(saved))
            .spawn()
            .unwrap()
    }
}

const SIMULATED: &str = "seed = 7\n[[job]]\nname = \"r\"\ntarget = \"simulated:disk\"\ndepth = 4\nread = 70\noperations = 5000\n\
                         [simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"exponential 100us\"\n";

fn simulated() -> Option<Workspace> {
    Workspace::new(SIMULATED)
}

/// The data that is summed over all ranks. It has series, histograms by interval, and operations of
/// each rank by interval.
fn summed_jobs(results: &Results) -> Vec<JobResults> {
    let mut jobs = results.steps[0].jobs.clone();
    // The usage of workers differs between runs; `measured` compares their measurements.
    jobs.iter_mut().for_each(|job| job.workers.clear());
    jobs
}

/// The data that must not depend on the transport.
fn measured(results: &Results) -> Vec<(u32, u32, PerDirection<Option<model::results::DirectionResults>>, Nanos)> {
    let workers = results.steps[0].jobs[0].workers.iter();
    let describe_worker = |worker: &model::results::WorkerResults| {
        let part = JobResults::default().with(|job| job.workers = vec![worker.clone()]);
        let directions = part.directions().map(|found| found.clone().map(Cow::into_owned));
        (worker.rank, worker.worker, directions, worker.measured_ns)
    };
    workers.map(describe_worker).collect()
}

/// The list of hosts with [`Workspace::start_agents`].
fn by_tcp(hosts: &Hosts) -> String {
    let address = |name: &String| format!("tcp://{name}:7745");
    hosts.names().iter().map(address).collect::<Vec<_>>().join(",")
}

fn ranks(results: &Results) -> &[RankFacts] {
    &results.fleet.as_ref().unwrap().ranks
}

#[test]
fn the_transport_changes_no_result() {
    let hosts = need!(hosts(3));
    // Long enough for several intervals of a second.
    let job = SIMULATED.replace("operations = 5000", "operations = 100000");
    let workspace = need!(Workspace::new(&job));
    end(workspace.with_hosts(None, "local,local,local", "pipes")).expect(0, &["by pipes"]);
    let list = hosts.names().join(",");
    end(workspace.with_hosts(Some(&hosts), &list, "ssh")).expect(0, &["by ssh"]);
    let workers = workspace.start_agents(&hosts);
    end(workspace.with_hosts(Some(&hosts), &by_tcp(&hosts), "tcp")).expect(0, &["by TCP"]);
    for worker in workers {
        end(worker).expect(0, &[]);
    }
    for (launcher, saved) in [("mpirun.openmpi", "open-mpi"), ("mpirun.mpich", "mpich")] {
        end(workspace.with_mpi(&hosts, launcher, saved)).expect(0, &["by MPI ("]);
    }
    let by_pipes = workspace.saved("pipes");
    let expected = measured(&by_pipes);
    assert_eq!(expected.len(), 3);
    let job = &by_pipes.steps[0].jobs[0];
    assert!(
        job.series.iter().any(|series| series.points.read.len() > 1),
        "{:?}",
        job.series
    );
    assert_eq!(job.rank_series.len(), 3);
    assert_eq!(job.total().operations, 300_000);
    // Each rank has drawn its own numbers.
    assert_ne!(expected[0].2, expected[1].2);
    for saved in ["ssh", "tcp", "open-mpi", "mpich"] {
        let results = workspace.saved(saved);
        assert_eq!(measured(&results), expected, "{saved}");
        assert_eq!(summed_jobs(&results), summed_jobs(&by_pipes), "{saved}");
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
            // There is only one real clock, but the clock of each process starts with the process.
            assert!(rank.lost.is_none() && rank.ended_ns.is_some(), "{saved}: {rank:?}");
        }
    }
}

#[test]
fn slurm_starts_ranks_too() {
    let slurm = need!(Slurm::new());
    let workspace = need!(simulated());
    end(workspace.with_hosts(None, "local,local,local", "pipes")).expect(0, &[]);
    let by_srun = |mpi: &str, saved: &str, head: Option<&str>| {
        run(prepare(slurm.command("srun"), workspace.folder.path())
            .args([mpi, "--ntasks=3", PROGRAM])
            .args(workspace.run_args(saved))
            .envs(head.map(|head| ("FATHOM_HEAD", head))))
    };
    by_srun("--mpi=pmi2", "slurm", None).expect(0, &["by MPI (MPICH"]);
    assert_eq!(measured(&workspace.saved("slurm")), measured(&workspace.saved("pipes")));
    if need(slurm.has_pmix()).is_some() {
        by_srun("--mpi=pmix", "pmix", None).expect(0, &["by MPI (Open MPI"]);
        assert_eq!(measured(&workspace.saved("pmix")), measured(&workspace.saved("pipes")));
    }
    by_srun("--mpi=none", "none", None).expect(3, &["one of 3 processes", "srun --mpi=pmix", "FATHOM_HEAD"]);
    // Slurm's node list contains the host of the first process.
    by_srun("--mpi=none", "met", Some(":7746")).expect(0, &["by TCP"]);
    assert_eq!(measured(&workspace.saved("met")), measured(&workspace.saved("pipes")));
}

#[test]
fn the_total_is_the_sum_of_the_ranks() {
    let workspace = need!(Workspace::new(
        "[[job]]\nname = \"w\"\ntarget = \"%h-%r.dat\"\nsize = \"8m\"\nread = 50\ndepth = 4\ntime = \"2s\"\nlog = \"log\"\n",
    ));
    let folder = workspace.folder.path().to_owned();
    run(workspace
        .command(PROGRAM)
        .args(workspace.run_args("saved"))
        .args(["--hosts", "local,local,local"])
        .current_dir(&folder))
    .expect(0, &[]);
    let results = workspace.saved("saved");
    let total = results.steps[0].jobs[0].total();
    // Every rank has logged each of its operations.
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
        // Workers start half a millisecond after the agreed start of their process.
        assert!(rank.starts_ns.len() == 1 && rank.starts_ns[0] > 300_000, "{rank:?}");
    }
    assert!(!workspace.journal().join("x").exists());
    let left = fs::read_dir(workspace.journal()).map_or(0, Iterator::count);
    assert_eq!(left, 0, "journal entries of received results are removed");
}

/// Waits until every rank of a run has a journal entry.
fn wait_for_journals(workspace: &Workspace, ranks: usize) {
    let count = || {
        let folders = fs::read_dir(workspace.journal()).into_iter().flatten().flatten();
        folders
            .map(|folder| fs::read_dir(folder.path()).map_or(0, Iterator::count))
            .max()
            .unwrap_or(0)
    };
    wait_until(40, || count() >= ranks, "a journal entry is missing");
}

/// The processes of this test, which have its journal in their environment.
fn processes(workspace: &Workspace, with_word: &str) -> Vec<u32> {
    let marked = format!("FATHOM_JOURNAL={}", workspace.journal().display());
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut found: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| {
            let read = |what: &str| fs::read(format!("/proc/{process}/{what}")).unwrap_or_default();
            let has = |bytes: &[u8], word: &str| bytes.split(|byte| *byte == 0).any(|part| part == word.as_bytes());
            let is_ours = fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|path| path == Path::new(PROGRAM));
            is_ours && has(&read("environ"), &marked) && has(&read("cmdline"), with_word)
        })
        .collect();
    found.sort_unstable();
    found
}

/// The process of a rank, by the variable that its launcher sets.
fn find_rank_process(processes: &[u32], rank: u32) -> u32 {
    let words = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].map(|name| format!("{name}={rank}"));
    let is_it = |process: &&u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|part| words.iter().any(|word| part == word.as_bytes()))
    };
    *processes.iter().find(is_it).expect("each rank has a process")
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Waits long enough for every rank to report some intervals.
fn wait_for_intervals() {
    sleep(Duration::from_millis(3500));
}

const ON_FILES: &str = "[[job]]\nname = \"w\"\ntarget = \"DIR/%r.dat\"\nsize = \"8m\"\nread = 50\ndepth = 2\ntime = \"40s\"\nrate = \"200iops\"\n";

fn long() -> Option<Workspace> {
    Workspace::with_job(ON_FILES)
}

/// A promise is about all hosts together.
#[test]
fn a_promised_rate_is_divided_among_hosts() {
    let workspace = need!(simulated());
    let line =
        "verify --hosts local,local --require iops>=1000,p99<=3ms --quiet --time 2s --warm-up 500ms --preflight 0";
    let ran = run(workspace
        .command(PROGRAM)
        .args(line.split(' '))
        .args([
            Path::new("--save"),
            &workspace.path("saved"),
            &workspace.path("job.toml"),
        ])
        .args([Path::new("--junit"), &workspace.path("junit.xml")]));
    // The report must state the number of processes.
    ran.expect(0, &["PASS", "by 2 processes on ", "its part of the rate"]);
    let junit = fs::read_to_string(workspace.path("junit.xml")).unwrap();
    junit.assert_contains(&["issued_by", "2 processes on "]);
    let results = workspace.saved("saved");
    let reads: Vec<u64> = measured(&results)
        .iter()
        .map(|(_, _, found, _)| found.read.as_ref().unwrap().operations)
        .collect();
    assert_eq!(reads.len(), 2);
    assert!(
        reads.iter().all(|operations| (900..=1100).contains(operations)),
        "{reads:?}"
    );
}

#[test]
fn two_hosts_are_compared_in_alternation() {
    let workspace = need!(Workspace::new(""));
    let file = workspace.path("f.dat");
    fs::write(&file, vec![7; 1 << 20]).unwrap();
    let file = file.to_str().unwrap();
    let compare = |words: &[&str], time: &str, more: &[&str]| {
        run(workspace
            .command(PROGRAM)
            .args([
                "ab", "--quiet", "--time", time, "--warm-up", "0", "--out", "json", "--on",
            ])
            .args(words)
            .args(more))
    };
    let saved = workspace.path("study");
    let saved = saved.to_str().unwrap();
    compare(&["local,local", file], "200ms", &["--save", saved]).expect(0, &["\"margin\""]);
    let study = archive::load_study(saved.as_ref()).unwrap();
    assert_eq!(study.runs.len(), 12);
    for run in &study.runs {
        let results = &run.results;
        assert_eq!(ranks(results).len(), 1);
        assert!(results.steps[0].jobs[0].total().operations > 0);
    }
    let mirrored = ["ab", "--mirror", "--from", saved];
    run(workspace.command(PROGRAM).args(mirrored)).expect(0, &["mirror"]);
    compare(&["local,local", "--target", file], "200ms", &[]).expect(0, &["\"margin\""]);
    // Each run finds the mark that the run on the other host has renewed.
    let written = workspace.path("w.dat");
    let writes = ["--size", "16m", "--read", "50", "--pairs", "12"];
    compare(&["local,local", written.to_str().unwrap()], "200ms", &writes).expect(0, &["\"pairs\": 12"]);
    compare(&["local", file], "200ms", &[]).expect(4, &["two hosts"]);
    compare(&["local,nonsense://x", file], "200ms", &[]).expect(3, &["nonsense"]);
}

#[test]
fn a_host_that_cannot_take_part_is_named_before_anything_is_measured() {
    // A target is missing on one host.
    let small = need!(TmpFs::with_size(4 << 20));
    let job = "[[job]]\nname = \"r\"\ntarget = \"DIR/%r.dat\"\ntime = \"20s\"\n";
    let workspace = need!(Workspace::with_job(job));
    fs::write(workspace.path("0.dat"), vec![7; 1 << 20]).unwrap();
    let refused = end(workspace.with_hosts(None, "local,local", "saved"));
    refused.expect(3, &["rank 1", "1.dat"]);
    // No host was lost, and each reason is printed once.
    assert!(!refused.err.contains("lost"), "{}", refused.err);
    assert_eq!(refused.err.matches("1.dat").count(), 1, "{}", refused.err);
    // All processes exit normally, so that no launcher changes the exit code.
    for launcher in ["mpirun.openmpi", "mpirun.mpich"] {
        let flags = if launcher == "mpirun.mpich" {
            "-n 2"
        } else {
            "--oversubscribe -n 2"
        };
        let started = workspace
            .command(launcher)
            .args(flags.split(' ').chain([PROGRAM, "run"]))
            .arg(workspace.path("job.toml"))
            .spawn();
        let missing = |error| Unavailable::because(format!("{launcher}: {error}"));
        let child = need!(started.map_err(missing));
        end(child).expect(3, &["rank 1", "1.dat"]);
    }
    // A disk is full on one host.
    let room = small.path().display();
    let link = workspace.path("1");
    fs::create_dir(workspace.path("0")).unwrap();
    std::os::unix::fs::symlink(small.path(), &link).unwrap();
    workspace
        .write_job("[[job]]\nname = \"w\"\ntarget = \"DIR/%r/f.dat\"\nsize = \"16m\"\nwrite = 100\ntime = \"20s\"\n");
    end(workspace.with_hosts(None, "local,local", "saved")).expect(3, &["rank 1"]);
    assert!(
        !workspace.path("0/f.dat").exists(),
        "files that other hosts have prepared are removed; {room}"
    );
}

#[test]
fn a_wrong_token_or_version_is_refused() {
    let workspace = need!(simulated());
    let port = free_port();
    let worker = workspace
        .command(PROGRAM)
        .args(["agent", "--listen", &port.to_string()])
        .env("FATHOM_TOKEN", "another-token-of-16")
        .spawn()
        .unwrap();
    sleep(Duration::from_millis(500));
    let list = format!("tcp://127.0.0.1:{port}");
    end(workspace.with_hosts(None, &list, "saved")).expect(3, &["the same token", "help: set FATHOM_TOKEN"]);
    kill(worker);

    // An agent of another version.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
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
        // Wait until the coordinator has disconnected.
        while !matches!(comm.receive(WATCHDOG), None | Some(Incoming::Lost { .. })) {}
    });
    let list = format!("tcp://127.0.0.1:{port}");
    end(workspace.with_hosts(None, &list, "saved")).expect(3, &["old", "fathom 0.0.1", "install the same version"]);
    old.join().unwrap();
}

#[test]
fn a_missing_mpi_library_is_reported_with_the_package_to_install() {
    run(command(PROGRAM, &std::env::temp_dir())
        .args(["run", "--target", "simulated:x"])
        .env("PMI_SIZE", "4")
        .env("FATHOM_MPI_LIBRARY", "/nonexistent/libmpi.so"))
    .expect(3, &["one of 4 processes", "/nonexistent/libmpi.so", "MPICH"]);
}
