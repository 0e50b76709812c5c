//! Reads Iometer's results (`results.csv`) of 2003 to 1.1. Sections begin with an apostrophe. After
//! a line of column titles come rows for all, each manager, processor, worker and disk. Columns are
//! found by title, because they differ between versions. Total rates come from the row `ALL`; the
//! queue depth is the configured one, not the measured one.

mod access;
mod table;

use model::PerDirection;
use model::finding::{Finding, Severity};
use model::observation::{BreakdownEntry, CoreShare, Load, Observation, StatedFigures};

use access::AccessSpec;
use table::{Row, Table, split_cells};

use super::numbers::{parse_decimal, parse_integer};
use super::{Form, Imported, build_location, problem_at};
use crate::Diagnostic;

/// True if the text contains such results, even truncated ones.
pub(super) fn is_report(text: &str) -> bool {
    text.lines().any(|line| {
        let cells = split_cells(line);
        let title = |index: usize| {
            cells
                .get(index)
                .map(|cell| cell.trim_start_matches('\'').to_ascii_lowercase())
        };
        title(0).as_deref() == Some("target type") && cells.len() > 2
            || cells[0].starts_with('\'')
                && title(0).as_deref() == Some("test type")
                && title(1).as_deref() == Some("test description")
    })
}

/// The content of the next line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum NextLine {
    #[default]
    Nothing,
    Version,
    TimeStamp,
    AccessName,
    /// Lines of an access specification, until the next section.
    AccessLines,
    /// The configured queue depth, in the cell with this number.
    Outstanding(usize),
}

/// A result: the row `ALL`, and the rows of its parts.
#[derive(Debug)]
struct Group {
    all: Row,
    rows: Vec<Row>,
    /// The number of specifications before it. Later ones belong to results that were appended to
    /// the file.
    known_specs: usize,
}

struct Reader<'a> {
    file: &'a str,
    imported: Imported,
    version: Option<String>,
    next_line: NextLine,
    access: Vec<AccessSpec>,
    table: Option<Table>,
    /// The line of the last header, until a row `ALL` follows it.
    empty: Option<usize>,
    outstanding: Vec<u64>,
    groups: Vec<Group>,
    refused: Vec<Diagnostic>,
}

/// Reads every result.
///
/// # Errors
/// A required column is missing, or there are no results.
pub(super) fn read(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    let mut reader = Reader {
        file,
        imported: Imported::new(Form::Iometer),
        version: None,
        next_line: NextLine::Nothing,
        access: Vec::new(),
        table: None,
        empty: None,
        outstanding: Vec::new(),
        groups: Vec::new(),
        refused: Vec::new(),
    };
    let last = text.lines().count();
    for (index, line) in text.lines().enumerate() {
        let cells = split_cells(line);
        if cells.iter().all(String::is_empty) {
            continue;
        }
        reader.read_line(&cells, index + 1, line, index + 1 == last);
    }
    reader.report_empty();
    match reader.refused.is_empty() {
        true => Ok(reader.finish()),
        false => Err(reader.refused),
    }
}

