//! Describes plans in words: `4 KiB random reads`, `1 worker, up to 32 operations in flight`.

use model::access::{Access, Placement};
use model::block_size::BlockSizes;
use model::environment::TargetFacts;
use model::mix::Mix;
use model::plan::{
    DepthScope, FileWork, Job, Pacing, Plan, PresetUse, RateUnit, Stream, Target, TargetKind, WriteThrough,
};
use model::{Bytes, Direction, Nanos, visible};

use crate::numbers::{count, pluralize, rate};

/// Marks figures of simulated storage, in titles and in text for the terminal.
pub const SIMULATION: &str = "SIMULATION: no real storage";

/// Returns [`SIMULATION`] if a target of the plan is simulated.
pub fn describe_simulation(plan: &Plan) -> Option<&'static str> {
    let is_simulated = |target: &Target| matches!(target.kind, TargetKind::Simulated { .. });
    plan.targets.iter().any(is_simulated).then_some(SIMULATION)
}

/// The operations of a job: sizes, pattern, mix and caches.
pub fn describe_operations(job: &Job) -> String {
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for stream in job.workers.iter().flat_map(|worker| &worker.streams) {
        let kind = describe_kind(stream);
        match kinds.iter_mut().find(|(counted_kind, _)| *counted_kind == kind) {
            Some((_, weight)) => *weight += u64::from(stream.weight),
            None => kinds.push((kind, u64::from(stream.weight))),
        }
    }
    if let [(kind, _)] = &*kinds {
        return kind.clone();
    }
    let total: u64 = kinds.iter().map(|(_, weight)| weight).sum();
    let share = |weight: u64| (100.0 * weight as f64 / total.max(1) as f64).round();
    let parts = kinds
        .iter()
        .map(|(kind, weight)| format!("{} % {kind}", share(*weight)));
    parts.collect::<Vec<_>>().join("; ")
}

fn describe_kind(stream: &Stream) -> String {
    if let Some(work) = &stream.files {
        let order = if work.in_sequence { "in sequence " } else { "" };
        let operations = work.to_string();
        let transfers = describe_transfers(work);
        return match operations.chars().all(char::is_alphabetic) {
            true => format!("{operations} files{transfers}"),
            false => format!("on files, {order}{operations}{transfers}"),
        };
    }
    let present = |direction: &Direction| stream.mix.includes(*direction);
    let first = Direction::ALL.into_iter().find(present).unwrap_or(Direction::Read);
    let sizes = describe_sizes(&stream.pattern.sizes[first]);
    let index = usize::from(stream.pattern.access_index[first]);
    let pattern = stream
        .pattern
        .access
        .get(index)
        .map(describe_access)
        .unwrap_or_default();
    let operations = match stream.mix {
        Mix::Only { direction } => format!("{}s", direction.word()),
        Mix::Drawn { write_percent, .. } | Mix::Exact { write_percent } => match write_percent {
            0.0 => "reads".into(),
            100.0 => "writes".into(),
            percent => {
                let percent = paced_write_percent(stream).unwrap_or(percent);
                format!("operations, {} % reads and {percent} % writes", 100.0 - percent)
            }
        },
        _ => "trims, each followed by a write".into(),
    };
    format!("{sizes} {pattern} {operations}, {}", describe_cache(stream))
}

/// The transfers after an `open`.
fn describe_transfers(work: &FileWork) -> String {
    let Some(transfers) = work.session.as_ref().and_then(|session| session.transfers.as_ref()) else {
        return String::new();
    };
    let order = if transfers.random { "random" } else { "sequential" };
    let kind = match transfers.write_percent {
        0 => "reads".to_owned(),
        100 => "writes".to_owned(),
        percent => format!("transfers, {percent} % of them writes"),
    };
    format!(", then {} {order} {kind}", describe_sizes(&transfers.sizes))
}

/// The share of writes that follows if each direction has a rate; one decimal.
fn paced_write_percent(stream: &Stream) -> Option<f64> {
    let Pacing::PerDirection { rates } = stream.pacing else {
        return None;
    };
    let (read, write) = (rates.read?, rates.write?);
    let share = write.per_second() / (read.per_second() + write.per_second());
    let counts_operations = read.unit == RateUnit::Operations && write.unit == RateUnit::Operations;
    counts_operations.then(|| (1000.0 * share).round() / 10.0)
}

