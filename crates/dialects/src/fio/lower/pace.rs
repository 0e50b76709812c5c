//! Lowers rates, pauses and control rules.

use model::plan::{
    CatchUp, Control, LatencyTarget, MinimumRate, Pacing, Process, Rate, SteadyState, Think, ThinkCount, TrackedMetric,
};
use model::{Direction, Nanos, PerDirection};

use super::{pattern, special};
use crate::fio::draft::{Draft, from_micros};
use crate::fio::options::JobOptions;
use crate::fio::options::pace::{Criterion, RateProcess, ThinkBlocks};

pub(in crate::fio) fn lower_pacing(draft: &mut Draft<'_>) {
    let options = &*draft.options;
    let mix = pattern::mix(options);
    let rates = PerDirection::from_fn(|direction| rate(options, direction).filter(|_| mix.includes(direction)));
    if rates != PerDirection::default() {
        draft.parts.stream.pacing = Pacing::PerDirection { rates };
    }
}

fn rate(options: &JobOptions, direction: Direction) -> Option<Rate> {
    let pace = &options.pace;
    let sizes = &pattern::sizes(options)[direction];
    let rate = match (pace.rate[direction], pace.rate_iops[direction]) {
        (0, 0) => return None,
        (bytes, 0) => Rate::bytes(bytes),
        // fio paces by bytes, computed from the shortest length: longer operations lower the IOPS.
        (_, operations) => match sizes {
            model::block_size::BlockSizes::Range { low, .. } => Rate::bytes(operations.saturating_mul(low.0)),
            _ => Rate::iops(operations),
        },
    };
    Some(Rate {
        process: match pace.rate_process {
            RateProcess::Linear => Process::Linear,
            RateProcess::Poisson => Process::Poisson,
        },
        catch_up: CatchUp::Unlimited,
        ..rate
    })
}

/// Pauses between operations; some engines have their own.
pub(in crate::fio) fn lower_pauses(draft: &mut Draft<'_>) {
    let blocks_given = draft.is_option_set("thinktime_blocks");
    draft.parts.stream.think = special::think(draft.options).unwrap_or_else(|| think(draft.options, blocks_given));
}

/// `blocks_given`: the user set `thinktime_blocks`.
fn think(options: &JobOptions, blocks_given: bool) -> Option<Think> {
    let pace = &options.pace;
    let cycles_each = pace.thinkcycles.max(0) as u64;
    if pace.thinktime == 0 && pace.thinktime_spin == 0 && cycles_each == 0 {
        return None;
    }
    let after_ns = Some(from_micros(pace.thinktime_iotime)).filter(|time| time.0 > 0);
    Some(Think {
        pause_ns: from_micros(pace.thinktime.max(pace.thinktime_spin)),
        spin_ns: from_micros(pace.thinktime_spin),
        operations: match after_ns.is_some() && !blocks_given {
            true => 0,
            false => pace.thinktime_blocks.clamp(1, i64::from(u32::MAX)) as u32,
        },
        after_ns,
        count: match pace.thinktime_blocks_type {
            ThinkBlocks::Complete => ThinkCount::Completed,
            ThinkBlocks::Issue => ThinkCount::Issued,
        },
        shifts_schedule: pace.rate_ignore_thinktime,
        cycles_each,
    })
}

/// The control rules of a job, in report order.
pub(in crate::fio) fn lower_control(draft: &mut Draft<'_>) {
    let options = &*draft.options;
    let rules = latency_target(options).into_iter().chain(steady_state(options));
    draft.parts.job.control = rules.chain(minimum_rates(options)).collect();
}

fn latency_target(options: &JobOptions) -> Option<Control> {
    let pace = &options.pace;
    let target = LatencyTarget {
        target_ns: from_micros(pace.latency_target),
        window_ns: from_micros(pace.latency_window),
        percentile: pace.latency_percentile,
        keep_running: pace.latency_run,
    };
    (pace.latency_target > 0).then_some(Control::LatencyTarget(target))
}

fn steady_state(options: &JobOptions) -> Option<Control> {
    let pace = &options.pace;
    let (tracked, slope) = match pace.steadystate {
        Criterion::Iops => (TrackedMetric::Iops, false),
        Criterion::IopsSlope => (TrackedMetric::Iops, true),
        Criterion::Bw => (TrackedMetric::Throughput, false),
        Criterion::BwSlope => (TrackedMetric::Throughput, true),
        Criterion::Lat => (TrackedMetric::Latency, false),
        Criterion::LatSlope => (TrackedMetric::Latency, true),
    };
    let rule = SteadyState {
        metric: tracked,
        slope,
        limit: pace.steadystate_limit,
        percent: pace.steadystate_percent,
        window_ns: from_micros(pace.steadystate_duration),
        interval_ns: from_micros(pace.steadystate_check_interval),
        ramp_ns: from_micros(pace.steadystate_ramp_time),
    };
    (pace.steadystate_duration > 0).then_some(Control::SteadyState(rule))
}

fn minimum_rates(options: &JobOptions) -> impl Iterator<Item = Control> {
    let pace = &options.pace;
    let mix = pattern::mix(options);
    let cycle_ns = Nanos::millis(pace.rate_cycle.max(1) as u64);
    let (bytes, operations) = (pace.rate_min, pace.rate_iops_min);
    mix.directions().flat_map(move |direction| {
        let rule = |tracked: TrackedMetric, rate_min: u64| {
            let rule = MinimumRate {
                metric: tracked,
                direction: Some(direction),
                min_per_sec: rate_min as f64,
                cycle_ns,
            };
            (rate_min > 0).then_some(Control::MinimumRate(rule))
        };
        let rules = [
            rule(TrackedMetric::Throughput, bytes[direction]),
            rule(TrackedMetric::Iops, operations[direction]),
        ];
        rules.into_iter().flatten()
    })
}
