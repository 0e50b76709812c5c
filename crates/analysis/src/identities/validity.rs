//! Checks for weak tests, independent of the figures: length, caches, target size, busy processors.

use model::Nanos;
use model::finding::{Finding, Severity};
use model::observation::Observation;

use super::Rule;
use crate::figures::count;

/// Shorter tests measure bursts and caches.
const MIN_LENGTH: Nanos = Nanos::secs(60);
/// Minimum length to judge a promise.
const PROMISE_LENGTH: Nanos = Nanos::secs(300);
/// Smaller files fit into caches of hosts and arrays, and need only short seeks on a disk.
const MIN_TARGET_BYTES: u64 = 8 << 30;
/// A processor above this share may be the limit.
const BUSY_SHARE: f64 = 0.95;

pub(super) const LENGTH: Rule = Rule {
    names: &["SHORT-RUN", "NO-WARM-UP"],
    about: "The length of the measured time and of the warm-up.",
    detect: |load, purpose, findings| {
        if let Some(measured) = load.measured_ns {
            let wanted = if purpose.promise { PROMISE_LENGTH } else { MIN_LENGTH };
            if measured < wanted {
                let suffix = if purpose.promise { " for a promise" } else { "" };
                let message = format!("{measured} were measured; {} s are needed{suffix}", wanted.as_secs());
                let finding = Finding::new("SHORT-RUN", Severity::Warning, message).at(&*load.name);
                let finding =
                    finding.why("caches have not filled, burst credits have not run out, rare events are missing");
                findings.push(finding.help(
                    "measure for longer: 60 s for an overview, 300 s for a promise, and longer than the burst on \
                     disks with burst credits",
                ));
            }
        }
        if load.load.warm_up_ns == Some(Nanos(0)) {
            let finding = Finding::new(
                "NO-WARM-UP",
                Severity::Note,
                "no warm-up: measurement started with the first operation",
            )
            .at(&*load.name);
            let finding =
                finding.why("the first seconds differ: queues are empty, caches cold, files not yet allocated");
            findings.push(finding.help("DiskSpd: -W30; fio: ramp_time=30; Vdbench: warmup=30"));
        }
    },
};

pub(super) const CACHE: Rule = Rule {
    names: &["BUFFERED"],
    about: "Whether the operating system's cache was in use.",
    detect: |load, _, findings| {
        if load.load.direct == Some(false) {
            let message = "the operating system's cache was in use";
            let finding = Finding::new("BUFFERED", Severity::Warning, message).at(&*load.name);
            let finding = finding.why(
                "reads may come from memory and writes may end there, so the figures are not those of the storage",
            );
            findings.push(finding.help("DiskSpd: -Sh; fio: direct=1"));
        }
    },
};

pub(super) const SIZE: Rule = Rule {
    names: &["SMALL-FILE"],
    about: "The size of the tested files.",
    detect: |load, _, findings| {
        let Some(size) = load.load.size else { return };
        let files = load.load.targets.len().max(1) as u64;
        let total_size = size.0.saturating_mul(files);
        if total_size < MIN_TARGET_BYTES {
            let message = match files {
                1 => format!("the file has only {size}"),
                _ => format!("the {files} files have only {size} each"),
            };
            let finding = Finding::new("SMALL-FILE", Severity::Note, message).at(&*load.name);
            let why = "caches of controllers, arrays and hosts can hold the whole file, and a \
                rotating disk needs only short seeks";
            findings.push(
                finding
                    .why(why)
                    .help("use a file larger than all caches on the path; for buffered I/O at least twice the memory"),
            );
        }
    },
};

pub(super) const PROCESSORS: Rule = Rule {
    names: &["IRQ-SKEW", "CPU-BUSY"],
    about: "Whether one processor did most of the kernel's work, or was always busy.",
    detect: |load, _, findings| {
        findings.extend(find_busy_processors(load));
        let mut kernel: Vec<f64> = load.cores.iter().map(|core| core.kernel).collect();
        kernel.sort_by(f64::total_cmp);
        let (Some(median), Some(busiest)) = (
            kernel.get(kernel.len() / 2),
            load.cores.iter().max_by(|a, b| a.kernel.total_cmp(&b.kernel)),
        ) else {
            return;
        };
        if kernel.len() > 2 && busiest.kernel > 3.0 * median && busiest.kernel > 0.05 {
            let message = format!(
                "processor {} spent {:.2} % of its time in the kernel, the median processor {:.2} %",
                busiest.cpu,
                100.0 * busiest.kernel,
                100.0 * median
            );
            let severity = if busiest.busy() > BUSY_SHARE {
                Severity::Warning
            } else {
                Severity::Note
            };
            let finding = Finding::new("IRQ-SKEW", severity, message).at(&*load.name);
            let finding =
                finding.why("interrupts of the device or the network go to this processor, so it saturates first");
            findings.push(finding.help("spread the interrupts over the processors (RSS, multiple queues)"));
        }
        let full: Vec<String> = load
            .cores
            .iter()
            .filter(|core| core.busy() > BUSY_SHARE)
            .map(|core| core.cpu.to_string())
            .collect();
        if !full.is_empty() {
            let message = match load.cores.len() {
                2 if full.len() == 2 => "both processors were busy all the time".to_owned(),
                all if all > 2 && all == full.len() => format!("all {all} processors were busy all the time"),
                _ => format!("processors were busy all the time: {}", full.join(", ")),
            };
            findings.push(busy_finding(message, load));
        }
    },
};