impl Reader<'_> {
    fn read_line(&mut self, cells: &[String], number: usize, line: &str, is_last: bool) {
        let first = cells[0].as_str();
        let title = first.trim_start_matches('\'').trim().to_ascii_lowercase();
        if title == "target type" && cells.len() > 2 {
            self.report_empty();
            (self.next_line, self.empty) = (NextLine::Nothing, Some(number));
            let location = build_location(self.file, number, line);
            match Table::from_header(cells, &location) {
                Ok(table) => self.table = Some(table),
                Err(problems) => self.refused.extend(problems),
            }
        } else if first.starts_with('\'') {
            self.read_section(&title, cells);
        } else if self.next_line != NextLine::Nothing {
            self.read_value(cells, number, line);
        } else {
            self.read_row(cells, number, line, is_last);
        }
    }

    /// Reads a line that begins a section.
    fn read_section(&mut self, title: &str, cells: &[String]) {
        let outstanding = cells.iter().position(|cell| {
            let words = cell
                .trim_start_matches('\'')
                .trim()
                .to_ascii_lowercase()
                .replace("i/o", "io");
            matches!(&*words, "number of outstanding ios" | "# of outstanding ios")
        });
        self.next_line = match (title, outstanding) {
            ("version", _) => NextLine::Version,
            ("time stamp", _) => NextLine::TimeStamp,
            ("access specification name", _) => NextLine::AccessName,
            ("size", _) => match self.access.last_mut() {
                Some(access) => {
                    access.set_titles(cells);
                    NextLine::AccessLines
                }
                None => NextLine::Nothing,
            },
            (_, Some(column)) => NextLine::Outstanding(column),
            _ => NextLine::Nothing,
        };
    }

    fn read_value(&mut self, cells: &[String], number: usize, line: &str) {
        match self.next_line {
            NextLine::Nothing => return,
            NextLine::Version => self.version = Some(cells[0].clone()),
            NextLine::TimeStamp => {
                self.imported.started = self.imported.started.take().or(Some(cells[0].clone()));
            }
            NextLine::AccessName => self.access.push(AccessSpec::new(&cells[0])),
            NextLine::Outstanding(column) => {
                let depth = cells.get(column).and_then(|cell| parse_integer(cell));
                self.outstanding.extend(depth);
            }
            NextLine::AccessLines => {
                let taken = self.access.last_mut().map_or(Ok(()), |access| access.add_line(cells));
                if let Err(what) = taken {
                    self.unread(what, number, line);
                }
                return;
            }
        }
        self.next_line = NextLine::Nothing;
    }

    fn read_row(&mut self, cells: &[String], number: usize, line: &str, is_last: bool) {
        let Some(table) = &self.table else { return };
        let row = match table.row(cells, is_last) {
            Ok(Some(row)) => row,
            Ok(None) => return,
            Err(what) => {
                if cells[0].eq_ignore_ascii_case("all") {
                    // Rows of its parts belong to no earlier result.
                    self.empty = None;
                    self.table = None;
                }
                return self.unread(what, number, line);
            }
        };
        if row.kind == "ALL" {
            self.empty = None;
            self.groups.push(Group {
                all: row,
                rows: Vec::new(),
                known_specs: self.access.len(),
            });
        } else if self.empty.is_none()
            && let Some(group) = self.groups.last_mut()
        {
            group.rows.push(row);
        }
    }

    fn unread(&mut self, what: String, number: usize, line: &str) {
        self.imported.unread.push(problem_at(self.file, number, line, what));
    }

    /// Reports titles without a result.
    fn report_empty(&mut self) {
        if let Some(number) = self.empty.take() {
            let message = format!(
                "no row ALL follows the titles in line {number}: the file is truncated, or the test recorded nothing"
            );
            let finding = Finding::new("REPORT-TRUNCATED", Severity::Warning, message);
            let help = "pass the complete file, or repeat the test with \"Record Results\" set to All";
            self.imported.findings.push(finding.help(help));
        }
    }

    fn finish(mut self) -> Imported {
        let names: Vec<&str> = self.groups.iter().map(|group| group.all.access.as_str()).collect();
        let several = |name: &str| names.iter().filter(|other| **other == name).count() > 1;
        for (index, group) in self.groups.iter().enumerate() {
            let name = match group.all.access.as_str() {
                "" => format!("result {}", index + 1),
                name if several(name) => format!("{name} (result {})", index + 1),
                name => name.to_owned(),
            };
            self.imported.findings.extend(group.all.ranges(&name));
            let load = group.load(&self.access[..group.known_specs], &self.outstanding);
            self.imported
                .loads
                .push(group.observation(name, load, self.version.as_deref()));
        }
        let managers = || self.groups.iter().filter_map(Group::manager);
        if let Some(first) = managers().next()
            && self.groups.iter().all(|group| group.manager() == Some(first))
        {
            self.imported.host = Some(first.to_owned());
            let count = self.groups[0].rows_with_kind("PROCESSOR").count();
            self.imported.processors = u32::try_from(count).ok().filter(|count| *count > 0);
        }
        self.imported
    }
}

impl Group {
    fn rows_with_kind(&self, kind: &'static str) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.kind == kind)
    }

