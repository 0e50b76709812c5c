//! Real things for system tests: loop devices, zram, tmpfs, ext4, a throttle, a file system with faults.
//!
//! Each of them is made for the test that asks and undone when its handle is dropped, also by a panic. What a killed
//! process leaves behind is undone by the next one that makes something ([`sweep`]). Nothing that exists already is ever
//! touched. This crate knows nothing of engines, plans or results, and is never part of the program.
//!
//! Making devices needs root and tools. A test that cannot have them says so and ends:
//!
//! ```
//! use testbed::{TmpFs, need};
//!
//! let Some(full) = need(TmpFs::of_size(1 << 20)) else { return };
//! assert!(full.path().is_dir());
//! ```
//!
//! With `FATHOM_CI=1` in the environment a skipped test is a failed one.

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod ext4;
mod fault_fs;
mod footprint;
mod ground;
mod loop_device;
mod own_process;
mod skip;
mod throttle;
mod tmpfs;
mod tools;
mod trace_fs;
mod zram;

pub use ext4::Ext4;
pub use fault_fs::{FaultFs, Seen};
pub use footprint::Footprint;
pub use ground::{Directory, sweep};
pub use loop_device::{LoopDevice, LoopOptions};
pub use own_process::in_own_process;
pub use skip::{Unavailable, need, note, skip};
pub use throttle::{Limit, Throttle, Throttled};
pub use tmpfs::TmpFs;
pub use tools::device_number;
pub use trace_fs::TraceFs;
pub use zram::Zram;
