//! Vdbench's `flatfile.html` of 5.03 to 5.04.07: a line with the names of the columns, then a row
//! for each interval and each average.

use model::observation::Load;

use super::columns::{Figures, OF_FLAT, lacking, of_row, without_tags};
use super::{Rank, Row, Run, ask, ask_rate, time_of_day};
use crate::Diagnostic;
use crate::import::{Form, Imported, place_of};

/// Columns that tell the runs of one definition apart, and what was asked for.
const ASKED: [&str; 4] = ["xfersize", "threads", "rdpct", "seekpct"];

/// True if the text holds such a file.
pub(in crate::import) fn is_one(text: &str) -> bool {
    text.lines().any(|line| header(&without_tags(line)).is_some())
}

/// The names of the columns, if a line names them. Those that tell rows and runs apart must be
/// there.
fn header(line: &str) -> Option<Vec<String>> {
    let names: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    ["tod", "run", "interval"].into_iter().all(has).then_some(names)
}

struct Reader<'a> {
    file: &'a str,
    names: Option<Vec<String>>,
    imported: Imported,
    version: Option<String>,
    /// Each with the value of `Run` that its rows have.
    runs: Vec<(String, Run)>,
    refused: Vec<Diagnostic>,
}

/// Reads every run.
///
/// # Errors
/// The header lacks a column that is needed.
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
        let line = without_tags(line);
        if let Some(names) = header(&line) {
            let lacking = lacking(&names, OF_FLAT, &place_of(file, index + 1, &line));
            reader.refused.extend(lacking);
            reader.names = Some(names);
        } else {
            reader.take_row(line.trim(), index + 1);
        }
    }
    if !reader.refused.is_empty() {
        return Err(reader.refused);
    }
    let mut imported = reader.imported;
    super::take(&mut imported, &named(reader.runs), reader.version.as_deref());
    Ok(imported)
}

/// Runs of one definition are distinguished by what was asked of them.
fn named(runs: Vec<(String, Run)>) -> Vec<Run> {
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
    fn take_row(&mut self, line: &str, number: usize) {
        let Some(names) = &self.names else { return };
        let cells: Vec<&str> = line.split_whitespace().collect();
        let cell = |wanted: &str| {
            let place = names.iter().position(|name| name == wanted)?;
            cells.get(place).copied()
        };
        // Lines that do not begin as rows do are notes.
        let Some(time) = cell("tod").and_then(time_of_day) else {
            return;
        };
        let rank = cell("interval").and_then(Rank::parse);
        let figures = Figures::parse(&cells, names, OF_FLAT);
        let (Some(definition), Some(rank), Ok(figures)) = (cell("run"), rank, &figures) else {
            if matches!(rank, Some(Rank::Deviation | Rank::Largest)) {
                return;
            }
            let what = figures.err().unwrap_or_else(|| {
                let found = cell("interval").unwrap_or_default();
                format!("`{found}` under `interval` cannot be read: expected a number, or averages such as avg_2-60")
            });
            self.imported.unread.push(of_row(self.file, number, line, what));
            return;
        };
        let row = Row {
            time,
            rank,
            figures: figures.clone(),
        };
        let belongs = |(name, run): &(String, Run)| name == definition && !run.is_over_before(rank);
        if !self.runs.last().is_some_and(belongs) {
            let mut load = Load::default();
            let mut asked = Vec::new();
            for name in ASKED {
                if let Some(value) = cell(name).filter(|value| !matches!(*value, "n/a" | "-")) {
                    ask(&mut load, name, value);
                    asked.push(format!("{name}={value}"));
                }
            }
            ask_rate(&mut load, cell("reqrate").unwrap_or_default());
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
