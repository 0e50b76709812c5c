//! The path of an operation from the program to the medium: its layers, their known limits, and the
//! layer that is the bottleneck.

use model::diagnosis::{Answer, Diagnosis};
use model::environment::TargetFacts;
use model::observation::Observation;
use model::plan::{CachePath, Job, StoragePath, temporary_file_directory};
use model::results::{JobResults, Results};

use crate::diagnosis::{format_short_use, list_sources};
use crate::numbers::pluralize;

/// The label of the layer that limits the rate.
pub(super) const BOTTLENECK: &str = "Bottleneck";
/// The layer of the rate that the test requested.
pub(super) const REQUESTED_RATE: &str = "Limit: the requested rate";

/// A rate that reaches this share of the requested one was served.
const MET_SHARE: f64 = 0.99;

/// An I/O path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IoPath {
    /// Heading above the drawing.
    pub title: String,
    /// From the program to the medium.
    pub layers: Vec<Layer>,
    /// Sentence about the known network crossings.
    pub hops: String,
    /// Sentence about the bottleneck.
    pub sentence: String,
    /// The sources of the limits; may be empty.
    pub sources: String,
}

/// One layer of the path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    /// Name of the layer, such as a device.
    pub name: String,
    /// Facts about it, one line each.
    pub facts: Vec<String>,
    /// Use of its limit in percent, if the limit is known.
    pub used_percent: Option<f64>,
    /// It is the bottleneck.
    pub binds: bool,
    /// An operation crosses a network to reach it.
    pub hop: bool,
}

/// Creates the path of a job's operations to its first target.
pub(super) fn build_io_path(
    results: &Results,
    step: usize,
    job: usize,
    diagnosis: Option<&Diagnosis>,
) -> Option<IoPath> {
    let plan = results.plan.steps.get(step)?.jobs.get(job)?;
    let job_results = results.steps.get(step)?.jobs.get(job)?;
    let environment = &results.hosts.first()?.environment;
    let first = plan
        .workers
        .iter()
        .flat_map(|worker| &worker.streams)
        .find_map(|stream| stream.target.ids().first())?;
    let target = environment.target(first.0)?;
    let answer = diagnosis.map(|diagnosis| diagnosis.answer);
    let answer_is = |wanted: Answer| answer == Some(wanted);
    let mut layers = vec![program_layer(
        &environment.host.name,
        plan,
        job_results,
        answer_is(Answer::Generator),
    )];
    layers.push(Layer {
        name: "Processors".into(),
        facts: vec![
            environment.cpu.model.clone(),
            format!("{} usable", environment.cpu.usable),
        ],
        binds: answer_is(Answer::Processor) && !diagnosis.is_some_and(has_served_rate),
        ..Layer::default()
    });
    layers.push(system_layer(plan, target, answer_is(Answer::QueueAbove)));
    let remote = add_target_layers(target, &environment.host.name, answer_is(Answer::Network), &mut layers);
    let (requested_caps, other_caps) = diagnosis.map(cap_layers).unwrap_or_default();
    let known_cap = requested_caps.iter().chain(&other_caps).any(|layer| layer.binds);
    // Named limits act before the device, and this program paces the load.
    let last = layers.len() - 1;
    let at = if last >= 3 { last } else { layers.len() };
    layers.splice(at..at, storage_layer(&plan.storage).into_iter().chain(other_caps));
    layers.splice(1..1, requested_caps);
    if (answer.is_some_and(is_limit_of_device) || answer_is(Answer::Cap))
        && !known_cap
        && let Some(device) = layers.last_mut()
    {
        device.binds = true;
    }
    Some(IoPath {
        title: match results.steps.iter().map(|step| step.jobs.len()).sum::<usize>() {
            1 => format!("From this program to {}", name_target(target)),
            _ => format!("From {} to {}", plan.name, name_target(target)),
        },
        layers,
        hops: describe_hops(&plan.storage, remote),
        sentence: diagnosis.map_or_else(String::new, |diagnosis| diagnosis.sentence.clone()),
        sources: diagnosis.map_or_else(String::new, |diagnosis| list_sources(&diagnosis.layers)),
    })
}

