//! Lowers the contents of writes.

use model::content::{ConstantPart, Content};

use crate::Diagnostic;
use crate::fio::disk::Disk;
use crate::fio::draft::push_error;
use crate::fio::options::JobOptions;
use crate::fio::options::data::DedupeMode;
use crate::fio::options::typed::Piece;
use crate::fio::options::verify::Checksum;

pub(in crate::fio) fn content(options: &JobOptions, disk: &dyn Disk, errors: &mut Vec<Diagnostic>) -> Content {
    let data = &options.data;
    let (pattern, offsets) = bytes(&data.buffer_pattern, disk, "buffer_pattern", errors);
    if !offsets.is_empty() {
        push_error(errors, "fio: buffer_pattern: %o in a pattern needs verify_pattern");
    }
    let compress = data.buffer_compress_percentage.clamp(0, 100) as u8;
    if data.zero_buffers || compress == 100 && pattern.is_empty() {
        return Content::Zeros;
    }
    let part = ConstantPart {
        percent: compress,
        chunk: data.buffer_compress_chunk.max(0) as u32,
        pattern,
    };
    if compress == 0 && !part.pattern.is_empty() {
        return Content::Pattern { bytes: part.pattern };
    }
    if data.dedupe_percentage > 0 {
        let working_set = match data.dedupe_mode {
            DedupeMode::Repeat => 0,
            DedupeMode::WorkingSet => working_set(options),
        };
        return Content::Duplicated {
            percent: data.dedupe_percentage.clamp(0, 100) as u8,
            working_set,
            shared_working_set: data.dedupe_global && working_set > 0,
            constant: (compress > 0).then_some(part),
        };
    }
    if compress > 0 {
        return Content::Compressible {
            percent: part.percent,
            chunk: part.chunk,
            pattern: part.pattern,
        };
    }
    let verified = options.verify.verify != Checksum::Off;
    match (data.refill_buffers || verified, data.scramble_buffers) {
        (true, _) => Content::Fresh,
        (false, true) => Content::Stamped,
        (false, false) => Content::Once,
    }
}

/// The number of buffers in the working set from which duplicates are taken.
fn working_set(options: &JobOptions) -> u64 {
    let size = match options.pattern.size {
        Some(crate::fio::values::Amount::Bytes(size)) => size,
        _ => options.files.filesize.high,
    };
    let percent = options.data.dedupe_working_set_percentage.clamp(1, 100) as u64;
    (size * percent / 100 / super::pattern::shortest_block(options)).max(1)
}

/// The content of a file when it is laid out: without stamps.
pub(in crate::fio) fn laid_out(content: Content) -> Content {
    match content {
        Content::Stamped => Content::Once,
        other => other,
    }
}

/// The bytes of a pattern, and the positions in it that hold the offset of the block.
pub(super) fn bytes(
    pieces: &[Piece],
    disk: &dyn Disk,
    option: &str,
    errors: &mut Vec<Diagnostic>,
) -> (Vec<u8>, Vec<u32>) {
    let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Bytes(these) => bytes.extend_from_slice(these),
            Piece::File(path) => match disk.read(path) {
                Ok(these) => bytes.extend(these),
                Err(why) => push_error(errors, format!("fio: {option}: cannot read '{path}': {why}")),
            },
            Piece::Offset => {
                offsets.push(bytes.len() as u32);
                bytes.extend([0; 8]);
            }
        }
    }
    (bytes, offsets)
}
