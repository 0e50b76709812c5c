//! Requests to a block device as a tracer sees them. They are never part of results.

use crate::units::Nanos;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockAction {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Discard or write zeroes.
    Discard,
    /// Flush the device's write cache, without data.
    Flush,
    /// Anything else, such as a command of the driver.
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
    /// What the request does: read, write, discard or flush.
    pub action: BlockAction,
    /// Its first sector of 512 bytes.
    pub sector: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
}
