//! A run in progress as OpenMetrics 1.0 text, from its events: the families of `--out openmetrics`
//! that are already known, and figures of the last interval.

use std::collections::BTreeMap;
use std::io::{self, Write};

use model::PerDirection;
use model::event::{Counts, Event, Interval, Phase};

use crate::formats::openmetrics::{Family, RUN, escape_label};

/// Quantiles of the last interval.
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

/// The figures of a run so far.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    test: String,
    version: String,
    jobs: BTreeMap<(u32, u32), Job>,
}

#[derive(Clone, Debug, Default)]
struct Job {
    name: String,
    phase: Phase,
    ended: bool,
    measured: PerDirection<Counts>,
    last: Option<Box<Interval>>,
}

impl Metrics {
    /// Creates the metrics of a test before its first event. `version` is the program's.
    pub fn new(test: &str, version: &str) -> Metrics {
        Metrics {
            test: test.into(),
            version: version.into(),
            jobs: BTreeMap::new(),
        }
    }

    /// Applies an event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Phase {
                step, job, name, phase, ..
            } => {
                let job = self.jobs.entry((*step, *job)).or_default();
                // The run is repeated, so its counters restart from zero.
                if std::mem::take(&mut job.ended) {
                    *job = Job::default();
                }
                job.name.clone_from(name);
                job.phase = *phase;
            }
            Event::Interval(interval) => {
                let job = self.jobs.entry((interval.step, interval.job)).or_default();
                job.name.clone_from(&interval.name);
                if interval.phase == Phase::Measured {
                    for (direction, counts) in interval.counts.iter() {
                        job.measured[direction].add(*counts);
                    }
                }
                job.last = Some(interval.clone());
            }
            Event::JobEnded { step, job, .. } => {
                if let Some(job) = self.jobs.get_mut(&(*step, *job)) {
                    job.ended = true;
                }
            }
            Event::Preparing { .. }
            | Event::Prepared { .. }
            | Event::Ready { .. }
            | Event::Snapshot { .. }
            | Event::Rank(_)
            | Event::Notice { .. } => {}
        }
    }

    /// Formats the whole text.
    pub fn text(&self) -> String {
        let mut out = Vec::new();
        self.write(&mut out).expect("writing to memory does not fail");
        String::from_utf8(out).expect("it was written as text")
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let labels = format!(
            "test=\"{}\",version=\"{}\"",
            escape_label(&self.test),
            escape_label(&self.version)
        );
        RUN.write(out, [(labels, 1)])?;
        let help = "Operations completed in the measured window so far.";
        let operations = Family::counter("fathom_operations", "operations", help);
        operations.write(out, self.measured(|counts| counts.operations))?;
        let help = "Bytes transferred in the measured window so far.";
        let bytes = Family::counter("fathom_transferred_bytes", "bytes", help);
        bytes.write(out, self.measured(|counts| counts.bytes.0))?;
        let help = "Operations per second in the last interval.";
        let rate = Family::gauge("fathom_interval_operations_per_second", "", help);
        rate.write(out, self.last_interval(|counts| counts.operations))?;
        let help = "Bytes per second in the last interval.";
        let throughput = Family::gauge("fathom_interval_throughput_bytes_per_second", "", help);
        throughput.write(out, self.last_interval(|counts| counts.bytes.0))?;
        self.write_latencies(out)?;
        let help = "Always 1; the label is the current phase of the job.";
        let phases = self.jobs.iter().map(|(place, job)| {
            let words = if job.ended { "ended" } else { job.phase.label() };
            (format!("{},phase=\"{words}\"", self.labels(*place, job)), 1)
        });
        Family::gauge("fathom_phase", "", help).write(out, phases)?;
        let help = "Time left in the phase after the last interval, if the phase has a planned end.";
        let left = self.jobs.iter().filter_map(|(place, job)| {
            let last = job.last.as_ref().filter(|last| last.phase == job.phase && !job.ended)?;
            Some((self.labels(*place, job), last.left_ns?.as_secs()))
        });
        Family::gauge("fathom_left_seconds", "seconds", help).write(out, left)?;
        writeln!(out, "# EOF")
    }

    fn labels(&self, (step, number): (u32, u32), job: &Job) -> String {
        format!(
            "test=\"{}\",step=\"{step}\",number=\"{number}\",name=\"{}\"",
            escape_label(&self.test),
            escape_label(&job.name)
        )
    }

    /// A count of each direction with completed operations, with its labels.
    fn measured(&self, value: fn(&Counts) -> u64) -> impl Iterator<Item = (String, u64)> {
        self.jobs.iter().flat_map(move |(place, job)| {
            let counts = directions(&job.measured);
            counts.map(move |(word, counts)| (self.direction_labels(*place, job, word), value(counts)))
        })
    }

    /// A rate of each direction in the last interval, with its labels.
    fn last_interval(&self, value: fn(&Counts) -> u64) -> impl Iterator<Item = (String, f64)> {
        let running = self.jobs.iter().filter(|(_, job)| !job.ended);
        let with_last = running.filter_map(|(place, job)| Some((place, job, job.last.as_ref()?)));
        with_last
            .filter(|(_, _, last)| last.length_ns.0 > 0)
            .flat_map(move |(place, job, last)| {
                let rate = move |counts: &Counts| value(counts) as f64 / last.length_ns.as_secs();
                directions(&last.counts)
                    .map(move |(word, counts)| (self.direction_labels(*place, job, word), rate(counts)))
            })
    }

    fn direction_labels(&self, place: (u32, u32), job: &Job, word: &str) -> String {
        format!("{},direction=\"{word}\"", self.labels(place, job))
    }

    fn write_latencies(&self, out: &mut dyn Write) -> io::Result<()> {
        let name = "fathom_interval_latency_seconds";
        let help = "Latencies of the last interval; for paced jobs, response times.";
        Family::latencies("summary", name, help).write_head(out)?;
        for (place, job) in self.jobs.iter().filter(|(_, job)| !job.ended) {
            let labels = self.labels(*place, job);
            let Some(last) = &job.last else { continue };
            for (direction, latency) in last.latency.iter() {
                for latency in latency.iter().filter(|latency| latency.n() > 0) {
                    for quantile in QUANTILES {
                        let seconds = latency.quantile(quantile) as f64 / 1e9;
                        let direction = direction.word();
                        writeln!(
                            out,
                            "{name}{{{labels},direction=\"{direction}\",quantile=\"{quantile}\"}} {seconds}"
                        )?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The directions with completed operations.
fn directions(counts: &PerDirection<Counts>) -> impl Iterator<Item = (&'static str, &Counts)> {
    let done = counts.iter().filter(|(_, counts)| counts.operations > 0);
    done.map(|(direction, counts)| (direction.word(), counts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::event::EndReason;
    use model::{Bytes, Direction, Nanos};

    fn phase(phase: Phase) -> Event {
        Event::Phase {
            step: 0,
            job: 0,
            name: "reads".into(),
            phase,
            length_ns: None,
        }
    }

    fn interval(phase: Phase, operations: u64) -> Event {
        let mut counts = PerDirection::<Counts>::default();
        counts[Direction::Read] = Counts {
            operations,
            bytes: Bytes(operations * 4096),
        };
        Event::Interval(Box::new(Interval {
            name: "reads".into(),
            phase,
            length_ns: Nanos::secs(2),
            counts,
            depth: 1,
            left_ns: Some(Nanos::secs(3)),
            ..Interval::default()
        }))
    }

    #[track_caller]
    fn check(metrics: &Metrics, present: &[&str], absent: &[&str]) {
        let text = metrics.text();
        present
            .iter()
            .for_each(|part| assert!(text.contains(part), "{part} in {text}"));
        absent
            .iter()
            .for_each(|part| assert!(!text.contains(part), "{part} in {text}"));
    }

    #[test]
    fn warm_up_is_not_counted_and_a_second_attempt_resets_counters() {
        let mut metrics = Metrics::new("t", "1");
        check(
            &metrics,
            &["fathom_run{test=\"t\",version=\"1\"} 1\n", "\n# EOF\n"],
            &["fathom_phase{"],
        );
        metrics.apply(&phase(Phase::WarmUp));
        metrics.apply(&interval(Phase::WarmUp, 10));
        let rate = "fathom_interval_operations_per_second{test=\"t\",step=\"0\",number=\"0\",name=\"reads\",direction=\"read\"} 5\n";
        check(
            &metrics,
            &[rate, "phase=\"warm-up\"} 1\n"],
            &["fathom_operations_total"],
        );
        metrics.apply(&phase(Phase::Measured));
        check(&metrics, &["phase=\"measuring\"} 1\n"], &["fathom_left_seconds{"]);
        metrics.apply(&interval(Phase::Measured, 20));
        metrics.apply(&interval(Phase::Measured, 20));
        let total = "name=\"reads\",direction=\"read\"} 40\n";
        check(
            &metrics,
            &[
                total,
                "name=\"reads\",direction=\"read\"} 163840\n",
                "name=\"reads\"} 3\n",
            ],
            &[],
        );
        metrics.apply(&Event::JobEnded {
            step: 0,
            job: 0,
            reason: EndReason::Time,
        });
        check(
            &metrics,
            &[total, "phase=\"ended\"} 1\n"],
            &["per_second{", "left_seconds{"],
        );
        metrics.apply(&phase(Phase::Measured));
        check(&metrics, &["phase=\"measuring\"} 1\n"], &["fathom_operations_total{"]);
    }
}
