//! The overhead of the tools alone.

use super::*;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let mut figures = Vec::new();
    for (depth, goal) in [(1, 7.0), (32, 10.0)] {
        let work = Work::reads(None, 1 << 30, "null", bench.time()).depth(depth);
        let found = bench.run_rounds(&[ours(work.clone()), theirs(work)])?;
        let comparison = compare(&found[0].iops(), &found[1].iops(), per_second);
        let what = format!("IOPS of the null engine, depth {depth}");
        figures.push(ratio(row, &what, AtLeast(goal), comparison));
    }
    Ok(figures)
}
