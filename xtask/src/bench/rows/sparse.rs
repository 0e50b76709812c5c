//! Whether memory grows with the target: reads each block of 1 TiB once, in random order.

use super::*;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    const LARGE: u64 = 1 << 40;
    const SMALL: u64 = 1 << 26;
    let work = |name, size| -> Result<Work, BenchError> {
        let file = bench.places.sparse(name, size)?;
        let work = Work::reads(Some(&file), size, "psync", Until::Operations(10_000)).direct();
        Ok(Work {
            access: Access::Once,
            ..work
        })
    };
    let (large, small) = (work("large", LARGE)?, work("small", SMALL)?);
    let growth = |say: fn(Work) -> Contender| -> Result<Vec<f64>, BenchError> {
        let memory = |work: &Work| -> Result<f64, BenchError> {
            Ok(bench.run_once(&say(work.clone()))?.usage.memory_bytes as f64)
        };
        (0..bench.options.pairs)
            .map(|_| Ok((memory(&large)? - memory(&small)?) / 1e6))
            .collect()
    };
    let fathom = growth(ours)?;
    let fio = if bench.tools.has_fio {
        growth(theirs)?
    } else {
        Vec::new()
    };
    let words = |values: &[f64]| median(values).map_or("–".to_owned(), |mb| format!("{} MB", digits(mb)));
    let detail = format!("{} : {}", words(&fathom), words(&fio));
    let what = "memory for 1 TiB above that for 64 MiB, each block once";
    let found = median(&fathom);
    Ok(vec![
        Figure::new(row, what, AtMost(1.0), found)
            .unit("MB")
            .with_detail(detail)
            .samples(fathom),
    ])
}
