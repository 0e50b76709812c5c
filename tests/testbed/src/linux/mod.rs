//! What only Linux has: devices, mounts, hosts and the tools that create them.

mod fault_fs;
mod footprint;
mod ground;
mod hosts;
mod loop_device;
mod loop_fs;
mod other_user;
mod overlay;
mod own_process;
mod python;
mod slurm;
mod throttle;
mod tmpfs;
mod tools;
mod zram;

pub use fault_fs::{FaultFs, Seen};
pub use footprint::Footprint;
pub use ground::{Directory, sweep};
pub use hosts::Hosts;
pub use loop_device::{LoopDevice, LoopOptions};
pub use loop_fs::LoopFs;
pub use other_user::as_other_user;
pub use overlay::Overlay;
pub use own_process::in_own_process;
pub use python::python_packages;
pub use slurm::Slurm;
pub use throttle::{Limit, Throttle, Throttled};
pub use tmpfs::TmpFs;
pub use tools::device_number;
pub use zram::Zram;
