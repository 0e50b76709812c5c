//! Iometer's result file. Parsers rely on titles, the order of rows and the number of columns.
//!
//! The layout follows 1.1.0 (80 columns) or 2006.07.27 (56). Names from the configuration are
//! echoed from [`Origin`](model::plan::Origin): this module parses no configuration file.
//!
//! # What a plan's origin must hold
//! * `presentation.other`: `version` (`1.1.0` or `2006.07.27`), `test_type` (its number),
//!   `description`, `record` (0–4).
//! * `jobs`: one for each step, with these options in order: `access` and `access_line` for each
//!   specification in use; `index`, the position in each worker's list of specifications; then
//!   `manager` for each manager, followed by its workers: `worker`, `spec`, `depth`, `start`,
//!   `size`, `transactions` per connection if connections are tested, and `disk` for each target.
//!
//! # Intended differences from Iometer
//! * Ticks are nanoseconds: raw times and `Processor Speed` agree with one another.
//! * Bins are sums of buckets that are less than 0.8 % wide. A bucket that straddles two bins
//!   counts in the lower one.
//! * DPCs, interrupts and network figures are not measured and written as 0.

mod figures;

use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::Nanos;
use model::results::{Results, StepResults};

use figures::{Columns, Cpu, Figures};

/// Columns of 1.1.0, by title.
const TITLES: [&str; 80] = [
    "'Target Type",
    "Target Name",
    "Access Specification Name",
    "# Managers",
    "# Workers",
    "# Disks",
    "IOps",
    "Read IOps",
    "Write IOps",
    "MiBps (Binary)",
    "Read MiBps (Binary)",
    "Write MiBps (Binary)",
    "MBps (Decimal)",
    "Read MBps (Decimal)",
    "Write MBps (Decimal)",
    "Transactions per Second",
    "Connections per Second",
    "Average Response Time",
    "Average Read Response Time",
    "Average Write Response Time",
    "Average Transaction Time",
    "Average Connection Time",
    "Maximum Response Time",
    "Maximum Read Response Time",
    "Maximum Write Response Time",
    "Maximum Transaction Time",
    "Maximum Connection Time",
    "Errors",
    "Read Errors",
    "Write Errors",
    "Bytes Read",
    "Bytes Written",
    "Read I/Os",
    "Write I/Os",
    "Connections",
    "Transactions per Connection",
    "Total Raw Read Response Time",
    "Total Raw Write Response Time",
    "Total Raw Transaction Time",
    "Total Raw Connection Time",
    "Maximum Raw Read Response Time",
    "Maximum Raw Write Response Time",
    "Maximum Raw Transaction Time",
    "Maximum Raw Connection Time",
    "Total Raw Run Time",
    "Starting Sector",
    "Maximum Size",
    "Queue Depth",
    "% CPU Utilization",
    "% User Time",
    "% Privileged Time",
    "% DPC Time",
    "% Interrupt Time",
    "Processor Speed",
    "Interrupts per Second",
    "CPU Effectiveness",
    "Packets/Second",
    "Packet Errors",
    "Segments Retransmitted/Second",
    "0 to 50 uS",
    "50 to 100 uS",
    "100 to 200 uS",
    "200 to 500 uS",
    "0.5 to 1 mS",
    "1 to 2 mS",
    "2 to 5 mS",
    "5 to 10 mS",
    "10 to 15 mS",
    "15 to 20 mS",
    "20 to 30 mS",
    "30 to 50 mS",
    "50 to 100 mS",
    "100 to 200 mS",
    "200 to 500 mS",
    "0.5 to 1 S",
    "1 to 2 s",
    "2 to 4.7 s",
    "4.7 to 5 s",
    "5 to 10 s",
    " >= 10 s",
];
/// Titles of columns 10 to 12 before 1.1.0, when there were no decimal megabytes and no bins.
const OLD_RATES: [&str; 3] = ["MBps", "Read MBps", "Write MBps"];
/// Columns 13 to 15 are missing before 1.1.0.
const DECIMAL_COLUMNS: std::ops::Range<usize> = 12..15;
const FIRST_BIN_COLUMN: usize = 59;

