//! Threads: placement, timers, and what they used.

use std::io;
use std::time::Duration;

use model::Nanos;
use model::results::Usage;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetProcessAffinityMask, GetThreadTimes, SetThreadAffinityMask,
};

/// CPUs of the first group that this process may use, ascending.
pub fn usable_cpus() -> Vec<u32> {
    let (mut process, mut system) = (0usize, 0usize);
    // SAFETY: the call writes two words behind live pointers.
    unsafe { GetProcessAffinityMask(GetCurrentProcess(), &mut process, &mut system) };
    (0..usize::BITS).filter(|cpu| process & 1 << cpu != 0).collect()
}

/// Lets the calling thread run on these CPUs of the first group only.
///
/// # Errors
/// The system's error.
pub fn pin_to(cpus: &[u32]) -> io::Result<()> {
    let mask = cpus
        .iter()
        .filter(|cpu| **cpu < usize::BITS)
        .fold(0usize, |mask, cpu| mask | 1 << cpu);
    // SAFETY: the pseudo handle names the calling thread; no memory is involved.
    let result = unsafe { SetThreadAffinityMask(GetCurrentThread(), mask) };
    if result != 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Not done yet here.
///
/// # Errors
/// Always `Unsupported`.
pub fn take_memory_from(_nodes: &model::plan::MemoryNodes) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not done yet here.
///
/// # Errors
/// Always `Unsupported`.
pub fn set_nice(_value: i8) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not done yet here.
///
/// # Errors
/// Always `Unsupported`.
pub fn run_only_when_idle() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not done yet here.
///
/// # Errors
/// Always `Unsupported`.
pub fn act_as(_user: Option<u32>, _group: Option<u32>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not done yet here.
///
/// # Errors
/// Always `Unsupported`.
pub fn set_io_priority(_class: u8, _level: u8, _hint: u16) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does not exist here.
///
/// # Errors
/// Always.
pub fn cpus_of_node(_node: u32) -> io::Result<Vec<u32>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does not exist here.
pub fn set_name(_name: &str) {}

/// Nothing to do: the standard library asks for precise timers by itself.
pub fn sharpen_timers() {}

/// Sleeps for a length of time.
pub fn sleep(length: Nanos) {
    std::thread::sleep(Duration::from_nanos(length.0));
}

/// What the calling thread has used so far.
pub fn usage() -> Usage {
    let zero = FILETIME {
        dwLowDateTime: 0,
        dwHighDateTime: 0,
    };
    let (mut created, mut exited, mut kernel, mut user) = (zero, zero, zero, zero);
    // SAFETY: the pseudo handle names the calling thread; the call writes four live structures.
    unsafe { GetThreadTimes(GetCurrentThread(), &mut created, &mut exited, &mut kernel, &mut user) };
    let time = |value: FILETIME| Nanos((u64::from(value.dwHighDateTime) << 32 | u64::from(value.dwLowDateTime)) * 100);
    Usage {
        user_ns: time(user),
        system_ns: time(kernel),
        ..Usage::default()
    }
}
