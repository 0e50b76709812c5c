//! Settings of the report, from the plan's origin. The documentation of the parent module lists the
//! names.

use std::str::FromStr;

use model::Nanos;
use model::plan::{Dialect, Plan, Presentation};

/// Default percentiles.
const DEFAULT_PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99,
];
/// Upper limit of printed percentiles.
pub(super) const MAX_PERCENTILES: usize = 20;
/// The version of the output.
const VERSION: &str = "fio-3.42";
/// Length of the windows of bandwidth and IOPS samples (`bwavgtime`, `iopsavgtime`).
const DEFAULT_SAMPLE: Nanos = Nanos(500_000_000);

/// Settings of the whole report.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub version: String,
    pub pid: u32,
    pub utc_offset_s: i32,
    pub disk_use: bool,
    pub terse_version: u32,
    /// Print the idleness of each CPU (`--idle-prof=percpu`), not only of all together.
    pub per_cpu_idleness: bool,
}

/// Settings of a job.
#[derive(Clone, Debug)]
pub(super) struct JobSettings {
    pub units: Units,
    pub percentiles: Vec<f64>,
    /// Decimals of the percentages.
    pub percentile_decimals: usize,
    /// Which latencies get percentiles.
    pub percentiles_of: Latencies<bool>,
    /// Which latencies are printed.
    pub enabled: Latencies<bool>,
    pub unified: Unified,
    /// Queue depth to print, if it differs from the effective one.
    pub depth: Option<u32>,
    /// Whether the members of a group form one entry; `None` for the group's setting.
    pub merged: Option<bool>,
    /// The job is in the report.
    pub reported: bool,
    pub bandwidth_sample: Nanos,
    pub iops_sample: Nanos,
    /// How far the clock of start times is ahead of Unix time, in nanoseconds.
    pub start_ahead_ns: i64,
}

/// Prefixes, units and precision of amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units {
    /// `kb_base`: 1024 or 1000.
    pub kilo: u32,
    /// `unit_base=1`.
    pub bits: bool,
    pub figures: usize,
}

/// A value for each of fio's latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Latencies<T> {
    pub slat: T,
    pub clat: T,
    pub lat: T,
}

/// `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Unified {
    /// Each direction separately.
    #[default]
    No,
    /// All directions in one.
    Mixed,
    /// Each direction, and all together.
    Both,
}

impl Settings {
    pub(super) fn from_plan(plan: &Plan) -> Settings {
        let presentation = &plan.origin.presentation;
        Settings {
            version: parse_option(presentation, "fio_version", None).unwrap_or_else(|| VERSION.to_owned()),
            pid: parse_option(presentation, "pid", None).unwrap_or(0),
            utc_offset_s: parse_option(presentation, "utc_offset_s", None).unwrap_or(0),
            disk_use: parse_option(presentation, "disk_util", None).unwrap_or(true),
            terse_version: parse_option(presentation, "terse_version", None).unwrap_or(3),
            per_cpu_idleness: parse_option::<String>(presentation, "idle_prof", None).as_deref() == Some("percpu"),
        }
    }
}