/// The total of all processors, if the report does not list them.
fn find_busy_processors(load: &Observation) -> Option<Finding> {
    let busy = load.stated.processors_busy.filter(|busy| *busy > BUSY_SHARE)?;
    let message = format!("all processors together were {:.1} % busy", 100.0 * busy);
    load.cores.is_empty().then(|| busy_finding(message, load))
}

fn busy_finding(what: String, load: &Observation) -> Finding {
    let finding = Finding::new("CPU-BUSY", Severity::Warning, what).at(&*load.name);
    let finding = finding.why("the machine that issued the load may be the limit, not the storage");
    finding.help("stop other programs on that machine; else spread the load over more threads, or use larger blocks")
}

pub(super) const ERRORS: Rule = Rule {
    names: &["IO-ERRORS"],
    about: "Operations that failed.",
    detect: |load, _, findings| {
        if let Some(errors) = load.errors.filter(|errors| *errors > 0) {
            let finding = Finding::new(
                "IO-ERRORS",
                Severity::Error,
                format!("{} failed", count(errors, "operation")),
            )
            .at(&*load.name);
            findings.push(finding.why("the figures of a failing target do not describe a working one"));
        }
    },
};

pub(super) const SHORT: Rule = Rule {
    names: &["SHORT-TRANSFERS"],
    about: "Operations that transferred less than requested.",
    detect: |load, _, findings| {
        if let Some(short) = load.short.filter(|short| *short > 0) {
            let finding = short_transfers_finding(short, "operation");
            findings.push(finding.at(&*load.name));
        }
    },
};

/// The finding about operations that transferred less than requested. `what` names one of them.
pub(crate) fn short_transfers_finding(short: u64, what: &str) -> Finding {
    let message = format!("{} transferred less than requested", count(short, what));
    let finding = Finding::new("SHORT-TRANSFERS", Severity::Warning, message);
    finding.why("the target is shorter than expected, or its file system is full")
}

pub(super) const LATENCY: Rule = Rule {
    names: &["NO-LATENCY"],
    about: "Whether latencies were measured at all.",
    detect: |load, _, findings| {
        if load.total.user_latency().is_none() {
            let finding = Finding::new("NO-LATENCY", Severity::Warning, "the report has no latencies").at(&*load.name);
            let finding = finding.why("a rate without latencies does not show how long a program would wait");
            findings.push(finding.help("DiskSpd: -L; fio: remove gtod_reduce and disable_lat"));
        }
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples::{check, has_rule, rules, sound};
    use super::super::{Purpose, examine};
    use model::observation::CoreShare;
    use model::{Bytes, Nanos};

    fn core(cpu: u32, kernel: f64) -> CoreShare {
        CoreShare {
            cpu,
            kernel,
            ..CoreShare::default()
        }
    }

    #[test]
    fn weak_tests_are_reported() {
        check(|load| load.load.warm_up_ns = Some(Nanos(0)), "NO-WARM-UP");
        check(|load| load.load.direct = Some(false), "BUFFERED");
        check(|load| load.load.size = Some(Bytes(2 << 30)), "SMALL-FILE");
        check(|load| load.errors = Some(3), "IO-ERRORS");
        check(|load| load.short = Some(3), "SHORT-TRANSFERS");
        check(
            |load| (load.total.latency, load.directions.read) = (None, None),
            "NO-LATENCY",
        );
        check(
            |load| load.cores = vec![core(0, 0.13), core(1, 0.03), core(2, 0.03)],
            "IRQ-SKEW",
        );
        check(|load| load.cores = vec![core(0, 0.99)], "CPU-BUSY");
        check(|load| load.stated.processors_busy = Some(0.96), "CPU-BUSY");
        let mut load = sound();
        load.cores = vec![core(0, 0.99), core(1, 0.99)];
        let findings = examine(&load, Purpose::default());
        let busy = findings.iter().find(|finding| finding.rule == "CPU-BUSY");
        assert_eq!(
            busy.map(|busy| &*busy.what),
            Some("both processors were busy all the time")
        );
    }

    #[test]
    fn even_processors_are_silent() {
        let mut load = sound();
        load.cores = vec![core(0, 0.04), core(1, 0.01), core(2, 0.01)];
        assert_eq!(
            rules(&load),
            ["MAX-ONE-SAMPLE"],
            "the skew of an idle machine is not reported"
        );
    }

    #[test]
    fn a_promise_needs_five_minutes() {
        let mut load = sound();
        load.measured_ns = Some(Nanos::secs(30));
        assert!(has_rule(&load, "SHORT-RUN"));
        load.measured_ns = Some(Nanos::secs(120));
        assert!(!has_rule(&load, "SHORT-RUN"));
        let findings = examine(&load, Purpose { promise: true });
        let short = findings
            .iter()
            .find(|finding| finding.rule == "SHORT-RUN")
            .expect("a short run");
        assert_eq!(short.what, "2 min were measured; 300 s are needed for a promise");
    }
}
