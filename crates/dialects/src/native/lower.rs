//! Lowers documents to plans.

use model::access::{Access, AtEnd, Placement};
use model::caps::LimitLayer;
use model::mix::{Mix, MixRule};
use model::plan::{
    Batching, CacheMode, CatchUp, Dependency, Dialect, EndPropagation, EngineChoice, EngineKind, Grid, GridScope,
    Group, Job, JobEcho, Mapping, Origin, Phases, Plan, Prepare, Process, Rate, Span, Step, Stop, SyncRule, Target,
    TargetCleanup, TargetId, TargetKind, Think, ThinkCount, Workload, WorkloadPart,
};
use model::{Bytes, Direction, Nanos, visible};

use super::files;
use super::spec::{Document, JobSpec, PartSpec};
use crate::bounds::MAX_JOBS_OF_STEP;
use crate::diagnostic::{Diagnostic, Location};

/// `EIO`, the only error that a job can tolerate.
pub(crate) const IO_ERROR: i32 = 5;
/// Default time and warm-up of a job without another end.
const DEFAULT_TIME: Nanos = Nanos::secs(30);
const DEFAULT_WARM_UP: Nanos = Nanos::secs(2);

/// Lowers a document to a plan.
///
/// # Errors
/// Every [`Diagnostic`] about the document.
pub fn lower(document: &Document) -> Result<Plan, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut plan = Plan {
        name: document.name.clone().unwrap_or_else(|| default_name(document)),
        seed: document.seed.unwrap_or(1),
        // 100 ms shows stalls; 1 s keeps long runs small enough to store.
        grids: vec![
            Grid::new(Nanos::millis(100), GridScope::Job),
            Grid::new(Nanos::secs(1), GridScope::Job),
        ],
        origin: Origin {
            dialect: Dialect::Native,
            arguments: document.arguments.clone(),
            file: document.file.clone(),
            objective: document.objective.clone(),
            preset: document.preset.clone(),
            ..Origin::default()
        },
        limits: document.caps.clone(),
        ..Plan::default()
    };
    let mut numbers_of_jobs: Vec<u32> = document.jobs.iter().map(|job| job.step).collect();
    numbers_of_jobs.sort_unstable();
    let mut numbers = numbers_of_jobs.clone();
    numbers.dedup();
    if let Some([step, ..]) = numbers_of_jobs
        .chunk_by(u32::eq)
        .find(|jobs| jobs.len() > MAX_JOBS_OF_STEP)
    {
        let what = format!("step {step} has more than {MAX_JOBS_OF_STEP} jobs");
        return Err(vec![
            Diagnostic::new(what).help("use fewer jobs with more `workers`, or more steps"),
        ]);
    }
    let mut first_worker = 0;
    for number in numbers {
        let step = lower_step(number, document, &mut plan, &mut first_worker, &mut faults);
        plan.steps.push(step);
    }
    plan.groups = plan
        .jobs()
        .map(|((step, job), plan_job)| Group {
            name: plan_job.name.clone(),
            jobs: vec![(step as u32, job as u32)],
            merged: true,
        })
        .collect();
    if document.jobs.is_empty() {
        faults.push(Diagnostic::new("there is no job").help(job_needed(document)));
    }
    if faults.is_empty() { Ok(plan) } else { Err(faults) }
}

