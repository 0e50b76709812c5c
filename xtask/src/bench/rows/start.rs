//! The cost of a run that does almost nothing.

use crate::bench::BenchError;
use crate::bench::contest::{Bench, Contender, ours, theirs, time};
use crate::bench::figure::{Figure, Wanted, digits};
use crate::bench::outcome::Outcome;
use crate::bench::statistics::median;
use crate::bench::work::{Until, Work};

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let file = bench.places.file()?;
    let one_read = Work::reads(Some(file), bench.places.size, "psync", Until::Operations(1)).direct();
    let many = one_read.clone().workers(64).until(Until::Operations(64));
    let runs = if bench.options.smoke { 2 } else { 20 };
    let repeated = |contender: Contender| -> Result<Vec<Outcome>, BenchError> {
        (0..runs).map(|_| bench.run_once(&contender)).collect()
    };
    let peer = |work: Work| match bench.tools.has_fio {
        true => repeated(theirs(work)),
        false => Ok(Vec::new()),
    };
    let (ours_one, theirs_one) = (repeated(ours(one_read.clone()))?, peer(one_read)?);
    let (ours_many, theirs_many) = (repeated(ours(many.clone()))?, peer(many)?);
    let wall_ms = |outcome: &Outcome| outcome.usage.wall_secs * 1e3;
    let cpu_ms = |outcome: &Outcome| outcome.usage.cpu_secs() * 1e3;
    let memory_mb = |outcome: &Outcome| outcome.usage.memory_bytes as f64 / 1e6;
    let as_ms = |ms: f64| time(ms * 1e6);
    let as_mb = |mb: f64| format!("{} MB", digits(mb));
    Ok(vec![
        figure(
            row,
            "wall time of a run of one operation",
            "ms",
            10.0,
            [&ours_one, &theirs_one],
            wall_ms,
            as_ms,
        ),
        figure(
            row,
            "CPU time of that run",
            "ms",
            5.0,
            [&ours_one, &theirs_one],
            cpu_ms,
            as_ms,
        ),
        figure(
            row,
            "memory of that run",
            "MB",
            6.0,
            [&ours_one, &theirs_one],
            memory_mb,
            as_mb,
        ),
        figure(
            row,
            "wall time with 64 workers",
            "ms",
            30.0,
            [&ours_many, &theirs_many],
            wall_ms,
            as_ms,
        ),
    ])
}

fn figure(
    row: &'static str,
    what: &str,
    unit: &'static str,
    max: f64,
    sides: [&Vec<Outcome>; 2],
    value: impl Fn(&Outcome) -> f64,
    show: impl Fn(f64) -> String,
) -> Figure {
    let [ours, theirs] = sides.map(|side| side.iter().map(&value).collect::<Vec<f64>>());
    let words = |values: &[f64]| median(values).map_or("–".to_owned(), &show);
    let detail = format!("{} : {}", words(&ours), words(&theirs));
    Figure::new(row, what, Wanted::AtMost(max), median(&ours))
        .unit(unit)
        .with_detail(detail)
        .samples(ours)
}
