//! Queries of ATA disks and their responses.

/// Bytes in a data block.
pub const BLOCK: usize = 512;

/// The supported queries. Other commands are not possible, so nothing can change a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// CHECK POWER MODE: leaves the mode as it is.
    PowerMode,
    /// SMART RETURN STATUS.
    SmartStatus,
    /// SMART READ DATA: a block.
    SmartData,
    /// SMART READ THRESHOLDS: a block.
    SmartThresholds,
}

/// The response to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The SCSI status: 0 (GOOD), or 2 (CHECK CONDITION) with sense data.
    pub status: u8,
    /// Sense data, which contain the disk's registers if the query returns registers.
    pub sense: Vec<u8>,
    /// The data block, if the query returns one and it is complete.
    pub block: Option<Box<[u8; BLOCK]>>,
}
