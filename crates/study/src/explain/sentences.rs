//! Describes a load in a few sentences that claim only what the source shows.

use analysis::caps::LayerKind;
use analysis::identities::{QueueFill, estimate_queue_fill};
use analysis::limit_use::{LimitUse, LimitedQuantity};
use model::observation::{IoStats, Load, Observation};
use model::{Direction, Nanos};

use crate::numbers::{format_number, format_throughput, format_time};

/// Below this use, CPUs were not the limit.
const IDLE_BELOW: f64 = 0.7;
/// A rate counts as reached from this share of the requested rate on.
const REACHED_SHARE: f64 = 0.97;
/// Reports round the operations in flight to one decimal.
const STATED_ROUNDING: f64 = 0.05;

/// All sentences about a load.
pub(super) fn describe(load: &Observation, limits: &[LimitUse]) -> Vec<String> {
    let mut list = vec![describe_load(load)];
    list.extend(describe_figures(load));
    list.extend(describe_directions(load));
    list.extend(estimate_queue_fill(load).map(|estimate| describe_in_flight(load, &estimate)));
    list.extend(describe_cpus(load));
    list.extend(describe_limits(load, limits));
    list
}

fn describe_load(load: &Observation) -> String {
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
    let size = load.stated.bytes_per_operation.filter(|_| load.load.block.is_none());
    let size = size
        .map(|bytes| format!(" of {} bytes on average", format_number(bytes)))
        .unwrap_or_default();
    // A list of figures issues nothing; it only records a measurement.
    let subject = match tool.as_str() {
        "figures" => "The figures describe".to_owned(),
        tool => format!("{tool} issued"),
    };
    format!(
        "{subject} {}{size}{targets}{time}{warm_up}{}.",
        describe_operations(&load.load),
        describe_slots(&load.load)
    )
}

/// `64 KiB random operations, 80 % of them reads, the system's cache bypassed`.
fn describe_operations(load: &Load) -> String {
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
        Some(true) => " without the page cache",
        Some(false) => " through the system's cache",
        None => "",
    };
    format!("{block}{pattern}{kind}{cache}")
}

fn describe_slots(load: &Load) -> String {
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
        .map(|rate| format!("limited to {} per second", format_number(rate)));
    let parts: Vec<String> = [workers, depth, rate].into_iter().flatten().collect();
    match &*parts {
        [] => String::new(),
        parts => format!(": {}", parts.join(", ")),
    }
}

fn describe_figures(load: &Observation) -> Option<String> {
    let flow = &load.total;
    let iops = flow
        .iops
        .map(|iops| format!("{} operations per second (IOPS)", format_number(iops)));
    let bytes = flow.bytes_per_sec.map(format_throughput);
    let rates: Vec<String> = [iops, bytes].into_iter().flatten().collect();
    let latency = describe_latency(flow);
    match (rates.is_empty(), latency) {
        (true, None) => None,
        (true, Some(latency)) => Some(format!("Latency: {latency}.")),
        (false, None) => Some(format!("That is {}.", rates.join(", "))),
        (false, Some(latency)) => Some(format!("That is {}; latency: {latency}.", rates.join(", "))),
    }
}

/// `8.91 ms on average (standard deviation 12.1 ms)`.
fn describe_latency(flow: &IoStats) -> Option<String> {
    let latency = flow.user_latency()?;
    let mean = format_time(latency.mean_ns?);
    let deviation = latency
        .deviation_ns
        .map(|deviation| format!(" (standard deviation {})", format_time(deviation)));
    let service = flow.response.as_ref().and_then(|_| flow.latency.as_ref()?.mean_ns);
    let from = service.map(|service| format!(", from the due time; {} from issue", format_time(service)));
    Some(format!(
        "{mean} on average{}{}",
        deviation.unwrap_or_default(),
        from.unwrap_or_default()
    ))
}

/// Reads and writes separately, if there are both.
fn describe_directions(load: &Observation) -> Option<String> {
    let word = |direction: Direction| format!("{}s", direction.word());
    let parts: Vec<String> = load
        .directions
        .iter()
        .filter_map(|(direction, flow)| {
            let flow = flow.as_ref()?;
            let rate = flow
                .iops
                .map(|iops| format!("{} {} per second", format_number(iops), word(direction)));
            let latency = flow.user_latency().and_then(|latency| latency.mean_ns).map(format_time);
            match (rate, latency) {
                (Some(rate), Some(latency)) => Some(format!("{rate} at {latency}")),
                (Some(rate), None) => Some(rate),
                (None, Some(latency)) => Some(format!("{} at {latency}", word(direction))),
                (None, None) => None,
            }
        })
        .collect();
    (parts.len() > 1).then(|| format!("Of these, {}.", parts.join(" and ")))
}

