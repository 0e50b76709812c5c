//! Tests a disk in under a minute with the seven most common workloads. The result shows only the
//! order of magnitude, and the output states that: in four seconds, caches do not fill, burst
//! credits do not run out and rare events do not occur.

use model::access::{Access, Sequential};
use model::block_size::BlockSizes;
use model::content::Content;
use model::environment::TargetFacts;
use model::mix::{Mix, MixRule};
use model::plan::{
    Grid, GridScope, Origin, Phases, Plan, Prepare, Step, Stop, Target, TargetId, Workload, WorkloadPart,
};
use model::results::Results;
use model::{Bytes, Direction, Nanos, shell_word};

use crate::crystal;
use crate::figures::Figures;
use crate::numbers::format_number;

/// Maximum number of workers; within this short time, more workers reveal nothing about one disk.
const MAX_WORKERS: u32 = 8;
/// Length of the measured window of each cell.
pub const MEASURED_TIME: Nanos = Nanos::secs(4);
/// Warm-up before it.
pub const WARM_UP: Nanos = Nanos::secs(1);
/// Block size of the sequential rows.
pub const SEQUENTIAL_BLOCK: Bytes = Bytes::mib(1);

/// Settings of a screening.
#[derive(Clone, Debug, PartialEq)]
pub struct Screening {
    /// A directory, file or block device.
    pub path: String,
    /// Size of the file to create in a directory. Default: 1 GiB, or 5 % of the free space if that
    /// is less.
    pub size: Option<Bytes>,
    /// Include the cells that write.
    pub writes: bool,
    /// CPUs that workers may use.
    pub cpus: u32,
    /// Length of the measured window of each cell.
    pub measured: Nanos,
    /// The cells to measure.
    pub profile: Profile,
    /// Seed of all random decisions.
    pub seed: u64,
    /// The command line.
    pub arguments: Vec<String>,
}

/// A set of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The seven cells of a screening.
    #[default]
    Screening,
    /// The loads of CrystalDiskMark, in rounds and without warm-up.
    Crystal,
}

/// One row of the screening.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    name: &'static str,
    sequential: bool,
    block: u64,
    /// Percent of operations that read.
    reads: u32,
    depth: u32,
    /// Use all workers instead of one.
    all_workers: bool,
}

/// A row of random operations; with a queue, of all workers.
const fn random(name: &'static str, block: u64, reads: u32, depth: u32) -> Cell {
    Cell {
        name,
        sequential: false,
        block,
        reads,
        depth,
        all_workers: depth > 1,
    }
}

/// A row of sequential operations of one worker.
const fn sequential(name: &'static str, reads: u32) -> Cell {
    Cell {
        sequential: true,
        all_workers: false,
        ..random(name, SEQUENTIAL_BLOCK.0, reads, 8)
    }
}

const CELLS: [Cell; 7] = [
    random("random read, depth 1", 4 << 10, 100, 1),
    random("random write, depth 1", 4 << 10, 0, 1),
    random("random read, depth 32", 4 << 10, 100, 32),
    random("random write, depth 32", 4 << 10, 0, 32),
    sequential("sequential read", 100),
    sequential("sequential write", 0),
    random("random 70/30, depth 32", 8 << 10, 70, 32),
];

impl Screening {
    /// Workers of the cells that use several.
    pub fn workers(&self) -> u32 {
        self.cpus.clamp(1, MAX_WORKERS)
    }

    /// The plan: a step for each cell.
    pub fn plan(&self) -> Plan {
        let mut first_worker = 0;
        let workloads = match self.profile {
            Profile::Screening => CELLS
                .iter()
                .filter(|cell| self.writes || cell.reads == 100)
                .map(|cell| self.workload(cell))
                .collect(),
            Profile::Crystal => self.crystal_rounds(),
        };
        let steps = workloads.into_iter().map(|workload: Workload| {
            let job = workload.build_job(first_worker);
            first_worker += workload.workers;
            Step {
                jobs: vec![job],
                ..Step::default()
            }
        });
        Plan {
            steps: steps.collect(),
            name: "quick".into(),
            seed: self.seed,
            targets: vec![Target {
                path: self.path.clone(),
                prepare: Prepare::Filled { size: self.size },
                ..Target::default()
            }],
            grids: vec![Grid {
                length_ns: Nanos::millis(100),
                scope: GridScope::Job,
            }],
            origin: Origin {
                arguments: self.arguments.clone(),
                ..Origin::default()
            },
            ..Plan::default()
        }
    }

