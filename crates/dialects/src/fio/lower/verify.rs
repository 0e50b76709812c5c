//! Checks of what is read back.

use model::Direction;
use model::plan::{TrimWritten, Verify, VerifyMethod};

use super::files::Disk;
use super::{Clone, data, pattern};
use crate::Diagnostic;
use crate::fio::flags::Flags;
use crate::fio::options::JobOptions;
use crate::fio::options::typed::CpuRange;
use crate::fio::options::verify::{Checksum, VerifyPolicy};

pub(super) fn verify(
    clone: Clone<'_>,
    flags: &Flags,
    disk: &dyn Disk,
    complaints: &mut Vec<Diagnostic>,
) -> Option<Verify> {
    let options = &clone.job.options;
    let verify = &options.verify;
    let method = match verify.verify {
        Checksum::Off => return None,
        Checksum::Md5 => VerifyMethod::Md5,
        Checksum::Crc64 => VerifyMethod::Crc64,
        Checksum::Crc32 => VerifyMethod::Crc32,
        Checksum::Crc32cIntel | Checksum::Crc32c => VerifyMethod::Crc32c,
        Checksum::Crc16 => VerifyMethod::Crc16,
        Checksum::Crc7 => VerifyMethod::Crc7,
        Checksum::Sha1 => VerifyMethod::Sha1,
        Checksum::Sha256 => VerifyMethod::Sha256,
        Checksum::Sha512 => VerifyMethod::Sha512,
        Checksum::Sha3_224 => VerifyMethod::Sha3_224,
        Checksum::Sha3_256 => VerifyMethod::Sha3_256,
        Checksum::Sha3_384 => VerifyMethod::Sha3_384,
        Checksum::Sha3_512 => VerifyMethod::Sha3_512,
        Checksum::Xxhash => VerifyMethod::Xxhash,
        Checksum::Meta => VerifyMethod::Header,
        Checksum::Pattern => VerifyMethod::Pattern,
        Checksum::PatternHeader => VerifyMethod::PatternWithHeader,
        Checksum::Null => VerifyMethod::None,
    };
    let writes = pattern::mix(options).includes(Direction::Write);
    let (pattern, pattern_offsets) = data::bytes(&verify.verify_pattern, disk, "verify_pattern", complaints);
    let state = verify.verify_state_load || verify.verify_state_save && writes;
    Some(Verify {
        method,
        interval: verify.verify_interval.max(0) as u32,
        pattern,
        pattern_offsets,
        pattern_of_interval: verify.verify_pattern_interval,
        after_writes: verify.do_verify && writes,
        backlog: verify.verify_backlog,
        backlog_batch: verify.verify_backlog_batch.max(0) as u64,
        any_seed: !verify.verify_header_seed,
        any_order: !verify.verify_write_sequence,
        save_state: verify.verify_state_save,
        fatal: verify.verify_fatal,
        dump: verify.verify_dump,
        only: verify.verify_only,
        threads: verify.verify_async.max(0) as u32,
        processors: processors(&verify.verify_async_cpus),
        header_at: verify.verify_offset.max(0) as u32,
        flushed_only: verify.verify_policy.last() == Some(&VerifyPolicy::Fsynced),
        work_out_again: verify.experimental_verify,
        load_state: verify.verify_state_load,
        state_file: match state {
            true => state_file(clone),
            false => String::new(),
        },
        directory: flags.aux_path.clone().unwrap_or_default(),
        trims: trims(options),
    })
}

/// fio's name of the state of a clone: its number in the run counts from 0 there.
fn state_file(clone: Clone<'_>) -> String {
    let name = clone.job.name().replace('/', ".");
    format!("local-{name}-{}-verify.state", clone.number - 1)
}

fn processors(ranges: &[CpuRange]) -> Vec<u32> {
    let mut processors: Vec<u32> = ranges.iter().flat_map(|range| range.first..=range.last).collect();
    processors.sort_unstable();
    processors.dedup();
    processors
}

/// Nothing is discarded without a backlog, whatever the share.
fn trims(options: &JobOptions) -> Option<TrimWritten> {
    let data = &options.data;
    let percent = data.trim_percentage.clamp(0, 100) as u8;
    (percent > 0 && data.trim_backlog > 0).then(|| TrimWritten {
        percent,
        backlog: data.trim_backlog,
        batch: data.trim_backlog_batch.max(0) as u64,
        read_as_zeros: data.trim_verify_zero,
    })
}
