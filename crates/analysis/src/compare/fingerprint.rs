//! The conditions under which results were measured, and which of them differ.

use model::environment::{DeviceLimit, Limits, TargetFacts};
use model::finding::Finding;
use model::observation::{Load, Observation};
use model::plan::{Job, Stream};
use model::results::Results;
use model::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::describe;
use crate::verdict::list_doubts;

/// The subject of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactKind {
    /// The load. Results of different loads answer different questions.
    Load,
    /// How the load was measured, for example the tool and the engine. This may change figures.
    #[serde(rename = "measuring")]
    Measurement,
    /// The host and the target. That difference is often what a comparison is about.
    #[serde(rename = "place")]
    System,
    /// Facts that hardly affect figures, such as the seed.
    Other,
}

impl FactKind {
    /// True if results that differ in a fact of this kind are not comparable.
    pub fn prevents_comparison(self) -> bool {
        match self {
            FactKind::Load | FactKind::Measurement => true,
            FactKind::System | FactKind::Other => false,
        }
    }
}

/// A condition under which a result was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it describes: load, measurement, system or other.
    pub kind: FactKind,
    /// Name of the fact, such as `kernel`.
    pub name: String,
    /// Value, as text.
    pub value: String,
}

/// A fact that differs between results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it describes: load, measurement, system or other.
    pub kind: FactKind,
    /// Name of the fact.
    pub name: String,
    /// Value in each result, in order; absent if unknown.
    pub values: Vec<Option<String>>,
}

fn fact(kind: FactKind, name: &str, value: impl ToString) -> Fact {
    Fact {
        kind,
        name: name.into(),
        value: value.to_string(),
    }
}

/// Lists facts that differ between results, the most important first. A fact that is unknown for
/// some results differs only if the known values do.
pub fn list_differences(sides: &[Vec<Fact>]) -> Vec<Difference> {
    let mut differences: Vec<Difference> = Vec::new();
    for fact in sides.iter().flatten() {
        if differences.iter().any(|listed| listed.name == fact.name) {
            continue;
        }
        let value_in = |side: &Vec<Fact>| {
            side.iter()
                .find(|candidate| candidate.name == fact.name)
                .map(|candidate| candidate.value.clone())
        };
        differences.push(Difference {
            kind: fact.kind,
            name: fact.name.clone(),
            values: sides.iter().map(value_in).collect(),
        });
    }
    differences.retain(|difference| {
        let mut known_values = difference.values.iter().flatten();
        let first = known_values.next();
        known_values.any(|value| Some(value) != first)
    });
    // If both the exact and the coarse fact differ, list only the coarse one.
    let names: Vec<String> = differences.iter().map(|difference| difference.name.clone()).collect();
    differences.retain(|difference| {
        let fact_pair = EXACT_TO_COARSE_FACTS
            .iter()
            .find(|(exact, _)| *exact == difference.name);
        fact_pair.is_none_or(|(_, coarse)| !names.iter().any(|name| name == coarse))
    });
    differences.sort_by_key(|difference| difference.kind);
    differences
}

/// Facts that determine the load. Different values change the figures on any storage.
const LOAD_DEFINING_FACTS: [&str; 7] = [
    "rate", "pacing", "in flight", "workers", "pauses", "block size", "block sizes",
];

/// True if one of the differences changes the load itself.
pub fn changes_load(differences: &[Difference]) -> bool {
    differences
        .iter()
        .any(|difference| LOAD_DEFINING_FACTS.contains(&difference.name.as_str()))
}

/// Exact facts of a plan, each with the coarser fact of an observation that it implies.
const EXACT_TO_COARSE_FACTS: [(&str, &str); 5] = [
    ("positions", "pattern"),
    ("block sizes", "block size"),
    ("mix", "reads"),
    ("caches", "system's cache"),
    ("pacing", "rate"),
];

