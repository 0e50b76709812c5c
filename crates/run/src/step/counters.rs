//! Reads counters before and after the operations of a step. They are those of devices, processors,
//! virtual disks and network mounts.

use std::rc::Rc;

use engine::probe::{DeviceTimes, ProgramIo, System, VolumeCounters, read_mountstats};
use model::Bytes;
use model::event::Phase;
use model::network_mount::NetworkMount;
use model::results::{HostCoreUse, HostDeviceUse, HostNetworkMount, HostVolumeUse, StepResults};

use super::StepContext;
use super::launch::LiveJob;
use crate::sampler::{GroupLimits, Reading, Sampler};

/// Reads the counters while the jobs of a step run.
pub(super) struct CounterMonitor<'a> {
    context: &'a StepContext<'a>,
    devices_before: DeviceTimes,
    /// Bytes that this process had read from devices; `None` if that is not comparable.
    own_reads_before: Option<u64>,
    limits_before: GroupLimits,
    measured_before: Option<StartCounters>,
    /// The differences of all counters over the time in which every job was measuring.
    measured: Option<StepResults>,
}

/// All counters when every job had started to measure.
struct StartCounters {
    reading: Rc<Reading>,
    /// The counters of virtual disk providers.
    volumes: Vec<(String, VolumeCounters)>,
    network_mounts: Vec<NetworkMount>,
    sampler: Sampler,
}

