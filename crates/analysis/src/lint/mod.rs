//! Is the test valid? Rules about a plan and the machine it is to run on, before anything has been
//! measured.
//!
//! One row of [`RULES`] for each. A rule says nothing when all is well; each can be silenced by its
//! name. The rules about results are the checks of [`crate::checks`]; [`names`] and the page in
//! `docs/` list both. What a target is in use for is judged by the guard of the run, whose reasons
//! have rule names too ([`GUARDED`]).

mod load;
mod machine;
mod network;
mod page;
mod promise;
mod target;
mod time;

#[cfg(test)]
mod tests;

use model::environment::{Environment, TargetFacts};
use model::finding::{Finding, Severity};
use model::plan::{Job, Plan, Stream, Target, TargetKind};
use model::results::Results;
use model::{Bytes, Nanos};

use crate::caps::Layer;

pub use page::page;
pub use target::lies_on_array;

/// A rule about a test before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name, by which it can be silenced.
    pub name: &'static str,
    /// How grave it is at most.
    pub severity: Severity,
    /// When it speaks, in a sentence.
    pub about: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What to do.
    pub fix: &'static str,
    detect: fn(&Rule, &Test<'_>, &mut Vec<Finding>),
}

/// All rules about plans and machines, in the order in which their findings are shown.
pub const RULES: &[Rule] = &[
    target::IS_DIRECTORY,
    target::SPACE,
    target::FILL_80,
    target::FILE_SYSTEM_EMPTY,
    target::SPARSE,
    target::NOT_PREALLOCATED,
    target::FILE_BELOW_TWICE_MEMORY,
    target::FILE_ABOVE_HOST_CACHE,
    target::SHORT_STROKE,
    target::SNAPSHOT_COLD,
    target::CACHE_COLD,
    target::NOT_COORDINATOR,
    target::NOT_ON_POOL,
    target::FEW_TARGETS,
    network::NFS_SMALL_TRANSFERS,
    network::NFS_OPTIONS,
    network::NFS_ONE_CONNECTION,
    load::SEQUENTIAL_OVERLAP,
    load::SYNCHRONOUS,
    load::SYNCHRONOUS_FEW_THREADS,
    load::BUFFERED,
    load::COMPRESSIBLE,
    load::SIMPLE_TEST,
    load::WRITE_ONLY,
    load::BANDWIDTH_SMALL_BLOCK,
    load::BANDWIDTH_RANDOM,
    load::SEQUENTIAL_SMALL,
    load::DEPTH_ABOVE_DEVICE,
    load::MIX_NOT_PINNED,
    time::SHORT_RUN,
    time::NO_WARM_UP,
    time::BURST_WINDOW,
    promise::UNCAPPED,
    promise::UNDERSIZED,
    promise::BANDWIDTH_BINDS_FIRST,
    machine::THREADS,
    machine::POWER,
    machine::EFFICIENCY_CORES,
    machine::REMOTE_NODE,
    machine::BUSY_DISK,
    machine::UNHEALTHY,
];

/// Rules of the guard: a target that is in use or holds something. They refuse, and are never
/// silenced.
pub const GUARDED: &[(&str, &str)] = &[
    (
        "MOUNTED",
        "a file system on the device, on a partition of it or on what is made of it is mounted",
    ),
    (
        "IN-USE",
        "the device is swapped to, held by the kernel for another device, shown by a loop device, or open in a virtual machine",
    ),
    (
        "FS-SIGNATURE",
        "the target holds a file system, a partition table, a volume, a database: writing destroys it",
    ),
    (
        "OVERWRITE-PROD-FILE",
        "the file was not made by this program, and the test would write to it",
    ),
    (
        "NOT-NAMED",
        "a device would be written to without having been named for that",
    ),
    (
        "NOT-STORAGE",
        "the target is neither a file nor a block device, or nothing is known about it",
    ),
];

