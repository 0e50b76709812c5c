//! Vdbench's `flatfile.html` of 5.03 to 5.04.07: a line with the names of the columns, then a row
//! for each interval and each average.

use model::observation::Load;

use super::columns::{Column, Figures, OF_FLAT, lacking, of_row, without_tags};
use super::{Rank, Row, Run, ask, ask_rate, time_of_day};
use crate::Diagnostic;
use crate::import::{Form, Imported, place_of};

/// Columns that tell the runs of one definition apart, and what was asked for.
const ASKED: [&str; 5] = ["xfersize", "threads", "rdpct", "seekpct", "reqrate"];

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

/// The rows of one run.
struct FlatRun {
    /// Its value of `Run`.
    definition: String,
    /// Its values of the columns [`ASKED`].
    asked: [String; ASKED.len()],
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

/// Runs of one definition are distinguished by what was asked of one and not of another, and by a
/// number where that is all the same.
fn named(runs: Vec<FlatRun>) -> Vec<Run> {
    let mut named: Vec<Run> = Vec::new();
    for one in &runs {
        let same = || runs.iter().filter(|other| other.definition == one.definition);
        let differs = |column: &usize| same().any(|other| other.asked[*column] != one.asked[*column]);
        let words: Vec<String> = (0..ASKED.len())
            .filter(differs)
            .map(|column| match ASKED[column] {
                "reqrate" => format!("iorate={}", one.asked[column]),
                name => format!("{name}={}", one.asked[column]),
            })
            .collect();
        let name = match words.is_empty() {
            true => one.definition.clone(),
            false => format!("{} ({})", one.definition, words.join(" ")),
        };
        let is_earlier = |run: &&Run| run.name == name || run.name.starts_with(&format!("{name} #"));
        let earlier = named.iter().filter(is_earlier).count();
        named.push(Run {
            name: match earlier {
                0 => name,
                _ => format!("{name} #{}", earlier + 1),
            },
            ..one.run.clone()
        });
    }
    named
}

/// A cell of a column of [`ASKED`] as one would write it: `4` for `4.0000`, `max` for its number.
fn plain(cell: &str) -> String {
    match cell {
        "9999988.0000" => "max".to_owned(),
        "9999977.0000" => "curve".to_owned(),
        _ if cell.contains('.') => cell.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => cell.to_owned(),
    }
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
        let belongs = |known: &FlatRun| known.definition == definition && !known.run.is_over_before(rank);
        if !self.runs.last().is_some_and(belongs) {
            let asked = ASKED.map(|name| cell(name).unwrap_or("n/a"));
            let mut load = Load::default();
            for (name, value) in ASKED.iter().zip(asked) {
                ask(&mut load, name, value);
            }
            ask_rate(&mut load, cell("reqrate").unwrap_or_default());
            if figures.get(Column::ReadRate).is_some() {
                // It counts operations of every kind.
                load.rate_iops = None;
            }
            self.runs.push(FlatRun {
                definition: definition.to_owned(),
                asked: asked.map(plain),
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
