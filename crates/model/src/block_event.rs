//! Requests to a block device, as a tracer of a live system sees them. They are never part of
//! results.

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
    /// It flushes the device's write cache and carries no data.
    Flush,
    /// Anything else, such as a command of the driver's.
    Other,
}

/// An event of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEvent {
    /// The device got a request.
    Issued(BlockRequest),
    /// The device completed a request.
    Completed(BlockRequest),
    /// This many events were lost because they came too fast.
    Lost(u64),
}

/// A request of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// When it happened, on a monotonic clock.
    pub at_ns: Nanos,
    /// What it does.
    pub action: BlockAction,
    /// Its first sector of 512 bytes.
    pub sector: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
}