/// Name of the fact whose value lists the findings that invalidate the figures, or `none`.
pub const INVALIDATING_FINDINGS: &str = "invalidating findings";

/// Formats the value of the fact [`INVALIDATING_FINDINGS`].
pub fn format_invalidating_findings<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    match list_doubts(findings)[..] {
        [] => "none".into(),
        ref rules => rules.join(", "),
    }
}

/// True if a finding names this job or target as its place, perhaps among others.
pub fn names_place(finding: &Finding, name: &str) -> bool {
    let mut places = finding.at.iter().flat_map(|at| at.split(", "));
    places.any(|place| place == name || place.split(" and ").any(|job| job == name))
}

/// True if a finding of a result concerns this job: it names no other job, or this one as well.
pub fn concerns_job(results: &Results, job: &str, finding: &Finding) -> bool {
    let mut jobs = results.plan.steps.iter().flat_map(|step| &step.jobs);
    names_place(finding, job) || !jobs.any(|other| other.name != job && names_place(finding, &other.name))
}

/// True if findings invalidate the figures with these facts.
pub fn has_invalidating_findings(facts: &[Fact]) -> bool {
    facts
        .iter()
        .any(|fact| fact.name == INVALIDATING_FINDINGS && fact.value != "none")
}

/// The facts of a job in a saved result; `None` if there is no such job.
pub fn facts_of_results(results: &Results, step: usize, job: usize) -> Option<Vec<Fact>> {
    let planned = results.plan.steps.get(step)?.jobs.get(job)?;
    let job_results = results.steps.get(step)?.jobs.get(job)?;
    let observation = Observation::from_results(results, step, job)?;
    let mut facts = facts_of_observation(&observation);
    let host = results.hosts.first();
    let known_targets = host.map_or(&[][..], |host| &host.environment.targets);
    let is_used = |target: &&TargetFacts| observation.load.targets.iter().any(|path| matches_path(target, path));
    let targets: Vec<&TargetFacts> = known_targets.iter().filter(is_used).collect();
    let largest_target = targets.iter().map(|target| target.size).max();
    facts.extend(plan_facts(planned, largest_target));
    facts.push(fact(
        FactKind::Measurement,
        "engine revision",
        results.tool.engine_revision,
    ));
    let mut engines: Vec<&str> = job_results
        .workers
        .iter()
        .map(|worker| worker.engine.kind.name())
        .collect();
    engines.sort_unstable();
    engines.dedup();
    facts.push(fact(FactKind::Measurement, "engine", engines.join(", ")));
    facts.push(fact(FactKind::Other, "seed", results.plan.seed));
    let of_job = results
        .findings
        .iter()
        .filter(|finding| concerns_job(results, &planned.name, finding));
    facts.push(fact(
        FactKind::System,
        INVALIDATING_FINDINGS,
        format_invalidating_findings(of_job),
    ));
    if let Some(host) = host {
        let environment = &host.environment;
        facts.push(fact(FactKind::System, "host", &environment.host.name));
        facts.push(fact(FactKind::System, "system", &environment.host.system));
        facts.push(fact(FactKind::System, "kernel", &environment.host.kernel));
        facts.push(fact(FactKind::System, "processor", &environment.cpu.model));
        facts.push(fact(FactKind::System, "usable processors", environment.cpu.usable));
        facts.push(fact(FactKind::System, "memory", environment.memory));
        facts.extend(limit_facts(&environment.limits));
        if let Some(governor) = &environment.cpu.governor {
            facts.push(fact(FactKind::System, "frequency governor", governor));
        }
        if let Some(target) = targets.first() {
            facts.extend(target_facts(target));
        }
    }
    Some(facts)
}

