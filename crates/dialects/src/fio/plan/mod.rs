//! Lowers jobs to a plan: sections become jobs, clones become workers with one stream each, and a
//! stonewall begins a step. The rows of the table lower single options; this module handles files,
//! traces and dependencies between jobs. Deviations from fio, and surprising behaviour that fio
//! shares, are reported in notes.

pub(in crate::fio) mod files;
mod job;
mod replay;
mod report;
mod special;

use model::draws::GeneratorChoice;
use model::plan::{
    CacheMode, Consent, DepthScope, Job as PlanJob, LatencyPoints, Pacing, Plan, Step, Stream, TargetRules, Worker,
};

use super::disk::Disk;
use super::draft::{Draft, JobClone, Parts, is_option_set, push_error};
use super::jobs::{Job, Jobs};
use super::lower::queue;
use super::options::replay::Replay as ReplayOptions;
use super::options::verify::Checksum;
use super::options::{JobOptions, Shared};
use super::table;
use crate::{Diagnostic, bounds};

/// fio's default seed.
const DEFAULT_SEED: u64 = 0x89;

/// The environment in which jobs will run.
#[derive(Clone, Copy)]
pub struct LowerEnv<'a> {
    /// The arguments of the command line, the program first.
    pub arguments: &'a [String],
    /// Files and devices.
    pub disk: &'a dyn Disk,
    /// An unpredictable seed, for `randrepeat=0`.
    pub fresh_seed: u64,
    /// The id of this process.
    pub process: u32,
    /// Seconds that local time is ahead of UTC.
    pub utc_offset_s: i32,
    /// The name of the host that runs the jobs, if it is a client.
    pub client: Option<&'a str>,
}

/// The lowered jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The plan of all jobs.
    pub plan: Plan,
    /// Lines for stdout when the jobs start.
    pub stdout: Vec<String>,
    /// Lines for stderr: omitted parts of traces.
    pub stderr: Vec<String>,
    /// Notes for readers of the results.
    pub notes: Vec<String>,
    /// Jobs with a configured depth above 1 and a synchronous engine, with that depth.
    pub capped_depths: Vec<(String, u32)>,
    /// Clones whose files cannot be prepared.
    pub unusable: Vec<Unusable>,
}

/// A clone whose files cannot be prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Step and number of its job in the plan.
    pub job: (usize, usize),
    /// Number in the job.
    pub clone: usize,
    /// The error line.
    pub line: String,
    /// The error number.
    pub errno: i32,
    /// The fio function that would have failed; empty if fio's message names none.
    pub function: String,
}

impl Unusable {
    fn new(
        clone: JobClone<'_>,
        place: (usize, usize),
        line: impl Into<String>,
        (errno, function): (i32, &str),
    ) -> Unusable {
        Unusable {
            job: place,
            clone: clone.index as usize,
            line: line.into(),
            errno,
            function: function.into(),
        }
    }
}

/// Lowers jobs to a plan.
///
/// # Errors
/// A [`Diagnostic`] for each unsupported option.
pub fn lower(jobs: &Jobs, env: LowerEnv<'_>) -> Result<Lowered, Vec<Diagnostic>> {
    if let Some(problem) = check_bounds(jobs) {
        return Err(vec![problem]);
    }
    let mut lowering = Lowering::new(jobs, env);
    for (index, job) in jobs.jobs.iter().enumerate() {
        lowering.add(index, job);
    }
    if !lowering.errors.is_empty() {
        return Err(lowering.errors);
    }
    Ok(lowering.finish())
}

/// The first option that exceeds the bounds of a test.
fn check_bounds(jobs: &Jobs) -> Option<Diagnostic> {
    let (mut workers, mut streams) = (0u64, 0u64);
    jobs.jobs.iter().find_map(|job| {
        let (clones, files) = (job.options.job.numjobs.max(1), job.options.files.nrfiles.max(1));
        let clone_job = clones.unsigned_abs();
        workers = workers.saturating_add(clone_job);
        streams = streams.saturating_add(clone_job.saturating_mul(files.unsigned_abs()));
        let problem = bounds::WORKERS
            .check("numjobs", clones, workers)
            .or_else(|| bounds::STREAMS.check("nrfiles", files, streams))?;
        Some(Diagnostic {
            what: format!("fio: {}", problem.what),
            ..problem.at(job.location.clone())
        })
    })
}

/// The state of lowering.
struct Lowering<'a> {
    jobs: &'a Jobs,
    env: LowerEnv<'a>,
    targets: files::Targets,
    steps: Vec<Step>,
    /// The place of each job: step, and number in it.
    places: Vec<(usize, usize)>,
    /// The group of each job.
    groups: Vec<usize>,
    /// The number of clones so far.
    clones: u32,
    /// The bytes of the last clone's area, where known.
    area: Option<u64>,
    stdout: Vec<String>,
    stderr: Vec<String>,
    notes: Vec<String>,
    capped_depths: Vec<(String, u32)>,
    unusable: Vec<Unusable>,
    errors: Vec<Diagnostic>,
    /// Surveyed traces, by name and replay options.
    traces: Vec<((String, Shared<ReplayOptions>), replay::SurveyedTrace)>,
}

