//! Samples the kernel's counters of processors and devices every second while all jobs are
//! measuring.

use std::rc::Rc;

use engine::Clock;
use engine::probe::{CoreTimes, DeviceLimitReader, DeviceTimes, ProcessTimes, System};
use engine::sys;
use model::environment::DeviceLimit;
use model::seconds::{DeviceSample, HostSample};
use model::{Bytes, Nanos};

/// Length of a sample.
const SECOND: Nanos = Nanos::secs(1);
/// A shorter last sample is dropped.
const MIN_LENGTH: Nanos = Nanos::millis(100);
/// A thread that polls every 50 ms and comes later than this was stopped.
const MIN_PAUSE: Nanos = Nanos::millis(200);
/// Other programs are examined if they use at least this share of all processors.
const BUSY_OTHERS_SHARE: f64 = 0.25;

/// Counters at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) at: Nanos,
    pub(crate) cores: CoreTimes,
    pub(crate) devices: DeviceTimes,
    own: Nanos,
}

impl Reading {
    pub(crate) fn take(clock: Clock) -> Rc<Reading> {
        Rc::new(Reading {
            at: clock.now(),
            cores: CoreTimes::read(),
            devices: DeviceTimes::read(),
            own: sys::thread::process_cpu(),
        })
    }
}

/// The I/O limits of this program's control group.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupLimits {
    reader: DeviceLimitReader,
    limits: Vec<DeviceLimit>,
}

impl GroupLimits {
    pub(crate) fn read() -> GroupLimits {
        let system = System::live();
        let reader = DeviceLimitReader::new(&system);
        let limits = reader.read(&system);
        GroupLimits { reader, limits }
    }

    /// The limits, if they have changed.
    fn take_changed(&mut self) -> Option<Vec<DeviceLimit>> {
        let reading = self.reader.read(&System::live());
        (reading != self.limits).then(|| {
            self.limits.clone_from(&reading);
            reading
        })
    }
}

/// Turns readings into samples.
pub(crate) struct Sampler {
    /// The device that programs address, if there is one.
    device: Option<String>,
    start: Nanos,
    last: Rc<Reading>,
    limits: GroupLimits,
    polled: Nanos,
    /// The longest time between two polls since the last reading.
    longest_pause: Nanos,
    /// CPU times of all processes at the last reading, while others are busy.
    processes: Option<ProcessTimes>,
    samples: Vec<HostSample>,
}

impl Sampler {
    pub(crate) fn start(device: Option<String>, first: Rc<Reading>, limits: GroupLimits) -> Sampler {
        Sampler {
            device,
            start: first.at,
            polled: first.at,
            longest_pause: Nanos(0),
            last: first,
            limits,
            processes: None,
            samples: Vec::new(),
        }
    }

    /// Takes a sample if a second has passed.
    pub(crate) fn poll(&mut self, clock: Clock) {
        // The next sample ends a whole number of seconds after the start, so that samples do not
        // drift.
        let due = self.start + Nanos((self.samples.len() as u64 + 1) * SECOND.0);
        let now = clock.now();
        self.longest_pause = self.longest_pause.max(now.since(self.polled));
        self.polled = now;
        if now >= due {
            self.sample(Reading::take(clock), ProcessTimes::read);
        }
    }

    /// Ends sampling. The last sample may be shorter than the others.
    pub(crate) fn finish(mut self, last: Rc<Reading>) -> Vec<HostSample> {
        if last.at.since(self.last.at) >= MIN_LENGTH {
            // No sample follows, so do not read the processes for the first time.
            let is_needed = self.processes.is_some();
            self.sample(last, |system| {
                if is_needed {
                    ProcessTimes::read(system)
                } else {
                    ProcessTimes::default()
                }
            });
        }
        self.samples
    }

    fn sample(&mut self, now: Rc<Reading>, read_processes: impl FnOnce(&System) -> ProcessTimes) {
        let length = now.at.since(self.last.at);
        let cores = now.cores.since(&self.last.cores);
        let sum =
            |value: fn(&model::environment::CoreUse) -> Nanos| Nanos(cores.iter().map(|core| value(core).0).sum());
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
            changed_limits: self.limits.take_changed(),
            paused_ns: Some(std::mem::take(&mut self.longest_pause)).filter(|pause| *pause >= MIN_PAUSE),
        };
        let busy = sample.others_ns().0 as f64 > BUSY_OTHERS_SHARE * sample.cpus_ns.0 as f64;
        let processes = busy.then(|| read_processes(&System::live()));
        if let (Some(now), Some(before)) = (&processes, &self.processes) {
            sample.busiest_others = now.busiest_since(before, std::process::id());
        }
        (self.processes, self.last) = (processes, now);
        self.samples.push(sample);
    }
}
