//! Facts about the machine: memory, mounts, block devices, limits. Nothing is guessed. `/sys` and
//! `/proc` are read below the root of a [`System`], so tests can use the recorded tree of another
//! machine. Missing files give empty values, also on systems without these directories. This module
//! does not judge the facts.

mod ata_health;
mod block_trace;
mod blocks;
mod cloud;
mod counters;
mod environment;
mod guests;
mod health;
mod host;
mod inventory;
mod limits;
mod memory;
mod mounts;
mod network_mounts;
mod nvme_health;
mod processes;
mod program_io;
mod rotation;
mod serial;
mod swaps;
mod system;
mod target;
mod volumes;
pub mod windows;

pub use block_trace::BlockTrace;
pub use blocks::{Backing, BlockDevice, BlockKind, accessible_bytes, active_scheduler};
pub use cloud::{Cloud, cloud, machine_type};
pub use counters::{CoreTimes, DeviceTimes};
pub use environment::{SystemTimes, watch_background_io};
pub use guests::{OpenFile, Process};
pub use health::read_health;
#[cfg(target_os = "linux")]
pub(crate) use host::parse_cpu_list;
pub use host::{cpu, host};
pub use inventory::{Inventory, Use, UseKind};
pub use limits::{DeviceLimitReader, read_limits};
pub use memory::{FreeMemory, MemoryLimit, address_space_free, memory_free, memory_total};
pub use mounts::Mount;
pub use network_mounts::{MalformedLine, MountStats, parse_mountstats, read_mountstats};
pub use processes::ProcessTimes;
pub use program_io::ProgramIo;
pub use serial::{sequence, serial};
pub use swaps::Swap;
pub use system::System;
pub use target::{device_chain, devices_under, file_system, folder, read_target_facts};
pub use volumes::VolumeCounters;

use model::Bytes;
use model::environment::{Clock, Environment};

/// Facts about the machine; facts about targets are added when they are opened.
pub fn environment(system: &System, clock: Clock) -> Environment {
    Environment {
        host: host(system),
        cpu: cpu(system),
        memory: Bytes(memory_total(system)),
        clock,
        limits: read_limits(system),
        targets: Vec::new(),
        target_numbers: Vec::new(),
        before: None,
        widened_from: None,
    }
}
