//! Direct reads of compressed memory: a device that answers within the call.

use super::*;

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
    let efficiency = |place: usize| {
        compare(
            &per_cpu_second(&found[place]),
            &per_cpu_second(&found[place + 1]),
            per_second,
        )
    };
    let iops = |place: usize| compare(&found[place].iops(), &found[place + 1].iops(), per_second);
    let cpu = compare(&found[4].cpu_ns(), &found[5].cpu_ns(), time);
    let figures = [
        ("IOPS per CPU-second, libaio, depth 32", AtLeast(1.2), efficiency(0)),
        ("IOPS per CPU-second, psync", AtLeast(1.05), efficiency(2)),
        ("CPU per operation, io_uring, depth 32", AtMost(0.75), cpu),
        ("IOPS, libaio, depth 32", Nothing, iops(0)),
        ("IOPS, psync", Nothing, iops(2)),
        ("IOPS, io_uring, depth 32", Nothing, iops(4)),
    ];
    Ok(ratios(row, figures))
}
