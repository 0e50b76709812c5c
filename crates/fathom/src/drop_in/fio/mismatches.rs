//! Formats fio's lines about blocks that fail verification.

use dialects::fio;
use model::mismatch::{BlockFault, HeaderField, Mismatch, dump_path};
use model::plan::{Verify, VerifyMethod};

/// Formats the lines about dumped blocks.
pub(super) fn format_dumps(mismatch: &Mismatch, verify: &Verify) -> Vec<String> {
    let kinds = ["received", "expected"].into_iter().filter(|_| verify.dump);
    let line = |kind: &str| {
        let path = dump_path(&verify.directory, &mismatch.path, mismatch.block_offset.0, kind);
        path.exists()
            .then(|| format!("       {kind} data dumped as {}", path.display()))
    };
    kinds.filter_map(line).collect()
}

/// Formats the lines about one part of a block.
pub(super) fn format_lines(mismatch: &Mismatch) -> Vec<String> {
    let Mismatch {
        path,
        offset,
        length,
        block_offset,
        block_length,
        fault,
        ..
    } = mismatch;
    let (offset, block) = (offset.0, block_offset.0);
    let requested = format!("(requested block: offset={block}, length={block_length}");
    let header = |what: String| {
        vec![format!(
            "verify: bad {what} at file {path} offset {offset}, length {length} {requested})"
        )]
    };
    let failed = |method: &str| {
        // fio prints the flags of an operation in flight.
        format!("{method}: verify failed at file {path} offset {offset}, length {length} {requested}, flags=8)")
    };
    match fault {
        BlockFault::Magic { found, expected } => header(format!("magic header {found:x}, wanted {expected:x}")),
        BlockFault::Header { field, found, expected } => header(match field {
            HeaderField::Length => format!("header length {found}, wanted {expected}"),
            HeaderField::Seed => format!("header rand_seed {found}, wanted {expected}"),
            HeaderField::Offset => format!("header offset {found}, wanted {expected}"),
            HeaderField::Number => format!("header numberio {found}, wanted {expected}"),
            HeaderField::Checksum => format!("header crc {found:x}, calculated {expected:x}"),
        }),
        BlockFault::Checksum {
            method,
            found,
            expected,
        } => vec![
            failed(method_name(*method)),
            format!("       Expected CRC: {}", hex(expected)),
            format!("       Received CRC: {}", hex(found)),
        ],
        BlockFault::Pattern {
            at,
            found,
            expected,
            bad_bits,
        } => vec![
            format!("fio: got pattern '{found:02x}', wanted '{expected:02x}'. Bad bits {bad_bits}"),
            format!("fio: bad pattern block offset {at}"),
            failed("pattern"),
        ],
        BlockFault::NotZero { at, .. } => vec![format!(
            "trim: verify failed at file {path} offset {block}, length {block_length}, block offset {at}"
        )],
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the name of a method in messages: `pattern` with or without a header.
fn method_name(method: VerifyMethod) -> &'static str {
    fio::verify_method_name(match method {
        VerifyMethod::PatternWithHeader => VerifyMethod::Pattern,
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use model::Bytes;

    use super::*;

    fn check(fault: BlockFault, expected: &[&str]) {
        let mismatch = Mismatch {
            stream: 0,
            path: "f".into(),
            offset: Bytes(4608),
            length: 512,
            block_offset: Bytes(4096),
            block_length: 4096,
            write_number: None,
            fault,
        };
        assert_eq!(format_lines(&mismatch), expected);
    }

    #[test]
    fn each_fault_has_the_lines_of_fio() {
        let (found, expected) = (0, 0xacca);
        let magic = "verify: bad magic header 0, wanted acca at file f offset 4608, length 512 (requested block: offset=4096, \
                     length=4096)";
        check(BlockFault::Magic { found, expected }, &[magic]);
        let number = BlockFault::Header {
            field: HeaderField::Number,
            found: 3,
            expected: 7,
        };
        let line = "verify: bad header numberio 3, wanted 7 at file f offset 4608, length 512 (requested block: offset=4096, \
                    length=4096)";
        check(number, &[line]);
        let sum = BlockFault::Checksum {
            method: VerifyMethod::Crc32c,
            found: vec![1, 2, 3, 4],
            expected: vec![0xa, 0xb, 0xc, 0xd],
        };
        let line = "crc32c: verify failed at file f offset 4608, length 512 (requested block: offset=4096, length=4096, flags=8)";
        check(
            sum,
            &[line, "       Expected CRC: 0a0b0c0d", "       Received CRC: 01020304"],
        );
        let pattern = BlockFault::Pattern {
            at: 9,
            found: 0,
            expected: 0xab,
            bad_bits: 5,
        };
        check(
            pattern,
            &[
                "fio: got pattern '00', wanted 'ab'. Bad bits 5",
                "fio: bad pattern block offset 9",
                &line.replace("crc32c", "pattern"),
            ],
        );
    }
}