    /// All rounds of all loads of CrystalDiskMark.
    fn crystal_rounds(&self) -> Vec<Workload> {
        let mut rounds = Vec::new();
        for (direction, reads) in [(Direction::Read, 100), (Direction::Write, 0)] {
            for load in crystal::LOADS.iter().filter(|_| self.writes || reads == 100) {
                let cell = Cell {
                    name: "",
                    sequential: load.sequential,
                    block: load.block().0,
                    reads,
                    depth: load.depth,
                    all_workers: false,
                };
                let round = |number| Workload {
                    name: format!("{}, round {number}", crystal::job_name(*load, direction)),
                    phases: Phases::default(),
                    size: Some(self.size.unwrap_or(crystal::FILE_SIZE)),
                    ..self.workload(&cell)
                };
                rounds.extend((1..=crystal::ROUNDS).map(round));
            }
        }
        rounds
    }

    fn cell_name(&self, cell: &Cell) -> String {
        match (cell.all_workers, self.workers()) {
            (true, 2..) => format!("{} x {} workers", cell.name, self.workers()),
            _ => cell.name.to_owned(),
        }
    }

    fn workload(&self, cell: &Cell) -> Workload {
        let part = WorkloadPart {
            mix: match cell.reads {
                100 => Mix::READS,
                0 => Mix::WRITES,
                percent => Mix::drawn(100.0 - f64::from(percent), MixRule::Independent),
            },
            sizes: BlockSizes::Fixed {
                size: Bytes(cell.block),
            },
            ..WorkloadPart::default()
        };
        let part = match cell.sequential {
            true => WorkloadPart {
                access: Access::Sequential(Sequential::default()),
                // Generating fresh data for every MiB would take as long as a fast disk needs to
                // store it. The stamps make all sectors different, and the data stays
                // incompressible.
                content: Content::Stamped,
                ..part
            },
            false => part,
        };
        Workload {
            parts: vec![part],
            workers: if cell.all_workers { self.workers() } else { 1 },
            depth: cell.depth,
            phases: Phases::with_warm_up(WARM_UP),
            seed: self.seed,
            ..Workload::new(&self.cell_name(cell), vec![TargetId(0)], Stop::after(self.measured))
        }
    }
}

/// Explains the figures in sentences that claim only measured facts.
pub fn explain_figures(results: &Results) -> Vec<String> {
    let find = |name: &str| {
        let is_named = |step: &Step| step.jobs.first().is_some_and(|job| job.name.starts_with(name));
        let step = results.plan.steps.iter().position(is_named)?;
        Figures::from_results(results, step)
    };
    let mut sentences = Vec::new();
    let depth_one = find(CELLS[0].name);
    let write = find(CELLS[1].name);
    if let Some(depth_one) = &depth_one {
        sentences.push(format!(
            "With one 4 KiB read in flight the target reaches {} IOPS: the median read takes {}, and one in a \
             hundred takes more than {}.",
            format_number(depth_one.iops),
            depth_one.median,
            depth_one.p99
        ));
    }
    if let (Some(depth_one), Some(write)) = (&depth_one, &write)
        && write.median.0 * 10 < depth_one.median.0 * 8
    {
        sentences.push(format!(
            "A single write ({}) is faster than a single read: a cache of the device or the host accepts it, not the \
             medium. Whether it survives a power failure was not tested; see the second command below.",
            write.median
        ));
    }
    if let (Some(depth_one), Some(many)) = (&depth_one, find(CELLS[2].name)) {
        sentences.push(explain_depth(depth_one, &many, planned_depth(results, 2)));
    }
    if let (Some(read), Some(write)) = (find(CELLS[4].name), find(CELLS[5].name)) {
        sentences.push(format!(
            "Large sequential blocks: {} MiB/s read, {} MiB/s written.",
            format_number(read.mib_per_sec),
            format_number(write.mib_per_sec)
        ));
    }
    sentences.extend(explain_cpu_limit(results));
    sentences
}

