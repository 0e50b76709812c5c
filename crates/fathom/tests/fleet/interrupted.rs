//! Ctrl-C where a test was started ends it on all hosts, and what they measured is reported.

use super::*;

/// Interrupts the process that has started all the others, and looks at what they left.
fn interrupted(ground: &Ground, child: Child, saved: &str, code: Option<i32>) {
    kept_by(ground, 3);
    let_it_measure();
    let begun = Instant::now();
    signal(child.id(), "INT");
    let ran = end(child);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{saved}: {:?}",
        begun.elapsed()
    );
    // What the code of a launcher is, only that knows.
    let code = code.or(ran.code).unwrap_or(-1);
    let ran = ran.expect(code, &["INTERRUPTED", "IOPS"]);
    assert!(!ran.out.contains("HOST-LOST"), "{saved}: {}", ran.out);
    let results = ground.saved(saved);
    assert!(ranks(&results).iter().all(|rank| rank.lost.is_none()), "{saved}");
    let found = measured(&results);
    assert_eq!(found.len(), 3, "{saved}");
    // At 200 operations per second, of which half are reads.
    for (rank, _, found, _) in found {
        let operations = found.read.as_ref().map_or(0, |read| read.operations);
        assert!(operations > 10, "{saved}: rank {rank} has read {operations} times");
    }
}

#[test]
fn processes_of_the_leader_report() {
    let Some(ground) = long() else { return };
    let child = ground.with_hosts(None, "local,local,local", "pipes");
    interrupted(&ground, child, "pipes", Some(130));
}

#[test]
fn workers_report_over_tcp() {
    let Some(hosts) = need(Hosts::with_count(3)) else {
        return;
    };
    let Some(ground) = long() else { return };
    let workers = ground.workers(&hosts);
    let child = ground.with_hosts(Some(&hosts), &by_tcp(&hosts), "tcp");
    interrupted(&ground, child, "tcp", Some(130));
    for worker in workers {
        end(worker).expect(0, &[]);
    }
}

#[test]
fn all_report_before_mpirun_ends_them() {
    let Some(hosts) = need(Hosts::with_count(3)) else {
        return;
    };
    for launcher in ["mpirun.openmpi", "mpirun.mpich"] {
        let Some(ground) = long() else { return };
        let child = ground.with_mpi(&hosts, launcher, launcher);
        interrupted(&ground, child, launcher, None);
    }
}
