//! Whether what was written comes back.

use super::row::*;
use super::special;
use crate::fio::lower::verify as lower;
use crate::fio::options::verify;
use crate::fio::options::verify::VerifyPolicy;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    word(first(730), "verify", verify::Checksum::WORDS).default("0").example("crc32c")
        .help("Checksum to write with the data and to check.").means(lower::verify),
    boolean(first(740), field!(verify.do_verify)).default("1").example("0")
        .help("Read back and check after writing."),
    ignored(first(750), "verifysort").example("1").help("Gone; data is checked in the order of writing.")
        .without_effect("fio has no such thing any more"),
    ignored(first(760), "verifysort_nr").example("1024").help("Gone.")
        .without_effect("fio has no such thing any more"),
    int(first(770), field!(verify.verify_interval)).least(96).example("4k")
        .help("Bytes that each header covers; 0 for a block.").is(field_of_plan!(Size: stream.verify?.interval)),
    int(second(780), field!(verify.verify_offset)).least(48).example("512")
        .help("Where in the interval the header stands, which changes places with the data there.")
        .is(field_of_plan!(Count: stream.verify?.header_at)),
    special(first(790), "verify_pattern", special::verify_pattern).example("0xab")
        .help("Bytes to write and to expect."),
    boolean(second(800), field!(verify.verify_pattern_interval)).default("0").example("1")
        .help("The pattern begins anew in every interval.")
        .is(field_of_plan!(Flag: stream.verify?.pattern_of_interval)),
    boolean(first(810), field!(verify.verify_fatal)).default("0").example("1").help("End at the first mismatch.")
        .is(field_of_plan!(Flag: stream.verify?.fatal)),
    boolean(first(820), field!(verify.verify_dump)).default("0").example("1")
        .help("Store both forms of a block that does not match.").is(field_of_plan!(Flag: stream.verify?.dump)),
    int(first(830), field!(verify.verify_async)).default("0").example("4").help("Threads that check.")
        .is(field_of_plan!(Count: stream.verify?.threads)),
    special(second(840), "verify_async_cpus", special::verify_cpus).example("0-3")
        .help("Processors of those threads."),
    size(first(850), field!(verify.verify_backlog)).default("0").example("1024")
        .help("Check after this many writes rather than at the end.")
        .is(field_of_plan!(LongCount: stream.verify?.backlog)),
    int(first(860), field!(verify.verify_backlog_batch)).default("0").example("64").help("Blocks checked at once.")
        .is(field_of_plan!(LongCount: stream.verify?.backlog_batch)),
    flag(first(640), field!(verify.verify_only)).help("Go through the writes without writing, and check.")
        .is(field_of_plan!(Flag: stream.verify?.only)),
    words(first(650), "verify_policy", VERIFY_POLICY_WORDS).default("completed").example("fsynced")
        .help("Which writes are checked."),
    boolean(first(660), field!(verify.verify_header_seed)).default("1").example("0")
        .help("Check the seed in the header.").is(field_of_plan!(Not: stream.verify?.any_seed)),
    boolean(first(670), field!(verify.verify_write_sequence)).default("1").example("0")
        .help("Check the number of the write in the header.").is(field_of_plan!(Not: stream.verify?.any_order)),
    boolean(second(880), field!(verify.verify_state_load)).default("0").example("1")
        .help("Check no more than a saved state recorded.").is(field_of_plan!(Flag: stream.verify?.load_state)),
    boolean(first(890), field!(verify.verify_state_save)).default("1").example("0")
        .help("Save what was written, for a later check.").is(field_of_plan!(Flag: stream.verify?.save_state)),
    boolean(second(870), field!(verify.experimental_verify)).default("0").example("1")
        .help("Work out again what was written rather than remember it; what depends on time is remembered.")
        .is(field_of_plan!(Flag: stream.verify?.work_out_again)),
};

const VERIFY_POLICY_WORDS: &[Word] = &[
    Word::new("completed", "all that completed", |job| {
        job.verify.verify_policy.push(VerifyPolicy::Completed)
    }),
    Word::new("fsynced", "those before a flush", |job| {
        job.verify.verify_policy.push(VerifyPolicy::Fsynced)
    }),
];
