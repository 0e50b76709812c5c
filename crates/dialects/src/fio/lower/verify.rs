//! Checks of what is read back.

use model::Direction;
use model::plan::{Verify, VerifyMethod};

use super::files::Disk;
use super::{complain, data, pattern};
use crate::Diagnostic;
use crate::fio::options::JobOptions;
use crate::fio::options::verify::{Checksum, VerifyPolicy};

pub(super) fn verify(options: &JobOptions, disk: &dyn Disk, complaints: &mut Vec<Diagnostic>) -> Option<Verify> {
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
    if verify.verify_policy.contains(&VerifyPolicy::Fsynced) {
        complain(
            complaints,
            "fio: verify_policy=fsynced is not supported by this program",
        );
    }
    let writes = pattern::mix(options).includes(Direction::Write);
    let (pattern, pattern_offsets) = data::bytes(&verify.verify_pattern, disk, "verify_pattern", complaints);
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
    })
}
