//! Influences on a test: network losses, throttled processors, I/O of other programs.

use std::collections::HashMap;
use std::time::Duration;

use model::Nanos;
use model::environment::{BackgroundIo, IdleState, InterfaceLosses, SystemUse};

use super::System;
use super::counters::DeviceTimes;
use super::limits::own_groups;
use super::program_io::ProgramIo;

/// System counters at one moment.
#[derive(Clone, Debug, Default)]
pub struct SystemTimes {
    tcp: Option<[u64; 2]>,
    /// Errors and drops of each interface.
    interfaces: HashMap<String, [u64; 2]>,
    /// Directory and throttled time of a control group.
    throttled: Option<(String, Nanos)>,
    thermal: Option<u64>,
}

impl SystemTimes {
    /// Reads the counters; those that the system lacks are `None`.
    pub fn read(system: &System) -> SystemTimes {
        SystemTimes {
            throttled: own_groups(system, "cpu")
                .into_iter()
                .find_map(|folder| read_throttling(system, folder)),
            ..SystemTimes::without_groups(system)
        }
    }

    fn without_groups(system: &System) -> SystemTimes {
        SystemTimes {
            tcp: system
                .read_text("/proc/net/snmp")
                .and_then(|text| parse_tcp_segments(&text)),
            interfaces: parse_interfaces(&system.read_text("/proc/net/dev").unwrap_or_default()),
            throttled: None,
            thermal: read_thermal_throttling(system),
        }
    }

    /// Changes between this reading and now.
    pub fn since_this_reading(&self, system: &System) -> SystemUse {
        let folder = self.throttled.as_ref().map(|(folder, _)| folder.clone());
        let now = SystemTimes {
            throttled: folder.and_then(|folder| read_throttling(system, folder)),
            ..SystemTimes::without_groups(system)
        };
        now.since(self)
    }

    /// Changes since an earlier reading. New interfaces are omitted.
    fn since(&self, earlier: &SystemTimes) -> SystemUse {
        let losses = self.interfaces.iter().filter_map(|(name, current)| {
            let before = earlier.interfaces.get(name)?;
            let [errors, dropped] = [0, 1].map(|field: usize| current[field].saturating_sub(before[field]));
            let name = name.clone();
            (errors + dropped > 0).then_some(InterfaceLosses { name, errors, dropped })
        });
        let mut losses: Vec<InterfaceLosses> = losses.collect();
        losses.sort_by(|a, b| a.name.cmp(&b.name));
        let pair = self.tcp.zip(earlier.tcp);
        SystemUse {
            tcp_segments: pair
                .map(|(current, before)| [0, 1].map(|field: usize| current[field].saturating_sub(before[field]))),
            losses,
            throttled_ns: self
                .throttled
                .as_ref()
                .zip(earlier.throttled.as_ref())
                .map(|((_, current), (_, before))| current.since(*before)),
            thermal_events: self
                .thermal
                .zip(earlier.thermal)
                .map(|(current, before)| current.saturating_sub(before)),
            programs: Vec::new(),
            own_processes: vec![std::process::id()],
        }
    }
}

/// TCP segments sent and retransmitted. The file has two lines for each protocol: names and values.
fn parse_tcp_segments(text: &str) -> Option<[u64; 2]> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let value = |wanted: &str| {
        let place = names.split_ascii_whitespace().position(|name| name == wanted)?;
        values.split_ascii_whitespace().nth(place)?.parse().ok()
    };
    Some([value("OutSegs")?, value("RetransSegs")?])
}

/// Errors and drops of each interface except the loopback. A line of `/proc/net/dev` has eight
/// counters of received data (bytes, packets, errors, drops …) and eight of sent data.
fn parse_interfaces(text: &str) -> HashMap<String, [u64; 2]> {
    let line = |line: &str| {
        let (name, counters) = line.split_once(':')?;
        let counters: Vec<u64> = counters
            .split_ascii_whitespace()
            .map_while(|counter| counter.parse().ok())
            .collect();
        let sum = |field: usize| Some(counters.get(field)? + counters.get(field + 8)?);
        Some((name.trim().to_owned(), [sum(2)?, sum(3)?]))
    };
    let mut interfaces: HashMap<String, [u64; 2]> = text.lines().filter_map(line).collect();
    interfaces.remove("lo");
    interfaces
}

/// Throttled time of a control group, version 1 or 2.
fn read_throttling(system: &System, folder: String) -> Option<(String, Nanos)> {
    let text = system.read_text(&format!("{folder}/cpu.stat"))?;
    let time = text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match key {
            "throttled_time" => Some(Nanos(value)),
            "throttled_usec" => Some(Nanos::micros(value)),
            _ => None,
        }
    })?;
    Some((folder, time))
}

