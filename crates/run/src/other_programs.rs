//! Finds the other programs that use the devices of a test. The kernel has a file of counters for
//! each process, and reading all of them is expensive. So they are read only once a device has
//! transferred more than this process has. Earlier transfers of other programs remain unknown, so
//! the first checks follow soon after the start.

use engine::probe::{DeviceTimes, ProgramIo, System};
use model::Nanos;
use model::environment::BusyProgram;

/// Delay of the first check after the start of a step. The interval doubles with each check,
const FIRST_CHECK: Nanos = Nanos::millis(100);
/// up to this maximum.
const MAX_INTERVAL: Nanos = Nanos::secs(2);
/// Minimum transfer of others: a quarter of the threshold of the finding.
const MIN_BYTES: u64 = 1 << 20;

/// Watches the devices of each step for other programs.
#[derive(Debug, Default)]
pub(crate) struct OtherPrograms {
    /// The devices directly under targets.
    devices: Vec<String>,
    start: Counters,
    next_check: Nanos,
    interval: Nanos,
    /// The bytes of each program at the time when others were detected.
    noticed: Option<ProgramIo>,
}

/// Transferred bytes at one moment.
#[derive(Debug, Default)]
struct Counters {
    devices: DeviceTimes,
    own: Option<u64>,
}

impl Counters {
    fn read(devices: DeviceTimes) -> Counters {
        Counters {
            devices,
            own: ProgramIo::own_bytes(&System::live()),
        }
    }

    /// Bytes that devices transferred since an earlier moment, minus the bytes of this process.
    fn others_since(&self, earlier: &Counters, devices: &[String]) -> Option<u64> {
        let own_bytes = self.own?.saturating_sub(earlier.own?);
        let uses = devices
            .iter()
            .filter_map(|name| self.devices.since(&earlier.devices, name));
        let all: u64 = uses.map(|device| device.bytes[0] + device.bytes[1]).sum();
        Some(all.saturating_sub(own_bytes))
    }
}

impl OtherPrograms {
    /// Restarts with the devices of a step and all counters at its start.
    pub(crate) fn begin_step(&mut self, devices: impl Iterator<Item = String>, at: Nanos, counters: &DeviceTimes) {
        if self.noticed.is_some() {
            return;
        }
        self.devices = devices.collect();
        self.devices.sort();
        self.devices.dedup();
        self.start = Counters::read(counters.clone());
        (self.next_check, self.interval) = (at + FIRST_CHECK, FIRST_CHECK);
    }

    /// Checks for others if due.
    pub(crate) fn poll(&mut self, now: Nanos) {
        if self.noticed.is_some() || now < self.next_check || self.start.own.is_none() {
            return;
        }
        self.interval = Nanos(self.interval.0 * 2).min(MAX_INTERVAL);
        self.next_check = now + self.interval;
        let other_bytes = Counters::read(DeviceTimes::read()).others_since(&self.start, &self.devices);
        if other_bytes.is_some_and(|bytes| bytes >= MIN_BYTES) {
            self.noticed = Some(ProgramIo::read(&System::live()));
        }
    }

    /// The programs that have transferred most since others were detected.
    pub(crate) fn finish(self) -> Vec<BusyProgram> {
        let busiest = |noticed: ProgramIo| ProgramIo::read(&System::live()).busiest_since(&noticed);
        self.noticed.map(busiest).unwrap_or_default()
    }
}
