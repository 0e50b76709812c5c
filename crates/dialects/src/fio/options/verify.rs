//! Verification of written data.

use super::typed::{CpuRange, Piece};

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verify {
    pub verify: Checksum,
    pub do_verify: bool,
    pub verify_interval: i64,
    pub verify_offset: i64,
    pub verify_pattern: Vec<Piece>,
    pub verify_pattern_interval: i64,
    pub verify_fatal: bool,
    pub verify_dump: bool,
    pub verify_async: i64,
    pub verify_async_cpus: Vec<CpuRange>,
    pub verify_backlog: u64,
    pub verify_backlog_batch: i64,
    pub verify_only: bool,
    pub verify_policy: Vec<VerifyPolicy>,
    pub verify_header_seed: bool,
    pub verify_write_sequence: bool,
    pub verify_state_load: bool,
    pub verify_state_save: bool,
    pub experimental_verify: bool,
}

choices! {
    /// How written data is checked.
    Checksum at verify.verify {
        #[default] Off: "0" "not at all";
        Md5: "md5" "MD5";
        Crc64: "crc64" "64-bit CRC";
        Crc32: "crc32" "32-bit CRC";
        Crc32cIntel: "crc32c-intel" "32-bit CRC, Castagnoli";
        Crc32c: "crc32c" "32-bit CRC, Castagnoli";
        Crc16: "crc16" "16-bit CRC";
        Crc7: "crc7" "7-bit CRC";
        Sha1: "sha1" "SHA-1";
        Sha256: "sha256" "SHA-256";
        Sha512: "sha512" "SHA-512";
        Sha3_224: "sha3-224" "SHA3-224";
        Sha3_256: "sha3-256" "SHA3-256";
        Sha3_384: "sha3-384" "SHA3-384";
        Sha3_512: "sha3-512" "SHA3-512";
        Xxhash: "xxhash" "xxHash";
        Meta: "meta" "only the header";
        Pattern: "pattern" "a pattern without header";
        PatternHeader: "pattern_hdr" "a pattern with header";
        Null: "null" "header written but not checked";
    }
}

/// Which writes to verify.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyPolicy {
    /// `completed`: all that completed.
    #[default]
    Completed,
    /// `fsynced`: writes before a flush.
    Fsynced,
}
