//! Files in the page cache, read through `io_uring`.
//!
//! A small file also stays in the processor's cache, and shows the overhead of the tools. With a
//! large file, memory takes most of the time.

use super::ratio;
use crate::bench::BenchError;
use crate::bench::contest::{Bench, compare, ours, per_second, theirs};
use crate::bench::figure::{Figure, Wanted};
use crate::bench::places::HOT;
use crate::bench::work::Work;

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
    let hot = Work::reads(Some(bench.places.hot()?), HOT, "io_uring", bench.time()).depth(32);
    let tuned = hot.clone().theirs(&TUNED);
    let found = bench.run_rounds(&[
        ours(hot.clone()),
        ours(hot.clone().ours(&["--batch", "32"])),
        theirs(hot.clone()),
        theirs(tuned.clone()),
        theirs(tuned.theirs(&["--gtod_reduce=1"])),
    ])?;
    let iops: Vec<Vec<f64>> = found.iter().map(|rounds| rounds.iops()).collect();
    let against = |index: usize, rival: usize| compare(&iops[index], &iops[rival], per_second);
    let mut figures = vec![
        ratio(
            row,
            "IOPS, 4 MiB, depth 32, both with defaults",
            Wanted::AtLeast(2.2),
            against(0, 2),
        ),
        ratio(
            row,
            "… fathom in batches of 32, fio with defaults",
            Wanted::Nothing,
            against(1, 2),
        ),
        ratio(
            row,
            "… both in batches of 32, fio tuned",
            Wanted::AtLeast(1.6),
            against(1, 3),
        ),
        ratio(
            row,
            "… fio tuned and without statistics (gtod_reduce)",
            Wanted::AtLeast(1.2),
            against(1, 4),
        ),
    ];
    let whole = Work::reads(Some(file), bench.places.size, "io_uring", bench.time()).depth(32);
    let found = bench.run_rounds(&[
        ours(whole.clone()),
        ours(whole.clone().ours(&["--batch", "32"])),
        theirs(whole.clone()),
        theirs(whole.theirs(&TUNED)),
    ])?;
    let iops: Vec<Vec<f64>> = found.iter().map(|rounds| rounds.iops()).collect();
    let against = |index: usize, rival: usize| compare(&iops[index], &iops[rival], per_second);
    figures.extend([
        ratio(
            row,
            "IOPS, 1 GiB, depth 32, both with defaults",
            Wanted::AtLeast(1.4),
            against(0, 2),
        ),
        ratio(
            row,
            "… both in batches of 32, fio tuned",
            Wanted::Nothing,
            against(1, 3),
        ),
    ]);
    Ok(figures)
}
