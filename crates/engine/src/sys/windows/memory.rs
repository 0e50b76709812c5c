//! Anonymous memory for buffers.

use std::io;
use std::ptr::null;

use windows_sys::Win32::System::Memory::{
    GetLargePageMinimum, MEM_COMMIT, MEM_LARGE_PAGES, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc,
    VirtualFree, VirtualLock,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessWorkingSetSize, SetProcessWorkingSetSize};

use super::privilege;
pub(crate) use crate::sys::mapping::Mapping;

/// Does nothing: the Windows allocator needs no such setting.
pub fn map_large_blocks() {}

impl Mapping {
    /// Page size, the same on x86-64 and ARM64.
    pub(crate) const PAGE: usize = 4096;
    /// Every allocation begins at a multiple of this.
    const GRANULARITY: usize = 64 << 10;

    /// Allocates `length` bytes aligned to `alignment` (a power of two). `huge`: the page size, for
    /// memory in large pages.
    ///
    /// # Errors
    /// The system's error. With `huge`: `ERROR_NOT_ALL_ASSIGNED` (1300) if the account may not lock
    /// pages, and `ERROR_NO_SYSTEM_RESOURCES` (1450) if memory is too fragmented.
    pub(crate) fn new(length: usize, alignment: usize, huge: Option<usize>) -> io::Result<Mapping> {
        let (step, flags) = match huge {
            Some(wanted) => (large_page(wanted)?, MEM_RESERVE | MEM_COMMIT | MEM_LARGE_PAGES),
            None => (Self::PAGE, MEM_RESERVE | MEM_COMMIT),
        };
        // An alignment beyond the system's granularity needs room to shift the start.
        let extra = if alignment > step.max(Self::GRANULARITY) {
            alignment
        } else {
            0
        };
        let length = length.max(1);
        let base_length = length
            .checked_add(extra)
            .and_then(|bytes| bytes.checked_next_multiple_of(step))
            .ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new allocation at an address of the system's choice touches no existing memory.
        let base = unsafe { VirtualAlloc(null(), base_length, flags, PAGE_READWRITE) };
        if base.is_null() {
            return Err(io::Error::last_os_error());
        }
        let shift = if extra == 0 {
            0
        } else {
            (base as usize).wrapping_neg() & (alignment - 1)
        };
        // SAFETY: the allocation is new, zeroed, readable and writable, and has room for the shift.
        let mut mapping = unsafe { Mapping::within(base, base_length, shift, length) };
        // Touch every page before the measured window.
        for page in mapping.bytes_mut().chunks_mut(Self::PAGE) {
            page[0] = 1;
        }
        Ok(mapping)
    }

    /// Allocates pieces `stride` bytes apart, a multiple of `alignment`. On Windows the gaps use
    /// memory too.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn sparse(count: usize, stride: usize, _used: usize, alignment: usize) -> io::Result<Mapping> {
        Mapping::new(count * stride, alignment, None)
    }
}

/// Size of a large page, or the larger requested multiple. Enables the privilege that large pages
/// need.
fn large_page(wanted: usize) -> io::Result<usize> {
    // SAFETY: the call only returns a number.
    let page = unsafe { GetLargePageMinimum() };
    if page == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    privilege::enable(privilege::LOCK_MEMORY)?;
    Ok(page.max(wanted))
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if !self.leaked {
            // SAFETY: allocated by `new` and released once and whole; no borrow can outlive `self`.
            unsafe { VirtualFree(self.base, 0, MEM_RELEASE) };
        }
    }
}

/// The page size.
pub fn page_size() -> u64 {
    Mapping::PAGE as u64
}

/// Windows has no such limit.
pub(crate) fn address_space_limit() -> Option<u64> {
    None
}

/// Memory locked against swapping until dropped.
#[derive(Debug)]
pub struct PinnedMemory(#[allow(dead_code, reason = "held to keep the memory locked")] Mapping);

impl PinnedMemory {
    /// Locks `bytes` bytes.
    ///
    /// # Errors
    /// The system's error if there is not enough memory, or the process may not lock that much.
    pub fn new(bytes: u64) -> io::Result<PinnedMemory> {
        let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mapping = Mapping::new(length, Mapping::PAGE, None)?;
        // A process may lock at most its minimum working set.
        let (mut min, mut max) = (0, 0);
        // SAFETY: the pseudo handle names this process; the calls write two live numbers and take
        // two.
        let grown = unsafe {
            let process = GetCurrentProcess();
            GetProcessWorkingSetSize(process, &mut min, &mut max) != 0
                && SetProcessWorkingSetSize(process, min + mapping.base_length, max + mapping.base_length) != 0
        };
        // SAFETY: the range is the allocation just made, which stays until the value is dropped.
        if !grown || unsafe { VirtualLock(mapping.base, mapping.base_length) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(PinnedMemory(mapping))
    }
}

/// Cause and remedy if large pages fail for a reason other than lack of memory.
pub(crate) fn huge_page_refusal(error: &io::Error) -> Option<(&'static str, &'static str)> {
    const PRIVILEGE_NOT_HELD: i32 = 1300;
    match error.raw_os_error() {
        Some(PRIVILEGE_NOT_HELD) => Some((
            "this account does not hold the privilege to lock pages in memory (SeLockMemoryPrivilege)",
            "grant it in secpol.msc (Local Policies, User Rights Assignment, Lock pages in memory), sign in again \
             and run as administrator; or do not use large pages",
        )),
        None if error.kind() == io::ErrorKind::Unsupported => Some(("this processor has no large pages", "do without")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments_beyond_the_granularity_are_honoured() {
        for alignment in [4096, 64 << 10, 1 << 20] {
            for length in [1, 4096, 100_000] {
                let mut mapping = Mapping::new(length, alignment, None).unwrap();
                assert!((mapping.address() as usize).is_multiple_of(alignment));
                assert_eq!(mapping.bytes_mut().len(), length);
                mapping.bytes_mut().fill(7);
            }
        }
    }
}
