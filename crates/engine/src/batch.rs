//! The types that cross the boundary of an engine: slots, requests, completions, stamps.

use model::Nanos;
use model::plan::FileRangeFlags;

/// One unit of queue depth, with its own buffer. Slots are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// An operation to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes: at most the size of a buffer, except for trims.
    pub length: u32,
    /// The free slot to use.
    pub slot: Slot,
    /// Index of the file in [`crate::Setup::files`].
    pub file: u16,
    /// What to do: read, write, flush or trim.
    pub action: Action,
}

impl Request {
    /// A zero-length read, as a filler for arrays.
    pub const NONE: Request = Request {
        offset: 0,
        length: 0,
        slot: Slot(0),
        file: 0,
        action: Action::Read,
    };

    /// A request to flush a whole file.
    pub fn flush(file: u16, slot: Slot, action: Action) -> Request {
        Request {
            slot,
            file,
            action,
            ..Request::NONE
        }
    }
}

/// The action of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read into the buffer.
    Read,
    /// Write from the buffer.
    Write,
    /// Discard the range.
    Trim,
    /// Flush data and metadata of the file.
    Flush,
    /// Flush data of the file and the metadata needed to read it.
    FlushData,
    /// `sync_file_range` over the whole file.
    FlushRange(RangeFlush),
}

/// Flags of `sync_file_range`, packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeFlush(u8);

impl From<FileRangeFlags> for RangeFlush {
    fn from(flags: FileRangeFlags) -> RangeFlush {
        RangeFlush(u8::from(flags.wait_before) | u8::from(flags.write) << 1 | u8::from(flags.wait_after) << 2)
    }
}

impl From<RangeFlush> for FileRangeFlags {
    fn from(flush: RangeFlush) -> FileRangeFlags {
        let set = |bit: u8| flush.0 & 1 << bit != 0;
        FileRangeFlags {
            wait_before: set(0),
            write: set(1),
            wait_after: set(2),
        }
    }
}

/// An operation that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot, which is free again.
    pub slot: Slot,
    /// Bytes transferred, or a negative error number.
    pub result: i64,
    /// When it was reaped. Operations reaped together have the same time; a synchronous engine
    /// gives each its own.
    pub at: Nanos,
}

impl Completion {
    /// A completion of the operation in `slot`.
    #[inline(always)]
    pub fn new(slot: Slot, result: i64, at: Nanos) -> Completion {
        Completion { slot, result, at }
    }
}

/// The outcome of one turn. The caller reuses one batch for every turn.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Completed operations in reaping order.
    pub done: Completions,
    /// Taken just before the submitting call.
    pub submit_start: Nanos,
    /// When the submitting call returned. Equals `reap_time` unless stamps are split.
    pub submit_end: Nanos,
    /// When completions were last polled. The stamp is taken before any completion is processed, so
    /// that the bookkeeping of earlier operations does not count as latency of later ones.
    pub reap_time: Nanos,
    /// Number of requests accepted in this turn: the first N.
    pub submitted: u32,
    /// The caller sets this when almost no time has passed since `reap_time`. The engine then uses
    /// `reap_time` as `submit_start`, because a clock reading costs about as much as all other
    /// bookkeeping of an operation.
    pub chained: bool,
}

impl Batch {
    /// Allocates room for `slots` completions.
    pub fn new(slots: u32) -> Batch {
        let zero = Nanos(0);
        Batch {
            done: Completions {
                list: vec![Completion::new(Slot(0), 0, zero); slots as usize].into(),
                count: 0,
            },
            submit_start: zero,
            submit_end: zero,
            reap_time: zero,
            submitted: 0,
            chained: false,
        }
    }
}

/// A list of completions with a fixed capacity. A turn completes at most as many operations as
/// there are slots.
#[derive(Clone, Debug)]
pub struct Completions {
    list: Box<[Completion]>,
    count: usize,
}

impl Completions {
    #[inline(always)]
    pub(crate) fn push(&mut self, slot: Slot, result: i64, at: Nanos) {
        self.list[self.count] = Completion::new(slot, result, at);
        self.count += 1;
    }

    /// Executes requests in order and stores their completions, until `execute` returns false.
    #[inline(always)]
    pub(crate) fn fill_while(&mut self, requests: &[Request], mut execute: impl FnMut(&Request) -> (Completion, bool)) {
        let mut count = 0;
        for (request, place) in requests.iter().zip(self.list.iter_mut()) {
            let (completion, continues) = execute(request);
            *place = completion;
            count += 1;
            if !continues {
                break;
            }
        }
        self.count = count;
    }

    /// Sets the time of every completion.
    pub(crate) fn set_time(&mut self, at: Nanos) {
        self.list[..self.count]
            .iter_mut()
            .for_each(|completion| completion.at = at);
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }
}

impl std::ops::Deref for Completions {
    type Target = [Completion];

    #[inline(always)]
    fn deref(&self) -> &[Completion] {
        &self.list[..self.count]
    }
}
