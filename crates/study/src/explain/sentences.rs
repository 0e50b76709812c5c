//! A load in a few plain sentences that say no more than the source does.

use analysis::caps::LayerKind;
use analysis::identities::{Little, little};
use analysis::standing::{Limited, Standing};
use model::observation::{Flow, Load, Observation};
use model::{Direction, Nanos};

use crate::numbers::{rounded, throughput, time};

/// Processors that are less busy than this were not the limit.
const IDLE: f64 = 0.7;

/// Everything that is said of a load.
pub(super) fn of(load: &Observation, limits: &[Standing]) -> Vec<String> {
    let mut list = vec![what_was_done(load)];
    list.extend(figures(load));
    list.extend(directions(load));
    list.extend(little(load).map(|found| in_flight(load, &found)));
    list.extend(processors(load));
    list.extend(of_limits(limits));
    list
}

fn what_was_done(load: &Observation) -> String {
    let version = load
        .version
        .as_ref()
        .map(|version| format!(" {version}"))
        .unwrap_or_default();
    let tool = if load.tool == "fio" && load.version.is_some() {
        version.trim().to_owned()
    } else {
        format!("{}{version}", load.tool)
    };
    let time = load.measured_ns.map(|time| format!(" for {time}")).unwrap_or_default();
    let warm_up = match load.load.warm_up_ns {
        Some(Nanos(0)) => ", without a warm-up".to_owned(),
        Some(warm_up) => format!(", after {warm_up} of warm-up"),
        None => String::new(),
    };
    let targets = match &*load.load.targets {
        [] => String::new(),
        [one] => format!(
            " on {one}{}",
            load.load.size.map(|size| format!(" ({size})")).unwrap_or_default()
        ),
        many => format!(" on {} targets", many.len()),
    };
    format!(
        "{tool} did {}{targets}{time}{warm_up}{}.",
        operations(&load.load),
        places(&load.load)
    )
}

/// `64 KiB random operations, 80 % of them reads, the system's cache bypassed`.
fn operations(load: &Load) -> String {
    let block = load.block.map(|block| format!("{block} ")).unwrap_or_default();
    let pattern = match load.random {
        Some(true) => "random ",
        Some(false) => "sequential ",
        None => "",
    };
    let kind = match load.read_percent {
        Some(100.0) => "reads".to_owned(),
        Some(0.0) => "writes".to_owned(),
        Some(percent) => format!("operations, {percent:.0} % of them reads,"),
        None => "operations".to_owned(),
    };
    let cache = match load.direct {
        Some(true) => " past the system's cache",
        Some(false) => " through the system's cache",
        None => "",
    };
    format!("{block}{pattern}{kind}{cache}")
}

fn places(load: &Load) -> String {
    let workers = load.workers.map(|workers| {
        if workers == 1 {
            "one worker".to_owned()
        } else {
            format!("{workers} workers")
        }
    });
    let depth = load.depth.map(|depth| format!("up to {depth} in flight"));
    let rate = load
        .rate_iops
        .map(|rate| format!("held to {} per second", rounded(rate)));
    let parts: Vec<String> = [workers, depth, rate].into_iter().flatten().collect();
    match &*parts {
        [] => String::new(),
        parts => format!(": {}", parts.join(", ")),
    }
}

fn figures(load: &Observation) -> Option<String> {
    let flow = &load.total;
    let iops = flow
        .iops
        .map(|iops| format!("{} operations per second (IOPS)", rounded(iops)));
    let bytes = flow.bytes_per_sec.map(throughput);
    let rates: Vec<String> = [iops, bytes].into_iter().flatten().collect();
    let latency = waited(flow);
    match (rates.is_empty(), latency) {
        (true, None) => None,
        (true, Some(latency)) => Some(format!("One operation took {latency}.")),
        (false, None) => Some(format!("That is {}.", rates.join(", "))),
        (false, Some(latency)) => Some(format!("That is {}; one took {latency}.", rates.join(", "))),
    }
}

/// `8.91 ms on average (standard deviation 12.1 ms)`.
fn waited(flow: &Flow) -> Option<String> {
    let latency = flow.waited()?;
    let mean = time(latency.mean_ns?);
    Some(match latency.deviation_ns {
        Some(deviation) => format!("{mean} on average (standard deviation {})", time(deviation)),
        None => format!("{mean} on average"),
    })
}

