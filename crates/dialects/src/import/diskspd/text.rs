//! Reads DiskSpd's text report of 2.0.x to 2.2, also inside other text.
//!
//! Lines are recognised by their first words, ignoring blanks, which pages and consoles change. A
//! report begins at its command line; a time span has settings and, later, results.

use model::finding::{Finding, Severity};
use model::observation::{BreakdownEntry, CoreShare, IoStats, Latency, Observation};
use model::{Bytes, Direction, PerDirection};

use super::text_tables::{Chart, RowFigures, Table, Unreadable, parse_figure, split_cells, split_titles};
use super::{Settings, command, from_ms, from_seconds, latency_of, same_size};
use crate::import::numbers::{parse_integer, parse_u32};
use crate::import::{Form, Imported, problem_at, truncated_finding};

const COMMAND: &str = "Command Line:";
const RESULTS: &str = "Results for timespan ";

/// True if the text contains a DiskSpd text report.
pub(in crate::import) fn is_report(text: &str) -> bool {
    let lines = || text.lines().map(str::trim);
    let begins = |prefix: &str| lines().any(|line| line.starts_with(prefix));
    begins(RESULTS) || begins("Input parameters:") && begins(COMMAND)
}

/// Results of a time span, as in the tables.
#[derive(Clone, Debug, Default)]
struct Span {
    number: u32,
    interrupted: bool,
    time_s: Option<f64>,
    threads: Option<u32>,
    cores: Vec<CoreShare>,
    /// Total, reads, writes.
    tables: [Option<Table>; 3],
    charts: Vec<Chart>,
}

/// The section that the next lines belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Prose,
    Settings,
    Results,
    Cores,
    Table(usize),
    Chart,
}

#[derive(Default)]
struct Reader {
    section: Section,
    command: Option<String>,
    settings: Vec<Settings>,
    spans: Vec<Span>,
    core_columns: Vec<String>,
    /// The previous line: titles are above their tables.
    title: String,
    commas: bool,
    form: VersionHints,
    loads: Vec<Observation>,
    findings: Vec<Finding>,
}

/// Features of the report that reveal DiskSpd's version.
#[derive(Clone, Copy, Debug, Default)]
struct VersionHints {
    powers_named: bool,
    sizes_have_units: bool,
    knows_topology: bool,
}

impl VersionHints {
    fn version(self) -> &'static str {
        match (self.knows_topology, self.sizes_have_units, self.powers_named) {
            (true, ..) => "2.2",
            (false, true, _) => "2.1",
            (false, false, true) => "2.0.18 to 2.0.21",
            (false, false, false) => "2.0.17 or older",
        }
    }
}