fn describe_in_flight(load: &Observation, estimate: &QueueFill) -> String {
    let law = format!(
        "By Little's law (rate × latency) N = {:.2} operations were in flight on average",
        estimate.in_flight
    );
    let (Some(depth), Some(share)) = (estimate.depth, estimate.share) else {
        // Response times of a paced load may include waits before the submission, which the stated
        // figure excludes.
        let is_same_figure =
            |stated: &f64| load.load.closed_loop != Some(false) || stated + STATED_ROUNDING >= estimate.in_flight;
        let stated = load.stated.in_flight.filter(is_same_figure);
        let stated = stated.map_or_else(String::new, |stated| format!(" (the report states {stated:.1})"));
        return format!("{law}{stated}; the result does not state the queue depth.");
    };
    let law = format!("{law}, with a queue depth of {depth}");
    if share > 1.0 + estimate.tolerance {
        return format!("{law}: that is impossible, so one of these figures is wrong.");
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
                " At this latency a full queue would reach {} operations per second, unless something else, such as a flush, takes time.",
                format_number(depth as f64 * 1e9 / mean)
            )
        });
        let missed = load.load.rate_iops.zip(load.total.iops);
        let missed = missed.filter(|(requested, found)| *found < REACHED_SHARE * requested);
        let why = missed.map_or("the rate was limited intentionally".to_owned(), |(requested, _)| {
            format!("{} per second were requested but not reached", format_number(requested))
        });
        return format!("{law}: {why}.{}", reach.unwrap_or_default());
    }
    if share >= 1.0 - estimate.tolerance {
        let deep = if depth > 1 {
            "; with fewer operations in flight, each would take less time"
        } else {
            ""
        };
        return format!("{law}: the queue was always full{deep}.");
    }
    format!("{law}.")
}

fn describe_cpus(load: &Observation) -> Option<String> {
    if let (true, Some(busy)) = (load.cores.is_empty(), load.stated.processors_busy) {
        return Some(format!("All processors together were {:.1} % busy.", 100.0 * busy));
    }
    let busiest = load.cores.iter().map(|core| core.busy()).fold(0.0, f64::max);
    (!load.cores.is_empty() && busiest < IDLE_BELOW).then(|| {
        format!(
            "No processor was more than {:.1} % busy: they were not the limit.",
            100.0 * busiest
        )
    })
}

/// The limit that was reached, what remains unused behind it, and how to confirm it.
fn describe_limits(load: &Observation, limits: &[LimitUse]) -> Vec<String> {
    let (exceeded, kept): (Vec<&LimitUse>, Vec<&LimitUse>) = limits
        .iter()
        .partition(|limit_use| limit_use.share > 1.0 && !limit_use.met);
    let mut list: Vec<String> = exceeded
        .iter()
        .map(|limit_use| {
            format!(
                "The load exceeds the limit of {}: {} is {:.1} % of {}. Either a cache served some operations, or \
                 that limit does not apply.",
                limit_use.layer,
                format_measured(limit_use),
                100.0 * limit_use.share,
                format_limit(limit_use)
            )
        })
        .collect();
    if load.load.storage.cache.is_none() && exceeded.iter().any(|limit_use| limit_use.kind == LayerKind::Machine) {
        list.push("If the machine's host cached them, add --path cached.".into());
    }
    let Some(first) = kept.first() else { return list };
    if let (Some(requested), Some(reached)) = (load.load.rate_iops, load.total.iops)
        && reached >= REACHED_SHARE * requested
    {
        list.push(format!(
            "The load was limited to {} per second and reached that rate, so it does not show a limit; that of {} is \
             {}.",
            format_number(requested),
            first.layer,
            format_limit(first)
        ));
        return list;
    }
    match first.met {
        true => list.extend(describe_reached_limit(first, &kept[1..])),
        false => list.push(format!(
            "The load is below all {}known limits; the nearest is that of {}, {} of {} ({:.1} %).",
            if exceeded.is_empty() { "" } else { "other " },
            first.layer,
            format_measured(first),
            format_limit(first),
            100.0 * first.share
        )),
    }
    list
}

