//! Lowers a configuration: every specification index and cycling step becomes a step, a worker a
//! thread, a target a stream. What cannot be expressed is refused.

use model::Nanos;
use model::plan::{
    CacheMode, Consent, DepthScope, Dialect, EndPropagation, ErrorPolicy, Extent, Grid, GridScope, Job, JobEcho,
    Origin, Phases, Plan, Presentation, Region, Step, Stop, Stream, StreamTarget, Target, TargetRules,
    Worker as PlanWorker,
};

use super::command_line::{Arguments, Layout};
use super::config::{
    AccessSpec, Assignment, Config, DataPattern, Manager, Record, SpecLine, TestType, Worker, number_of,
};
use super::cycle::{self, Counts, Run};
use super::spec::IDLE;
use super::streams::create_streams;
use super::targets::{Finder, Machine, ResolvedTarget, create_content, is_meant};
use super::write::format_line;
use crate::{Diagnostic, bounds};

/// I/O errors are counted, and the test continues.
const COUNTED_ERRORS: [i32; 1] = [crate::native::IO_ERROR];
/// Maximum number of parts that a problem lists.
const MAX_NAMES: usize = 8;
/// The first version whose layout differs.
const V2006: &str = "2006.07.27";

/// A lowered configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The plan of the configuration.
    pub plan: Plan,
    /// Differences from Iometer, one sentence each.
    pub notes: Vec<String>,
    /// Targets of the plan that are not on this machine. Empty unless nothing will be run.
    pub unmapped: Vec<String>,
    /// Maps of the command line that match nothing in the file, one sentence each.
    pub unused_maps: Vec<String>,
}

/// Lowers a configuration. `seed` makes the random decisions of workers without a fixed seed.
///
/// # Errors
/// A [`Diagnostic`] for everything that is not supported.
pub fn lower(
    config: &Config,
    arguments: &Arguments,
    machine: &dyn Machine,
    windows: bool,
    seed: u64,
) -> Result<Lowered, Vec<Diagnostic>> {
    let mut config = config.clone();
    add_workers(&mut config, arguments, machine);
    assign_specs(&mut config);
    let problems = refuse(&config, arguments, machine);
    if !problems.is_empty() {
        return Err(problems);
    }
    let finder = Finder {
        arguments,
        machine,
        windows,
    };
    let mut lowering = Lowering {
        config: &config,
        finder,
        targets: Vec::new(),
        wanted: Vec::new(),
        seed,
        refused: Vec::new(),
    };
    lowering.find_targets();
    let steps = lowering.steps();
    let mut targets = Vec::new();
    for (target, wanted) in lowering.targets.iter().zip(&lowering.wanted) {
        match lowering.finder.prepared(&target.path, *wanted) {
            Ok(target) => targets.push(target),
            Err(problem) => lowering.refused.push(problem),
        }
    }
    if !lowering.refused.is_empty() {
        return Err(lowering.refused);
    }
    let (steps, jobs) = steps.into_iter().unzip();
    let mut plan = Plan {
        name: "iometer".into(),
        seed,
        targets,
        steps,
        grids: vec![Grid::new(Nanos::secs(1), GridScope::Job)],
        target_rules: TargetRules {
            consent: Consent::Implied,
            short_device_names: true,
            ..TargetRules::default()
        },
        origin: create_origin(&config, arguments, jobs),
        ..Plan::default()
    };
    // A target that only idle workers have is not opened.
    plan.retain_targets(&plan.used_targets());
    let unmapped = lowering.targets.iter().filter(|target| {
        let is_used = |used: &Target| used.path == target.path;
        target.is_unmapped && plan.targets.iter().any(is_used)
    });
    Ok(Lowered {
        unmapped: unmapped.map(|target| target.path.clone()).collect(),
        notes: notes(&config),
        unused_maps: note_unused_maps(&config, arguments),
        plan,
    })
}

