//! Names the other programs that use the devices of a test.
//!
//! The kernel has a file of counters for each process, so they are read only once a device has
//! moved what this process has not. What others moved before that is not known, which is why the
//! first checks follow the start closely.

use engine::probe::{DeviceTimes, ProgramIo, System};
use model::Nanos;
use model::environment::BusyProgram;

/// The first check comes this long after the start of a step; each of the next takes twice as long
/// to come,
const FIRST_CHECK: Nanos = Nanos::millis(100);
/// but not longer than this.
const MAX_INTERVAL: Nanos = Nanos::secs(2);
/// Others have moved at least this much: a quarter of what a finding about them takes.
const MIN_BYTES: u64 = 1 << 20;

/// Watches the devices of each step and notices others.
#[derive(Debug, Default)]
pub(crate) struct OtherPrograms {
    /// Devices that targets lie on directly.
    devices: Vec<String>,
    start: Counters,
    next_check: Nanos,
    interval: Nanos,
    /// What each program had moved when others were noticed.
    noticed: Option<ProgramIo>,
}

/// Bytes moved at one moment.
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

    /// Bytes that devices moved since an earlier moment and this process did not.
    fn others_since(&self, earlier: &Counters, devices: &[String]) -> Option<u64> {
        let own = self.own?.saturating_sub(earlier.own?);
        let uses = devices
            .iter()
            .filter_map(|name| self.devices.since(&earlier.devices, name));
        let all: u64 = uses.map(|device| device.bytes[0] + device.bytes[1]).sum();
        Some(all.saturating_sub(own))
    }
}

impl OtherPrograms {
    /// Begins anew with the devices of a step and the counters of all devices at its start.
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

    /// Notices others, if it is time to check.
    pub(crate) fn poll(&mut self, now: Nanos) {
        if self.noticed.is_some() || now < self.next_check || self.start.own.is_none() {
            return;
        }
        self.interval = Nanos(self.interval.0 * 2).min(MAX_INTERVAL);
        self.next_check = now + self.interval;
        let others = Counters::read(DeviceTimes::read()).others_since(&self.start, &self.devices);
        if others.is_some_and(|bytes| bytes >= MIN_BYTES) {
            self.noticed = Some(ProgramIo::read(&System::live()));
        }
    }

    /// The programs that moved most since others were noticed.
    pub(crate) fn finish(self) -> Vec<BusyProgram> {
        let busiest = |noticed: ProgramIo| ProgramIo::read(&System::live()).busiest_since(&noticed);
        self.noticed.map(busiest).unwrap_or_default()
    }
}
