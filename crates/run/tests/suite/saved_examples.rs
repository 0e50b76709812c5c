//! Checks the saved results that tests of other crates read. Runs on the simulated device create
//! them again here, so that they always agree with real runs. `FATHOM_UPDATE=1` rewrites them.

use model::environment::{Clock, Cpu, Environment, Host};
use model::fleet::{Fleet, Gathering, Rank, RankFacts, Share};
use model::plan::{Phases, Workload};
use model::results::Usage;

use crate::prelude::*;

/// A plan of native workloads, each a step of its own.
fn plan(name: &str, device: SimulatedDevice, workloads: &[Workload]) -> Plan {
    let steps = workloads
        .iter()
        .map(|workload| testing::step(vec![workload.build_job(0)]));
    let target = testing::target("simulated", TargetKind::Simulated { device });
    Plan {
        seed: 1,
        grids: vec![Grid::new(Nanos::millis(100), GridScope::Job)],
        ..testing::plan(name, vec![target], steps.collect())
    }
}

fn workload(name: &str, stop: Stop) -> Workload {
    Workload::new(name, vec![TargetId(0)], stop)
}

/// Two workers with 8 operations in flight each, served in 50 to 150 µs. Each worker does 80,000
/// operations per second.
fn mixed() -> Plan {
    let mut both = Workload {
        workers: 2,
        depth: 8,
        phases: Phases::with_warm_up(Nanos::millis(500)),
        ..workload("oltp", Stop::after(Nanos::secs(3)))
    };
    both.parts[0].mix = Mix::Exact { write_percent: 30.0 };
    both.parts[0].sizes = BlockSizes::Fixed { size: Bytes::kib(8) };
    let service = SimulatedService::Uniform {
        low_ns: Nanos::micros(50),
        high_ns: Nanos::micros(150),
    };
    plan("mixed", SimulatedDevice { service, ..device() }, &[both])
}

/// A thousand reads per second of 100 µs each. The host pauses for 300 of 2,000 ms.
fn paced() -> Plan {
    let job = workload("paced", Stop::after(Nanos::secs(2)))
        .with(|workload| (workload.depth, workload.rate) = (32, Some(Rate::iops(1000))));
    let frozen =
        device().with(|device| device.host_pauses = vec![SimulatedPause::new(Nanos::secs(1), Nanos::millis(300))]);
    plan("paced", frozen, &[job])
}

/// 512 sequential writes with a flush after every 64, and 1,000 random reads. The 600th read fails
/// and is tolerated. The device counts the 520 operations of the pass too.
fn steps() -> Plan {
    let once = Stop::after_passes(1);
    let mut fill = workload("fill", once).with(|workload| {
        (workload.depth, workload.sync) = (4, SyncRule::default().with(|sync_rule| sync_rule.every_writes = 64))
    });
    fill.parts[0].access =
        Access::Sequential(Sequential::default().with(|sequential| sequential.at_end = AtEnd::Finish));
    fill.parts[0].mix = Mix::WRITES;
    fill.parts[0].sizes = BlockSizes::Fixed { size: Bytes::kib(128) };
    let thousand = Stop::after_operations(1000);
    let check = workload("check", thousand).with(|workload| workload.tolerate = vec![5]);
    let failing = device()
        .with(|device| (device.size, device.faults) = (Bytes::mib(64), vec![SimulatedFault::nth(520 + 600, 5)]));
    plan("steps", failing, &[fill, check])
}

