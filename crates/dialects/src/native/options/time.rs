//! Options for the start and end of a job.

use model::Nanos;
use model::plan::{Control, LatencyTarget, Precision, SteadyState, TrackedMetric};

use super::{Group, NativeOption, ROW};
use crate::assign;
use crate::native::values;

const TIME_ROW: NativeOption = NativeOption {
    group: Group::Time,
    ..ROW
};

pub(super) const OPTIONS: &[NativeOption] = &[
    NativeOption {
        name: "time",
        value: "TIME",
        help: "Length of the measured window.",
        detail: "Default: 30s, unless operations, bytes or passes end the job. A bare number is seconds.",
        example: "time = \"60s\"",
        other_tools: "fio runtime with time_based; DiskSpd -d",
        synonyms: &["duration", "timeout", "seconds"],
        set: |job, text| assign(&mut job.time, values::parse_time(text).map(Some)),
        ..TIME_ROW
    },
    NativeOption {
        name: "warm-up",
        value: "TIME",
        help: "I/O before the measured window, not counted.",
        detail: "Default: 2s; none for jobs that end by operations, bytes or passes.",
        example: "warm-up = \"5s\"",
        other_tools: "fio ramp_time; DiskSpd -W",
        synonyms: &["warmup"],
        set: |job, text| assign(&mut job.warm_up, values::parse_time(text).map(Some)),
        ..TIME_ROW
    },
    NativeOption {
        name: "cool-down",
        value: "TIME",
        help: "I/O after the measured window, not counted.",
        detail: "Default: none.",
        example: "cool-down = \"2s\"",
        other_tools: "DiskSpd -C",
        set: |job, text| assign(&mut job.cool_down, values::parse_time(text)),
        ..TIME_ROW
    },
    NativeOption {
        name: "start-delay",
        value: "TIME",
        help: "Pause before the first operation.",
        detail: "Default: none.",
        example: "start-delay = \"1s\"",
        other_tools: "fio startdelay",
        set: |job, text| assign(&mut job.start_delay, values::parse_time(text)),
        ..TIME_ROW
    },
    NativeOption {
        name: "operations",
        value: "N",
        help: "End after this many operations of the job.",
        detail: "Default: no limit.",
        example: "operations = 100000",
        other_tools: "fio number_ios (per job clone)",
        set: |job, text| assign(&mut job.operations, values::parse_count(text, 1, u64::MAX).map(Some)),
        ..TIME_ROW
    },
    NativeOption {
        name: "bytes",
        value: "SIZE",
        help: "End after this many bytes of the job.",
        detail: "Default: no limit.",
        example: "bytes = \"100GiB\"",
        other_tools: "fio io_size (per job clone)",
        set: |job, text| assign(&mut job.bytes, values::parse_block(text).map(Some)),
        ..TIME_ROW
    },
    NativeOption {
        name: "passes",
        value: "N",
        help: "End after this many passes over the target.",
        detail: "For sequential and random-once access. Default: no limit.",
        example: "passes = 2",
        other_tools: "fio loops",
        set: |job, text| assign(&mut job.passes, values::parse_count_u32(text, 1, u32::MAX).map(Some)),
        ..TIME_ROW
    },
    NativeOption {
        name: "until-precision",
        value: "PERCENT",
        help: "End when the IOPS are known to this precision.",
        detail: "Half-width of the 95 % confidence interval, as a percentage of the mean; `time` is then \
        the maximum length. At least ten seconds.",
        example: "until-precision = \"2%\"",
        set: |job, text| {
            let percent = values::parse_percent(text)?;
            if percent <= 0.0 {
                return Err("must be above 0".into());
            }
            let rule = Precision {
                metric: TrackedMetric::Iops,
                percent,
                at_least_ns: Nanos::secs(10),
            };
            job.control.push(Control::Precision(rule));
            Ok(())
        },
        ..TIME_ROW
    },
    NativeOption {
        name: "until-steady",
        value: "PERCENT",
        help: "End when the IOPS no longer rise or fall.",
        detail: "The line fitted to the last 30 seconds must rise or fall by less than this percentage of their \
        mean per second. `time` is the maximum length.",
        example: "until-steady = \"0.3%\"",
        other_tools: "fio steadystate=iops_slope",
        set: |job, text| {
            job.control.push(Control::SteadyState(SteadyState {
                metric: TrackedMetric::Iops,
                slope: true,
                limit: values::parse_percent(text)?,
                percent: true,
                window_ns: Nanos::secs(30),
                interval_ns: Nanos::secs(1),
                ramp_ns: Nanos(0),
            }));
            Ok(())
        },
        ..TIME_ROW
    },
    NativeOption {
        name: "latency-target",
        value: "TIME",
        help: "Find the greatest depth with p99 within this latency.",
        detail: "`depth` is the deepest queue to try, per worker.",
        example: "latency-target = \"1ms\"",
        other_tools: "fio latency_target",
        set: |job, text| {
            job.control.push(Control::LatencyTarget(LatencyTarget {
                target_ns: values::parse_time(text)?,
                window_ns: Nanos::secs(1),
                percentile: 99.0,
                keep_running: false,
            }));
            Ok(())
        },
        ..TIME_ROW
    },
    NativeOption {
        name: "step",
        value: "N",
        help: "Step of the job: jobs with the same step run together.",
        detail: "Default: 1. Steps run one after the other. For job files.",
        example: "step = 2",
        other_tools: "fio stonewall; DiskSpd time spans",
        set: |job, text| assign(&mut job.step, values::parse_count_u32(text, 1, 10_000)),
        ..TIME_ROW
    },
    NativeOption {
        name: "after",
        value: "JOB",
        help: "Start when this job of the same step has ended.",
        detail: "Default: immediately. For job files.",
        example: "after = \"fill\"",
        other_tools: "fio wait_for",
        set: |job, text| {
            job.after = Some(text.to_owned());
            Ok(())
        },
        ..TIME_ROW
    },
];
