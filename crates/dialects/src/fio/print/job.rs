//! Prints start, end, dependencies, control rules and logs of jobs.

use std::cmp::Ordering;

use model::mix::Mix;
use model::plan::{Control, LatencyTarget, SteadyState, Stop, TrackedMetric, Windows};
use model::{Direction, Nanos};

use super::{Section, bare, files, format_micros, list, time};
use crate::fio::lower::special::ENDLESS;
use crate::notation;
use crate::passes::operations_per_pass;

pub(in crate::fio) fn wait_for(section: &Section<'_>) -> Option<String> {
    let after = section.job().after.first()?;
    section.jobs().get(after.0 as usize).map(|other| other.name.clone())
}

/// Runtime, unless it runs until stopped.
pub(in crate::fio) fn time_limit(section: &Section<'_>) -> Option<Nanos> {
    section.job().stop.after_ns.filter(|time| *time != ENDLESS)
}

/// fio ends a job after its size, unless it has a runtime and `time_based`.
pub(in crate::fio) fn time_based(section: &Section<'_>) -> Option<String> {
    let stop = section.job().stop;
    let has_amount = stop.bytes.is_some() || stop.region_percent.is_some() || stop.operations.is_some();
    let has_amount = has_amount || passes(section).is_some();
    bare(time_limit(section).is_some() && (!has_amount || stop.repeat_until_time))
}

/// The stop rule besides the runtime; `None` if the job repeats until the runtime is over.
fn stop_besides_time(section: &Section<'_>) -> Option<Stop> {
    let stop = section.job().stop;
    (stop.after_ns.is_none() || !stop.repeat_until_time).then_some(Stop {
        passes: passes(section),
        ..stop
    })
}

/// The number of passes, for patterns that visit each block.
fn passes(section: &Section<'_>) -> Option<u32> {
    let streams = section.clones().iter().flat_map(|clone| &clone.streams);
    let mut patterns = streams.flat_map(|stream| &stream.pattern.access);
    let all_end = patterns.all(|access| matches!(access, model::access::Access::Sequential(_)) || access.is_finite());
    section.job().stop.passes.filter(|_| all_end)
}

/// The bytes of a loop, and the number of loops, for passes that do not move each byte once: their
/// blocks have gaps or overlap. fio counts bytes, not passes.
fn uneven_passes(section: &Section<'_>) -> Option<(u64, u32)> {
    let (stop, stream) = (stop_besides_time(section)?, section.stream());
    let has_amount = stop.bytes.is_some() || stop.region_percent.is_some() || stop.operations.is_some();
    let passes = stop.passes.filter(|_| !has_amount && stream.target.ids().len() == 1)?;
    let length = stream.fixed_length(stream.mix.directions().next()?)?;
    let area = files::bytes(section)?;
    let pass = operations_per_pass(stream, area)? as u64 * length;
    match pass.cmp(&area) {
        // The rest is less than a block.
        Ordering::Less if area - pass < length => None,
        Ordering::Less => Some((pass, passes)),
        Ordering::Equal => None,
        // More bytes than a pass has are further passes.
        Ordering::Greater => Some((pass.saturating_mul(passes.into()), 1)),
    }
}

pub(in crate::fio) fn number_ios(section: &Section<'_>) -> Option<String> {
    stop_besides_time(section)?
        .operations
        .map(|operations| operations.to_string())
}

pub(in crate::fio) fn io_size(section: &Section<'_>) -> Option<String> {
    let (stop, stream) = (stop_besides_time(section)?, section.stream());
    if let Some((bytes, _)) = uneven_passes(section) {
        return Some(notation::format_size(bytes));
    }
    // Trims and writes of the same blocks count twice.
    let times = if stream.mix == Mix::TrimThenWrite { 2 } else { 1 };
    let bytes = stop.bytes.map(|bytes| bytes.0 / times);
    let percent = stop.region_percent.map(|percent| u64::from(percent) / times);
    let size_of_passes =
        files::bytes(section).map(|size_of_passes| size_of_passes * u64::from(stop.passes.unwrap_or(1)));
    match (bytes, percent, stop.operations, stop.passes) {
        (Some(bytes), ..) if size_of_passes != Some(bytes) => Some(notation::format_size(bytes)),
        // 100 % is the default.
        (None, Some(percent), _, _) if percent != 100 => Some(format!("{percent}%")),
        // Without `io_size` the job would end after its size.
        (None, None, Some(operations), None) => {
            let longest = stream.pattern.longest(&stream.mix).0;
            Some(notation::format_size(operations.saturating_mul(longest)))
        }
        _ => None,
    }
}