/// The limits of the control group. A missing limit has the value `none`, because an unknown value
/// would hide that a limit was added.
fn limit_facts(limits: &Limits) -> [Fact; 2] {
    let describe_device_limit = |device: &DeviceLimit| {
        let limits = [
            (device.read_iops, "reads/s"),
            (device.write_iops, "writes/s"),
            (device.read_bytes, "bytes read/s"),
            (device.write_bytes, "bytes written/s"),
        ];
        let known_limits = limits
            .into_iter()
            .filter_map(|(limit, unit)| Some(format!("{} {unit}", limit?)));
        format!(
            "device {}: {}",
            device.device,
            known_limits.collect::<Vec<_>>().join(", ")
        )
    };
    let devices: Vec<String> = limits.devices.iter().map(describe_device_limit).collect();
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "none".into());
    [
        fact(
            FactKind::System,
            "I/O limit of the control group",
            or_none((!devices.is_empty()).then(|| devices.join("; "))),
        ),
        fact(
            FactKind::System,
            "CPU limit of the control group",
            or_none(limits.cpus.map(|cpus| cpus.to_string())),
        ),
    ]
}

/// True if `path` of the load is this target, or the directory in which fathom created it. Relative
/// paths are not resolved and may match any target.
fn matches_path(target: &TargetFacts, path: &str) -> bool {
    target.path == path || target.path.starts_with(path) || path.ends_with(&target.path) || path.starts_with('.')
}

fn target_facts(target: &TargetFacts) -> Vec<Fact> {
    let mut facts = vec![
        fact(FactKind::System, "kind of target", &target.kind),
        fact(FactKind::Load, "size of the target", target.size),
    ];
    if let Some(system) = &target.file_system {
        facts.push(fact(
            FactKind::System,
            "file system",
            format!("{}, {}", system.kind, system.options),
        ));
    }
    if let Some(device) = target.devices.first() {
        let model = device.model.as_deref().unwrap_or("model not known");
        facts.push(fact(
            FactKind::System,
            "device",
            format!("{} ({model}, {})", device.name, device.size),
        ));
        if let Some(scheduler) = &device.scheduler {
            facts.push(fact(FactKind::System, "I/O scheduler", scheduler));
        }
        if let Some(cache) = &device.write_cache {
            facts.push(fact(FactKind::System, "write cache", cache));
        }
        if let Some(requests) = device.queue_requests {
            facts.push(fact(FactKind::System, "requests of the queue", requests));
        }
    }
    facts
}

/// Facts of a plan that an observation does not contain.
fn plan_facts(job: &Job, largest_target: Option<Bytes>) -> Vec<Fact> {
    let streams = || job.workers.iter().flat_map(|worker| &worker.streams);
    // A length of at least the target's size has the effect of no length.
    let region = |stream: &Stream| match largest_target {
        Some(size) if stream.region.resolve(size.0) == (0, size.0) => "all".into(),
        _ => describe::region(&stream.region),
    };
    let stream_fact = |name: &str, value: &dyn Fn(&Stream) -> String| {
        let mut values: Vec<String> = streams().map(value).collect();
        values.dedup();
        fact(FactKind::Load, name, values.join("; "))
    };
    vec![
        stream_fact("positions", &|stream| describe::humanize_debug(&stream.pattern.access)),
        stream_fact("block sizes", &|stream| describe::sizes(&stream.pattern.sizes)),
        stream_fact("mix", &|stream| describe::mix(&stream.mix)),
        stream_fact("written contents", &|stream| describe::humanize_debug(&stream.content)),
        stream_fact("caches", &|stream| describe::cache(&stream.cache)),
        stream_fact("flushes", &|stream| describe::flushes(&stream.sync)),
        stream_fact("pacing", &|stream| describe::pacing(&stream.pacing)),
        stream_fact("pauses", &|stream| describe::pauses(&stream.think)),
        stream_fact("part of the target", &region),
    ]
}

