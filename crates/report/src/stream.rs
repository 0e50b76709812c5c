//! Prints the events of a run as newline-delimited JSON, for programs that monitor it.

use model::Direction;
use model::JsonSchema;
use model::event::{Event, Interval};
use model::results::Results;
use serde::{Deserialize, Serialize};

use crate::summary::Summary;

/// One line of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Line {
    /// An interval, with its figures.
    Interval(IntervalLine),
    /// The end of the run, with the figures of the whole run.
    Summary {
        /// Always `summary`.
        #[schemars(extend("const" = "summary"))]
        event: String,
        /// Figures of the finished run.
        summary: Box<Summary>,
    },
    /// Any other event, unchanged.
    Event(Event),
}

/// The figures of an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalLine {
    /// Always `interval`.
    #[schemars(extend("const" = "interval"))]
    pub event: String,
    /// Index of the step.
    pub step: u32,
    /// Index of the job in its step.
    pub job: u32,
    /// Name of the job.
    pub name: String,
    /// The phase of the job.
    pub phase: model::event::Phase,
    /// Seconds from the start of the phase to the start of the interval.
    pub start_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    /// Reads per second.
    pub read_iops: f64,
    /// Writes per second.
    pub write_iops: f64,
    /// Trims per second.
    pub trim_iops: f64,
    /// Bytes read per second.
    pub read_bytes_per_sec: f64,
    /// Bytes written per second.
    pub write_bytes_per_sec: f64,
    /// Mean latency over all directions: total latency, or response time if the job is paced.
    pub latency_mean_ns: f64,
    /// Median.
    pub latency_p50_ns: u64,
    /// 99th percentile.
    pub latency_p99_ns: u64,
    /// 99.9th percentile.
    pub latency_p99_9_ns: u64,
    /// Maximum.
    pub latency_max_ns: u64,
}

/// Formats the line of an event, without its newline.
pub fn line(event: &Event) -> String {
    let line = match event {
        Event::Interval(interval) => Line::Interval(summarize_interval(interval)),
        other => Line::Event(other.clone()),
    };
    to_json(&line)
}

/// Formats the last line, with the figures of the whole run, without its newline.
pub fn last_line(results: &Results) -> String {
    to_json(&Line::Summary {
        event: "summary".into(),
        summary: Box::new(Summary::from_results(results)),
    })
}

fn to_json(line: &Line) -> String {
    serde_json::to_string(line).expect("a value with only string keys converts to JSON")
}

/// Computes the rates and latencies of an interval.
fn summarize_interval(interval: &Interval) -> IntervalLine {
    let seconds = interval.length_ns.as_secs().max(1e-9);
    let iops = |direction: Direction| interval.counts[direction].operations as f64 / seconds;
    let bytes = |direction: Direction| interval.counts[direction].bytes.0 as f64 / seconds;
    let latency = interval.total_latency();
    IntervalLine {
        event: "interval".into(),
        step: interval.step,
        job: interval.job,
        name: interval.name.clone(),
        phase: interval.phase,
        start_s: interval.start_ns.as_secs(),
        length_s: interval.length_ns.as_secs(),
        read_iops: iops(Direction::Read),
        write_iops: iops(Direction::Write),
        trim_iops: iops(Direction::Trim),
        read_bytes_per_sec: bytes(Direction::Read),
        write_bytes_per_sec: bytes(Direction::Write),
        latency_mean_ns: latency.mean(),
        latency_p50_ns: latency.quantile(0.5),
        latency_p99_ns: latency.quantile(0.99),
        latency_p99_9_ns: latency.quantile(0.999),
        latency_max_ns: latency.max(),
    }
}
