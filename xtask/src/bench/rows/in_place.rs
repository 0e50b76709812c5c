//! fathom in place of fio: both run the same command lines and the same job file.

use super::*;

/// Jobs of the job file.
const JOBS: usize = 64;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let file = bench.places.file()?;
    let size = bench.places.size;
    let reads = |engine| Work::reads(Some(file), size, engine, bench.time());
    let works = [
        ("page cache, psync", reads("psync")),
        ("disk, libaio, depth 32", reads("libaio").direct().depth(32)),
        ("disk, io_uring, depth 32", reads("io_uring").direct().depth(32)),
    ];
    let mut figures = Vec::new();
    for (what, work) in works {
        let found = bench.run_rounds(&[Contender::new(Tool::InPlace, &work), theirs(work)])?;
        let cpu = compare(&found[0].cpu_ns(), &found[1].cpu_ns(), time);
        let iops = compare(&found[0].iops(), &found[1].iops(), per_second);
        figures.push(ratio(row, &format!("CPU time per operation, {what}"), AtMost(1.0), cpu));
        figures.push(ratio(row, &format!("IOPS, {what}"), Nothing, iops));
    }
    figures.push(many_jobs(bench, row)?);
    Ok(figures)
}

/// The wall time of a job file whose jobs do one operation each.
fn many_jobs(bench: &Bench, row: &'static str) -> Result<Figure, BenchError> {
    let file = bench.places.file()?.display().to_string();
    let mut text = format!("[global]\nfilename={file}\nsize=64k\nrw=randread\nnumber_ios=1\ninvalidate=0\n");
    (0..JOBS).for_each(|job| text += &format!("[job{job}]\n"));
    let path = bench.places.folder()?.join("many.fio");
    std::fs::write(&path, text)?;
    let arguments = ["--output-format=json".to_owned(), path.display().to_string()];
    let mut walls = [Vec::new(), Vec::new()];
    for _ in 0..if bench.options.smoke { 2 } else { 15 } {
        for (tool, walls) in [Tool::InPlace, Tool::Fio].into_iter().zip(&mut walls) {
            if tool == Tool::Fio && !bench.tools.has_fio {
                continue;
            }
            let finished = child::run(&bench.tools.fio(tool, &arguments))?;
            let jobs = Outcome::from_fio(&finished)?.json["jobs"]
                .as_array()
                .map_or(0, Vec::len);
            if jobs != JOBS {
                return Err(BenchError(format!("{jobs} of {JOBS} jobs in the report")));
            }
            walls.push(finished.usage.wall_secs * 1e9);
        }
    }
    let [ours, theirs] = walls;
    let what = format!("wall time of a job file of {JOBS} jobs");
    Ok(ratio(row, &what, AtMost(1.0), compare(&ours, &theirs, time)))
}
