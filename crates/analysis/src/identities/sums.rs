//! Checks figures that follow from each other: operations × block size = bytes, IOPS = operations /
//! time, throughput = IOPS × block size, the sum of directions or threads = total. In an unedited
//! report they differ only by rounding.

use model::finding::{Finding, Severity};
use model::observation::{IoStats, Observation};

use super::Rule;

/// Rates are printed with two decimals, or with four digits.
const RATE_ROUNDING: f64 = 0.005;
/// Times are printed in hundredths of a second.
const TIME_ROUNDING_S: f64 = 0.006;
/// Some operations may have moved less than a block.
const MAX_SHORT_SHARE: f64 = 0.001;

pub(super) const OPERATIONS: Rule = Rule {
    names: &["BYTES-MISMATCH"],
    about: "Operations × block size, compared with the bytes in the report.",
    detect: |load, _, findings| {
        for (name, flow) in named_stats(load) {
            let (Some(block), Some(operations), Some(bytes)) = (load.load.block, flow.operations, flow.bytes) else {
                continue;
            };
            let expected = operations as f64 * block.0 as f64;
            if relative_difference(expected, bytes.0 as f64) > MAX_SHORT_SHARE {
                let message = format!(
                    "{operations} {name} of {block} are {expected:.0} bytes, but the report states {}",
                    bytes.0
                );
                findings.push(mismatch_finding("BYTES-MISMATCH", message, load));
            }
        }
    },
};

pub(super) const RATES: Rule = Rule {
    names: &["RATE-MISMATCH", "THROUGHPUT-MISMATCH"],
    about: "IOPS compared with operations / time, and throughput compared with IOPS × block size.",
    detect: |load, _, findings| {
        let seconds = load
            .measured_ns
            .map(|time| time.as_secs())
            .filter(|seconds| *seconds > 0.0);
        for (name, flow) in named_stats(load) {
            if let (Some(operations @ 1..), None, Some(_)) = (flow.operations, seconds, load.measured_ns)
                && flow.iops.is_some_and(|iops| iops > 0.0)
            {
                let message = format!("{operations} {name} in a time of 0 have no rate, but the report states one");
                findings.push(mismatch_finding("RATE-MISMATCH", message, load));
            }
            if let (Some(iops), Some(operations), Some(seconds)) = (flow.iops, flow.operations, seconds) {
                let counted = operations as f64 / seconds;
                let allowed = RATE_ROUNDING + TIME_ROUNDING_S / seconds;
                if relative_difference(counted, iops) > allowed && (counted - iops).abs() > 0.01 {
                    let message = format!(
                        "{operations} {name} in {seconds:.2} s are {counted:.2} per second, but the \
                        report states {iops:.2}"
                    );
                    findings.push(mismatch_finding("RATE-MISMATCH", message, load));
                }
            }
            if let (Some(iops), Some(block), Some(rate)) = (flow.iops, load.load.block, flow.bytes_per_sec) {
                let (counted, stated) = (to_mib(iops * block.0 as f64), to_mib(rate));
                if relative_difference(counted, stated) > RATE_ROUNDING && (counted - stated).abs() > 0.01 {
                    let message = format!(
                        "{iops:.2} {name} of {block} per second are {counted:.2} MiB/s, but the \
                        report states {stated:.2}"
                    );
                    findings.push(mismatch_finding("THROUGHPUT-MISMATCH", message, load));
                }
            }
        }
        findings.extend(check_mean_size(load));
    },
};

/// Compares throughput with IOPS × the mean size that the report states.
fn check_mean_size(load: &Observation) -> Option<Finding> {
    let (iops, size) = (load.total.iops?, load.stated.bytes_per_operation?);
    let (counted, stated) = (to_mib(iops * size), to_mib(load.total.bytes_per_sec?));
    (relative_difference(counted, stated) > RATE_ROUNDING && (counted - stated).abs() > 0.01).then(|| {
        let message = format!(
            "{iops:.2} operations per second of {size:.0} bytes on average are {counted:.2} MiB/s, \
            but the report states {stated:.2}"
        );
        mismatch_finding("THROUGHPUT-MISMATCH", message, load)
    })
}

pub(super) const DIRECTIONS: Rule = Rule {
    names: &["DIRECTIONS-MISMATCH"],
    about: "The sum of reads, writes and trims, compared with all operations.",
    detect: |load, _, findings| {
        let flows_by_direction: Vec<&IoStats> = load.directions.iter().filter_map(|(_, flow)| flow.as_ref()).collect();
        if !flows_by_direction.is_empty()
            && let Some(what) = describe_sum_mismatch(&flows_by_direction, &load.total, "the directions")
        {
            findings.push(mismatch_finding("DIRECTIONS-MISMATCH", what, load));
        }
    },
};

