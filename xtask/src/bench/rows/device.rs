//! Direct reads of a file on the disk, through `io_uring`.

use std::fs;
use std::os::linux::fs::MetadataExt;
use std::path::Path;

use super::*;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let file = bench.places.file()?;
    let work = Work::reads(Some(file), bench.places.size, "io_uring", bench.time()).direct();
    let deep = work.clone().depth(32);
    let found = bench.run_rounds(&[
        ours(deep.clone()),
        theirs(deep.clone()),
        theirs(deep.theirs(&[
            "--iodepth_batch=8",
            "--iodepth_batch_complete_min=1",
            "--iodepth_batch_complete_max=8",
        ])),
    ])?;
    let [fathom, fio, in_batches] = &found[..] else {
        return Err(BenchError("a contender is missing".into()));
    };
    let cpu = |other: &Rounds| compare(&fathom.cpu_ns(), &other.cpu_ns(), time);
    let found = [
        ("CPU per operation, depth 32", AtMost(0.65), cpu(fio)),
        ("… fio in batches of 8", Nothing, cpu(in_batches)),
        (
            "IOPS, depth 32",
            AtLeast(0.97),
            compare(&fathom.iops(), &fio.iops(), per_second),
        ),
    ];
    let mut figures = ratios(row, found);
    figures.push(beyond_the_device(bench, row, file, &work)?);
    Ok(figures)
}

/// How far fathom's latency exceeds the time that the block layer reports for its requests.
fn beyond_the_device(bench: &Bench, row: &'static str, file: &Path, work: &Work) -> Result<Figure, BenchError> {
    let (mut medians, mut means, mut device) = (Vec::new(), Vec::new(), Vec::new());
    let mut fio_means = Vec::new();
    for _ in 0..bench.options.pairs {
        let before = Reads::so_far(file)?;
        let found = bench.run_once(&ours(work.clone()))?;
        let mean_ns = Reads::so_far(file)?.mean_ns_since(before);
        device.push(mean_ns);
        medians.push((found.percentile(50.0).unwrap_or_default() - mean_ns) / 1e3);
        means.push((found.mean_ns - mean_ns) / 1e3);
        if bench.tools.has_fio {
            let before = Reads::so_far(file)?;
            let found = bench.run_once(&theirs(work.clone()))?;
            fio_means.push((found.mean_ns - Reads::so_far(file)?.mean_ns_since(before)) / 1e3);
        }
    }
    let shown = |values: &[f64]| median(values).map_or("–".into(), |value| time(value * 1e3));
    let detail = format!(
        "device {} (mean, /sys/dev/block/*/stat); mean above mean: {} : {}",
        median(&device).map_or("–".into(), time),
        shown(&means),
        shown(&fio_means)
    );
    let what = "median latency above the block layer's mean, depth 1";
    Ok(Figure::new(row, what, AtMost(5.0), median(&medians))
        .unit("µs")
        .with_detail(detail)
        .samples(medians))
}

/// The kernel's counters of the device of a file.
#[derive(Clone, Copy)]
struct Reads {
    count: f64,
    milliseconds: f64,
}

impl Reads {
    fn so_far(file: &Path) -> Result<Reads, BenchError> {
        let device = fs::metadata(file)?.st_dev();
        let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
        let path = format!("/sys/dev/block/{major}:{minor}/stat");
        let text = fs::read_to_string(&path).map_err(|error| BenchError(format!("{path}: {error}")))?;
        let fields: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        match fields[..] {
            [count, _, _, milliseconds, ..] => Ok(Reads { count, milliseconds }),
            _ => Err(BenchError(format!("{path} has another form"))),
        }
    }

    fn mean_ns_since(self, before: Reads) -> f64 {
        (self.milliseconds - before.milliseconds) * 1e6 / (self.count - before.count).max(1.0)
    }
}
