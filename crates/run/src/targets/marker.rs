//! The mark of a file that fathom created. It permits writing, and records how much of the file is
//! random data.
//!
//! A mark is valid only for the bytes that fathom wrote. It contains the identity of the file (file
//! system, inode number, birth time), its length, the times of its last changes and a digest of
//! samples. Each run that writes to the file renews the mark when it ends. A file that was changed,
//! copied or restored afterwards counts as foreign. During a run, the mark records only that a run
//! is writing: if that run is killed, the contents are unknown.
//!
//! The mark is an extended attribute of the file, or an entry in the registry of
//! [`super::mark_store`]. Setting the attribute changes the file's ctime, which the mark must
//! already contain. So the mark records the earliest possible ctime and a tolerance.

use std::fmt;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::time::{Duration, Instant};

use engine::{FileStamp, sys};
use model::Bytes;
use xxhash_rust::xxh64::Xxh64;

use super::mark_store;

const VERSION: &str = "2";
/// Tolerances for the ctime, one per attempt: the time that saving the mark may take.
const CTIME_TOLERANCES: [Duration; 3] = [
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_secs(1),
];
/// Timestamp resolution of most file systems (at most 10 ms), plus a margin.
const TIMESTAMP_MARGIN: Duration = Duration::from_millis(12);
/// Timestamp resolution of file systems with whole seconds, plus a margin. FAT stores only even
/// seconds.
const WHOLE_SECOND_TIMESTAMP_MARGIN: Duration = Duration::from_millis(2012);
/// Number of samples in a digest: the first bytes, the last, and eight in between.
const SAMPLES: u64 = 10;
const SAMPLE_BYTES: u64 = 4096;

/// The state of a file according to its mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MarkState {
    /// It has no mark.
    #[default]
    Unmarked,
    /// Only fathom has changed it.
    Intact {
        /// Bytes of random data at its start.
        random_len: Bytes,
    },
    /// Its mark does not match. It has changed since fathom created it, or is a copy.
    Changed,
    /// A run was writing to it and never ended.
    Unfinished,
}

impl MarkState {
    /// A relative clause to append to “a file”.
    pub fn describe(self) -> &'static str {
        match self {
            MarkState::Unmarked => "that fathom did not create",
            MarkState::Intact { .. } => "that fathom created",
            MarkState::Changed => "that has changed since fathom created it, or is a copy of such a file",
            MarkState::Unfinished => "that another run of fathom is writing to, or that a killed run left unfinished",
        }
    }
}

/// Checks the mark of an open file against the file.
pub(super) fn inspect(file: &fs::File) -> MarkState {
    let Some(text) = mark_store::load(file) else {
        return MarkState::Unmarked;
    };
    let Ok(stamp) = sys::file::file_stamp(file) else {
        return MarkState::Changed;
    };
    match Record::parse(&text) {
        Some(Record::Sealed(seal)) if seal.matches(file, &stamp) => MarkState::Intact {
            random_len: seal.random_len,
        },
        Some(Record::Writing { id, .. }) if id == stamp.id.to_string() => MarkState::Unfinished,
        _ => MarkState::Changed,
    }
}

/// Marks a file as being written to. The first `random_len` bytes hold random data, and the run
/// keeps them random.
pub(super) fn begin(file: &fs::File, random_len: Bytes) -> io::Result<()> {
    let id = sys::file::file_stamp(file)?.id.to_string();
    save(file, &Record::Writing { id, random_len })
}

fn save(file: &fs::File, record: &Record) -> io::Result<()> {
    mark_store::save(file, &record.to_string())
}

/// Like [`begin`], but other processes may also write to the file. The smallest `random_len` of all
/// is kept.
pub(super) fn begin_shared(file: &fs::File, random_len: Bytes) -> io::Result<()> {
    let id = sys::file::file_stamp(file)?.id.to_string();
    let random_len = match mark_store::load(file).and_then(|text| Record::parse(&text)) {
        Some(Record::Writing {
            id: stored_id,
            random_len: smallest_len,
        }) if stored_id == id => random_len.min(smallest_len),
        _ => random_len,
    };
    save(file, &Record::Writing { id, random_len })
}

