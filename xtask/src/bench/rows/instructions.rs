//! Counts the user-space instructions of an operation, which are free of noise and of start-up.

use super::*;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    if !bench.tools.has_valgrind {
        return Ok(vec![Figure::absent(row, "valgrind is not installed")]);
    }
    let operations = if bench.options.smoke {
        [5_000, 25_000]
    } else {
        [50_000, 250_000]
    };
    let (disk, memory, size) = (bench.places.file()?, bench.places.tmpfs()?, bench.places.size);
    let reads_on = |target, engine| Work::reads(target, size, engine, Until::Operations(1));
    // A program under valgrind is slow compared with a real disk, so each poll finds only one or
    // two completions; a file in memory in batches of 32 shows the cost of an operation when the
    // queue is really full.
    let batches = ["--batch", "32"];
    let (on_disk, ring, aio) = (Some(disk), "io_uring", "libaio");
    let rows = [
        (
            "io_uring, cached, batches of 32",
            220.0,
            reads_on(on_disk, ring).depth(32).ours(&batches),
        ),
        (
            "libaio, cached, batches of 32",
            220.0,
            reads_on(on_disk, aio).depth(32).ours(&batches),
        ),
        (
            "io_uring, disk, depth 32",
            220.0,
            reads_on(on_disk, ring).direct().depth(32),
        ),
        (
            "libaio, disk, depth 32",
            220.0,
            reads_on(on_disk, aio).direct().depth(32),
        ),
        ("psync, tmpfs", 150.0, reads_on(Some(memory), "psync")),
        ("null, depth 32", 130.0, reads_on(None, "null").depth(32)),
    ];
    let mut figures = Vec::new();
    for (what, most, work) in rows {
        let ours = bench.tools.instructions(Tool::Fathom, &work, operations)?;
        let theirs = match bench.tools.has_fio {
            true => digits(bench.tools.instructions(Tool::Fio, &work, operations)?),
            false => "–".to_owned(),
        };
        let what = format!("user instructions per operation, {what}");
        let figure = Figure::new(row, what, AtMost(most), Some(ours));
        figures.push(figure.with_detail(format!("{} : {theirs}", digits(ours))));
    }
    Ok(figures)
}
