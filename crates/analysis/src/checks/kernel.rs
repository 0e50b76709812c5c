//! Compares fathom's counters with the kernel's over a whole step: cache hits, read-ahead, load of
//! other programs.

use model::environment::BusyProgram;
use model::finding::{Finding, Severity};
use model::results::{DeviceTraffic, HostDeviceUse, Results};
use model::{Bytes, Direction};

use super::{Check, has_errors};
use crate::attribution::name_programs;

/// The kernel's bytes may differ by this share, for metadata and rounding.
const TOLERANCE: f64 = 0.02;
/// Smaller differences are not reported.
const MIN_DIFFERENCE_BYTES: u64 = 4 << 20;

pub(super) const KERNEL: Check = Check {
    rules: &["CACHE-HITS", "READ-AHEAD", "NOT-ON-DEVICE", "OTHER-LOAD"],
    about: "fathom's byte counts, compared with the kernel's byte counts of the devices.",
    detect: |input, findings| {
        for (step, results) in input.results.steps.iter().enumerate() {
            for device in &results.devices {
                let moved = input.results.moved(step, device);
                let moved = moved.filter(|moved| moved.counts.iter().any(|(_, counts)| counts.operations > 0));
                if let Some(moved) = moved {
                    let names = input.results.plan.steps[step].jobs.iter().map(|job| job.name.as_str());
                    let mut place = format!("{}, {}", device.counters.name, names.collect::<Vec<_>>().join(" and "));
                    // Devices of different hosts can share a name.
                    if let [_, _, ..] = &input.results.hosts[..] {
                        let host = input.results.hosts.get(device.host as usize);
                        let host = host.map_or("", |host| &host.environment.host.name);
                        place = format!("{host}: {place}");
                    }
                    // The kernel counts the bytes of failed operations; fathom cannot.
                    let programs = match results.jobs.iter().any(has_errors) {
                        true => None,
                        false => other_programs(input.results, device.host),
                    };
                    check_device(&moved, device, (&place, programs.as_deref()), findings);
                }
            }
        }
    },
};

/// The other programs with the most I/O on a host. `None` if a process of the test was lost there,
/// because its I/O would count as another program's I/O.
fn other_programs(results: &Results, host: u32) -> Option<Vec<BusyProgram>> {
    let mut ranks = results.fleet.iter().flat_map(|fleet| &fleet.ranks);
    if ranks.any(|rank| rank.lost.is_some() && rank.machine.is_none_or(|machine| machine == host)) {
        return None;
    }
    let system = results.hosts.get(host as usize).and_then(|host| host.system.as_ref());
    let list = system.map(|system| &system.programs[..]).unwrap_or_default();
    let own_processes = system.map(|system| &system.own_processes[..]).unwrap_or_default();
    let others = list.iter().filter(|program| !own_processes.contains(&program.process));
    Some(others.cloned().collect())
}

fn check_device(
    moved: &DeviceTraffic,
    device: &HostDeviceUse,
    (at, programs): (&str, Option<&[BusyProgram]>),
    findings: &mut Vec<Finding>,
) {
    let device_bytes = device.counters.bytes.iter().sum::<u64>();
    let mut others = Vec::new();
    for direction in [Direction::Read, Direction::Write] {
        let ours = moved.counts[direction].bytes.0;
        let mut kernels = device.counters.bytes[direction as usize];
        let is_buffered = moved.buffered[direction] && !moved.direct[direction];
        if let Some(own) = device.own_reads
            && is_buffered
            && direction == Direction::Read
        {
            // Reads of other programs would hide that memory served this test.
            let foreign = kernels.saturating_sub(own.0);
            if is_notable(foreign, kernels) && foreign as f64 > TOLERANCE * device_bytes as f64 {
                others.push((direction, foreign));
            }
            kernels = kernels.min(own.0);
        }
        let difference = kernels.abs_diff(ours);
        if !is_notable(difference, ours.max(kernels)) {
            continue;
        }
        let less = kernels < ours;
        let finding = match (direction, moved.direct[direction], moved.buffered[direction]) {
            (Direction::Read, false, true) if less => cache_hits(ours, kernels),
            (Direction::Read, false, true) => read_ahead(ours, kernels),
            // The kernel may write back buffered data at any time, together with data of other
            // programs.
            (Direction::Write, false, true) | (_, true, true) => continue,
            (_, true, false) if less => not_on_device(direction, ours, kernels),
            // A small share of the bytes has no noticeable effect.
            _ if difference as f64 <= TOLERANCE * device_bytes as f64 => continue,
            _ => {
                others.push((direction, difference));
                continue;
            }
        };
        findings.push(finding.at(at));
    }
    let other_load = programs.and_then(|programs| other_load(&device.counters.name, &others, device_bytes, programs));
    findings.extend(other_load.map(|finding| finding.at(at)));
}

