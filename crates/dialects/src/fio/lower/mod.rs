//! What jobs mean: sections become jobs of a plan, clones become workers with one stream each, a stonewall begins a step.
//!
//! Each option is carried over in one place, in the file of its group. What is done otherwise than fio does, or as fio does
//! although a reader of the figures would not expect it, is told in notes.

mod data;
mod files;
mod job;
mod pace;
mod pattern;
mod priorities;
mod queue;
mod replay;
mod report;
mod special;
mod verify;

use model::draws::DrawsForm;
use model::plan::{
    Consent, Depth, Divide, Job as PlanJob, LatencyPoints, Plan, Step, StoragePath, Stream, TargetRules, Worker,
};

use super::jobs::{Job, Jobs};
use crate::Diagnostic;

pub use files::{Disk, Found, FoundKind};
pub use replay::TraceFile;

/// fio's seed where none is given.
const USUAL_SEED: u64 = 0x89;

/// Where jobs are to be carried out.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    /// The words of the command line, the program first.
    pub arguments: &'a [String],
    /// Files and devices.
    pub disk: &'a dyn Disk,
    /// A seed that nobody knows before, for `randrepeat=0`.
    pub fresh_seed: u64,
    /// The number of this process.
    pub process: u32,
    /// Seconds that local time is ahead of UTC.
    pub utc_offset_s: i32,
    /// The host that carries them out, as the user names it, if it is another one.
    pub client: Option<&'a str>,
}

/// What jobs mean here.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The plan.
    pub plan: Plan,
    /// Lines for stdout once the jobs begin.
    pub said: Vec<String>,
    /// Lines for stderr: what of a trace is left out.
    pub complained: Vec<String>,
    /// What a reader of the figures should know, in sentences.
    pub notes: Vec<String>,
    /// Jobs that ask for a depth above 1 of an engine that has one operation in flight, with that depth.
    pub capped_depths: Vec<(String, u32)>,
    /// Clones whose files cannot be made ready, counted from 1 over all jobs, with why.
    pub unusable: Vec<Unusable>,
}

/// A clone whose files cannot be made ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Step and number of its job in the plan.
    pub job: (usize, usize),
    /// Its number in the job.
    pub clone: usize,
    /// The line that says so.
    pub line: String,
    /// The error number.
    pub errno: i32,
    /// The function of fio that would have failed; empty where it names none.
    pub function: String,
}

/// Gives jobs their meaning.
///
/// # Errors
/// A [`Diagnostic`] for each thing that was read and cannot be carried out.
pub fn lower(jobs: &Jobs, here: Here<'_>) -> Result<Lowered, Vec<Diagnostic>> {
    let mut lowering = Lowering::new(jobs, here);
    for (index, job) in jobs.jobs.iter().enumerate() {
        lowering.add(index, job);
    }
    if !lowering.complaints.is_empty() {
        return Err(lowering.complaints);
    }
    Ok(lowering.finish())
}

/// The plan on its way.
struct Lowering<'a> {
    jobs: &'a Jobs,
    here: Here<'a>,
    targets: files::Targets,
    steps: Vec<Step>,
    /// Where each job has come to lie: step, and number in it.
    places: Vec<(usize, usize)>,
    /// The group of each job.
    groups: Vec<usize>,
    /// Clones so far.
    clones: u32,
    /// Bytes that the last clone works on, where they are known.
    area: Option<u64>,
    said: Vec<String>,
    complained: Vec<String>,
    notes: Vec<String>,
    capped_depths: Vec<(String, u32)>,
    unusable: Vec<Unusable>,
    complaints: Vec<Diagnostic>,
    /// Traces that were looked through, by their names and how they are carried out.
    traces: Vec<((String, super::options::replay::Replay), replay::Played)>,
}

/// A clone of a job.
#[derive(Clone, Copy)]
struct Clone<'a> {
    job: &'a Job,
    /// Its number in the job, from 0.
    index: u32,
    /// Its number in the run, from 1.
    number: u32,
    /// Where its random numbers come from.
    draws: DrawsForm,
}

