//! The operations of a test and of its conversions: every difference is listed.
//!
//! Each source is converted to every other dialect, and the text is parsed again. Both plans then
//! issue operations without a device. A conversion that lists no difference in positions, lengths,
//! directions, amounts, rates or pauses must issue the same operations.

use std::collections::BTreeMap;

use dialects::convert::{self, Conversion};
use dialects::fio;
use model::access::{Access, Placement};
use model::plan::{DepthScope, Dialect, Pacing, Plan, RateUnit, Stop, Stream, TargetKind};

use super::sources::SOURCES;
use super::support::{DIALECTS, diskspd_again, diskspd_line, fio_plan, flags, job_file, native_again, split_words};
use super::vdbench::{parse_plan, parse_plan_on};
use crate::drive::execute;
use crate::fio::support as fio_support;
use crate::iometer::lower_text;

/// The size of targets whose plans contain none.
const SIZE: u64 = 1 << 20;
/// Operations of each worker of a test that only time ends.
const OPERATIONS: usize = 1200;

/// A property of the operations of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Property {
    Amount,
    Positions,
    Lengths,
    Directions,
    Rates,
    Pauses,
}

use Property::{Amount, Directions, Lengths, Pauses, Positions, Rates};
use testbed::With;

/// Words of the lines that name a difference in a property: names of options, or parts of
/// descriptions.
const NAMES: &[(Property, &[&str])] = &[
    (
        Amount,
        &[
            "bytes", "io_size", "operations:", "number_ios", "passes", "loops", "no time limit", "each pass",
            "offset, size", "operations overlap", "trimmed, then written", "pass over", "passes over",
        ],
    ),
    (
        Positions,
        &[
            "access", "random_distribution", "-r, -s, -T, -p", "offset", "-B, -f", "align", "multiples", "room",
            "sequential", "from 0", "trimmed, then written", "shares of", "random: ", "targets each", "file of",
        ],
    ),
    (
        Lengths,
        &[
            "4k/50", "shares of", "block:", "bs, bsrange", "-b:", "block size", "room",
        ],
    ),
    (
        Directions,
        &[
            "read, write, trim", "rwmixwrite", "-w:", "shares of", "% writes", "reads;", "trims",
        ],
    ),
    (Rates, &["rate", "-g:", "iops"]),
    (Pauses, &["pause", "thinktime", "-i, -j", "after 1 op"]),
];

/// What the operations of a plan have in common, for each property.
#[derive(Debug, Default, PartialEq)]
struct Measured {
    /// Operations, of a test that ends by itself or not.
    count: f64,
    /// Operations and bytes, of a test that ends by itself.
    amount: Option<(f64, f64)>,
    /// True if the positions do not depend on random numbers.
    fixed_positions: bool,
    /// The share of each part of the target, of distances to the previous operation, and the
    /// common divisor of all offsets.
    positions: BTreeMap<String, f64>,
    lengths: BTreeMap<u32, f64>,
    directions: BTreeMap<&'static str, f64>,
    rates: BTreeMap<&'static str, f64>,
    pauses: BTreeMap<String, f64>,
}

/// The sizes of a plan's targets.
fn sizes(plan: &Plan) -> Vec<u64> {
    let size = |target: &model::plan::Target| match &target.kind {
        TargetKind::Nothing { size } => size.0,
        TargetKind::Simulated { device } => device.size.0,
        _ => target.prepare.size().map_or(SIZE, |size| size.0),
    };
    plan.targets.iter().map(size).collect()
}

/// A plan whose stop rules and depths the drive knows.
fn simplified(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for job in plan.steps.iter_mut().flat_map(|step| &mut step.jobs) {
        let stop = &mut job.stop;
        let rounds = stop.rounds.take().unwrap_or(1);
        if stop.repeat_until_time && stop.after_ns.is_some() {
            *stop = Stop {
                after_ns: stop.after_ns,
                ..Stop::default()
            };
        }
        stop.bytes = stop.bytes.map(|bytes| model::Bytes(bytes.0 * u64::from(rounds)));
        stop.operations = stop.operations.map(|count| count * u64::from(rounds));
        stop.passes = stop.passes.map(|passes| passes * rounds);
        stop.region_percent = stop.region_percent.map(|percent| percent * rounds);
        for worker in &mut job.workers {
            if let DepthScope::PerTarget { .. } = worker.depth {
                worker.depth = DepthScope::Shared {
                    operations: worker.slots(),
                };
            }
        }
    }
    plan
}