/// Adds workers of this machine if the file lists no manager, and targets to workers without any.
fn add_workers(config: &mut Config, arguments: &Arguments, machine: &dyn Machine) {
    if arguments.targets.is_empty() {
        return;
    }
    if config.managers.is_empty() {
        let count = config.setup.disk_workers.unwrap_or_else(|| machine.cpus());
        let worker = |number| Worker {
            name: format!("Worker {number}"),
            outstanding: 1,
            ..Worker::default()
        };
        config.managers.push(Manager {
            name: "localhost".into(),
            workers: (1..=count.min(bounds::WORKERS.max as u32)).map(worker).collect(),
            ..Manager::default()
        });
    }
    let workers = config.managers.iter_mut().flat_map(|manager| &mut manager.workers);
    for worker in workers.filter(|worker| worker.targets.is_empty() && worker.network.is_empty()) {
        worker.targets.clone_from(&arguments.targets);
    }
}

/// Gives workers without a list the specifications that are assigned to them by default.
fn assign_specs(config: &mut Config) {
    let is_default = |spec: &&AccessSpec| matches!(spec.assignment, Assignment::All | Assignment::Disk);
    let names: Vec<String> = config
        .specs
        .iter()
        .filter(is_default)
        .map(|spec| spec.name.clone())
        .collect();
    let workers = config.managers.iter_mut().flat_map(|manager| &mut manager.workers);
    for worker in workers.filter(|worker| worker.specs.is_empty() && worker.network.is_empty()) {
        worker.specs.clone_from(&names);
    }
}

/// Reasons to refuse the whole configuration.
fn refuse(config: &Config, arguments: &Arguments, machine: &dyn Machine) -> Vec<Diagnostic> {
    let mut refused = Vec::new();
    let mut add = |what: String, help: &str| refused.push(Diagnostic::new(what).help(help));
    if config.setup.run_seconds == 0 {
        add(
            "cannot run this configuration: its run time is 0, so no test would end".into(),
            "set `'Run Time` to hours, minutes and seconds",
        );
    }
    if let Some((names, first)) = managers_elsewhere(config, arguments, machine) {
        let help = format!(
            "run the parts of several machines apart; let this machine do the work of one by `--map \"{first}=localhost\"`"
        );
        add(
            format!("cannot reach these managers: {names}; they are other machines"),
            &help,
        );
    }
    if all_workers(config).all(|(_, worker)| worker.specs.is_empty()) {
        add(
            "You must assign at least one access specification to a worker.".into(),
            "list names below `'Assigned access specs`, or set the default assignment of a specification to ALL",
        );
    }
    refused.extend(parts_that_cannot_run(config));
    refused
}