/// Lowers the jobs of one step. `first_worker` counts the workers of all jobs so far.
fn lower_step(
    number: u32,
    document: &Document,
    plan: &mut Plan,
    first_worker: &mut u32,
    faults: &mut Vec<Diagnostic>,
) -> Step {
    let mut step = Step::default();
    for (index, spec) in document.jobs.iter().enumerate().filter(|(_, job)| job.step == number) {
        let name = spec.name.clone().unwrap_or_else(|| format!("job{}", index + 1));
        if let Some(what) = find_contradiction(spec) {
            faults.push(in_job(document, spec, &name, what));
        }
        match lower_job(spec, &name, document, plan, *first_worker) {
            Ok(mut job) => {
                if let Some(after) = &spec.after {
                    match step.jobs.iter().position(|earlier| earlier.name == *visible(after)) {
                        Some(position) => job.after.push(Dependency(position as u32)),
                        None => faults.push(in_job(
                            document,
                            spec,
                            &name,
                            format!("`after` names `{after}`, which is not an earlier job of the same step; name one that is above this job and has the same `step`"),
                        )),
                    }
                }
                if step.jobs.iter().any(|earlier| earlier.name == job.name) {
                    faults.push(in_job(
                        document,
                        spec,
                        &name,
                        "another job in the same step has this name".into(),
                    ));
                }
                *first_worker += spec.workers;
                step.jobs.push(job);
            }
            Err(what) => faults.push(in_job(document, spec, &name, what)),
        }
    }
    // A failed job invalidates the other jobs of its step and all later steps.
    let all: Vec<u32> = (0..step.jobs.len() as u32).collect();
    for job in &mut step.jobs {
        job.ends_with = EndPropagation {
            on_failure: all.clone(),
            plan: true,
            ..EndPropagation::default()
        };
    }
    step
}

/// Lowers a job; adds its targets, limits and echo to the plan.
fn lower_job(
    spec: &JobSpec,
    name: &str,
    document: &Document,
    plan: &mut Plan,
    first_worker: u32,
) -> Result<Job, String> {
    let mut job = match spec.on_files {
        false => {
            let targets = add_targets(spec, document, plan)?;
            lower_workload(spec, name, targets, plan.seed).build_job(first_worker)
        }
        // Contradictions were reported already.
        true if files::find_contradiction(spec).is_some() => {
            return Ok(Job {
                name: name.to_owned(),
                ..Job::default()
            });
        }
        true => lower_files(spec, name, plan, first_worker)?,
    };
    job.operation_log.clone_from(&spec.log);
    job.hosts.clone_from(&spec.hosts);
    job.divide = spec.divide;
    job.storage = spec.storage.clone();
    plan.limits.extend(spec.caps.iter().map(|cap| LimitLayer {
        job: Some(job.name.clone()),
        ..cap.clone()
    }));
    plan.origin.jobs.push(JobEcho {
        name: name.to_owned(),
        options: Vec::new(),
    });
    Ok(job)
}

/// Lowers a job on files.
fn lower_files(spec: &JobSpec, name: &str, plan: &mut Plan, first_worker: u32) -> Result<Job, String> {
    let targets = files::add_tree(spec, plan)?;
    let part = match &plan.target(targets[0]).kind {
        TargetKind::Tree { tree } => files::lower_part(spec, tree),
        _ => return Err("it has no tree".into()),
    };
    let workload = Workload {
        parts: vec![part],
        cache: CacheMode::BUFFERED,
        ..lower_workload(spec, name, targets, plan.seed)
    };
    let mut job = workload.build_job(first_worker);
    files::set_work(spec, &mut job);
    Ok(job)
}

/// Help for a document without a job.
fn job_needed(document: &Document) -> String {
    match document.simulated.first() {
        None => match document.file {
            Some(_) => "add one:\n    [[job]]\n    target = \"/mnt/data\"".into(),
            None => "name a target: `fathom run --target /mnt/data`".into(),
        },
        Some(device) => format!(
            "add a job that uses the simulated device:\n    [[job]]\n    target = \"simulated:{}\"",
            device.name
        ),
    }
}

fn default_name(document: &Document) -> String {
    let stem = document.file.as_deref().and_then(|file| file.rsplit('/').next());
    stem.map_or("run", |stem| stem.trim_end_matches(".toml")).to_owned()
}

