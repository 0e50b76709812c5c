//! Mismatches found by verification: blocks whose data differs from what was written.

use std::path::{Path, PathBuf};

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::VerifyMethod;
use crate::units::Bytes;

/// A checked piece of a block that did not match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    /// Number of the stream in its worker.
    pub stream: u32,
    /// The file or device.
    pub path: String,
    /// The start of the checked piece.
    pub offset: Bytes,
    /// Bytes of the piece.
    pub length: u32,
    /// The start of the operation that read it.
    pub block_offset: Bytes,
    /// Bytes of that operation.
    pub block_length: u32,
    /// The number of the write whose data is expected, with key blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_number: Option<u64>,
    /// The kind of mismatch.
    pub fault: BlockFault,
}

/// The path of a dump, named as in fio: the target's name, the offset of the block, and `received`
/// or `expected`.
pub fn dump_path(directory: &str, target: &str, block_offset: u64, kind: &str) -> PathBuf {
    let name = Path::new(target).file_name().unwrap_or_default().to_string_lossy();
    Path::new(directory).join(format!("{name}.{block_offset}.{kind}"))
}

/// The kind of mismatch of a piece of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum BlockFault {
    /// It does not begin with a header.
    Magic {
        /// The value at the start of the header.
        found: u16,
        /// The expected value.
        expected: u16,
    },
    /// A number in its header is wrong.
    Header {
        /// Which field of the header differs.
        field: HeaderField,
        /// The value found.
        found: u64,
        /// The expected value.
        expected: u64,
    },
    /// The checksum of its data is not the one in its header.
    Checksum {
        /// The checksum method.
        method: VerifyMethod,
        /// The checksum of the data read.
        found: Vec<u8>,
        /// The checksum in the header.
        expected: Vec<u8>,
    },
    /// The data does not match the pattern.
    Pattern {
        /// The first wrong byte, counted from the start of the piece.
        at: u32,
        /// That byte.
        found: u8,
        /// The expected value.
        expected: u8,
        /// The number of wrong bits in it.
        bad_bits: u32,
    },
    /// A discarded piece does not read as zeros.
    NotZero {
        /// The first byte that is not 0, counted from the start of the piece.
        at: u32,
        /// That byte.
        found: u8,
    },
}

/// The numbers in a header that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeaderField {
    /// Length of the piece.
    Length,
    /// Seed of the contents.
    Seed,
    /// Offset of the piece.
    Offset,
    /// Number of the write.
    Number,
    /// CRC-32C of the header.
    Checksum,
}

impl HeaderField {
    /// The field, in words.
    pub fn word(self) -> &'static str {
        match self {
            HeaderField::Length => "length",
            HeaderField::Seed => "seed",
            HeaderField::Offset => "offset",
            HeaderField::Number => "write number",
            HeaderField::Checksum => "checksum",
        }
    }
}

impl std::fmt::Display for BlockFault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BlockFault::Magic { found, expected } => {
                write!(out, "no header at this offset: {found:04x} instead of {expected:04x}")
            }
            BlockFault::Header { field, found, expected } => {
                write!(
                    out,
                    "the {} in its header is {found} instead of {expected}",
                    field.word()
                )
            }
            BlockFault::Checksum { found, expected, .. } => {
                let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                write!(out, "its checksum is {} instead of {}", hex(found), hex(expected))
            }
            BlockFault::Pattern {
                at, found, expected, ..
            } => {
                write!(out, "byte {at} is {found:02x} instead of {expected:02x}")
            }
            BlockFault::NotZero { at, found } => {
                write!(out, "it was discarded, and byte {at} is {found:02x} instead of 00")
            }
        }
    }
}
