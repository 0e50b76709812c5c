//! Identities of every sound result: bytes = operations × block size, and histograms and interval
//! series add up to the totals.

use model::Direction;
use model::finding::{Finding, Severity};
use model::plan::{EngineKind, Stream};
use model::results::{DirectionResults, StreamResults};

use super::{Check, JobView};

pub(super) const TOTALS: Check = Check {
    rules: &["TOTALS-MISMATCH"],
    about: "Bytes compared with operations × block size; histograms and interval series compared with the totals.",
    detect: |input, findings| {
        for job in input.jobs() {
            let mut faults = Vec::new();
            let workers = job.plan.workers.iter().zip(&job.results.workers);
            for (plan, results) in workers {
                let streams = plan.streams.iter().zip(&results.streams);
                let kind = plan.engine.kind;
                streams.for_each(|(plan, results)| find_stream_faults(plan, kind, results, &mut faults));
            }
            find_series_faults(&job, &mut faults);
            findings.extend(faults.into_iter().map(|fault| {
                let finding = Finding::new("TOTALS-MISMATCH", Severity::Error, fault).at(&*job.plan.name);
                finding.help("please report this with the saved result; do not use the figures")
            }));
        }
    },
};

fn find_stream_faults(plan: &Stream, engine: EngineKind, results: &StreamResults, faults: &mut Vec<String>) {
    for (direction, direction_results) in results.directions.iter() {
        let Some(direction_results) = direction_results else {
            continue;
        };
        let word = direction.word();
        let operations_by_kind = || {
            let is_counted = |kind| plan.files.as_ref().is_none_or(|work| !work.is_unscheduled(kind));
            { results.files.iter() }
                .filter(move |operation| operation.kind.direction() == direction && is_counted(operation.kind))
        };
        let (min_bytes, max_bytes) = match (engine.transfers_no_data(), &plan.files) {
            (true, _) => (0, 0),
            (false, None) => possible_bytes(plan, direction, direction_results),
            // The bytes of file operations depend on the file, but they are also counted by kind.
            (false, Some(_)) => {
                let operations: u64 = operations_by_kind().map(|kind| kind.results.operations).sum();
                if operations != direction_results.operations {
                    faults.push(format!(
                        "the counts by kind add up to {operations} {word} operations, the total is {}",
                        direction_results.operations
                    ));
                }
                let bytes = operations_by_kind().map(|kind| kind.results.bytes.0).sum();
                (bytes, bytes)
            }
        };
        if direction_results.bytes.0 < min_bytes || direction_results.bytes.0 > max_bytes {
            let (bytes, operations) = (direction_results.bytes.0, direction_results.operations);
            faults.push(format!(
                "{operations} {word} operations cannot have moved {bytes} bytes: {min_bytes} to {max_bytes} are possible"
            ));
        }
        let histograms = [
            ("submission", Some(&direction_results.submission)),
            ("completion", Some(&direction_results.completion)),
            ("total", Some(&direction_results.total)),
            ("response", direction_results.response.as_ref()),
        ];
        for (name, histogram) in histograms {
            let counted = histogram.map_or(direction_results.operations, model::histogram::Histogram::n);
            // Only some metadata operations have a latency.
            let is_consistent = match engine.is_metadata_engine() {
                true => counted <= direction_results.operations,
                false => counted == direction_results.operations,
            };
            if !is_consistent {
                let operations = direction_results.operations;
                faults.push(format!(
                    "the histogram of {word} {name} latency contains {counted} of {operations} operations"
                ));
            }
        }
    }
}

/// Minimum and maximum bytes that the operations can have moved.
fn possible_bytes(plan: &Stream, direction: Direction, results: &DirectionResults) -> (u64, u64) {
    let sizes = &plan.pattern.sizes[direction];
    // Without whole blocks, an operation at the end of a region may be shorter.
    let truncated = if plan.pattern.whole_blocks {
        0
    } else {
        results.operations
    };
    let full_blocks = results
        .operations
        .saturating_sub(results.short)
        .saturating_sub(truncated);
    (full_blocks * sizes.min().0, results.operations * sizes.max().0)
}

fn find_series_faults(job: &JobView<'_>, faults: &mut Vec<String>) {
    let totals = job.results.directions();
    for series in job.results.series.iter().filter(|series| series.source.is_none()) {
        for (direction, points) in series.points.iter() {
            let counted: u64 = points.iter().map(|point| point.operations).sum();
            let operations = totals[direction].as_ref().map_or(0, |total| total.operations);
            if counted != operations {
                let (word, length) = (direction.word(), series.length_ns);
                faults.push(format!(
                    "the {length} series counts {counted} {word} operations, the total is {operations}"
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, rules};
    use model::{Bytes, Nanos};

    fn broken(change: impl FnOnce(&mut model::results::JobResults)) -> bool {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        change(&mut results.steps[0].jobs[0]);
        rules(&results).contains(&"TOTALS-MISMATCH".to_owned())
    }

    #[test]
    fn sound_results_are_silent() {
        assert!(!broken(|_| ()));
    }

    #[test]
    fn engines_without_io_are_checked_by_their_operations() {
        use model::plan::EngineKind;
        let fails = |kind: EngineKind, bytes: u64, samples: u64| {
            let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
            results.plan.steps[0].jobs[0].workers[0].engine.kind = kind;
            let reads = samples::reads(&mut results.steps[0].jobs[0]);
            reads.bytes = Bytes(bytes);
            for _ in 0..samples {
                reads.total.record(1);
            }
            let all_operations = reads.operations;
            for histogram in [&mut reads.submission, &mut reads.completion, &mut reads.total] {
                if samples == 0 && kind.is_metadata_engine() {
                    histogram.clear();
                    histogram.record_times(1_000_000, all_operations / 2);
                }
            }
            rules(&results).contains(&"TOTALS-MISMATCH".to_owned())
        };
        let bytes = 10_000 * 4096;
        assert!(!fails(EngineKind::FileStat, bytes, 0));
        assert!(fails(EngineKind::FileStat, bytes, 1), "more latencies than operations");
        assert!(fails(EngineKind::Psync, bytes, 1));
        assert!(!fails(EngineKind::Cpu, 0, 0));
        assert!(fails(EngineKind::Cpu, bytes, 0), "no bytes can have been moved");
    }

    #[test]
    fn a_lost_byte_a_lost_sample_and_a_lost_interval_are_reported() {
        assert!(broken(|job| {
            samples::reads(job).bytes.0 -= 1;
        }));
        assert!(broken(|job| samples::reads(job).total.record(1)));
        assert!(broken(|job| {
            job.series[0].points.read.pop();
        }));
    }

    #[test]
    fn a_short_transfer_is_not_a_fault() {
        assert!(!broken(|job| {
            let reads = samples::reads(job);
            reads.short = 1;
            reads.bytes = Bytes(reads.bytes.0 - 512);
        }));
    }
}
