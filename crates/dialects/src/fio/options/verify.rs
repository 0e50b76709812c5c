//! Whether what was written comes back.

use super::row::*;
use super::special;
use super::typed::{CpuRange, Piece};

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct Verify {
    pub verify: Checksum,
    pub do_verify: bool,
    pub verify_interval: i64,
    pub verify_offset: i64,
    pub verify_pattern: Vec<Piece>,
    pub verify_pattern_interval: bool,
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

/// The rows of these options.
pub const ROWS: &[Row] = &[
    word(first(730), "verify", VERIFY_WORDS)
        .default("0")
        .help("Checksum to write with the data and to check.")
        .example("crc32c"),
    boolean(first(740), "do_verify", |job| &mut job.verify.do_verify)
        .default("1")
        .help("Read back and check after writing.")
        .example("0"),
    ignored(first(750), "verifysort")
        .without_effect("fio has no such thing any more")
        .help("Gone; data is checked in the order of writing.")
        .example("1"),
    ignored(first(760), "verifysort_nr")
        .without_effect("fio has no such thing any more")
        .help("Gone.")
        .example("1024"),
    int(first(770), "verify_interval", |job| &mut job.verify.verify_interval)
        .least(96)
        .help("Bytes that each header covers; 0 for a block.")
        .example("4k"),
    int(second(780), "verify_offset", |job| &mut job.verify.verify_offset)
        .least(48)
        .help("Where in the interval the header stands, which changes places with the data there.")
        .example("512"),
    special(first(790), "verify_pattern", special::verify_pattern)
        .help("Bytes to write and to expect.")
        .example("0xab"),
    boolean(second(800), "verify_pattern_interval", |job| {
        &mut job.verify.verify_pattern_interval
    })
    .default("0")
    .help("The pattern begins anew in every interval.")
    .example("1"),
    boolean(first(810), "verify_fatal", |job| &mut job.verify.verify_fatal)
        .default("0")
        .help("End at the first mismatch.")
        .example("1"),
    boolean(first(820), "verify_dump", |job| &mut job.verify.verify_dump)
        .default("0")
        .help("Store both forms of a block that does not match.")
        .example("1"),
    int(first(830), "verify_async", |job| &mut job.verify.verify_async)
        .default("0")
        .help("Threads that check.")
        .example("4"),
    special(second(840), "verify_async_cpus", special::verify_cpus)
        .help("Processors of those threads.")
        .example("0-3"),
    size(first(850), "verify_backlog", |job| &mut job.verify.verify_backlog)
        .default("0")
        .help("Check after this many writes rather than at the end.")
        .example("1024"),
    int(first(860), "verify_backlog_batch", |job| {
        &mut job.verify.verify_backlog_batch
    })
    .default("0")
    .help("Blocks checked at once.")
    .example("64"),
    flag(first(640), "verify_only", |job| &mut job.verify.verify_only)
        .help("Go through the writes without writing, and check."),
    words(first(650), "verify_policy", VERIFY_POLICY_WORDS)
        .default("completed")
        .help("Which writes are checked.")
        .example("fsynced"),
    boolean(first(660), "verify_header_seed", |job| {
        &mut job.verify.verify_header_seed
    })
    .default("1")
    .help("Check the seed in the header.")
    .example("0"),
    boolean(first(670), "verify_write_sequence", |job| {
        &mut job.verify.verify_write_sequence
    })
    .default("1")
    .help("Check the number of the write in the header.")
    .example("0"),
    boolean(second(880), "verify_state_load", |job| {
        &mut job.verify.verify_state_load
    })
    .default("0")
    .help("Check no more than a saved state recorded.")
    .example("1"),
    boolean(first(890), "verify_state_save", |job| &mut job.verify.verify_state_save)
        .default("1")
        .help("Save what was written, for a later check.")
        .example("0"),
    boolean(second(870), "experimental_verify", |job| {
        &mut job.verify.experimental_verify
    })
    .default("0")
    .help("Work out again what was written rather than remember it; what depends on time is remembered.")
    .example("1"),
];

/// How written data is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// `0`: not at all.
    #[default]
    Off,
    /// `md5`: MD5.
    Md5,
    /// `crc64`: 64-bit CRC.
    Crc64,
    /// `crc32`: 32-bit CRC.
    Crc32,
    /// `crc32c-intel`: 32-bit CRC, Castagnoli.
    Crc32cIntel,
    /// `crc32c`: 32-bit CRC, Castagnoli.
    Crc32c,
    /// `crc16`: 16-bit CRC.
    Crc16,
    /// `crc7`: 7-bit CRC.
    Crc7,
    /// `sha1`: SHA-1.
    Sha1,
    /// `sha256`: SHA-256.
    Sha256,
    /// `sha512`: SHA-512.
    Sha512,
    /// `sha3-224`: SHA3-224.
    Sha3_224,
    /// `sha3-256`: SHA3-256.
    Sha3_256,
    /// `sha3-384`: SHA3-384.
    Sha3_384,
    /// `sha3-512`: SHA3-512.
    Sha3_512,
    /// `xxhash`: xxHash.
    Xxhash,
    /// `meta`: header alone.
    Meta,
    /// `pattern`: a pattern without header.
    Pattern,
    /// `pattern_hdr`: a pattern with header.
    PatternHeader,
    /// `null`: header written, nothing checked.
    Null,
}

