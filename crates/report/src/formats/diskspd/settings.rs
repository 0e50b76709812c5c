//! Settings of the report, from the plan's origin. The documentation of the parent module lists the
//! names.

use std::str::FromStr;

use model::plan::{Dialect, GridScope, Plan, Presentation};

/// Default length of intervals.
const DEFAULT_BUCKET_MS: u64 = 1000;

/// The supported versions of the text report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// Version 2.2.
    #[default]
    V2_2,
    /// Versions 2.0.17 to 2.0.20.
    V2_0,
}

/// Settings of the whole report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub form: Form,
    /// `-vs`.
    pub wait_statistics: bool,
}

/// Settings of a time span.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpanSettings {
    /// `-L`.
    pub latency: bool,
    /// `-D`.
    pub deviation: Option<BucketGrid>,
    /// `-O`; 0 if each target of a thread has its own operations in flight.
    pub requests: u64,
}

/// The intervals in which operations are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BucketGrid {
    pub length_ms: u64,
    /// Number of intervals in the planned window; the last may be incomplete.
    pub expected: u64,
}

impl Settings {
    pub(super) fn from_plan(plan: &Plan) -> Settings {
        let presentation = &plan.origin.presentation;
        let form = match find_other(presentation, "diskspd_text") {
            Some("2.0") => Form::V2_0,
            _ => Form::V2_2,
        };
        Settings {
            form,
            wait_statistics: parse_setting(presentation, "wait_statistics", None).unwrap_or(false),
        }
    }
}

impl SpanSettings {
    /// Settings of the step with the given index.
    pub(super) fn for_step(plan: &Plan, step: usize) -> SpanSettings {
        let presentation = &plan.origin.presentation;
        let number = Some(step + 1);
        // Other dialects have no switch for latencies, so latencies are always printed.
        let measured = presentation.latency || plan.origin.dialect != Dialect::Diskspd;
        let deviation = parse_setting(presentation, "deviation", number).unwrap_or(presentation.iops_deviation);
        SpanSettings {
            latency: parse_setting(presentation, "latency", number).unwrap_or(measured),
            deviation: deviation.then(|| BucketGrid::for_step(plan, step)),
            requests: parse_setting(presentation, "requests", number).unwrap_or(0),
        }
    }
}

impl BucketGrid {
    fn for_step(plan: &Plan, step: usize) -> BucketGrid {
        let presentation = &plan.origin.presentation;
        let is_per_stream = |grid: &&model::plan::Grid| grid.scope == GridScope::Stream;
        let plan_interval = || {
            plan.grids
                .iter()
                .find(is_per_stream)
                .map(|grid| grid.length_ns.0 / 1_000_000)
        };
        let length_ms = parse_setting(presentation, "bucket_ms", Some(step + 1))
            .or_else(plan_interval)
            .filter(|length| *length > 0)
            .unwrap_or(DEFAULT_BUCKET_MS);
        let planned = || {
            let jobs = &plan.steps.get(step)?.jobs;
            jobs.iter().filter_map(|job| job.stop.after_ns).max()
        };
        let expected_ms = parse_setting(presentation, "expected_ms", Some(step + 1))
            .or_else(|| planned().map(|time| time.0.div_ceil(1_000_000)));
        BucketGrid {
            length_ms,
            // Without a planned time no interval is dropped.
            expected: expected_ms.map_or(u64::MAX, |expected| expected.div_ceil(length_ms)),
        }
    }
}

/// The setting of a time span, or of the whole report. A value that cannot be parsed counts as
/// absent.
fn parse_setting<T: FromStr>(presentation: &Presentation, name: &str, number: Option<usize>) -> Option<T> {
    let of_span = number.and_then(|number| find_other(presentation, &format!("{name}.{number}")));
    of_span.or_else(|| find_other(presentation, name))?.parse().ok()
}

fn find_other<'a>(presentation: &'a Presentation, name: &str) -> Option<&'a str> {
    let entry = presentation.other.iter().find(|(entry_name, _)| entry_name == name);
    entry.map(|(_, value)| value.as_str())
}
