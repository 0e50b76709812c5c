//! Samples the kernel's counters of processors and devices once a second while every job measures.

use engine::Clock;
use engine::probe::{CoreTimes, DeviceTimes, ProcessTimes, System};
use engine::sys;
use model::seconds::{DeviceSample, HostSample};
use model::{Bytes, Nanos};

/// Length of a sample.
const SECOND: Nanos = Nanos::secs(1);
/// From this share of all processors on, the busiest other processes are looked up.
const BUSY_OTHERS: f64 = 0.25;

/// Counters at one moment.
struct Reading {
    at: Nanos,
    cores: CoreTimes,
    devices: DeviceTimes,
    own: Nanos,
}

impl Reading {
    fn take(clock: Clock) -> Reading {
        Reading {
            at: clock.now(),
            cores: CoreTimes::read(),
            devices: DeviceTimes::read(),
            own: sys::thread::process_cpu(),
        }
    }
}

/// Turns readings into samples.
pub(crate) struct Sampler {
    /// The device that programs address, where there is one.
    device: Option<String>,
    start: Nanos,
    last: Reading,
    /// CPU times of all processes at the last reading, while others are busy.
    processes: Option<ProcessTimes>,
    samples: Vec<HostSample>,
}

impl Sampler {
    /// Begins now.
    pub(crate) fn start(device: Option<String>, clock: Clock) -> Sampler {
        let last = Reading::take(clock);
        Sampler {
            device,
            start: last.at,
            last,
            processes: None,
            samples: Vec::new(),
        }
    }

    /// Takes a sample if a second has passed.
    pub(crate) fn poll(&mut self, clock: Clock) {
        // The next sample ends a whole number of seconds after the start, so that they do not drift.
        let due = self.start + Nanos((self.samples.len() as u64 + 1) * SECOND.0);
        if clock.now() >= due {
            self.sample(clock);
        }
    }

    /// The samples, the last of them shorter.
    pub(crate) fn finish(mut self, clock: Clock) -> Vec<HostSample> {
        if clock.now().since(self.last.at) >= Nanos::millis(100) {
            self.sample(clock);
        }
        self.samples
    }

    fn sample(&mut self, clock: Clock) {
        let now = Reading::take(clock);
        let length = now.at.since(self.last.at);
        let cores = now.cores.since(&self.last.cores);
        let sum = |of: fn(&model::environment::CoreUse) -> Nanos| Nanos(cores.iter().map(|core| of(core).0).sum());
        let device = self.device.as_ref().and_then(|name| {
            let used = now.devices.since(&self.last.devices, name)?;
            Some(DeviceSample {
                operations: used.operations.iter().sum(),
                bytes: Bytes(used.bytes.iter().sum()),
            })
        });
        let mut sample = HostSample {
            host: 0,
            start_ns: self.last.at.since(self.start),
            length_ns: length,
            cpus_ns: Nanos(cores.len() as u64 * length.0),
            busy_ns: sum(|core| core.user_ns + core.system_ns + core.interrupt_ns),
            own_ns: now.own - self.last.own,
            stolen_ns: sum(|core| core.stolen_ns),
            device,
            busiest_others: Vec::new(),
        };
        let busy = sample.others_ns().0 as f64 > BUSY_OTHERS * sample.cpus_ns.0 as f64;
        let processes = busy.then(|| ProcessTimes::read(&System::live()));
        if let (Some(now), Some(before)) = (&processes, &self.processes) {
            sample.busiest_others = now.busiest_since(before, std::process::id());
        }
        (self.processes, self.last) = (processes, now);
        self.samples.push(sample);
    }
}
