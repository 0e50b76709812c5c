//! Each rank's share of a plan; all shares together must be the whole plan.

use super::*;
use crate::plan::{Dependency, Stop, Workload};
use crate::testing;

const HOSTS: [&str; 4] = ["db1", "db1", "db2", "db3"];

fn hosts() -> Vec<String> {
    HOSTS.map(str::to_owned).into()
}

fn workload() -> Workload {
    Workload::new("j", vec![TargetId(0)], Stop::default())
}

fn plan(targets: &[&str], jobs: Vec<Job>) -> Plan {
    let targets = targets.iter().map(|path| testing::file(path)).collect();
    testing::plan("", targets, vec![testing::step(jobs)])
}

fn share(plan: &Plan, number: u32) -> Result<Share, String> {
    let rank = Rank {
        number,
        rank_count: HOSTS.len() as u32,
        host: HOSTS[number as usize].into(),
    };
    Share::for_rank(plan, &rank, &hosts(), Some("/home"))
}

fn shares(plan: &Plan) -> Vec<Share> {
    (0..4).map(|number| share(plan, number).unwrap()).collect()
}

fn streams(share: &Share) -> impl Iterator<Item = &Stream> {
    share
        .plan
        .jobs()
        .flat_map(|(_, job)| &job.workers)
        .flat_map(|worker| &worker.streams)
}

fn depths(plan: &Plan) -> Vec<u32> {
    shares(plan)
        .iter()
        .map(|share| streams(share).map(|stream| stream.depth).sum())
        .collect()
}

const ALL: DividedSettings = DividedSettings {
    rate: true,
    depth: true,
    region: true,
};

fn for_hosts(named: &[&str], load: Workload) -> Job {
    Job {
        hosts: named.iter().map(|name| (*name).into()).collect(),
        divide: ALL,
        ..load.build_job(0)
    }
}

/// A job of the others, so that each rank has something to do.
fn and_for_all(job: Job) -> Plan {
    let mut plan = plan(&["/a"], vec![job]);
    plan.steps[0].jobs.push(Job {
        name: "all".into(),
        ..Job::default()
    });
    plan
}

#[test]
fn a_depth_is_divided_among_the_hosts_of_a_job_in_any_notation() {
    let job_with = |named: &[&str], depth: u32| {
        let job = for_hosts(named, Workload { depth, ..workload() });
        and_for_all(job)
    };
    assert_eq!(depths(&job_with(&[], 10)), [3, 3, 2, 2]);
    assert_eq!(depths(&job_with(&["0", "2"], 9)), [5, 0, 4, 0]);
    // Named hosts get the whole depth.
    assert_eq!(depths(&job_with(&["db2", "db3"], 8)), [0, 0, 4, 4]);
    // Two ranks are on db1, and a rank may be named by its number as well.
    assert_eq!(depths(&job_with(&["db1", "3"], 9)), [3, 3, 0, 3]);
    // A rank that is named twice counts once.
    assert_eq!(depths(&job_with(&["db2", "2"], 9)), [0, 0, 9, 0]);
}

#[test]
fn a_divided_rate_has_the_same_total_and_spacing() {
    let mut load = workload();
    (load.rate, load.depth) = (Some(Rate::iops(10_000)), 4);
    let job = for_hosts(&["db1", "db3"], load);
    let mut per_second = 0.0;
    let mut phases = Vec::new();
    for share in shares(&and_for_all(job)) {
        for stream in streams(&share) {
            let Pacing::Together { rate } = &stream.pacing else {
                panic!("it is paced")
            };
            per_second += rate.amount as f64 * 1e9 / rate.per_ns.0 as f64;
            phases.push(rate.phase_ns);
        }
    }
    assert!((per_second - 10_000.0).abs() < 1e-6, "{per_second}");
    assert_eq!(phases, [Nanos(0), Nanos::micros(100), Nanos::micros(200)]);
}

/// Bases and lengths of all ranks on a target of a size.
fn regions(size: Option<u64>, offset: u64, target: u64) -> Vec<(u64, u64)> {
    let mut job = Workload {
        size: size.map(Bytes),
        offset: Bytes(offset),
        ..workload()
    }
    .build_job(0);
    job.divide.region = true;
    let plan = plan(&["/a"], vec![job]);
    shares(&plan)
        .iter()
        .map(|share| streams(share).next().unwrap().region.resolve(target))
        .collect()
}

