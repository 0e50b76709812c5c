//! The buffers of an engine: one mapping, a piece for each slot, and which slots are in use.

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
    /// They lie so far apart that what is between them takes no memory.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "only io_uring registers buffers")
    )]
    apart: bool,
}

/// The largest alignment that is no separation: a page of any processor.
const MAX_PACKED_STEP: usize = 64 << 10;

impl Buffers {
    /// Maps memory for the buffers, each aligned and at least a page, and touches it, so that the
    /// measured window sees no first faults.
    pub(crate) fn new(setup: &Setup) -> Result<Buffers, EngineError> {
        let (slots, length) = (setup.slots, setup.buffer_bytes.max(1));
        let step = setup.buffer_alignment.max(Mapping::PAGE).next_power_of_two();
        let each = length.next_multiple_of(step);
        let (stride, count) = if setup.one_buffer {
            (0, 1)
        } else {
            (each, slots as usize)
        };
        // What lies between buffers that are far apart is address space without memory, where the
        // system has such a thing.
        let apart = step > MAX_PACKED_STEP && setup.huge_page.is_none();
        let taken = match apart && cfg!(target_os = "linux") {
            true => length.next_multiple_of(Mapping::PAGE),
            false => each,
        };
        let refused = |free| EngineError::Memory {
            slots,
            each: Bytes(length as u64),
            needed: Bytes((taken as u64).saturating_mul(count as u64)),
            free,
        };
        let free = crate::probe::memory_free();
        let Some(bytes) = each.checked_mul(count) else {
            return Err(refused(free));
        };
        // Without this the kernel would promise the memory and kill some process later.
        if (taken as u64).saturating_mul(count as u64) > free.bytes.0 {
            return Err(refused(free));
        }
        let mapping = match apart {
            true => Mapping::sparse(count, each, taken.min(each), step),
            false => Mapping::new(bytes, step, setup.huge_page),
        };
        let mapping = mapping.map_err(|error| match setup.huge_page {
            Some(page) => EngineError::HugePages {
                needed: Bytes(bytes.next_multiple_of(page.max(1)) as u64),
                refusal: huge_page_refusal(&error),
            },
            None => refused(free),
        })?;
        Ok(Buffers {
            mapping,
            stride,
            length,
            apart,
        })
    }

    /// The first `length` bytes of a slot's buffer.
    ///
    /// # Panics
    /// If the slot does not exist or the buffer is shorter: that is a fault of the caller.
    #[inline(always)]
    pub(crate) fn bytes_of(&mut self, slot: Slot, length: usize) -> &mut [u8] {
        let start = slot.0 as usize * self.stride;
        &mut self.mapping.bytes_mut()[start..][..length]
    }

    /// The whole buffer of a slot.
    pub(crate) fn whole(&mut self, slot: Slot) -> &mut [u8] {
        self.bytes_of(slot, self.length)
    }
}

/// Buffers that the kernel reads and writes while the program continues.
///
/// Every path to a buffer goes through here: [`SharedBuffers::claim`] when an operation starts,
/// [`SharedBuffers::release`] when the kernel is done with it, [`SharedBuffers::of_free`] for the
/// program between the two. So no one else touches a buffer while the kernel may.
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
    /// If the slot is in flight already, does not exist, or its buffer is shorter than `length`:
    /// that is a fault of the caller.
    #[inline(always)]
    pub(crate) fn claim(&mut self, slot: Slot, length: u32) -> *mut u8 {
        let busy = std::mem::replace(&mut self.in_flight[slot.0 as usize], true);
        assert!(!busy, "slot {} is already in flight", slot.0);
        assert!(
            length as usize <= self.buffers.length,
            "operation longer than its buffer"
        );
        self.outstanding += 1;
        self.start().wrapping_add(slot.0 as usize * self.buffers.stride)
    }

    /// Marks a slot as free again. Only for slots whose operation the kernel has ended.
    #[inline(always)]
    pub(crate) fn release(&mut self, slot: Slot) {
        self.in_flight[slot.0 as usize] = false;
        self.outstanding -= 1;
    }

    /// The buffer of a slot that is not in flight.
    ///
    /// # Panics
    /// If the slot is in flight or does not exist: that is a fault of the caller.
    pub(crate) fn of_free(&mut self, slot: Slot) -> &mut [u8] {
        assert!(!self.in_flight[slot.0 as usize], "slot {} is in flight", slot.0);
        self.buffers.whole(slot)
    }

    /// The address of the first buffer.
    #[inline(always)]
    pub(crate) fn start(&mut self) -> *mut u8 {
        self.buffers.mapping.address()
    }
}

/// What the engines ask that register their buffers with the kernel.
#[cfg(target_os = "linux")]
impl SharedBuffers {
    /// How many slots there are.
    pub(crate) fn slots(&self) -> u32 {
        self.in_flight.len() as u32
    }

    /// Bytes of each buffer, where they lie so far apart that each is registered by itself.
    pub(crate) fn bytes_apart(&self) -> Option<usize> {
        self.buffers.apart.then_some(self.buffers.length)
    }

    /// Distance of neighbouring buffers in bytes.
    pub(crate) fn stride(&self) -> usize {
        self.buffers.stride
    }
}

impl SharedBuffers {
    /// Operations in flight.
    #[inline(always)]
    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Gives up the memory without returning it to the system. For the case that the kernel could
    /// not be made to end operations that still point into it.
    pub(crate) fn abandon(&mut self) {
        self.buffers.mapping.leak();
    }
}
