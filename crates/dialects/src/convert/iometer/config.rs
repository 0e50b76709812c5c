//! The configuration of a plan: each step becomes a specification of every worker, and steps that
//! differ only in depth become a cycle.

use model::content::Content;
use model::draws::GeneratorChoice;
use model::plan::{DepthScope, Dialect, Plan, Step, Stream, Target, Worker as PlanWorker};

use super::lines::{lines_of_worker, targets_and_streams};
use super::target_name;
use crate::convert::compare;
use crate::convert::worker_groups::Names;
use crate::iometer::config::{
    AccessSpec, Config, DataPattern, Manager, Record, SpecLine, Steps, TestSetup, TestType, Worker,
};
use crate::iometer::targets::sector_size;
use crate::iometer::{self, cycle, spec};

/// Seconds of a test that does not end by time: Iometer needs some.
const DEFAULT_SECONDS: u64 = 30;
/// The longest time that a configuration may have: ten years.
const MAX_SECONDS: u64 = 10 * 365 * 86_400;

/// Makes the configuration of a plan. `names` gets the names of targets that are not their paths.
pub(super) fn create_config(plan: &Plan, names: &mut Vec<(String, String)>) -> Config {
    let mut setup = create_setup(plan);
    let numbered = plan.steps.iter().enumerate();
    let mut steps: Vec<Vec<Part>> = numbered
        .map(|(index, step)| create_parts(plan, &find_echoes(plan, index), step, names))
        .collect();
    if let Some((length, depth)) = depth_cycle(&steps) {
        (setup.depth, setup.test_type) = (depth, TestType::CycleOutstandingIos);
        steps = steps.into_iter().step_by(length).collect();
    }
    let mut tests = Tests::default();
    steps.iter().for_each(|parts| tests.add(parts));
    let numbered = tests.workers.into_iter().enumerate();
    let workers = numbered.map(|(index, (worker, specs))| Worker {
        specs,
        name: match worker.name.is_empty() {
            true => format!("Worker {}", index + 1),
            false => worker.name,
        },
        // Other dialects repeat their positions; each worker has its own.
        seed: match plan.origin.dialect {
            Dialect::Iometer => worker.seed,
            _ => Some((plan.seed as u32).wrapping_add(index as u32)),
        },
        ..worker
    });
    Config {
        setup,
        managers: vec![Manager {
            name: "localhost".into(),
            address: "127.0.0.1".into(),
            workers: workers.collect(),
            ..Manager::default()
        }],
        specs: tests.specs.into_iter().map(|(_, spec)| spec).collect(),
        ..Config::default()
    }
}

fn create_setup(plan: &Plan) -> TestSetup {
    let echoed = |name: &str| {
        let mut settings = plan.origin.presentation.other.iter();
        let is_ours = plan.origin.dialect == Dialect::Iometer;
        settings
            .find(|(group_name, _)| is_ours && group_name == name)
            .map(|(_, value)| value.as_str())
    };
    let job = plan.steps.iter().flat_map(|step| &step.jobs).next();
    let run_time = job.and_then(|job| job.stop.after_ns);
    let run_seconds = run_time.map_or(DEFAULT_SECONDS, |after| after.as_secs().round() as u64);
    let warm_up = job.map_or(0.0, |job| job.phases.warm_up_ns.as_secs());
    let record = echoed("record").and_then(|number| Record::WORDS.get(number.parse::<usize>().ok()?));
    TestSetup {
        description: to_plain_text(echoed("description").unwrap_or(&plan.name)),
        run_seconds: run_seconds.clamp(1, MAX_SECONDS),
        ramp_up_seconds: (warm_up.round() as u64).min(MAX_SECONDS),
        record: record.map_or(Record::All, |(_, record)| *record),
        ..TestSetup::default()
    }
}

/// A text without what ends a line or begins a key.
fn to_plain_text(text: &str) -> String {
    let text = text.replace(|letter: char| letter.is_control(), " ");
    text.trim_start_matches([' ', '\'']).trim_end().to_owned()
}

/// A worker in one test.
#[derive(Clone)]
struct Part {
    /// Without its specifications.
    worker: Worker,
    lines: Vec<SpecLine>,
    /// The name of its specification.
    label: String,
    /// The specification has this name, rather than one for its only line.
    is_named: bool,
}