#[test]
fn the_parts_of_a_region_cover_it_without_overlap() {
    const MIB: u64 = 1 << 20;
    for (size, offset, target) in [
        (Some(16 * MIB), 0, 16 * MIB),
        (Some(18 * MIB + 4096), 0, 32 * MIB),
        (Some(16 * MIB), 4096, 32 * MIB),
        (Some(64 << 10), 0, MIB),
        (None, 0, 16 * MIB),
    ] {
        let parts = regions(size, offset, target);
        let mut next = offset;
        for (base, length) in &parts {
            assert_eq!(*base, next, "{parts:?}");
            assert!(*length > 0, "{parts:?}");
            next = base + length;
        }
        assert_eq!(next, offset + size.unwrap_or(target), "{parts:?}");
    }
    // Parts of an unknown size begin at whole MiB, and the rest between them is not used.
    let parts = regions(None, 0, 18 * MIB + 512);
    assert!(parts.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{parts:?}");
    assert_eq!(parts[3].0 + parts[3].1, 18 * MIB + 512);
}

#[test]
fn indivisible_settings_are_refused() {
    let refused = |job: Job| share(&plan(&["/a"], vec![job]), 3).unwrap_err();
    let divided = |divide: DividedSettings, load: Workload| Job {
        divide,
        ..load.build_job(0)
    };
    let depth = DividedSettings {
        depth: true,
        ..DividedSettings::default()
    };
    assert!(refused(divided(depth, Workload { depth: 3, ..workload() })).contains("at least 4"));
    let region = DividedSettings {
        region: true,
        ..DividedSettings::default()
    };
    let small = Workload {
        size: Some(Bytes(12 << 10)),
        ..workload()
    };
    assert!(refused(divided(region, small)).contains("at least 16 KiB"));
    let open = Workload {
        offset: Bytes(4096),
        ..workload()
    };
    assert!(refused(divided(region, open)).contains("specify its length"));
}

#[test]
fn a_name_without_a_host_is_refused_by_all() {
    for (named, wrong) in [(&["0", "db9"][..], "db9"), (&["4"], "4")] {
        let why = share(&and_for_all(for_hosts(named, workload())), 0).unwrap_err();
        assert!(
            why.contains(&format!("for `{wrong}`")) && why.contains("db1, db2, db3"),
            "{why}"
        );
    }
}

#[test]
fn each_rank_gets_its_own_jobs_and_targets() {
    let job = |name: &str, target: u32, named: &[&str]| Job {
        name: name.into(),
        hosts: named.iter().map(|name| (*name).into()).collect(),
        ..Workload {
            targets: vec![TargetId(target)],
            ..workload()
        }
        .build_job(0)
    };
    let mut last = job("last", 0, &[]);
    last.after = vec![Dependency(0), Dependency(1)];
    let plan = plan(
        &["a", "/b/%h/%r%%"],
        vec![job("reads", 0, &["db1"]), job("writes", 1, &["2", "3"]), last],
    );
    let of_0 = share(&plan, 0).unwrap();
    assert_eq!(of_0.jobs, [[0, 2]]);
    assert_eq!(of_0.plan.targets[0].path, "/home/a");
    assert_eq!(of_0.plan.targets.len(), 1, "the other one is for others");
    assert_eq!(of_0.plan.steps[0].jobs[1].after, [Dependency(0)]);
    let of_2 = share(&plan, 2).unwrap();
    assert_eq!(of_2.jobs, [[1, 2]]);
    assert_eq!(of_2.plan.targets[1].path, "/b/db2/2%");
    let merged = merge_shares(&plan, &shares(&plan));
    let workers: Vec<usize> = merged.steps[0].jobs.iter().map(|job| job.workers.len()).collect();
    assert_eq!(workers, [2, 2, 4]);
    // One that has nothing to do is better left out.
    let single_plan = Plan {
        steps: vec![crate::plan::Step {
            jobs: vec![plan.steps[0].jobs[0].clone()],
            ..Default::default()
        }],
        ..plan
    };
    let rank_3 = Rank {
        number: 3,
        rank_count: 4,
        host: "db3".into(),
    };
    let idle = share(&single_plan, 3).unwrap().refuse_idle(&rank_3);
    assert!(idle.unwrap_err().contains("rank 3 on db3 has no job"));
    assert_eq!(share(&single_plan, 0).unwrap().refuse_idle(&rank_3), Ok(()));
}