/// True for distributions whose preferred blocks are scattered over the target.
fn is_scattered(stream: &Stream) -> bool {
    use Placement::{Pareto, Zipf};
    matches!(
        stream.pattern.access[0],
        Access::Random {
            placement: Zipf(_) | Pareto(_)
        }
    )
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

fn measure(plan: &Plan) -> Measured {
    let plan = simplified(plan);
    let sizes = sizes(&plan);
    let mut measured = Measured::default().with(|measured| measured.fixed_positions = true);
    let (mut count, mut bytes, mut ends) = (0.0, 0.0, true);
    let (mut divisor, mut first) = (0, u64::MAX);
    for (step, jobs) in plan.steps.iter().enumerate() {
        for (number, job) in jobs.jobs.iter().enumerate() {
            let issued = execute(&plan, step, number, &sizes, OPERATIONS);
            for (worker, issued) in job.workers.iter().zip(&issued) {
                ends &= issued.len() < OPERATIONS;
                let mut ends_of_streams: BTreeMap<(usize, u32), u64> = BTreeMap::new();
                for one in issued {
                    let (operation, stream) = (one.operation, &worker.streams[one.stream]);
                    let jumps = stream.access(operation.direction).has_random_positions();
                    measured.fixed_positions &= !jumps;
                    count += 1.0;
                    bytes += f64::from(operation.length);
                    divisor = gcd(divisor, operation.offset);
                    first = first.min(operation.offset);
                    let path = plan.target(one.target).path.trim_end_matches('/').to_owned();
                    let part = operation.offset * 16 / SIZE;
                    // The places that a skewed distribution prefers depend on random numbers.
                    let part = if is_scattered(stream) { 0 } else { part };
                    *measured.positions.entry(format!("{path} {part}/16")).or_default() += 1.0;
                    let end = ends_of_streams.insert(
                        (one.stream, one.target.0),
                        operation.offset + u64::from(operation.length),
                    );
                    let jump = end.map(|end| operation.offset.wrapping_sub(end) as i64);
                    let kind = match jump {
                        Some(0) => "continues".to_owned(),
                        Some(jump) if !jumps => format!("jumps by {jump}"),
                        _ => "jumps".to_owned(),
                    };
                    *measured.positions.entry(kind).or_default() += 1.0;
                    *measured.lengths.entry(operation.length).or_default() += 1.0;
                    *measured.directions.entry(operation.direction.word()).or_default() += 1.0;
                }
                for stream in &worker.streams {
                    let rates = match stream.pacing {
                        Pacing::Unpaced => Vec::new(),
                        Pacing::Together { rate } => vec![rate],
                        Pacing::PerDirection { rates } => rates.iter().filter_map(|(_, rate)| *rate).collect(),
                    };
                    for rate in rates {
                        let unit = match rate.unit {
                            RateUnit::Operations => "operations",
                            RateUnit::Bytes => "bytes",
                        };
                        *measured.rates.entry(unit).or_default() += rate.per_second();
                    }
                    if let Some(think) = stream.think.filter(|think| think.pause_ns.0 > 0) {
                        let word = format!("{} after {}", think.pause_ns, think.operations);
                        measured.pauses.insert(word, 1.0);
                    }
                }
            }
        }
    }
    let shares = |total: f64, share: &mut f64| *share /= total;
    measured.positions.values_mut().for_each(|share| shares(count, share));
    measured.lengths.values_mut().for_each(|share| shares(count, share));
    measured.directions.values_mut().for_each(|share| shares(count, share));
    measured.count = count;
    measured.amount = ends.then_some((count, bytes));
    measured.positions.insert(format!("multiples of {divisor}"), 1.0);
    if measured.fixed_positions {
        measured.positions.insert(format!("from {first}"), 1.0);
    }
    measured
}

/// The first key whose share differs by more than the tolerance.
fn different<K: Ord + ToString>(one: &BTreeMap<K, f64>, other: &BTreeMap<K, f64>, tolerance: f64) -> Option<String> {
    let share = |list: &BTreeMap<K, f64>, key: &K| list.get(key).copied().unwrap_or_default();
    let mut keys = one.keys().chain(other.keys());
    let key = keys.find(|key| (share(one, key) - share(other, key)).abs() > tolerance)?;
    Some(format!(
        "{}: {} and {}",
        key.to_string(),
        share(one, key),
        share(other, key)
    ))
}

/// The properties that differ, each with an example.
fn differences(wanted: &Measured, got: &Measured) -> Vec<(Property, String)> {
    let is_fixed = wanted.fixed_positions && got.fixed_positions && wanted.lengths.len() == 1;
    // Four standard deviations of a share of one half.
    let noise = 2.0 / wanted.count.min(got.count).sqrt();
    let mut found = Vec::new();
    let mut add = |property, words: Option<String>| found.extend(words.map(|words| (property, words)));
    let near = |one: f64, other: f64| (one - other).abs() <= one.max(other) * if is_fixed { 0.0 } else { 0.15 };
    let of_amount = match (wanted.amount, got.amount) {
        (None, None) => None,
        (Some(one), Some(other)) if near(one.0, other.0) && near(one.1, other.1) => None,
        (one, other) => Some(format!("{one:?} and {other:?}")),
    };
    // The wraps of another number of passes are another share of the distances.
    let tolerance = match is_fixed && of_amount.is_none() {
        true => 0.02,
        false => noise.max(0.08),
    };
    let of_lengths = different(&wanted.lengths, &got.lengths, noise);
    if of_lengths.is_none() {
        add(Positions, different(&wanted.positions, &got.positions, tolerance));
    }
    add(Amount, of_amount);
    add(Lengths, of_lengths);
    add(Directions, different(&wanted.directions, &got.directions, noise));
    let total: f64 = wanted.rates.values().sum();
    add(Rates, different(&wanted.rates, &got.rates, total * 1e-6));
    add(Pauses, different(&wanted.pauses, &got.pauses, 0.0));
    found
}

/// The plan of a source: its dialect, then its text.
fn read(source: &str) -> Plan {
    let (dialect, text) = source.split_once(' ').unwrap();
    match dialect {
        "native" => flags(&format!("--target /d/a.dat {text}")),
        "job" => job_file(text),
        "fio" => {
            let mut env = fio_support::TestEnv::default();
            let target = if text.contains("--filename") {
                ""
            } else {
                "--filename=/d/a.dat"
            };
            let words = split_words(&format!("--name=a {target} {text}"));
            match fio::read("fio", &words, &mut env) {
                fio::ParseOutcome::Run(jobs) => fio_plan(&jobs).unwrap_or_else(|error| panic!("{source}: {error}")),
                fio::ParseOutcome::End(end) => panic!("{source}: {:?}", end.read.notices),
            }
        }
        "diskspd" => diskspd_line(&format!("{text} /d/a.dat")),
        "vdbench" => parse_plan(&text.replace("; ", "\n")),
        _ => panic!("{source}"),
    }
}

/// The plan of a conversion.
fn again(conversion: &Conversion) -> Plan {
    match conversion.dialect {
        Dialect::Native => native_again(conversion),
        Dialect::Diskspd => diskspd_again(conversion),
        Dialect::Iometer => {
            let more = ["--size=1MiB", "--map=sdb=/dev/sdb"];
            lower_text(&conversion.text, &more).unwrap().plan
        }
        Dialect::Vdbench => parse_plan_on(&conversion.text, Some(SIZE)),
        Dialect::Fio => {
            let mut env = fio_support::TestEnv::with_file("a.fio", &conversion.text);
            match fio::read("fio", &["a.fio".to_owned()], &mut env) {
                fio::ParseOutcome::Run(jobs) => fio_plan(&jobs).unwrap(),
                fio::ParseOutcome::End(end) => panic!("{:?}\n{}", end.read.notices, conversion.text),
            }
        }
    }
}

/// The differences that no line names, and the text of the conversion.
fn unnamed_differences(plan: &Plan, measured: &Measured, to: Dialect) -> Vec<String> {
    let conversion = convert::convert_to(to, plan);
    let lines: Vec<String> = conversion
        .lost
        .iter()
        .chain(&conversion.differs)
        .map(ToString::to_string)
        .collect();
    if lines
        .iter()
        .any(|line| line.contains("all of it") || line.contains("the whole test"))
    {
        return Vec::new();
    }
    let found = differences(measured, &measure(&again(&conversion)));
    let is_named = |property: Property| {
        let (_, names) = NAMES.iter().find(|(known, _)| *known == property).unwrap();
        lines.iter().any(|line| names.iter().any(|name| line.contains(name)))
    };
    let unnamed = found.into_iter().filter(|(property, _)| !is_named(*property));
    unnamed
        .map(|(property, words)| format!("{property:?}: {words}\n{}\n{}", lines.join("\n"), conversion.text))
        .collect()
}

#[test]
fn every_difference_in_operations_is_named() {
    let mut faults = Vec::new();
    for source in SOURCES {
        let plan = read(source);
        let measured = measure(&plan);
        for to in DIALECTS {
            if to != plan.origin.dialect {
                let found = std::panic::catch_unwind(|| unnamed_differences(&plan, &measured, to))
                    .unwrap_or_else(|_| vec!["PANIC".into()]);
                faults.extend(found.into_iter().map(|fault| format!("{source} → {to:?}: {fault}")));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} differences are silent:\n{}",
        faults.len(),
        faults.join("\n")
    );
}
