//! Verification of data that is read back.

use model::Direction;
use model::plan::{Effect, TrimWritten, Verify, VerifyMethod};

use super::{data, pattern, queue};
use crate::fio::draft::{Draft, JobClone};
use crate::fio::options::JobOptions;
use crate::fio::options::typed::CpuRange;
use crate::fio::options::verify::{Checksum, VerifyPolicy};

/// Lowers verification settings that depend on several options.
pub(in crate::fio) fn lower_verify(draft: &mut Draft<'_>) {
    let verify = &draft.options.verify;
    let method = match verify.verify {
        Checksum::Off => return,
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
    let writes = pattern::mix(draft.options).includes(Direction::Write);
    let (pattern, pattern_offsets) = data::bytes(&verify.verify_pattern, draft.disk, "verify_pattern", draft.errors);
    let has_state_file = verify.verify_state_load || verify.verify_state_save && writes;
    draft.parts.stream.verify = Some(Verify {
        pattern,
        pattern_offsets,
        after_writes: verify.do_verify && writes,
        processors: list_processors(&verify.verify_async_cpus),
        flushed_only: verify.verify_policy.last() == Some(&VerifyPolicy::Fsynced),
        state_file: match has_state_file {
            true => state_file(draft.clone),
            false => String::new(),
        },
        directory: draft.flags.aux_path.clone().unwrap_or_default(),
        trims: lower_trim_percentage(draft.options),
        ..Verify::new(method)
    });
    let effect = queue::kind(draft.options).info().effect;
    if !matches!(effect, Effect::Transfer | Effect::Allocate | Effect::Simulate) {
        draft.refuse(format!("verify with ioengine={}", draft.options.queue.ioengine));
    }
}

/// Without `verify_header_seed`, fio does not check the seed if the job reads or replays data of
/// another workload, nor if a block may be written twice.
pub(in crate::fio) fn lower_header_seed(draft: &mut Draft<'_>) {
    let pattern = &draft.options.pattern;
    let is_read_only = !pattern::mix(draft.options).includes(Direction::Write);
    let is_uncertain =
        is_read_only || draft.options.verify.verify_only || may_rewrite_blocks(draft) || pattern.rw_step != 0;
    let is_skipped = is_uncertain && !draft.is_option_set("verify_header_seed");
    if let Some(verify) = &mut draft.parts.stream.verify {
        verify.any_seed |= is_skipped;
    }
}

/// Without `verify_write_sequence`, fio does not check the write number of a replayed workload, nor
/// if two writes of a block may be in flight.
pub(in crate::fio) fn lower_write_sequence(draft: &mut Draft<'_>) {
    let overlaps = may_rewrite_blocks(draft) && queue::depth(draft.options) > 1;
    let is_uncertain = draft.options.verify.verify_only || overlaps;
    let is_skipped = is_uncertain && !draft.is_option_set("verify_write_sequence");
    if let Some(verify) = &mut draft.parts.stream.verify {
        verify.any_order |= is_skipped;
    }
}

/// Whether a block may be written twice in a pass.
fn may_rewrite_blocks(draft: &Draft<'_>) -> bool {
    draft.options.pattern.norandommap || draft.options.zones.sprandom
}

/// The file name of a clone's verify state, as fio forms it: clones are numbered from 0 over the
/// run.
fn state_file(clone: JobClone<'_>) -> String {
    let name = clone.job.name().replace('/', ".");
    format!("local-{name}-{}-verify.state", clone.number - 1)
}

fn list_processors(ranges: &[CpuRange]) -> Vec<u32> {
    let mut processors: Vec<u32> = ranges.iter().flat_map(|range| range.first..=range.last).collect();
    processors.sort_unstable();
    processors.dedup();
    processors
}

/// Lowers `trim_percentage`, which has no effect without a backlog.
fn lower_trim_percentage(options: &JobOptions) -> Option<TrimWritten> {
    let data = &options.data;
    let percent = data.trim_percentage.clamp(0, 100) as u8;
    (percent > 0 && data.trim_backlog > 0).then(|| TrimWritten {
        percent,
        backlog: data.trim_backlog,
        batch: data.trim_backlog_batch.max(0) as u64,
        read_as_zeros: data.trim_verify_zero,
    })
}
