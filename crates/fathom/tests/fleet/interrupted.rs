//! Ctrl-C on the starting host ends a test on all hosts. Their results are reported.

use super::*;

/// Interrupts the process that has started all others, and checks their results.
fn interrupt_and_check(workspace: &Workspace, child: Child, saved: &str, code: Option<i32>) {
    wait_for_journals(workspace, 3);
    wait_for_intervals();
    let begun = Instant::now();
    signal(child.id(), "INT");
    let ran = end(child);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{saved}: {:?}",
        begun.elapsed()
    );
    // Each launcher has its own exit code.
    let code = code.or(ran.code).unwrap_or(-1);
    let ran = ran.expect(code, &["INTERRUPTED", "IOPS"]);
    assert!(!ran.out.contains("HOST-LOST"), "{saved}: {}", ran.out);
    let results = workspace.saved(saved);
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
fn local_processes_report_after_an_interrupt() {
    let workspace = need!(long());
    let child = workspace.with_hosts(None, "local,local,local", "pipes");
    interrupt_and_check(&workspace, child, "pipes", Some(130));
}

#[test]
fn agents_report_over_tcp_after_an_interrupt() {
    let hosts = need!(hosts(3));
    let workspace = need!(long());
    let workers = workspace.start_agents(&hosts);
    let child = workspace.with_hosts(Some(&hosts), &by_tcp(&hosts), "tcp");
    interrupt_and_check(&workspace, child, "tcp", Some(130));
    for worker in workers {
        end(worker).expect(0, &[]);
    }
}

#[test]
fn all_ranks_report_before_mpirun_ends_them() {
    let hosts = need!(hosts(3));
    for launcher in ["mpirun.openmpi", "mpirun.mpich"] {
        let workspace = need!(long());
        let child = workspace.with_mpi(&hosts, launcher, launcher);
        interrupt_and_check(&workspace, child, launcher, None);
    }
}