/// Creates the path of a load that another tool measured; `None` if no limit on it is known.
pub fn io_path_of_report(seen: &Observation, diagnosis: &Diagnosis) -> Option<IoPath> {
    let (requested_caps, caps) = cap_layers(diagnosis);
    if caps.is_empty() {
        return None;
    }
    let load = &seen.load;
    let target = match &load.targets[..] {
        [] => "the target".to_owned(),
        [one] => one.clone(),
        many => format!("{} targets", many.len()),
    };
    let workers = load.workers.map(|workers| pluralize(workers.into(), "worker"));
    let depth = load.depth.map(|depth| format!("up to {depth} in flight"));
    let mut layers = vec![Layer {
        name: "Program".into(),
        facts: [Some(seen.tool.clone()), workers, depth]
            .into_iter()
            .flatten()
            .collect(),
        binds: diagnosis.answer == Answer::Generator,
        ..Layer::default()
    }];
    layers.extend(requested_caps);
    layers.extend(load.direct.map(|direct| Layer {
        name: "Operating system".into(),
        facts: vec![describe_cache(direct)],
        ..Layer::default()
    }));
    layers.extend(storage_layer(&load.storage));
    layers.extend(caps);
    layers.push(Layer {
        name: "Target".into(),
        facts: [Some(target.clone()), load.size.map(|size| size.to_string())]
            .into_iter()
            .flatten()
            .collect(),
        binds: is_limit_of_device(diagnosis.answer),
        ..Layer::default()
    });
    Some(IoPath {
        title: format!("From {} to {target}", seen.name),
        layers,
        hops: describe_hops(&load.storage, 0),
        sentence: diagnosis.sentence.clone(),
        sources: list_sources(&diagnosis.layers),
    })
}

/// Names a target; a temporary file by its directory, because the run removes it.
fn name_target(target: &TargetFacts) -> String {
    match temporary_file_directory(&target.path) {
        Some(directory) => format!("the test file in {directory}"),
        None => target.path.clone(),
    }
}

/// True if the load reached the rate that the test requested.
fn has_served_rate(diagnosis: &Diagnosis) -> bool {
    let mut layers = diagnosis.layers.iter();
    layers.any(|layer| REQUESTED_RATE.ends_with(&layer.layer) && layer.share >= MET_SHARE)
}

/// True if the device, or what is behind it, is the limit.
fn is_limit_of_device(answer: Answer) -> bool {
    matches!(
        answer,
        Answer::Saturated
            | Answer::LatencyBound
            | Answer::BurstEnd
            | Answer::SlcCliff
            | Answer::Drift
            | Answer::ThrottleQuantum
            | Answer::Thermal
            | Answer::GarbageCollection
            | Answer::Noisy
            | Answer::Stall
    )
}

/// Describes the network crossings: those that the test states, or else the known ones.
fn describe_hops(storage: &StoragePath, known: u32) -> String {
    match storage.hops.unwrap_or(known) {
        0 if storage.hops.is_some() => "According to the test, operations cross no network on this path.".into(),
        0 => "No network crossing is known on this path.".into(),
        1 => "Operations cross a network once on this path.".into(),
        many => format!("Operations cross a network {many} times on this path."),
    }
}

fn describe_cache(direct: bool) -> String {
    match direct {
        true => "bypassing the page cache".into(),
        false => "through the page cache".into(),
    }
}

fn program_layer(host: &str, plan: &Job, job_results: &JobResults, binds: bool) -> Layer {
    let engine = job_results.workers.first().map(|worker| worker.engine.kind.name());
    let mut facts = vec![crate::words::load(plan)];
    facts.extend(engine.map(|engine| format!("engine {engine}")));
    facts.extend((!host.is_empty()).then(|| format!("on {host}")));
    Layer {
        name: "This program".into(),
        facts,
        binds,
        ..Layer::default()
    }
}

fn system_layer(plan: &Job, target: &TargetFacts, binds: bool) -> Layer {
    let mut streams = plan.workers.iter().flat_map(|worker| &worker.streams);
    let direct = streams.all(|stream| stream.cache.direct);
    let mut facts = vec![describe_cache(direct)];
    if let Some(device) = target.devices.first() {
        facts.extend(
            device
                .scheduler
                .as_ref()
                .map(|scheduler| format!("scheduler {scheduler}")),
        );
        facts.extend(device.queue_requests.map(|requests| format!("queue of {requests}")));
    }
    Layer {
        name: "Operating system".into(),
        facts,
        binds,
        ..Layer::default()
    }
}