/// True if a difference of bytes is more than metadata and rounding can make.
fn is_notable(difference: u64, total: u64) -> bool {
    difference >= MIN_DIFFERENCE_BYTES && difference as f64 > TOLERANCE * total as f64
}

fn cache_hits(ours: u64, kernels: u64) -> Finding {
    let share = 100.0 * (ours - kernels) as f64 / ours as f64;
    let message = format!("{share:.1} % of the bytes read came from the page cache, not from the device");
    let finding = Finding::new("CACHE-HITS", Severity::Warning, message);
    finding
        .why("the figures show memory rather than storage")
        .help("use the default `cache = \"direct\"` to measure the device")
}

fn read_ahead(ours: u64, kernels: u64) -> Finding {
    let factor = kernels as f64 / ours.max(1) as f64;
    let message = format!("the kernel read {factor:.2} times the bytes that the test requested");
    let finding = Finding::new("READ-AHEAD", Severity::Note, message);
    finding
        .why("because of read-ahead and whole-page reads, the device did more work than the figures show")
        .help("use the default `cache = \"direct\"` to measure the device alone")
}

fn not_on_device(direction: Direction, ours: u64, kernels: u64) -> Finding {
    let (word, ours, kernels) = (direction.word(), Bytes(ours), Bytes(kernels));
    let message = format!("the test issued {ours} of direct {word}s, but the device moved only {kernels}");
    let finding = Finding::new("NOT-ON-DEVICE", Severity::Warning, message);
    let why = "holes, unwritten extents, compression or the file system served part of the I/O \
        without the device";
    finding
        .why(why)
        .help("test a file that fathom has prepared, or the device itself")
}

