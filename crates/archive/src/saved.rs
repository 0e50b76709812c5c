//! The saved form of results and studies: JSON, compressed above 1 MiB.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use model::results::{FORMAT_VERSION, Results};
use model::study::Study;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::atomic::write_whole;

/// Longer files are compressed.
const COMPRESS_ABOVE: usize = 1 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The largest unpacked size accepted.
const MAX_UNPACKED: u64 = 1 << 30;

/// The highest compression ratio accepted: a small file that unpacks to gigabytes was made to
/// exhaust memory.
const MAX_RATIO: u64 = 1000;

/// The ratio is not checked below this unpacked size.
const MIN_LIMIT: u64 = 64 << 20;

/// Why a saved result could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The system refused.
    #[error("cannot {verb} {path}: {source}")]
    System {
        /// `read` or `write`.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not a saved result.
    #[error("{path} is not a saved result of fathom: {why}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It is one run where several were wanted.
    #[error("{path} holds one run and no study: sweeps and comparisons in turns save studies")]
    NoStudy {
        /// The file.
        path: PathBuf,
    },
    /// It was made by a version whose files this one does not know.
    #[error("{path} has format {found}, which {}", version_words(*.found))]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
}

fn version_words(found: u64) -> String {
    if found > u64::from(FORMAT_VERSION) {
        format!(
            "is newer than this version reads: it knows format {FORMAT_VERSION}; use the version of fathom that made \
             the file, or a newer one"
        )
    } else {
        format!("this version does not read: it knows format {FORMAT_VERSION}")
    }
}

/// What a saved file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    /// One run.
    Run(Box<Results>),
    /// Several.
    Study(Box<Study>),
}

/// Writes results to a file, which appears whole or not at all.
///
/// # Errors
/// [`ArchiveError::System`].
pub fn save(results: &Results, path: &Path) -> Result<(), ArchiveError> {
    write(results, path)
}

/// Writes a study to a file, which appears whole or not at all.
///
/// # Errors
/// [`ArchiveError::System`].
pub fn save_study(study: &Study, path: &Path) -> Result<(), ArchiveError> {
    write(study, path)
}

fn write<T: Serialize>(what: &T, path: &Path) -> Result<(), ArchiveError> {
    let failed = |source| ArchiveError::System {
        verb: "write",
        path: path.to_owned(),
        source,
    };
    let mut bytes = text_of(what).map_err(failed)?;
    if is_long(&bytes) {
        bytes = compressed(&bytes).map_err(failed)?;
    }
    write_whole(path, &bytes).map_err(failed)
}

/// The text of a saved file.
pub(crate) fn text_of<T: Serialize>(what: &T) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(what)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Whether a text is compressed in files.
pub(crate) fn is_long(text: &[u8]) -> bool {
    text.len() > COMPRESS_ABOVE
}

pub(crate) fn compressed(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text)?;
    packed.finish()
}

/// Reads a saved result of this format version or the one before.
///
/// # Errors
/// [`ArchiveError`], with what is wrong with the file.
pub fn load(path: &Path) -> Result<Results, ArchiveError> {
    only_run(load_any(path)?, path)
}

fn only_run(saved: Saved, path: &Path) -> Result<Results, ArchiveError> {
    match saved {
        Saved::Run(results) => Ok(*results),
        Saved::Study(study) => Err(ArchiveError::Foreign {
            path: path.to_owned(),
            why: format!("it holds a study of {} runs", study.runs.len()),
        }),
    }
}

/// Reads a saved study of this format version or the one before.
///
/// # Errors
/// [`ArchiveError`], with what is wrong with the file.
pub fn load_study(path: &Path) -> Result<Study, ArchiveError> {
    only_study(load_any(path)?, path)
}

/// A saved study from bytes that were read already; `path` is only named in errors.
///
/// # Errors
/// [`ArchiveError`], with what is wrong with them.
pub fn load_study_bytes(bytes: &[u8], path: &Path) -> Result<Study, ArchiveError> {
    only_study(unpacked(bytes, path)?, path)
}