/// Seals a file that [`begin`] marked. Changes before the returned time may go undetected, because
/// they can get a timestamp within the tolerance.
///
/// # Errors
/// The system's error, or `TimedOut` if others keep changing the file. The file then stays marked
/// as being written to.
pub(super) fn seal(file: &fs::File) -> io::Result<Instant> {
    for tolerance in CTIME_TOLERANCES {
        let before = sys::file::file_stamp(file)?;
        let digest = digest(file, before.length)?;
        let writing = mark_store::load(file).and_then(|text| Record::parse(&text));
        let writing = writing.ok_or(io::ErrorKind::NotFound)?;
        let Record::Writing { random_len, .. } = writing else {
            return Err(io::ErrorKind::NotFound.into());
        };
        // This write sets the ctime from which the tolerance counts.
        save(file, &writing)?;
        let stamp = sys::file::file_stamp(file)?;
        if (stamp.length, stamp.modified_ns) != (before.length, before.modified_ns) {
            continue;
        }
        let seal = Seal {
            random_len,
            stamp: encode_stamp(&stamp),
            changed_ns: stamp.changed_ns,
            tolerance,
            digest,
        };
        save(file, &Record::Sealed(seal))?;
        if inspect(file) == (MarkState::Intact { random_len }) {
            return Ok(Instant::now() + tolerance + timestamp_margin(&stamp));
        }
        save(file, &writing)?;
    }
    Err(io::ErrorKind::TimedOut.into())
}

fn timestamp_margin(stamp: &FileStamp) -> Duration {
    const SECOND: i64 = 1_000_000_000;
    match (stamp.modified_ns % SECOND, stamp.changed_ns % SECOND) {
        (0, 0) => WHOLE_SECOND_TIMESTAMP_MARGIN,
        _ => TIMESTAMP_MARGIN,
    }
}

/// Encodes the parts of a stamp that must match exactly.
fn encode_stamp(stamp: &FileStamp) -> String {
    format!("{} {} {}", stamp.id, stamp.length, stamp.modified_ns)
}

/// A sample of a file, to detect changes.
#[derive(Debug)]
pub(super) struct Sample {
    start: u64,
    digest: u64,
}

impl Sample {
    /// True if the file still has the same bytes.
    pub(super) fn is_unchanged(&self, file: &fs::File) -> bool {
        digest_at(file, [self.start].into_iter(), 0).is_ok_and(|digest| digest == self.digest)
    }
}

/// The samples that no part of `written` overlaps.
pub(super) fn samples_outside(file: &fs::File, length: u64, written: &[Range<u64>]) -> Vec<Sample> {
    let is_outside = |start: &u64| {
        let overlaps = |part: &Range<u64>| part.start < start + SAMPLE_BYTES && *start < part.end;
        !written.iter().any(overlaps)
    };
    let read = |start: u64| {
        let digest = digest_at(file, [start].into_iter(), 0).ok()?;
        Some(Sample { start, digest })
    };
    sample_starts(length).filter(is_outside).filter_map(read).collect()
}

/// Where the evenly spaced samples of a file start.
fn sample_starts(length: u64) -> impl Iterator<Item = u64> {
    let last = length.saturating_sub(SAMPLE_BYTES);
    (0..SAMPLES).map(move |number| (u128::from(last) * u128::from(number) / u128::from(SAMPLES - 1)) as u64)
}

/// A digest of all samples of a file.
fn digest(file: &fs::File, length: u64) -> io::Result<u64> {
    digest_at(file, sample_starts(length), length)
}

fn digest_at(mut file: &fs::File, starts: impl Iterator<Item = u64>, seed: u64) -> io::Result<u64> {
    sys::file::disable_read_ahead(file);
    let mut hash = Xxh64::new(seed);
    let mut sample = Vec::new();
    for start in starts {
        file.seek(SeekFrom::Start(start))?;
        sample.clear();
        file.take(SAMPLE_BYTES).read_to_end(&mut sample)?;
        hash.update(&sample);
    }
    Ok(hash.digest())
}

/// A parsed mark.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Record {
    /// A run writes to it.
    Writing { id: String, random_len: Bytes },
    /// The state in which fathom left it.
    Sealed(Seal),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Seal {
    random_len: Bytes,
    /// The result of [`encode_stamp`].
    stamp: String,
    /// The earliest ctime that matches.
    changed_ns: i64,
    /// The tolerance of that time.
    tolerance: Duration,
    digest: u64,
}