/// Writes the results of all tests, which the caller appends to a result file.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let other = &results.plan.origin.presentation.other;
    let setting = |name: &str| {
        other
            .iter()
            .find(|(label, _)| label == name)
            .map_or("", |(_, value)| value)
    };
    let is_old = setting("version").starts_with("2006");
    let record: u8 = setting("record").parse().unwrap_or_default();
    let started = results.hosts.first().map_or(0, |host| host.started_unix_ns);
    writeln!(out, "'Test Type,Test Description")?;
    let test_type = if setting("test_type").is_empty() {
        "0"
    } else {
        setting("test_type")
    };
    writeln!(out, "{test_type},{}", escape_cell(setting("description"), "-"))?;
    writeln!(out, "'Version\n{}", if is_old { "2006.07.27" } else { "1.1.0" })?;
    writeln!(out, "'Time Stamp\n{}", format_timestamp(started))?;
    let mut last_spec_index = None;
    for (number, step) in results.steps.iter().enumerate() {
        if !is_measured(step) {
            continue;
        }
        let test = Test::from_step(results, step, number);
        if last_spec_index.as_ref() != Some(&test.spec_index) {
            writeln!(out, "'Access specifications")?;
            for (line, is_row) in &test.access {
                writeln!(out, "{line}{}", if *is_row && !is_old { "," } else { "" })?;
            }
            writeln!(out, "'End access specifications")?;
        }
        writeln!(out, "'Results\n{}", titles(is_old).join(","))?;
        for row in test.rows(record) {
            writeln!(out, "{}", select_columns(row, is_old).join(","))?;
        }
        writeln!(out, "'Time Stamp\n{}", format_timestamp(started + end_of_step(step).0))?;
        last_spec_index = Some(test.spec_index);
    }
    let mut workers = results
        .steps
        .iter()
        .flat_map(|step| &step.jobs)
        .flat_map(|job| &job.workers);
    let failed = results.interrupted || workers.any(|worker| worker.failure.is_some());
    let failed = failed || results.steps.iter().any(|step| !is_measured(step));
    let failed = failed || results.steps.len() < results.plan.steps.len();
    writeln!(out, "{}", if failed { "Aborted test" } else { "'End Test" })
}

fn titles(is_old: bool) -> Vec<&'static str> {
    let mut titles = TITLES.to_vec();
    if is_old {
        titles[9..12].copy_from_slice(&OLD_RATES);
        titles.truncate(FIRST_BIN_COLUMN);
        titles.drain(DECIMAL_COLUMNS);
    }
    titles
}

fn select_columns(mut row: Vec<String>, is_old: bool) -> Vec<String> {
    if is_old {
        row.truncate(FIRST_BIN_COLUMN);
        row.drain(DECIMAL_COLUMNS);
    }
    row
}

/// Replaces the characters of a text that would end its cell.
fn escape_cell(text: &str, comma: &str) -> String {
    text.replace(',', comma).replace(['\r', '\n'], " ")
}

fn format_timestamp(unix_ns: u64) -> String {
    let time = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    let time = time.to_zoned(TimeZone::system());
    let milliseconds = time.millisecond();
    format!("{}:{milliseconds:03}", time.strftime("%Y-%m-%d %H:%M:%S"))
}

fn is_measured(step: &StepResults) -> bool {
    step.jobs.iter().any(|job| job.ended.is_some() && job.measured().0 > 0)
}

/// The end of the last worker, from the start of the run.
fn end_of_step(step: &StepResults) -> Nanos {
    let workers = step.jobs.iter().flat_map(|job| &job.workers);
    workers
        .map(|worker| worker.started_ns + worker.measured_ns)
        .max()
        .unwrap_or_default()
}

/// A manager or a worker, as named in the configuration.
#[derive(Debug, Default)]
struct NamedFigures {
    name: String,
    spec: String,
    figures: Figures,
    /// Disks of a worker, by name.
    disks: Vec<(String, Figures)>,
}

/// One test: names from the echo of the plan, figures from the results.
struct Test {
    /// Position in each worker's list of specifications, as text.
    spec_index: String,
    /// Lines of the specifications, and whether they are rows.
    access: Vec<(String, bool)>,
    managers: Vec<(String, Vec<NamedFigures>)>,
    cpu: Cpu,
}

impl Test {
    fn from_step(results: &Results, step: &StepResults, number: usize) -> Test {
        let mut test = Test {
            spec_index: String::new(),
            access: Vec::new(),
            managers: Vec::new(),
            cpu: Cpu::from_step(step),
        };
        let echo = results
            .plan
            .origin
            .jobs
            .get(number)
            .map(|job| &job.options[..])
            .unwrap_or_default();
        for (name, value) in echo {
            test.add_option(name, value);
        }
        if test.managers.is_empty() {
            test.use_plan_names(results, number);
        }
        let workers = step.jobs.iter().flat_map(|job| &job.workers);
        let named = test.managers.iter_mut().flat_map(|(_, workers)| workers);
        for (worker, named) in workers.zip(named) {
            let streams_per_disk = (worker.streams.len() / named.disks.len().max(1)).max(1);
            for ((_, figures), streams) in named.disks.iter_mut().zip(worker.streams.chunks(streams_per_disk)) {
                streams
                    .iter()
                    .for_each(|stream| figures.add_stream(stream, worker.measured_ns));
            }
            named.disks.iter().for_each(|(_, figures)| named.figures.merge(figures));
        }
        test
    }