/// Reports the bytes of others, in one finding for both directions.
fn other_load(device: &str, others: &[(Direction, u64)], all: u64, programs: &[BusyProgram]) -> Option<Finding> {
    let percent = |bytes: u64| 100.0 * bytes as f64 / all as f64;
    let sum: u64 = others.iter().map(|(_, bytes)| bytes).sum();
    let shares = others
        .iter()
        .map(|(direction, bytes)| format!("{:.1} % {}s", percent(*bytes), direction.word()));
    let words = match others {
        [] => return None,
        [(direction, _)] => format!("{}s", direction.word()),
        _ => shares.collect::<Vec<_>>().join(", "),
    };
    let programs = name_programs(programs, Bytes(sum));
    let message = format!(
        "{:.1} % of the traffic on {device} was not from this test ({words}){programs}",
        percent(sum)
    );
    let finding = Finding::new("OTHER-LOAD", Severity::Warning, message);
    let finding = finding.why(
        "another program used the device, or the file system added its own I/O; both reduce the \
        capacity for this test",
    );
    Some(finding.help("stop the other programs that use the device (`sudo iotop -o` lists them), and repeat the test"))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, rules};
    use model::environment::{BusyProgram, SystemUse};
    use model::fleet::{Fleet, RankFacts};
    use model::plan::CacheMode;
    use model::testing::assert_starts_with;
    use model::{Bytes, Direction, Nanos};

    /// 10,000 reads of 4 KiB with the given share of them seen by the kernel.
    fn find_rules(cache: CacheMode, share: f64) -> Vec<String> {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        let bytes = (10_000.0 * 4096.0 * share) as u64;
        samples::on_device(&mut results, "sdz", cache, bytes);
        let mut rules = rules(&results);
        rules.retain(|rule| ["CACHE-HITS", "READ-AHEAD", "NOT-ON-DEVICE", "OTHER-LOAD"].contains(&rule.as_str()));
        rules
    }

    #[test]
    fn equal_counts_are_silent() {
        assert!(find_rules(CacheMode::DIRECT, 1.0).is_empty());
        assert!(find_rules(CacheMode::DIRECT, 1.01).is_empty());
        assert!(find_rules(CacheMode::BUFFERED, 1.0).is_empty());
    }

    /// What other programs read from the device changes nothing about the page cache.
    #[test]
    fn reads_of_other_programs_hide_no_cache_hits() {
        let bytes = 10_000 * 4096;
        let found = |device: u64, own: u64| {
            let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
            samples::on_device(&mut results, "sdz", CacheMode::BUFFERED, device);
            results.steps[0].devices[0].own_reads = Some(Bytes(own));
            let mut rules = rules(&results);
            rules.retain(|rule| rule != "BUFFERED");
            rules
        };
        assert_eq!(found(20 * bytes, 0), ["CACHE-HITS", "OTHER-LOAD"]);
        assert_eq!(found(20 * bytes, bytes), ["OTHER-LOAD"], "not read-ahead");
        assert_eq!(found(3 * bytes, 3 * bytes), ["READ-AHEAD"]);
        assert_eq!(found(bytes, bytes), Vec::<String>::new());
        // The test also read another device.
        assert_eq!(found(bytes, 3 * bytes), Vec::<String>::new());
    }

    #[test]
    fn a_small_share_in_the_other_direction_is_silent() {
        let written = |bytes: u64| {
            let mut results = samples::closed_loop(10, 100_000, Nanos::millis(1));
            samples::on_device(&mut results, "sdz", CacheMode::DIRECT, 100_000 * 4096);
            results.steps[0].devices[0].counters.bytes[1] = bytes;
            rules(&results).contains(&"OTHER-LOAD".to_owned())
        };
        assert!(!written(6 << 20), "1.5 % of 400 MB");
        assert!(written(60 << 20));
    }

    #[test]
    fn reads_and_writes_of_others_are_one_finding() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        samples::on_device(&mut results, "sdz", CacheMode::DIRECT, 20_000 * 4096);
        results.steps[0].devices[0].counters.bytes[1] = 20_000 * 4096;
        let found: Vec<String> = samples::findings(&results, "OTHER-LOAD")
            .map(|finding| finding.what)
            .collect();
        assert_eq!(
            found,
            ["75.0 % of the traffic on sdz was not from this test (25.0 % reads, 50.0 % writes)"]
        );
    }

    #[test]
    fn failed_operations_do_not_count_as_other_load() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        samples::on_device(&mut results, "sdz", CacheMode::DIRECT, 20_000 * 4096);
        let stream = &mut results.steps[0].jobs[0].workers[0].streams[0];
        stream.directions[Direction::Read].as_mut().unwrap().errors = 10_000;
        let found = rules(&results);
        assert!(!found.contains(&"OTHER-LOAD".to_owned()), "{found:?}");
    }

    #[test]
    fn programs_with_io_are_named() {
        let program = |name: &str, process, bytes| BusyProgram {
            name: name.into(),
            process,
            bytes: Bytes(bytes),
        };
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        samples::on_device(&mut results, "sdz", CacheMode::DIRECT, 20_000 * 4096);
        results.hosts[0].system = Some(SystemUse {
            programs: vec![
                program("fathom", 9, 10_000 * 4096),
                program("tar", 7, 10_000 * 4096),
                // Too little to be named.
                program("dd", 12, 999 * 4096),
                program("kworker/u8:2", 3, 10_000 * 4096),
            ],
            own_processes: vec![8, 9],
            ..SystemUse::default()
        });
        let found = |results: &model::results::Results| -> Vec<String> {
            let findings = samples::findings(results, "OTHER-LOAD");
            findings.map(|finding| finding.what).collect()
        };
        let other_load = "50.0 % of the traffic on sdz was not from this test (reads); programs with I/O on any device \
            during that time: ";
        assert_eq!(found(&results), [format!("{other_load}tar (pid 7)")]);
        let system = results.hosts[0].system.as_mut().unwrap();
        system.programs.retain(|program| program.name != "tar");
        assert_eq!(found(&results), [format!("{other_load}kernel threads of other I/O")]);
    }

    #[test]
    fn io_of_a_lost_process_is_not_attributed_to_others() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        samples::on_device(&mut results, "sdz", CacheMode::DIRECT, 20_000 * 4096);
        let mut found = |machine, lost: Option<&str>| {
            let rank = RankFacts {
                machine,
                lost: lost.map(str::to_owned),
                ..RankFacts::default()
            };
            results.fleet = Some(Fleet {
                continues_on_loss: false,
                transport: "pipes".into(),
                ranks: vec![rank],
            });
            rules(&results).contains(&"OTHER-LOAD".to_owned())
        };
        assert!(found(Some(0), None));
        assert!(!found(Some(0), Some("its process has ended")));
        assert!(!found(None, Some("its process has ended")));
        // A process on another machine cannot have moved bytes on this host's device.
        assert!(found(Some(1), Some("its process has ended")));
    }

    #[test]
    fn a_device_belongs_to_its_host() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        samples::on_device(&mut results, "sdz", CacheMode::DIRECT, 20_000 * 4096);
        let finding_places = |results: &model::results::Results| samples::finding(results, "OTHER-LOAD").at.unwrap();
        assert_starts_with(&finding_places(&results), "sdz, ");
        let mut two = results.hosts[0].clone();
        two.environment.host.name = "two".into();
        results.hosts.push(two);
        for device in &mut results.steps[0].devices {
            device.host = 1;
        }
        for worker in &mut results.steps[0].jobs[0].workers {
            worker.host = 1;
        }
        assert_starts_with(&finding_places(&results), "two: sdz, ");
    }

    #[test]
    fn each_difference_has_its_name() {
        assert_eq!(find_rules(CacheMode::BUFFERED, 0.1), ["CACHE-HITS"]);
        assert_eq!(find_rules(CacheMode::BUFFERED, 3.0), ["READ-AHEAD"]);
        assert_eq!(find_rules(CacheMode::DIRECT, 0.5), ["NOT-ON-DEVICE"]);
        assert_eq!(find_rules(CacheMode::DIRECT, 2.0), ["OTHER-LOAD"]);
    }
}
