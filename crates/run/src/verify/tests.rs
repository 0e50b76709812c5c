//! Compares the format on disk with fio itself, which writes the old form of the header.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::path::Path;
use std::process::{Command, Output};

use model::draws::GeneratorChoice;
use model::testing::VERIFY_METHODS;
use testbed::{Unavailable, need};

use super::history::{History, WrittenBlock};
use super::*;

/// A method that fio 3.33 does not support.
const UNSUPPORTED_BY_FIO: &str = "pattern_hdr";
const BLOCK: usize = 8192;
const BLOCKS: usize = 8;

/// Every method that checks data, with fio's name.
fn checking_methods() -> impl Iterator<Item = (VerifyMethod, &'static str)> {
    let methods = VERIFY_METHODS.into_iter();
    methods.filter(|(method, _)| *method != VerifyMethod::None)
}

/// Runs fio on a file `f` in a directory. `None` if fio is not available.
fn run_fio(directory: &Path, arguments: &str) -> Option<Output> {
    let fixed = "--name=j --filename=f --size=64k --bs=8k --verify_state_save=0 --output=/dev/null";
    let output = Command::new("fio")
        .args(fixed.split(' ').chain(arguments.split(' ')))
        .current_dir(directory)
        .output();
    need(output.map_err(|error| Unavailable::because(format!("`fio` cannot be run: {error}"))))
}

fn checker(method: VerifyMethod, interval: u32, form: Form) -> Checker {
    let pattern = match method {
        VerifyMethod::Pattern | VerifyMethod::PatternWithHeader => vec![0xde, 0xad, 0xbe],
        _ => Vec::new(),
    };
    Checker {
        method,
        interval: interval as usize,
        pattern,
        pattern_offsets: Vec::new(),
        pattern_interval: 0,
        form,
        job: 1,
        header_at: 0,
        checks_all_pieces: true,
    }
}

/// Returns the blocks of fio's first clone. A seed is the product of two draws.
fn blocks(checker: &Checker) -> Vec<Block> {
    let mut draws = GeneratorChoice::fio(0x89, 1).start();
    (0..BLOCKS as u64)
        .map(|number| Block {
            seed: Some(checker.draw_seed(&mut draws)),
            number: Some(number),
            ..unnumbered_block(number * BLOCK as u64, BLOCK as u32)
        })
        .collect()
}

/// A block whose seed, number and hash are unknown.
fn unnumbered_block(offset: u64, length: u32) -> Block {
    Block {
        offset,
        length,
        ..Block::default()
    }
}

/// A write to the first file.
fn write(offset: u64, length: u32) -> WrittenBlock {
    WrittenBlock {
        file: 0,
        block: unnumbered_block(offset, length),
    }
}

fn filler() -> Filler {
    Filler::new(&Content::Fresh, 0, engine::fill::random_fill(), Arc::default(), 1)
}

fn write_blocks(checker: &Checker) -> Vec<u8> {
    let mut data = vec![0; BLOCK * BLOCKS];
    for (buffer, mut block) in data.chunks_mut(BLOCK).zip(blocks(checker)) {
        checker.fill(buffer, &mut block, 1_500_000_000, &filler());
    }
    data
}

fn check(checker: &Checker, buffer: &[u8], block: &Block) -> Vec<Fault> {
    checker.check(&mut buffer.to_vec(), block)
}

/// Checks all blocks, and returns the faults.
fn check_blocks(checker: &Checker, data: &[u8]) -> Vec<Fault> {
    let pieces = data.chunks(BLOCK).zip(blocks(checker));
    pieces
        .flat_map(|(buffer, block)| check(checker, buffer, &block))
        .collect()
}

/// Returns fio's option for the pattern of a checker.
fn pattern_option(checker: &Checker) -> String {
    match checker.pattern.is_empty() {
        true => String::new(),
        false => " --verify_pattern=0xdeadbe".into(),
    }
}

#[test]
fn fio_accepts_blocks_that_fathom_writes() {
    for (method, name) in checking_methods().filter(|(_, name)| *name != UNSUPPORTED_BY_FIO) {
        for interval in [8192u32, 4096] {
            let directory = tempfile::tempdir().unwrap();
            let checker = checker(method, interval, Form::Old);
            let mut data = write_blocks(&checker);
            let pattern = pattern_option(&checker);
            let options = format!("--rw=read --verify={name} --verify_interval={interval}{pattern}");
            std::fs::write(directory.path().join("f"), &data).unwrap();
            let Some(output) = run_fio(directory.path(), &options) else {
                return;
            };
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{name} {interval}: {errors}");
            // fio does check: it finds a wrong byte in the last header or pattern of a block.
            data[4 * BLOCK - interval as usize + 17] ^= 1;
            std::fs::write(directory.path().join("f"), &data).unwrap();
            let Some(output) = run_fio(directory.path(), &options) else {
                return;
            };
            assert!(!output.status.success(), "{name} {interval}");
        }
    }
}