/// Four ranks on three machines. The third rank is slower than the others, and the last was lost
/// after two of four seconds.
fn fleet() -> Results {
    let job = workload("shared", Stop::after(Nanos::secs(4))).with(|workload| workload.depth = 4);
    let service = |times: u64| SimulatedService::Uniform {
        low_ns: Nanos::micros(200 * times),
        high_ns: Nanos::micros(600 * times),
    };
    let common = plan("fleet", device().with(|device| device.service = service(1)), &[job]);
    let hosts = ["db1", "db1", "db2", "db3"];
    let share = |number: usize| {
        let rank = Rank {
            number: number as u32,
            rank_count: 4,
            host: hosts[number].into(),
        };
        let mut share = Share::for_rank(&common, &rank, &hosts.map(str::to_owned), None).expect("it can be shared");
        if number == 2 {
            let device = device().with(|device| device.service = service(2));
            share.plan.targets[0].kind = TargetKind::Simulated { device };
        }
        if number == 3 {
            share.plan.steps[0].jobs[0].stop.after_ns = Some(Nanos::secs(2));
        }
        share
    };
    let shares: Vec<Share> = (0..4).map(share).collect();
    let mut parts = Vec::new();
    for (share, host) in shares.iter().zip(hosts) {
        let (results, _) = try_run(share.plan.clone()).expect("it can run");
        let mut results = with_fixed_facts(results);
        let environment = &mut results.hosts[0].environment;
        environment.host.name = host.into();
        if host == "db2" {
            environment.host.kernel = "6.6.0".into();
        }
        parts.push(results);
    }
    let mut whole = Gathering::new(&common, &shares, parts[0].clone());
    let machines: Vec<Option<u32>> = parts
        .into_iter()
        .enumerate()
        .map(|(rank, part)| whole.add(rank as u32, part))
        .collect();
    let facts = |(number, machine): (usize, Option<u32>)| RankFacts {
        host: hosts[number].into(),
        machine,
        clock_ahead_ns: [0, 1_500, -2_000_000, 40_000_000][number],
        round_trip_ns: Nanos([0, 30_000, 120_000, 90_000][number]),
        starts_ns: vec![[0, 12_000, -3_000, 95_000][number]],
        ended_ns: (number != 3).then_some(Nanos::millis(4_001 + number as u64)),
        widened_from: None,
        lost: (number == 3).then(|| "its process has ended".into()),
    };
    let mut results = whole.finish();
    results.fleet = Some(Fleet {
        transport: "ssh".into(),
        ranks: machines.into_iter().enumerate().map(facts).collect(),
        continues_on_loss: false,
    });
    results
}

/// Replaces facts of this machine and of the current time by fixed ones.
fn with_fixed_facts(mut results: Results) -> Results {
    let host = &mut results.hosts[0];
    host.environment = Environment {
        host: Host {
            name: "example".into(),
            system: "Linux".into(),
            kernel: "6.12.0".into(),
            architecture: "x86_64".into(),
            ..Host::default()
        },
        cpu: Cpu {
            model: "Example CPU".into(),
            logical: 8,
            usable: 8,
            numa_nodes: 1,
            ..Cpu::default()
        },
        memory: Bytes::gib(16),
        clock: Clock::default().with(|clock| clock.source = "simulated".into()),
        limits: Default::default(),
        targets: host.environment.targets.clone(),
        target_numbers: Vec::new(),
        before: None,
        widened_from: None,
    };
    let started = 1_767_225_600_000_000_000;
    (host.started_unix_ns, host.ended_unix_ns) = (started, started + 5_000_000_000);
    for step in &mut results.steps {
        step.cores.clear();
        // The kernel's counters are observed by the real clock.
        step.observed_ns = Nanos(0);
        for worker in step.jobs.iter_mut().flat_map(|job| &mut job.workers) {
            worker.usage = Usage {
                user_ns: Nanos::millis(300),
                system_ns: Nanos::millis(600),
                voluntary_switches: 100,
                involuntary_switches: 10,
                ..Usage::default()
            };
        }
    }
    results
}

fn check(name: &str, content: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/results")
        .join(name);
    if std::env::var_os("FATHOM_UPDATE").is_some() {
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
        fs::write(&path, content).expect("written");
    }
    let saved = fs::read_to_string(&path).unwrap_or_default();
    // Not `assert_eq`, which would show both in full.
    assert!(
        saved == content,
        "{} differs from the results of the run; FATHOM_UPDATE=1 rewrites it",
        path.display()
    );
}

fn line(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data") + "\n"
}

#[test]
fn saved_examples_agree_with_runs() {
    for plan in [mixed(), paced(), steps()] {
        let name = plan.name.clone();
        let (results, events) = try_run(plan).expect("it can run");
        check(&format!("{name}.json"), &line(&with_fixed_facts(results)));
        let summary: String = events
            .iter()
            .filter(|event| !matches!(event, Event::Prepared { .. }))
            .map(line)
            .collect();
        check(&format!("{name}.events.ndjson"), &summary);
    }
    check("fleet.json", &line(&fleet()));
}