pub(super) const PARTS: Rule = Rule {
    names: &["PARTS-MISMATCH"],
    about: "The sum of the threads' rows, compared with the total row.",
    detect: |load, _, findings| {
        let rows = load.breakdown.iter().filter(|part| part.direction.is_none());
        let rows: Vec<&IoStats> = rows.map(|part| &part.flow).collect();
        if !rows.is_empty()
            && let Some(what) = describe_sum_mismatch(&rows, &load.total, "the threads")
        {
            findings.push(mismatch_finding("PARTS-MISMATCH", what, load));
        }
    },
};

/// Describes a sum that does not match the total.
fn describe_sum_mismatch(flows: &[&IoStats], total: &IoStats, parts_name: &str) -> Option<String> {
    let operations: Option<u64> = flows
        .iter()
        .map(|flow| flow.operations)
        .try_fold(0u64, |sum, count| sum.checked_add(count?));
    if let (Some(sum), Some(total)) = (operations, total.operations)
        && sum != total
    {
        return Some(format!(
            "{parts_name} add up to {sum} operations, but the report states {total}"
        ));
    }
    let iops: Option<f64> = flows.iter().map(|flow| flow.iops).sum();
    let (sum, total) = iops.zip(total.iops)?;
    // Each row is rounded separately, and fio's clones end at different times.
    let rounding = 0.01 * (flows.len() as f64 + 1.0);
    ((sum - total).abs() > rounding && relative_difference(sum, total) > RATE_ROUNDING)
        .then(|| format!("{parts_name} add up to {sum:.2} operations per second, but the report states {total:.2}"))
}

/// The total and each direction, with their names.
fn named_stats(load: &Observation) -> impl Iterator<Item = (&'static str, &IoStats)> {
    let flows = load.directions.iter().filter_map(|(direction, flow)| {
        let name = match direction {
            model::Direction::Read => "reads",
            model::Direction::Write => "writes",
            model::Direction::Trim => "trims",
        };
        Some((name, flow.as_ref()?))
    });
    std::iter::once(("operations", &load.total)).chain(flows)
}

fn to_mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

/// Difference of two figures as a share of the larger.
fn relative_difference(a: f64, b: f64) -> f64 {
    let largest = a.abs().max(b.abs());
    if largest > 0.0 { (a - b).abs() / largest } else { 0.0 }
}

fn mismatch_finding(rule: &str, what: String, load: &Observation) -> Finding {
    let finding = Finding::new(rule, Severity::Error, what).at(&*load.name);
    let finding =
        finding.why("these figures depend on each other: one of them was changed, mistyped or comes from another run");
    finding.help("use the original report of the tool")
}

#[cfg(test)]
mod tests {
    use super::super::samples::{check, rules, sound};
    use model::Bytes;
    use model::observation::{BreakdownEntry, IoStats};

    #[test]
    fn each_broken_identity_is_found() {
        check(
            |load| load.total.bytes = Some(Bytes(3_840_000 * 8192)),
            "BYTES-MISMATCH",
        );
        check(|load| load.total.iops = Some(32_300.0), "RATE-MISMATCH");
        check(|load| load.measured_ns = Some(model::Nanos(0)), "RATE-MISMATCH");
        check(|load| load.total.bytes_per_sec = Some(130e6), "THROUGHPUT-MISMATCH");
        check(
            |load| load.stated.bytes_per_operation = Some(4200.0),
            "THROUGHPUT-MISMATCH",
        );
        check(|load| load.total.operations = Some(3_840_001), "DIRECTIONS-MISMATCH");
        let half = IoStats {
            operations: Some(1_900_000),
            ..IoStats::default()
        };
        let part = BreakdownEntry {
            flow: half,
            ..BreakdownEntry::default()
        };
        check(|load| load.breakdown = vec![part.clone(), part], "PARTS-MISMATCH");
    }

    #[test]
    fn rounding_and_missing_figures_are_not_faults() {
        let mut load = sound();
        load.total.iops = Some(32_000.4);
        load.total.bytes_per_sec = Some(125.004 * 1_048_576.0);
        load.directions.read = None;
        load.total.bytes = None;
        assert_eq!(rules(&load), ["MAX-ONE-SAMPLE"]);
    }
}
