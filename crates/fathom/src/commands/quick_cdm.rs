//! Formats results as a text report of CrystalDiskMark.

use model::Direction;
use model::results::Results;
use study::crystal::{self, BestRound};

const LINE: &str = "------------------------------------------------------------------------------";
/// A caveat about the figures.
const CAVEAT: &str = "The best of five short rounds shows neither sustained speed nor tail \
    latency, nor whether writes are safe.";

/// Formats the rows, followed by the caveat.
pub fn format_text(results: &Results, size: &str) -> String {
    let best = crystal::best_rounds(results);
    let mut text = format!(
        "{LINE}\nfathom {}, in the layout of CrystalDiskMark 8 (C) hiyohiyo\n{LINE}\n* MB/s = 1,000,000 bytes/s [SATA/600 = \
         600,000,000 bytes/s]\n* KB = 1000 bytes, KiB = 1024 bytes\n",
        env!("CARGO_PKG_VERSION")
    );
    for (direction, title) in [(Direction::Read, "[Read]"), (Direction::Write, "[Write]")] {
        let rows: Vec<&BestRound> = best.iter().filter(|row| row.direction == direction).collect();
        if rows.is_empty() {
            continue;
        }
        text += &format!("\n{title}\n");
        for BestRound {
            load,
            iops,
            bytes_per_sec,
            mean_us,
            ..
        } in rows
        {
            let rate = bytes_per_sec / 1e6;
            text += &format!(
                "  {}: {rate:>9.3} MB/s [{iops:>9.1} IOPS] <{mean_us:>9.2} us>\n",
                load.label()
            );
        }
    }
    let (rounds, seconds) = (crystal::ROUNDS, crystal::ROUND_TIME.as_secs());
    text + &format!(
        "\nProfile: Default\n   Test: {size} (x{rounds})\n   Time: Measure {seconds} sec / Interval 0 sec\n\n{CAVEAT}\n"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use dialects::import::{self, Form};
    use model::plan::{SimulatedDevice, SimulatedService, TargetKind};
    use model::{Bytes, Nanos};
    use run::targets::guard::Permissions;
    use study::quick::{Profile, Screening};

    use super::*;

    #[test]
    fn the_report_has_eight_rows_that_import_reads_back() {
        let screening = Screening {
            path: "disk".into(),
            size: None,
            writes: true,
            cpus: 1,
            measured: Nanos::millis(50),
            profile: Profile::Crystal,
            seed: 1,
            arguments: Vec::new(),
        };
        let mut plan = screening.plan();
        plan.targets[0].kind = TargetKind::Simulated {
            device: SimulatedDevice {
                size: Bytes::gib(1),
                servers: 8,
                service: SimulatedService::Exponential {
                    mean_ns: Nanos::micros(80),
                },
                ..SimulatedDevice::default()
            },
        };
        plan.targets[0].prepare = model::plan::Prepare::Existing;
        static STOP: AtomicBool = AtomicBool::new(false);
        let permissions = Permissions::default();
        let clock = crate::process::start_clock().calibrate();
        let results = run::execute(plan, run::RunContext::new(clock, &STOP, &permissions), &mut |_| {}).unwrap();
        let best = crystal::best_rounds(&results);
        assert_eq!((results.steps.len(), best.len()), (40, 8));
        let text = format_text(&results, "1 GiB");
        let read = import::read("x", &text).unwrap();
        assert_eq!(read.form, Form::CrystalDiskMark);
        assert_eq!(read.loads.len(), 8);
        assert_eq!((&*read.loads[0].tool, read.loads[0].load.depth), ("fathom", Some(8)));
        assert_eq!(read.loads[6].load.depth, Some(32));
        for (load, best) in read.loads.iter().zip(&best) {
            let iops = load.total.iops.unwrap();
            assert!((iops - best.iops).abs() < 0.06, "{iops} {best:?}");
        }
        assert!(text.ends_with("whether writes are safe.\n"), "{text}");
    }
}