/// Workers and specifications that cannot be run: one problem for each cause, listing them.
fn parts_that_cannot_run(config: &Config) -> impl Iterator<Item = Diagnostic> {
    let mut causes: Vec<(String, &str, Vec<String>)> = Vec::new();
    let mut add = |name: &str, cause: String, help: &'static str| match causes
        .iter_mut()
        .find(|(listed_cause, ..)| *listed_cause == cause)
    {
        Some((_, _, names)) => names.push(name.to_owned()),
        None => causes.push((cause, help, vec![name.to_owned()])),
    };
    for (manager, worker) in all_workers(config) {
        let name = format!("worker \"{}\" of manager \"{}\"", worker.name, manager.name);
        let Worker {
            network, outstanding, ..
        } = worker;
        if !network.is_empty() {
            let cause = format!("network workers ({network}) are not supported; only disks are measured");
            add(&name, cause, "remove them from the file");
        }
        if worker.connection == Some(0) {
            let cause =
                "with 0 transactions per connection targets are only opened and closed, and nothing is transferred";
            add(
                &name,
                cause.into(),
                "set the third value of the outstanding I/Os to 1 or more",
            );
        }
        if u64::from(*outstanding) > bounds::MAX_WORKER_OPERATIONS || *outstanding == 0 {
            let cause = format!("{outstanding} outstanding I/Os are not possible");
            add(&name, cause, "set a number of 1 to 1048576");
        }
    }
    for spec in config.specs.iter().filter(|spec| is_in_use(config, spec)) {
        let name = format!("\"{}\"", spec.name);
        if spec.lines.iter().any(|line| line.percent > 0 && line.reply > 0) {
            let cause = "a reply is a second transfer of the other direction, which is not supported";
            add(&name, cause.into(), "set the last column of the lines to 0");
        }
        if spec.lines.is_empty() {
            add(
                &name,
                "there are no lines".into(),
                "add lines, or assign another specification",
            );
        }
    }
    causes.into_iter().map(|(cause, help, names)| {
        let omitted = match names.len().saturating_sub(MAX_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = names[..names.len().min(MAX_NAMES)].join(", ");
        Diagnostic::new(format!("cannot run {names}{omitted}: {cause}")).help(help)
    })
}

/// The names of managers that are other machines, and the first of them. A manager without name and
/// address is this machine.
fn managers_elsewhere(config: &Config, arguments: &Arguments, machine: &dyn Machine) -> Option<(String, String)> {
    fn shown(manager: &Manager) -> &str {
        match &*manager.name {
            "" => &manager.address,
            name => name,
        }
    }
    let is_here = |manager: &&Manager| {
        let named = |(name, host): &(String, String)| *name == shown(manager) && machine.is_here(host);
        let is_named = arguments.maps.iter().any(named) || shown(manager).is_empty();
        is_named || machine.is_here(&manager.name) || machine.is_here(&manager.address)
    };
    let elsewhere = config.managers.iter().filter(|manager| !is_here(manager));
    let names: Vec<&str> = elsewhere.map(shown).collect();
    Some((names.join(", "), (*names.first()?).to_owned()))
}

fn is_in_use(config: &Config, spec: &AccessSpec) -> bool {
    all_workers(config).any(|(_, worker)| worker.specs.contains(&spec.name))
}

fn all_workers(config: &Config) -> impl Iterator<Item = (&Manager, &Worker)> {
    let managers = config.managers.iter();
    managers.flat_map(|manager| manager.workers.iter().map(move |worker| (manager, worker)))
}

struct Lowering<'a> {
    config: &'a Config,
    finder: Finder<'a>,
    /// Targets of the plan.
    targets: Vec<ResolvedTarget>,
    /// The largest region of each target in bytes; 0: the whole target.
    wanted: Vec<u64>,
    seed: u64,
    refused: Vec<Diagnostic>,
}

impl<'a> Lowering<'a> {
    fn find_targets(&mut self) {
        let workers: Vec<&Worker> = all_workers(self.config).map(|(_, worker)| worker).collect();
        for worker in &workers {
            for name in &worker.targets {
                match self.finder.find(name) {
                    Ok(target) => {
                        self.refuse_shared(&target, worker);
                        self.add_target(target, worker);
                    }
                    Err(problem) if self.refused.contains(&problem) => {}
                    Err(problem) => self.refused.push(problem),
                }
            }
        }
        if self.refused.is_empty() && workers.iter().all(|worker| worker.targets.is_empty()) {
            let message = "cannot run this configuration: no worker has a target";
            self.refused
                .push(Diagnostic::new(message).help("name one with --target PATH"));
        }
    }

    /// Refuses connection tests of a worker whose two targets are the same file, because that file
    /// would be opened and closed as one.
    fn refuse_shared(&mut self, target: &ResolvedTarget, worker: &Worker) {
        let targets = worker.targets.iter().filter_map(|name| self.finder.find(name).ok());
        if worker.connection.is_some() && targets.filter(|other_target| other_target.path == target.path).count() > 1 {
            let (name, path) = (&worker.name, &target.path);
            let message =
                format!("cannot test the connection rate of worker \"{name}\": two of its targets are {path}");
            let problem = Diagnostic::new(message).help("map each target to a separate file or device");
            if !self.refused.contains(&problem) {
                self.refused.push(problem);
            }
        }
    }

