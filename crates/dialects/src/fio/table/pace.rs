//! Rates, pauses, latency limits.

use model::Nanos;
use model::plan::{RateUnit, ThinkCount, TrackedMetric};

use super::row::*;
use super::special;
use crate::fio::lower::{pace as lower, system};
use crate::fio::options::pace;
use crate::fio::print;
use crate::fio::values::Unit;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    time(tier1(1400), field!(pace.thinktime), Unit::Microseconds).default("0").example("500")
        .help("Pause after operations (bare: microseconds).").lowers_with(lower::lower_pauses)
        .prints(|section| Some(print::format_micros(section.stream().think?.pause_ns)))
        .effects(&[("--thinktime=500", "stream.think.pause_ns=500000")]),
    time(tier2(1410), field!(pace.thinktime_spin), Unit::Microseconds).default("0").example("100")
        .help("Part of the pause to spend in a busy loop (bare: microseconds).")
        .prints(|section| print::time(section.stream().think?.spin_ns))
        .effects(&[
            ("--thinktime=500 --thinktime_spin=100", "stream.think.spin_ns=100000; stream.think.pause_ns=500000"),
            ("--thinktime_spin=100", "stream.think.spin_ns=100000; stream.think.pause_ns=100000"),
        ]),
    int(tier1(1420), field!(pace.thinktime_blocks)).default("1").example("8").help("Operations between two pauses.")
        .prints(print::stream::thinktime_blocks)
        .effects(&[
            ("--thinktime=500 --thinktime_blocks=8", "stream.think.operations=8"),
            ("--thinktime=500 --thinktime_iotime=1 --thinktime_blocks=1", "stream.think.operations=1"),
        ]),
    keyword(tier2(1430), "thinktime_blocks_type", pace::ThinkBlocks::WORDS).default("complete").example("issue")
        .help("Which operations thinktime_blocks counts.")
        .prints(|section| (section.stream().think?.count == ThinkCount::Issued).then(|| "issue".into()))
        .effects(&[("--thinktime=500 --thinktime_blocks_type=issue", "stream.think.count=issued")]),
    time(tier2(1440), field!(pace.thinktime_iotime), Unit::Seconds).default("0").example("1")
        .help("Time between two pauses (default unit: seconds).")
        .prints(|section| section.stream().think?.after_ns.map(print::format_micros))
        .effects(&[
            ("--thinktime=500 --thinktime_iotime=2", "stream.think.after_ns=2000000000; stream.think.operations=0"),
        ]),
    int(tier2(1450), field!(pace.thinkcycles)).default("0").example("1000")
        .help("CPU cycles to burn after each operation.")
        .prints(|section| print::positive(section.stream().think?.cycles_each))
        .effects(&[("--thinkcycles=1000", "stream.think.cycles_each=1000")]),
    per_direction(tier1(1460), field!(pace.rate), Unit::Bytes).example("10m,5m")
        .help("Bytes per second, per clone and direction.").lowers_with(lower::lower_pacing)
        .prints(|section| print::stream::rate_in(section, RateUnit::Bytes, crate::notation::format_size))
        .effects(&[
            (
                "--rw=randrw --rate=10m,5m",
                "stream.pacing.rates.read={amount:10485760,catch_up:unlimited,per_ns:1000000000,phase_ns:0,\
                 process:linear,unit:bytes}; \
                 stream.pacing.rates.write={amount:5242880,catch_up:unlimited,per_ns:1000000000,phase_ns:0,\
                 process:linear,unit:bytes}; stream.pacing.rates.trim=null",
            ),
        ]),
    per_direction(tier1(1470), field!(pace.rate_min), Unit::Bytes).aliases(&["ratemin"]).example("1m")
        .help("Minimum bytes per second; below this, the job fails.")
        .prints(|section| print::job::minimum_rates(section, TrackedMetric::Throughput))
        .effects(&[
            (
                "--rate_min=1m",
                "job.control=[{control:minimum_rate,cycle_ns:1000000000,direction:read,least:1048576.0,\
                 of:throughput}]",
            ),
        ]),
    keyword(tier1(1480), "rate_process", pace::RateProcess::WORDS).default("linear").example("poisson")
        .help("Distribution of the gaps between operations.").prints(print::stream::rate_process)
        .effects(&[("--rate_iops=100 --rate_process=poisson", "stream.pacing.rates.read.process=poisson")]),
    int(tier2(1490), field!(pace.rate_cycle)).aliases(&["ratecycle"]).default("1000").example("500")
        .help("Interval for checking minimum rates, in milliseconds.").prints(print::job::rate_cycle)
        .effects(&[("--rate_min=1m --rate_cycle=500", "job.control.*.cycle_ns=[500000000]")]),
    boolean(tier2(1500), field!(pace.rate_ignore_thinktime)).default("0").example("1")
        .help("Do not catch up after pauses.")
        .prints(|section| print::on(section.stream().think?.shifts_schedule))
        .effects(&[("--rate=1m --thinktime=500 --rate_ignore_thinktime=1", "stream.think.shifts_schedule=true")]),
    per_direction(tier1(1510), field!(pace.rate_iops), Unit::Bytes).example("700,300")
        .help("Operations per second, per clone and direction.")
        .prints(|section| print::stream::rate_in(section, RateUnit::Operations, |rate| rate.to_string()))
        .effects(&[
            (
                "--rw=randrw --rate_iops=700,300",
                "stream.pacing.rates.read={amount:700,catch_up:unlimited,per_ns:1000000000,phase_ns:0,process:linear,\
                 unit:operations}; \
                 stream.pacing.rates.write={amount:300,catch_up:unlimited,per_ns:1000000000,phase_ns:0,\
                 process:linear,unit:operations}",
            ),
            // Converted to bytes with the smallest block size.
            (
                "--bsrange=4k-64k --rate_iops=100",
                "stream.pacing.rates.read={amount:409600,catch_up:unlimited,per_ns:1000000000,phase_ns:0,\
                 process:linear,unit:bytes}",
            ),
        ]),
    per_direction(tier1(1520), field!(pace.rate_iops_min), Unit::Bytes).example("100")
        .help("Minimum operations per second; below this, the job fails.")
        .prints(|section| print::job::minimum_rates(section, TrackedMetric::Iops))
        .effects(&[("--rate_iops_min=100", "job.control.*.of=[iops]; job.control.*.least=[100.0]")]),
    per_direction(tier1(1530), field!(pace.max_latency), Unit::Microseconds).example("10ms")
        .help("Maximum latency; above this, the job fails (bare: microseconds).").lowers_with(system::lower_latency_max)
        .prints(print::job::max_latency)
        .effects(&[
            (
                "--max_latency=10ms,20ms",
                "stream.on_error.latency_ns_max.read=10000000; stream.on_error.latency_ns_max.write=20000000",
            ),
        ]),
    time(tier1(1540), field!(pace.latency_target), Unit::Microseconds).default("0").example("20ms")
        .help("Latency target of the depth search (bare: microseconds).").lowers_with(lower::lower_control)
        .prints(|section| Some(print::format_micros(print::job::latency_target(section)?.target_ns)))
        .effects(&[
            (
                "--latency_target=20ms --latency_window=5s",
                "job.control.*.target_ns=[20000000]; job.control.*.percentile=[100.0]",
            ),
        ]),
    time(tier1(1550), field!(pace.latency_window), Unit::Microseconds).default("0").example("500ms")
        .help("Interval for checking the latency target (bare: microseconds).")
        .prints(|section| Some(print::format_micros(print::job::latency_target(section)?.window_ns)))
        .effects(&[("--latency_target=20ms --latency_window=5s", "job.control.*.window_ns=[5000000000]")]),
    real(tier1(1560), field!(pace.latency_percentile)).max(100).default("100").example("95")
        .help("Share of operations that must meet the latency target, in percent.")
        .prints(|section| print::non_default(print::job::latency_target(section)?.percentile, 100.0))
        .effects(&[
            (
                "--latency_target=20ms --latency_window=5s --latency_percentile=99.5",
                "job.control.*.percentile=[99.5]",
            ),
        ]),
    boolean(tier1(1570), field!(pace.latency_run)).default("0").example("1")
        .help("Keep adjusting the depth until the runtime is over.")
        .prints(|section| print::on(print::job::latency_target(section)?.keep_running))
        .effects(&[
            ("--latency_target=20ms --latency_window=5s --latency_run=1", "job.control.*.keep_running=[true]"),
        ]),
    keyword(tier1(2480), "steadystate", pace::Criterion::WORDS).tail(special::parse_steady_state).aliases(&["ss"])
        .default("iops_slope:0.01%").example("iops:5%")
        .help("End when this measure changes by less than the limit.").prints(print::job::steadystate)
        .effects(&[
            (
                "--ss=bw:12 --ss_dur=10",
                "job.control.*.of=[throughput]; job.control.*.slope=[false]; job.control.*.limit=[12.0]; \
                 job.control.*.percent=[false]",
            ),
            (
                "--steadystate=lat_slope:5% --ss_dur=10",
                "job.control.*.of=[latency]; job.control.*.slope=[true]; job.control.*.limit=[5.0]; \
                 job.control.*.percent=[true]",
            ),
        ]),
    time(tier1(2490), field!(pace.steadystate_duration), Unit::Seconds).aliases(&["ss_dur"]).min(0)
        .default("0").example("10").help("Window of the steady-state check (default unit: seconds).")
        .prints(|section| Some(print::format_micros(print::job::steady_state(section)?.window_ns)))
        .effects(&[
            (
                "--ss=iops:5% --steadystate_duration=10",
                "job.control.*.window_ns=[10000000000]; plan.grids.*.length_ns=[500000000,1000000000]",
            ),
        ]),
    time(tier1(2500), field!(pace.steadystate_ramp_time), Unit::Seconds).aliases(&["ss_ramp"]).default("0")
        .example("5").help("Delay of the steady-state check (default unit: seconds).")
        .prints(|section| print::time(print::job::steady_state(section)?.ramp_ns))
        .effects(&[("--ss=iops:5% --ss_dur=10 --steadystate_ramp_time=3", "job.control.*.ramp_ns=[3000000000]")]),
    time(tier1(2510), field!(pace.steadystate_check_interval), Unit::Seconds).aliases(&["ss_interval"]).default("1")
        .example("2").help("Sampling interval of the steady-state check (default unit: seconds).")
        .prints(|section| {
            let rule = print::job::steady_state(section).filter(|rule| rule.interval_ns != Nanos::secs(1));
            rule.map(|rule| print::format_micros(rule.interval_ns))
        })
        .effects(&[
            (
                "--ss=iops:5% --ss_dur=10 --steadystate_check_interval=2",
                "job.control.*.interval_ns=[2000000000]; plan.grids.*.length_ns=[500000000,2000000000]",
            ),
        ]),
};
