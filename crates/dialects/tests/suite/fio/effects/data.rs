//! Effects on what is written and checked.

use model::content::{ConstantPart, Content};
use model::plan::{Plan, Verify, VerifyMethod};

use super::{Effect, TRIMS, job, stream};

fn verify(plan: &Plan) -> &Verify {
    stream(plan).verify.as_ref().unwrap()
}

fn is_verified(plan: &Plan, how: fn(&Verify) -> bool) -> bool {
    stream(plan).verify.as_ref().is_some_and(how)
}

/// What of duplicated data is constant.
fn constant_part(plan: &Plan) -> Option<&ConstantPart> {
    match &stream(plan).content {
        Content::Duplicated { constant, .. } => constant.as_ref(),
        _ => None,
    }
}

pub const DATA: &[Effect] = &[
    ("zero_buffers", "--rw=write --zero_buffers", |plan| {
        stream(plan).content == Content::Zeros
    }),
    ("refill_buffers", "--rw=write --refill_buffers", |plan| {
        stream(plan).content == Content::Fresh
    }),
    ("scramble_buffers", "--rw=write --scramble_buffers=0", |plan| {
        stream(plan).content == Content::Once
    }),
    ("buffer_pattern", "--rw=write --buffer_pattern=0xdead'bytes'", |plan| {
        stream(plan).content
            == Content::Pattern {
                bytes: vec![0xde, 0xad, b'a', b'b'],
            }
    }),
    (
        "buffer_compress_percentage",
        "--rw=write --buffer_compress_percentage=50",
        |plan| {
            stream(plan).content
                == Content::Compressible {
                    percent: 50,
                    chunk: 512,
                    pattern: Vec::new(),
                }
        },
    ),
    (
        "buffer_compress_percentage",
        "--rw=write --buffer_compress_percentage=100",
        |plan| stream(plan).content == Content::Zeros,
    ),
    (
        "buffer_compress_chunk",
        "--rw=write --buffer_compress_percentage=50 --buffer_compress_chunk=4k",
        |plan| matches!(stream(plan).content, Content::Compressible { chunk: 4096, .. }),
    ),
    ("dedupe_percentage", "--rw=write --dedupe_percentage=30", |plan| {
        stream(plan).content
            == Content::Duplicated {
                percent: 30,
                working_set: 0,
                shared: false,
                constant: None,
            }
    }),
    (
        "dedupe_percentage",
        "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50",
        |plan| {
            let constant = constant_part(plan);
            constant.is_some_and(|part| (part.percent, part.chunk) == (50, 512))
        },
    ),
    (
        "buffer_compress_percentage",
        "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50",
        |plan| constant_part(plan).is_some_and(|part| part.percent == 50),
    ),
    (
        "buffer_compress_chunk",
        "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50 --buffer_compress_chunk=4k",
        |plan| constant_part(plan).is_some_and(|part| part.chunk == 4096),
    ),
    (
        "buffer_pattern",
        "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50 --buffer_pattern=0xab",
        |plan| constant_part(plan).is_some_and(|part| part.pattern == [0xab]),
    ),
    (
        "dedupe_global",
        "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set --dedupe_global=1",
        |plan| matches!(stream(plan).content, Content::Duplicated { shared: true, .. }),
    ),
    (
        "dedupe_mode",
        "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set --dedupe_global=1",
        |plan| matches!(stream(plan).content, Content::Duplicated { shared: true, .. }),
    ),
    (
        "dedupe_mode",
        "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set",
        |plan| {
            // 5 % of 1024 blocks.
            stream(plan).content
                == Content::Duplicated {
                    percent: 30,
                    working_set: 51,
                    shared: false,
                    constant: None,
                }
        },
    ),
    (
        "size",
        "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set",
        |plan| {
            stream(plan).content
                == Content::Duplicated {
                    percent: 30,
                    working_set: 51,
                    shared: false,
                    constant: None,
                }
        },
    ),
    (
        "dedupe_working_set_percentage",
        "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set --dedupe_working_set_percentage=50",
        |plan| {
            stream(plan).content
                == Content::Duplicated {
                    percent: 30,
                    working_set: 512,
                    shared: false,
                    constant: None,
                }
        },
    ),
    (
        "filesize",
        "--rw=write --filesize=4m --dedupe_percentage=30 --dedupe_mode=working_set",
        |plan| {
            stream(plan).content
                == Content::Duplicated {
                    percent: 30,
                    working_set: 51,
                    shared: false,
                    constant: None,
                }
        },
    ),
    ("verify", "--rw=write --verify=crc32c", |plan| {
        is_verified(plan, |verify| verify.method == VerifyMethod::Crc32c) && stream(plan).content == Content::Fresh
    }),
    ("verify", "--rw=write --verify=sha3-256", |plan| {
        is_verified(plan, |verify| verify.method == VerifyMethod::Sha3_256)
    }),
    ("do_verify", "--rw=write --verify=md5 --do_verify=0", |plan| {
        !verify(plan).after_writes
    }),
    ("rw", "--rw=write --verify=md5", |plan| verify(plan).after_writes),
    (
        "verify_interval",
        "--rw=write --bs=64k --verify=md5 --verify_interval=4k",
        |plan| verify(plan).interval == 4096,
    ),
    (
        "verify_pattern",
        "--rw=write --verify=pattern --verify_pattern=0xab",
        |plan| verify(plan).pattern == [0xab],
    ),
    ("verify_fatal", "--rw=write --verify=md5 --verify_fatal=1", |plan| {
        verify(plan).fatal
    }),
    ("verify_dump", "--rw=write --verify=md5 --verify_dump=1", |plan| {
        verify(plan).dump
    }),
    ("verify_async", "--rw=write --verify=md5 --verify_async=4", |plan| {
        verify(plan).threads == 4
    }),
    (
        "verify_backlog",
        "--rw=write --verify=md5 --verify_backlog=1k",
        |plan| verify(plan).backlog == 1024,
    ),
    (
        "verify_backlog_batch",
        "--rw=write --verify=md5 --verify_backlog=1k --verify_backlog_batch=64",
        |plan| verify(plan).backlog_batch == 64,
    ),
    ("verify_only", "--rw=write --verify=md5 --verify_only", |plan| {
        verify(plan).only
    }),
    (
        "verify_header_seed",
        "--rw=write --verify=md5 --verify_header_seed=0",
        |plan| verify(plan).any_seed,
    ),
    (
        "verify_write_sequence",
        "--rw=write --verify=md5 --verify_write_sequence=0",
        |plan| verify(plan).any_order,
    ),
    (
        "verify_state_save",
        "--rw=write --verify=md5 --verify_state_save=0",
        |plan| !verify(plan).save_state,
    ),
    (
        "verify_state_save",
        "--rw=write --verify=md5 --verify_state_save=0",
        |plan| verify(plan).state_file.is_empty(),
    ),
    ("name", "--name=a/b --rw=write --verify=md5", |plan| {
        is_verified(plan, |verify| verify.state_file == "local-a.b-0-verify.state")
    }),
    ("numjobs", "--rw=write --verify=md5 --numjobs=2", |plan| {
        let second = &job(plan).workers.get(1).map(|worker| &worker.streams[0]);
        let verify = second.and_then(|stream| stream.verify.as_ref());
        verify.is_some_and(|verify| verify.state_file == "local-x-1-verify.state")
    }),
    (
        "verify_state_load",
        "--rw=read --verify=md5 --verify_state_load=1",
        |plan| {
            is_verified(plan, |verify| {
                verify.load_state && verify.state_file == "local-x-0-verify.state"
            })
        },
    ),
    (
        "verify_async",
        "--rw=write --verify=md5 --verify_async=2 --verify_async_cpus=0-1",
        |plan| verify(plan).threads == 2,
    ),
    (
        "verify_async_cpus",
        "--rw=write --verify=md5 --verify_async=2 --verify_async_cpus=0-1",
        |plan| verify(plan).processors == [0, 1],
    ),
    ("verify_offset", "--rw=write --verify=md5 --verify_offset=512", |plan| {
        verify(plan).header_at == 512
    }),
    (
        "verify_policy",
        "--rw=write --verify=md5 --verify_policy=fsynced",
        |plan| verify(plan).flushed_only,
    ),
    (
        "experimental_verify",
        "--rw=write --verify=md5 --experimental_verify=1",
        |plan| verify(plan).work_out_again,
    ),
    ("trim_percentage", TRIMS, |plan| {
        is_verified(plan, |verify| verify.trims.is_some_and(|trims| trims.percent == 20))
    }),
    ("trim_backlog", TRIMS, |plan| {
        is_verified(plan, |verify| verify.trims.is_some_and(|trims| trims.backlog == 64))
    }),
    ("trim_backlog_batch", TRIMS, |plan| {
        is_verified(plan, |verify| verify.trims.is_some_and(|trims| trims.batch == 8))
    }),
    ("trim_verify_zero", TRIMS, |plan| {
        is_verified(plan, |verify| verify.trims.is_some_and(|trims| !trims.read_as_zeros))
    }),
    (
        "block_error_percentiles",
        "--rw=trimwrite --block_error_percentiles=1",
        |plan| stream(plan).on_error.block_lifetimes,
    ),
    ("rw", "--rw=trimwrite --block_error_percentiles=1", |plan| {
        stream(plan).on_error.block_lifetimes
    }),
    (
        "verify_pattern_interval",
        "--rw=write --verify=pattern --verify_pattern=0xab%o --verify_interval=512 --verify_pattern_interval=1",
        |plan| verify(plan).pattern_of_interval,
    ),
];
