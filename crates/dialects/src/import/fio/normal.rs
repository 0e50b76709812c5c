//! Reads fio's normal report of 2.x and 3.x. It does not include the cache mode, the requested rate
//! or the mix, so these remain unknown.

use model::finding::Finding;
use model::observation::{CompletionLatency, Concurrency, IoStats, Latency, Load, Observation};
use model::{Bytes, Direction, Nanos, PerDirection};

use super::normal_lines::{
    Banner, JobHeader, LatencyLine, Rates, Stage, parse_banner, parse_header, parse_issued, parse_latency,
    parse_percentiles, parse_rate_samples, parse_rates, parse_short, time_unit_ns,
};
use super::{
    AccessKind, clone_deviation, completion_percentiles_finding, failed_job_finding, is_synchronous,
    merged_jobs_finding,
};
use crate::import::{Form, Imported, flow_sum, problem_at, truncated_finding};

/// True if the text contains a report of this form.
pub(in crate::import) fn is_report(text: &str) -> bool {
    text.lines().any(|line| parse_header(line.trim()).is_some())
}

/// A direction of an entry.
#[derive(Clone, Debug, Default)]
struct Part {
    rates: Rates,
    submission: Option<LatencyLine>,
    completion: Option<LatencyLine>,
    total: Option<LatencyLine>,
    percentiles: Vec<(f64, f64)>,
    /// The percentiles are of the total latency.
    are_total_percentiles: bool,
    /// Deviation and number of the samples of the rate.
    rate_samples: Option<(f64, u64)>,
}

/// An entry of the report.
#[derive(Clone, Debug)]
struct Entry {
    head: JobHeader,
    /// Reads, writes, trims; all directions with unified reporting.
    parts: [Option<Part>; 4],
    issued: Option<[u64; 3]>,
    /// Operations that transferred less than requested.
    short: Option<u64>,
}

#[derive(Default)]
struct Reader {
    version: Option<String>,
    banners: Vec<Banner>,
    entries: Vec<Entry>,
    /// The direction that lines belong to.
    part: Option<usize>,
    /// Nanoseconds of a unit of the percentiles.
    unit: Option<f64>,
}

/// Reads every entry of the text.
pub(in crate::import) fn read(file: &str, text: &str) -> Imported {
    let mut imported = Imported::new(Form::FioNormal);
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Err(expected) = reader.read_line(line) {
            let message = format!("cannot read this line: expected {expected}");
            imported.unread.push(problem_at(file, index + 1, line, message));
        }
    }
    for entry in &reader.entries {
        match reader.to_observation(entry) {
            Some(load) => imported.loads.push(load),
            None => {
                let message = "the entry has no operations: it is truncated, or the job executed none";
                imported.findings.push(truncated_finding(message).at(&*entry.head.name));
            }
        }
        imported.findings.extend(entry.check());
        let is_merged = reader.covers_several_jobs(entry);
        imported
            .findings
            .extend(is_merged.then(|| merged_jobs_finding(&entry.head.name)));
    }
    imported
}

const WORDS: [&str; 4] = ["read", "write", "trim", "mixed"];

impl Reader {
    fn read_line(&mut self, line: &str) -> Result<(), &'static str> {
        if self.read_outer_line(line) {
            return Ok(());
        }
        let Some(entry) = self.entries.last_mut() else {
            return Ok(());
        };
        if let Some((word, rest)) = line.split_once(':')
            && let Some(number) = WORDS.iter().position(|direction_word| *direction_word == word.trim())
            && (rest.contains("IOPS=") || rest.contains("iops="))
        {
            entry.parts[number] = Some(Part {
                rates: parse_rates(rest),
                ..Part::default()
            });
            (self.part, self.unit) = (Some(number), None);
            return Ok(());
        }
        if let Some(counts) = parse_issued(line) {
            entry.issued = Some(counts);
            entry.short = parse_short(line).map(|counts| counts.iter().sum());
        }
        if line.starts_with("cpu ") || line.starts_with("lat (") && line.contains(':') && !line.contains("min=") {
            self.part = None;
        }
        let Some(part) = self.part.and_then(|number| entry.parts[number].as_mut()) else {
            return Ok(());
        };
        part.read_line(line, &mut self.unit)
    }

    /// Reads a line outside of entries.
    fn read_outer_line(&mut self, line: &str) -> bool {
        if let Some(head) = parse_header(line) {
            self.entries.push(Entry {
                head,
                parts: [None, None, None, None],
                issued: None,
                short: None,
            });
            self.part = None;
        } else if let Some(banner) = parse_banner(line) {
            self.banners.push(banner);
        } else if line.starts_with("fio-") && !line.contains(' ') {
            self.version = Some(line.to_owned());
        } else if line.starts_with("Run status group") || line.starts_with("Disk stats") {
            self.part = None;
        } else {
            return false;
        }
        true
    }

    /// True if a job of the group has no entry of its own: `group_reporting` merged them.
    fn covers_several_jobs(&self, entry: &Entry) -> bool {
        let has_entry = |banner: &Banner| self.entries.iter().any(|entry| entry.head.name == banner.name);
        let mut members = self
            .banners
            .iter()
            .filter(|banner| banner.group == Some(entry.head.group));
        entry.head.jobs > 1 && members.any(|banner| !has_entry(banner))
    }

    fn to_observation(&self, entry: &Entry) -> Option<Observation> {
        let named = |banner: &&Banner| banner.name == entry.head.name;
        let banner = self
            .banners
            .iter()
            .find(named)
            .filter(|_| !self.covers_several_jobs(entry));
        let flows: Vec<Option<IoStats>> = (0..4).map(|number| entry.flow(number)).collect();
        let each: Vec<&IoStats> = flows[..3].iter().flatten().collect();
        let total = match &flows[3] {
            Some(mixed) => mixed.clone(),
            None => flow_sum::sum(&each)?,
        };
        Some(Observation {
            tool: "fio".into(),
            version: self.version.clone(),
            name: entry.head.name.clone(),
            load: build_load(banner, &entry.head),
            measured_ns: flow_sum::longest_time(entry.parts.iter().flatten().map(|part| part.rates.runtime)),
            directions: PerDirection::new(flows[0].clone(), flows[1].clone(), flows[2].clone()),
            total,
            errors: (entry.head.error == 0).then_some(0),
            short: entry.short,
            concurrency: Some(Concurrency {
                group: u32::try_from(entry.head.group).unwrap_or(u32::MAX),
                ..Concurrency::default()
            }),
            ..Observation::default()
        })
    }
}

