//! The mark of a file that fathom created. It permits writing, and records how much of the file is
//! random data.
//!
//! A mark is valid only for the bytes that fathom wrote. It contains the identity of the file (file
//! system, inode number, birth time), its length, the times of its last changes and a digest of
//! samples. Each run that writes to the file renews the mark when it ends. A file that was changed,
//! copied or restored afterwards counts as foreign. During a run, the mark records only that a run
//! is writing: if that run is killed, the contents are unknown.
//!
//! A run that writes only a part of the file cannot always prove that the rest stayed unchanged
//! meanwhile ([`super::unwritten`]). The renewed mark then names the parts for which it is valid.
//!
//! The mark is an extended attribute of the file, or an entry in the registry of
//! [`super::mark_store`]. Setting the attribute changes the file's ctime, which the mark must
//! already contain. So the mark records the earliest possible ctime and a tolerance.

use std::fmt;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use engine::{FileStamp, sys};
use model::Bytes;
use xxhash_rust::xxh64::Xxh64;

use super::mark_store;
use super::unwritten::{UnwrittenParts, subtract, whole};

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
/// Maximum number of parts in a mark. File systems limit the length of attributes.
const MAX_PARTS: usize = 100;

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
    /// It changed outside the parts that a run wrote, while that run lasted.
    ChangedDuringRun,
    /// Its mark is valid only for a part of it, and the plan changes more.
    PartlyIntact,
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
            MarkState::ChangedDuringRun => "that changed outside the tested part while fathom tested it",
            MarkState::PartlyIntact => "that may have changed outside the part that the last test wrote",
            MarkState::Unfinished => "that another run of fathom is writing to, or that a killed run left unfinished",
        }
    }
}

/// Checks the mark of an open file against the file. `parts_to_change` computes, from the length of
/// the file and of its random data, what the plan will change.
pub(super) fn inspect(file: &fs::File, parts_to_change: impl FnOnce(Bytes, Bytes) -> Vec<Range<u64>>) -> MarkState {
    let Some(text) = mark_store::load(file) else {
        return MarkState::Unmarked;
    };
    let Ok(stamp) = sys::file::file_stamp(file) else {
        return MarkState::Changed;
    };
    match Record::parse(&text) {
        Some(Record::Sealed(seal)) if seal.matches(file, &stamp) => {
            let random_len = seal.random_len;
            let changed = parts_to_change(Bytes(stamp.length), random_len);
            match subtract(&changed, &seal.parts_or_whole(stamp.length)).is_empty() {
                true => MarkState::Intact { random_len },
                false => MarkState::PartlyIntact,
            }
        }
        Some(Record::Writing { id, .. }) if id == stamp.id.to_string() => MarkState::Unfinished,
        Some(Record::ChangedDuringRun { id }) if id == stamp.id.to_string() => MarkState::ChangedDuringRun,
        _ => MarkState::Changed,
    }
}

/// The parts for which the mark of a file is valid.
pub(super) fn marked_parts(file: &fs::File) -> Vec<Range<u64>> {
    let length = file.metadata().map_or(0, |meta| meta.len());
    match load(file) {
        Some(Record::Sealed(seal)) => seal.parts_or_whole(length),
        _ => whole(length),
    }
}

/// Marks a file that changed outside the parts that a run wrote.
pub(super) fn mark_changed_during_run(file: &fs::File) -> io::Result<()> {
    let id = sys::file::file_stamp(file)?.id.to_string();
    save(file, &Record::ChangedDuringRun { id })
}

/// Marks a file as being written to. The first `random_len` bytes hold random data, and the run
/// keeps them random.
pub(super) fn begin(file: &fs::File, random_len: Bytes) -> io::Result<()> {
    let id = sys::file::file_stamp(file)?.id.to_string();
    save(file, &Record::Writing { id, random_len })
}

fn load(file: &fs::File) -> Option<Record> {
    Record::parse(&mark_store::load(file)?)
}

fn save(file: &fs::File, record: &Record) -> io::Result<()> {
    mark_store::save(file, &record.to_string())
}

/// Like [`begin`], but other processes may also write to the file. The smallest `random_len` of all
/// is kept.
pub(super) fn begin_shared(file: &fs::File, random_len: Bytes) -> io::Result<()> {
    let id = sys::file::file_stamp(file)?.id.to_string();
    let random_len = match load(file) {
        Some(Record::Writing {
            id: stored_id,
            random_len: smallest_len,
        }) if stored_id == id => random_len.min(smallest_len),
        _ => random_len,
    };
    save(file, &Record::Writing { id, random_len })
}

