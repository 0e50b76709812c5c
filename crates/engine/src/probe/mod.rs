//! Facts about the machine: memory, mounts, block devices, limits. Read from the system, never guessed.

mod counters;
mod memory;

pub use counters::{CoreTimes, DeviceTimes};
pub use memory::memory_available;
