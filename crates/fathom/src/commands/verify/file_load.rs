//! The load of a job file of another tool, which `fathom verify` issues instead of its own.

use analysis::policies::Workload;
use model::access::Access;
use model::plan::{EndPropagation, Job, Pacing, Phases, Plan, Rate, RateUnit, Step, Stop, Stream};
use model::{Bytes, Direction, Nanos};
use report::words;
use study::verify::FULL_TIME_SECS;

use super::args::parse_rate;
use super::{Args, run};
use crate::commands::source;
use crate::fault::{Fault, Faults};
use crate::screen;
use crate::session::Session;

/// One run of a file: a step of one job, and its targets.
pub(super) struct FileLoad {
    plan: Plan,
    /// The figures of its load.
    pub(super) workload: Workload,
    /// Its jobs in words.
    pub(super) jobs: String,
    /// States which run of the file was tested, if it has several.
    pub(super) note: Option<String>,
}

impl FileLoad {
    /// Reads the file among the targets; `None` without one. Prints what its plan cannot express.
    pub(super) fn find(session: &Session, args: &Args) -> Result<Option<FileLoad>, Faults> {
        let mut switches: Vec<&str> = args.map.iter().flat_map(|map| ["--map", map]).collect();
        let files = { args.target.iter() }.filter_map(|file| Some((file, run::detect_other_tool(file)?)));
        let Some((file, (file_kind, run_it))) = files.into_iter().next() else {
            source::refuse_switches(None, &switches)?;
            return Ok(None);
        };
        let is_iometer = run::detect_extension(file) == Some("icf");
        refuse_options(args, file, file_kind, is_iometer)?;
        if let Some(size) = &args.file_size {
            switches.extend(["--size", size]);
        }
        let mut source = source::read_job_file(session, file, &switches)?;
        source.refuse_missing(
            "test",
            match is_iometer {
                true => "map it to a path here: `--map \"NAME=PATH\"`, with `--file-size SIZE` for a new file",
                false => "replace the name in the file by a path",
            },
        )?;
        let run_count = source.plan.steps.len();
        let fault = |why: String| {
            let help = format!(
                "verify issues a load at a rate: name one with --rate IOPS; or {run_it}, and judge its report: `fathom \
                 explain --require CLAUSES RESULT`"
            );
            Fault::new(format!("cannot verify the load of {file}: {why}")).into_usage(help)
        };
        let chosen = match (source.plan.steps.iter().position(is_paced), parse_rate(args)?) {
            (Some(chosen), None) => chosen,
            (Some(_), Some(_)) => {
                let what = format!("cannot use --rate: {file} is {file_kind}, which has a rate of its own");
                return Err(Fault::new(what).into_usage("change the file"));
            }
            (None, Some(rate)) if run_count > 0 => {
                pace(&mut source.plan.steps[0], rate).map_err(fault)?;
                0
            }
            (None, _) => {
                return Err(fault(match run_count {
                    1 => "part of it has no rate".into(),
                    _ => format!("each of its {run_count} runs has a part without a rate"),
                }));
            }
        };
        let mut jobs: Vec<String> = source.plan.steps[chosen]
            .jobs
            .iter()
            .map(words::describe_operations)
            .collect();
        jobs.dedup();
        let note =
            (run_count > 1).then(|| format!("of the {run_count} runs of {file}, only run {} was tested", chosen + 1));
        let plan = keep_step(source.plan, chosen).map_err(fault)?;
        let job = &plan.steps[0].jobs[0];
        let workload = workload_from_job(job);
        if run_count > 1 {
            screen::note(&format!(
                "{file} has {run_count} runs: verify issues run {}, the first with a rate ({}); to verify a later run, \
                 remove this one from the file",
                chosen + 1,
                words::describe_operations(job)
            ));
        }
        source
            .lost
            .iter()
            .for_each(|what| screen::note(&format!("lost: {what}")));
        Ok(Some(FileLoad {
            plan,
            workload,
            jobs: jobs.join(" and "),
            note,
        }))
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.plan.targets.iter().map(|target| target.path.clone()).collect()
    }

    /// Operations in flight.
    pub(super) fn depth(&self) -> u32 {
        self.plan.steps[0].jobs[0].depth().try_into().unwrap_or(u32::MAX)
    }

    /// Threads that issue it.
    pub(super) fn workers(&self) -> u32 {
        self.plan.steps[0].jobs[0].workers.len() as u32
    }

    /// The plan of verify, with the targets and the job of the file.
    pub(super) fn plan(&self, own: Plan, (warm_up, measured): (Nanos, Nanos)) -> Plan {
        let mut steps = self.plan.steps.clone();
        let job = &mut steps[0].jobs[0];
        job.phases = Phases {
            warm_up_ns: warm_up,
            ..job.phases
        };
        job.stop = Stop::after(measured);
        Plan {
            targets: self.plan.targets.clone(),
            steps,
            prepare: self.plan.prepare,
            prepare_once: self.plan.prepare_once.clone(),
            ..own
        }
    }
}

