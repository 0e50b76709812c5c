//! Whether latencies cover all waiting: operations in flight by Little's law, compared with the
//! configured depth.

use super::*;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let disk = bench.places.file()?;
    let deep: &[u32] = &[1, 2, 4, 8, 16, 32, 64, 128];
    let mut figures = Vec::new();
    for (engine, target, depths) in [
        ("io_uring", Some(disk), deep),
        ("libaio", Some(disk), deep),
        ("psync", Some(disk), &[1][..]),
        ("null", None, deep),
    ] {
        let depths = if bench.options.smoke { &depths[..1] } else { depths };
        let mut off = Vec::new();
        let mut shown = Vec::new();
        for depth in depths {
            let work = Work::reads(target, bench.places.size, engine, bench.time())
                .direct()
                .depth(*depth);
            let found = bench.run_once(&ours(work))?;
            let job = &found.json["jobs"][0];
            let (Some(in_flight), Some(allowed)) = (job["in_flight"].as_f64(), job["depth"].as_f64()) else {
                return Err(BenchError(format!(
                    "{engine} at depth {depth} does not report the operations in flight"
                )));
            };
            off.push(100.0 * (in_flight / allowed - 1.0).abs());
            shown.push(format!("{in_flight:.2}/{allowed}"));
        }
        let worst = off.iter().copied().reduce(f64::max);
        let what = format!("operations in flight against queue depth, {engine}, depth 1 to 128, worst");
        let figure = Figure::new(row, what, AtMost(1.0), worst).unit("%");
        figures.push(figure.with_detail(shown.join(" ")).samples(off));
    }
    Ok(figures)
}
