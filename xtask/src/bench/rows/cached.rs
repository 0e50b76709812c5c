//! Files in the page cache, read through `io_uring`.
//!
//! A small file also stays in the processor's cache, and shows the overhead of the tools. With a
//! large file, memory takes most of the time.

use super::*;

/// Options with which fio is faster and still has its statistics.
const TUNED: [&str; 6] = [
    "--fixedbufs=1",
    "--registerfiles=1",
    "--nonvectored=1",
    "--iodepth_batch=32",
    "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=32",
];

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let file = bench.places.file()?;
    let hot = Work::reads(Some(bench.places.hot()?), HOT_BYTES, "io_uring", bench.time()).depth(32);
    let tuned = hot.clone().theirs(&TUNED);
    let found = bench.run_rounds(&[
        ours(hot.clone()),
        ours(hot.clone().ours(&["--batch", "32"])),
        theirs(hot.clone()),
        theirs(tuned.clone()),
        theirs(tuned.theirs(&["--gtod_reduce=1"])),
    ])?;
    let iops = |one: usize, rival: usize| compare(&found[one].iops(), &found[rival].iops(), per_second);
    let small = [
        ("IOPS, 4 MiB, depth 32, both with defaults", AtLeast(2.2), iops(0, 2)),
        ("… fathom in batches of 32, fio with defaults", Nothing, iops(1, 2)),
        ("… both in batches of 32, fio tuned", AtLeast(1.6), iops(1, 3)),
        (
            "… fio tuned and without statistics (gtod_reduce)",
            AtLeast(1.2),
            iops(1, 4),
        ),
    ];
    let mut figures = ratios(row, small);
    let whole = Work::reads(Some(file), bench.places.size, "io_uring", bench.time()).depth(32);
    let found = bench.run_rounds(&[
        ours(whole.clone()),
        ours(whole.clone().ours(&["--batch", "32"])),
        theirs(whole.clone()),
        theirs(whole.theirs(&TUNED)),
    ])?;
    let iops = |one: usize, rival: usize| compare(&found[one].iops(), &found[rival].iops(), per_second);
    let large = [
        ("IOPS, 1 GiB, depth 32, both with defaults", AtLeast(1.4), iops(0, 2)),
        ("… both in batches of 32, fio tuned", Nothing, iops(1, 3)),
    ];
    figures.extend(ratios(row, large));
    Ok(figures)
}
