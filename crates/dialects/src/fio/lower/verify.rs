//! Checks of what is read back.

use model::Direction;
use model::plan::{Effect, TrimWritten, Verify, VerifyMethod};

use super::{data, pattern, queue};
use crate::fio::draft::{Clone, Draft};
use crate::fio::options::JobOptions;
use crate::fio::options::typed::CpuRange;
use crate::fio::options::verify::{Checksum, VerifyPolicy};

/// The check, with all that needs more than its own option.
pub(in crate::fio) fn verify(draft: &mut Draft<'_>) {
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
    let (pattern, pattern_offsets) =
        data::bytes(&verify.verify_pattern, draft.disk, "verify_pattern", draft.complaints);
    let state = verify.verify_state_load || verify.verify_state_save && writes;
    draft.parts.stream.verify = Some(Verify {
        pattern,
        pattern_offsets,
        after_writes: verify.do_verify && writes,
        processors: processors(&verify.verify_async_cpus),
        flushed_only: verify.verify_policy.last() == Some(&VerifyPolicy::Fsynced),
        state_file: match state {
            true => state_file(draft.clone),
            false => String::new(),
        },
        directory: draft.flags.aux_path.clone().unwrap_or_default(),
        trims: trims(draft.options),
        ..Verify::new(method)
    });
    let effect = queue::kind(draft.options).info().effect;
    if !matches!(effect, Effect::Transfer | Effect::Allocate | Effect::Pretend) {
        draft.refuse(format!("verify with ioengine={}", draft.options.queue.ioengine));
    }
}

/// Without `verify_header_seed`, fio checks the seed only where the blocks can be known to be those
/// of this workload: not of a job that reads or replays what another one wrote, nor where a block
/// may be written twice.
pub(in crate::fio) fn header_seed(draft: &mut Draft<'_>) {
    let pattern = &draft.options.pattern;
    let is_read_only = !pattern::mix(draft.options).includes(Direction::Write);
    let is_unknown = is_read_only || draft.options.verify.verify_only || may_repeat(draft) || pattern.rw_step != 0;
    let is_skipped = is_unknown && !draft.was_given("verify_header_seed");
    if let Some(verify) = &mut draft.parts.stream.verify {
        verify.any_seed |= is_skipped;
    }
}

/// Without `verify_write_sequence`, fio does not check the number of the write of a replayed
/// workload, nor where two writes of the same block may be in flight.
pub(in crate::fio) fn write_sequence(draft: &mut Draft<'_>) {
    let overlaps = may_repeat(draft) && queue::depth(draft.options) > 1;
    let is_unknown = draft.options.verify.verify_only || overlaps;
    let is_skipped = is_unknown && !draft.was_given("verify_write_sequence");
    if let Some(verify) = &mut draft.parts.stream.verify {
        verify.any_order |= is_skipped;
    }
}

/// A block may be written twice in a pass.
fn may_repeat(draft: &Draft<'_>) -> bool {
    draft.options.pattern.norandommap || draft.options.zones.sprandom
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
