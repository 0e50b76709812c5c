//! The parts of a file that a run does not write. Only another program can change them meanwhile,
//! so digests before and after the run detect that.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use engine::sys;
use xxhash_rust::xxh64::Xxh64;

/// Maximum length of the parts that are read. Reading more would delay the run too long.
const MAX_BYTES: u64 = 64 << 20;
const BUFFER_BYTES: u64 = 1 << 20;

/// Parts of a file, with a digest of all their bytes.
#[derive(Debug, Default)]
pub(super) struct UnwrittenParts {
    parts: Vec<Range<u64>>,
    digest: u64,
}

impl UnwrittenParts {
    /// Reads the parts. `None` if they cannot prove that they stay unchanged: they are too long, or
    /// the host may cache a remote file and miss changes of other hosts.
    pub(super) fn read(file: &fs::File, parts: Vec<Range<u64>>) -> Option<UnwrittenParts> {
        let length: u64 = parts.iter().map(|part| part.end - part.start).sum();
        if length > MAX_BYTES || length > 0 && sys::file::is_remote(file) {
            return None;
        }
        let digest = digest(file, &parts).ok()?;
        Some(UnwrittenParts { parts, digest })
    }

    pub(super) fn parts(&self) -> &[Range<u64>] {
        &self.parts
    }

    /// True if the file still has the same bytes there.
    pub(super) fn is_unchanged(&self, file: &fs::File) -> bool {
        self.parts.is_empty() || digest(file, &self.parts).is_ok_and(|digest| digest == self.digest)
    }
}

fn digest(mut file: &fs::File, parts: &[Range<u64>]) -> io::Result<u64> {
    let mut hash = Xxh64::new(0);
    let mut buffer = Vec::new();
    for part in parts {
        let mut position = part.start;
        while position < part.end {
            file.seek(SeekFrom::Start(position))?;
            buffer.clear();
            let length = BUFFER_BYTES.min(part.end - position);
            file.take(length).read_to_end(&mut buffer)?;
            hash.update(&buffer);
            position += length;
        }
    }
    Ok(hash.digest())
}

/// The whole of a file.
pub(super) fn whole(length: u64) -> Vec<Range<u64>> {
    std::iter::once(0..length).collect()
}

/// Sorts parts, and joins those that touch.
pub(super) fn join(mut parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    parts.retain(|part| !part.is_empty());
    parts.sort_by_key(|part| part.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => joined.push(part),
        }
    }
    joined
}

/// What no part of `others` covers.
pub(super) fn subtract(parts: &[Range<u64>], others: &[Range<u64>]) -> Vec<Range<u64>> {
    let others = join(others.to_vec());
    let mut rest = Vec::new();
    for part in parts {
        let mut start = part.start;
        for other in others
            .iter()
            .filter(|other| other.end > part.start && other.start < part.end)
        {
            rest.push(start..other.start);
            start = other.end;
        }
        rest.push(start..part.end);
    }
    rest.retain(|part| !part.is_empty());
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_and_subtracted() {
        let parts = join(vec![30..40, 0..10, 10..20, 12..15]);
        assert_eq!(parts, [0..20, 30..40]);
        assert_eq!(subtract(&parts, &[10..35, 4..6]), [0..4, 6..10, 35..40]);
        assert_eq!(subtract(&parts, &[]), parts);
        assert!(subtract(&whole(9), &[0..4, 4..50]).is_empty());
        assert!(subtract(&whole(0), &[]).is_empty() && join(whole(0)).is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn every_changed_byte_of_the_parts_is_found() {
        use std::os::unix::fs::FileExt;
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 << 20).unwrap();
        let parts = UnwrittenParts::read(&file, vec![100..200, (1 << 20)..(5 << 19) + 1]).unwrap();
        let is_unchanged = |position: u64| {
            file.write_all_at(&[1], position).unwrap();
            let is_unchanged = parts.is_unchanged(&file);
            file.write_all_at(&[0], position).unwrap();
            is_unchanged
        };
        for position in [99, 200, (1 << 20) - 1, (5 << 19) + 1] {
            assert!(is_unchanged(position), "{position} is outside");
        }
        for position in [100, 199, 1 << 20, 3 << 19, 5 << 19] {
            assert!(!is_unchanged(position), "{position}");
        }
        assert!(UnwrittenParts::read(&file, whole(MAX_BYTES + 1)).is_none());
    }
}