    fn add_target(&mut self, target: ResolvedTarget, worker: &Worker) {
        let sectors = match worker.maximum_size {
            0 => 0,
            size => worker.starting_sector.saturating_add(size),
        };
        let wanted = sectors.saturating_mul(target.sector);
        match self.targets.iter().position(|listed| listed.path == target.path) {
            Some(index) => self.wanted[index] = self.wanted[index].max(wanted),
            None => {
                self.targets.push(target);
                self.wanted.push(wanted);
            }
        }
    }

    /// All steps, each with the configuration that its report needs. They are counted before the
    /// first is created: thousands of tests with hundreds of workers would need half a gigabyte.
    fn steps(&mut self) -> Vec<(Step, JobEcho)> {
        let indexes = all_workers(self.config).map(|(_, worker)| worker.specs.len()).max();
        let (mut cycles, mut tests, mut streams) = (Vec::new(), 0, 0);
        for index in 0..indexes.unwrap_or_default() {
            let targets = |manager: &Manager| {
                manager
                    .workers
                    .iter()
                    .map(|worker| self.count_targets_at(worker, index))
                    .collect()
            };
            let all: Counts = self.config.managers.iter().map(targets).collect();
            let runs = cycle::expand_runs(&self.config.setup, &all);
            tests += runs.len();
            let refusal = match tests > cycle::MAX_RUNS {
                true => {
                    let message = format!(
                        "cannot run this configuration: it has more than {} tests",
                        cycle::MAX_RUNS
                    );
                    Some(Diagnostic::new(message).help("cycle in larger steps"))
                }
                false => runs
                    .iter()
                    .find_map(|run| self.exceeded_bound(index, run, &mut streams)),
            };
            if let Some(refusal) = refusal {
                self.refused.push(refusal);
                return Vec::new();
            }
            cycles.push(runs);
        }
        let mut steps = Vec::new();
        for (index, runs) in cycles.iter().enumerate() {
            for (number, run) in runs.iter().enumerate() {
                steps.push(self.step(index, run, (number, runs.len())));
            }
        }
        if steps.is_empty() && self.refused.is_empty() {
            let message = "cannot run this configuration: every worker is idle in every test";
            self.refused
                .push(Diagnostic::new(message).help("assign specifications to workers that have targets"));
        }
        steps
    }

    /// Refuses more streams or operations in flight than a test may have. `streams` counts those of
    /// all tests.
    fn exceeded_bound(&self, index: usize, run: &Run, streams: &mut u64) -> Option<Diagnostic> {
        let counts = run.targets.iter().flatten();
        let mut operations = 0;
        for ((_, worker), count) in all_workers(self.config).zip(counts) {
            let spec = worker.specs.get(index).and_then(|name| self.config.spec(name));
            let lines = spec.map_or(0, |spec| spec.lines.len());
            *streams = streams.saturating_add((count * lines) as u64);
            let depth = u64::from(run.depth.unwrap_or(worker.outstanding));
            operations = depth.saturating_mul(*count as u64).saturating_add(operations);
        }
        let message = match (
            *streams > bounds::STREAMS.max,
            operations > bounds::MAX_WORKER_OPERATIONS,
        ) {
            (true, _) => format!("more than {} lines on targets", bounds::STREAMS.max),
            (_, true) => format!(
                "{operations} outstanding I/Os; the limit is {}",
                bounds::MAX_WORKER_OPERATIONS
            ),
            _ => return None,
        };
        let problem = Diagnostic::new(format!("cannot run this configuration: it has {message}"));
        Some(problem.help("use fewer targets, lines or outstanding I/Os"))
    }

    fn count_targets_at(&self, worker: &Worker, index: usize) -> usize {
        match worker.specs.get(index) {
            Some(name) if name != IDLE => worker.targets.len(),
            _ => 0,
        }
    }