    /// The manager, if there is only one.
    fn manager(&self) -> Option<&str> {
        let mut managers = self.rows_with_kind("MANAGER");
        let first = managers.next()?;
        managers.next().is_none().then_some(first.name.as_str())
    }

    fn load(&self, access: &[AccessSpec], outstanding: &[u64]) -> Load {
        let mut targets: Vec<String> = Vec::new();
        for disk in self.rows_with_kind("DISK") {
            if !targets.contains(&disk.name) {
                targets.push(disk.name.clone());
            }
        }
        let load = Load {
            targets,
            workers: self.all.workers,
            depth: self.depth(outstanding),
            ..Load::default()
        };
        // If workers have different specifications, none describes the whole load.
        let has_same_access = |row: &Row| row.access.is_empty() || row.access == self.all.access;
        let matching_access = access.iter().rev().find(|access| access.name == self.all.access);
        match matching_access.filter(|_| self.rows_with_kind("WORKER").all(has_same_access)) {
            Some(access) => access.apply_to(load),
            None => load,
        }
    }

    /// The queue depth over all workers and disks. The setting counts per worker and disk.
    fn depth(&self, outstanding: &[u64]) -> Option<u64> {
        let sum = |values: Vec<Option<u64>>| {
            let sum = values.into_iter().try_fold(0u64, |sum, count| sum.checked_add(count?));
            sum.filter(|sum| *sum > 0)
        };
        let worker_depth = |row: &Row, depth: Option<u64>| depth?.checked_mul(u64::from(row.disks?));
        let depth_of_disks = || sum(self.rows_with_kind("DISK").map(|row| row.depth).collect());
        let depth_of_workers = |set: Option<u64>| {
            let workers = self.rows_with_kind("WORKER");
            sum(workers.map(|row| worker_depth(row, set.or(row.depth))).collect())
        };
        let depth_of_only_worker = || {
            let is_single = self.all.workers == Some(1) && self.all.disks == Some(1);
            self.all.depth.filter(|_| is_single)
        };
        let set = || {
            let (first, others) = outstanding.split_first()?;
            let depth = others.iter().all(|other| other == first).then_some(*first);
            depth_of_workers(depth).or_else(|| worker_depth(&self.all, depth).filter(|_| self.all.workers == Some(1)))
        };
        depth_of_disks()
            .or_else(|| depth_of_workers(None))
            .or_else(depth_of_only_worker)
            .or_else(set)
    }

    fn observation(&self, name: String, load: Load, version: Option<&str>) -> Observation {
        let one_manager = self.manager().is_some();
        let parts = ["WORKER", "MANAGER"]
            .into_iter()
            .find(|kind| self.rows_with_kind(kind).next().is_some());
        let mut manager = "";
        let mut named: Vec<BreakdownEntry> = Vec::new();
        for row in &self.rows {
            if row.kind == "MANAGER" {
                manager = &row.name;
            }
            if Some(row.kind) == parts {
                named.push(BreakdownEntry {
                    name: match row.kind {
                        "WORKER" if !manager.is_empty() => format!("{manager}, {}", row.name),
                        _ => row.name.clone(),
                    },
                    direction: None,
                    flow: row.total.clone(),
                });
            }
        }
        let cores: Option<Vec<CoreShare>> = self.rows_with_kind("PROCESSOR").map(Row::core).collect();
        Observation {
            tool: "Iometer".into(),
            version: version.map(str::to_owned),
            name,
            load,
            directions: PerDirection::from_fn(|direction| self.all.direction_flow(direction)),
            total: self.all.total.clone(),
            breakdown: named,
            cores: cores.filter(|_| one_manager).unwrap_or_default(),
            stated: StatedFigures {
                processors_busy: self.all.busy.filter(|_| one_manager).map(|percent| percent / 100.0),
                ..StatedFigures::default()
            },
            errors: self.all.errors,
            ..Observation::default()
        }
    }
}

/// Parses a percentage of at most 100.
fn percent(text: &str) -> Option<f64> {
    parse_decimal(text).filter(|percent| *percent <= 100.0)
}
