//! What goes on around a test: the network's losses, processors that are held back, the I/O of others.

use std::collections::HashMap;
use std::time::Duration;

use model::environment::{Before, BusyProgram, IdleState, InterfaceLosses, SystemUse};
use model::{Bytes, Nanos};

use super::System;
use super::counters::DeviceTimes;
use super::limits::own_groups;

/// Counters of the system at one moment.
#[derive(Clone, Debug, Default)]
pub struct SystemTimes {
    tcp: Option<[u64; 2]>,
    /// By interface: errors and drops.
    interfaces: HashMap<String, [u64; 2]>,
    throttled: Option<Nanos>,
    thermal: Option<u64>,
    programs: Programs,
}

impl SystemTimes {
    /// Reads them; what the system does not tell is absent.
    pub fn read(system: &System) -> SystemTimes {
        SystemTimes {
            tcp: system.text("/proc/net/snmp").and_then(|text| tcp(&text)),
            interfaces: interfaces(system),
            throttled: throttled(system),
            thermal: thermal(system),
            programs: programs(system),
        }
    }

    /// What happened since an earlier reading. Interfaces that came in between are left out.
    pub fn since(&self, earlier: &SystemTimes) -> SystemUse {
        let losses = self.interfaces.iter().filter_map(|(name, now)| {
            let then = earlier.interfaces.get(name)?;
            let [errors, dropped] = [0, 1].map(|field: usize| now[field].saturating_sub(then[field]));
            let name = name.clone();
            (errors + dropped > 0).then_some(InterfaceLosses { name, errors, dropped })
        });
        let mut losses: Vec<InterfaceLosses> = losses.collect();
        losses.sort_by(|a, b| a.name.cmp(&b.name));
        let pair = self.tcp.zip(earlier.tcp);
        SystemUse {
            tcp_segments: pair.map(|(now, then)| [0, 1].map(|field: usize| now[field].saturating_sub(then[field]))),
            losses,
            throttled_ns: self.throttled.zip(earlier.throttled).map(|(now, then)| now.since(then)),
            thermal_events: self
                .thermal
                .zip(earlier.thermal)
                .map(|(now, then)| now.saturating_sub(then)),
            programs: busiest(&earlier.programs, &self.programs),
            own_processes: vec![std::process::id()],
        }
    }
}

/// Segments sent and sent again. The file has a line of names and a line of values for each protocol.
fn tcp(text: &str) -> Option<[u64; 2]> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let value = |wanted: &str| {
        let place = names.split_ascii_whitespace().position(|name| name == wanted)?;
        values.split_ascii_whitespace().nth(place)?.parse().ok()
    };
    Some([value("OutSegs")?, value("RetransSegs")?])
}

/// Losses of each interface but the loopback.
fn interfaces(system: &System) -> HashMap<String, [u64; 2]> {
    let names = system.names("/sys/class/net").into_iter().filter(|name| name != "lo");
    let of = |name: String| {
        let sum = |files: [&str; 2]| {
            let value = |file: &str| system.value::<u64>(&format!("/sys/class/net/{name}/statistics/{file}"));
            files.into_iter().filter_map(value).sum()
        };
        let losses = [sum(["rx_errors", "tx_errors"]), sum(["rx_dropped", "tx_dropped"])];
        (name, losses)
    };
    names.map(of).collect()
}

/// Time for which the control group of this process was out of processor time, of both versions of control groups.
fn throttled(system: &System) -> Option<Nanos> {
    let of = |folder: String| -> Option<Nanos> {
        let text = system.text(&format!("{folder}/cpu.stat"))?;
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(' ')?;
            let value: u64 = value.trim().parse().ok()?;
            match key {
                "throttled_time" => Some(Nanos(value)),
                "throttled_usec" => Some(Nanos::micros(value)),
                _ => None,
            }
        })
    };
    own_groups(system, "cpu").into_iter().find_map(of)
}

/// Times at which a core was slowed because it was too hot (Intel).
fn thermal(system: &System) -> Option<u64> {
    const FOLDER: &str = "/sys/devices/system/cpu";
    let cpus = system.names(FOLDER).into_iter().filter(|name| name.starts_with("cpu"));
    let counts =
        cpus.filter_map(|name| system.value::<u64>(&format!("{FOLDER}/{name}/thermal_throttle/core_throttle_count")));
    counts.reduce(|a, b| a + b)
}

/// The deepest idle state of the first processor that is not disabled.
pub(super) fn deepest_idle(system: &System) -> Option<IdleState> {
    const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cpuidle";
    let states = system.names(FOLDER).into_iter().filter_map(|state| {
        let at = |file: &str| format!("{FOLDER}/{state}/{file}");
        let latency: u64 = system.value(&at("latency")).filter(|_| !system.flag(&at("disable")))?;
        let name = system.words(&at("name"))?;
        Some(IdleState {
            name,
            exit_ns: Nanos::micros(latency),
        })
    });
    states.max_by_key(|state| state.exit_ns)
}

