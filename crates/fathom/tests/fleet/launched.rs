//! Tests that launchers start. They cover every front end of fathom under mpirun, processes that
//! connect over TCP, other launchers, and bindings to CPUs.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use model::results::Results;
use serde_json::Value;
use testbed::{Directory, Hosts, need};

use super::clients::document;
use super::{PROGRAM, Ran, Workspace, command, end, free_port, hosts, measured, prepare, ranks, run, simulated};

/// Starts processes on this machine with Open MPI and these flags of mpirun.
fn mpirun(folder: &Path, processes: u32, flags: &[&str], words: &[&str]) -> Child {
    command("mpirun.openmpi", folder)
        .args(["--oversubscribe", "-n", &processes.to_string()])
        .args(flags)
        .arg(PROGRAM)
        .args(words)
        .current_dir(folder)
        .env("FATHOM_RESULT", folder.join("result"))
        .env("FATHOM_ALLOW_EXEC", "1")
        .spawn()
        .unwrap()
}

/// Runs a command of a drop-in mode on the hosts of a list.
fn with_hosts(folder: &Path, list: &str, words: &[&str]) -> Ran {
    run(command(PROGRAM, folder)
        .args(words)
        .current_dir(folder)
        .env("FATHOM_HOSTS", list)
        .env("FATHOM_RESULT", folder.join("result"))
        .env("FATHOM_ALLOW_EXEC", "1"))
}

fn result(folder: &Path) -> Results {
    archive::load(&folder.join("result")).unwrap()
}

/// Operations of each rank, in one job of the first step.
fn operations(results: &Results) -> Vec<(u32, u64)> {
    let of = |found: &model::PerDirection<Option<model::results::DirectionResults>>| {
        found
            .iter()
            .map(|(_, direction)| direction.as_ref().map_or(0, |direction| direction.operations))
            .sum()
    };
    measured(results)
        .iter()
        .map(|(rank, _, found, _)| (*rank, of(found)))
        .collect()
}

/// The name and the operations of each entry.
fn jobs(ran: &Ran) -> Vec<(String, u64)> {
    let document = document(ran);
    let entries = document["jobs"].as_array().unwrap();
    let job_counts = |entry: &Value| {
        let done = |way: &str| entry[way]["total_ios"].as_u64().unwrap();
        (
            entry["jobname"].as_str().unwrap().to_owned(),
            done("read") + done("write"),
        )
    };
    entries.iter().map(job_counts).collect()
}

const FIO: &str = "[global]\nioengine=psync\nbs=4k\nsize=256k\n\
                   [a]\nfilename=made/%r/f.dat\nrw=write\n[b]\nstonewall\nfilename=made/%r/f.dat\nrw=read\n";

#[test]
fn mpirun_starts_job_files_of_fio() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    fs::write(folder.join("jobs.fio"), FIO).unwrap();
    let ran = end(mpirun(folder, 2, &[], &["fio", "jobs.fio", "--output-format=json"]));
    ran.expect(0, &[]);
    // Each of two processes issues 64 operations per job, in its own folder.
    let name_and_operations = |name: &str| (name.to_owned(), 64);
    assert_eq!(
        jobs(&ran),
        [
            name_and_operations("a"),
            name_and_operations("a"),
            name_and_operations("b"),
            name_and_operations("b")
        ]
    );
    for rank in 0..2 {
        assert_eq!(
            fs::metadata(folder.join(format!("made/{rank}/f.dat"))).unwrap().len(),
            256 << 10
        );
    }
    assert!(!folder.join("made/%r").exists());
    assert_eq!(operations(&result(folder)), [(0, 64), (1, 64)]);
}

#[test]
fn mpirun_starts_command_lines_of_diskspd() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let words = ["diskspd", "-c1M", "-d1", "-b4K", "-o1", "-t2", "-r", "-Sb", "%r.dat"];
    end(mpirun(folder, 2, &[], &words)).expect(0, &["Total IO"]);
    let found = operations(&result(folder));
    let ranks: Vec<u32> = found.iter().map(|(rank, _)| *rank).collect();
    assert_eq!(ranks, [0, 0, 1, 1]);
    assert!(found.iter().all(|(_, operations)| *operations > 0), "{found:?}");
}