impl Seal {
    fn matches(&self, file: &fs::File, stamp: &FileStamp) -> bool {
        let late_ns = i128::from(stamp.changed_ns) - i128::from(self.changed_ns);
        self.stamp == encode_stamp(stamp)
            && (0..=self.tolerance.as_nanos() as i128).contains(&late_ns)
            && digest(file, stamp.length).is_ok_and(|digest| digest == self.digest)
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Record::Writing { id, random_len } => write!(f, "{VERSION} writing {} {id}", random_len.0),
            Record::Sealed(seal) => write!(
                f,
                "{VERSION} sealed {} {} {} {} {:016x}",
                seal.random_len.0,
                seal.stamp,
                seal.changed_ns,
                seal.tolerance.as_millis(),
                seal.digest
            ),
        }
    }
}

impl Record {
    fn parse(text: &str) -> Option<Record> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let bytes = |word: &str| Some(Bytes(word.parse().ok()?));
        match words[..] {
            [VERSION, "writing", random_len, id] => Some(Record::Writing {
                id: id.to_owned(),
                random_len: bytes(random_len)?,
            }),
            [
                VERSION,
                "sealed",
                random_len,
                id,
                length,
                modified,
                changed,
                tolerance,
                digest,
            ] => Some(Record::Sealed(Seal {
                random_len: bytes(random_len)?,
                stamp: format!("{id} {length} {modified}"),
                changed_ns: changed.parse().ok()?,
                tolerance: Duration::from_millis(tolerance.parse().ok()?),
                digest: u64::from_str_radix(digest, 16).ok()?,
            })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use super::*;

    const RANDOM: Bytes = Bytes(10_000);

    fn open(path: &Path) -> fs::File {
        fs::OpenOptions::new().read(true).write(true).open(path).unwrap()
    }

    fn create_marked_file(path: &Path) -> fs::File {
        fs::write(path, vec![1u8; 100_000]).unwrap();
        let file = open(path);
        begin(&file, RANDOM).unwrap();
        assert_eq!(inspect(&file), MarkState::Unfinished);
        let stable_after = seal(&file).unwrap();
        std::thread::sleep(stable_after.saturating_duration_since(Instant::now()));
        file
    }

    #[test]
    fn a_mark_holds_until_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"data").unwrap();
        // Wine reuses the numbers of removed files, whose marks remain.
        let fresh = inspect(&open(&path));
        assert!(
            fresh == MarkState::Unmarked || cfg!(windows) && fresh == MarkState::Changed,
            "{fresh:?}"
        );
        let intact = MarkState::Intact { random_len: RANDOM };
        let mut file = create_marked_file(&path);
        assert_eq!(inspect(&file), intact);
        fs::read(&path).unwrap();
        assert_eq!(inspect(&open(&path)), intact, "reading must not invalidate the mark");
        file.seek(SeekFrom::Start(50_000)).unwrap();
        file.write_all(&[1]).unwrap();
        assert_eq!(inspect(&file), MarkState::Changed, "the same byte was written again");
        begin(&file, RANDOM).unwrap();
        seal(&file).unwrap();
        assert_eq!(inspect(&file), intact, "renewed");
    }

    #[test]
    fn the_mark_of_another_file_is_invalid() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["file", "other"].map(|name| folder.path().join(name));
        let file = create_marked_file(&path);
        fs::write(&other, fs::read(&path).unwrap()).unwrap();
        mark_store::save(&open(&other), &mark_store::load(&file).unwrap()).unwrap();
        assert_eq!(inspect(&open(&other)), MarkState::Changed);
        begin(&file, RANDOM).unwrap();
        mark_store::save(&open(&other), &mark_store::load(&file).unwrap()).unwrap();
        assert_eq!(inspect(&open(&other)), MarkState::Changed);
    }

    #[test]
    fn concurrent_writers_keep_the_least_random_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = create_marked_file(&path);
        for random_len in [RANDOM, Bytes(0), RANDOM] {
            begin_shared(&file, random_len).unwrap();
        }
        seal(&file).unwrap();
        assert_eq!(inspect(&file), MarkState::Intact { random_len: Bytes(0) });
    }

    #[test]
    fn only_complete_records_of_this_version_are_marks() {
        for text in [
            "",
            "1 5 random",
            "2 sealed 5 1:2@3",
            "2 sealed x 1:2@3 5 6 7 10 00ff",
            "3 sealed 5 1:2@3 5 6 7 10 00ff",
            "2 writing 5",
        ] {
            assert_eq!(Record::parse(text), None, "{text}");
        }
        let text = "2 sealed 5 1:2@3 5 6 7 10 00000000000000ff";
        assert_eq!(Record::parse(text).unwrap().to_string(), text);
    }
}