/// What a test is for: what the plan itself does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Purpose {
    /// What it is meant to show.
    pub intent: Option<Intent>,
    /// Operations per second that were promised.
    pub promised_iops: Option<f64>,
    /// Latency that was promised, in nanoseconds.
    pub promised_latency_ns: Option<f64>,
    /// Limits that are known to stand in the way.
    pub layers: Vec<Layer>,
    /// How long a burst of the storage lasts from full credits.
    pub burst_ns: Option<Nanos>,
    /// Size of the cache in front of the disks, such as a virtual machine's host cache.
    pub host_cache: Option<Bytes>,
    /// What is remembered of warming that cache, for each target of the plan in its order.
    pub warmed: Vec<Option<Warmed>>,
    /// The file system may be filled further than 80 %.
    pub allow_full: bool,
    /// Depths above 1 that jobs ask for and whose engines have one operation in flight, by the
    /// job's name, where the dialect has capped them in the plan already.
    pub capped_depths: Vec<(String, u32)>,
}

/// What was read of a target to warm the cache in front of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warmed {
    /// The boot (`boot_id`) in which; absent where the system reports none.
    pub boot: Option<String>,
    /// First byte, first byte beyond, and whether it was read through the page cache.
    pub ranges: Vec<(u64, u64, bool)>,
}

impl Warmed {
    /// The first byte from `from` to `to` that was not read in one of the ways that count.
    pub fn first_cold(&self, from: u64, to: u64, counts: impl Fn(bool) -> bool) -> Option<u64> {
        let mut cold = from;
        while cold < to {
            let reach = self
                .ranges
                .iter()
                .filter(|(start, end, buffered)| counts(*buffered) && (*start..*end).contains(&cold));
            match reach.map(|(_, end, _)| *end).max() {
                Some(end) => cold = end,
                None => return Some(cold),
            }
        }
        None
    }
}

/// What a test is meant to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// The most operations per second.
    MostIops,
    /// The most bytes per second.
    MostThroughput,
    /// A single sequential stream, as a backup makes it.
    SequentialStream,
    /// The latency of single operations.
    Latency,
    /// Reads from the cache in front of the disks.
    CachedReads,
    /// What programs see that write through the page cache.
    Buffered,
}

impl Intent {
    /// All of them, with the words by which users name them.
    pub const NAMED: [(&'static str, Intent); 6] = [
        ("most-iops", Intent::MostIops),
        ("most-throughput", Intent::MostThroughput),
        ("sequential-stream", Intent::SequentialStream),
        ("latency", Intent::Latency),
        ("cached-reads", Intent::CachedReads),
        ("buffered", Intent::Buffered),
    ];
}

/// A test before it runs: what rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Test<'a> {
    /// What will be done.
    pub plan: &'a Plan,
    /// The machine and the targets as they are now.
    pub environment: &'a Environment,
    /// What it is for.
    pub purpose: &'a Purpose,
}

/// What every rule finds, the gravest first.
pub fn lint(test: &Test<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        (rule.detect)(rule, test, &mut findings);
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// What the rules find about a test that has run, for its report: warnings and errors that the
/// checks of the results have not reported in their own way.
pub fn beside(results: &Results) -> Vec<Finding> {
    let Some(host) = results.hosts.first() else {
        return Vec::new();
    };
    let test = Test {
        plan: &results.plan,
        environment: &host.environment,
        purpose: &Purpose::default(),
    };
    let is_reported = |finding: &Finding| {
        let rule = if finding.rule == "SPARSE" {
            "HOLES"
        } else {
            &finding.rule
        };
        results.findings.iter().any(|other| other.rule == rule)
    };
    let found = lint(&test).into_iter();
    found
        .filter(|finding| finding.severity >= Severity::Warning && !is_reported(finding))
        .collect()
}

/// Every name that a finding of this program can have before or after a run, apart from the
/// guard's.
pub fn names() -> impl Iterator<Item = &'static str> {
    let checked = crate::checks::CHECKS.iter().flat_map(|check| check.rules);
    RULES.iter().map(|rule| rule.name).chain(checked.copied())
}