/// Names of a worker in the configuration that a plan comes from.
#[derive(Default)]
struct Echo {
    worker: String,
    spec: String,
    disks: Vec<String>,
}

/// The names of the workers of a step; none if the plan comes from another dialect.
fn find_echoes(plan: &Plan, step: usize) -> Vec<Echo> {
    let is_ours = plan.origin.dialect == Dialect::Iometer;
    let job = plan.origin.jobs.get(step).filter(|_| is_ours);
    let mut echoes: Vec<Echo> = Vec::new();
    for (name, value) in job.into_iter().flat_map(|job| &job.options) {
        match (name.as_str(), echoes.last_mut()) {
            ("worker", _) => echoes.push(Echo {
                worker: value.clone(),
                ..Echo::default()
            }),
            ("spec", Some(echo)) => echo.spec.clone_from(value),
            ("disk", Some(echo)) => echo.disks.push(value.clone()),
            _ => {}
        }
    }
    echoes
}

fn create_parts(plan: &Plan, echoes: &[Echo], step: &Step, names: &mut Vec<(String, String)>) -> Vec<Part> {
    let jobs = step.jobs.iter();
    let workers = jobs.flat_map(|job| job.workers.iter().map(move |worker| (job, worker)));
    let mut parts = Vec::new();
    for (number, (job, worker)) in workers.enumerate() {
        let echo = echoes.get(number);
        let label = echo.map_or(job.name.replace(',', " "), |echo| echo.spec.clone());
        let mut settings = worker_settings(plan, worker, number as u64, echo);
        settings.name = echo.map(|echo| echo.worker.clone()).unwrap_or_default();
        let (ids, _) = targets_and_streams(worker);
        for (id, name) in ids.iter().zip(&settings.targets) {
            let pair = (name.clone(), plan.target(*id).path.clone());
            if pair.0 != pair.1 && !names.contains(&pair) {
                names.push(pair);
            }
        }
        parts.push(Part {
            worker: settings,
            lines: lines_of_worker(worker),
            is_named: echo.is_some(),
            label: to_plain_text(&label),
        });
    }
    parts
}

/// The settings of a worker, without its name and specifications.
fn worker_settings(plan: &Plan, worker: &PlanWorker, number: u64, echo: Option<&Echo>) -> Worker {
    let (ids, streams) = targets_and_streams(worker);
    let stream = &streams[0];
    let depth = match worker.depth {
        DepthScope::Shared { operations } => operations / ids.len() as u32,
        DepthScope::PerStream | DepthScope::PerTarget { .. } => stream.depth / stream.target.ids().len() as u32,
    };
    let seed = match worker.draws {
        GeneratorChoice::Native { seed } if seed != iometer::worker_seed(plan.seed, number) => u32::try_from(seed).ok(),
        _ => None,
    };
    let disks = echo.map(|echo| &echo.disks).filter(|disks| disks.len() == ids.len());
    let targets = match disks {
        Some(disks) => disks.clone(),
        None => ids.iter().map(|id| target_name(plan.target(*id))).collect(),
    };
    let sector = targets.first().map_or(1, |name| sector_size(name));
    let (starting_sector, maximum_size) = sector_region(plan.target(ids[0]), stream, sector);
    Worker {
        outstanding: depth.max(1),
        connection: stream.reopen_every,
        seed: seed.filter(|_| echo.is_some()),
        maximum_size,
        starting_sector,
        pattern: match &stream.content {
            Content::Zeros => DataPattern::Repeating,
            Content::Pattern { bytes } if bytes.iter().all(|byte| *byte == bytes[0]) => DataPattern::Repeating,
            Content::Once | Content::Counting | Content::Pattern { .. } => DataPattern::Once,
            _ => DataPattern::Random,
        },
        targets,
        ..Worker::default()
    }
}

/// The first sector and the number of sectors; 0: up to the end of a target of unknown size.
fn sector_region(target: &Target, stream: &Stream, sector: u64) -> (u64, u64) {
    let region = &stream.region;
    let size = target.prepare.size().filter(|_| !compare::is_device(&target.path));
    let (base, length) = match (size, region.length) {
        (Some(size), _) => region.resolve(size.0),
        (None, Some(length)) if length.percent == 0.0 => (region.base.bytes.0, length.bytes.0.max(sector)),
        (None, _) => (region.base.bytes.0, 0),
    };
    (base / sector, length / sector)
}

