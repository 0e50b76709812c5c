//! Checks before a run whether the test is valid: rules about a plan and its machine.
//!
//! [`rules`] lists them. A rule reports only problems, and users can silence it by its name. Rules
//! about results are in [`crate::checks`]; [`rule_names`] and the page in `docs/` list both. The
//! run's guard checks whether a target is in use; its reasons are [`GUARD_RULES`].

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

use crate::caps::LimitLayer;

pub use page::page;
pub use target::is_on_array;

/// A rule about a test before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Name, with which users can silence it.
    pub name: &'static str,
    /// Highest severity.
    pub severity: Severity,
    /// The condition, in a sentence.
    pub about: &'static str,
    /// The reason why it matters.
    pub why: &'static str,
    /// The recommended action.
    pub fix: &'static str,
    detect: fn(&Rule, &Test<'_>, &mut Vec<Finding>),
}

/// All rules about plans and machines, in the order in which their findings are shown.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    let topics = [
        target::RULES,
        network::RULES,
        load::RULES,
        time::RULES,
        promise::RULES,
        machine::RULES,
    ];
    topics.into_iter().flatten()
}

/// Rules of the guard, for targets in use or with data. They refuse the run and cannot be silenced.
pub const GUARD_RULES: &[(&str, &str)] = &[
    (
        "MOUNTED",
        "a file system on the device, on one of its partitions or on a device above it is mounted",
    ),
    (
        "IN-USE",
        "the target is used as swap space, as part of another device, by a loop device, by a virtual machine, or by \
         another run that writes to it",
    ),
    (
        "FS-SIGNATURE",
        "the target contains a file system, a partition table, a volume or a database, which a write would destroy",
    ),
    (
        "OVERWRITE-PROD-FILE",
        "the test would write to a file that fathom did not create, or that has changed since; `fathom fio`, \
         `diskspd`, `vdbench` and `iometer` overwrite such files",
    ),
    ("NOT-NAMED", "the test would write to a device without explicit consent"),
    (
        "NOT-STORAGE",
        "the target is neither a file nor a block device, or its kind is unknown",
    ),
];

/// The purpose of a test, which is not part of its plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Purpose {
    /// The intent of the test.
    pub intent: Option<Intent>,
    /// Operations per second that were promised.
    pub promised_iops: Option<f64>,
    /// Latency that was promised, in nanoseconds.
    pub promised_latency_ns: Option<f64>,
    /// Known limits between the test and its storage.
    pub layers: Vec<LimitLayer>,
    /// Length of a burst from full credits.
    pub burst_ns: Option<Nanos>,
    /// Size of the cache in front of the disks, such as a virtual machine's host cache.
    pub host_cache: Option<Bytes>,
    /// Recorded warm-ups of that cache, one per target of the plan.
    pub warmed: Vec<Option<Warmed>>,
    /// True if the file system may be filled beyond 80 %.
    pub allow_full: bool,
    /// Depths above 1, by job name, that the dialect reduced to 1 because the engine is
    /// synchronous.
    pub capped_depths: Vec<(String, u32)>,
}

/// The ranges of a target that were read to warm the cache in front of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warmed {
    /// The `boot_id` at that time; absent if the system reports no boot ID.
    pub boot: Option<String>,
    /// First byte, first byte beyond the range, and whether it was read through the page cache.
    pub ranges: Vec<(u64, u64, bool)>,
}

impl Warmed {
    /// The first byte from `from` to `to` that no counted read covers. `counts` takes whether a
    /// read was buffered.
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

/// The intent of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Maximum operations per second.
    MaxIops,
    /// Maximum bytes per second.
    MaxThroughput,
    /// A single sequential stream, such as a backup.
    SequentialStream,
    /// The latency of single operations.
    Latency,
    /// Reads from the cache in front of the disks.
    CachedReads,
    /// The view of programs that write through the page cache.
    Buffered,
}

impl Intent {
    /// All intents, with their names on the command line.
    pub const NAMED: [(&'static str, Intent); 6] = [
        ("most-iops", Intent::MaxIops),
        ("most-throughput", Intent::MaxThroughput),
        ("sequential-stream", Intent::SequentialStream),
        ("latency", Intent::Latency),
        ("cached-reads", Intent::CachedReads),
        ("buffered", Intent::Buffered),
    ];
}

/// A test before its run: the input of every rule.
#[derive(Clone, Copy, Debug)]
pub struct Test<'a> {
    /// The plan to check.
    pub plan: &'a Plan,
    /// The machine and the targets as they are now.
    pub environment: &'a Environment,
    /// The question that the test should answer.
    pub purpose: &'a Purpose,
}

