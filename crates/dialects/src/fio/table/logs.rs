//! Logs of operations and averages.

use super::row::*;
use super::special::{self, set_log_name};
use crate::fio::lower::report;
use crate::fio::options::logs;
use crate::fio::print;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    boolean(tier1(1840), field!(logs.per_job_logs)).default("1").example("0")
        .help("Write separate log files for each clone."),
    special(tier1(1850), "write_bw_log", |reader, text| set_log_name(&mut reader.job.logs.write_bw_log, text))
        .example("run").help("Name of the bandwidth log.")
        .effects(&[("--write_bw_log=a --log_avg_msec=100", "shown.bw_sample_ms.0=100")]),
    special(tier1(1870), "write_lat_log", |reader, text| set_log_name(&mut reader.job.logs.write_lat_log, text))
        .example("run").help("Name of the latency logs.")
        .lowers_with(report::lower_windows)
        .prints(|section| print::job::windows(section, false).map(|_| section.job().name.clone()))
        .effects(&[("--write_lat_log=a --log_avg_msec=100", "job.windows=[{histograms:false,length_ns:100000000}]")]),
    special(tier1(1880), "write_iops_log", |reader, text| set_log_name(&mut reader.job.logs.write_iops_log, text))
        .example("run").help("Name of the IOPS log.")
        .effects(&[("--write_iops_log=a --log_avg_msec=100", "shown.iops_sample_ms.0=100")]),
    special(tier1(1940), "write_hist_log", |reader, text| set_log_name(&mut reader.job.logs.write_hist_log, text))
        .example("run").help("Name of the latency histogram log.")
        .prints(|section| print::job::windows(section, true).map(|_| section.job().name.clone()))
        .effects(&[
            ("--write_hist_log=a --log_hist_msec=200", "job.windows=[{histograms:true,length_ns:200000000}]"),
            // Logs with equal intervals share a window.
            (
                "--write_lat_log=a --log_avg_msec=200 --write_hist_log=a --log_hist_msec=200",
                "job.windows=[{histograms:true,length_ns:200000000}]",
            ),
        ]),
    int(tier1(1860), field!(logs.bwavgtime)).default("500").example("1000")
        .help("Length of a bandwidth sample, in milliseconds.")
        .shows("bw_sample_ms", |options| Some((report::bandwidth_sample(options).0 / 1_000_000).to_string()))
        .effects(&[("--bwavgtime=250", "shown.bw_sample_ms.0=250; plan.grids.*.length_ns=[250000000,500000000]")]),
    int(tier1(1890), field!(logs.iopsavgtime)).default("500").example("1000")
        .help("Length of an IOPS sample, in milliseconds.")
        .shows("iops_sample_ms", |options| Some((report::iops_sample(options).0 / 1_000_000).to_string()))
        .effects(&[
            ("--iopsavgtime=250", "shown.iops_sample_ms.0=250; plan.grids.*.length_ns=[250000000,500000000]"),
        ]),
    int(tier1(1910), field!(logs.log_avg_msec)).default("0").example("500")
        .help("Averaging interval of log entries, in milliseconds; 0 logs every operation.")
        .prints(|section| print::job::window_ms(print::job::windows(section, false)))
        .effects(&[
            (
                "--write_bw_log=a --log_avg_msec=100",
                "shown.bw_sample_ms.0=100; plan.grids.*.length_ns=[100000000,500000000]",
            ),
            ("--write_lat_log=a --log_avg_msec=100", "job.windows=[{histograms:false,length_ns:100000000}]"),
        ]),
    int(tier1(1920), field!(logs.log_hist_msec)).default("0").example("1000")
        .help("Interval between histograms, in milliseconds.")
        .prints(|section| print::job::window_ms(print::job::windows(section, true)))
        .effects(&[
            ("--write_hist_log=a --log_hist_msec=200", "job.windows=[{histograms:true,length_ns:200000000}]"),
        ]),
    int(tier2(1930), field!(logs.log_hist_coarseness)).min(0).max(6).default("0").example("2")
        .help("How many times to halve the histogram's resolution."),
    keyword(tier2(1950), "log_window_value", logs::WindowValue::WORDS).aliases(&["log_max_value"]).default("avg")
        .example("max").help("The value of a log entry."),
    int(tier2(1900), field!(logs.log_entries)).min(1024).max(1048576).default("1024").example("4096")
        .help("Number of entries to reserve memory for.")
        .without_effect("memory for logs grows as needed"),
    boolean(tier1(1960), field!(logs.log_offset)).default("0").example("1").help("Log the offset too."),
    boolean(tier2(1970), field!(logs.log_prio)).default("0").example("1").help("Log the priority too."),
    boolean(tier2(1980), field!(logs.log_issue_time)).default("0").example("1").help("Log the submission time too."),
    int(tier2(1990), field!(logs.log_compression)).min(1024).max(536870912).example("1m")
        .help("Compress logs of more than this size.")
        .without_effect("logs take little memory while a job runs"),
    special(tier2(2000), "log_compression_cpus", |reader, text| {
        special::parse_cpus(reader, field!(logs.log_compression_cpus), text)
    })
        .example("0-1").help("CPUs for log compression.")
        .without_effect("logs take little memory while a job runs"),
    boolean(tier2(2010), field!(logs.log_store_compressed)).default("0").example("1")
        .help("Store logs compressed, in files whose names end in .fz; --inflate-log prints them."),
    boolean(tier2(2020), field!(logs.log_alternate_epoch)).aliases(&["log_unix_epoch"]).default("0").example("1")
        .help("Log wall-clock times."),
    int(tier2(2030), field!(logs.log_alternate_epoch_clock_id)).default("0").example("1")
        .help("Kernel clock id of the logged times."),
};
