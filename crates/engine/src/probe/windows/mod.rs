//! Facts that Windows reports through calls instead of files. `sys/windows` makes the calls; this
//! module interprets their output, so recorded outputs test it on any system. An error in
//! [`Storage::inventory`] could lose data, so it returns the same inventory as on Linux, and one
//! guard judges both.

pub mod ioctl_structs;
pub mod processors;
mod storage;

pub use storage::{
    CLUSTER, DYNAMIC_DATA, DYNAMIC_DATABASE, Disk, EFI_SYSTEM, Extent, Layout, PartitionEntry, PartitionId,
    PartitionType, RESERVED, STORAGE_SPACES, Storage, Volume, VolumeContents,
};

/// A volume of a failover cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterVolume {
    /// The name of the cluster's resource, which `Move-ClusterSharedVolume -Name` takes.
    pub name: String,
    /// The node that owns it.
    pub owner: String,
}