impl<'a> CounterMonitor<'a> {
    pub(super) fn start(context: &'a StepContext<'a>) -> CounterMonitor<'a> {
        // This machine's counters are irrelevant for a simulated device.
        let (devices_before, limits_before) = match context.simulated {
            true => (DeviceTimes::default(), GroupLimits::default()),
            false => (DeviceTimes::read(), GroupLimits::read()),
        };
        if !context.simulated {
            let targets = context.facts.iter();
            let nearest = targets.filter_map(|target| Some(target.devices.first()?.name.clone()));
            let mut other_programs = context.other_programs.borrow_mut();
            other_programs.begin_step(nearest, context.clock.now(), &devices_before);
        }
        CounterMonitor {
            context,
            devices_before,
            own_reads_before: read_own_reads(context),
            limits_before,
            measured_before: None,
            measured: None,
        }
    }

    /// Reads counters once every job is measuring. Reads them again once any worker has left its
    /// measured window.
    pub(super) fn poll(&mut self, jobs: &[LiveJob]) {
        let clock = self.context.clock;
        self.context.other_programs.borrow_mut().poll(clock.now());
        if self.measured.is_some() {
            return;
        }
        match &mut self.measured_before {
            None => {
                if jobs.iter().all(|job| job.gather.phase() >= Phase::Measured) {
                    let reading = Reading::take(clock);
                    let device = self.context.devices.first().map(|(name, _)| name.clone());
                    self.measured_before = Some(StartCounters {
                        volumes: self.read_volumes(),
                        network_mounts: self.read_network_mounts(),
                        sampler: Sampler::start(device, Rc::clone(&reading), self.limits_before.clone()),
                        reading,
                    });
                }
            }
            Some(_) if jobs.iter().any(|job| job.gather.has_worker_past_window()) => self.close(),
            Some(before) => before.sampler.poll(clock),
        }
    }

    /// True if every job is in its measured window.
    pub(super) fn is_measuring(&self) -> bool {
        self.measured_before.is_some()
    }

    /// Reads the counters at the end of that measured time. After the last job, this also ends a
    /// measured time whose end [`Self::poll`] has missed.
    pub(super) fn close(&mut self) {
        let Some(before) = self.measured_before.take() else {
            return;
        };
        let reading = Reading::take(self.context.clock);
        let cores = reading.cores.since(&before.reading.cores).into_iter();
        self.measured = Some(StepResults {
            observed_ns: reading.at.since(before.reading.at),
            devices_measured: self.device_use(&before.reading.devices, &reading.devices),
            cores: cores.map(|core| HostCoreUse { host: 0, core }).collect(),
            volumes: self.volumes_since(&before.volumes),
            network_mounts: self.network_mounts_since(&before),
            samples: before.sampler.finish(reading),
            ..StepResults::default()
        });
    }

    /// The counters of the devices from before the first operation until now.
    pub(super) fn devices_since_start(&self) -> Vec<HostDeviceUse> {
        if self.context.devices.is_empty() {
            return Vec::new();
        }
        let own_reads = self.own_reads_before.zip(read_own_reads(self.context));
        let own_reads = own_reads.map(|(before, after)| Bytes(after.saturating_sub(before)));
        let mut devices = self.device_use(&self.devices_before, &DeviceTimes::read());
        devices.iter_mut().for_each(|device| device.own_reads = own_reads);
        devices
    }

    /// All counters, as step results without jobs.
    pub(super) fn into_results(self) -> StepResults {
        StepResults {
            devices: self.devices_since_start(),
            ..self.measured.unwrap_or_default()
        }
    }

    fn device_use(&self, before: &DeviceTimes, after: &DeviceTimes) -> Vec<HostDeviceUse> {
        let read_counter = |(name, targets): &(String, Vec<u32>)| {
            let mut counters = after.since(before, name)?;
            counters.targets = targets.clone();
            Some(HostDeviceUse {
                host: 0,
                counters,
                own_reads: None,
            })
        };
        self.context.devices.iter().filter_map(read_counter).collect()
    }

    fn read_volumes(&self) -> Vec<(String, VolumeCounters)> {
        let names = self.context.devices.iter().map(|(name, _)| name);
        let read = |name: &String| Some((name.clone(), VolumeCounters::read(&System::live(), name)?));
        names.filter_map(read).collect()
    }

    fn volumes_since(&self, before: &[(String, VolumeCounters)]) -> Vec<HostVolumeUse> {
        let since = |(name, before): &(String, VolumeCounters)| {
            let mut volume = VolumeCounters::read(&System::live(), name)?.since(before, name)?;
            let device = self.context.devices.iter().find(|(device, _)| device == name);
            volume.targets = device.map(|(_, targets)| targets.clone()).unwrap_or_default();
            Some(HostVolumeUse { host: 0, volume })
        };
        before.iter().filter_map(since).collect()
    }

    /// Reads the counters of the network mounts under the targets.
    fn read_network_mounts(&self) -> Vec<NetworkMount> {
        let facts = &self.context.facts;
        let file_systems = || facts.iter().filter_map(|target| target.file_system.as_ref());
        if self.context.simulated || !file_systems().any(|file_system| file_system.kind.starts_with("nfs")) {
            return Vec::new();
        }
        let mut mounts = read_mountstats(&System::live()).mounts;
        mounts.retain(|mount| file_systems().any(|file_system| file_system.mount_point == mount.mount_point));
        mounts
    }

    fn network_mounts_since(&self, before: &StartCounters) -> Vec<HostNetworkMount> {
        let after = if before.network_mounts.is_empty() {
            Vec::new()
        } else {
            self.read_network_mounts()
        };
        let length = self.context.clock.now().since(before.reading.at);
        let since = |after: &NetworkMount| {
            let mut mount = before.network_mounts.iter().find_map(|before| after.since(before))?;
            // The kernel states the age of a mount only in whole seconds.
            mount.covers_ns = length;
            Some(HostNetworkMount { host: 0, mount })
        };
        after.iter().filter_map(since).collect()
    }
}

/// Bytes that this process has read from devices so far. `None` if another process reads them for
/// it: the daemon of a FUSE file system.
fn read_own_reads(context: &StepContext<'_>) -> Option<u64> {
    let mut file_systems = context.facts.iter().filter_map(|target| target.file_system.as_ref());
    let has_daemon = file_systems.any(|file_system| file_system.kind.starts_with("fuse"));
    if context.simulated || has_daemon {
        return None;
    }
    ProgramIo::own_reads(&System::live())
}
