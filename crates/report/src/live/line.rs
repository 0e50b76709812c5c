//! The progress line of a run, from its events. The caller decides whether a line replaces the
//! previous one.

use std::collections::BTreeMap;

use model::event::{EndReason, Event, Interval, Phase};
use model::{Bytes, Direction, Nanos};

use crate::numbers::{duration, rate, throughput, whole_seconds};

/// The state of the line.
#[derive(Debug, Default)]
pub struct Live {
    /// The last interval of each running job.
    jobs: BTreeMap<(u32, u32), JobLine>,
    /// Steps in the plan.
    steps: u32,
}

#[derive(Debug)]
struct JobLine {
    name: String,
    phase: Phase,
    figures: String,
    left: Option<Nanos>,
}

/// The output after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Nothing new.
    Nothing,
    /// The current state, which replaces the previous one. Without a terminal it is printed only
    /// from time to time.
    State(String),
    /// A line of its own.
    Line(String),
}

impl Live {
    /// The line of a plan with this number of steps, before its first event.
    pub fn new(steps: u32) -> Live {
        Live {
            jobs: BTreeMap::new(),
            steps,
        }
    }

    /// Applies an event and returns what to print.
    pub fn apply(&mut self, event: &Event) -> Update {
        match event {
            Event::Preparing {
                target,
                done,
                total,
                left_ns,
            } => Update::State(format_preparing(target, *done, *total, *left_ns)),
            Event::Prepared { target, how, took_ns } => {
                Update::Line(format!("{target}: {how} in {}", duration(*took_ns)))
            }
            Event::Phase {
                step,
                job,
                name,
                phase,
                length_ns,
            } => {
                let line = JobLine {
                    name: name.clone(),
                    phase: *phase,
                    figures: String::new(),
                    left: *length_ns,
                };
                self.jobs.insert((*step, *job), line);
                self.state()
            }
            Event::Interval(interval) => {
                let line = JobLine {
                    name: interval.name.clone(),
                    phase: interval.phase,
                    figures: format_figures(interval),
                    left: interval.left_ns,
                };
                self.jobs.insert((interval.step, interval.job), line);
                self.state()
            }
            Event::Ready { .. } => Update::Nothing,
            Event::Snapshot { .. } | Event::Rank(_) => Update::Nothing,
            Event::Notice { finding } => Update::Line(format!("{}: {}", finding.severity.word(), finding.what)),
            Event::JobEnded { step, job, reason } => {
                let name = self
                    .jobs
                    .remove(&(*step, *job))
                    .map(|line| line.name)
                    .unwrap_or_default();
                match reason {
                    EndReason::Failed => Update::Line(format!("{name}: failed")),
                    EndReason::Control { rule } => Update::Line(format!("{name}: ended by a rule: {rule}")),
                    _ => self.state(),
                }
            }
        }
    }

    fn state(&self) -> Update {
        let words: Vec<String> = self
            .jobs
            .iter()
            .map(|((step, _), line)| self.format_job(*step, line))
            .collect();
        if words.is_empty() {
            return Update::Nothing;
        }
        Update::State(words.join(" | "))
    }

    fn format_job(&self, step: u32, line: &JobLine) -> String {
        let mut words = String::new();
        if self.steps > 1 {
            words += &format!("[{}/{}] ", step + 1, self.steps);
        }
        words += &format!("{}: {}", line.name, line.phase.label());
        // The least important part comes last, because a narrow terminal truncates the line.
        if let Some(time_left) = line.left.filter(|left| left.0 > 0) {
            words += &format!(", {} left", duration(whole_seconds(time_left)));
        }
        if !line.figures.is_empty() {
            words += &format!("; {}", line.figures);
        }
        words
    }
}

fn format_preparing(target: &str, done: Bytes, total: Bytes, remaining: Nanos) -> String {
    let percent = 100.0 * done.0 as f64 / (total.0 as f64).max(1.0);
    let time_left = if remaining.0 > 0 && done < total {
        format!(", {} left", duration(whole_seconds(remaining)))
    } else {
        String::new()
    };
    format!("preparing {target}: {percent:.0} % of {total}{time_left}")
}

/// Rates and the 99th percentile of an interval.
fn format_figures(interval: &Interval) -> String {
    let seconds = interval.length_ns.as_secs().max(1e-9);
    let mut sum = (0, 0);
    let mut parts = Vec::new();
    for direction in Direction::ALL {
        let counts = interval.counts[direction];
        if counts.operations > 0 {
            let letter = &direction.word()[..1];
            parts.push(format!("{letter} {}", rate(counts.operations as f64 / seconds)));
            sum = (sum.0 + counts.operations, sum.1 + counts.bytes.0);
        }
    }
    let by_direction = if parts.len() > 1 {
        format!(" ({})", parts.join(", "))
    } else {
        String::new()
    };
    let total_latency = interval.total_latency();
    let latency = match total_latency.n() {
        0 => String::new(),
        _ => format!(", p99 {}", Nanos(total_latency.quantile(0.99))),
    };
    let mib = throughput(sum.1 as f64 / seconds / f64::from(1 << 20));
    format!(
        "{} IOPS, {mib} MiB/s{latency}{by_direction}",
        rate(sum.0 as f64 / seconds)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::PerDirection;
    use model::event::Counts;
    use model::histogram::Histogram;
    use testbed::With;

    fn interval(reads: u64, writes: u64) -> Event {
        let counts = |operations: u64| Counts {
            operations,
            bytes: Bytes(operations * 4096),
        };
        let mut latency = Histogram::new();
        latency.record_times(250_000, reads + writes);
        Event::Interval(Box::new(Interval {
            step: 0,
            job: 0,
            name: "oltp".into(),
            phase: Phase::Measured,
            epoch: 0,
            start_ns: Nanos(0),
            length_ns: Nanos::secs(1),
            counts: PerDirection::new(counts(reads), counts(writes), Counts::default()),
            latency: PerDirection::default().with(|per_direction| per_direction.read = Some(latency)),
            in_flight_ns: Nanos(0),
            depth: 1,
            targets: Vec::new(),
            file_operations: Vec::new(),
            left_ns: Some(Nanos::millis(8_500)),
        }))
    }

    #[test]
    fn an_interval_shows_rates_and_time_left() {
        let text = "oltp: measuring, 9 s left; 10,000 IOPS, 39.1 MiB/s, p99 250 us (r 7,000, w 3,000)";
        assert_eq!(Live::new(1).apply(&interval(7_000, 3_000)), Update::State(text.into()));
        let text = "[1/3] oltp: measuring, 9 s left; 512 IOPS, 2.00 MiB/s, p99 250 us";
        assert_eq!(Live::new(3).apply(&interval(512, 0)), Update::State(text.into()));
    }

    #[test]
    fn preparation_shows_its_progress() {
        let event = Event::Preparing {
            target: "/mnt/a".into(),
            done: Bytes::mib(256),
            total: Bytes::gib(1),
            left_ns: Nanos::millis(2_500),
        };
        let text = "preparing /mnt/a: 25 % of 1 GiB, 3 s left";
        assert_eq!(Live::new(1).apply(&event), Update::State(text.into()));
    }
}
