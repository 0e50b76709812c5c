//! Reads Vdbench's `flatfile.html` of 5.03 to 5.04.07: a line of column names, then a row for each
//! interval and average.

use model::observation::Load;

use super::columns::{Column, FLAT_COLUMNS, Figures, missing_columns, strip_tags};
use super::{Row, RowKind, Run, apply_parameter, apply_rate, parse_time_of_day};
use crate::Diagnostic;
use crate::import::{Form, Imported, build_location, problem_at};

/// Columns with requested values, which also distinguish the runs of a definition.
const REQUEST_COLUMNS: [&str; 5] = ["xfersize", "threads", "rdpct", "seekpct", "reqrate"];

/// True if the text is a Vdbench flatfile.
pub(in crate::import) fn is_report(text: &str) -> bool {
    text.lines().any(|line| parse_header(&strip_tags(line)).is_some())
}

/// The column names, if the line is a header. The columns that identify rows and runs are required.
fn parse_header(line: &str) -> Option<Vec<String>> {
    let names: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    ["tod", "run", "interval"].into_iter().all(has).then_some(names)
}

/// The rows of one run.
struct FlatRun {
    /// The `Run` value of its rows.
    definition: String,
    /// Values of [`REQUEST_COLUMNS`].
    requested: [String; REQUEST_COLUMNS.len()],
    run: Run,
}

struct Reader<'a> {
    file: &'a str,
    names: Option<Vec<String>>,
    imported: Imported,
    version: Option<String>,
    runs: Vec<FlatRun>,
    refused: Vec<Diagnostic>,
}

/// Reads every run.
///
/// # Errors
/// The header lacks a required column.
pub(in crate::import) fn read(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    let mut reader = Reader {
        file,
        names: None,
        imported: Imported::new(Form::VdbenchFlat),
        version: None,
        runs: Vec::new(),
        refused: Vec::new(),
    };
    for (index, line) in text.lines().enumerate() {
        let line = strip_tags(line);
        if let Some(names) = parse_header(&line) {
            let lacking = missing_columns(&names, FLAT_COLUMNS, &build_location(file, index + 1, &line));
            reader.refused.extend(lacking);
            reader.names = Some(names);
        } else {
            reader.read_row(line.trim(), index + 1);
        }
    }
    if !reader.refused.is_empty() {
        return Err(reader.refused);
    }
    let mut imported = reader.imported;
    super::add_runs(&mut imported, &name_runs(reader.runs), reader.version.as_deref());
    Ok(imported)
}

/// Names the runs. Runs of the same definition get the requested values that differ appended, and a
/// number if all are equal.
fn name_runs(runs: Vec<FlatRun>) -> Vec<Run> {
    let mut named: Vec<Run> = Vec::new();
    for flat_run in &runs {
        let runs_of_same_definition = || runs.iter().filter(|other| other.definition == flat_run.definition);
        let differs = |column: &usize| {
            runs_of_same_definition().any(|other| other.requested[*column] != flat_run.requested[*column])
        };
        let words: Vec<String> = (0..REQUEST_COLUMNS.len())
            .filter(differs)
            .map(|column| match REQUEST_COLUMNS[column] {
                "reqrate" => format!("iorate={}", flat_run.requested[column]),
                name => format!("{name}={}", flat_run.requested[column]),
            })
            .collect();
        let name = match words.is_empty() {
            true => flat_run.definition.clone(),
            false => format!("{} ({})", flat_run.definition, words.join(" ")),
        };
        let is_earlier = |run: &&Run| run.name == name || run.name.starts_with(&format!("{name} #"));
        let earlier = named.iter().filter(is_earlier).count();
        named.push(Run {
            name: match earlier {
                0 => name,
                _ => format!("{name} #{}", earlier + 1),
            },
            ..flat_run.run.clone()
        });
    }
    named
}

/// Formats a cell of [`REQUEST_COLUMNS`] as in a parameter file: `4` for `4.0000`, `max` for its
/// number.
fn format_request(cell: &str) -> String {
    match cell {
        "9999988.0000" => "max".to_owned(),
        "9999977.0000" => "curve".to_owned(),
        _ if cell.contains('.') => cell.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => cell.to_owned(),
    }
}

impl Reader<'_> {
    fn read_row(&mut self, line: &str, number: usize) {
        let Some(names) = &self.names else { return };
        let cells: Vec<&str> = line.split_whitespace().collect();
        let cell = |wanted: &str| {
            let place = names.iter().position(|name| name == wanted)?;
            cells.get(place).copied()
        };
        // Other lines are notes.
        let Some(time) = cell("tod").and_then(parse_time_of_day) else {
            return;
        };
        let kind = cell("interval").and_then(RowKind::parse);
        let figures = Figures::parse(&cells, names, FLAT_COLUMNS);
        let (Some(definition), Some(kind), Ok(figures)) = (cell("run"), kind, &figures) else {
            if matches!(kind, Some(RowKind::Deviation | RowKind::Max)) {
                return;
            }
            let message = figures.err().unwrap_or_else(|| {
                let found = cell("interval").unwrap_or_default();
                format!("cannot read `{found}` under `interval`: expected a number, or averages such as avg_2-60")
            });
            self.imported.unread.push(problem_at(self.file, number, line, message));
            return;
        };
        let row = Row {
            time,
            kind,
            figures: figures.clone(),
        };
        let belongs = |flat_run: &FlatRun| flat_run.definition == definition && !flat_run.run.is_ended_by(kind);
        if !self.runs.last().is_some_and(belongs) {
            // On files, it is the observed mean.
            let is_observed = |name: &str| name == "xfersize" && names.iter().any(|name| name == "read_rate");
            let requested = REQUEST_COLUMNS.map(|name| cell(name).filter(|_| !is_observed(name)).unwrap_or("n/a"));
            let mut load = Load::default();
            for (name, value) in REQUEST_COLUMNS.iter().zip(requested) {
                apply_parameter(&mut load, name, value);
            }
            apply_rate(&mut load, cell("reqrate").unwrap_or_default());
            if figures.get(Column::ReadRate).is_some() {
                // It counts operations of every kind.
                load.rate_iops = None;
            }
            self.runs.push(FlatRun {
                definition: definition.to_owned(),
                requested: requested.map(format_request),
                run: Run {
                    name: definition.to_owned(),
                    load,
                    rows: Vec::new(),
                },
            });
            if self.imported.started.is_none() {
                self.imported.started = cell("timestamp").map(str::to_owned);
                let version = cell("version").and_then(|version| version.strip_prefix("vdbench"));
                self.version = version.map(str::to_owned);
            }
        }
        if let Some(FlatRun { run, .. }) = self.runs.last_mut() {
            // The column has one of several sizes; the mean is cut to whole bytes.
            let differs = |(block, mean): (model::Bytes, f64)| (block.0 as f64 - mean).abs() > 1.0;
            let mean = figures.get(Column::Size).filter(|mean| *mean > 0.0);
            if run.load.block.zip(mean).is_some_and(differs) {
                run.load.block = None;
            }
            run.rows.push(row);
        }
    }
}
