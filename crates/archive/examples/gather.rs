//! Measures the time to merge and save the results of many ranks: `gather SAVED RANKS OUT`.
//!
//! Each rank is a variant of one saved result, on its own machine. The code that merges results
//! after a test on several hosts merges them. `cargo xtask bench --only fleet` runs this program
//! and also measures its memory.
#![allow(clippy::print_stdout, reason = "the output of this program")]

use std::path::Path;
use std::time::{Duration, Instant};

use model::Direction;
use model::fleet::{Fleet, Gathering, Rank, RankFacts, Share};
use model::plan::Plan;
use model::results::Results;

/// Operations that each rank adds to the saved result, in each direction.
const ADDED_OPERATIONS: u64 = 500;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [saved, ranks, out] = &arguments[..] else {
        return Err("gather SAVED RANKS OUT".into());
    };
    let rank_count: u32 = ranks.parse().map_err(|_| format!("`{ranks}` is not a number"))?;
    let saved_results = archive::load(Path::new(saved)).map_err(|error| error.to_string())?;
    let common = saved_results.plan.clone();
    let hosts: Vec<String> = (0..rank_count).map(host).collect();
    let start = Instant::now();
    let shares: Vec<Share> = (0..rank_count)
        .map(|number| share(&common, number, &hosts))
        .collect::<Result<_, _>>()?;
    let mut expected = 0;
    let mut whole = Gathering::new(&common, &shares, saved_results.clone());
    let sharing = start.elapsed();
    let (mut merging, mut facts) = (Duration::ZERO, Vec::new());
    for number in 0..rank_count {
        let results_of_rank = rank_results(&saved_results, &shares[number as usize].plan, number);
        expected += operations(&results_of_rank);
        let start = Instant::now();
        let machine = whole.add(number, results_of_rank);
        merging += start.elapsed();
        facts.push(RankFacts {
            host: host(number),
            machine,
            starts_ns: vec![0],
            ..RankFacts::default()
        });
    }
    let mut results = whole.finish();
    results.fleet = Some(Fleet {
        transport: "nothing".into(),
        ranks: facts,
        ..Fleet::default()
    });
    let start = Instant::now();
    let finding_count = analysis::check(&results).len();
    let checking = start.elapsed();
    let start = Instant::now();
    archive::save(&results, Path::new(out)).map_err(|error| error.to_string())?;
    let saving = start.elapsed();
    let bytes = std::fs::metadata(out).map_err(|error| error.to_string())?.len();
    let operations = operations(&results);
    if operations != expected {
        return Err(format!(
            "the merged results have {operations} operations, but the ranks have {expected}"
        ));
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let (sharing, merging, checking, saving) = (ms(sharing), ms(merging), ms(checking), ms(saving));
    println!(
        "{{\"ranks\": {rank_count}, \"operations\": {operations}, \"findings\": {finding_count}, \"share_ms\": {sharing}, \
         \"merge_ms\": {merging}, \"check_ms\": {checking}, \"save_ms\": {saving}, \"saved_bytes\": {bytes}}}"
    );
    Ok(())
}

fn operations(results: &Results) -> u64 {
    results.jobs().map(|job| job.total().operations).sum()
}

fn host(number: u32) -> String {
    format!("host{number}")
}

fn share(common: &Plan, number: u32, hosts: &[String]) -> Result<Share, String> {
    let rank = Rank {
        number,
        rank_count: hosts.len() as u32,
        host: host(number),
    };
    Share::for_rank(common, &rank, hosts, Some("/"))
}

/// The saved result as that of a rank on its own machine. Some operations with random latencies are
/// added. The ranks must differ, because equal results would compress to almost nothing.
fn rank_results(saved_results: &Results, plan: &Plan, number: u32) -> Results {
    let mut results_of_rank = saved_results.clone();
    results_of_rank.plan.clone_from(plan);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ (u64::from(number) + 1).wrapping_mul(0x2545_F491_4F6C_DD1D);
    let mut drawn = || {
        // xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for job in results_of_rank.steps.iter_mut().flat_map(|step| &mut step.jobs) {
        for stream in job.workers.iter_mut().flat_map(|worker| &mut worker.streams) {
            for direction in Direction::ALL {
                let Some(results) = &mut stream.directions[direction] else {
                    continue;
                };
                for _ in 0..ADDED_OPERATIONS {
                    let latency = results.total.quantile((drawn() % 1000) as f64 / 1000.0);
                    results.completion.record(latency);
                    results.total.record(latency);
                }
                results.operations += ADDED_OPERATIONS;
                results.bytes.0 += ADDED_OPERATIONS * 4096;
            }
        }
        for series in &mut job.series {
            for direction in Direction::ALL {
                for point in &mut series.points[direction] {
                    point.operations += drawn() % 30;
                    point.latency_ns += drawn() % 100_000_000;
                }
            }
        }
    }
    for facts in &mut results_of_rank.hosts {
        facts.environment.host.name = host(number);
    }
    results_of_rank
}