/// Seals a file that [`begin`] marked, for these parts. Changes before the returned time may go
/// undetected, because they can get a timestamp within the tolerance.
///
/// # Errors
/// The system's error, `TimedOut` if others keep changing the file, which then stays marked as
/// being written to, or `InvalidData` if they have changed what the run did not write.
pub(super) fn seal(file: &fs::File, parts: &[Range<u64>], unwritten: &UnwrittenParts) -> io::Result<Instant> {
    if !unwritten.parts().is_empty() {
        // Stores of another program into a mapped page change the times only if the page is clean.
        file.sync_data()?;
        // A change that is too late for the comparison gets a later time than the run's last write.
        thread::sleep(timestamp_margin(&sys::file::file_stamp(file)?));
    }
    for tolerance in CTIME_TOLERANCES {
        let before = sys::file::file_stamp(file)?;
        let digest = digest(file, before.length)?;
        if !unwritten.is_unchanged(file) {
            mark_changed_during_run(file)?;
            return Err(io::ErrorKind::InvalidData.into());
        }
        let Some(writing @ Record::Writing { random_len, .. }) = load(file) else {
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
            parts: match subtract(&whole(stamp.length), parts).is_empty() {
                true => Vec::new(),
                false => limit_parts(parts),
            },
        };
        save(file, &Record::Sealed(seal))?;
        if inspect(file, |_, _| Vec::new()) == (MarkState::Intact { random_len }) {
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

/// The parts that fit into a mark. For no part, an empty one, because no list means the whole file.
fn limit_parts(parts: &[Range<u64>]) -> Vec<Range<u64>> {
    match parts {
        [] => whole(0),
        parts => parts.iter().take(MAX_PARTS).cloned().collect(),
    }
}

/// Where the evenly spaced samples of a file start.
fn sample_starts(length: u64) -> impl Iterator<Item = u64> {
    let last = length.saturating_sub(SAMPLE_BYTES);
    (0..SAMPLES).map(move |number| (u128::from(last) * u128::from(number) / u128::from(SAMPLES - 1)) as u64)
}

/// A digest of all samples of a file.
fn digest(mut file: &fs::File, length: u64) -> io::Result<u64> {
    sys::file::disable_read_ahead(file);
    let mut hash = Xxh64::new(length);
    let mut sample = Vec::new();
    for start in sample_starts(length) {
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
    /// It changed outside the parts that a run wrote.
    ChangedDuringRun { id: String },
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
    /// The parts for which the mark is valid. None: the whole file.
    parts: Vec<Range<u64>>,
}

impl Seal {
    fn parts_or_whole(&self, length: u64) -> Vec<Range<u64>> {
        match self.parts.is_empty() {
            true => whole(length),
            false => self.parts.clone(),
        }
    }

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
            Record::ChangedDuringRun { id } => write!(f, "{VERSION} changed {id}"),
            Record::Sealed(seal) => {
                write!(
                    f,
                    "{VERSION} sealed {} {} {} {} {:016x}",
                    seal.random_len.0,
                    seal.stamp,
                    seal.changed_ns,
                    seal.tolerance.as_millis(),
                    seal.digest
                )?;
                for (number, part) in seal.parts.iter().enumerate() {
                    let separator = if number == 0 { ' ' } else { ',' };
                    write!(f, "{separator}{}-{}", part.start, part.end)?;
                }
                Ok(())
            }
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
            [VERSION, "changed", id] => Some(Record::ChangedDuringRun { id: id.to_owned() }),
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
                ref parts @ ..,
            ] => Some(Record::Sealed(Seal {
                random_len: bytes(random_len)?,
                stamp: format!("{id} {length} {modified}"),
                changed_ns: changed.parse().ok()?,
                tolerance: Duration::from_millis(tolerance.parse().ok()?),
                digest: u64::from_str_radix(digest, 16).ok()?,
                parts: match parts {
                    [] => Vec::new(),
                    [list] => parse_parts(list)?,
                    _ => return None,
                },
            })),
            _ => None,
        }
    }
}

fn parse_parts(list: &str) -> Option<Vec<Range<u64>>> {
    let number = |text: &str| text.parse::<u64>().ok();
    let parse = |part: &str| {
        let (start, end) = part.split_once('-')?;
        Some(number(start)?..number(end)?)
    };
    list.split(',').map(parse).collect()
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

    /// The state of the mark for a plan that changes the whole file.
    fn state(file: &fs::File) -> MarkState {
        inspect(file, |length, _| whole(length.0))
    }

    fn seal_whole(file: &fs::File) -> Instant {
        let length = file.metadata().unwrap().len();
        seal(file, &whole(length), &UnwrittenParts::default()).unwrap()
    }

    fn create_marked_file(path: &Path) -> fs::File {
        fs::write(path, vec![1u8; 100_000]).unwrap();
        let file = open(path);
        begin(&file, RANDOM).unwrap();
        assert_eq!(state(&file), MarkState::Unfinished);
        let stable_after = seal_whole(&file);
        thread::sleep(stable_after.saturating_duration_since(Instant::now()));
        file
    }

    #[test]
    fn a_mark_holds_until_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"data").unwrap();
        // Wine reuses the numbers of removed files, whose marks remain.
        let fresh = state(&open(&path));
        let is_left_over = |state| matches!(state, MarkState::Changed | MarkState::ChangedDuringRun);
        assert!(
            fresh == MarkState::Unmarked || cfg!(windows) && is_left_over(fresh),
            "{fresh:?}"
        );
        let intact = MarkState::Intact { random_len: RANDOM };
        let mut file = create_marked_file(&path);
        assert_eq!(state(&file), intact);
        fs::read(&path).unwrap();
        assert_eq!(state(&open(&path)), intact, "reading must not invalidate the mark");
        file.seek(SeekFrom::Start(50_000)).unwrap();
        file.write_all(&[1]).unwrap();
        assert_eq!(state(&file), MarkState::Changed, "the same byte was written again");
        begin(&file, RANDOM).unwrap();
        seal_whole(&file);
        assert_eq!(state(&file), intact, "renewed");
    }

    #[test]
    fn the_mark_of_another_file_is_invalid() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["file", "other"].map(|name| folder.path().join(name));
        let file = create_marked_file(&path);
        fs::write(&other, fs::read(&path).unwrap()).unwrap();
        mark_store::save(&open(&other), &mark_store::load(&file).unwrap()).unwrap();
        assert_eq!(state(&open(&other)), MarkState::Changed);
        begin(&file, RANDOM).unwrap();
        mark_store::save(&open(&other), &mark_store::load(&file).unwrap()).unwrap();
        assert_eq!(state(&open(&other)), MarkState::Changed);
    }

    #[test]
    fn a_mark_may_be_valid_for_a_part_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = create_marked_file(&folder.path().join("file"));
        begin(&file, RANDOM).unwrap();
        let part = || whole(4096);
        seal(&file, &part(), &UnwrittenParts::default()).unwrap();
        let intact = MarkState::Intact { random_len: RANDOM };
        assert_eq!(inspect(&file, |_, _| part()), intact);
        assert_eq!(inspect(&file, |_, _| Vec::new()), intact, "reading needs no mark");
        assert_eq!(inspect(&file, |_, _| whole(4097)), MarkState::PartlyIntact);
        assert_eq!(marked_parts(&file), part());
    }

    #[test]
    fn a_file_that_changed_outside_the_written_parts_is_not_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = create_marked_file(&folder.path().join("file"));
        let unwritten = UnwrittenParts::read(&file, subtract(&whole(100_000), &whole(4096))).unwrap();
        for (position, changes_rest) in [(0, false), (60_001, true)] {
            begin(&file, RANDOM).unwrap();
            file.seek(SeekFrom::Start(position)).unwrap();
            file.write_all(&[7]).unwrap();
            let sealed = seal(&file, &whole(100_000), &unwritten);
            assert_eq!(sealed.is_err(), changes_rest, "{position}: {sealed:?}");
        }
        assert_eq!(state(&file), MarkState::ChangedDuringRun);
    }

    #[test]
    fn concurrent_writers_keep_the_least_random_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = create_marked_file(&path);
        for random_len in [RANDOM, Bytes(0), RANDOM] {
            begin_shared(&file, random_len).unwrap();
        }
        seal_whole(&file);
        assert_eq!(state(&file), MarkState::Intact { random_len: Bytes(0) });
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
            "2 sealed 5 1:2@3 5 6 7 10 00000000000000ff 0-4096 8192-9000",
            "2 sealed 5 1:2@3 5 6 7 10 00000000000000ff 0-x",
        ] {
            assert_eq!(Record::parse(text), None, "{text}");
        }
        for text in [
            "2 sealed 5 1:2@3 5 6 7 10 00000000000000ff",
            "2 sealed 5 1:2@3 5 6 7 10 00000000000000ff 0-4096,8192-9000",
            "2 changed 1:2@3",
        ] {
            assert_eq!(Record::parse(text).unwrap().to_string(), text);
        }
    }
}