/// Applies every rule; the most severe findings come first.
pub fn lint(test: &Test<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in rules() {
        (rule.detect)(rule, test, &mut findings);
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// Applies the rules to a finished test, for its report: only warnings and errors that the checks
/// of results have not reported.
pub fn lint_results(results: &Results, purpose: &Purpose) -> Vec<Finding> {
    let Some(host) = results.hosts.first() else {
        return Vec::new();
    };
    let test = Test {
        plan: &results.plan,
        environment: &host.environment,
        purpose,
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

/// The names of all rules and checks, without the guard's.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    let checked = crate::checks::CHECKS.iter().flat_map(|check| check.rules);
    rules().map(|rule| rule.name).chain(checked.copied())
}

/// Removes the findings of silenced rules. Names are compared case-insensitively.
pub fn filter_silenced(findings: Vec<Finding>, silenced: &[String]) -> Vec<Finding> {
    let silent = |finding: &Finding| silenced.iter().any(|name| name.eq_ignore_ascii_case(&finding.rule));
    findings.into_iter().filter(|finding| !silent(finding)).collect()
}

impl Rule {
    fn finding(&self, what: impl Into<String>, at: &str) -> Finding {
        Finding::new(self.name, self.severity, what)
            .at(at)
            .why(self.why)
            .help(self.fix)
    }

    fn finding_with_severity(&self, severity: Severity, what: impl Into<String>, at: &str) -> Finding {
        Finding {
            severity,
            ..self.finding(what, at)
        }
    }
}

impl<'a> Test<'a> {
    fn jobs(&self) -> impl Iterator<Item = &'a Job> {
        self.plan.steps.iter().flat_map(|step| &step.jobs)
    }

    fn has_intent(&self, intent: Intent) -> bool {
        self.purpose.intent == Some(intent)
    }

    /// True if the load is that of a preset, which states its purpose.
    fn has_load_of_preset(&self) -> bool {
        let is_decisive = |name: &String| ["read", "depth", "workers"].contains(&name.as_str());
        let preset = self.plan.origin.preset.as_ref();
        preset.is_some_and(|preset| !preset.changed.iter().any(is_decisive))
    }

    /// The real targets, with their facts and the streams that use them.
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

    /// The targets that have facts.
    fn known_targets(&self) -> impl Iterator<Item = (TargetUse<'a>, &'a TargetFacts)> {
        self.targets()
            .filter_map(|usage| usage.facts.map(|facts| (usage, facts)))
    }
}

/// A target with its facts and streams.
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

    /// The size of the target after preparation.
    fn planned_size(&self) -> Option<Bytes> {
        use model::plan::Prepare;
        match &self.target.prepare {
            Prepare::Filled { size } => *size,
            Prepare::Recreate { size, .. } | Prepare::LayOut { size, .. } => Some(*size),
            Prepare::Existing => None,
        }
    }

    /// The planned size, otherwise the current one.
    fn size(&self) -> Option<Bytes> {
        let known_size = self.facts.map(|facts| facts.size).filter(|size| size.0 > 0);
        self.planned_size().or(known_size)
    }

    /// True if it is on a rotating disk.
    fn is_rotational(&self) -> bool {
        let devices = self.facts.map(|facts| &facts.devices);
        devices.is_some_and(|devices| devices.iter().any(|device| device.rotational))
    }
}

fn streams(plan: &Plan) -> impl Iterator<Item = &Stream> {
    let jobs = plan.steps.iter().flat_map(|step| &step.jobs);
    jobs.flat_map(|job| &job.workers).flat_map(|worker| &worker.streams)
}

fn all_streams(job: &Job) -> impl Iterator<Item = &Stream> {
    job.workers.iter().flat_map(|worker| &worker.streams)
}

/// True if the stream has random positions.
fn is_random(stream: &Stream) -> bool {
    stream
        .pattern
        .access
        .iter()
        .any(model::access::Access::has_random_positions)
}
