//! The cost of a run that does almost nothing.

use super::*;

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
    type Row<'a> = (&'a str, &'static str, f64, [&'a Vec<Outcome>; 2], fn(&Outcome) -> f64);
    let (one, many) = ([&ours_one, &theirs_one], [&ours_many, &theirs_many]);
    let wall_ms = |outcome: &Outcome| outcome.usage.wall_secs * 1e3;
    let rows: [Row; 4] = [
        ("wall time of a run of one operation", "ms", 10.0, one, wall_ms),
        ("CPU time of that run", "ms", 5.0, one, |outcome| {
            outcome.usage.cpu_secs() * 1e3
        }),
        ("memory of that run", "MB", 6.0, one, |outcome| {
            outcome.usage.memory_bytes as f64 / 1e6
        }),
        ("wall time with 64 workers", "ms", 30.0, many, wall_ms),
    ];
    let figure = |(what, unit, max, sides, value): Row| {
        let [ours, theirs] = sides.map(|side| side.iter().map(value).collect::<Vec<f64>>());
        let show = |found: f64| match unit {
            "ms" => time(found * 1e6),
            _ => format!("{} MB", digits(found)),
        };
        let words = |values: &[f64]| median(values).map_or("–".to_owned(), show);
        let detail = format!("{} : {}", words(&ours), words(&theirs));
        let figure = Figure::new(row, what, AtMost(max), median(&ours)).unit(unit);
        figure.with_detail(detail).samples(ours)
    };
    Ok(rows.map(figure).to_vec())
}
