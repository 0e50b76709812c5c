//! Results of one step, with the kernel counters of its devices and processors.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JobResults;
use crate::environment::{CoreUse, DeviceUse, VolumeUse};
use crate::event::EndReason;
use crate::network_mount::NetworkMount;
use crate::seconds::HostSample;
use crate::units::{Bytes, Nanos};

/// Results of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepResults {
    /// Its jobs in plan order.
    pub jobs: Vec<JobResults>,
    /// Kernel counters of the devices under the targets, from before the first operation to after
    /// the last.
    #[serde(default)]
    pub devices: Vec<HostDeviceUse>,
    /// Kernel counters of the same devices, for the time in which every job of the step was
    /// measuring.
    #[serde(default)]
    pub devices_measured: Vec<HostDeviceUse>,
    /// CPU time of each core during that time.
    #[serde(default)]
    pub cores: Vec<HostCoreUse>,
    /// Counters of virtual disk providers during that time, if available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<HostVolumeUse>,
    /// Counters of network file system clients during that time, for the mounts under the targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_mounts: Vec<HostNetworkMount>,
    /// Length of the time in which every job of the step was measuring.
    #[serde(default)]
    pub observed_ns: Nanos,
    /// Kernel counters for each second of that time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<HostSample>,
}

/// Device counters with the host they belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostDeviceUse {
    /// Index of the host.
    pub host: u32,
    /// Bytes that the processes of the test on this host read from all devices together, as the
    /// kernel counts them for each process. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_reads: Option<Bytes>,
    /// Counters of the device on this host.
    #[serde(flatten)]
    pub counters: DeviceUse,
}

/// Counters of a provider with the host they belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostVolumeUse {
    /// Index of the host.
    pub host: u32,
    /// Counters of the volume on this host.
    #[serde(flatten)]
    pub volume: VolumeUse,
}

/// Counters of a network mount with the host they belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostNetworkMount {
    /// Index of the host.
    pub host: u32,
    /// Counters of the mount on this host.
    #[serde(flatten)]
    pub mount: NetworkMount,
}

/// CPU time with the host it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostCoreUse {
    /// Index of the host.
    pub host: u32,
    /// Time of the CPU by kind of work.
    #[serde(flatten)]
    pub core: CoreUse,
}

impl StepResults {
    /// True if there are kernel counters of any kind.
    pub(crate) fn has_counters(&self) -> bool {
        let has_devices = !self.devices.is_empty() || !self.devices_measured.is_empty();
        has_devices || !self.cores.is_empty() || !self.volumes.is_empty() || !self.network_mounts.is_empty()
    }

    /// Results of a step in which no job started.
    pub fn not_started(plan: &crate::plan::Step) -> StepResults {
        let job = |job: &crate::plan::Job| JobResults {
            name: job.name.clone(),
            ..JobResults::default()
        };
        StepResults {
            jobs: plan.jobs.iter().map(job).collect(),
            ..StepResults::default()
        }
    }

    /// Marks the step as interrupted.
    pub fn into_interrupted(mut self) -> StepResults {
        let has_begun = |job: &&mut JobResults| !job.workers.is_empty() && job.ended.is_none();
        for job in self.jobs.iter_mut().filter(has_begun) {
            job.ended = Some(EndReason::Interrupted);
        }
        self
    }
}
