//! Rules about promises: does the test issue the promised load, and can it decide whether the
//! promise is met?

use model::finding::Severity;
use model::plan::{Job, Pacing, Rate, RateUnit, Stream};

use super::{Rule, all_streams};
use crate::caps::{Applies, LimitLayer};
use crate::checks::schedule::requested_rates;
use crate::figures::{count, format_rate, format_time};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "UNCAPPED-SLA",
        severity: Severity::Error,
        about: "The test judges a promised latency without a rate limit.",
        why: "an unlimited load fills every queue, so its latency is mostly waiting time; the promise applies to the \
            promised rate",
        fix: "set the promised rate (`rate`), or use `fathom verify`, which sets it",
        detect: |rule, test, findings| {
            if test.purpose.promised_latency_ns.is_none() {
                return;
            }
            for job in test.jobs() {
                if all_streams(job).any(|stream| stream.pacing == Pacing::Unpaced) {
                    findings.push(rule.finding("the test has no rate", &job.name));
                }
            }
        },
    },
    Rule {
        name: "UNDERSIZED-CONCURRENCY",
        severity: Severity::Warning,
        about: "Fewer operations are in flight than the promised rate needs at the promised latency.",
        why: "by Little's law, a rate needs rate × latency operations in flight; with fewer, the test itself is the \
            limit",
        fix: "raise the queue depth or the number of threads",
        detect: |rule, test, findings| {
            let (Some(iops), Some(latency)) = (test.purpose.promised_iops, test.purpose.promised_latency_ns) else {
                return;
            };
            let needed = (iops * latency / 1e9).ceil() as u64;
            for step in &test.plan.steps {
                let depth: u64 = step.jobs.iter().map(Job::depth).sum();
                if depth < needed {
                    let message = format!(
                        "the depth is {depth}, but {iops:.0} IOPS at {} need {} in flight",
                        format_time(latency),
                        count(needed, "operation")
                    );
                    findings.push(rule.finding(message, step.jobs.first().map_or("", |job| &job.name)));
                }
            }
        },
    },
    Rule {
        name: "BW-BINDS-FIRST",
        severity: Severity::Warning,
        about: "With this block size, a limit on bytes per second is reached before the promised operations per \
            second.",
        why: "operations per second × block size cannot exceed the allowed bytes per second",
        fix: "use smaller blocks to judge operations per second, and this block size to judge bytes per second",
        detect: |rule, test, findings| {
            let Some(promised) = test.purpose.promised_iops else {
                return;
            };
            for job in test.jobs() {
                let block = all_streams(job).map(longest_block).max().unwrap_or(0);
                let covers = |layer: &&LimitLayer| block > 0 && layer.covers(&job.name, &job.storage);
                for layer in test.purpose.layers.iter().filter(covers) {
                    let Some(limit) = layer.bytes_per_sec else { continue };
                    let reachable = limit.high / block as f64;
                    if reachable < promised {
                        let message = format!(
                            "at {} {} is limited to {reachable:.0} IOPS by {:.0} MB/s, not {promised:.0}",
                            model::Bytes(block),
                            layer.name,
                            limit.high / 1e6
                        );
                        findings.push(rule.finding(message, &job.name));
                    }
                }
            }
        },
    },
    Rule {
        name: "RATE-ABOVE-LIMIT",
        severity: Severity::Warning,
        about: "The rate of a job is above a known limit of its I/O path.",
        why: "the limit then sets the rate: operations become due faster than they complete, so latency grows \
            without bound",
        fix: "request a rate below the limit; to measure the limit, request no rate",
        detect: |rule, test, findings| {
            for job in test.jobs() {
                let Some(rates) = requested_rates(all_streams(job)) else {
                    continue;
                };
                let sum = |unit: RateUnit| -> f64 {
                    let of_unit = rates.iter().filter(|rate| rate.unit == unit);
                    of_unit.map(Rate::per_second).sum()
                };
                let shortest = all_streams(job).map(|stream| stream.pattern.shortest(&stream.mix).0);
                let iops = sum(RateUnit::Operations);
                let bytes = sum(RateUnit::Bytes) + iops * shortest.min().unwrap_or(0) as f64;
                let covers =
                    |layer: &&LimitLayer| layer.applies == Applies::All && layer.covers(&job.name, &job.storage);
                for layer in test.purpose.layers.iter().filter(covers) {
                    for (rate, limit, unit, scale) in [
                        (iops, layer.iops, "IOPS", 1.0),
                        (bytes, layer.bytes_per_sec, "MB/s", 1e6),
                    ] {
                        if let Some(limit) = limit.filter(|limit| rate > limit.high) {
                            let (rate, limit) = (format_rate(rate / scale), format_rate(limit.high / scale));
                            let message = format!("the rate is {rate} {unit}, but {} allows {limit}", layer.name);
                            findings.push(rule.finding(message, &job.name));
                        }
                    }
                }
            }
        },
    },
];

fn longest_block(stream: &Stream) -> u64 {
    stream.pattern.longest(&stream.mix).0
}