impl<'a> Lowering<'a> {
    fn new(jobs: &'a Jobs, env: LowerEnv<'a>) -> Lowering<'a> {
        Lowering {
            jobs,
            env,
            targets: files::Targets::default(),
            steps: Vec::new(),
            places: Vec::new(),
            groups: Vec::new(),
            clones: 0,
            area: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
            notes: Vec::new(),
            capped_depths: Vec::new(),
            unusable: Vec::new(),
            errors: Vec::new(),
            traces: Vec::new(),
        }
    }

    fn push_error(&mut self, what: impl Into<String>) {
        push_error(&mut self.errors, what);
    }

    fn add(&mut self, index: usize, job: &'a Job) {
        let first = self.steps.is_empty();
        if first || job.waits() {
            self.steps.push(Step::default());
        }
        let group = match self.groups.last() {
            None => 0,
            Some(group) => group + usize::from(job.waits() || job.options.job.new_group),
        };
        let step = self.steps.len() - 1;
        let place = (step, self.steps[step].jobs.len());
        self.groups.push(group);
        self.places.push(place);
        let mut options = job.options.clone();
        let (mut plan, mut workers) = (PlanJob::default(), Vec::new());
        for clone in 0..job.options.job.numjobs.max(1) as u32 {
            self.clones += 1;
            let clone = JobClone {
                job,
                index: clone,
                number: self.clones,
                draws: GeneratorChoice::Fio {
                    seed: self.seed(&job.options),
                    number: self.clones,
                    writes_use_read_size_seed: job.options.verify.verify != Checksum::Off,
                },
            };
            let (clone_job, worker) = self.worker(clone, &mut options, place);
            plan = clone_job;
            workers.push(worker);
        }
        replay::refuse(job, &mut self.errors);
        self.add_notes(job);
        self.note_overridden_options(job);
        let plan = PlanJob {
            name: job.name().to_owned(),
            stop: match (
                queue::kind(&job.options).transfers_no_data(),
                &job.options.replay.read_iolog,
            ) {
                (true, _) => special::stop(&job.options),
                (false, Some(_)) => replay::stop(&job.options),
                (false, None) => self.stop(job),
            },
            after: self.lower_dependencies(index, job),
            workers,
            ..plan
        };
        self.steps[step].jobs.push(plan);
    }

    fn worker(&mut self, clone: JobClone<'_>, options: &mut JobOptions, place: (usize, usize)) -> (PlanJob, Worker) {
        let (depth, asynchronous) = (queue::depth(options), queue::is_asynchronous(options));
        if !asynchronous && options.queue.iodepth > 1 {
            self.stdout.push(
                "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1"
                    .into(),
            );
            if depth == 1 {
                let configured = options.queue.iodepth.clamp(1, i64::from(u32::MAX)) as u32;
                self.capped_depths.push((clone.job.name().to_owned(), configured));
            }
        }
        let trace = self.surveyed_trace(clone);
        let files = match &trace {
            Some(trace) => self.files_of_trace(clone, trace, place),
            None => self.lower_files(clone, place),
        };
        self.unusable.extend(special::find_unusable_engine(clone, place));
        self.stdout.extend(special::startup_lines(clone));
        let Parts { job, worker, stream } = self.draft(clone, options);
        self.unusable
            .extend(special::find_empty_affinity(clone, place, &worker));
        let stream = Stream {
            target: files.target,
            region: files.region,
            depth,
            ..stream
        };
        let worker = Worker {
            depth: DepthScope::PerStream,
            draws: clone.draws,
            latency: match asynchronous {
                true => LatencyPoints::AfterCall,
                false => LatencyPoints::BeforeCall,
            },
            streams: vec![match &trace {
                Some(trace) => self.with_replay(clone, stream, trace),
                None => stream,
            }],
            ..worker
        };
        (job, worker)
    }

    /// Lowers all options by the rows of the table.
    fn draft(&mut self, clone: JobClone<'_>, options: &mut JobOptions) -> Parts {
        let mut draft = Draft {
            options,
            clone,
            flags: &self.jobs.flags,
            globals: &self.jobs.globals,
            disk: self.env.disk,
            parts: Parts::default(),
            errors: &mut self.errors,
        };
        table::rows().for_each(|row| row.lower(&mut draft));
        queue::lower_drop_flushes(&mut draft);
        draft.parts
    }

    /// The stream with the operations of a trace.
    fn with_replay(&self, clone: JobClone<'_>, stream: Stream, trace: &replay::SurveyedTrace) -> Stream {
        let options = &clone.job.options;
        let is_set = |name: &str| is_option_set(clone.job, &self.jobs.globals, name);
        Stream {
            mix: trace.mix(),
            pattern: trace.pattern(),
            cache: CacheMode {
                direct: trace.is_direct(options, is_set("direct") || is_set("buffered")),
                ..stream.cache
            },
            sync: trace.sync(options),
            pacing: Pacing::Unpaced,
            depth: trace.depth(options, is_set("iodepth")),
            verify: None,
            priority_rules: Vec::new(),
            replay: Some(trace.replay.clone()),
            ..stream
        }
    }

    fn seed(&self, options: &JobOptions) -> u64 {
        match options.pattern.randseed {
            Some(seed) => seed,
            None if options.pattern.randrepeat => DEFAULT_SEED,
            None => self.env.fresh_seed,
        }
    }

    fn finish(mut self) -> Lowered {
        self.set_end_rules();
        // fio reports an error once for each clone, not for each file.
        self.unusable.dedup();
        let origin = self.origin();
        let plan = Plan {
            name: "fio".into(),
            seed: self
                .jobs
                .jobs
                .first()
                .map_or(DEFAULT_SEED, |job| self.seed(&job.options)),
            groups: self.plan_groups(),
            grids: report::grids(self.jobs),
            targets: self.targets.list,
            steps: self.steps,
            target_rules: TargetRules {
                consent: Consent::Implied,
                character_devices: true,
                kernel_checks_alignment: true,
                ..TargetRules::default()
            },
            origin,
            ..Plan::default()
        };
        Lowered {
            plan,
            stdout: self.stdout,
            stderr: self.stderr,
            notes: self.notes,
            capped_depths: self.capped_depths,
            unusable: self.unusable,
        }
    }
}