    fn add_option(&mut self, name: &str, value: &str) {
        match name {
            "access" => {
                let titles = "'size,% of size,% reads,% random,delay,burst,align,reply";
                let head = ["'Access specification name,default assignment", value, titles];
                self.access.extend(head.map(|line| (line.to_owned(), false)));
            }
            "access_line" => self.access.push((value.to_owned(), true)),
            "index" => value.clone_into(&mut self.spec_index),
            "manager" => self.managers.push((value.to_owned(), Vec::new())),
            "worker" => {
                if let Some((_, workers)) = self.managers.last_mut() {
                    workers.push(NamedFigures {
                        name: value.to_owned(),
                        ..NamedFigures::default()
                    });
                }
            }
            _ => {
                let worker = self.managers.last_mut().and_then(|(_, workers)| workers.last_mut());
                let Some(worker) = worker else { return };
                let number = value.parse().ok();
                match name {
                    "spec" => worker.spec = value.to_owned(),
                    "depth" => worker.figures.depth = number,
                    "start" => worker.figures.start = number,
                    "size" => worker.figures.size = number,
                    "transactions" => worker.figures.transactions = number,
                    "disk" => {
                        let figures = worker.figures.settings_only();
                        worker.disks.push((value.to_owned(), figures));
                    }
                    _ => {}
                }
            }
        }
    }

    /// For plans of other dialects: names rows after the host, its workers and its paths.
    fn use_plan_names(&mut self, results: &Results, number: usize) {
        let plan = &results.plan;
        let host = results.hosts.first().map(|host| host.environment.host.name.clone());
        let workers = plan.steps.get(number).into_iter().flat_map(|step| &step.jobs);
        let workers = workers.flat_map(|job| job.workers.iter().map(move |worker| (&job.name, worker)));
        let named = workers.enumerate().map(|(number, (job, worker))| NamedFigures {
            name: format!("Worker {}", number + 1),
            spec: job.clone(),
            disks: worker
                .streams
                .iter()
                .map(|stream| {
                    let target = stream.target.ids().first().map(|id| plan.target(*id).path.clone());
                    (target.unwrap_or_default(), Figures::default())
                })
                .collect(),
            ..NamedFigures::default()
        });
        self.managers.push((host.unwrap_or_default(), named.collect()));
    }

    /// The rows to record: `record` is Iometer's setting from 0 (all) to 4 (none).
    fn rows(&self, record: u8) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let workers = || self.managers.iter().flat_map(|(_, workers)| workers);
        if record >= 4 {
            return rows;
        }
        let total = sum(workers());
        let counts = [
            self.managers.len().to_string(),
            workers().count().to_string(),
            workers().map(|worker| worker.disks.len()).sum::<usize>().to_string(),
        ];
        rows.push(
            Columns::row_head("ALL", "All", &common_spec(workers()), counts)
                .with_figures(&total, false)
                .with_cpu(&self.cpu, &total)
                .finish(),
        );
        if record >= 3 {
            return rows;
        }
        for (name, workers) in &self.managers {
            let figures = sum(workers.iter());
            let disks: usize = workers.iter().map(|worker| worker.disks.len()).sum();
            let counts = [String::new(), workers.len().to_string(), disks.to_string()];
            let head = Columns::row_head("MANAGER", name, &common_spec(workers.iter()), counts);
            rows.push(head.with_figures(&figures, true).with_cpu(&self.cpu, &figures).finish());
            rows.extend(self.cpu.rows());
            for worker in workers.iter().filter(|_| record < 2) {
                let counts = [String::new(), String::new(), worker.disks.len().to_string()];
                let head = Columns::row_head("WORKER", &worker.name, &worker.spec, counts);
                rows.push(head.with_figures(&worker.figures, true).finish());
                for (name, figures) in worker.disks.iter().filter(|_| record < 1) {
                    rows.push(
                        Columns::row_head("DISK", name, "", Default::default())
                            .with_figures(figures, true)
                            .finish(),
                    );
                }
            }
        }
        rows
    }
}

fn sum<'a>(workers: impl Iterator<Item = &'a NamedFigures>) -> Figures {
    let mut sum: Option<Figures> = None;
    for worker in workers {
        match &mut sum {
            Some(sum) => sum.merge_clearing_settings(&worker.figures),
            None => sum = Some(worker.figures.clone()),
        }
    }
    sum.unwrap_or_default()
}

/// The common specification of all workers; empty if they differ.
fn common_spec<'a>(mut workers: impl Iterator<Item = &'a NamedFigures>) -> String {
    let first = workers.next().map(|worker| worker.spec.as_str()).unwrap_or_default();
    match workers.all(|worker| worker.spec == first) {
        true => first.to_owned(),
        false => String::new(),
    }
}