impl<'a> Lowering<'a> {
    fn new(jobs: &'a Jobs, here: Here<'a>) -> Lowering<'a> {
        Lowering {
            jobs,
            here,
            targets: files::Targets::default(),
            steps: Vec::new(),
            places: Vec::new(),
            groups: Vec::new(),
            clones: 0,
            area: None,
            said: Vec::new(),
            complained: Vec::new(),
            notes: Vec::new(),
            capped_depths: Vec::new(),
            unusable: Vec::new(),
            complaints: Vec::new(),
            traces: Vec::new(),
        }
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
        let mut workers = Vec::new();
        for clone in 0..job.options.job.numjobs.max(1) as u32 {
            self.clones += 1;
            let clone = Clone {
                job,
                index: clone,
                number: self.clones,
                draws: DrawsForm::PerPurpose {
                    seed: self.seed(&job.options),
                    number: self.clones,
                },
            };
            workers.push(self.worker(clone, place));
        }
        queue::refuse(&job.options, &mut self.complaints);
        pattern::refuse(&job.options, &mut self.complaints);
        replay::refuse(job, &mut self.complaints);
        self.notes_of(job);
        self.note_options_without_meaning(job);
        let plan = PlanJob {
            name: job.name().to_owned(),
            description: job.options.job.description.clone(),
            phases: job::phases(&job.options),
            stop: match (
                queue::engine(&job.options).kind.moves_nothing(),
                &job.options.replay.read_iolog,
            ) {
                (true, _) => special::stop(&job.options),
                (false, Some(_)) => replay::stop(&job.options),
                (false, None) => self.stop(job),
            },
            after: self.waits_for(index, job),
            ends_with: Default::default(),
            control: pace::control(&job.options),
            operation_log: None,
            trace: job.options.replay.write_iolog.clone(),
            windows: report::windows(&job.options),
            prepare_only: job.options.job.create_only,
            scheduler: job.options.queue.ioscheduler.clone(),
            ends_with_io: special::ends_with_io(&job.options),
            hosts: Vec::new(),
            divide: Divide::default(),
            storage: StoragePath::default(),
            workers,
        };
        self.steps[step].jobs.push(plan);
    }

    fn worker(&mut self, clone: Clone<'_>, place: (usize, usize)) -> Worker {
        let options = &clone.job.options;
        let (depth, asynchronous) = (queue::depth(options), queue::is_asynchronous(options));
        if !asynchronous && options.queue.iodepth > 1 {
            self.said.push(
                "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1"
                    .into(),
            );
            if depth == 1 {
                let asked = options.queue.iodepth.clamp(1, i64::from(u32::MAX)) as u32;
                self.capped_depths.push((clone.job.name().to_owned(), asked));
            }
        }
        let played = self.played(clone);
        let depth = match &played {
            Some(played) => played.depth(options, self.was_given(clone.job, "iodepth")),
            None => depth,
        };
        let files = match &played {
            Some(played) => self.files_of_trace(clone, played),
            None => self.files_of(clone, place),
        };
        self.unusable.extend(special::unusable(clone, place));
        self.said.extend(special::introduced(clone));
        Worker {
            engine: queue::engine(options),
            depth: Depth::PerStream,
            batching: queue::batching(options),
            draws: clone.draws,
            placement: queue::placement(options, clone.number, &mut self.complaints),
            memory: queue::memory(options),
            latency: match asynchronous {
                true => LatencyPoints::AfterCall,
                false => LatencyPoints::BeforeCall,
            },
            streams: vec![match &played {
                Some(played) => self.stream_of_trace(clone, files, depth, played),
                None => self.stream(clone, files, depth),
            }],
        }
    }

    fn stream(&mut self, clone: Clone<'_>, files: files::Files, depth: u32) -> Stream {
        let options = &clone.job.options;
        Stream {
            target: files.target,
            region: files.region,
            mix: pattern::mix(options),
            pattern: match queue::engine(options).kind.works_on_names() {
                true => special::pattern(options),
                false => pattern::pattern(options),
            },
            content: data::content(options, self.here.disk, &mut self.complaints),
            cache: queue::cache(options),
            hint: queue::hint(options),
            sync: queue::sync(options),
            pacing: pace::pacing(options),
            think: special::think(options)
                .unwrap_or_else(|| pace::think(options, self.was_given(clone.job, "thinktime_blocks"))),
            depth,
            weight: 1,
            priority: queue::priority(options),
            on_error: queue::on_error(options, &mut self.complaints),
            verify: verify::verify(clone, &self.jobs.flags, self.here.disk, &mut self.complaints),
            priorities: priorities::rules(options, &mut self.complaints),
            lock: queue::lock(options),
            flow: queue::flow(options),
            replay: None,
        }
    }

    fn stream_of_trace(
        &mut self,
        clone: Clone<'_>,
        files: files::Files,
        depth: u32,
        played: &replay::Played,
    ) -> Stream {
        let options = &clone.job.options;
        let direct = self.was_given(clone.job, "direct") || self.was_given(clone.job, "buffered");
        let stream = self.stream(clone, files, depth);
        Stream {
            mix: played.mix(),
            pattern: played.pattern(),
            cache: model::plan::CacheMode {
                direct: played.is_direct(options, direct),
                ..stream.cache
            },
            sync: played.sync(options),
            pacing: model::plan::Pacing::Unpaced,
            verify: None,
            priorities: Vec::new(),
            replay: Some(played.replay.clone()),
            ..stream
        }
    }

    fn seed(&self, options: &super::JobOptions) -> u64 {
        match options.pattern.randseed {
            Some(seed) => seed,
            None if options.pattern.randrepeat => USUAL_SEED,
            None => self.here.fresh_seed,
        }
    }

    /// An option stands in the job or in a global section.
    fn was_given(&self, job: &Job, name: &str) -> bool {
        job.given
            .iter()
            .chain(&self.jobs.globals)
            .any(|(given, _)| given == name)
    }

    fn finish(mut self) -> Lowered {
        self.end_together();
        let origin = self.origin();
        let plan = Plan {
            name: "fio".into(),
            seed: self.jobs.jobs.first().map_or(USUAL_SEED, |job| self.seed(&job.options)),
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
            said: self.said,
            complained: self.complained,
            notes: self.notes,
            capped_depths: self.capped_depths,
            unusable: self.unusable,
        }
    }
}

fn complain(complaints: &mut Vec<Diagnostic>, what: impl Into<String>) {
    let diagnostic = Diagnostic::new(what.into());
    if !complaints.contains(&diagnostic) {
        complaints.push(diagnostic);
    }
}
