//! Anonymous memory for buffers.

use std::io;
use std::ptr::null_mut;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

pub(crate) use crate::sys::mapping::Mapping;

/// Makes the allocator map blocks of 32 KiB and more separately, so that only touched pages use
/// memory. A worker has three to twelve histograms of 34 KiB with few buckets in use; glibc would
/// clear them on its heap.
pub fn map_large_blocks() {
    // SAFETY: it affects only later allocations.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 10);
        // Otherwise each thread reserves 64 MiB of address space for a heap of its own.
        if address_space_limit().is_some() {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }
}

impl Mapping {
    /// The smallest page size of any processor. The kernel rounds up to larger pages, which are
    /// multiples of it.
    pub(crate) const PAGE: usize = 4096;
    /// Size of a huge page where pages have 4 KiB.
    const HUGE_PAGE: usize = 2 << 20;

    /// Maps `length` bytes aligned to `alignment` (a power of two). `huge`: the page size, for
    /// memory from the pool of huge pages.
    ///
    /// # Errors
    /// The system's error, such as `ENOMEM`; with `huge`, also when the pool of huge pages is
    /// empty.
    pub(crate) fn new(length: usize, alignment: usize, huge: Option<usize>) -> io::Result<Mapping> {
        let mut mapping = Self::reserve(length, alignment, huge, MapFlags::empty())?;
        if huge.is_none() && length >= Self::HUGE_PAGE {
            // Transparent huge pages reduce TLB misses; a failure has no other effect. SAFETY: the
            // range is the mapping just made; the advice does not change its contents.
            let _ = unsafe { madvise(mapping.base, mapping.base_length, Advice::LinuxHugepage) };
        }
        mapping.touch(0..length.max(1));
        Ok(mapping)
    }

    /// Maps pieces that begin `stride` bytes apart, a multiple of `alignment`. Only the first
    /// `used` bytes of each piece use memory.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn sparse(count: usize, stride: usize, used: usize, alignment: usize) -> io::Result<Mapping> {
        let mut mapping = Self::reserve(count * stride, alignment, None, MapFlags::NORESERVE)?;
        for piece in 0..count {
            mapping.touch(piece * stride..piece * stride + used);
        }
        Ok(mapping)
    }

    /// Touches these pages, so that they fault before the measured window.
    fn touch(&mut self, bytes: std::ops::Range<usize>) {
        for page in self.bytes_mut()[bytes].chunks_mut(Self::PAGE) {
            page[0] = 1;
        }
    }

    fn reserve(length: usize, alignment: usize, huge: Option<usize>, flags: MapFlags) -> io::Result<Mapping> {
        let page = huge.map_or(Self::PAGE, |page| page.max(default_huge_page()));
        let huge = huge.is_some();
        // Page alignment is free. A larger alignment needs room to shift the start.
        let extra = if alignment > page { alignment } else { 0 };
        let base_length = (length.max(1) + extra).next_multiple_of(page);
        let flags = flags | MapFlags::PRIVATE | if huge { MapFlags::HUGETLB } else { MapFlags::empty() };
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no existing
        // memory.
        let base = unsafe { mmap_anonymous(null_mut(), base_length, ProtFlags::READ | ProtFlags::WRITE, flags)? };
        let shift = if extra == 0 {
            0
        } else {
            (base as usize).wrapping_neg() & (alignment - 1)
        };
        // SAFETY: the mapping is new, zeroed, readable and writable, and has room for the shift.
        Ok(unsafe { Mapping::within(base, base_length, shift, length.max(1)) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if !self.leaked {
            // SAFETY: the range was mapped by `new`, and no borrow of it can outlive `self`.
            let _ = unsafe { munmap(self.base, self.base_length) };
        }
    }
}

/// The page size: 4 KiB on x86-64; 4, 16 or 64 KiB on ARM64, depending on the kernel.
pub fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

/// The default size of huge pages. A mapping of huge pages can only be unmapped in whole pages.
fn default_huge_page() -> usize {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok();
    meminfo
        .and_then(|text| parse_default_huge_page(&text))
        .unwrap_or(Mapping::HUGE_PAGE)
}

/// Parses the default size of huge pages from `/proc/meminfo`.
fn parse_default_huge_page(text: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix("Hugepagesize:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10).filter(|bytes| bytes.is_power_of_two())
}

/// Cause and remedy if large pages fail for a reason other than lack of memory: none on Linux.
pub(crate) fn huge_page_refusal(_: &io::Error) -> Option<(&'static str, &'static str)> {
    None
}

/// The limit on this process's address space (`RLIMIT_AS`), if any.
pub(crate) fn address_space_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

/// Memory locked against swapping until dropped.
#[derive(Debug)]
pub struct PinnedMemory(#[allow(dead_code, reason = "held to keep the memory locked")] Mapping);

impl PinnedMemory {
    /// Locks `bytes` bytes.
    ///
    /// # Errors
    /// The system's error, such as `ENOMEM` beyond the limit of locked memory.
    pub fn new(bytes: u64) -> io::Result<PinnedMemory> {
        let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if bytes > crate::probe::memory_free().bytes.0 {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        let mapping = Mapping::new(length, Mapping::PAGE, None)?;
        // SAFETY: the range is the mapping just made, which stays until the value is dropped.
        unsafe { rustix::mm::mlock(mapping.base, mapping.base_length)? };
        Ok(PinnedMemory(mapping))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_huge_page_size_is_parsed() {
        let text = |line: &str| format!("MemTotal: 1 kB\n{line}\nDirectMap4k: 5 kB\n");
        assert_eq!(
            parse_default_huge_page(&text("Hugepagesize:       2048 kB")),
            Some(2 << 20)
        );
        // ARM64 with pages of 64 KiB.
        assert_eq!(
            parse_default_huge_page(&text("Hugepagesize:     524288 kB")),
            Some(512 << 20)
        );
        assert_eq!(parse_default_huge_page(&text("Hugepagesize:     0 kB")), None);
        assert_eq!(parse_default_huge_page(&text("Hugetlb: 0 kB")), None);
    }

    #[test]
    fn the_page_size_is_a_multiple_of_the_smallest() {
        let page = page_size() as usize;
        assert!(page.is_power_of_two() && page.is_multiple_of(Mapping::PAGE), "{page}");
    }
}
