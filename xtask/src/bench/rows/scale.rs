//! Many operations in flight, and many workers.

use super::*;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let null = Work::reads(None, 1 << 30, "null", bench.time());
    let cached = Work::reads(Some(bench.places.file()?), bench.places.size, "io_uring", bench.time());
    let found = bench.run_rounds(&[
        ours(null.clone().depth(4096)),
        ours(null.clone().depth(32)),
        ours(cached.clone().depth(4096)),
        ours(cached.depth(32)),
        ours(null.clone().depth(32).workers(512)),
    ])?;
    let cpu = |many: usize, few: usize| compare(&found[many].cpu_ns(), &found[few].cpu_ns(), time);
    let mut figures = ratios(
        row,
        [
            ("CPU per operation, null, depth 4096 against 32", AtMost(1.1), cpu(0, 1)),
            (
                "CPU per operation, cached 1 GiB, depth 4096 against 32",
                AtMost(1.1),
                cpu(2, 3),
            ),
            (
                "CPU per operation, null, 512 workers against 1",
                AtMost(1.25),
                cpu(4, 1),
            ),
        ],
    );
    // The other side is fathom too.
    figures.iter_mut().for_each(|figure| figure.detail += " (both fathom)");
    Ok(figures)
}
