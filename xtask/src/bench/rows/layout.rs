//! The time to create the file of a test.
//!
//! fathom flushes its file to the disk before it starts, and so does fio by default. fio is also
//! timed with permission to keep the file in the page cache (`create_fsync=0`): with the flush that
//! then remains, and without.

use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

use super::*;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let file = bench.places.folder()?.join("laid-out");
    let work = Work::reads(Some(&file), bench.places.size, "psync", Until::Operations(1))
        .direct()
        .made();
    let (mut fathom, mut fio, mut lazy) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.options.pairs {
        fathom.push(Made::by(bench, &ours(work.clone()), &file)?);
        if bench.tools.has_fio {
            fio.push(Made::by(bench, &theirs(work.clone()), &file)?);
            let without_flush = work.clone().theirs(&["--create_fsync=0"]);
            lazy.push(Made::by(bench, &theirs(without_flush), &file)?);
        }
    }
    let cached = |made: &[Made]| made.iter().map(|made| made.file_ns).collect::<Vec<_>>();
    let synced = |made: &[Made]| made.iter().map(|made| made.file_ns + made.sync_ns).collect::<Vec<_>>();
    // How many times longer fio takes.
    let faster = |fathom: &[f64], fio: &[f64]| {
        let other_way = compare(fio, fathom, time);
        let detail = compare(fathom, fio, time).detail;
        Comparison { detail, ..other_way }
    };
    let against = |fio: &[f64]| faster(&synced(&fathom), fio);
    let found = [
        (
            "layout of 1 GiB, both flushed to the disk",
            AtLeast(3.0),
            against(&synced(&fio)),
        ),
        (
            "… fio writing through the page cache, with fsync",
            Nothing,
            against(&synced(&lazy)),
        ),
        (
            "… fio leaving the file in the page cache",
            Nothing,
            against(&cached(&lazy)),
        ),
    ];
    Ok(ratios(row, found))
}

/// The time to create a file.
struct Made {
    /// The run that creates the file, minus a run that finds it.
    file_ns: f64,
    /// The fsync after it.
    sync_ns: f64,
}

impl Made {
    fn by(bench: &Bench, tool: &Contender, file: &Path) -> Result<Made, BenchError> {
        let _ = fs::remove_file(file);
        let making = bench.run_once(tool)?.usage.wall_secs;
        let started = Instant::now();
        File::open(file)?.sync_all()?;
        let sync_ns = started.elapsed().as_secs_f64() * 1e9;
        let finding = bench.run_once(tool)?.usage.wall_secs;
        fs::remove_file(file)?;
        Ok(Made {
            file_ns: (making - finding) * 1e9,
            sync_ns,
        })
    }
}
