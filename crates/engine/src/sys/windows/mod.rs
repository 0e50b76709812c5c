//! Windows.

pub(crate) mod ata;
pub(crate) mod ioring;
pub(crate) mod library;
pub(crate) mod mapped;
pub(crate) mod memory;
pub(crate) mod nvme;
pub(crate) mod overlapped;
pub(crate) mod port;
pub(crate) mod privilege;
pub(crate) mod program;
pub(crate) mod routines;

pub mod clock;
pub mod descriptors;
pub mod events;
pub mod facts;
pub mod file;
pub mod names;
pub mod native_facts;
pub mod signals;
pub mod terminal;
pub mod thread;
pub mod tree;

mod cluster;
mod device_types;
mod disks;
mod ioctl;
mod machine;
mod prepare;
mod processors;
mod volumes;
