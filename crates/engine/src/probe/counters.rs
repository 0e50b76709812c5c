//! Kernel counters of devices and processors.

use std::collections::HashMap;

use model::Nanos;
use model::environment::{CoreUse, DeviceUse};

use super::windows::ioctl_structs::DiskCounters;
use crate::sys;

/// The counters of all block devices at one moment.
#[derive(Clone, Debug, Default)]
pub struct DeviceTimes {
    /// The text of `/proc/diskstats`. Only lines of devices under test are parsed.
    text: String,
    /// Counters of systems that report them through calls (Windows).
    disks: HashMap<String, DiskCounters>,
}

impl DeviceTimes {
    /// Reads the counters; empty if the system has no counters.
    pub fn read() -> DeviceTimes {
        match sys::native_facts::disk_counters() {
            Some(disks) => DeviceTimes {
                disks: disks.into_iter().collect(),
                ..DeviceTimes::default()
            },
            None => DeviceTimes::from_text(std::fs::read_to_string("/proc/diskstats").unwrap_or_default()),
        }
    }

    /// Wraps the text of `/proc/diskstats`.
    pub fn from_text(text: String) -> DeviceTimes {
        DeviceTimes {
            text,
            ..DeviceTimes::default()
        }
    }

    /// The counters of a device.
    fn fields(&self, name: &str) -> Option<Vec<u64>> {
        let fields = |line: &str| {
            let mut words = line.split_ascii_whitespace().skip(2);
            (words.next()? == name).then(|| words.map(|word| word.parse().unwrap_or(0)).collect())
        };
        self.text.lines().find_map(fields)
    }

    /// Use of a device since an earlier reading; `None` if it is missing.
    ///
    /// The fields follow the kernel's `Documentation/admin-guide/iostats.rst`: reads, merges,
    /// sectors and milliseconds; the same four for writes; requests in flight, busy and weighted
    /// milliseconds; the same four for discards; flushes. Sectors are always 512 bytes.
    pub fn since(&self, earlier: &DeviceTimes, name: &str) -> Option<DeviceUse> {
        if let (Some(current), Some(before)) = (self.disks.get(name), earlier.disks.get(name)) {
            return Some(windows_disk_use(current, before, name));
        }
        let (current, before) = (self.fields(name)?, earlier.fields(name)?);
        let field = |index: usize| {
            let value = |list: &[u64]| list.get(index).copied().unwrap_or(0);
            value(&current).wrapping_sub(value(&before))
        };
        let millis = |index: usize| Nanos::millis(field(index));
        Some(DeviceUse {
            name: name.to_owned(),
            targets: Vec::new(),
            operations: [field(0), field(4), field(11)],
            merged: [field(1), field(5), field(12)],
            bytes: [field(2) * 512, field(6) * 512, field(13) * 512],
            time_ns: [millis(3), millis(7), millis(14)],
            busy_ns: millis(9),
            weighted_ns: millis(10),
            flushes: field(15),
        })
    }
}

/// Use of a Windows disk since an earlier reading. Windows does not count flushes and trims.
/// Weighted time is the sum of request times.
fn windows_disk_use(now: &DiskCounters, before: &DiskCounters, name: &str) -> DeviceUse {
    let nanos = |current: u64, before: u64| Nanos(current.saturating_sub(before).saturating_mul(100));
    let [reads, writes] = [0, 1].map(|index: usize| u64::from(now.count[index].wrapping_sub(before.count[index])));
    let [read, written] = [0, 1].map(|index: usize| now.bytes[index].saturating_sub(before.bytes[index]));
    let [reading, writing] = [0, 1].map(|index: usize| nanos(now.time[index], before.time[index]));
    let (length, idle) = (nanos(now.at, before.at), nanos(now.idle, before.idle));
    DeviceUse {
        name: name.to_owned(),
        operations: [reads, writes, 0],
        bytes: [read, written, 0],
        time_ns: [reading, writing, Nanos(0)],
        busy_ns: length.since(idle),
        weighted_ns: reading + writing,
        ..DeviceUse::default()
    }
}

/// Times of each processor at one moment (`/proc/stat`).
#[derive(Clone, Debug, Default)]
pub struct CoreTimes(Vec<CoreUse>);

