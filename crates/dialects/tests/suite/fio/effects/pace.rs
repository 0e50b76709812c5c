//! Effects on speed and limits.

use model::plan::{Control, Pacing, Plan, Process, Rate, Think, ThinkCount, Tracked};
use model::{Direction, Nanos, PerDirection};

use super::{Effect, K, M, grids, job, stream};

fn rates(plan: &Plan) -> PerDirection<Option<Rate>> {
    match stream(plan).pacing {
        Pacing::PerDirection { rates } => rates,
        _ => PerDirection::default(),
    }
}

fn think(plan: &Plan, how: fn(&Think) -> bool) -> bool {
    stream(plan).think.as_ref().is_some_and(how)
}

fn latency_target(plan: &Plan, how: fn(&model::plan::LatencyTarget) -> bool) -> bool {
    matches!(&job(plan).control[..], [Control::LatencyTarget(rule)] if how(rule))
}

fn steady(plan: &Plan, how: fn(&model::plan::SteadyState) -> bool) -> bool {
    matches!(&job(plan).control[..], [Control::SteadyState(rule)] if how(rule))
}

fn least(plan: &Plan, how: fn(&model::plan::MinimumRate) -> bool) -> bool {
    matches!(&job(plan).control[..], [Control::MinimumRate(rule)] if how(rule))
}

pub const PACE: &[Effect] = &[
    ("thinktime", "--thinktime=500", |plan| {
        think(plan, |think| think.pause_ns == Nanos::micros(500))
    }),
    ("thinktime_spin", "--thinktime=500 --thinktime_spin=100", |plan| {
        think(plan, |think| {
            think.spin_ns == Nanos::micros(100) && think.pause_ns == Nanos::micros(500)
        })
    }),
    ("thinktime_spin", "--thinktime_spin=100", |plan| {
        think(plan, |think| {
            think.spin_ns == Nanos::micros(100) && think.pause_ns == Nanos::micros(100)
        })
    }),
    ("thinktime_blocks", "--thinktime=500 --thinktime_blocks=8", |plan| {
        think(plan, |think| think.operations == 8)
    }),
    (
        "thinktime_blocks",
        "--thinktime=500 --thinktime_iotime=1 --thinktime_blocks=1",
        |plan| think(plan, |think| think.operations == 1),
    ),
    (
        "thinktime_blocks_type",
        "--thinktime=500 --thinktime_blocks_type=issue",
        |plan| think(plan, |think| think.count == ThinkCount::Issued),
    ),
    ("thinktime_iotime", "--thinktime=500 --thinktime_iotime=2", |plan| {
        think(plan, |think| {
            think.after_ns == Some(Nanos::secs(2)) && think.operations == 0
        })
    }),
    ("rate", "--rw=randrw --rate=10m,5m", |plan| {
        let rates = rates(plan);
        (rates.read, rates.write, rates.trim) == (Some(Rate::bytes(10 * M)), Some(Rate::bytes(5 * M)), None)
    }),
    ("rw", "--rw=write --rate=10m,5m", |plan| {
        rates(plan).read.is_none() && rates(plan).write == Some(Rate::bytes(5 * M))
    }),
    ("rate_min", "--rate_min=1m", |plan| {
        least(plan, |rule| {
            (rule.of, rule.direction, rule.least, rule.cycle_ns)
                == (Tracked::Throughput, Some(Direction::Read), M as f64, Nanos::secs(1))
        })
    }),
    ("rw", "--rw=write --rate_min=1m", |plan| {
        least(plan, |rule| rule.direction == Some(Direction::Write))
    }),
    ("rate_process", "--rate_iops=100 --rate_process=poisson", |plan| {
        rates(plan).read.is_some_and(|rate| rate.process == Process::Poisson)
    }),
    ("rate_cycle", "--rate_min=1m --rate_cycle=500", |plan| {
        least(plan, |rule| rule.cycle_ns == Nanos::millis(500))
    }),
    (
        "rate_ignore_thinktime",
        "--rate=1m --thinktime=500 --rate_ignore_thinktime=1",
        |plan| think(plan, |think| think.shifts_schedule),
    ),
    ("rate_iops", "--rw=randrw --rate_iops=700,300", |plan| {
        (rates(plan).read, rates(plan).write) == (Some(Rate::iops(700)), Some(Rate::iops(300)))
    }),
    ("rate_iops", "--bsrange=4k-64k --rate_iops=100", |plan| {
        // Converted with the smallest length.
        rates(plan).read == Some(Rate::bytes(100 * 4 * K))
    }),
    ("rate_iops_min", "--rate_iops_min=100", |plan| {
        least(plan, |rule| (rule.of, rule.least) == (Tracked::Iops, 100.0))
    }),
    ("max_latency", "--max_latency=10ms,20ms", |plan| {
        let most = stream(plan).on_error.latency_ns_max;
        (most.read, most.write) == (Some(Nanos::millis(10)), Some(Nanos::millis(20)))
    }),
    ("latency_target", "--latency_target=20ms --latency_window=5s", |plan| {
        latency_target(plan, |rule| {
            rule.target_ns == Nanos::millis(20) && rule.percentile == 100.0
        })
    }),
    ("latency_window", "--latency_target=20ms --latency_window=5s", |plan| {
        latency_target(plan, |rule| rule.window_ns == Nanos::secs(5))
    }),
    (
        "latency_percentile",
        "--latency_target=20ms --latency_window=5s --latency_percentile=99.5",
        |plan| latency_target(plan, |rule| rule.percentile == 99.5),
    ),
    (
        "latency_run",
        "--latency_target=20ms --latency_window=5s --latency_run=1",
        |plan| latency_target(plan, |rule| rule.keep_running),
    ),
    ("steadystate", "--ss=bw:12 --ss_dur=10", |plan| {
        steady(plan, |rule| {
            (rule.of, rule.slope, rule.limit, rule.percent) == (Tracked::Throughput, false, 12.0, false)
        })
    }),
    ("steadystate", "--steadystate=lat_slope:5% --ss_dur=10", |plan| {
        steady(plan, |rule| {
            (rule.of, rule.slope, rule.limit, rule.percent) == (Tracked::Latency, true, 5.0, true)
        })
    }),
    (
        "steadystate_duration",
        "--ss=iops:5% --steadystate_duration=10",
        |plan| steady(plan, |rule| rule.window_ns == Nanos::secs(10)) && grids(plan) == [500, 1000],
    ),
    (
        "steadystate_ramp_time",
        "--ss=iops:5% --ss_dur=10 --steadystate_ramp_time=3",
        |plan| steady(plan, |rule| rule.ramp_ns == Nanos::secs(3)),
    ),
    (
        "steadystate_check_interval",
        "--ss=iops:5% --ss_dur=10 --steadystate_check_interval=2",
        |plan| steady(plan, |rule| rule.interval_ns == Nanos::secs(2)) && grids(plan) == [500, 2000],
    ),
    ("thinkcycles", "--thinkcycles=1000", |plan| {
        think(plan, |think| think.cycles_each == 1000)
    }),
];