fn describe_reached_limit(met: &LimitUse, others: &[&LimitUse]) -> Vec<String> {
    let mut list = vec![format!(
        "The load is at the limit of {}: {} of {} is {:.1} %.",
        met.layer,
        format_measured(met),
        format_limit(met),
        100.0 * met.share
    )];
    for unmet in others
        .iter()
        .filter(|other| other.quantity == met.quantity && !other.met)
    {
        let stranded = unmet.limit.low - met.limit.high;
        if unmet.kind == LayerKind::Disk && stranded > 0.0 {
            list.push(format!(
                "{} would allow {}: {} of them ({:.0} %) are unreachable because of it.",
                unmet.layer,
                format_limit(unmet),
                format_amount(met.quantity, stranded),
                100.0 * stranded / unmet.limit.low
            ));
        }
    }
    list.push(
        "To confirm this, double the queue depth: at a limit, the rate stays the same and the latency doubles.".into(),
    );
    list
}

/// The measured amount, with the names of the jobs if it is a sum.
fn format_measured(limit_use: &LimitUse) -> String {
    let measured = format_amount(limit_use.quantity, limit_use.measured);
    match limit_use.jobs.is_empty() {
        true => measured,
        false => format!("{measured} ({} together)", limit_use.jobs.join(" + ")),
    }
}

fn format_amount(quantity: LimitedQuantity, value: f64) -> String {
    match quantity {
        LimitedQuantity::Iops => format!("{} IOPS", format_number(value)),
        LimitedQuantity::BytesPerSec => format_throughput(value),
    }
}

fn format_limit(limit_use: &LimitUse) -> String {
    let (low, high) = (limit_use.limit.low, limit_use.limit.high);
    match (high - low) > 0.001 * low {
        true => format!(
            "{} to {}",
            format_amount(limit_use.quantity, low),
            format_amount(limit_use.quantity, high)
        ),
        false => format_amount(limit_use.quantity, low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::caps::{Limit, LimitLayer};
    use analysis::limit_use::limit_uses;

    fn explain_load(iops: f64, rate: Option<f64>, caps: &[(&str, f64)]) -> String {
        let mut load = Observation::default();
        (load.total.iops, load.load.rate_iops) = (Some(iops), rate);
        let layers: Vec<LimitLayer> = caps
            .iter()
            .map(|(name, iops)| LimitLayer {
                name: (*name).into(),
                iops: Some(Limit::exactly(*iops)),
                ..LimitLayer::default()
            })
            .collect();
        describe_limits(&load, &limit_uses(&load, &[], &layers)).join(" ")
    }

    #[test]
    fn limits_are_named_if_the_load_shows_them() {
        let check = |text: String, expected: &str| assert!(text.contains(expected), "{text}");
        let two = [("VM", 1920.0), ("4 x P30", 20_000.0)];
        check(
            explain_load(1953.3, None, &two),
            "at the limit of VM: 1,953 IOPS of 1,920 IOPS is 101.7 %.",
        );
        check(
            explain_load(1953.3, None, &two),
            "18,080 IOPS of them (90 %) are unreachable",
        );
        check(
            explain_load(1000.0, None, &two),
            "below all known limits; the nearest is that of VM",
        );
        check(explain_load(78_000.0, None, &two), "exceeds the limit of VM");
        check(explain_load(1900.0, Some(1900.0), &two), "does not show a limit");
        check(explain_load(1900.0, Some(4000.0), &two), "at the limit of VM");
        assert_eq!(explain_load(1.0, None, &[]), "");
    }

    #[test]
    fn directions_and_units_are_reported() {
        let latency = |mean_ns: f64| {
            Some(model::observation::Latency {
                mean_ns: Some(mean_ns),
                ..Default::default()
            })
        };
        let flow = |iops: f64, mean: f64| IoStats {
            iops: Some(iops),
            latency: latency(mean),
            ..IoStats::default()
        };
        let load = Observation {
            tool: "fio".into(),
            total: flow(4001.0, 848_559.0),
            directions: model::PerDirection {
                read: Some(flow(2800.0, 1_011_460.0)),
                write: Some(flow(1201.0, 468_780.0)),
                trim: None,
            },
            ..Observation::default()
        };
        let text = describe(&load, &[]).join(" ");
        assert!(
            text.contains("2,800 reads per second at 1.01 ms and 1,201 writes per second at 469 us"),
            "{text}"
        );
        assert!(text.contains("the result does not state the queue depth"), "{text}");
        for (stated, is_shown) in [(3.4, true), (1.7, false)] {
            let mut paced = load.clone();
            (paced.load.closed_loop, paced.stated.in_flight) = (Some(false), Some(stated));
            let text = describe(&paced, &[]).join(" ");
            assert_eq!(text.contains("the report states"), is_shown, "{text}");
        }
        let mut full = Observation {
            total: flow(32_015.0, 2e6),
            ..Observation::default()
        };
        full.load.depth = Some(64);
        let text = describe(&full, &[]).join(" ");
        assert!(text.contains("N = 64.00 operations were in flight"), "{text}");
    }
}
