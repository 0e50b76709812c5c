//! The sequences recorded from fio 3.42, checked from the command line onwards: it is parsed and
//! lowered, and the plan is driven on a file `f` of 128 KiB.
//!
//! Positions drawn by `lfsr`, `tausworthe64`, `zipf`, `pareto`, `normal` and `zoned` need not come
//! in fio's order, but must have its properties.

use model::Direction;
use model::plan::Plan;

use crate::drive::{Issued, execute, whole};
use crate::fio::effects::lowered;
use crate::fio::support::{DATA, split};

const K: u64 = 1024;
const DRAWS: u64 = 20_000;

/// The plan of a recorded command line.
fn plan(options: &str) -> Plan {
    let words = split(&format!("--name=t --filename=f {options}"));
    let lowered = lowered(&words).unwrap_or_else(|| panic!("{options} is refused"));
    // Trims were recorded on a device; here `f` is a file, on which they are refused.
    let unusable = &lowered.unusable;
    assert!(
        unusable.iter().all(|error| error.function == "td_io_queue"),
        "{options}: {unusable:?}"
    );
    whole(lowered.plan)
}

/// The operations that each clone issues. Rounds are alike, so only one is driven.
fn issued(plan: &Plan, max: usize) -> Vec<Vec<Issued>> {
    let rounds = plan.steps[0].jobs[0].stop.rounds.unwrap_or(1) as usize;
    let once = execute(plan, 0, 0, &[128 * K], max);
    once.into_iter().map(|round| round.repeat(rounds)).collect()
}

/// Direction letters and offsets in KiB.
fn shown(issued: &[Issued]) -> String {
    let entries = issued.iter().map(|issued| {
        let letter = match issued.operation.direction {
            Direction::Read => 'R',
            Direction::Write => 'W',
            Direction::Trim => 'T',
        };
        format!("{letter}{}", issued.operation.offset as f64 / 1024.0)
    });
    entries.collect::<Vec<_>>().join(" ")
}

/// Command lines, with the recorded operations of each clone.
fn recordings() -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(format!("{DATA}/offsets.txt")).unwrap();
    let mut recordings: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        match (line.starts_with("--"), recordings.last_mut()) {
            (false, Some((_, clones))) => clones.push(line.trim().to_owned()),
            _ => recordings.push((line.to_owned(), Vec::new())),
        }
    }
    recordings
}

/// The generators and distributions whose order is not promised.
const OTHERS: [&str; 6] = ["=lfsr", "=tausworthe64", "=zipf:", "=pareto:", "=normal:", "=zoned:"];

fn is_promised(options: &str) -> bool {
    !OTHERS.iter().any(|other| options.contains(other))
}

#[test]
fn promised_sequences_match_fio() {
    let mut count = 0;
    for (options, expected) in recordings().iter().filter(|(options, _)| is_promised(options)) {
        let found: Vec<String> = issued(&plan(options), 100).iter().map(|clone| shown(clone)).collect();
        assert_eq!(&found, expected, "{options}");
        count += 1;
    }
    assert_eq!((count, recordings().len()), (28, 28 + OTHERS.len()));
}

/// How many times each of the 16 blocks of a recorded command line is used, over many operations.
fn counts(other: &str) -> [u64; 16] {
    let all = recordings();
    let (options, _) = all.iter().find(|(options, _)| options.contains(other)).unwrap();
    let longer = options.replace("--io_size=64k", &format!("--io_size={}k", 4 * DRAWS));
    let max = if longer == *options { 100 } else { DRAWS as usize };
    let mut again = Vec::new();
    for _ in 0..2 {
        again.push(issued(&plan(&longer), max).remove(0));
    }
    assert_eq!(again[0], again[1], "{options} twice");
    let mut counts = [0; 16];
    for issued in &again[0] {
        assert_eq!(issued.operation.offset % (4 * K), 0, "{options}");
        counts[(issued.operation.offset / (4 * K)) as usize] += 1;
    }
    counts
}

#[test]
fn other_generators_visit_each_block_once() {
    for other in ["=lfsr", "=tausworthe64"] {
        assert_eq!(counts(other), [1; 16], "{other}");
    }
}

#[track_caller]
fn near(count: u64, share: f64) {
    let expected = share * DRAWS as f64;
    let deviation = (expected * (1.0 - share)).sqrt();
    assert!(
        (count as f64 - expected).abs() < 5.0 * deviation,
        "{count} for {expected}"
    );
}

/// The shares of the busiest blocks follow the distribution, regardless of where the blocks are.
#[test]
fn skewed_distributions_have_their_shares() {
    let busiest = |other: &str| {
        let mut counts = counts(other);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    };
    let zipf = busiest("=zipf:");
    let sum: f64 = (1..=16).map(|rank| f64::from(rank).powf(-1.2)).sum();
    for rank in 1..=4u32 {
        near(zipf[rank as usize - 1], f64::from(rank).powf(-1.2) / sum);
    }
    let pareto = busiest("=pareto:");
    let exponent = 0.7f64.ln() / 0.3f64.ln();
    for top in [1usize, 4, 8] {
        near(pareto[..top].iter().sum(), (top as f64 / 16.0).powf(exponent));
    }
}

#[test]
fn placed_distributions_have_their_shares() {
    // Blocks 5 to 10 are 0.9375 deviations on either side of the middle.
    near(counts("=normal:")[5..11].iter().sum(), 0.65148);
    // 10 % of 16 blocks end within the second block, which belongs to the next range.
    let zoned = counts("=zoned:");
    near(zoned[0], 0.6);
    near(zoned[1..4].iter().sum(), 0.3);
    near(zoned[4..].iter().sum(), 0.1);
}
