//! `cargo xtask bench`: compares fathom with fio in interleaved pairs.
//!
//! Figures are recorded with their goals, and do not fail a test. `--smoke` measures every row once
//! and briefly, to check that it still works.

mod child;
mod contest;
mod figure;
mod machine;
mod options;
mod outcome;
mod places;
mod record;
mod rows;
mod statistics;
mod tools;
mod work;

use std::fmt;

pub(crate) use child::measured;
use contest::Bench;
use figure::Figure;
use options::Options;

use crate::command::select;

/// Why a row could not be measured.
#[derive(Debug)]
pub(crate) struct BenchError(String);

impl fmt::Display for BenchError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl From<std::io::Error> for BenchError {
    fn from(error: std::io::Error) -> BenchError {
        BenchError(error.to_string())
    }
}

impl From<serde_json::Error> for BenchError {
    fn from(error: serde_json::Error) -> BenchError {
        BenchError(format!("unexpected JSON: {error}"))
    }
}

impl From<testbed::Unavailable> for BenchError {
    fn from(why: testbed::Unavailable) -> BenchError {
        BenchError(why.to_string())
    }
}

/// Measures every row, or those named, and writes the results to `bench/runs`.
pub(crate) fn bench(arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    let wanted = select(rows::ROWS, &options.only, "row")?;
    let bench = Bench::new(options).map_err(|why| why.to_string())?;
    let mut figures: Vec<Figure> = Vec::new();
    let mut failed = Vec::new();
    for (name, measure) in wanted {
        eprintln!("== {name}");
        match measure(&bench, name) {
            Ok(found) => figures.extend(found.into_iter().inspect(show)),
            Err(why) => {
                eprintln!("   {why}");
                failed.push(*name);
                figures.push(Figure::absent(name, why));
            }
        }
    }
    record::write(&bench, &figures).map_err(|why| why.to_string())?;
    let absent = bench.absent_tools();
    match (
        failed.is_empty(),
        std::env::var_os("FATHOM_CI").is_some() && !absent.is_empty(),
    ) {
        (false, _) => Err(format!("could not be measured: {}", failed.join(", "))),
        (_, true) => Err(format!("not installed: {}", absent.join(", "))),
        _ => Ok(()),
    }
}

fn show(figure: &Figure) {
    let found = figure
        .found
        .map_or("–".into(), |found| figure::amount(found, figure.unit));
    let (what, goal) = (&figure.what, figure.goal.describe(figure.unit));
    eprintln!(
        "   {what}: {found}  (goal {goal}: {})  {}",
        figure.verdict(),
        figure.detail
    );
}
