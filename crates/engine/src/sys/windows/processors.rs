//! Processors: topology and times.

use std::ptr::null_mut;

use model::environment::{CoreUse, LogicalCpu};
use windows_sys::Win32::System::SystemInformation::{GetLogicalProcessorInformationEx, RelationAll};
use windows_sys::Win32::System::Threading::{GetActiveProcessorCount, GetActiveProcessorGroupCount};

use super::library;
use crate::probe::windows::processors;

/// Topology of the logical processors; empty if the system does not report it.
pub(crate) fn topology() -> Vec<LogicalCpu> {
    let mut length = 0u32;
    // SAFETY: without a buffer the call only writes the length that it needs.
    unsafe { GetLogicalProcessorInformationEx(RelationAll, null_mut(), &mut length) };
    // Records begin with words of eight bytes.
    let mut words = vec![0u64; (length as usize).div_ceil(8) + 8];
    let mut room = (words.len() * 8) as u32;
    // SAFETY: the call writes at most `room` bytes into the buffer, which is that long and aligned
    // for the records.
    let done = unsafe { GetLogicalProcessorInformationEx(RelationAll, words.as_mut_ptr().cast(), &mut room) };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    match done {
        0 => Vec::new(),
        _ => processors::parse_topology(&bytes[..(room as usize).min(bytes.len())]),
    }
}

/// Logical processors of all groups.
pub(crate) fn count() -> u32 {
    const ALL: u16 = 0xffff;
    // SAFETY: the call takes a number only.
    unsafe { GetActiveProcessorCount(ALL) }
}

/// `NtQuerySystemInformationEx`: class, input and its length, output and its length, returned
/// length.
type Query = unsafe extern "system" fn(u32, *const u16, u32, *mut u64, u32, *mut u32) -> i32;

/// Times of all processors, group by group.
pub(crate) fn times() -> Vec<CoreUse> {
    /// `SystemProcessorPerformanceInformation`.
    const PROCESSOR_TIMES: u32 = 8;
    /// Processors in a group, and words of eight bytes about each.
    const GROUP_WORDS: usize = 64 * 6;
    // SAFETY: the function has these arguments (ntexapi.h).
    let Some(query) = (unsafe { library::function::<Query>("ntdll.dll", c"NtQuerySystemInformationEx") }) else {
        return Vec::new();
    };
    // SAFETY: the call takes nothing.
    let groups = unsafe { GetActiveProcessorGroupCount() };
    let query_group = |group: u16| {
        let mut words = vec![0u64; GROUP_WORDS];
        let mut length = 0u32;
        // SAFETY: the input is one word of two bytes, the group; the call writes at most the
        // given length into the buffer, which is that long and aligned for the records.
        let status = unsafe {
            query(
                PROCESSOR_TIMES,
                &group,
                2,
                words.as_mut_ptr(),
                (GROUP_WORDS * 8) as u32,
                &mut length,
            )
        };
        if status < 0 {
            return Vec::new();
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        processors::parse_times(&bytes[..(length as usize).min(bytes.len())], u32::from(group))
    };
    (0..groups).flat_map(query_group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_processors() {
        let cpus = topology();
        assert!(!cpus.is_empty());
        assert_eq!(cpus.len(), count() as usize);
    }
}
