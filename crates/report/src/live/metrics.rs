//! A run in progress as OpenMetrics 1.0 text, from its events: the families of `--out openmetrics`
//! that are already known, and figures of the last interval.

use std::collections::BTreeMap;
use std::io::{self, Write};

use model::PerDirection;
use model::event::{Counts, Event, Interval, Phase};

use crate::formats::openmetrics::{Family, escape_label, write_family_head};

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
        let test = escape_label(&self.test);
        let family = |name, kind, unit, help| Family { name, kind, unit, help };
        let help = "Always 1; the labels identify the run.";
        write_family_head(&family("fathom_run", "gauge", "", help), out)?;
        writeln!(
            out,
            "fathom_run{{test=\"{test}\",version=\"{}\"}} 1",
            escape_label(&self.version)
        )?;
        let help = "Operations completed in the measured window so far.";
        write_family_head(&family("fathom_operations", "counter", "operations", help), out)?;
        self.write_measured(out, "fathom_operations_total", |counts| counts.operations)?;
        let help = "Bytes transferred in the measured window so far.";
        write_family_head(&family("fathom_transferred_bytes", "counter", "bytes", help), out)?;
        self.write_measured(out, "fathom_transferred_bytes_total", |counts| counts.bytes.0)?;
        let help = "Operations per second in the last interval.";
        write_family_head(&family("fathom_interval_operations_per_second", "gauge", "", help), out)?;
        self.write_last_interval(out, "fathom_interval_operations_per_second", |counts| counts.operations)?;
        let help = "Bytes per second in the last interval.";
        write_family_head(
            &family("fathom_interval_throughput_bytes_per_second", "gauge", "", help),
            out,
        )?;
        self.write_last_interval(out, "fathom_interval_throughput_bytes_per_second", |counts| {
            counts.bytes.0
        })?;
        self.write_latencies(out)?;
        let help = "Always 1; the label is the current phase of the job.";
        write_family_head(&family("fathom_phase", "gauge", "", help), out)?;
        for (place, job) in &self.jobs {
            let words = if job.ended { "ended" } else { job.phase.label() };
            writeln!(out, "fathom_phase{{{},phase=\"{words}\"}} 1", self.labels(*place, job))?;
        }
        let help = "Time left in the phase after the last interval, if the phase has a planned end.";
        write_family_head(&family("fathom_left_seconds", "gauge", "seconds", help), out)?;
        for (place, job) in self.jobs.iter().filter(|(_, job)| !job.ended) {
            let last = job.last.as_ref().filter(|last| last.phase == job.phase);
            if let Some(time_left) = last.and_then(|last| last.left_ns) {
                writeln!(
                    out,
                    "fathom_left_seconds{{{}}} {}",
                    self.labels(*place, job),
                    time_left.as_secs()
                )?;
            }
        }
        writeln!(out, "# EOF")
    }

    fn labels(&self, (step, number): (u32, u32), job: &Job) -> String {
        format!(
            "test=\"{}\",step=\"{step}\",number=\"{number}\",name=\"{}\"",
            escape_label(&self.test),
            escape_label(&job.name)
        )
    }

    /// Writes a line for each direction with completed operations.
    fn write_measured(&self, out: &mut dyn Write, name: &str, value: impl Fn(&Counts) -> u64) -> io::Result<()> {
        for (place, job) in &self.jobs {
            let labels = self.labels(*place, job);
            for (direction, counts) in job.measured.iter().filter(|(_, counts)| counts.operations > 0) {
                writeln!(
                    out,
                    "{name}{{{labels},direction=\"{}\"}} {}",
                    direction.word(),
                    value(counts)
                )?;
            }
        }
        Ok(())
    }

    fn write_last_interval(&self, out: &mut dyn Write, name: &str, value: impl Fn(&Counts) -> u64) -> io::Result<()> {
        for (place, job) in &self.jobs {
            let labels = self.labels(*place, job);
            let Some(last) = job.last.as_ref().filter(|last| last.length_ns.0 > 0 && !job.ended) else {
                continue;
            };
            for (direction, counts) in last.counts.iter().filter(|(_, counts)| counts.operations > 0) {
                let rate = value(counts) as f64 / last.length_ns.as_secs();
                writeln!(out, "{name}{{{labels},direction=\"{}\"}} {rate}", direction.word())?;
            }
        }
        Ok(())
    }

    fn write_latencies(&self, out: &mut dyn Write) -> io::Result<()> {
        let name = "fathom_interval_latency_seconds";
        let family = Family {
            name,
            kind: "summary",
            unit: "seconds",
            help: "Latencies of the last interval; for paced jobs, response times.",
        };
        write_family_head(&family, out)?;
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
            step: 0,
            job: 0,
            name: "reads".into(),
            phase,
            epoch: 0,
            start_ns: Nanos(0),
            length_ns: Nanos::secs(2),
            counts,
            latency: PerDirection::default(),
            in_flight_ns: Nanos(0),
            depth: 1,
            targets: Vec::new(),
            file_operations: Vec::new(),
            left_ns: Some(Nanos::secs(3)),
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
