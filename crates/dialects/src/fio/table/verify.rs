//! Verification of written data.

use super::row::*;
use super::special;
use crate::assign;
use crate::fio::lower::verify as lower;
use crate::fio::options::verify;
use crate::fio::options::verify::VerifyPolicy;
use crate::fio::print;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    keyword(tier1(730), "verify", verify::Checksum::WORDS).default("0").example("crc32c")
        .help("Checksum to write with the data, and to verify.").lowers_with(lower::lower_verify)
        .prints(|section| Some(print::verify_method_name(section.stream().verify.as_ref()?.method).into()))
        .effects(&[
            ("--rw=write --verify=crc32c", "stream.verify.method=crc32c; stream.content={content:fresh}"),
            ("--rw=write --verify=sha3-256", "stream.verify.method=sha3_256"),
        ]),
    boolean(tier1(740), field!(verify.do_verify)).default("1").example("0")
        .help("Verify after writing.")
        .prints(|section| {
            let verify = section.stream().verify.as_ref()?;
            print::off(verify.after_writes || verify.backlog > 0 || verify.only)
        })
        .effects(&[("--rw=write --verify=md5 --do_verify=0", "stream.verify.after_writes=false")]),
    ignored(tier1(750), "verifysort").example("1").help("Removed from fio; data is verified in write order.")
        .without_effect("fio has removed it"),
    ignored(tier1(760), "verifysort_nr").example("1024").help("Removed from fio; has no effect.")
        .without_effect("fio has removed it"),
    int(tier1(770), field!(verify.verify_interval)).min(96).example("4k")
        .help("Bytes per header; without it, one header per block.").plan_field(field_of_plan!(Size: stream.verify?.interval))
        .effects(&[("--rw=write --bs=64k --verify=md5 --verify_interval=4k", "stream.verify.interval=4096")]),
    int(tier2(780), field!(verify.verify_offset)).min(48).example("512")
        .help("Offset in the interval to which the header is moved; the data there takes its place.")
        .plan_field(field_of_plan!(Count: stream.verify?.header_at))
        .effects(&[("--rw=write --verify=md5 --verify_offset=512", "stream.verify.header_at=512")]),
    special(tier1(790), "verify_pattern", |reader, text| {
        assign(&mut reader.job.verify.verify_pattern, special::parse_pieces(text))
    })
        .example("0xab").help("Pattern to write and verify.").prints(print::verify::verify_pattern)
        .effects(&[("--rw=write --verify=pattern --verify_pattern=0xab", "stream.verify.pattern=[171]")]),
    int(tier2(800), field!(verify.verify_pattern_interval)).default("0").example("512")
        .help("Restart the pattern after this many bytes, with its %o updated; 0 for never.")
        .plan_field(field_of_plan!(Size: stream.verify?.pattern_interval))
        .effects(&[
            (
                "--rw=write --verify=pattern --verify_pattern=0xab%o --verify_interval=512 --verify_pattern_interval=512",
                "stream.verify.pattern_interval=512",
            ),
        ]),
    boolean(tier1(810), field!(verify.verify_fatal)).default("0").example("1").help("End at the first mismatch.")
        .plan_field(field_of_plan!(Flag: stream.verify?.fatal))
        .effects(&[("--rw=write --verify=md5 --verify_fatal=1", "stream.verify.fatal=true")]),
    boolean(tier1(820), field!(verify.verify_dump)).default("0").example("1")
        .help("Save the expected and the received block of a mismatch.").plan_field(field_of_plan!(Flag: stream.verify?.dump))
        .effects(&[("--rw=write --verify=md5 --verify_dump=1", "stream.verify.dump=true")]),
    int(tier1(830), field!(verify.verify_async)).default("0").example("4").help("Number of verify threads.")
        .plan_field(field_of_plan!(Count: stream.verify?.threads))
        .effects(&[
            ("--rw=write --verify=md5 --verify_async=4", "stream.verify.threads=4"),
            ("--rw=write --verify=md5 --verify_async=2 --verify_async_cpus=0-1", "stream.verify.threads=2"),
        ]),
    special(tier2(840), "verify_async_cpus", |reader, text| {
        special::parse_cpus(reader, field!(verify.verify_async_cpus), text)
    })
        .example("0-3").help("CPUs of the verify threads.").prints(print::verify::verify_async_cpus)
        .effects(&[
            ("--rw=write --verify=md5 --verify_async=2 --verify_async_cpus=0-1", "stream.verify.processors=[0,1]"),
        ]),
    size(tier1(850), field!(verify.verify_backlog)).default("0").example("1024")
        .help("Verify after this many writes instead of at the end.")
        .plan_field(field_of_plan!(LongCount: stream.verify?.backlog))
        .effects(&[("--rw=write --verify=md5 --verify_backlog=1k", "stream.verify.backlog=1024")]),
    int(tier1(860), field!(verify.verify_backlog_batch)).default("0").example("64").help("Blocks to verify per batch.")
        .plan_field(field_of_plan!(LongCount: stream.verify?.backlog_batch))
        .effects(&[
            (
                "--rw=write --verify=md5 --verify_backlog=1k --verify_backlog_batch=64",
                "stream.verify.backlog_batch=64",
            ),
        ]),
    flag(tier1(640), field!(verify.verify_only)).help("Verify without writing first.")
        .plan_field(field_of_plan!(Flag: stream.verify?.only))
        .effects(&[(
                "--rw=write --verify=md5 --verify_only",
                "stream.verify.only=true; stream.verify.any_seed=true; stream.verify.any_order=true",
            )]),
    keywords(tier1(650), "verify_policy", VERIFY_POLICY_WORDS).default("completed").example("fsynced")
        .help("Which writes to verify.")
        .prints(|section| section.stream().verify.as_ref()?.flushed_only.then(|| "fsynced".into()))
        .effects(&[("--rw=write --verify=md5 --verify_policy=fsynced", "stream.verify.flushed_only=true")]),
    boolean(tier1(660), field!(verify.verify_header_seed)).default("1").example("0")
        .help("Verify the seed in the header.").plan_field(field_of_plan!(Not: stream.verify?.any_seed)).lowers_with(lower::lower_header_seed)
        .effects(&[
            ("--rw=write --verify=md5 --verify_header_seed=0", "stream.verify.any_seed=true"),
            ("--rw=read --verify=md5 --verify_header_seed=1", "stream.verify.any_seed=false"),
        ]),
    boolean(tier1(670), field!(verify.verify_write_sequence)).default("1").example("0")
        .help("Verify the write number in the header.").plan_field(field_of_plan!(Not: stream.verify?.any_order))
        .lowers_with(lower::lower_write_sequence)
        .effects(&[
            ("--rw=write --verify=md5 --verify_write_sequence=0", "stream.verify.any_order=true"),
        ]),
    boolean(tier2(880), field!(verify.verify_state_load)).default("0").example("1")
        .help("Verify only the writes in a saved state.").plan_field(field_of_plan!(Flag: stream.verify?.load_state))
        .effects(&[
            (
                "--rw=read --verify=md5 --verify_state_load=1",
                "stream.verify.load_state=true; stream.verify.state_file=local-x-0-verify.state",
            ),
        ]),
    boolean(tier1(890), field!(verify.verify_state_save)).default("1").example("0")
        .help("Save the verify state for a later run.").plan_field(field_of_plan!(Flag: stream.verify?.save_state))
        .effects(&[
            (
                "--rw=write --verify=md5 --verify_state_save=0",
                "stream.verify.save_state=false; stream.verify.state_file=",
            ),
        ]),
    boolean(tier2(870), field!(verify.experimental_verify)).default("0").example("1")
        .help("Recompute the writes instead of storing them, except those that depend on time.")
        .plan_field(field_of_plan!(Flag: stream.verify?.work_out_again))
        .effects(&[("--rw=write --verify=md5 --experimental_verify=1", "stream.verify.work_out_again=true")]),
};

const VERIFY_POLICY_WORDS: &[Word] = &[
    Word::new("completed", "all completed writes", |job| {
        job.verify.verify_policy.push(VerifyPolicy::Completed)
    }),
    Word::new("fsynced", "writes before a flush", |job| {
        job.verify.verify_policy.push(VerifyPolicy::Fsynced)
    }),
];
