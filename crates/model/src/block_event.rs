//! Requests that a block device got, as a tracer of a live system sees them. Nothing of this is
//! kept in results.

use crate::units::Nanos;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockAction {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It discards or zeroes.
    Discard,
    /// It empties the device's cache of writes, and carries no data.
    Flush,
    /// Anything else, such as a command of the driver's.
    Other,
}

/// One thing that happened to a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEvent {
    /// The device got a request.
    Issued(BlockRequest),
    /// It has carried one out.
    Completed(BlockRequest),
    /// This many events were not seen, because they came too fast.
    Lost(u64),
}

/// A request of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// When it happened, on a clock that only goes forward.
    pub at_ns: Nanos,
    /// What it does.
    pub action: BlockAction,
    /// Its first sector of 512 bytes.
    pub sector: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
}