/// The facts of an observation from any source.
pub fn facts_of_observation(observation: &Observation) -> Vec<Fact> {
    let load: &Load = &observation.load;
    let mut facts = vec![fact(FactKind::Measurement, "tool", &observation.tool)];
    let mut add = |kind: FactKind, name: &str, value: Option<String>| {
        facts.extend(value.map(|value| fact(kind, name, value)));
    };
    add(FactKind::Other, "version", observation.version.clone());
    add(
        FactKind::Load,
        "block size",
        load.block.map(|block: Bytes| block.to_string()),
    );
    add(FactKind::Load, "in flight", load.depth.map(|depth| depth.to_string()));
    add(
        FactKind::Load,
        "workers",
        load.workers.map(|workers| workers.to_string()),
    );
    add(
        FactKind::Load,
        "reads",
        load.read_percent.map(|percent| format!("{percent} %")),
    );
    let pattern = |random: bool| if random { "random" } else { "sequential" };
    add(
        FactKind::Load,
        "pattern",
        load.random.map(|random| pattern(random).into()),
    );
    let cache = |direct: bool| if direct { "bypassed" } else { "used" };
    add(
        FactKind::Load,
        "system's cache",
        load.direct.map(|direct| cache(direct).into()),
    );
    add(
        FactKind::Load,
        "rate",
        load.rate_iops.map(|rate| format!("{rate:.0} per second")),
    );
    add(
        FactKind::Load,
        "size in use",
        load.size.map(|size: Bytes| size.to_string()),
    );
    let targets = (!load.targets.is_empty()).then(|| load.targets.len().to_string());
    add(FactKind::Load, "number of targets", targets);
    add(
        FactKind::System,
        "targets",
        (!load.targets.is_empty()).then(|| load.targets.join(", ")),
    );
    add(
        FactKind::Other,
        "warm-up",
        load.warm_up_ns.map(|length: Nanos| length.to_string()),
    );
    add(
        FactKind::Other,
        "measured",
        observation.measured_ns.map(|length| length.to_string()),
    );
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::samples;
    use model::finding::Severity;
    use model::plan::Extent;

    #[test]
    fn a_length_of_the_whole_target_is_no_difference() {
        let mut results = samples::closed_loop(1, 1000, Nanos::millis(1));
        let path = results.plan.targets[0].path.clone();
        let job = &mut results.plan.steps[0].jobs[0];
        job.workers[0].streams[0].region.length = Some(Extent::bytes(4096));
        for (size, expected) in [(4096, "all"), (8192, "4 KiB from the start")] {
            results.hosts[0].environment.targets = vec![TargetFacts {
                path: path.clone(),
                size: Bytes(size),
                ..TargetFacts::default()
            }];
            let facts = facts_of_results(&results, 0, 0).unwrap();
            let region = facts.iter().find(|fact| fact.name == "part of the target");
            assert_eq!(region.unwrap().value, expected);
        }
    }

    #[test]
    fn findings_of_another_job_are_no_doubts() {
        let mut results = samples::closed_loop(1, 1000, Nanos::millis(1));
        let (mut step, mut found) = (results.plan.steps[0].clone(), results.steps[0].clone());
        (step.jobs[0].name, found.jobs[0].name) = ("other".into(), "other".into());
        results.plan.steps.push(step);
        results.steps.push(found);
        let finding = |rule: &str, at: &str| Finding::new(rule, Severity::Error, "").at(at);
        results.findings = vec![
            finding("WORKER-FAILED", "other, worker 2: /dev/sdb"),
            finding("IO-ERRORS", "job"),
            finding("HOLES", "a file of both"),
            finding("CACHE-HITS", "sda, other and third"),
        ];
        let doubts = |step: usize| {
            let facts = facts_of_results(&results, step, 0).expect("a measured job");
            facts
                .into_iter()
                .find(|fact| fact.name == INVALIDATING_FINDINGS)
                .expect("the fact")
                .value
        };
        assert_eq!(
            [doubts(0), doubts(1)],
            ["HOLES, IO-ERRORS", "CACHE-HITS, HOLES, WORKER-FAILED"]
        );
    }
}