fn only_study(saved: Saved, path: &Path) -> Result<Study, ArchiveError> {
    match saved {
        Saved::Study(study) if study.runs.is_empty() => Err(ArchiveError::Foreign {
            path: path.to_owned(),
            why: "it holds a study without runs".into(),
        }),
        Saved::Study(study) => Ok(*study),
        Saved::Run(_) => Err(ArchiveError::NoStudy { path: path.to_owned() }),
    }
}

/// Reads whatever this program has saved.
///
/// # Errors
/// [`ArchiveError`], with what is wrong with the file.
pub fn load_any(path: &Path) -> Result<Saved, ArchiveError> {
    let failed = |source| ArchiveError::System {
        verb: "read",
        path: path.to_owned(),
        source,
    };
    unpacked(&fs::read(path).map_err(failed)?, path)
}

/// Whether bytes are meant to be a saved result of ours, judged by how they begin.
pub fn is_saved(bytes: &[u8]) -> bool {
    /// The version is the first key of the document.
    const LOOKED_AT: usize = 200;
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOKED_AT)]);
    bytes.starts_with(&GZIP_MAGIC) || head.trim_start().starts_with('{') && head.contains("\"format_version\"")
}

/// A saved result from bytes that were read already; `path` is only named in errors.
///
/// # Errors
/// [`ArchiveError`], with what is wrong with them.
pub fn load_bytes(bytes: &[u8], path: &Path) -> Result<Results, ArchiveError> {
    only_run(unpacked(bytes, path)?, path)
}

/// Whatever this program has saved, from bytes that were read already; `path` is only named in
/// errors.
///
/// # Errors
/// [`ArchiveError`], with what is wrong with them.
pub fn load_any_bytes(bytes: &[u8], path: &Path) -> Result<Saved, ArchiveError> {
    unpacked(bytes, path)
}

fn unpacked(bytes: &[u8], path: &Path) -> Result<Saved, ArchiveError> {
    let foreign = |why: String| ArchiveError::Foreign {
        path: path.to_owned(),
        why,
    };
    let mut bytes = Cow::Borrowed(bytes);
    if bytes.starts_with(&GZIP_MAGIC) {
        bytes = Cow::Owned(unpack(&bytes).map_err(|error| foreign(error.to_string()))?);
    }
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| {
        foreign(match bytes.trim_ascii_start().first() {
            None => "it is empty".into(),
            Some(b'{' | b'[') => error.to_string(),
            Some(_) => "its content is not JSON".into(),
        })
    })?;
    let version = value.get("format_version").and_then(Value::as_u64);
    let version = version.ok_or_else(|| foreign("it has no format_version".into()))?;
    let value = migrate(value, version).ok_or_else(|| ArchiveError::Version {
        path: path.to_owned(),
        found: version,
    })?;
    match value.get("kind").and_then(Value::as_str) {
        Some("summary") => Err(foreign(
            "it is a summary (`--out json`), which has the figures of a report and not what they were made from".into(),
        )),
        Some("study") => read(value).map(Saved::Study).map_err(foreign),
        _ => read(value).map(Saved::Run).map_err(foreign),
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<Box<T>, String> {
    serde_json::from_value(value)
        .map(Box::new)
        .map_err(|error| error.to_string())
}

/// Raises a result of the format before to the present one. There is none before the first.
fn migrate(value: Value, version: u64) -> Option<Value> {
    (version == u64::from(FORMAT_VERSION)).then_some(value)
}

pub(crate) fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let max = (bytes.len() as u64 * MAX_RATIO).clamp(MIN_LIMIT, MAX_UNPACKED);
    let mut out = Vec::new();
    GzDecoder::new(bytes).take(max + 1).read_to_end(&mut out)?;
    match out.len() as u64 > max {
        true => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it holds more than {} MiB, the limit for a file of its size", max >> 20),
        )),
        false => Ok(out),
    }
}