#[test]
fn fathom_accepts_blocks_that_fio_writes() {
    for (method, name) in checking_methods().filter(|(_, name)| *name != UNSUPPORTED_BY_FIO) {
        for interval in [8192u32, 4096] {
            let directory = tempfile::tempdir().unwrap();
            let checker = checker(method, interval, Form::Current);
            let options = format!(
                "--rw=write --do_verify=0 --verify={name} --verify_interval={interval}{}",
                pattern_option(&checker)
            );
            let Some(output) = run_fio(directory.path(), &options) else {
                return;
            };
            assert!(
                output.status.success(),
                "{name}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let data = std::fs::read(directory.path().join("f")).unwrap();
            assert_eq!(check_blocks(&checker, &data), [], "{name} {interval}");
        }
    }
}

/// Bytes that fio's SHA-512 does not cover are checked only if the same worker wrote the block.
#[test]
fn every_wrong_byte_is_found_in_its_piece() {
    for (method, name) in checking_methods() {
        let checker = checker(method, 4096, Form::Current);
        let data = write_blocks(&checker);
        assert_eq!(check_blocks(&checker, &data), [], "{name}");
        let last = BLOCK * BLOCKS - 1;
        for at in [0, 5, 9, 17, 33, 45, 60, 200, 4095, 4096, 5000, 24_876, last] {
            let mut wrong = data.clone();
            wrong[at] ^= 0x40;
            let faults = check_blocks(&checker, &wrong);
            let in_piece = at % 4096;
            let may_be_missed = match method {
                VerifyMethod::Header => in_piece >= 48,
                // fio's checksum does not cover all data.
                _ if checksum::needs_extra_hash(method) => in_piece >= 48,
                _ => false,
            };
            if may_be_missed && faults.is_empty() {
                continue;
            }
            assert_eq!(faults.len(), 1, "{name} at {at}: {faults:?}");
            assert_eq!(faults[0].0, (at - in_piece) as u64, "{name} at {at}");
            assert_eq!(faults[0].1, 4096);
        }
    }
}

#[test]
fn an_extra_hash_finds_errors_that_a_weak_checksum_misses() {
    let checker = checker(VerifyMethod::Sha512, 0, Form::Current);
    let mut block = blocks(&checker)[0];
    let mut buffer = vec![0; BLOCK];
    checker.fill(&mut buffer, &mut block, 0, &filler());
    assert_eq!(check(&checker, &buffer, &block), []);
    buffer[4000] ^= 1;
    assert_eq!(check(&checker, &buffer, &block).len(), 1);
}

#[test]
fn each_header_field_is_checked_unless_its_value_is_unknown() {
    let checker = checker(VerifyMethod::Crc32c, 0, Form::Current);
    let data = write_blocks(&checker);
    let block = blocks(&checker)[2];
    let buffer = &data[2 * BLOCK..3 * BLOCK];
    let field_in = |buffer: &[u8], block: Block| match check(&checker, buffer, &block).first() {
        Some((_, _, BlockFault::Header { field, .. })) => Some(*field),
        Some(fault) => panic!("{fault:?}"),
        None => None,
    };
    let field = |block: Block| field_in(buffer, block);
    use model::mismatch::HeaderField;
    assert_eq!(field(block), None);
    let seed = Some(7);
    assert_eq!(field(Block { seed, ..block }), Some(HeaderField::Seed));
    assert_eq!(field(Block { seed: None, ..block }), None);
    let number = Some(7);
    assert_eq!(field(Block { number, ..block }), Some(HeaderField::Number));
    assert_eq!(field(Block { number: None, ..block }), None);
    let offset = 0;
    assert_eq!(field(Block { offset, ..block }), Some(HeaderField::Offset));
    assert_eq!(field_in(&buffer[..BLOCK / 2], block), Some(HeaderField::Length));
}

#[test]
fn a_header_has_the_bytes_of_fio() {
    let header = Header {
        length: 4096,
        seed: 0x0102_0304_0506_0708,
        offset: 0x1000,
        time_ns: 3_000_000_005,
        number: 9,
        job: 2,
    };
    let mut piece = [0xffu8; 64];
    header.write(Form::Current, VerifyMethod::Sha1, &mut piece);
    let mut expected = vec![
        0xca, 0xac, 0x81, 16, 0, 16, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0, 16, 0, 0, 0, 0, 0, 0,
    ];
    expected.extend([3, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(piece[..44], expected);
    assert_eq!(piece[44..48], checksum::crc32c(&piece[..44]).to_ne_bytes());
    assert_eq!(piece[48..], [0xff; 16]);
}

#[test]
fn a_history_is_ordered_by_write_or_by_position() {
    let drain = |history: &mut History| {
        let mut offsets = Vec::new();
        while history.next_file().is_some() {
            offsets.extend(history.take_next().map(|written| written.block.offset));
        }
        offsets
    };
    let mut in_order = History::new(false, false);
    let notes = [30, 10, 20].map(|offset| in_order.record_issued(write(offset, 10), false));
    assert_eq!(in_order.next_file(), None, "all are in flight");
    in_order.record_completed(notes[1], true);
    assert_eq!(in_order.next_file(), None, "the oldest is in flight");
    in_order.record_completed(notes[0], false);
    in_order.record_completed(notes[2], true);
    assert_eq!(drain(&mut in_order), [10, 20], "failed writes are not verified");

    let mut by_position = History::new(true, false);
    for (offset, length) in [(30, 10), (0, 10), (10, 10), (25, 10), (0, 10)] {
        let note = by_position.record_issued(write(offset, length), false);
        by_position.record_completed(note, true);
    }
    assert_eq!(
        drain(&mut by_position),
        [0, 10, 25],
        "later writes replace blocks that they overlap"
    );
}

#[test]
fn the_pattern_contains_the_offset_of_its_block_or_interval() {
    let block = unnumbered_block(0x1_0000, 4096);
    for (pattern_interval, second) in [(0, 0x1_0000_u64), (1024, 0x1_0000 + 1024)] {
        let checker = Checker {
            pattern: vec![0xab; 9],
            pattern_offsets: vec![1],
            pattern_interval,
            ..checker(VerifyMethod::Pattern, 1024, Form::Current)
        };
        let mut buffer = vec![0; 4096];
        checker.fill(&mut buffer, &mut block.clone(), 0, &filler());
        assert_eq!(buffer[0], 0xab);
        assert_eq!(buffer[1..9], 0x1_0000_u64.to_ne_bytes());
        // The pattern restarts at the interval; without one, its next repetition begins at 1026.
        let next = if pattern_interval > 0 { 1024 } else { 1026 };
        assert_eq!(buffer[next], 0xab);
        assert_eq!(buffer[next + 1..next + 9], second.to_ne_bytes());
        assert!(check(&checker, &buffer, &block).is_empty());
        let other_block = Block {
            offset: block.offset + 4096,
            ..block
        };
        assert!(!check(&checker, &buffer, &other_block).is_empty(), "{pattern_interval}");
    }
}

#[test]
fn discarded_blocks_must_read_as_zeros() {
    let checker = checker(VerifyMethod::None, 0, Form::Current);
    let discarded = Block {
        zeros: true,
        ..blocks(&checker)[1]
    };
    let mut buffer = vec![0; BLOCK];
    assert_eq!(check(&checker, &buffer, &discarded), []);
    buffer[77] = 5;
    let fault = BlockFault::NotZero { at: 77, found: 5 };
    assert_eq!(
        check(&checker, &buffer, &discarded),
        [(BLOCK as u64, BLOCK as u32, fault)]
    );
}

#[test]
fn a_history_tracks_flushed_blocks_and_blocks_to_discard() {
    let write = |offset: u64| write(offset, 10);
    for repeats in [false, true] {
        let mut history = History::new(repeats, true);
        let notes = [0, 10, 20].map(|offset| history.record_issued(write(offset), offset == 10));
        history.record_completed(notes[0], true);
        assert_eq!(history.next_file(), None, "it was not flushed");
        let mark = history.flush_mark();
        assert_eq!(history.next_file_to_trim(), None, "its write is in flight");
        history.record_completed(notes[1], true);
        history.record_completed(notes[2], true);
        history.record_flush(mark);
        assert_eq!(history.take_next().map(|written| written.block.offset), Some(0));
        assert_eq!(
            history.next_file(),
            None,
            "these completed after the flush was submitted"
        );
        assert_eq!(history.next_file_to_trim(), Some(0));
        let (note, block) = history.take_to_trim().unwrap();
        assert_eq!(block.offset, 10);
        history.record_trim(note, true);
        history.record_flush(history.flush_mark());
        assert!(history.take_next().is_some_and(|written| written.block.zeros));
        history.drop_unflushed();
        assert_eq!(history.len(), 1, "the last flush covered the third write");
        let late = history.record_issued(write(30), false);
        history.record_completed(late, true);
        history.drop_unflushed();
        assert_eq!(history.len(), 1);
    }
}
