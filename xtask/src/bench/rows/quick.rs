//! The cells of `fathom quick`, compared with fio at the same settings: on a disk both tools must
//! get the same figures.

use super::*;

/// Name, access, KiB of a block, percentage of reads, depth, and whether on all processors.
const CELLS: [(&str, Access, u64, u32, u32, bool); 7] = [
    ("random read, depth 1", Access::Random, 4, 100, 1, false),
    ("random write, depth 1", Access::Random, 4, 0, 1, false),
    ("random read, depth 32", Access::Random, 4, 100, 32, true),
    ("random write, depth 32", Access::Random, 4, 0, 32, true),
    ("sequential read", Access::Sequential, 1024, 100, 8, false),
    ("sequential write", Access::Sequential, 1024, 0, 8, false),
    ("random 70/30, depth 32", Access::Random, 8, 70, 32, true),
];

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let file = bench.places.file()?;
    let path = file.display().to_string();
    let mut figures = Vec::new();
    for (name, access, kib, read_percent, depth, wide) in CELLS {
        let workers = if wide { bench.machine.cores.min(8) as u32 } else { 1 };
        let mut work = Work {
            access,
            block: kib << 10,
            read_percent,
            depth,
            workers,
            ..Work::reads(Some(file), bench.places.size, "io_uring", bench.time()).direct()
        };
        if read_percent < 100 {
            work = work.ours(&["--allow-overwrite", &path]);
        }
        let found = bench.run_rounds(&[ours(work.clone()), theirs(work)])?;
        let comparison = compare(&found[0].iops(), &found[1].iops(), per_second);
        figures.push(ratio(row, &format!("IOPS, {name}"), Between(0.9, 1.1), comparison));
    }
    Ok(figures)
}