/// Reads and writes by themselves, where there are both.
fn directions(load: &Observation) -> Option<String> {
    let word = |direction: Direction| match direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
        Direction::Trim => "trims",
    };
    let told: Vec<String> = load
        .directions
        .iter()
        .filter_map(|(direction, flow)| {
            let flow = flow.as_ref()?;
            let rate = flow
                .iops
                .map(|iops| format!("{} {} per second", rounded(iops), word(direction)));
            let latency = flow.waited().and_then(|latency| latency.mean_ns).map(time);
            match (rate, latency) {
                (Some(rate), Some(latency)) => Some(format!("{rate} at {latency}")),
                (Some(rate), None) => Some(rate),
                (None, Some(latency)) => Some(format!("{} at {latency}", word(direction))),
                (None, None) => None,
            }
        })
        .collect();
    (told.len() > 1).then(|| format!("Of these, {}.", told.join(" and ")))
}

fn in_flight(load: &Observation, found: &Little) -> String {
    let law = format!(
        "By Little's law (rate × latency) N = {:.2} operations were in flight on average",
        found.in_flight
    );
    let (Some(depth), Some(share)) = (found.depth, found.share) else {
        return format!("{law}; how many were allowed the result does not say.");
    };
    let law = format!("{law}, of {depth} allowed");
    if share > 1.0 + found.tolerance {
        return format!("{law}: that cannot be, so one of these figures is wrong.");
    }
    if load.load.rate_iops.is_some() || load.load.closed_loop == Some(false) {
        let reach = load
            .total
            .latency
            .as_ref()
            .and_then(|latency| latency.mean_ns)
            .filter(|mean| *mean > 0.0);
        let reach = reach.map(|mean| {
            format!(
                " At this latency as many could do up to {} per second.",
                rounded(depth as f64 * 1e9 / mean)
            )
        });
        return format!("{law}: the rate was held back on purpose.{}", reach.unwrap_or_default());
    }
    if share >= 1.0 - found.tolerance {
        let deep = if depth > 1 {
            "; with fewer in flight each would take less time"
        } else {
            ""
        };
        return format!("{law}: the queue was full all the time{deep}.");
    }
    format!("{law}.")
}

fn processors(load: &Observation) -> Option<String> {
    let busiest = load.cores.iter().map(|core| core.busy()).fold(0.0, f64::max);
    (!load.cores.is_empty() && busiest < IDLE).then(|| {
        format!(
            "No processor was more than {:.1} % busy: they were not the limit.",
            100.0 * busiest
        )
    })
}

/// The limit that is met, what lies behind it unused, and how to make sure.
fn of_limits(limits: &[Standing]) -> Vec<String> {
    let Some(first) = limits.first() else { return Vec::new() };
    let percent = |standing: &Standing| format!("{:.1} %", 100.0 * standing.share);
    let met: Vec<&Standing> = limits.iter().filter(|standing| standing.met).collect();
    // Of several that are met the smallest is in front.
    let Some(met) = met.first() else {
        let place = if first.share > 1.0 { "above" } else { "below" };
        return vec![format!(
            "It lies at no limit that is known: nearest is {}, {} of whose {} it reaches ({place}).",
            first.layer,
            percent(first),
            limit(first)
        )];
    };
    let mut list = vec![format!(
        "It lies at the limit of {}: {} of {} is {}.",
        met.layer,
        amount(met.of, met.measured),
        limit(met),
        percent(met)
    )];
    let behind = limits
        .iter()
        .filter(|other| other.of == met.of && !other.met && other.kind == LayerKind::Disk);
    for other in behind {
        let stranded = other.limit.low - met.limit.high;
        if stranded > 0.0 {
            list.push(format!(
                "{} would allow {}: {} of them ({:.0} %) cannot be reached behind it.",
                other.layer,
                limit(other),
                amount(met.of, stranded),
                100.0 * stranded / other.limit.low
            ));
        }
    }
    list.push("To make sure, allow twice as many in flight: at a limit the rate stays and the latency doubles.".into());
    list
}

fn amount(of: Limited, value: f64) -> String {
    match of {
        Limited::Iops => format!("{} IOPS", rounded(value)),
        Limited::BytesPerSec => throughput(value),
    }
}

fn limit(standing: &Standing) -> String {
    let (low, high) = (standing.limit.low, standing.limit.high);
    match (high - low) > 0.001 * low {
        true => format!("{} to {}", amount(standing.of, low), amount(standing.of, high)),
        false => amount(standing.of, low),
    }
}
