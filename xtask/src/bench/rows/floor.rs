//! CPU time per operation in excess of the cheapest loop that issues the same reads.

use super::*;

/// fio's options to submit and reap 32 operations at a time.
const BATCHES: [&str; 3] = [
    "--iodepth_batch=32",
    "--iodepth_batch_complete_min=32",
    "--iodepth_batch_complete_max=32",
];

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    bench.tools.build_example("fathom-engine", "floor")?;
    let hot = |engine| Ok::<_, BenchError>(Work::reads(Some(bench.places.hot()?), HOT_BYTES, engine, bench.time()));
    let disk = Work::reads(Some(bench.places.file()?), bench.places.size, "io_uring", bench.time()).direct();
    let deep = hot("io_uring")?.depth(32);
    let batched = deep.clone().ours(&["--batch", "32"]).theirs(&BATCHES);
    // The maximum for a native run, for fio's command line and for DiskSpd's.
    let works = [
        ("page cache, psync", hot("psync")?, [Some(1.08), Some(1.08), None]),
        ("page cache, io_uring, depth 32", deep, [Some(1.02); 3]),
        (
            "page cache, io_uring, batches of 32",
            batched,
            [Some(1.02), Some(1.02), None],
        ),
        (
            "disk, io_uring, depth 32",
            disk.depth(32).ours(&["--batch", "8"]),
            [Some(1.05); 3],
        ),
    ];
    let mut figures = Vec::new();
    for (what, work, maxima) in works {
        let forms = [
            ("native", Tool::Fathom),
            ("as fio", Tool::InPlace),
            ("as DiskSpd", Tool::DiskSpd),
        ];
        let asked = forms.into_iter().zip(maxima);
        let asked: Vec<_> = asked.filter_map(|(form, max)| Some((form, max?))).collect();
        let tools = asked.iter().map(|((_, tool), _)| *tool);
        let contenders = std::iter::once(Tool::Floor).chain(tools);
        let contenders: Vec<Contender> = contenders.map(|tool| Contender::new(tool, &work)).collect();
        let found = bench.run_rounds(&contenders)?;
        for (((name, _), max), rounds) in asked.into_iter().zip(&found[1..]) {
            let what = format!("CPU time per operation above the bare loop, {what}, {name}");
            let above = compare(&rounds.cpu_ns(), &found[0].cpu_ns(), time);
            figures.push(ratio(row, &what, AtMost(max), above));
        }
    }
    Ok(figures)
}