pub(in crate::fio) fn loops(section: &Section<'_>) -> Option<String> {
    let stop = stop_besides_time(section)?;
    if let Some((_, loops)) = uneven_passes(section) {
        return (loops > 1).then(|| loops.to_string());
    }
    let loops = stop.passes.unwrap_or(1).saturating_mul(stop.rounds.unwrap_or(1));
    (loops > 1).then(|| loops.to_string())
}

pub(in crate::fio) fn startdelay(section: &Section<'_>) -> Option<String> {
    let delay = section.job().phases.start_delay;
    match delay.low_ns == delay.high_ns {
        true => time(delay.low_ns),
        false => Some(format!(
            "{}-{}",
            format_micros(delay.low_ns),
            format_micros(delay.high_ns)
        )),
    }
}

/// When a job ends the others: `exitall` or `exitall_on_error`.
enum ExitRule {
    Always,
    OnFailure,
    Nothing,
}

fn exit_rule(section: &Section<'_>) -> ExitRule {
    let (ends, others) = (&section.job().ends_with, section.jobs().len() > 1);
    let with_clones = ends.workers && section.clones().len() > 1;
    if !ends.jobs.is_empty() && others || with_clones || ends.plan_always {
        return ExitRule::Always;
    }
    match !ends.on_failure.is_empty() && others {
        true => ExitRule::OnFailure,
        false => ExitRule::Nothing,
    }
}

pub(in crate::fio) fn exit_what(section: &Section<'_>) -> Option<String> {
    match exit_rule(section) {
        ExitRule::Always if section.job().ends_with.plan_always => Some("all".into()),
        ExitRule::Always | ExitRule::OnFailure => Some("stonewall".into()),
        ExitRule::Nothing => None,
    }
}

pub(in crate::fio) fn exitall(section: &Section<'_>) -> Option<String> {
    bare(matches!(exit_rule(section), ExitRule::Always))
}

pub(in crate::fio) fn exitall_on_error(section: &Section<'_>) -> Option<String> {
    bare(matches!(exit_rule(section), ExitRule::OnFailure))
}

/// The windows of a log of averages or of histograms.
pub(in crate::fio) fn windows<'a>(section: &Section<'a>, histograms: bool) -> Option<&'a Windows> {
    section
        .job()
        .windows
        .iter()
        .find(|windows| windows.histograms == histograms)
}

pub(in crate::fio) fn window_ms(windows: Option<&Windows>) -> Option<String> {
    windows.map(|windows| (windows.length_ns.0 / 1_000_000).to_string())
}

/// The first steady-state rule.
pub(in crate::fio) fn steady_state<'a>(section: &Section<'a>) -> Option<&'a SteadyState> {
    section.job().control.iter().find_map(|rule| match rule {
        Control::SteadyState(rule) => Some(rule),
        _ => None,
    })
}

pub(in crate::fio) fn steadystate(section: &Section<'_>) -> Option<String> {
    let rule = steady_state(section)?;
    let slope = if rule.slope { "_slope" } else { "" };
    let unit = if rule.percent { "%" } else { "" };
    Some(format!(
        "{}{slope}:{}{unit}",
        notation::metric_name(rule.metric),
        rule.limit
    ))
}

/// The first latency target.
pub(in crate::fio) fn latency_target<'a>(section: &Section<'a>) -> Option<&'a LatencyTarget> {
    section.job().control.iter().find_map(|rule| match rule {
        Control::LatencyTarget(rule) => Some(rule),
        _ => None,
    })
}

/// The minimum rate of each direction.
pub(in crate::fio) fn minimum_rates(section: &Section<'_>, metric: TrackedMetric) -> Option<String> {
    let mut min_rates = [const { String::new() }; 3];
    for rule in &section.job().control {
        if let Control::MinimumRate(rule) = rule
            && rule.metric == metric
        {
            min_rates[rule.direction.map_or(0, |direction| direction as usize)] = rule.min_per_sec.round().to_string();
        }
    }
    let list = min_rates.join(",");
    Some(list.trim_end_matches(',').to_owned()).filter(|list| !list.is_empty())
}

pub(in crate::fio) fn rate_cycle(section: &Section<'_>) -> Option<String> {
    let cycle = section.job().control.iter().find_map(|rule| match rule {
        Control::MinimumRate(rule) => Some(rule.cycle_ns),
        _ => None,
    });
    cycle
        .filter(|cycle| *cycle != Nanos::secs(1))
        .map(|cycle| (cycle.0 / 1_000_000).to_string())
}

pub(in crate::fio) fn max_latency(section: &Section<'_>) -> Option<String> {
    let max = &section.stream().on_error.latency_ns_max;
    let any = max.iter().any(|(_, max)| max.is_some());
    any.then(|| list(max, |max| max.map(format_micros).unwrap_or_default()))
}

/// Whether the section writes.
pub(super) fn has_writes(section: &Section<'_>) -> bool {
    section.stream().mix.includes(Direction::Write)
}