#[test]
fn mpirun_starts_presets_and_promises() {
    let workspace = need!(simulated());
    let folder = workspace.folder.path();
    let saved = workspace.path("saved");
    let saved = saved.to_str().unwrap();
    let words = [
        "run", "--preset", "latency", "--target", "%r.dat", "--size", "1m", "--warm-up", "0", "--time", "1s",
        "--quiet", "--save", saved,
    ];
    end(mpirun(folder, 2, &[], &words)).expect(0, &["by MPI ("]);
    let found = operations(&workspace.saved("saved"));
    assert!(found.iter().any(|(rank, _)| *rank == 1), "{found:?}");
    assert!(found.iter().all(|(_, operations)| *operations > 0), "{found:?}");
    let words = [
        "verify", "--require", "iops>=1000,p99<=3ms", "--quiet", "--time", "1s", "--warm-up", "200ms", "--preflight",
        "0", "--save", saved, "job.toml",
    ];
    end(mpirun(folder, 2, &[], &words)).expect(0, &["PASS"]);
    // Each process issues half of the promised rate.
    for (rank, operations) in operations(&workspace.saved("saved")) {
        assert!((450..=560).contains(&operations), "rank {rank}: {operations}");
    }
}

#[test]
fn a_cpu_binding_of_a_launcher_is_undone_and_reported() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("skipped: there is one processor");
        return;
    }
    let workspace = need!(simulated());
    let folder = workspace.folder.path();
    let page = workspace.path("page.html");
    let page_name = page.to_str().unwrap();
    let words = ["run", "job.toml", "--quiet", "--save", "saved", "--report", page_name];
    let bound = ["--bind-to", "core"];
    // A launcher binds its process even if it starts only one.
    end(mpirun(folder, 1, &bound, &words)).expect(0, &["AFFINITY-WIDENED"]);
    let results = workspace.saved("saved");
    let environment = &results.hosts[0].environment;
    assert_eq!(environment.widened_from, Some(1));
    assert!(environment.cpu.usable > 1 && results.fleet.is_none());
    assert!(fs::read_to_string(&page).unwrap().contains("AFFINITY-WIDENED"));
    end(mpirun(folder, 2, &bound, &words)).expect(0, &["AFFINITY-WIDENED", "(rank 0) 1 of", "(rank 1) 1 of"]);
    assert!(fs::read_to_string(&page).unwrap().contains("(rank 1) 1 of"));
    // The user's own binding by `taskset` stays.
    let ran = run(workspace
        .command("taskset")
        .args(["-c", "0", PROGRAM])
        .args(words)
        .current_dir(folder));
    ran.expect(0, &[]);
    assert!(!ran.out.contains("AFFINITY-WIDENED"));
    assert_eq!(workspace.saved("saved").hosts[0].environment.cpu.usable, 1);
}

#[test]
fn files_of_drop_ins_are_checked_on_their_own_host() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    fs::write(folder.join("jobs.fio"), FIO).unwrap();
    fs::write(folder.join("hosts.txt"), "local # the first\nlocal\n").unwrap();
    let words = ["fio", "jobs.fio", "--output-format=json"];
    let ran = with_hosts(folder, "@hosts.txt", &words);
    ran.expect(0, &[]);
    assert_eq!(jobs(&ran).len(), 4);
    assert!(folder.join("made/1/f.dat").exists());
    // Without a size, existing files are read. One of them is missing in the second test.
    let read = "fio --name=r --rw=read --bs=4k --filename=made/%r/f.dat --output-format=json";
    let read: Vec<&str> = read.split(' ').collect();
    assert_eq!(
        jobs(&with_hosts(folder, "local,local", &read)),
        [("r".to_owned(), 64), ("r".to_owned(), 64)]
    );
    fs::remove_file(folder.join("made/1/f.dat")).unwrap();
    with_hosts(folder, "local,local", &read).expect(1, &["(rank 1)", "made/1/f.dat"]);
    with_hosts(folder, "@missing.txt", &read).expect(3, &["missing.txt"]);
}

#[test]
fn a_failed_command_cancels_a_job_on_all_hosts() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let text = |before: &str| FIO.replace("stonewall", &format!("stonewall\nexec_prerun={before}"));
    let words = ["fio", "jobs.fio", "--output-format=json"];
    let of_b = |ran: &Ran| -> Vec<u64> {
        let found = jobs(ran);
        found
            .iter()
            .filter(|(name, _)| name == "b")
            .map(|(_, done)| *done)
            .collect()
    };
    for launched in [true, false] {
        let run = |before: &str| {
            fs::write(folder.join("jobs.fio"), text(before)).unwrap();
            match launched {
                true => end(mpirun(folder, 2, &[], &words)),
                false => with_hosts(folder, "local,local", &words),
            }
        };
        assert_eq!(of_b(&run("true")), [64, 64]);
        let ran = run("false");
        assert_eq!(of_b(&ran), [0, 0], "{}", ran.err);
        assert_eq!(jobs(&ran)[0], ("a".to_owned(), 64));
    }
    // A job of the first step is cancelled before anything begins.
    fs::write(folder.join("jobs.fio"), FIO.replace("[a]", "[a]\nexec_prerun=false")).unwrap();
    let ran = with_hosts(folder, "local,local", &words);
    let done: Vec<u64> = jobs(&ran).into_iter().map(|(_, done)| done).collect();
    assert_eq!(done, [0, 0, 64, 64], "{}", ran.err);
}