/// Reads every report of the text.
pub(in crate::import) fn read(file: &str, text: &str) -> Imported {
    let mut imported = Imported::new(Form::DiskspdText);
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix(COMMAND) {
            reader.finish();
            reader.command = Some(rest.trim().to_owned());
            imported.commands.push(rest.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("computer name:") {
            imported.host = Some(rest.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("start time:") {
            imported.started = Some(rest.trim().to_owned());
        } else if let Some(rest) = line
            .strip_prefix("cpu count:")
            .or_else(|| line.strip_prefix("proc count:"))
        {
            imported.processors = parse_u32(rest.trim());
            reader.form.knows_topology |= line.starts_with("cpu");
        } else if let Err(unreadable) = reader.read_line(line) {
            let Unreadable { found, expected } = unreadable;
            let message = format!("cannot read `{found}`: expected {expected}");
            imported.unread.push(problem_at(file, index + 1, line, message));
        }
        if !line.is_empty() {
            line.clone_into(&mut reader.title);
        }
    }
    reader.finish();
    imported.loads = reader.loads;
    imported.findings = reader.findings;
    imported.findings.extend(find_typing_errors(text, &imported.commands));
    if reader.commas {
        let message = "numbers in this report have decimal commas, which DiskSpd never writes";
        let finding = Finding::new("DECIMAL-COMMA", Severity::Note, message);
        imported
            .findings
            .push(finding.why("they were read as decimals, because they have as many decimals as DiskSpd prints"));
    }
    imported
}

impl Reader {
    fn read_line(&mut self, line: &str) -> Result<(), Unreadable> {
        if let Some(rest) = line.strip_prefix(RESULTS) {
            self.spans.push(Span {
                number: parse_u32(rest.trim_end_matches(':').trim()).unwrap_or(1),
                ..Span::default()
            });
            self.section = Section::Results;
            return Ok(());
        }
        if line.starts_with("Input parameters:") || line.starts_with("timespan:") {
            return self.begin_settings(line);
        }
        if self.section == Section::Settings {
            self.form.sizes_have_units |= line.starts_with("block size:") && line.ends_with('B');
            if let Some(settings) = self.settings.last_mut() {
                settings.read_line(line);
            }
            return Ok(());
        }
        match self.section {
            Section::Prose | Section::Settings => Ok(()),
            Section::Results | Section::Cores | Section::Table(_) | Section::Chart => self.read_result_line(line),
        }
    }

    fn begin_settings(&mut self, line: &str) -> Result<(), Unreadable> {
        self.section = Section::Settings;
        if let Some(rest) = line.strip_prefix("timespan:") {
            self.settings.push(Settings {
                number: parse_u32(rest.trim()).unwrap_or(1),
                ..Settings::default()
            });
        }
        Ok(())
    }

    fn read_result_line(&mut self, line: &str) -> Result<(), Unreadable> {
        let Some(span) = self.spans.last_mut() else {
            return Ok(());
        };
        if let Some(table) = ["Total IO", "Read IO", "Write IO"]
            .iter()
            .position(|title| *title == line)
        {
            self.section = Section::Table(table);
            return Ok(());
        }
        if line.starts_with("thread") && line.contains("| ") && line.contains("I/Os") {
            if let Section::Table(table) = self.section {
                self.form.powers_named |= line.contains("MiB/s");
                let columns = split_titles(line);
                span.tables[table] = Some(Table {
                    columns,
                    ..Table::default()
                });
            }
            return Ok(());
        }
        if line.contains("CPU") && line.contains('|') && line.contains("Usage") {
            (self.section, self.core_columns) = (Section::Cores, split_titles(line));
            return Ok(());
        }
        if line.starts_with("%-ile") {
            self.section = Section::Chart;
            span.charts.push(Chart {
                total: self.title.starts_with("Total latency distribution") || self.title == "total:",
                ..Chart::default()
            });
            return Ok(());
        }
        match self.section {
            Section::Cores => read_core_row(span, &self.core_columns, line, &mut self.commas),
            Section::Table(table) => match &mut span.tables[table] {
                Some(table) => table.read_row(line, &mut self.commas).map(drop),
                None => Ok(()),
            },
            Section::Chart => match span.charts.last_mut() {
                Some(chart) => chart.read_row(line, &mut self.commas).map(drop),
                None => Ok(()),
            },
            Section::Results => read_head_line(span, line, &mut self.commas),
            Section::Prose | Section::Settings => Ok(()),
        }
    }

    /// Turns the spans since the last command line into observations.
    fn finish(&mut self) {
        let settings = std::mem::take(&mut self.settings);
        for span in std::mem::take(&mut self.spans) {
            let asked = settings.iter().find(|settings| settings.number == span.number);
            self.finish_span(&span, asked);
        }
        if let (Some(last), true) = (settings.last(), self.loads.is_empty() && self.findings.is_empty()) {
            let message = format!("the report ends before the results of time span {}", last.number);
            self.findings.push(truncated_finding(message));
        }
        self.command = None;
        self.section = Section::Prose;
    }

    fn finish_span(&mut self, span: &Span, settings: Option<&Settings>) {
        let name = format!("time span {}", span.number);
        if span.interrupted {
            let message = "the test was interrupted before the measured time began";
            let finding = Finding::new("RUN-INTERRUPTED", Severity::Error, message).at(name);
            self.findings
                .push(finding.help("check DiskSpd's stderr: a target may be missing or too small"));
            return;
        }
        let missing = span.missing(settings);
        if !missing.is_empty() {
            let message = format!("the report lacks {}", missing.join(", "));
            let why = "the report is truncated, or copied in part; checks that need these figures are skipped";
            self.findings.push(truncated_finding(message).at(&*name).why(why));
        }
        let Some(total) = span.total() else { return };
        let files: Vec<String> = span.rows(0).map(|row| row.file.clone()).collect();
        if let (Some(line), Some(settings)) = (&self.command, settings) {
            let mismatch = command::find_mismatch(line, settings, &files);
            self.findings.extend(mismatch.map(|finding| finding.at(&*name)));
        }
        self.loads.push(self.observation(span, settings, name, total));
    }

    fn observation(&self, span: &Span, settings: Option<&Settings>, name: String, total: RowFigures) -> Observation {
        let mut load = settings.map(|settings| settings.load(span.threads)).unwrap_or_default();
        load.workers = load.workers.or(span.threads);
        load.size = same_size(span.rows(0).filter_map(|row| row.size)).or(load.size);
        self.complete_by_command(&mut load);
        let flow_from_table = |table: usize| {
            let cells = span.tables[table].as_ref()?.total?;
            (cells.operations != Some(0)).then(|| build_flow(&cells, span.quantiles(table)))
        };
        Observation {
            tool: "DiskSpd".into(),
            version: Some(self.form.version().into()),
            name,
            load,
            started_unix_ns: None,
            measured_ns: span.time_s.map(from_seconds),
            directions: PerDirection::new(flow_from_table(1), flow_from_table(2), None),
            total: build_flow(&total, span.quantiles(0)),
            breakdown: span.parts(),
            cores: span.cores.clone(),
            ..Observation::default()
        }
    }

    /// Fills in a rate limit from the command line: reports before 2.1 omit it.
    fn complete_by_command(&self, load: &mut model::observation::Load) {
        let asked = self.command.as_deref().and_then(|line| command::parse_load(line).ok());
        if let Some(asked) = asked
            && asked.rate_iops.is_some()
            && load.rate_iops.is_none()
        {
            (load.rate_iops, load.closed_loop) = (asked.rate_iops, asked.closed_loop);
        }
    }
}

/// Reads the time, the threads, and the notice of an interrupted run.
fn read_head_line(span: &mut Span, line: &str, commas: &mut bool) -> Result<(), Unreadable> {
    if let Some(rest) = line.strip_prefix("actual test time:") {
        let text = rest.trim().trim_end_matches('s');
        let time = parse_figure(text, 2, commas);
        span.time_s = Some(time.ok_or(Unreadable {
            found: text.to_owned(),
            expected: "seconds with a decimal point",
        })?);
    } else if let Some(rest) = line.strip_prefix("thread count:") {
        span.threads = parse_u32(rest.trim());
    } else if line.starts_with("The test was interrupted before the measurements began") {
        span.interrupted = true;
    }
    Ok(())
}

/// Reads a row of processors. The columns before `CPU` depend on the machine.
fn read_core_row(span: &mut Span, columns: &[String], line: &str, commas: &mut bool) -> Result<(), Unreadable> {
    let cells = split_cells(line);
    let column_index = |title: &str| columns.iter().position(|column| column == title);
    let (Some(cpu), Some(user), Some(kernel)) = (column_index("CPU"), column_index("User"), column_index("Kernel"))
    else {
        return Ok(());
    };
    if cells.len() != columns.len() || parse_integer(cells[cpu]).is_none() {
        return Ok(());
    }
    let mut percent = |cell: usize| {
        let text = cells[cell].trim_end_matches('%').trim();
        parse_figure(text, 2, commas).ok_or_else(|| Unreadable {
            found: cells[cell].to_owned(),
            expected: "a percentage",
        })
    };
    let (user, kernel) = (percent(user)? / 100.0, percent(kernel)? / 100.0);
    span.cores.push(CoreShare {
        // Numbers restart in each group, so the CPU number is the row's index.
        cpu: span.cores.len() as u32,
        user,
        kernel,
        stolen: None,
    });
    Ok(())
}

impl Span {
    fn total(&self) -> Option<RowFigures> {
        self.tables[0].as_ref()?.total
    }

    fn rows(&self, table: usize) -> impl Iterator<Item = &super::text_tables::Row> {
        self.tables[table].iter().flat_map(|table| &table.rows)
    }

    /// The parts that a complete report would have, but this one lacks.
    fn missing(&self, settings: Option<&Settings>) -> Vec<&'static str> {
        let lacks = |table: usize| self.tables[table].as_ref().is_none_or(|table| table.total.is_none());
        let has_latency = self.total().is_some_and(|total| total.latency_ms.is_some());
        let is_cut = |chart: &&Chart| !chart.rows.iter().any(|(share, _)| *share == 1.0);
        let wants_chart = settings.is_some_and(|settings| settings.measures_latency) || has_latency;
        [
            (settings.is_none(), "the input parameters"),
            (self.time_s.is_none(), "the actual test time"),
            (self.cores.is_empty(), "the table of processors"),
            (lacks(0), "the total of all operations"),
            (lacks(1), "the total of reads"),
            (lacks(2), "the total of writes"),
            (
                wants_chart && self.chart().as_ref().is_none_or(is_cut),
                "the percentiles, or their last rows",
            ),
        ]
        .into_iter()
        .filter_map(|(missing, what)| missing.then_some(what))
        .collect()
    }

    /// The last chart covers all targets; charts of single targets come first.
    fn chart(&self) -> Option<&Chart> {
        let total = self.charts.iter().rev().find(|chart| chart.total);
        total.or(self.charts.last())
    }

    /// Percentiles of all, reads or writes, including minimum and maximum.
    fn quantiles(&self, table: usize) -> Vec<(f64, f64)> {
        let column = [2, 0, 1][table];
        let rows = self.chart().into_iter().flat_map(|chart| &chart.rows);
        let known_quantiles = rows.filter_map(|(share, values)| Some((*share, from_ms(values[column]?))));
        known_quantiles.collect()
    }

    fn parts(&self) -> Vec<BreakdownEntry> {
        let directions = [None, Some(Direction::Read), Some(Direction::Write)];
        let tables = directions.into_iter().enumerate();
        let rows = tables.flat_map(|(table, direction)| self.rows(table).map(move |row| (direction, row)));
        rows.map(|(direction, row)| BreakdownEntry {
            name: format!("thread {}, {}", row.thread, row.file),
            direction,
            flow: build_flow(&row.cells, Vec::new()),
        })
        .collect()
    }
}

fn build_flow(cells: &RowFigures, quantiles: Vec<(f64, f64)>) -> IoStats {
    let known_latency = latency_of(&quantiles);
    // DiskSpd prints a mean of 0.000 if there were no operations.
    let some = cells.operations != Some(0);
    let has_latency = cells.latency_ms.is_some() || !known_latency.quantiles.is_empty();
    let latency = (some && has_latency).then(|| Latency {
        samples: cells.operations,
        mean_ns: cells.latency_ms.map(from_ms),
        deviation_ns: cells.latency_deviation_ms.map(from_ms),
        ..known_latency
    });
    IoStats {
        operations: cells.operations,
        bytes: cells.bytes.map(Bytes),
        iops: cells.iops,
        bytes_per_sec: cells.mib_per_sec.map(|rate| rate * f64::from(1 << 20)),
        iops_deviation: cells.iops_deviation,
        latency,
        ..IoStats::default()
    }
}

/// Finds typing errors and deprecated switches, on the command lines and in the text around the
/// report.
fn find_typing_errors(text: &str, commands: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut slips: Vec<&str> = text.split_whitespace().filter(|word| is_zero_typo(word)).collect();
    slips.dedup();
    for slip in slips {
        let digits: String = slip.chars().filter(char::is_ascii_digit).skip(1).collect();
        let message = format!("`{slip}` is not a DiskSpd switch: it begins with the digit 0");
        let finding = Finding::new("OPTION-TYPO", Severity::Note, message);
        findings.push(finding.help(format!("use -o{digits}, with the letter o")));
    }
    let uses = |switch: &str| {
        commands
            .iter()
            .any(|line| line.split_whitespace().any(|word| word == switch))
    };
    if uses("-h") {
        let finding = Finding::new("OPTION-DEPRECATED", Severity::Note, "-h is the old form of -Sh");
        let finding = finding.why("both bypass the system's cache and write through; newer versions no longer list -h");
        findings.push(finding.help("write -Sh"));
    }
    findings
}

/// True for `-08` instead of `-o8`, with any kind of dash.
fn is_zero_typo(word: &str) -> bool {
    let mut characters = word.chars();
    let dash = characters
        .next()
        .is_some_and(|first| matches!(first, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}'));
    let rest = characters.as_str();
    dash && rest.starts_with('0') && rest.len() > 1 && parse_integer(rest).is_some()
}