/// Planned queue depth over all workers of a cell.
fn planned_depth(results: &Results, cell: usize) -> u32 {
    let jobs = results.plan.jobs().map(|(_, job)| job);
    let mut cell_jobs = jobs.filter(|job| job.name.starts_with(CELLS[cell].name));
    cell_jobs
        .next()
        .map_or(0, |job| job.workers.iter().map(|worker| worker.slots()).sum())
}

fn explain_depth(depth_one: &Figures, many: &Figures, depth: u32) -> String {
    let gain = many.iops / depth_one.iops.max(1.0);
    let slower = many.median.0 as f64 / depth_one.median.0.max(1) as f64;
    let figures = format!(
        "With {depth} reads in flight the target reaches {} IOPS, {gain:.1} times as many as with one, and each read takes {slower:.1} times as long ({} median)",
        format_number(many.iops),
        many.median
    );
    if gain < 1.3 {
        format!("{figures}: a deeper queue gains almost nothing here.")
    } else if slower > 3.0 && slower > gain / 2.0 {
        format!("{figures}: the target is saturated, and operations spend most of that time waiting in a queue.")
    } else {
        format!("{figures}.")
    }
}

/// Names the cells in which the CPUs instead of the storage may have been the limit.
fn explain_cpu_limit(results: &Results) -> Option<String> {
    let usable = results.hosts.first()?.environment.cpu.usable.max(1);
    let names = results.plan.steps.iter().enumerate().filter_map(|(number, step)| {
        let job = step.jobs.first()?;
        let figures = Figures::from_results(results, number)?;
        let available = f64::from(usable.min(job.workers.len() as u32));
        (figures.busy_cpus > 0.9 * available).then_some(job.name.as_str())
    });
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return None;
    }
    Some(format!(
        "The CPUs were fully busy in: {}. There the limit may be this machine instead of the storage.",
        names.join("; ")
    ))
}

/// Size in GiB, at most 10, of a larger test file. It takes half of the free space and leaves a
/// fifth of the file system free.
fn larger_size_gib(target: &TargetFacts) -> Option<u64> {
    let files = target.file_system.as_ref()?;
    let spare = files.available.0.saturating_sub(files.size.0 / 5) / 2;
    let gib = (spare >> 30).min(10);
    (gib > target.size.0 >> 30).then_some(gib)
}

/// The `--allow-` flags that the user gave.
fn permission_flags(arguments: &[String]) -> String {
    let mut words = arguments.iter();
    let mut flags = String::new();
    while let Some(word) = words.next() {
        let (name, value) = word
            .split_once('=')
            .map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if ["--allow-overwrite", "--allow-destroy"].contains(&name)
            && let Some(value) = value.or_else(|| words.next().map(String::as_str))
        {
            flags += &format!(" {name} {}", shell_word(value));
        }
    }
    flags
}

/// Suggests commands to run next, ready to paste, each with its reason. `program` is the name of
/// this program on the command line.
pub fn suggest_commands(results: &Results, program: &str) -> Vec<(String, String)> {
    let Some(target) = results.plan.targets.first() else {
        return Vec::new();
    };
    let path = shell_word(&target.path);
    let facts = results.hosts.first().and_then(|host| host.environment.targets.first());
    // A file that existed before keeps its size.
    let was_created = facts.is_some_and(|facts| facts.prepared.ends_with("for this run"));
    let size = match facts.filter(|_| was_created) {
        Some(facts) => match larger_size_gib(facts) {
            Some(gib) => format!(" --size {gib}g"),
            None => format!(" --size {}m", facts.size.0 >> 20),
        },
        None => String::new(),
    };
    let workers = results.plan.jobs().map(|(_, job)| job.workers.len()).max().unwrap_or(1);
    let load = match workers {
        0 | 1 => "--depth 32".to_owned(),
        many => format!("--depth 32 --workers {many}"),
    };
    let writes = results.plan.jobs().any(|(_, job)| {
        let mut streams = job.workers.iter().flat_map(|worker| &worker.streams);
        streams.any(|stream| stream.mix.includes(Direction::Write))
    });
    let mut commands = vec![(
        format!("{program} run --target {path}{size} {load} --time 10m --until-precision 2"),
        "a longer run, until the mean is precise to 2 %: caches fill, burst credits run out".into(),
    )];
    if writes {
        commands.push((
            format!(
                "{program} run --target {path}{size} --write 100 --flush-every 1 --time 1m{}",
                permission_flags(&results.plan.origin.arguments)
            ),
            "writes that are flushed to the medium, as a database log does".into(),
        ));
    }
    commands.push((
        format!("{program} run --target {path}{size} --block 8k --depth 64 --rate 1000iops --time 5m"),
        "latency at the rate that you need instead of at full load (replace 1000 with that rate)".into(),
    ));
    commands
}