fn in_job(document: &Document, spec: &JobSpec, name: &str, what: String) -> Diagnostic {
    let file = document.file.clone().unwrap_or_else(|| "command line".into());
    let location = Location {
        file,
        line: spec.line,
        text: format!("job `{name}`"),
    };
    match what.split_once("; ") {
        Some((what, help)) => Diagnostic::new(what).at(location).help(help),
        None => Diagnostic::new(what).at(location),
    }
}

/// Adds the targets of a job to the plan, each once, and returns their numbers.
fn add_targets(spec: &JobSpec, document: &Document, plan: &mut Plan) -> Result<Vec<TargetId>, String> {
    let null = vec!["null".to_owned()];
    let names = if spec.targets.is_empty() && spec.engine == EngineKind::Null {
        &null
    } else {
        &spec.targets
    };
    if names.is_empty() {
        return Err("no target; name a file, a directory or a block device".into());
    }
    let mut ids = Vec::new();
    for name in names {
        let kind = match (name.as_str(), name.strip_prefix("simulated:")) {
            ("null", _) => TargetKind::Nothing {
                size: spec.size.unwrap_or(Bytes::gib(1)) + spec.offset,
            },
            (_, Some(device)) => {
                let simulated_device = document.simulated.iter().find(|simulated| simulated.name == device);
                let simulated_device =
                    simulated_device.ok_or_else(|| format!("there is no simulated device `{device}` in this file"))?;
                TargetKind::Simulated {
                    device: simulated_device.device.clone(),
                }
            }
            _ => TargetKind::Path,
        };
        let size = spec.size.map(|size| size + spec.offset);
        let at_end = if spec.keep {
            TargetCleanup::Keep
        } else {
            TargetCleanup::KeepNamed
        };
        let target = Target {
            path: name.clone(),
            kind,
            prepare: Prepare::Filled { size },
            at_end,
        };
        let position = match plan.targets.iter().position(|listed| listed.path == *name) {
            None => {
                plan.targets.push(target);
                plan.targets.len() - 1
            }
            Some(position) => {
                // For two jobs on one target, the file is large enough for both.
                if let Prepare::Filled { size: existing_size } = &mut plan.targets[position].prepare {
                    *existing_size = (*existing_size).max(size);
                }
                position
            }
        };
        ids.push(TargetId(position as u32));
    }
    Ok(ids)
}

/// True if one pass over the region ends after each block was used once.
pub(crate) fn visits_each_block_once(access: &Access) -> bool {
    matches!(
        access,
        Access::Sequential(_)
            | Access::Random {
                placement: Placement::Once(_)
            }
    )
}

fn find_contradiction(spec: &JobSpec) -> Option<String> {
    if let Some(what) = files::find_contradiction(spec) {
        return Some(what);
    }
    let parts = spec.effective_parts();
    let largest = parts.iter().map(|part| part.sizes.max()).max().unwrap_or_default();
    if let Some(size) = spec.size.filter(|size| *size < largest) {
        return Some(format!(
            "a block of {largest} does not fit in a size of {size}; use a larger `size` or a smaller `block`"
        ));
    }
    if spec.passes.is_some() && !parts.iter().all(|part| visits_each_block_once(&part.access)) {
        return Some("`passes` needs sequential or random-once access: other patterns have no end".into());
    }
    if spec.rate.is_none() && (spec.arrivals != Process::Linear || spec.catch_up.is_some()) {
        return Some("`arrivals` and `catch-up` need a rate; set `rate`".into());
    }
    if spec.pause.is_none() && spec.pause_after != 1 {
        return Some("`pause-after` needs a pause, and the job has none; set `pause`".into());
    }
    if spec.poll && !spec.mapped && !spec.engine.info().polls {
        return Some("this engine cannot poll; leave `engine` out or set it to `io_uring` or `pvsync2`".into());
    }
    if spec.submission_thread && !matches!(spec.engine, EngineKind::Auto | EngineKind::IoUring) {
        return Some("only io_uring has a submission thread; leave `engine` out or set it to `io_uring`".into());
    }
    if spec.mapped && spec.poll {
        return Some("a memory map cannot be polled".into());
    }
    if parts.iter().all(|part| part.share == 0) {
        return Some("none of its parts has a share above 0".into());
    }
    None
}

