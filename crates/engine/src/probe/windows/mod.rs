//! What Windows tells of a machine: not files below a root but answers to calls.
//!
//! The calls stand in `sys/windows`; here is what their answers mean, without a call, so that it is
//! tried on any system with answers that were written down. The part that could lose data,
//! [`Storage::inventory`], gives the same inventory that a tree of Linux gives, so that one guard
//! judges both.

pub mod ioctl_structs;
pub mod processors;
mod storage;

pub use storage::{
    CLUSTER, DYNAMIC_DATA, DYNAMIC_DATABASE, Disk, EFI_SYSTEM, Extent, Layout, PartitionEntry, PartitionType, Place,
    RESERVED, STORAGE_SPACES, Storage, Volume, VolumeContents,
};

/// A volume of a failover cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterVolume {
    /// The name of the cluster's resource, which `Move-ClusterSharedVolume -Name` takes.
    pub name: String,
    /// The node that owns it.
    pub owner: String,
}
