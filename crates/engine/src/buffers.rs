//! The buffers of an engine. One mapping is divided among the slots; the slots in use are tracked.

use model::Bytes;

use crate::Setup;
use crate::batch::Slot;
use crate::error::EngineError;
use crate::sys::memory::{Mapping, huge_page_refusal};

/// Buffers for all slots.
#[derive(Debug)]
pub(crate) struct Buffers {
    mapping: Mapping,
    stride: usize,
    length: usize,
    /// The gaps between buffers are address space without memory.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "only io_uring registers buffers")
    )]
    sparse: bool,
}

/// Largest alignment for which buffers are packed; with a larger one they are allocated sparsely.
/// No processor has a larger base page.
const MAX_PACKED_ALIGNMENT: usize = 64 << 10;

impl Buffers {
    /// Maps the buffers, each aligned and at least a page long. Touches them, so that no first page
    /// fault falls into the measured window.
    pub(crate) fn new(setup: &Setup) -> Result<Buffers, EngineError> {
        let (slots, length) = (setup.slots, setup.buffer_bytes.max(1));
        let alignment = setup.buffer_alignment.max(Mapping::PAGE).next_power_of_two();
        let each_bytes = length.next_multiple_of(alignment);
        let (stride, count) = if setup.one_buffer {
            (0, 1)
        } else {
            (each_bytes, slots as usize)
        };
        // Only Linux can leave the gaps between sparse buffers without memory.
        let sparse = alignment > MAX_PACKED_ALIGNMENT && setup.huge_page.is_none();
        let used_bytes = match sparse && cfg!(target_os = "linux") {
            true => length.next_multiple_of(Mapping::PAGE),
            false => each_bytes,
        };
        let out_of_memory = |free| EngineError::Memory {
            slots,
            each: Bytes(length as u64),
            needed: Bytes((used_bytes as u64).saturating_mul(count as u64)),
            free,
        };
        let free = crate::probe::memory_free();
        let Some(bytes) = each_bytes.checked_mul(count) else {
            return Err(out_of_memory(free));
        };
        // Check now: the kernel would overcommit, and its OOM killer would end some process later.
        if (used_bytes as u64).saturating_mul(count as u64) > free.bytes.0 {
            return Err(out_of_memory(free));
        }
        let mapping = match sparse {
            true => Mapping::sparse(count, each_bytes, used_bytes.min(each_bytes), alignment),
            false => Mapping::new(bytes, alignment, setup.huge_page),
        };
        let mapping = mapping.map_err(|error| match setup.huge_page {
            Some(page) => EngineError::HugePages {
                needed: Bytes(bytes.next_multiple_of(page.max(1)) as u64),
                refusal: huge_page_refusal(&error),
            },
            None => out_of_memory(free),
        })?;
        Ok(Buffers {
            mapping,
            stride,
            length,
            sparse,
        })
    }

    /// The first `length` bytes of a slot's buffer.
    ///
    /// # Panics
    /// On a caller's bug: the slot does not exist, or its buffer is shorter.
    #[inline(always)]
    pub(crate) fn prefix(&mut self, slot: Slot, length: usize) -> &mut [u8] {
        let start = slot.0 as usize * self.stride;
        &mut self.mapping.bytes_mut()[start..][..length]
    }

    /// The whole buffer of a slot.
    pub(crate) fn get_mut(&mut self, slot: Slot) -> &mut [u8] {
        self.prefix(slot, self.length)
    }
}

/// Buffers that the kernel reads and writes while the program runs.
///
/// [`SharedBuffers::claim`] starts an operation and [`SharedBuffers::release`] ends it. In between,
/// [`SharedBuffers::idle_buffer`] refuses the buffer, so the program never touches memory that the
/// kernel may be using.
#[derive(Debug)]
pub(crate) struct SharedBuffers {
    buffers: Buffers,
    in_flight: Box<[bool]>,
    outstanding: u32,
}

impl SharedBuffers {
    /// See [`Buffers::new`].
    pub(crate) fn new(setup: &Setup) -> Result<SharedBuffers, EngineError> {
        let in_flight = vec![false; setup.slots as usize].into();
        Ok(SharedBuffers {
            buffers: Buffers::new(setup)?,
            in_flight,
            outstanding: 0,
        })
    }

    /// Marks a slot as in flight and returns the address of its buffer for the kernel.
    ///
    /// # Panics
    /// On a caller's bug: the slot is already in flight, does not exist, or its buffer is shorter
    /// than `length`.
    #[inline(always)]
    pub(crate) fn claim(&mut self, slot: Slot, length: u32) -> *mut u8 {
        let busy = std::mem::replace(&mut self.in_flight[slot.0 as usize], true);
        assert!(!busy, "slot {} is already in flight", slot.0);
        assert!(
            length as usize <= self.buffers.length,
            "operation longer than its buffer"
        );
        self.outstanding += 1;
        self.base_address().wrapping_add(slot.0 as usize * self.buffers.stride)
    }

    /// Marks a slot as free again, once the kernel has completed its operation.
    #[inline(always)]
    pub(crate) fn release(&mut self, slot: Slot) {
        self.in_flight[slot.0 as usize] = false;
        self.outstanding -= 1;
    }

    /// The buffer of a slot that is not in flight.
    ///
    /// # Panics
    /// On a caller's bug: the slot is in flight or does not exist.
    pub(crate) fn idle_buffer(&mut self, slot: Slot) -> &mut [u8] {
        assert!(!self.in_flight[slot.0 as usize], "slot {} is in flight", slot.0);
        self.buffers.get_mut(slot)
    }

    /// The address of the first buffer.
    #[inline(always)]
    pub(crate) fn base_address(&mut self) -> *mut u8 {
        self.buffers.mapping.address()
    }

    /// Operations in flight.
    #[inline(always)]
    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Leaks the memory, when the kernel cannot be made to end operations that still point into it.
    pub(crate) fn abandon(&mut self) {
        self.buffers.mapping.leak();
    }
}

/// For engines that register their buffers with the kernel.
#[cfg(target_os = "linux")]
impl SharedBuffers {
    pub(crate) fn slots(&self) -> u32 {
        self.in_flight.len() as u32
    }

    /// Bytes in each buffer if the buffers are sparse; each is then registered separately.
    pub(crate) fn sparse_buffer_bytes(&self) -> Option<usize> {
        self.buffers.sparse.then_some(self.buffers.length)
    }

    /// Bytes from the start of one buffer to the next.
    pub(crate) fn stride(&self) -> usize {
        self.buffers.stride
    }
}
