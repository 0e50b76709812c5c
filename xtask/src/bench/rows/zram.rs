//! Direct reads of compressed memory: a device that answers within the call.

use super::ratio;
use crate::bench::BenchError;
use crate::bench::contest::{Bench, Rounds, compare, ours, per_second, theirs, time};
use crate::bench::figure::{Figure, Wanted};
use crate::bench::work::Work;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let device = bench.places.zram()?;
    let reads_with = |engine, depth| {
        Work::reads(Some(device), bench.places.size, engine, bench.time())
            .direct()
            .depth(depth)
    };
    let works = [
        reads_with("libaio", 32),
        reads_with("psync", 1),
        reads_with("io_uring", 32),
    ];
    let contenders: Vec<_> = works
        .iter()
        .flat_map(|work| [ours(work.clone()), theirs(work.clone())])
        .collect();
    let found = bench.run_rounds(&contenders)?;
    let per_cpu_second = |rounds: &Rounds| rounds.cpu_ns().iter().map(|ns| 1e9 / ns).collect::<Vec<_>>();
    let efficiency = |index: usize| {
        compare(
            &per_cpu_second(&found[index]),
            &per_cpu_second(&found[index + 1]),
            per_second,
        )
    };
    let iops = |index: usize| compare(&found[index].iops(), &found[index + 1].iops(), per_second);
    Ok(vec![
        ratio(
            row,
            "IOPS per CPU-second, libaio, depth 32",
            Wanted::AtLeast(1.2),
            efficiency(0),
        ),
        ratio(row, "IOPS per CPU-second, psync", Wanted::AtLeast(1.05), efficiency(2)),
        ratio(
            row,
            "CPU per operation, io_uring, depth 32",
            Wanted::AtMost(0.75),
            compare(&found[4].cpu_ns(), &found[5].cpu_ns(), time),
        ),
        ratio(row, "IOPS, libaio, depth 32", Wanted::Nothing, iops(0)),
        ratio(row, "IOPS, psync", Wanted::Nothing, iops(2)),
        ratio(row, "IOPS, io_uring, depth 32", Wanted::Nothing, iops(4)),
    ])
}
