//! Recorded operations of command lines. The engine must carry out the same ones.

use dialects::diskspd::text::TextVersion;
use dialects::diskspd::{EventRole, LowerEnv, ParseEnv, ParseOutcome, Processors, lower};
use model::plan::{EngineKind, TargetKind};

use crate::diskspd::support::{Sandbox, arguments, cases, name, read};
use crate::prelude::*;

/// Number of recorded operations per thread.
const OPERATIONS: usize = 64;

/// An environment with two processors and the files of a case.
struct CaseEnv {
    case: PathBuf,
}

impl ParseEnv for CaseEnv {
    fn processors(&self) -> Processors {
        Processors {
            online: vec![0, 1],
            possible: 2,
        }
    }

    fn milliseconds_since_boot(&self) -> u64 {
        0
    }

    fn read_profile(&mut self, path: &str) -> Result<String, String> {
        Ok(read(&self.case.join(path)))
    }

    fn open_event(&mut self, _: EventRole, name: &str) -> Result<(), String> {
        Err(format!("no case uses events, but this one opens {name}"))
    }

    fn signal_event(&mut self, name: &str) -> Result<(), String> {
        Err(format!("no case uses events, but this one opens {name}"))
    }
}

/// Number of the target within the thread, true for a write, and offset.
type Operation = (usize, bool, u64);

/// Reads the targets with their sizes, and the operations of each thread.
fn read_recording(case: &Path) -> (Vec<(String, u64)>, Vec<Vec<Operation>>) {
    let text = read(&case.join("offsets.txt"));
    let (first, rest) = text.split_once('\n').unwrap();
    let files = first.split_once("files: ").unwrap().1.split(", ").map(|file| {
        let (name, size) = file.split_once('=').unwrap();
        (name.to_owned(), size.parse().unwrap())
    });
    let mut threads = Vec::new();
    for line in rest.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let thread: usize = words[0].parse().unwrap();
        threads.resize(threads.len().max(thread + 1), Vec::new());
        threads[thread].push((words[1].parse().unwrap(), words[2] == "W", words[3].parse().unwrap()));
    }
    let mut counts = threads.iter().map(Vec::len);
    assert!(counts.all(|count| count == OPERATIONS), "{}", name(case));
    (files.collect(), threads)
}

/// The plan of a case, limited to [`OPERATIONS`] per thread.
fn plan_for(case: &Path) -> Plan {
    let arguments = arguments(case);
    let mut env = CaseEnv { case: case.to_owned() };
    let request = match dialects::diskspd::read("diskspd", &arguments, &mut env) {
        ParseOutcome::Run(request) => request,
        other => panic!("{}: {other:?}", name(case)),
    };
    let env = LowerEnv {
        cpus: &engine::sys::thread::usable_cpus(),
        arguments: &arguments,
        form: TextVersion::V2_2,
        windows: false,
        ..LowerEnv::default()
    };
    let mut plan = lower(&request.profile, env).unwrap().plan;
    assert_eq!(plan.steps.len(), 1);
    let job = &mut plan.steps[0].jobs[0];
    job.phases.warm_up_ns = Nanos(0);
    job.stop.after_ns = None;
    job.stop.operations = Some(OPERATIONS as u64);
    plan
}

/// Executes a plan and reads its operation log. The operations of each thread are in order of
/// completion.
fn execute(mut plan: Plan, log: &Path) -> Vec<Vec<Operation>> {
    let job = &mut plan.steps[0].jobs[0];
    job.operation_log = Some(log.to_str().unwrap().to_owned());
    let mut threads = vec![Vec::new(); job.workers.len()];
    let results = crate::execute(plan);
    for worker in &results.steps[0].jobs[0].workers {
        assert_eq!(worker.failure, None);
    }
    let text = read(log);
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split(',').collect();
        let number = |column: usize| words[column].parse::<usize>().unwrap();
        assert_eq!(words[5], words[6], "the whole block is transferred: {line}");
        threads[number(1)].push((number(2), words[3] == "write", number(4) as u64));
    }
    threads
}

/// Replaces the targets with null targets. Operations then complete in the order of submission, at
/// any depth.
fn with_null_targets(mut plan: Plan, sizes: &[(String, u64)]) -> Plan {
    for target in &mut plan.targets {
        let (_, size) = sizes.iter().find(|(name, _)| *name == target.path).unwrap();
        target.kind = TargetKind::Nothing { size: Bytes(*size) };
    }
    let jobs = plan.steps.iter_mut().flat_map(|step| &mut step.jobs);
    for worker in jobs.flat_map(|job| &mut job.workers) {
        worker.engine.kind = EngineKind::Null;
    }
    plan
}

/// Creates the targets as files of the recorded sizes, with data.
fn with_files(mut plan: Plan, sizes: &[(String, u64)], sandbox: &Sandbox) -> Plan {
    for (name, size) in sizes {
        sandbox.file(name, *size as usize);
    }
    for target in &mut plan.targets {
        target.path = sandbox.path().join(&target.path).to_str().unwrap().to_owned();
    }
    plan
}

/// DiskSpd sends every request of this pool to the first target. Fathom sends each to its own
/// target (`pool-drives-every-target` of tests/deviations.toml).
const POOL: &str = "20-pool-without-O-first-target-only";

#[test]
fn operations_match_the_recording() {
    let cases = cases("offsets");
    assert_eq!(cases.len(), 21);
    for case in cases.iter().filter(|case| name(case) != POOL) {
        let sandbox = Sandbox::new();
        let log = sandbox.path().join("log.csv");
        let (sizes, recorded) = read_recording(case);
        let plan = plan_for(case);
        let found = execute(with_null_targets(plan.clone(), &sizes), &log);
        assert_eq!(found, recorded, "{}", name(case));

        let depths = plan.steps[0].jobs[0].workers.iter().flat_map(|worker| &worker.streams);
        let is_serial = depths.map(|stream| stream.depth).max() == Some(1);
        let (mut found, mut recorded) = (execute(with_files(plan, &sizes, &sandbox), &log), recorded);
        if !is_serial {
            // The order of completion varies, but not the set of operations.
            let threads = found.iter_mut().chain(&mut recorded);
            threads.for_each(|thread| thread.sort_unstable());
        }
        assert_eq!(found, recorded, "{} on files", name(case));
    }
}

/// The targets are 1 and 2 MiB long, and DiskSpd used only the first. Modulo 1 MiB, a random offset
/// in the second target equals the recorded one in the first.
#[test]
fn requests_of_a_pool_use_their_own_targets() {
    let case = cases("offsets").into_iter().find(|case| name(case) == POOL).unwrap();
    let sandbox = Sandbox::new();
    let (sizes, recorded) = read_recording(&case);
    let plan = with_null_targets(plan_for(&case), &sizes);
    let found = execute(plan, &sandbox.path().join("log.csv"));
    assert_eq!(found.len(), 1);
    for (number, (found, recorded)) in found[0].iter().zip(&recorded[0]).enumerate() {
        assert_eq!(found.0, number % 2, "operation {number}");
        assert_eq!(found.2 % (1 << 20), recorded.2, "operation {number}");
    }
    let beyond = found[0].iter().filter(|operation| operation.2 >= 1 << 20).count();
    assert!(beyond > 8, "{beyond} of 32 in the second half of the second target");
}