#[cfg(test)]
mod tests {
    use model::environment::FileSystem;

    use super::*;

    fn screening(writes: bool) -> Screening {
        Screening {
            path: "/data".into(),
            size: None,
            writes,
            cpus: 16,
            measured: MEASURED_TIME,
            profile: Profile::Screening,
            seed: 1,
            arguments: Vec::new(),
        }
    }

    #[test]
    fn a_larger_size_leaves_room() {
        let target = |available: u64| TargetFacts {
            size: Bytes::gib(1),
            file_system: Some(FileSystem {
                size: Bytes::gib(100),
                available: Bytes::gib(available),
                ..FileSystem::default()
            }),
            ..TargetFacts::default()
        };
        assert_eq!(larger_size_gib(&target(90)), Some(10));
        assert_eq!(larger_size_gib(&target(30)), Some(5));
        assert_eq!(larger_size_gib(&target(22)), None, "not larger than the existing file");
        assert_eq!(larger_size_gib(&target(5)), None);
        assert_eq!(larger_size_gib(&TargetFacts::default()), None);
    }

    #[test]
    fn the_plan_is_valid_and_takes_less_than_a_minute() {
        let plan = screening(true).plan();
        assert_eq!(run::check(&plan), Ok(()));
        assert_eq!(plan.steps.len(), 7);
        let time: u64 = plan
            .jobs()
            .map(|(_, job)| job.phases.warm_up_ns.0 + job.stop.after_ns.unwrap_or_default().0)
            .sum();
        assert_eq!(Nanos(time), Nanos::secs(35));
        let workers: Vec<usize> = plan.jobs().map(|(_, job)| job.workers.len()).collect();
        assert_eq!(workers, [1, 1, 8, 8, 1, 1, 8], "at most eight workers");
    }

    #[test]
    fn permission_flags_are_repeated() {
        let words = "fathom quick /a --allow-overwrite /a --allow-destroy=/dev/b --size 64m";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(permission_flags(&words), " --allow-overwrite /a --allow-destroy /dev/b");
    }

    #[test]
    fn without_writes_nothing_is_written() {
        let plan = screening(false).plan();
        assert_eq!(plan.steps.len(), 3);
        let mut streams = plan
            .jobs()
            .flat_map(|(_, job)| &job.workers)
            .flat_map(|worker| &worker.streams);
        assert!(streams.all(|stream| !stream.mix.includes(Direction::Write)));
    }

    #[test]
    fn a_deeper_queue_is_judged_by_its_gain() {
        let figures = |iops: f64, median: u64| Figures {
            iops,
            mib_per_sec: 0.0,
            median: Nanos(median),
            p99: Nanos(median),
            busy_cpus: 0.1,
            cpu_per_operation: Nanos(0),
        };
        let check = |many: Figures, expected: &str| {
            let sentence = explain_depth(&figures(10_000.0, 100_000), &many, 32);
            assert!(sentence.ends_with(expected), "{sentence}");
        };
        check(figures(11_000.0, 2_900_000), "gains almost nothing here.");
        check(figures(40_000.0, 800_000), "waiting in a queue.");
        check(figures(300_000.0, 105_000), "(105 us median).");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(format_number(1_234_567.4), "1,234,567");
        assert_eq!(format_number(99.96), "100.0");
    }
}