impl Part {
    /// True if the percentiles are of the completion latency, but the mean is of the total latency.
    fn has_completion_percentiles(&self) -> bool {
        !self.are_total_percentiles && self.total.is_some() && !self.percentiles.is_empty()
    }

    fn read_line(&mut self, line: &str, unit: &mut Option<f64>) -> Result<(), &'static str> {
        if let Some(latency_line) = parse_latency(line) {
            let latency_line = latency_line?;
            match latency_line.stage {
                Stage::Submission => self.submission = Some(latency_line),
                Stage::Completion => self.completion = Some(latency_line),
                Stage::Total => self.total = Some(latency_line),
            }
        } else if let Some(latency_line) = parse_rate_samples(line) {
            self.rate_samples = Some(latency_line);
        } else if let Some((_, rest)) = line.split_once("percentiles (") {
            *unit = rest.split(')').next().and_then(time_unit_ns);
            self.are_total_percentiles = line.starts_with("lat ");
        } else if line.starts_with('|')
            && let Some(factor) = *unit
        {
            let latency_line = parse_percentiles(line, factor).ok_or("percentiles such as 99.00th=[  505]")?;
            self.percentiles.extend(latency_line);
        }
        Ok(())
    }
}

impl Entry {
    /// The figures of a direction. Printed rates are rounded; count divided by time is exact.
    fn flow(&self, number: usize) -> Option<IoStats> {
        let part = self.parts[number].as_ref()?;
        let operations = match number {
            3 => self.issued.map(|counts| counts.iter().sum()),
            _ => self.issued.map(|counts| counts[number]),
        };
        let seconds = part.rates.runtime.filter(|time| *time > Nanos(0)).map(Nanos::as_secs);
        let counted = operations
            .zip(seconds)
            .map(|(operations, seconds)| operations as f64 / seconds);
        // The count covers all clones, but the time only one: check the result against the printed
        // rate.
        let matches_printed_rate = |counted: &f64| {
            part.rates
                .iops
                .is_none_or(|printed| (counted / printed.max(1e-9) - 1.0).abs() < 0.01)
        };
        let main = part.total.or(part.completion);
        Some(IoStats {
            operations,
            iops: counted.filter(matches_printed_rate).or(part.rates.iops),
            bytes_per_sec: part.rates.bytes_per_sec,
            iops_deviation: part
                .rate_samples
                .zip(part.rates.runtime)
                .and_then(|(samples, time)| clone_deviation(samples, time, self.head.jobs))
                .map(|deviation| deviation * f64::from(self.head.jobs)),
            latency: main.map(|line| Latency {
                samples: operations,
                mean_ns: Some(line.mean_ns),
                deviation_ns: line.deviation_ns,
                min_ns: Some(line.min_ns),
                max_ns: Some(line.max_ns),
                quantiles: part.percentiles.clone(),
                completion: part
                    .completion
                    .filter(|_| part.has_completion_percentiles())
                    .map(|line| CompletionLatency {
                        mean_ns: line.mean_ns,
                        min_ns: line.min_ns,
                        max_ns: line.max_ns,
                        submission_max_ns: part.submission.map(|line| line.max_ns),
                    }),
                ..Latency::default()
            }),
            ..IoStats::default()
        })
    }

    fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.parts.iter().flatten().any(Part::has_completion_percentiles) {
            findings.push(completion_percentiles_finding(&self.head.name));
        }
        findings.extend(failed_job_finding(&self.head.name, self.head.error));
        findings
    }
}

fn build_load(banner: Option<&Banner>, head: &JobHeader) -> Load {
    let Some(banner) = banner else {
        return Load {
            workers: Some(head.jobs),
            ..Load::default()
        };
    };
    let kind = AccessKind::parse(&banner.rw);
    let is_sync = is_synchronous(&banner.engine);
    let depth = if is_sync { Some(1) } else { banner.depth };
    Load {
        workers: Some(head.jobs),
        depth: depth.map(|depth| depth.saturating_mul(u64::from(head.jobs))),
        block: banner.block.map(Bytes),
        random: kind.map(|kind| kind.random),
        read_percent: kind.and_then(|kind| match (kind.reads, kind.writes) {
            (true, false) => Some(100.0),
            (false, _) => Some(0.0),
            (true, true) => None,
        }),
        no_io: banner.engine == "null",
        ..Load::default()
    }
}

const _: () = assert!(WORDS.len() == Direction::ALL.len() + 1);
