//! Anonymous memory for buffers. Each system allocates and frees it in its own way.

use std::ffi::c_void;

/// A private block of memory: zeroed, touched and writable.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The whole allocation.
    pub(super) base: *mut c_void,
    pub(super) base_length: usize,
    /// The aligned part in use.
    start: *mut u8,
    length: usize,
    pub(super) leaked: bool,
}

impl Mapping {
    /// The `length` bytes behind the first `shift` bytes of an allocation.
    ///
    /// # Safety
    /// The allocation has room for them, is zeroed, readable and writable, and belongs to the
    /// value.
    pub(super) unsafe fn within(base: *mut c_void, base_length: usize, shift: usize, length: usize) -> Mapping {
        Mapping {
            base,
            base_length,
            start: base.cast::<u8>().wrapping_add(shift),
            length,
            leaked: false,
        }
    }

    /// The first byte, for the kernel.
    #[inline(always)]
    pub(crate) fn address(&mut self) -> *mut u8 {
        self.start
    }

    /// Keeps the memory for the life of the process.
    pub(crate) fn leak(&mut self) {
        self.leaked = true;
    }

    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `start` and `length` are within the allocation, which lives as long as `self`, is
        // readable and writable, and zeroed by the system. The exclusive borrow keeps the program
        // from making a second reference; the caller (`Buffers`) keeps slices of slots that the
        // system is using from being made.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

// SAFETY: the memory is the process's, not a thread's, and only the owner of the value uses it: all
// access goes through an exclusive borrow of it.
unsafe impl Send for Mapping {}
