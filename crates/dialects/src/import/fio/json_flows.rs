//! Reads directions, latencies and devices from fio's JSON.

use model::observation::{CompletionLatency, DeviceView, IoStats, Latency};
use model::{Bytes, Nanos, PerDirection};
use serde_json::Value;

use super::clone_deviation;
use crate::import::flow_sum;
use crate::import::numbers::{parse_decimal, percent_to_share};

fn get_number(value: &Value, key: &str) -> Option<f64> {
    value
        .get(key)?
        .as_f64()
        .filter(|number| number.is_finite() && *number >= 0.0)
}

fn get_integer(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

/// A direction of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DirectionResult {
    pub flow: IoStats,
    pub runtime: Option<Nanos>,
    /// The percentiles are of the completion latency, although the mean is of the total latency.
    pub completion_percentiles: bool,
}

pub(super) fn parse_milliseconds(value: &Value, key: &str) -> Option<Nanos> {
    Some(Nanos(get_integer(value, key)?.saturating_mul(1_000_000)))
}

/// `job_time` is the sum of the times of all clones that the entry covers.
pub(super) fn parse_direction(value: &Value, job_time: Nanos) -> Option<DirectionResult> {
    let operations = get_integer(value, "total_ios").filter(|operations| *operations > 0)?;
    let (total, completion) = (value.get("lat_ns"), value.get("clat_ns"));
    let measured = |latency: &&Value| get_integer(latency, "N").is_some_and(|samples| samples > 0);
    let measured_total = total.filter(measured);
    let measured_completion = completion.filter(measured);
    let main = measured_total.or(measured_completion);
    let own_quantiles = main.map(read_quantiles).filter(|quantiles| !quantiles.is_empty());
    let borrowed = own_quantiles.is_none() && measured_total.is_some();
    let quantiles = own_quantiles.unwrap_or_else(|| measured_completion.map(read_quantiles).unwrap_or_default());
    let read_completion = |latency: &Value| {
        Some(CompletionLatency {
            mean_ns: get_number(latency, "mean")?,
            min_ns: get_number(latency, "min")?,
            max_ns: get_number(latency, "max")?,
            submission_max_ns: value
                .get("slat_ns")
                .and_then(|submission| get_number(submission, "max")),
        })
    };
    let of_quantiles = measured_completion.filter(|_| borrowed && !quantiles.is_empty());
    let runtime = parse_milliseconds(value, "runtime").filter(|time| time.0 > 0);
    Some(DirectionResult {
        completion_percentiles: (borrowed || measured_total.is_none()) && !quantiles.is_empty(),
        runtime,
        flow: IoStats {
            operations: Some(operations),
            bytes: get_integer(value, "io_bytes").map(Bytes),
            iops: get_number(value, "iops"),
            bytes_per_sec: get_number(value, "bw_bytes").or_else(|| get_number(value, "bw").map(|kib| kib * 1024.0)),
            iops_deviation: get_number(value, "iops_stddev")
                .zip(get_integer(value, "iops_samples"))
                .and_then(|samples| clone_deviation(samples, runtime.unwrap_or_default().max(job_time), 1)),
            latency: main.map(|main| Latency {
                samples: get_integer(main, "N"),
                mean_ns: get_number(main, "mean"),
                deviation_ns: get_number(main, "stddev"),
                min_ns: get_number(main, "min"),
                max_ns: get_number(main, "max"),
                quantiles,
                completion: of_quantiles.and_then(read_completion),
                ..Latency::default()
            }),
            ..IoStats::default()
        },
    })
}

fn read_quantiles(latency: &Value) -> Vec<(f64, f64)> {
    let listed = latency.get("percentile").and_then(Value::as_object);
    let listed = listed.into_iter().flatten();
    let mut rows: Vec<(f64, f64)> = listed
        .filter_map(|(percent, value)| {
            let share = percent_to_share(parse_decimal(percent)?);
            (share > 0.0 && share < 1.0).then_some((share, value.as_f64()?))
        })
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows
}

/// All directions of a report entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EntryFlows {
    pub directions: PerDirection<Option<IoStats>>,
    pub total: IoStats,
    pub measured: Option<Nanos>,
    pub completion_percentiles: bool,
}

/// Reads the directions of a job; `None` if none did anything.
pub(super) fn read_directions(job: &Value) -> Option<EntryFlows> {
    let job_time = parse_milliseconds(job, "job_runtime").unwrap_or_default();
    let direction_by_name = |name: &str| parse_direction(job.get(name)?, job_time);
    // With unified reporting, one flow covers all directions.
    let mixed = direction_by_name("mixed");
    let by_direction = PerDirection::new(
        direction_by_name("read"),
        direction_by_name("write"),
        direction_by_name("trim"),
    );
    let results: Vec<&DirectionResult> = by_direction.iter().filter_map(|(_, result)| result.as_ref()).collect();
    let flows: Vec<&IoStats> = results.iter().map(|result| &result.flow).collect();
    let total = match &mixed {
        Some(mixed) => mixed.flow.clone(),
        None => flow_sum::sum(&flows)?,
    };
    let all_flows = results.iter().copied().chain(&mixed);
    Some(EntryFlows {
        measured: flow_sum::longest_time(all_flows.clone().map(|result| result.runtime)),
        completion_percentiles: all_flows.into_iter().any(|result| result.completion_percentiles),
        directions: by_direction.map(|result| result.as_ref().map(|result| result.flow.clone())),
        total,
    })
}

/// Operations of all directions that transferred less than requested; `None` if the report does not
/// count them.
pub(super) fn sum_short_operations(job: &Value) -> Option<u64> {
    let directions = ["read", "write", "trim", "mixed"];
    let counts = directions
        .iter()
        .filter_map(|name| get_integer(job.get(name)?, "short_ios"));
    counts.reduce(u64::saturating_add)
}

/// The device of the report, over the measured time; `None` if there are several.
pub(super) fn read_device(document: &Value, measured: Nanos) -> Option<DeviceView> {
    let [device] = document.get("disk_util")?.as_array()?.as_slice() else {
        return None;
    };
    let seconds = measured.as_secs();
    let sum = |first_key: &str, second_key: &str| {
        Some((get_integer(device, first_key)? + get_integer(device, second_key)?) as f64)
    };
    (seconds > 0.0).then_some(())?;
    Some(DeviceView {
        in_flight: get_number(device, "in_queue")? / (seconds * 1000.0),
        iops: sum("read_ios", "write_ios")? / seconds,
        bytes_per_sec: sum("read_sectors", "write_sectors")? * 512.0 / seconds,
        busy: get_number(device, "util")? / 100.0,
    })
}