/// The number of steps of a cycle of queue depths, and the depths.
fn depth_cycle(steps: &[Vec<Part>]) -> Option<(usize, Steps)> {
    let is_divisor = |length: &usize| steps.len().is_multiple_of(*length);
    (2..=steps.len()).rev().filter(is_divisor).find_map(|length| {
        let depths: Vec<u32> = steps[..length]
            .iter()
            .map(|parts| common_depth(parts))
            .collect::<Option<_>>()?;
        let rule = depth_steps(&depths)?;
        let has_depths = |block: &[Vec<Part>]| {
            let mut steps = block.iter().zip(&depths);
            steps.all(|(parts, depth)| common_depth(parts) == Some(*depth) && differ_in_depth_only(parts, &block[0]))
        };
        steps.chunks(length).all(has_depths).then_some((length, rule))
    })
}

/// The queue depth of all workers, if it is the same.
fn common_depth(parts: &[Part]) -> Option<u32> {
    let depth = parts.first()?.worker.outstanding;
    parts
        .iter()
        .all(|part| part.worker.outstanding == depth)
        .then_some(depth)
}

fn differ_in_depth_only(parts: &[Part], others: &[Part]) -> bool {
    let is_same = |(a, b): (&Part, &Part)| {
        let outstanding = b.worker.outstanding;
        let worker = Worker {
            outstanding,
            ..a.worker.clone()
        };
        worker == b.worker && a.lines == b.lines && (!a.is_named || a.label == b.label)
    };
    parts.len() == others.len() && parts.iter().zip(others).all(is_same)
}

/// The setting whose depths these are.
fn depth_steps(depths: &[u32]) -> Option<Steps> {
    let (first, second, last) = (*depths.first()?, *depths.get(1)?, *depths.last()?);
    let linear = Steps {
        start: first,
        end: last,
        step: second.checked_sub(first)?,
        exponential: false,
    };
    let exponential = Steps {
        step: second / first,
        exponential: true,
        ..linear
    };
    [linear, exponential]
        .into_iter()
        .find(|steps| cycle::cycle_depths(*steps) == depths)
}

/// Workers and specifications of all tests.
#[derive(Default)]
struct Tests {
    /// Settings, and the specification in each test.
    workers: Vec<(Worker, Vec<String>)>,
    /// Specifications with their labels.
    specs: Vec<(String, AccessSpec)>,
    names: Names,
    /// Number of tests so far.
    count: usize,
}

impl Tests {
    /// Adds a test. Its workers keep their order; a worker with other settings than before is a new
    /// one, which is idle in the tests before.
    fn add(&mut self, parts: &[Part]) {
        let is_known = |part: &Part| self.workers.iter().any(|(worker, _)| *worker == part.worker);
        // Workers of which none is known come last.
        let mut from = match parts.iter().any(is_known) {
            true => 0,
            false => self.workers.len(),
        };
        for part in parts {
            let name = self.spec(part);
            let group = self.workers[from..]
                .iter()
                .position(|(worker, _)| *worker == part.worker);
            let at = from + group.unwrap_or_default();
            if group.is_none() {
                let idle = vec![spec::IDLE.to_owned(); self.count];
                self.workers.insert(at, (part.worker.clone(), idle));
            }
            self.workers[at].1.push(name);
            from = at + 1;
        }
        self.count += 1;
        for (_, specs) in &mut self.workers {
            specs.resize(self.count, spec::IDLE.to_owned());
        }
    }

    /// The name of a specification, which is added if there is none.
    fn spec(&mut self, part: &Part) -> String {
        let Part {
            lines, label, is_named, ..
        } = part;
        let is_same =
            |(spec_name, spec): &&(String, AccessSpec)| spec.lines == *lines && (!is_named || spec_name == label);
        if let Some((_, spec_name)) = self.specs.iter().find(is_same) {
            return spec_name.name.clone();
        }
        let name = match &lines[..] {
            [line] if !is_named => spec::usual_name(line),
            _ if label.is_empty() || label.eq_ignore_ascii_case(spec::IDLE) => "Mix".to_owned(),
            _ => label.clone(),
        };
        let spec = AccessSpec {
            name: self.names.take(&name),
            lines: lines.clone(),
            ..AccessSpec::default()
        };
        let name = spec.name.clone();
        self.specs.push((label.clone(), spec));
        name
    }
}
