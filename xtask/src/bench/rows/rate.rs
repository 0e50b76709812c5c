//! Whether a rate is met.

use super::*;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let file = bench.places.tmpfs()?;
    let seconds = if bench.options.smoke { 1.0 } else { 2.0 };
    let mut figures = Vec::new();
    for rate in [1_000, 4_000, 50_000] {
        let work = Work {
            rate: Some(rate),
            ..Work::reads(Some(file), bench.places.size, "psync", Until::Seconds(seconds))
        };
        let expected = f64::from(rate) * seconds;
        // The first or the last operation may be on either side of the boundary.
        let off = |found: &Outcome| 100.0 * ((found.operations - expected).abs() - 1.0).max(0.0) / expected;
        let (mut fathom, mut fio, mut delay) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..bench.options.pairs {
            let found = bench.run_once(&ours(work.clone()))?;
            fathom.push(off(&found));
            let percentiles = &found.json["jobs"][0]["total"]["schedule_delay"]["percentiles"];
            let median = percentiles
                .as_array()
                .into_iter()
                .flatten()
                .find(|percentile| percentile["percent"] == 50.0);
            delay.extend(median.and_then(|percentile| percentile["ns"].as_f64()));
            if bench.tools.has_fio {
                fio.push(off(&bench.run_once(&theirs(work.clone()))?));
            }
        }
        let words =
            |values: &[f64]| median(values).map_or("–".to_owned(), |percent| format!("{} %", digits(percent)));
        let late = median(&delay).map_or("–".to_owned(), time);
        let detail = format!("{} : {}; median schedule delay {late}", words(&fathom), words(&fio));
        let what = format!("rate error beyond one operation, {rate}/s");
        let figure = Figure::new(row, what, AtMost(0.01), median(&fathom)).unit("%");
        figures.push(figure.with_detail(detail).samples(fathom));
    }
    Ok(figures)
}
