//! Whether the kernel counts as many operations as fathom does.

use super::*;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let device = bench.places.zram()?;
    let mut figures = Vec::new();
    for (engine, depth) in [("psync", 1), ("libaio", 32), ("io_uring", 32)] {
        let work = Work::reads(Some(device), bench.places.size, engine, Until::Operations(100_000));
        let found = bench.run_once(&ours(work.direct().depth(depth)))?;
        let device = &found.json["devices"][0];
        // Adjacent requests that wait in the queue together become one request.
        let requests = device["kernel"]["reads"].as_f64().zip(device["merged"][0].as_f64());
        let (Some(kernel), Some(counted)) = (
            requests.map(|(made, merged)| made + merged),
            device["ours"]["reads"].as_f64(),
        ) else {
            return Err(BenchError(format!(
                "no counts of the kernel in {}",
                found.json["devices"]
            )));
        };
        let what = format!("difference between the reads counted by the kernel and by fathom, {engine}");
        let figure = Figure::new(row, what, AtMost(0.0), Some((kernel - counted).abs()));
        figures.push(figure.with_detail(format!("kernel {kernel}, fathom {counted}")));
    }
    Ok(figures)
}