    /// The specifications of an index, in the order of the workers.
    fn specs_at(&self, index: usize) -> Vec<&'a AccessSpec> {
        let mut used: Vec<&AccessSpec> = Vec::new();
        let workers = all_workers(self.config).filter(|(_, worker)| self.count_targets_at(worker, index) > 0);
        for spec in workers.filter_map(|(_, worker)| self.config.spec(worker.specs.get(index)?)) {
            if !used.contains(&spec) {
                used.push(spec);
            }
        }
        used
    }

    fn step(&mut self, index: usize, run: &Run, (number, total): (usize, usize)) -> (Step, JobEcho) {
        let setup = &self.config.setup;
        let mut workers = Vec::new();
        let mut echo = Echo::default();
        echo.add("index", index);
        for (manager, counts) in self.config.managers.iter().zip(&run.targets) {
            if counts.iter().all(|count| *count == 0) {
                continue;
            }
            echo.add("manager", &manager.name);
            for (worker, count) in manager.workers.iter().zip(counts).filter(|(_, count)| **count > 0) {
                let Some(spec) = worker.specs.get(index).and_then(|name| self.config.spec(name)) else {
                    continue;
                };
                let depth = run.depth.unwrap_or(worker.outstanding);
                echo.add_worker(worker, spec, depth, *count);
                let number = workers.len() as u64;
                let worker = self.lower_worker(worker, spec, (depth, *count), number);
                workers.push(worker);
            }
        }
        let used = self.specs_at(index);
        let names: Vec<&str> = used.iter().map(|spec| &*spec.name).collect();
        echo.options.splice(0..0, used.iter().flat_map(|spec| spec_lines(spec)));
        let name = match total {
            1 => names.join(" + "),
            _ => format!("{}, test {} of {total}", names.join(" + "), number + 1),
        };
        let job = Job {
            name: name.clone(),
            phases: Phases::with_warm_up(Nanos::secs(setup.ramp_up_seconds)),
            stop: Stop::after(Nanos::secs(setup.run_seconds)),
            ends_with: EndPropagation {
                workers_on_failure: true,
                plan: true,
                ..EndPropagation::default()
            },
            workers,
            ..Job::default()
        };
        let step = Step {
            jobs: vec![job],
            prepare: None,
        };
        let options = echo.options;
        (step, JobEcho { name, options })
    }

    fn lower_worker(
        &self,
        worker: &Worker,
        spec: &AccessSpec,
        (depth, count): (u32, usize),
        number: u64,
    ) -> PlanWorker {
        let seed = match worker.seed {
            Some(seed) => u64::from(seed),
            None => worker_seed(self.seed, number),
        };
        let mut alternatives = 1;
        let mut streams = Vec::new();
        for name in &worker.targets[..count] {
            let Ok(target) = self.finder.find(name) else { continue };
            let Some(id) = self.targets.iter().position(|listed| listed.path == target.path) else {
                continue;
            };
            let shaped = create_streams(&spec.lines, target.sector as u32);
            alternatives = shaped.len();
            streams.extend(shaped.into_iter().map(|stream| Stream {
                target: StreamTarget::one(id as u32),
                region: target_region(worker, &target, &spec.lines),
                content: create_content(worker.pattern, seed),
                cache: CacheMode::DIRECT,
                depth,
                on_error: ErrorPolicy {
                    tolerate_read: COUNTED_ERRORS.to_vec(),
                    tolerate_write: COUNTED_ERRORS.to_vec(),
                    ..ErrorPolicy::default()
                },
                reopen_every: worker.connection,
                ..stream
            }));
        }
        // A stream alone would pause after its transfers, not before them.
        let has_bursts = alternatives > 1 || streams.iter().any(|stream| stream.think.is_some());
        PlanWorker {
            depth: match has_bursts {
                true => DepthScope::PerTarget {
                    alternatives: alternatives as u32,
                },
                false => DepthScope::PerStream,
            },
            draws: model::draws::GeneratorChoice::Native { seed },
            streams,
            ..PlanWorker::default()
        }
    }
}

