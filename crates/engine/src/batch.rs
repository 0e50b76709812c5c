//! What goes into an engine and what comes out: slots, operations, completions, stamps.

use model::Nanos;
use model::plan::FileRangeFlags;

/// A place in the queue, with a buffer of its own. Slots are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// An operation to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// First byte.
    pub offset: u64,
    /// Bytes; at most the size of a buffer, except for trims.
    pub length: u32,
    /// The free slot that will carry it.
    pub slot: Slot,
    /// Index of the file in [`crate::Setup::files`].
    pub file: u16,
    /// What to do.
    pub action: Action,
}

impl Request {
    /// A request to flush a whole file.
    pub fn flush(file: u16, slot: Slot, action: Action) -> Request {
        Request {
            offset: 0,
            length: 0,
            slot,
            file,
            action,
        }
    }
}

/// What an operation does.
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

/// Which parts of `sync_file_range` are wanted.
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
    /// Its slot, which is free again.
    pub slot: Slot,
    /// Bytes transferred, or a negative error number.
    pub result: i64,
    /// When it was reaped. Operations that were found ended at one look have the same stamp; those
    /// that a synchronous engine has executed one after the other have one each.
    pub at: Nanos,
}

impl Completion {
    /// The end of the operation in `slot`.
    #[inline(always)]
    pub fn new(slot: Slot, result: i64, at: Nanos) -> Completion {
        Completion { slot, result, at }
    }
}

/// What one turn brought. The same batch is used for turn after turn.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Operations that ended, in the order in which they were reaped.
    pub done: Completions,
    /// Just before the submitting call.
    pub before: Nanos,
    /// When the submitting call returned; equal to `reaped` unless stamps are split.
    pub returned: Nanos,
    /// When completions were looked for last. The stamp is taken before any of them is looked at,
    /// so that an operation is not charged with the book-keeping of those before it.
    pub reaped: Nanos,
    /// Requests taken over in this turn: the first N.
    pub submitted: u32,
    /// Set by the caller: hardly any time has passed since `reaped`, which may serve as `before`. A
    /// stamp costs about as much as all other book-keeping of an operation.
    pub chained: bool,
}

impl Request {
    /// A read of nothing, to fill arrays with.
    pub const NONE: Request = Request {
        offset: 0,
        length: 0,
        slot: Slot(0),
        file: 0,
        action: Action::Read,
    };
}

impl Batch {
    /// A batch with room for `slots` completions.
    pub fn new(slots: u32) -> Batch {
        let zero = Nanos(0);
        Batch {
            done: Completions {
                list: vec![Completion::new(Slot(0), 0, zero); slots as usize].into(),
                count: 0,
            },
            before: zero,
            returned: zero,
            reaped: zero,
            submitted: 0,
            chained: false,
        }
    }
}

/// A list of completions with a fixed bound: no more operations can end in a turn than there are
/// slots.
#[derive(Clone, Debug)]
pub struct Completions {
    list: Box<[Completion]>,
    count: usize,
}

impl Completions {
    /// Adds one.
    #[inline(always)]
    pub(crate) fn push(&mut self, completion: Completion) {
        self.list[self.count] = completion;
        self.count += 1;
    }

    /// Adds the completion of one request after the other, as long as `next` says to go on.
    #[inline(always)]
    pub(crate) fn in_turn(&mut self, requests: &[Request], mut next: impl FnMut(&Request) -> (Completion, bool)) {
        let mut count = 0;
        for (request, place) in requests.iter().zip(self.list.iter_mut()) {
            let (completion, go_on) = next(request);
            *place = completion;
            count += 1;
            if !go_on {
                break;
            }
        }
        self.count = count;
    }

    /// Gives all of them the same stamp.
    pub(crate) fn stamp(&mut self, at: Nanos) {
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