#[test]
fn options_for_a_single_host_are_refused_by_name() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    fs::write(folder.join("jobs.fio"), FIO).unwrap();
    for flag in ["--status-interval=1", "--idle-prof=system"] {
        let name = flag.split('=').next().unwrap();
        with_hosts(folder, "local,local", &["fio", "jobs.fio", flag]).expect(1, &[name, "several hosts", "one host"]);
    }
    let words = ["fio", "--name=a", "--size=64k", "--file_append=1"];
    with_hosts(folder, "local,local", &words).expect(1, &["file_append", "several hosts"]);
    assert!(!folder.join("made").exists());
}

/// Threads of DiskSpd use processors of their own host, not of the coordinator.
#[test]
fn threads_take_the_processors_of_their_own_host() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("skipped: there is one processor");
        return;
    }
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let agent = folder.join("agent");
    fs::write(&agent, "#!/bin/sh\nshift\nexec taskset -c 1 sh -c \"$*\"\n").unwrap();
    let run = |more: &[&str]| {
        run(command("taskset", folder)
            .args(["-c", "0", PROGRAM, "diskspd", "-c1M", "-d1", "-b4K", "-t2", "-Sb"])
            .args(more)
            .arg("%r.dat")
            .current_dir(folder)
            .env("FATHOM_HOSTS", "there")
            .env("FATHOM_SSH", format!("sh {}", agent.display()))
            .env("FATHOM_REMOTE", PROGRAM)
            .env("FATHOM_RESULT", folder.join("result")))
        .expect(0, &[]);
        let plan = result(folder).plan;
        let workers = plan.steps[0].jobs[0].workers.iter();
        workers.map(|worker| worker.placement.cpus.clone()).collect::<Vec<_>>()
    };
    assert_eq!(run(&[]), [[1], [1]]);
    // Processors that are named apply to each host.
    assert_eq!(run(&["-a0,1"]), [[0], [1]]);
    assert_eq!(run(&["-n"]), [[0; 0], [0; 0]]);
    super::run(
        command(PROGRAM, folder)
            .args(["diskspd", "-c1M", "-d1", "-b4K", "-Sb", "-ag63,63", "%r.dat"])
            .current_dir(folder)
            .env("FATHOM_HOSTS", "local"),
    )
    .expect(1, &["(rank 0)", "4095"]);
}

fn command_on(hosts: &Hosts, number: usize, workspace: &Workspace, words: &[String]) -> Command {
    let mut command = prepare(hosts.on(number, PROGRAM), workspace.folder.path());
    command.args(words);
    command
}

/// Starts a process and gives it time to connect.
fn spawn_early(mut command: Command) -> Child {
    let child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    child
}

#[test]
fn processes_that_connect_over_tcp_have_the_expected_ranks() {
    let hosts = need!(hosts(3));
    let workspace = need!(simulated());
    let words = workspace.run_args("saved");
    let head = format!("{}:7745", hosts.names()[0]);
    let names = |saved: &str| -> Vec<String> {
        ranks(&workspace.saved(saved))
            .iter()
            .map(|rank| rank.host.clone())
            .collect()
    };
    // Like the pods of an Indexed Job: all have the same command line, and the last one starts
    // first.
    let pod = |number: usize| {
        let mut command = command_on(&hosts, number, &workspace, &words);
        command
            .env("FATHOM_HEAD", format!("{head}*3"))
            .env("JOB_COMPLETION_INDEX", number.to_string());
        command
    };
    let others = [spawn_early(pod(2)), spawn_early(pod(1))];
    run(&mut pod(0)).expect(0, &["by TCP"]);
    others.into_iter().for_each(|other| {
        end(other).expect(0, &[]);
    });
    assert_eq!(names("saved"), hosts.names());
    // Agents that connect get ranks after the local host in the list.
    let worker = |number: usize, rank: usize| {
        let words = ["agent".to_owned(), "--connect".into(), head.clone()];
        let mut command = command_on(&hosts, number, &workspace, &words);
        command.env("SLURM_PROCID", rank.to_string());
        command
    };
    let leading = |count: usize, list: &str| {
        let mut words = words.clone();
        words.extend(["--hosts".to_owned(), format!("{list}listen://0.0.0.0:7745*{count}")]);
        command_on(&hosts, 0, &workspace, &words)
    };
    let others = [spawn_early(worker(2, 2)), spawn_early(worker(1, 1))];
    run(&mut leading(2, "local,")).expect(0, &["by pipes and TCP"]);
    others.into_iter().for_each(|other| {
        end(other).expect(0, &[]);
    });
    assert_eq!(names("saved"), hosts.names());
    // Two agents have the same rank.
    let others = [spawn_early(worker(1, 1)), spawn_early(worker(2, 1))];
    let both = ["have the same rank 1", "FATHOM_RANK"];
    run(&mut leading(2, "")).expect(3, &both);
    others.into_iter().for_each(|other| drop(end(other)));
}

