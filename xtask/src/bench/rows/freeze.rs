//! A device that does not answer for 300 ms, at 4,000 operations per second.
//!
//! Users who arrive at a steady rate would wait for it: in a run of T seconds the longest wait is
//! 300 ms, and the 99th percentile is 300 ms less one hundredth of T. A tool that measures only
//! from when it issued an operation sees one slow operation.

use std::time::Duration;

use testbed::FaultFs;

use super::*;

const FREEZE: Duration = Duration::from_millis(300);

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    const SIZE: u64 = 16 << 20;
    let disk = FaultFs::with_size(SIZE)?;
    let lengths: &[f64] = if bench.options.smoke {
        &[1.0]
    } else {
        &[1.0, 2.0, 10.0, 30.0]
    };
    let mut figures = Vec::new();
    for seconds in lengths {
        let work = Work {
            rate: Some(4_000),
            ..Work::reads(Some(disk.file()), SIZE, "psync", Until::Seconds(*seconds)).direct()
        };
        // fio takes 0.4 s to start.
        let fathom = frozen(bench, &disk, ours(work.clone()), Duration::from_millis(300))?;
        let fio = match bench.tools.has_fio {
            true => Some(frozen(bench, &disk, theirs(work), Duration::from_millis(800))?),
            false => None,
        };
        let theory = 300.0 - 10.0 * seconds;
        let p99 = |outcome: &Outcome| outcome.percentile(99.0).unwrap_or_default();
        let format_both = |value: &dyn Fn(&Outcome) -> f64| {
            let fio = fio.as_ref().map_or("–".to_owned(), |fio| time(value(fio)));
            format!("{} : {fio}", time(value(&fathom)))
        };
        if theory > 0.0 {
            let what = format!("99th percentile over {seconds} s with a freeze of 300 ms (theory {theory} ms)");
            let figure = Figure::new(row, what, Nothing, Some(p99(&fathom) / 1e6));
            figures.push(figure.unit("ms").with_detail(format_both(&p99)));
        }
        let what = format!("maximum over {seconds} s (theory 300 ms)");
        let longest = |outcome: &Outcome| outcome.max_ns;
        let figure = Figure::new(row, what, Nothing, Some(fathom.max_ns / 1e6));
        figures.push(figure.unit("ms").with_detail(format_both(&longest)));
    }
    Ok(figures)
}

/// A run during which the disk freezes for a while.
fn frozen(bench: &Bench, disk: &FaultFs, contender: Contender, after: Duration) -> Result<Outcome, BenchError> {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(after);
            disk.hang();
            std::thread::sleep(FREEZE);
            disk.release();
        });
        bench.run_once(&contender)
    })
}
