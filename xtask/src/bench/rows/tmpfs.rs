//! A file in memory, one read at a time.

use super::*;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let file = bench.places.tmpfs()?;
    let work = Work::reads(Some(file), bench.places.size, "psync", bench.time());
    let found = bench.run_rounds(&[ours(work.clone()), theirs(work)])?;
    let comparison = compare(&found[0].iops(), &found[1].iops(), per_second);
    Ok(vec![ratio(row, "IOPS, psync", AtLeast(1.2), comparison)])
}