/// Adds file system and devices; returns the number of known network crossings.
fn add_target_layers(target: &TargetFacts, host: &str, network: bool, layers: &mut Vec<Layer>) -> u32 {
    let mut hops = 0;
    if let Some(files) = &target.file_system {
        let hop = files.is_remote();
        hops += u32::from(hop);
        layers.push(Layer {
            name: format!("File system {}", files.kind),
            facts: vec![format!("mounted at {}", files.mount_point)],
            hop,
            binds: network && hop,
            ..Layer::default()
        });
    }
    if let Some(owner) = target.owner.as_ref().filter(|owner| !owner.eq_ignore_ascii_case(host)) {
        hops += 1;
        layers.push(Layer {
            name: "Owner of the cluster volume".into(),
            facts: vec![owner.clone()],
            hop: true,
            ..Layer::default()
        });
    }
    for device in &target.devices {
        let mut facts = Vec::new();
        facts.extend(device.model.clone());
        facts.extend((!device.kind.is_empty()).then(|| device.kind.clone()));
        facts.extend(device.detail.clone());
        facts.push(device.size.to_string());
        let carried = device
            .link_bytes_per_sec
            .map(|bytes| format!("link of {:.0} MB/s", bytes as f64 / 1e6));
        facts.extend(carried);
        layers.push(Layer {
            name: format!("Device {}", device.name),
            facts,
            ..Layer::default()
        });
    }
    if target.devices.is_empty() {
        layers.push(Layer {
            name: "Target".into(),
            facts: vec![target.path.clone(), target.kind.clone()],
            ..Layer::default()
        });
    }
    hops
}

/// The layer of facts that the test states about the storage.
fn storage_layer(storage: &StoragePath) -> Option<Layer> {
    let StoragePath {
        cache,
        role,
        replicas,
        hops,
    } = storage;
    let mut facts = Vec::new();
    facts.extend(cache.map(|path| match path {
        CachePath::Cached => "through the host's cache".to_owned(),
        CachePath::Uncached => "bypassing the host's cache".to_owned(),
    }));
    facts.extend(role.as_ref().map(|role| format!("role {role}")));
    facts.extend(replicas.map(|copies| match copies {
        1 => "one copy of each block".to_owned(),
        _ => format!("{copies} copies: each write causes {copies} device writes"),
    }));
    facts.extend(hops.map(|hops| match hops {
        0 => "no network crossing".to_owned(),
        1 => "1 network crossing".to_owned(),
        _ => format!("{hops} network crossings"),
    }));
    (!facts.is_empty()).then(|| Layer {
        name: "Storage according to the test".into(),
        facts,
        hop: hops.is_some_and(|hops| hops > 0),
        ..Layer::default()
    })
}

/// The layers of the requested rate and of the other named limits.
fn cap_layers(diagnosis: &Diagnosis) -> (Vec<Layer>, Vec<Layer>) {
    let is_cap = diagnosis.answer == Answer::Cap;
    let limit_layer = |layer: &model::diagnosis::LayerUse| Layer {
        name: format!("Limit: {}", layer.layer),
        facts: vec![format_short_use(layer)],
        used_percent: Some(100.0 * layer.share),
        binds: is_cap
            && diagnosis.layer.as_deref() == Some(layer.layer.as_str())
            && (layer.binds || diagnosis.layers.len() == 1),
        hop: false,
    };
    let mut layers: Vec<Layer> = diagnosis.layers.iter().map(limit_layer).collect();
    if is_cap
        && !layers.iter().any(|layer| layer.binds)
        && let Some(fullest) = layers
            .iter_mut()
            .max_by(|a, b| a.used_percent.unwrap_or(0.0).total_cmp(&b.used_percent.unwrap_or(0.0)))
    {
        fullest.binds = true;
    }
    layers.into_iter().partition(|layer| layer.name == REQUESTED_RATE)
}