/// Thermal throttling events of all cores (Intel). If the first core has no counter, none has.
fn read_thermal_throttling(system: &System) -> Option<u64> {
    const FOLDER: &str = "/sys/devices/system/cpu";
    let count = |cpu: &str| system.read_value::<u64>(&format!("{FOLDER}/{cpu}/thermal_throttle/core_throttle_count"));
    count("cpu0")?;
    let cpus = system
        .list_names(FOLDER)
        .into_iter()
        .filter(|name| name.starts_with("cpu"));
    cpus.filter_map(|cpu| count(&cpu)).reduce(|a, b| a + b)
}

/// The deepest enabled idle state of the first processor.
pub(super) fn deepest_idle(system: &System) -> Option<IdleState> {
    const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cpuidle";
    let states = system.list_names(FOLDER).into_iter().filter_map(|state| {
        let attribute_path = |file: &str| format!("{FOLDER}/{state}/{file}");
        let latency: u64 = system
            .read_value(&attribute_path("latency"))
            .filter(|_| !system.read_flag(&attribute_path("disable")))?;
        let name = system.read_trimmed(&attribute_path("name"))?;
        Some(IdleState {
            name,
            exit_ns: Nanos::micros(latency),
        })
    });
    states.max_by_key(|state| state.exit_ns)
}

/// Measures the I/O of other programs on devices for `time`, before a test starts. `stop` ends it
/// early.
pub fn watch_background_io(
    system: &System,
    devices: &[String],
    time: Duration,
    stop: &dyn Fn() -> bool,
) -> BackgroundIo {
    const POLL_INTERVAL: Duration = Duration::from_millis(100);
    let start = std::time::Instant::now();
    let (before, programs_before) = (DeviceTimes::read(), ProgramIo::read(system));
    while start.elapsed() < time && !stop() {
        std::thread::sleep(POLL_INTERVAL.min(time.saturating_sub(start.elapsed())));
    }
    let watched = start.elapsed();
    let after = DeviceTimes::read();
    let busy = devices.iter().filter_map(|name| after.since(&before, name));
    BackgroundIo {
        watched_ns: Nanos(watched.as_nanos() as u64),
        devices: busy
            .filter(|device| device.operations.iter().any(|count| *count > 0))
            .collect(),
        programs: ProgramIo::read(system).busiest_since(&programs_before),
    }
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    const SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
        Tcp: RtoAlgorithm OutSegs RetransSegs InErrs\nTcp: 1 1000 7 0\nUdp: InDatagrams\nUdp: 1\n";

    const DEV: &str = "Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
        lo:  500       4    0    9    0     0          0         0      500       4    0    0    0     0       0          0\n  \
        eth0: 7000      60    2    10    0     0          0         0     3000      40    5    0    0     0       0          0\n";

    fn system_at(retransmitted: &str, dropped: &str, throttled: &str) -> SystemTimes {
        let snmp = SNMP.replace("1000 7", retransmitted);
        let interfaces = DEV.replace(" 10 ", dropped);
        let (_root, system) = tree(&[
            ("proc/net/snmp", &snmp),
            ("proc/net/dev", &interfaces),
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
        let difference = system_at("1500 9", " 12 ", "700").since(&system_at("1000 7", " 10 ", "200"));
        assert_eq!(difference.tcp_segments, Some([500, 2]));
        let lost = InterfaceLosses {
            name: "eth0".into(),
            errors: 0,
            dropped: 2,
        };
        assert_eq!(difference.losses, [lost]);
        assert_eq!(difference.throttled_ns, Some(Nanos::micros(500)));
        assert_eq!(difference.thermal_events, Some(0));
    }

    #[test]
    fn a_system_without_counters() {
        let (_root, system) = tree(&[]);
        let nothing = SystemTimes::read(&system);
        let only_us = SystemUse {
            own_processes: vec![std::process::id()],
            ..SystemUse::default()
        };
        assert_eq!(nothing.since(&nothing), only_us);
    }

    #[test]
    fn disabled_idle_states_do_not_count() {
        let (_root, system) = tree(&[
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1E\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "10\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C6\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1\n"),
        ]);
        let deepest = deepest_idle(&system).expect("two states are enabled");
        assert_eq!((deepest.name.as_str(), deepest.exit_ns), ("C1E", Nanos::micros(10)));
    }
}