const VERIFY_WORDS: &[Word] = &[
    Word::new("0", "not at all", |job| job.verify.verify = Checksum::Off),
    Word::new("md5", "MD5", |job| job.verify.verify = Checksum::Md5),
    Word::new("crc64", "64-bit CRC", |job| job.verify.verify = Checksum::Crc64),
    Word::new("crc32", "32-bit CRC", |job| job.verify.verify = Checksum::Crc32),
    Word::new("crc32c-intel", "32-bit CRC, Castagnoli", |job| {
        job.verify.verify = Checksum::Crc32cIntel
    }),
    Word::new("crc32c", "32-bit CRC, Castagnoli", |job| {
        job.verify.verify = Checksum::Crc32c
    }),
    Word::new("crc16", "16-bit CRC", |job| job.verify.verify = Checksum::Crc16),
    Word::new("crc7", "7-bit CRC", |job| job.verify.verify = Checksum::Crc7),
    Word::new("sha1", "SHA-1", |job| job.verify.verify = Checksum::Sha1),
    Word::new("sha256", "SHA-256", |job| job.verify.verify = Checksum::Sha256),
    Word::new("sha512", "SHA-512", |job| job.verify.verify = Checksum::Sha512),
    Word::new("sha3-224", "SHA3-224", |job| job.verify.verify = Checksum::Sha3_224),
    Word::new("sha3-256", "SHA3-256", |job| job.verify.verify = Checksum::Sha3_256),
    Word::new("sha3-384", "SHA3-384", |job| job.verify.verify = Checksum::Sha3_384),
    Word::new("sha3-512", "SHA3-512", |job| job.verify.verify = Checksum::Sha3_512),
    Word::new("xxhash", "xxHash", |job| job.verify.verify = Checksum::Xxhash),
    Word::new("meta", "header alone", |job| job.verify.verify = Checksum::Meta),
    Word::new("pattern", "a pattern without header", |job| {
        job.verify.verify = Checksum::Pattern
    }),
    Word::new("pattern_hdr", "a pattern with header", |job| {
        job.verify.verify = Checksum::PatternHeader
    }),
    Word::new("null", "header written, nothing checked", |job| {
        job.verify.verify = Checksum::Null
    }),
];

/// Which writes are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyPolicy {
    /// `completed`: all that completed.
    #[default]
    Completed,
    /// `fsynced`: those before a flush.
    Fsynced,
}

const VERIFY_POLICY_WORDS: &[Word] = &[
    Word::new("completed", "all that completed", |job| {
        job.verify.verify_policy.push(VerifyPolicy::Completed)
    }),
    Word::new("fsynced", "those before a flush", |job| {
        job.verify.verify_policy.push(VerifyPolicy::Fsynced)
    }),
];