fn describe_sizes(sizes: &BlockSizes) -> String {
    match sizes {
        BlockSizes::Fixed { size } => size.to_string(),
        BlockSizes::Range { low, high, .. } => format!("{low} to {high}"),
        BlockSizes::Split { entries } => {
            let sizes = entries.iter().map(|entry| entry.size.to_string());
            sizes.collect::<Vec<_>>().join(" / ")
        }
    }
}

fn describe_access(access: &Access) -> String {
    match access {
        Access::Sequential(_) => "sequential".into(),
        Access::Interlocked(_) => "interlocked sequential".into(),
        Access::Parallel(_) => "parallel sequential".into(),
        Access::Random { placement } => describe_placement(placement),
        Access::Mixed(mixed) => {
            let percent = mixed.random_percent;
            let max = percent.read.max(percent.write).max(percent.trim);
            format!("mixed ({max} % random)")
        }
        Access::Every(_) => "partly random".into(),
        Access::Zones(_) => "zoned".into(),
        Access::WritePointers(_) => "sequential within zones".into(),
    }
}

fn describe_placement(placement: &Placement) -> String {
    match placement {
        Placement::Uniform(_) => "random".into(),
        Placement::Once(_) => "random (each block once)".into(),
        Placement::Ranges(_) => "random (uneven)".into(),
        Placement::Zipf(zipf) => format!("random (Zipf {})", zipf.theta),
        Placement::Pareto(_) => "random (Pareto)".into(),
        Placement::Normal(_) => "random (normal)".into(),
        Placement::List(_) => "listed".into(),
        Placement::Aged(_) => "random (ages an SSD)".into(),
    }
}

fn describe_cache(stream: &Stream) -> String {
    let cache = stream.cache;
    let path = match (cache.mapping, cache.direct) {
        (Some(_), _) => "memory-mapped",
        (None, true) => "direct",
        (None, false) => "buffered",
    };
    let through = match cache.write_through {
        WriteThrough::Off => "",
        WriteThrough::Data | WriteThrough::DataAndMetadata => ", write-through",
    };
    let flush = match stream.sync.every_writes {
        0 => String::new(),
        1 => ", flush after each write".into(),
        writes => format!(", flush after {writes} writes"),
    };
    format!("{path}{through}{flush}")
}

/// The load of a job: workers, depth, rate.
pub fn load(job: &Job) -> String {
    let workers = pluralize(job.workers.len() as u64, "worker");
    let Some(first) = job.workers.first() else {
        return workers;
    };
    let has_equal_slots = job.workers.iter().all(|worker| worker.slots() == first.slots());
    let (operations, scope) = match (has_equal_slots, job.workers.len()) {
        (true, 1) => (first.slots().into(), ""),
        (true, _) => (first.slots().into(), " each"),
        (false, _) => (job.depth(), " in all"),
    };
    let targets = match first.depth {
        DepthScope::PerStream if has_equal_slots && first.streams.len() > 1 => {
            format!(", {} targets", first.streams.len())
        }
        DepthScope::PerStream | DepthScope::Shared { .. } | DepthScope::PerTarget { .. } => String::new(),
    };
    let operations = pluralize(operations, "operation");
    let total = if scope == " each" { " in all" } else { "" };
    let load = format!(
        "{workers}, up to {operations} in flight{scope} (QD {}{total}){targets}",
        job.depth()
    );
    match describe_total_rate(job) {
        Some(pace) => format!("{load}, {pace}"),
        None => load,
    }
}

fn describe_total_rate(job: &Job) -> Option<String> {
    let (mut operations, mut bytes) = (0.0, 0.0);
    for stream in job.workers.iter().flat_map(|worker| &worker.streams) {
        let rates = match stream.pacing {
            Pacing::Unpaced => continue,
            Pacing::Together { rate } => vec![rate],
            Pacing::PerDirection { rates } => rates.iter().filter_map(|(_, rate)| *rate).collect(),
        };
        for rate in rates {
            match rate.unit {
                RateUnit::Operations => operations += rate.per_second(),
                RateUnit::Bytes => bytes += rate.per_second(),
            }
        }
    }
    match (operations > 0.0, bytes > 0.0) {
        (true, _) if operations.fract() == 0.0 => Some(format!("paced at {} IOPS", count(operations as u64))),
        (true, _) => Some(format!("paced at {} IOPS", rate(operations))),
        (_, true) => Some(format!("paced at {}/s", Bytes(bytes.round() as u64))),
        _ => None,
    }
}

/// The longest time limit that is shown for work that ends by itself.
const MAX_SHOWN_LIMIT: Nanos = Nanos::secs(24 * 3600);

