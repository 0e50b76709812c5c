//! Kernel counters around the operations of a step: devices, processors, providers of virtual disks.

use engine::Clock;
use engine::probe::{CoreTimes, DeviceTimes, System, VolumeCounters};
use model::Nanos;
use model::event::Phase;
use model::results::{HostCoreUse, HostDeviceUse, HostVolumeUse, StepResults};
use model::seconds::HostSample;

use super::launch::LiveJob;
use crate::sampler::Sampler;

/// Reads the counters while the jobs of a step run.
pub(super) struct JobMonitor {
    devices: Vec<(String, Vec<u32>)>,
    devices_before: DeviceTimes,
    measured_before: Option<Reading>,
    measured: Option<Measured>,
    sampler: Option<Sampler>,
}

/// All counters at one moment.
struct Reading {
    at: Nanos,
    devices: DeviceTimes,
    cores: CoreTimes,
    /// Of those devices whose provider counts too.
    volumes: Vec<(String, VolumeCounters)>,
}

/// Their differences over the time in which every job was measuring.
struct Measured {
    length: Nanos,
    devices: Vec<HostDeviceUse>,
    cores: Vec<HostCoreUse>,
    volumes: Vec<HostVolumeUse>,
    samples: Vec<HostSample>,
}

impl JobMonitor {
    pub(super) fn new(devices: &[(String, Vec<u32>)]) -> JobMonitor {
        JobMonitor {
            devices: devices.to_vec(),
            devices_before: DeviceTimes::read(),
            measured_before: None,
            measured: None,
            sampler: None,
        }
    }

    /// Reads counters once all jobs measure, and again once the first has ended.
    pub(super) fn poll(&mut self, jobs: &[LiveJob], clock: Clock) {
        if self.measured.is_some() {
            return;
        }
        match &self.measured_before {
            None => {
                if jobs.iter().all(|job| job.gather.phase() >= Phase::Measured) {
                    self.measured_before = Some(Reading {
                        at: clock.now(),
                        devices: DeviceTimes::read(),
                        cores: CoreTimes::read(),
                        volumes: self.volumes(),
                    });
                    let device = self.devices.first().map(|(name, _)| name.clone());
                    self.sampler = Some(Sampler::start(device, clock));
                }
            }
            Some(_) if jobs.iter().any(|job| job.gather.any_worker_measured()) => self.close(clock),
            Some(_) => self.sampler.iter_mut().for_each(|sampler| sampler.poll(clock)),
        }
    }

    /// Reads counters at the end of that time; also where the coordinator polled too late to see it.
    pub(super) fn close(&mut self, clock: Clock) {
        let Some(before) = self.measured_before.take().filter(|_| self.measured.is_none()) else {
            return;
        };
        let length = clock.now().since(before.at);
        let devices = device_use_since(&self.devices, &before.devices, &DeviceTimes::read());
        let cores = CoreTimes::read().since(&before.cores).into_iter();
        let cores = cores.map(|core| HostCoreUse { host: 0, core }).collect();
        let volumes = self.volumes_since(&before.volumes);
        let samples = self
            .sampler
            .take()
            .map(|sampler| sampler.finish(clock))
            .unwrap_or_default();
        self.measured = Some(Measured {
            length,
            devices,
            cores,
            volumes,
            samples,
        });
    }

    /// What the devices did from before the first operation until now.
    pub(super) fn devices_since_start(&self) -> Vec<HostDeviceUse> {
        device_use_since(&self.devices, &self.devices_before, &DeviceTimes::read())
    }

    /// Everything that was counted, as the part of a step's results that belongs to no job.
    pub(super) fn into_results(self) -> StepResults {
        let mut results = StepResults {
            devices: self.devices_since_start(),
            ..StepResults::default()
        };
        if let Some(measured) = self.measured {
            results.observed_ns = measured.length;
            (results.devices_measured, results.volumes) = (measured.devices, measured.volumes);
            (results.cores, results.samples) = (measured.cores, measured.samples);
        }
        results
    }

    fn volumes(&self) -> Vec<(String, VolumeCounters)> {
        let names = self.devices.iter().map(|(name, _)| name);
        let read = |name: &String| Some((name.clone(), VolumeCounters::read(&System::live(), name)?));
        names.filter_map(read).collect()
    }

    fn volumes_since(&self, before: &[(String, VolumeCounters)]) -> Vec<HostVolumeUse> {
        let since = |(name, before): &(String, VolumeCounters)| {
            let mut volume = VolumeCounters::read(&System::live(), name)?.since(before, name)?;
            let device = self.devices.iter().find(|(device, _)| device == name);
            volume.targets = device.map(|(_, targets)| targets.clone()).unwrap_or_default();
            Some(HostVolumeUse { host: 0, volume })
        };
        before.iter().filter_map(since).collect()
    }
}

fn device_use_since(devices: &[(String, Vec<u32>)], before: &DeviceTimes, after: &DeviceTimes) -> Vec<HostDeviceUse> {
    let one = |(name, targets): &(String, Vec<u32>)| {
        let mut counters = after.since(before, name)?;
        counters.targets = targets.clone();
        Some(HostDeviceUse { host: 0, counters })
    };
    devices.iter().filter_map(one).collect()
}