impl JobSettings {
    /// Settings of the job with this index over all steps.
    pub(super) fn for_job(plan: &Plan, number: usize) -> JobSettings {
        let presentation = &plan.origin.presentation;
        let requested =
            list(presentation, "percentile_list", number).unwrap_or_else(|| presentation.percentiles.clone());
        let (mut percentiles, percentile_decimals) = match requested.is_empty() {
            true => (DEFAULT_PERCENTILES.to_vec(), 2),
            false => {
                let decimals = requested.iter().map(|percent| percentile_decimals(*percent)).max();
                (requested, decimals.unwrap_or(0))
            }
        };
        percentiles.truncate(MAX_PERCENTILES);
        percentiles.sort_by(f64::total_cmp);
        let named = |name: &str, general: &[String]| list_names(presentation, name, number, general);
        let percentiles_of = named("percentiles_of", &presentation.percentiles_of);
        let disabled = named("disabled", &presentation.disabled);
        let enabled = |name: &str| !disabled.iter().any(|word| word == name);
        let has_percentiles = |name: &str| enabled(name) && percentiles_of.iter().any(|word| word == name);
        let sample = |name| parse_option(presentation, name, Some(number)).map_or(DEFAULT_SAMPLE, Nanos::millis);
        JobSettings {
            units: Units::from_presentation(presentation, number),
            percentiles,
            percentile_decimals,
            percentiles_of: Latencies {
                slat: has_percentiles("slat"),
                clat: has_percentiles("clat") || (percentiles_of.is_empty() && enabled("clat")),
                lat: has_percentiles("lat"),
            },
            enabled: Latencies {
                slat: enabled("slat"),
                clat: enabled("clat"),
                lat: enabled("lat"),
            },
            unified: parse_unified(presentation, number),
            depth: parse_option(presentation, "iodepth", Some(number)),
            merged: parse_option(presentation, "group_reporting", Some(number)),
            reported: parse_option(presentation, "stats", Some(number)).unwrap_or(true),
            bandwidth_sample: sample("bw_sample_ms"),
            iops_sample: sample("iops_sample_ms"),
            start_ahead_ns: parse_option(presentation, "job_start_ahead_ns", Some(number)).unwrap_or(0),
        }
    }
}

impl Units {
    fn from_presentation(presentation: &Presentation, number: usize) -> Units {
        let kilo = parse_option(presentation, "kb_base", Some(number)).or(presentation.kilo);
        let bits = parse_option(presentation, "unit_base", Some(number)).map(|base: u32| base == 1);
        let figures = parse_option(presentation, "significant_figures", Some(number));
        let figures = figures.or(presentation.significant_figures.map(usize::from));
        Units {
            kilo: kilo.unwrap_or(1024),
            bits: bits.unwrap_or(presentation.bits),
            figures: figures.unwrap_or(4),
        }
    }
}

/// True if the plan was a fio job. Reports on other plans omit settings that only fio has, and
/// figures that were not counted.
pub(super) fn is_fio_plan(plan: &Plan) -> bool {
    plan.origin.dialect == Dialect::Fio
}

/// True if the report announces the workers of a job as threads instead of processes. They always
/// run as threads.
pub(super) fn is_thread(plan: &Plan, number: usize) -> bool {
    parse_option(&plan.origin.presentation, "thread", Some(number)).unwrap_or(!is_fio_plan(plan))
}

fn parse_unified(presentation: &Presentation, number: usize) -> Unified {
    let of_job: Option<String> = parse_option(presentation, "unified", Some(number));
    match of_job.as_deref().or(presentation.unified.as_deref()) {
        Some("mixed") => Unified::Mixed,
        Some("both") => Unified::Both,
        _ => Unified::No,
    }
}

/// Decimals of a percentage as it was written.
fn percentile_decimals(percent: f64) -> usize {
    percent
        .to_string()
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len())
}

fn list(presentation: &Presentation, name: &str, number: usize) -> Option<Vec<f64>> {
    let text: String = parse_option(presentation, name, Some(number))?;
    text.split(':').map(|part| part.trim().parse().ok()).collect()
}

fn list_names(presentation: &Presentation, name: &str, number: usize, general: &[String]) -> Vec<String> {
    let text: Option<String> = parse_option(presentation, name, Some(number));
    text.map_or_else(|| general.to_vec(), |text| text.split(',').map(str::to_owned).collect())
}

/// The setting of a job, or of the whole report. A value that cannot be parsed counts as absent.
fn parse_option<T: FromStr>(presentation: &Presentation, name: &str, number: Option<usize>) -> Option<T> {
    let of_job = number.and_then(|number| find_other(presentation, &format!("{name}.{number}")));
    of_job.or_else(|| find_other(presentation, name))?.parse().ok()
}

fn find_other<'a>(presentation: &'a Presentation, name: &str) -> Option<&'a str> {
    let entry = presentation.other.iter().find(|(entry_name, _)| entry_name == name);
    entry.map(|(_, value)| value.as_str())
}