/// The phases of a job: `10 s after 2 s of warm-up`.
pub fn describe_phases(job: &Job) -> String {
    let stop = &job.stop;
    let mut ends: Vec<String> = Vec::new();
    let mut streams = job.workers.iter().flat_map(|worker| &worker.streams);
    let ends_by_itself = streams.any(|stream| stream.files.as_ref().is_some_and(|work| work.once));
    if ends_by_itself {
        ends.push("until all files are done".into());
    }
    // A longer limit only bounds work that ends by itself.
    let is_shown = |time: &Nanos| !ends_by_itself || *time < MAX_SHOWN_LIMIT;
    ends.extend(stop.after_ns.filter(is_shown).map(|time| time.to_string()));
    // Otherwise these amounts begin again until the time is over.
    if !stop.repeat_until_time || stop.after_ns.is_none() {
        let workers = job.workers.len() as u64;
        ends.extend(
            stop.operations
                .map(|operations| pluralize(operations * workers, "operation")),
        );
        ends.extend(stop.bytes.map(|bytes| Bytes(bytes.0 * workers).to_string()));
        ends.extend(
            stop.passes
                .map(|passes| pluralize(u64::from(passes), "pass").replace("passs", "passes")),
        );
    }
    let mut words = ends.join(" or ");
    if job.phases.warm_up_ns > Nanos(0) {
        words = format!("{words} after {} of warm-up", job.phases.warm_up_ns);
    }
    words
}

/// Describes a target on one line: path, kind, size, file system, device, preparation.
pub fn describe_target(target: &TargetFacts) -> String {
    let kind = match target.kind.as_str() {
        "simulated" => "simulated disk",
        kind => kind,
    };
    let mut text = format!("{}: {kind} of {}", target.path, describe_size(target));
    if let Some(file_system) = &target.file_system {
        text += &format!(" on {}", file_system.kind);
    }
    if let Some(device) = target.devices.first() {
        let model = device
            .model
            .as_ref()
            .map(|model| format!(", {model}"))
            .unwrap_or_default();
        text += &format!(" ({}{model})", device.name);
    }
    if !target.prepared.is_empty() {
        text += &format!(", {}", target.prepared);
    }
    text
}

/// The size of a target. That of a tree is a sum, whose decimals mean nothing.
fn describe_size(target: &TargetFacts) -> String {
    let exact = target.size.to_string();
    let rounded = exact
        .split_once(' ')
        .filter(|_| target.kind == "tree")
        .and_then(|(number, unit)| Some(format!("{:.0} {unit}", number.parse::<f64>().ok()?)));
    rounded.unwrap_or(exact)
}

/// A preset with its changes: `oltp@1`, `oltp@1, changed: depth, time`.
pub fn describe_preset(used: &PresetUse) -> String {
    match used.changed.is_empty() {
        true => used.name.clone(),
        false => format!("{}, changed: {}", used.name, used.changed.join(", ")),
    }
}

/// Default names of plans without a name from the user.
pub(crate) const DEFAULT_NAMES: [&str; 3] = ["run", "verify", "quick"];

/// Returns the heading of a plan: the user's name for it, else the load of its only job and the
/// target.
pub fn title(plan: &Plan) -> String {
    visible(&raw_title(plan)).into_owned()
}

fn raw_title(plan: &Plan) -> String {
    let mut jobs = plan.jobs().map(|(_, job)| job);
    match (jobs.next(), jobs.next()) {
        (Some(job), None) if DEFAULT_NAMES.contains(&&*plan.name) => {
            let operations = describe_operations(job);
            let load = format!("{}, QD {}", operations.trim_end_matches(", direct"), job.depth());
            match &*plan.targets {
                [target] => format!("{load} — {}", target.path),
                targets => format!("{load} — {} targets", targets.len()),
            }
        }
        _ => plan.name.clone(),
    }
}

/// Describes a plan line by line, for `--dry-run`.
pub fn plan(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    let origin = &plan.origin;
    lines.extend(
        origin
            .preset
            .as_ref()
            .map(|used| format!("preset: {}", describe_preset(used))),
    );
    lines.extend(origin.objective.as_ref().map(|text| format!("objective: {text}")));
    for ((step, _), job) in plan.jobs() {
        let place = if plan.steps.len() > 1 {
            format!("step {}, ", step + 1)
        } else {
            String::new()
        };
        lines.push(format!("{place}{}: {}", job.name, describe_operations(job)));
        lines.push(format!("  {}; {}", load(job), describe_phases(job)));
    }
    lines
}