#[test]
fn a_launcher_of_another_kind_is_reported() {
    let workspace = need!(simulated());
    let run = |set: &[(&str, &str)]| {
        run(workspace
            .command(PROGRAM)
            .args(workspace.run_args("saved"))
            .envs(set.iter().copied()))
    };
    let nowhere = ("FATHOM_MPI_LIBRARY", "/nonexistent/libmpi.so");
    let tcp = "FATHOM_HEAD=HOST:7745";
    run(&[("PMIX_RANK", "1"), nowhere]).expect(3, &["one of the processes", "speaks PMIx", tcp, "FATHOM_FLEET=off"]);
    let flux = [("FLUX_TASK_RANK", "0"), ("FLUX_JOB_SIZE", "4")];
    run(&[flux[0], flux[1], nowhere]).expect(3, &["one of 4 processes that Flux", "nonexistent", tcp]);
    // A launcher that has started a single process is ignored.
    run(&[("FLUX_TASK_RANK", "0"), ("FLUX_JOB_SIZE", "1"), nowhere]).expect(0, &[]);
    // With a library that does not know the launcher, each process would run alone.
    let other = [("PMIX_RANK", "0"), ("FATHOM_MPI_LIBRARY", "libmpi.so.40")];
    run(&other).expect(3, &["does not see "]);
    // The variable is set, but incomplete.
    run(&[("FATHOM_HEAD", "h:1")]).expect(4, &["the number of this process", "FATHOM_RANK"]);
}

#[test]
fn hosts_cannot_be_combined_with_a_launcher() {
    let workspace = need!(simulated());
    let ran = run(workspace
        .command("mpirun.openmpi")
        .args(["--oversubscribe", "-n", "2", PROGRAM])
        .args(workspace.run_args("saved"))
        .args(["--hosts", "local,local"]));
    ran.expect(ran.code.unwrap_or(-1), &["cannot use --hosts", "omit --hosts"]);
    assert_ne!(ran.code, Some(0));
    assert!(!workspace.path("saved").exists(), "nothing is measured");
}

/// Agents that connect by themselves are sorted by their numbers.
#[test]
fn agents_that_connect_execute_a_test() {
    let workspace = need!(simulated());
    end(workspace.with_hosts(None, "local,local", "pipes")).expect(0, &["by pipes"]);
    let address = format!("127.0.0.1:{}", free_port());
    let leads = workspace.with_hosts(None, &format!("listen://{address}*2"), "listen");
    let workers: Vec<_> = ["1", "0"]
        .map(|rank| {
            let mut agent = workspace.connecting_agent(&address);
            agent.env("FATHOM_RANK", rank).spawn().unwrap()
        })
        .into();
    end(leads).expect(0, &["by TCP"]);
    for worker in workers {
        end(worker).expect(0, &[]);
    }
    assert_eq!(
        measured(&workspace.saved("listen")),
        measured(&workspace.saved("pipes"))
    );
}

/// A job that was written for several hosts has the same meaning on one.
#[test]
fn host_settings_of_jobs_apply_on_a_single_host_too() {
    let folder = need!(Directory::fast());
    let run = |words: &[&str]| run(command(PROGRAM, folder.path()).args(words).current_dir(folder.path()));
    let flags = ["--size", "1m", "--operations", "10", "--keep", "--quiet"];
    run(&[&["run", "--target", "w-%r-%h.dat"], &flags[..]].concat()).expect(0, &[]);
    let names = fs::read_dir(folder.path()).unwrap().flatten();
    let names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(names.contains(&format!("w-0-{}.dat", host.trim())), "{names:?}");
    let of_first = [&["run", "--target", "f.dat", "--for-hosts", "0"], &flags[..]].concat();
    run(&of_first).expect(0, &[]);
    let of_another = [&["run", "--target", "g.dat", "--for-hosts", "5"], &flags[..]].concat();
    run(&of_another).expect(4, &["for the host `5`", "--hosts"]);
    assert!(!folder.path().join("g.dat").exists());
    // An empty variable of a script is not one host.
    let of_none = [&["run", "--target", "g.dat", "--hosts", ""], &flags[..]].concat();
    run(&of_none).expect(4, &["--hosts", "has no host"]);
}