impl CoreTimes {
    /// Reads the times; empty if the system does not report them.
    pub fn read() -> CoreTimes {
        match sys::native_facts::core_times() {
            Some(disks) => CoreTimes(disks),
            None => CoreTimes::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default()),
        }
    }

    /// Parses `/proc/stat`, whose times are in hundredths of a second.
    pub fn parse(text: &str) -> CoreTimes {
        let line = |line: &str| {
            let (number, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
            let ticks: Vec<u64> = rest
                .split_ascii_whitespace()
                .map(|word| word.parse().unwrap_or(0))
                .collect();
            let time = |indexes: &[usize]| {
                Nanos::millis(
                    indexes
                        .iter()
                        .map(|index| ticks.get(*index).copied().unwrap_or(0))
                        .sum::<u64>()
                        * 10,
                )
            };
            Some(CoreUse {
                cpu: number.parse().ok()?,
                user_ns: time(&[0, 1]),
                system_ns: time(&[2]),
                interrupt_ns: time(&[5, 6]),
                stolen_ns: time(&[7]),
                idle_ns: time(&[3, 4]),
            })
        };
        CoreTimes(
            text.lines()
                .take_while(|line| line.starts_with("cpu"))
                .filter_map(line)
                .collect(),
        )
    }

    /// Times of each processor since an earlier reading.
    pub fn since(&self, earlier: &CoreTimes) -> Vec<CoreUse> {
        let pairs = self.0.iter().filter_map(|current| {
            let before = earlier.0.iter().find(|then| then.cpu == current.cpu)?;
            Some(CoreUse {
                cpu: current.cpu,
                user_ns: current.user_ns - before.user_ns,
                system_ns: current.system_ns - before.system_ns,
                interrupt_ns: current.interrupt_ns - before.interrupt_ns,
                stolen_ns: current.stolen_ns - before.stolen_ns,
                idle_ns: current.idle_ns - before.idle_ns,
            })
        });
        pairs.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_counters_are_differences() {
        let line = |n: u64| {
            format!(
                "259 0 nvme0n1 {} 1 {} 10 {} 2 {} 20 0 30 40 5 0 64 1 7 3\n",
                100 + n,
                800 + n * 8,
                50 + n,
                400
            )
        };
        let use_of = DeviceTimes::from_text(line(5))
            .since(&DeviceTimes::from_text(line(0)), "nvme0n1")
            .unwrap();
        assert_eq!(use_of.operations, [5, 5, 0]);
        assert_eq!(use_of.bytes, [5 * 8 * 512, 0, 0]);
        assert_eq!(use_of.flushes, 0);
        assert!(
            DeviceTimes::from_text(line(5))
                .since(&DeviceTimes::default(), "nvme0n1")
                .is_none()
        );
    }

    #[test]
    fn reported_counters_wrap_at_32_bits() {
        let before = DiskCounters {
            bytes: [100, 200],
            time: [10, 20],
            idle: 50,
            count: [u32::MAX, 5],
            splits: 0,
            at: 100,
        };
        let after = DiskCounters {
            bytes: [8292, 200],
            time: [40, 20],
            idle: 80,
            count: [1, 5],
            splits: 0,
            at: 200,
        };
        let device_times = |counters| DeviceTimes {
            disks: HashMap::from([("PhysicalDrive0".to_owned(), counters)]),
            ..DeviceTimes::default()
        };
        let used = device_times(after)
            .since(&device_times(before), "PhysicalDrive0")
            .unwrap();
        assert_eq!((used.operations, used.bytes), ([2, 0, 0], [8192, 0, 0]));
        assert_eq!((used.busy_ns, used.weighted_ns), (Nanos(7000), Nanos(3000)));
        assert_eq!(
            device_times(after).since(&DeviceTimes::default(), "PhysicalDrive0"),
            None
        );
    }

    #[test]
    fn the_line_of_all_processors_is_skipped() {
        let text = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8\ncpu1 0 0 0 10 0 0 0 0\nintr 5\n";
        let times = CoreTimes::parse(text).since(&CoreTimes::parse("cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n"));
        assert_eq!(times.len(), 2);
        assert_eq!(times[0].user_ns, Nanos::millis(30));
        assert_eq!(times[0].interrupt_ns, Nanos::millis(130));
        assert_eq!(times[1].idle_ns, Nanos::millis(100));
    }
}
