//! Anonymous memory for buffers.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;

/// A private block of memory, zeroed and writable.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut u8,
    layout: Layout,
}

impl Mapping {
    /// Bytes in a page.
    pub(crate) const PAGE: usize = 4096;

    /// Allocates `length` bytes aligned to `alignment` (a power of two).
    ///
    /// # Errors
    /// `OutOfMemory` if there is none; `Unsupported` for huge pages, which need a privilege that is not asked for yet.
    pub(crate) fn new(length: usize, alignment: usize, huge: Option<usize>) -> io::Result<Mapping> {
        if huge.is_some() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let layout = Layout::from_size_align(length.max(1), alignment).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(Mapping { start, layout })
    }

    /// The first byte, for the kernel.
    #[inline(always)]
    pub(crate) fn address(&mut self) -> *mut u8 {
        self.start
    }

    /// All bytes.
    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the block was allocated zeroed with this size and lives as long as `self`; the exclusive borrow keeps
        // a second reference from being made.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

// SAFETY: the memory is the process's, not a thread's, and whoever has the value is the only one to use it: all access
// goes through an exclusive borrow of it.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with the same layout; no borrow can outlive `self`.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// Memory that is kept from being swapped out.
#[derive(Debug)]
pub struct Pinned;

impl Pinned {
    /// Does not exist here.
    ///
    /// # Errors
    /// Always.
    pub fn new(_bytes: u64) -> io::Result<Pinned> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