/// The seed of a worker without a fixed one. `number` is its position among the active ones.
pub(crate) fn worker_seed(seed: u64, number: u64) -> u64 {
    seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The part of a target that a worker uses; its first byte is rounded up to the alignment.
fn target_region(worker: &Worker, target: &ResolvedTarget, lines: &[SpecLine]) -> Region {
    let used = lines.iter().filter(|line| line.percent > 0);
    let align = used.map(|line| u64::from(line.align)).max().unwrap_or_default();
    let bytes = |sectors: u64| Extent::bytes(sectors.saturating_mul(target.sector));
    Region {
        base: Extent {
            align,
            round_up: true,
            ..bytes(worker.starting_sector)
        },
        length: (worker.maximum_size > 0).then(|| bytes(worker.maximum_size)),
    }
}

/// The settings that the report of a step needs, in order.
#[derive(Default)]
struct Echo {
    options: Vec<(String, String)>,
}

impl Echo {
    fn add(&mut self, name: &str, value: impl ToString) {
        self.options.push((name.into(), value.to_string()));
    }

    fn add_worker(&mut self, worker: &Worker, spec: &AccessSpec, depth: u32, targets: usize) {
        self.add("worker", &worker.name);
        self.add("spec", &spec.name);
        self.add("depth", depth);
        self.add("start", worker.starting_sector);
        self.add("size", worker.maximum_size);
        if let Some(transactions) = worker.connection {
            self.add("transactions", transactions);
        }
        for name in &worker.targets[..targets] {
            self.add("disk", name);
        }
    }
}

/// A specification in the form of results: its name and assignment, then its lines.
fn spec_lines(spec: &AccessSpec) -> Vec<(String, String)> {
    let head = format!("{},{}", spec.name, number_of(&Assignment::WORDS, spec.assignment));
    let line = |line: &SpecLine| ("access_line".to_owned(), format_line(line));
    std::iter::once(("access".to_owned(), head))
        .chain(spec.lines.iter().map(line))
        .collect()
}

fn create_origin(config: &Config, arguments: &Arguments, jobs: Vec<JobEcho>) -> Origin {
    // Versions were dates until 1.0; 2008.06.18 has the layout of 2006.07.27.
    let is_old = config.version.starts_with("20") && config.version.as_str() >= V2006;
    let layout = arguments.layout.unwrap_or(match is_old {
        true => Layout::V2006,
        false => Layout::V1_1_0,
    });
    let version = Layout::ALL
        .iter()
        .find(|(value, _)| *value == layout)
        .map_or("", |(_, version)| version);
    let test_type = number_of(&TestType::WORDS, config.setup.test_type);
    let record = number_of(&Record::WORDS, config.setup.record);
    let other = [
        ("version", version.to_owned()),
        ("test_type", test_type.to_string()),
        ("description", config.setup.description.clone()),
        ("record", record.to_string()),
    ];
    Origin {
        dialect: Dialect::Iometer,
        file: Some(arguments.config.clone()),
        jobs,
        presentation: Presentation {
            other: other.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            ..Presentation::default()
        },
        ..Origin::default()
    }
}

fn note_unused_maps(config: &Config, arguments: &Arguments) -> Vec<String> {
    let is_used = |from: &str| {
        let mut targets = all_workers(config).flat_map(|(_, worker)| &worker.targets);
        let mut managers = config.managers.iter();
        targets.any(|name| is_meant(from, name))
            || managers.any(|manager| [&manager.name, &manager.address].iter().any(|name| *name == from))
    };
    let unused = arguments.maps.iter().filter(|(from, _)| !is_used(from));
    unused
        .map(|(from, to)| {
            format!("--map \"{from}={to}\" has no effect: no target or manager of the file has that name")
        })
        .collect()
}

fn notes(config: &Config) -> Vec<String> {
    let writes = |worker: &Worker| {
        let specs = worker.specs.iter().filter_map(|name| config.spec(name));
        specs
            .flat_map(|spec| &spec.lines)
            .any(|line| line.percent > 0 && line.reads < 100)
    };
    let repeating = |worker: &Worker| worker.pattern == DataPattern::Repeating;
    let repeats = all_workers(config).any(|(_, worker)| repeating(worker) && writes(worker));
    let note = "writes contain one repeating byte, as the data pattern 0 asks; storage that compresses or deduplicates looks faster with it";
    repeats.then(|| note.to_owned()).into_iter().collect()
}