/// Refuses options that describe another load, and other targets.
fn refuse_options(args: &Args, file: &str, file_kind: &str, is_iometer: bool) -> Result<(), Faults> {
    let options = [
        (args.policy.is_some(), "--policy", "state the promise with --require"),
        (args.block.is_some(), "--block", "change the file"),
        (args.read.is_some(), "--read", "change the file"),
        (args.sequential, "--sequential", "change the file"),
        (args.depth.is_some(), "--depth", "change the file"),
        (args.workers.is_some(), "--workers", "change the file"),
        (
            args.file_size.is_some() && !is_iometer,
            "--file-size",
            "change the file",
        ),
        (args.target.len() > 1, "another TARGET", "the file names its targets"),
    ];
    match options.into_iter().find(|(is_set, ..)| *is_set) {
        None => Ok(()),
        Some((_, option, help)) => {
            let message = format!("cannot use {option}: {file} is {file_kind}, which has its own load");
            Err(Fault::new(message).into_usage(help))
        }
    }
}

fn streams(job: &Job) -> impl Iterator<Item = &Stream> {
    job.workers.iter().flat_map(|worker| &worker.streams)
}

/// Operations per second of a stream by direction, if all its directions have a rate.
fn rates(stream: &Stream) -> Option<Vec<(Direction, f64)>> {
    let rates = stream.pacing.by_direction(&stream.mix);
    let operations = |direction: Direction| {
        let rate = rates[direction]?;
        let bytes = match rate.unit {
            RateUnit::Operations => 1.0,
            RateUnit::Bytes => stream.pattern.sizes[direction].mean(),
        };
        Some((direction, rate.per_second() / bytes))
    };
    stream.mix.directions().map(operations).collect()
}

fn is_paced(step: &Step) -> bool {
    let mut all = step.jobs.iter().flat_map(streams).peekable();
    all.peek().is_some() && all.all(|stream| rates(stream).is_some())
}

/// Sets the rate of a step without one. Each worker gets the same part of it, which its streams
/// divide by their weights.
fn pace(step: &mut Step, rate: f64) -> Result<(), String> {
    let has_own_rate = |stream: &Stream| stream.flow.is_some() || stream.pacing != Pacing::Unpaced;
    if step.jobs.iter().flat_map(streams).any(has_own_rate) {
        return Err("its parts have shares or rates of their own".into());
    }
    let workers = step.jobs.iter().map(|job| job.workers.len()).sum::<usize>();
    for worker in step.jobs.iter_mut().flat_map(|job| &mut job.workers) {
        let weights: u32 = worker.streams.iter().map(|stream| stream.weight.max(1)).sum();
        for stream in &mut worker.streams {
            let share = f64::from(stream.weight.max(1)) / f64::from(weights) / workers as f64;
            let amount = rate.round().max(1.0);
            stream.pacing = Pacing::Together {
                rate: Rate {
                    per_ns: Nanos((1e9 * amount / rate / share) as u64),
                    ..Rate::iops(amount as u64)
                },
            };
        }
    }
    Ok(())
}

/// Keeps one step, whose jobs become one: the requirement is about all of them together.
fn keep_step(mut plan: Plan, step: usize) -> Result<Plan, String> {
    let mut step = plan.steps.swap_remove(step);
    if step.jobs.iter().any(|job| !job.control.is_empty()) {
        return Err("a rule such as `steadystate=`, `latency_target=` or `rate_min=` would change it".into());
    }
    if step
        .jobs
        .iter()
        .any(|job| job.operation_log.is_some() || job.trace.is_some())
    {
        return Err("a job writes a log of its operations".into());
    }
    let mut job = step.jobs.remove(0);
    for other in step.jobs {
        if (&other.phases, &other.stop, other.after.is_empty()) != (&job.phases, &job.stop, true) {
            return Err(format!("{} and {} have different times", job.name, other.name));
        }
        job.workers.extend(other.workers);
    }
    job.ends_with = EndPropagation {
        workers_on_failure: true,
        ..EndPropagation::default()
    };
    if streams(&job).any(|stream| stream.files.is_some()) {
        return Err("its operations are on files, not on blocks".into());
    }
    plan.steps = vec![Step {
        jobs: vec![job],
        ..step
    }];
    let is_used = plan.used_targets();
    plan.retain_targets(&is_used);
    Ok(plan)
}

/// Returns the load of a job with a rate, as mean figures.
fn workload_from_job(job: &Job) -> Workload {
    let (mut all, mut reads, mut bytes) = (0.0, 0.0, 0.0);
    for stream in streams(job) {
        for (direction, rate) in rates(stream).unwrap_or_default() {
            all += rate;
            bytes += rate * stream.pattern.sizes[direction].mean();
            reads += if direction == Direction::Read { rate } else { 0.0 };
        }
    }
    Workload {
        block: Bytes((bytes / all).round() as u64),
        random: streams(job).all(|stream| stream.pattern.access.iter().all(Access::has_random_positions)),
        // A rate per direction may give a share of many digits.
        read_percent: (1e4 * reads / all).round() / 100.0,
        rate_iops: Some(all),
        concurrency: None,
        duration_secs: job.stop.after_ns.map_or(FULL_TIME_SECS, Nanos::as_secs),
        warm_up_secs: job.phases.warm_up_ns.as_secs(),
    }
}
