//! Reads Vdbench's `flatfile.html` of 5.03 to 5.04.07: a line of column names, then a row for each
//! interval and average.

use model::observation::Load;

use super::columns::{FLAT_COLUMNS, Figures, missing_columns, row_error, strip_tags};
use super::{Row, RowKind, Run, apply_rate, apply_request, parse_time_of_day};
use crate::Diagnostic;
use crate::import::{Form, Imported, place_of};

/// Columns with requested values, which also distinguish the runs of a definition.
const REQUEST_COLUMNS: [&str; 4] = ["xfersize", "threads", "rdpct", "seekpct"];

/// True if the text is such a file.
pub(in crate::import) fn is_report(text: &str) -> bool {
    text.lines().any(|line| parse_header(&strip_tags(line)).is_some())
}

/// The column names, if the line is a header. The columns that identify rows and runs are required.
fn parse_header(line: &str) -> Option<Vec<String>> {
    let names: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    ["tod", "run", "interval"].into_iter().all(has).then_some(names)
}

struct Reader<'a> {
    file: &'a str,
    names: Option<Vec<String>>,
    imported: Imported,
    version: Option<String>,
    /// The runs, each with the `Run` value of its rows.
    runs: Vec<(String, Run)>,
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
            let lacking = missing_columns(&names, FLAT_COLUMNS, &place_of(file, index + 1, &line));
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

/// Names the runs. Runs of the same definition get their requested values appended.
fn name_runs(runs: Vec<(String, Run)>) -> Vec<Run> {
    let names: Vec<String> = runs.iter().map(|(name, _)| name.clone()).collect();
    let several = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let of = |(name, run): (String, Run)| Run {
        name: match several(&name) {
            true => run.name,
            false => name,
        },
        ..run
    };
    runs.into_iter().map(of).collect()
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
            if matches!(kind, Some(RowKind::Deviation | RowKind::Largest)) {
                return;
            }
            let what = figures.err().unwrap_or_else(|| {
                let found = cell("interval").unwrap_or_default();
                format!("cannot read `{found}` under `interval`: expected a number, or averages such as avg_2-60")
            });
            self.imported.unread.push(row_error(self.file, number, line, what));
            return;
        };
        let row = Row {
            time,
            kind,
            figures: figures.clone(),
        };
        let belongs = |(name, run): &(String, Run)| name == definition && !run.ends_before(kind);
        if !self.runs.last().is_some_and(belongs) {
            let mut load = Load::default();
            let mut asked = Vec::new();
            for name in REQUEST_COLUMNS {
                if let Some(value) = cell(name).filter(|value| !matches!(*value, "n/a" | "-")) {
                    apply_request(&mut load, name, value);
                    asked.push(format!("{name}={value}"));
                }
            }
            apply_rate(&mut load, cell("reqrate").unwrap_or_default());
            let run = Run {
                name: format!("{definition} ({})", asked.join(" ")).replace(" ()", ""),
                load,
                rows: Vec::new(),
            };
            self.runs.push((definition.to_owned(), run));
            if self.imported.started.is_none() {
                self.imported.started = cell("timestamp").map(str::to_owned);
                let version = cell("version").and_then(|version| version.strip_prefix("vdbench"));
                self.version = version.map(str::to_owned);
            }
        }
        if let Some((_, run)) = self.runs.last_mut() {
            run.rows.push(row);
        }
    }
}