/// Watches what others do to devices for some time: call it before the test begins. `stop` ends it early.
pub fn watch_others(system: &System, devices: &[String], time: Duration, stop: &dyn Fn() -> bool) -> Before {
    const LOOK: Duration = Duration::from_millis(100);
    let start = std::time::Instant::now();
    let (then, programs_then) = (DeviceTimes::read(), programs(system));
    while start.elapsed() < time && !stop() {
        std::thread::sleep(LOOK.min(time.saturating_sub(start.elapsed())));
    }
    let watched = start.elapsed();
    let now = DeviceTimes::read();
    let busy = devices.iter().filter_map(|name| now.since(&then, name));
    Before {
        watched_ns: Nanos(watched.as_nanos() as u64),
        devices: busy
            .filter(|device| device.operations.iter().any(|count| *count > 0))
            .collect(),
        programs: busiest(&programs_then, &programs(system)),
    }
}

type Programs = HashMap<u32, (String, u64)>;

/// Bytes that each other program has caused to be read and written so far, as far as this user may see. A run is not held up
/// by a system with very many of them, of which nothing is told then.
fn programs(system: &System) -> Programs {
    const MOST: usize = 2000;
    let own = std::process::id();
    let numbers: Vec<u32> = system
        .names("/proc")
        .into_iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    if numbers.len() > MOST {
        return Programs::new();
    }
    let of = |process: u32| {
        let text = system.text(&format!("/proc/{process}/io"))?;
        let value = |key: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok())
        };
        let bytes = value("read_bytes:")? + value("write_bytes:")?;
        Some((process, (system.words(&format!("/proc/{process}/comm"))?, bytes)))
    };
    let others = numbers.into_iter().filter(|process| *process != own);
    others.filter_map(of).collect()
}

/// Programs that moved anything in between, the busiest first.
fn busiest(then: &Programs, now: &Programs) -> Vec<BusyProgram> {
    const MOST: usize = 5;
    let moved = now.iter().filter_map(|(process, (name, bytes))| {
        let before = then
            .get(process)
            .filter(|(known, _)| known == name)
            .map_or(0, |(_, bytes)| *bytes);
        let bytes = Bytes(bytes.saturating_sub(before));
        (bytes.0 > 0).then(|| BusyProgram {
            process: *process,
            name: name.clone(),
            bytes,
        })
    });
    let mut list: Vec<BusyProgram> = moved.collect();
    // A worker of the kernel does the I/O of others, who are what a user can stop.
    let is_kernel = |program: &BusyProgram| program.name.starts_with("kworker/");
    list.sort_by_key(|program| (is_kernel(program), std::cmp::Reverse(program.bytes), program.process));
    list.truncate(MOST);
    list
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    const SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
        Tcp: RtoAlgorithm OutSegs RetransSegs InErrs\nTcp: 1 1000 7 0\nUdp: InDatagrams\nUdp: 1\n";

    fn system_at(retransmitted: &str, dropped: &str, throttled: &str) -> SystemTimes {
        let snmp = SNMP.replace("1000 7", retransmitted);
        let (_root, system) = tree(&[
            ("proc/net/snmp", &snmp),
            ("sys/class/net/eth0/statistics/rx_dropped", dropped),
            ("sys/class/net/eth0/statistics/tx_errors", "5\n"),
            ("sys/class/net/lo/statistics/rx_dropped", "9\n"),
            ("proc/self/cgroup", "0::/load\n"),
            (
                "proc/self/mountinfo",
                "31 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            (
                "sys/fs/cgroup/load/cpu.stat",
                &format!("usage_usec 5\nthrottled_usec {throttled}\n"),
            ),
            (
                "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
                "3\n",
            ),
            (
                "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count",
                "4\n",
            ),
        ]);
        SystemTimes::read(&system)
    }

    #[test]
    fn differences_between_two_readings() {
        let found = system_at("1500 9", "12\n", "700").since(&system_at("1000 7", "10\n", "200"));
        assert_eq!(found.tcp_segments, Some([500, 2]));
        let lost = InterfaceLosses {
            name: "eth0".into(),
            errors: 0,
            dropped: 2,
        };
        assert_eq!(found.losses, [lost]);
        assert_eq!(found.throttled_ns, Some(Nanos::micros(500)));
        assert_eq!(found.thermal_events, Some(0));
    }

    #[test]
    fn a_system_that_tells_nothing() {
        let (_root, system) = tree(&[]);
        let nothing = SystemTimes::read(&system);
        let only_us = SystemUse {
            own_processes: vec![std::process::id()],
            ..SystemUse::default()
        };
        assert_eq!(nothing.since(&nothing), only_us);
    }

    #[test]
    fn idle_states_that_are_disabled_do_not_count() {
        let (_root, system) = tree(&[
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1E\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "10\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C6\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1\n"),
        ]);
        let deepest = deepest_idle(&system).expect("two are left");
        assert_eq!((deepest.name.as_str(), deepest.exit_ns), ("C1E", Nanos::micros(10)));
    }

    #[test]
    fn programs_that_moved_most_come_first() {
        let program = |name: &str, bytes: u64| (name.to_owned(), bytes);
        let then = Programs::from([(1, program("a", 100)), (2, program("b", 50)), (3, program("old", 9000))]);
        let now = Programs::from([(1, program("a", 100)), (2, program("b", 90)), (3, program("new", 9500))]);
        let names: Vec<String> = busiest(&then, &now).into_iter().map(|program| program.name).collect();
        assert_eq!(names, ["new", "b"]);
    }
}