fn lower_workload(spec: &JobSpec, name: &str, targets: Vec<TargetId>, seed: u64) -> Workload {
    let parts = spec.effective_parts();
    let rate = spec.rate.map(|(amount, unit)| Rate {
        unit,
        process: spec.arrivals,
        catch_up: spec.catch_up.map_or(CatchUp::Unlimited, CatchUp::Within),
        ..Rate::iops(amount)
    });
    Workload {
        parts: parts
            .iter()
            .map(|part| lower_part(part, spec.passes.is_some()))
            .collect(),
        workers: spec.workers,
        depth: spec.depth.unwrap_or(1),
        depth_per: spec.depth_per,
        size: spec.size,
        offset: spec.offset,
        cache: CacheMode {
            direct: spec.direct,
            write_through: spec.write_through,
            mapping: spec.mapped.then(Mapping::default),
            ..CacheMode::BUFFERED
        },
        sync: SyncRule {
            every_writes: spec.flush_every,
            kind: spec.flush_kind,
            at_end: spec.flush_at_end,
            ..SyncRule::default()
        },
        rate,
        think: spec
            .pause
            .map(|pause_ns| Think::new(pause_ns, spec.pause_after, ThinkCount::Completed)),
        engine: EngineChoice {
            kind: spec.engine,
            poll: spec.poll,
            submission_thread: spec.submission_thread,
            ..EngineChoice::default()
        },
        batching: Batching {
            submit: spec.batch,
            ..Batching::default()
        },
        cpus: spec.cpus.clone(),
        phases: lower_phases(spec),
        control: spec.control.clone(),
        tolerate: if spec.tolerate_errors {
            vec![IO_ERROR]
        } else {
            Vec::new()
        },
        seed,
        ..Workload::new(name, targets, lower_stop(spec))
    }
}

/// True if operations, bytes or passes end the job, so that it needs no time.
fn is_counted(spec: &JobSpec) -> bool {
    spec.operations.is_some() || spec.bytes.is_some() || spec.passes.is_some()
}

fn lower_phases(spec: &JobSpec) -> Phases {
    let default = if is_counted(spec) { Nanos(0) } else { DEFAULT_WARM_UP };
    Phases {
        start_delay: Span {
            low_ns: spec.start_delay,
            high_ns: spec.start_delay,
        },
        warm_up_ns: spec.warm_up.unwrap_or(default),
        cool_down_ns: spec.cool_down,
        ..Phases::default()
    }
}

fn lower_stop(spec: &JobSpec) -> Stop {
    Stop {
        region_percent: None,
        after_ns: spec.time.or((!is_counted(spec)).then_some(DEFAULT_TIME)),
        bytes: spec.bytes,
        operations: spec.operations,
        passes: spec.passes,
        repeat_until_time: false,
        rounds: None,
        counts_all: false,
    }
}

fn lower_part(part: &PartSpec, in_passes: bool) -> WorkloadPart {
    let write_percent = 100.0 - part.read_percent;
    let mix = match part {
        PartSpec { trim: true, .. } => Mix::Only {
            direction: Direction::Trim,
        },
        _ if write_percent == 0.0 => Mix::READS,
        _ if write_percent == 100.0 => Mix::WRITES,
        PartSpec { exact_mix: true, .. } => Mix::Exact { write_percent },
        _ => Mix::drawn(write_percent, MixRule::Independent),
    };
    let mut access = part.access.clone();
    if let Access::Sequential(walk) = &mut access
        && in_passes
    {
        walk.at_end = AtEnd::Finish;
    }
    WorkloadPart {
        weight: part.share,
        access,
        mix,
        sizes: part.sizes.clone(),
        alignment: part.alignment.unwrap_or_default(),
        content: part.content.clone(),
    }
}