/// Findings without those of silenced rules. Names are compared without regard to case.
pub fn filter_silenced(findings: Vec<Finding>, silenced: &[String]) -> Vec<Finding> {
    let silent = |finding: &Finding| silenced.iter().any(|name| name.eq_ignore_ascii_case(&finding.rule));
    findings.into_iter().filter(|finding| !silent(finding)).collect()
}

impl Rule {
    /// A finding of this rule, with its reason and its advice.
    fn found(&self, what: impl Into<String>, at: &str) -> Finding {
        Finding::new(self.name, self.severity, what)
            .at(at)
            .why(self.why)
            .help(self.fix)
    }

    /// The same, but no graver than that.
    fn noted(&self, severity: Severity, what: impl Into<String>, at: &str) -> Finding {
        Finding {
            severity,
            ..self.found(what, at)
        }
    }
}

impl<'a> Test<'a> {
    fn jobs(&self) -> impl Iterator<Item = &'a Job> {
        self.plan.steps.iter().flat_map(|step| &step.jobs)
    }

    fn is(&self, intent: Intent) -> bool {
        self.purpose.intent == Some(intent)
    }

    /// Targets that are real, with what is known of them and the streams that use them.
    fn targets(&self) -> impl Iterator<Item = TargetUse<'a>> {
        let (plan, environment) = (self.plan, self.environment);
        let real = |(_, target): &(usize, &Target)| matches!(target.kind, TargetKind::Path);
        plan.targets
            .iter()
            .enumerate()
            .filter(real)
            .map(move |(number, target)| {
                let uses = |stream: &&Stream| stream.target.ids().iter().any(|id| id.0 as usize == number);
                TargetUse {
                    number,
                    target,
                    facts: environment.targets.get(number),
                    streams: streams(plan).filter(uses).collect(),
                }
            })
    }

    /// The same for those of which something is known.
    fn known_targets(&self) -> impl Iterator<Item = (TargetUse<'a>, &'a TargetFacts)> {
        self.targets()
            .filter_map(|subject| subject.facts.map(|facts| (subject, facts)))
    }
}

/// A target with what concerns it.
struct TargetUse<'a> {
    number: usize,
    target: &'a Target,
    facts: Option<&'a TargetFacts>,
    streams: Vec<&'a Stream>,
}

impl TargetUse<'_> {
    fn reads(&self) -> bool {
        self.streams
            .iter()
            .any(|stream| stream.mix.includes(model::Direction::Read))
    }

    fn writes(&self) -> bool {
        self.streams
            .iter()
            .any(|stream| stream.mix.includes(model::Direction::Write))
    }

    /// Size that the target will have.
    fn planned(&self) -> Option<Bytes> {
        use model::plan::Prepare;
        match &self.target.prepare {
            Prepare::Filled { size } => *size,
            Prepare::Recreate { size, .. } | Prepare::LayOut { size, .. } => Some(*size),
            Prepare::Existing => None,
        }
    }

    /// Size that it has or will have.
    fn size(&self) -> Option<Bytes> {
        let now = self.facts.map(|facts| facts.size).filter(|size| size.0 > 0);
        self.planned().or(now)
    }

    /// It is known to lie on a device that spins.
    fn spins(&self) -> bool {
        let devices = self.facts.map(|facts| &facts.devices);
        devices.is_some_and(|devices| devices.iter().any(|device| device.rotational))
    }
}

fn streams(plan: &Plan) -> impl Iterator<Item = &Stream> {
    let jobs = plan.steps.iter().flat_map(|step| &step.jobs);
    jobs.flat_map(|job| &job.workers).flat_map(|worker| &worker.streams)
}

fn streams_of(job: &Job) -> impl Iterator<Item = &Stream> {
    job.workers.iter().flat_map(|worker| &worker.streams)
}

/// Every operation of a stream jumps or may jump.
fn is_random(stream: &Stream) -> bool {
    stream.pattern.access.iter().any(model::access::Access::jumps)
}
