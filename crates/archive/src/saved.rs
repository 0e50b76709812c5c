//! The saved form of results and studies: JSON, compressed above 1 MiB.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use json::Json;
use model::results::{FORMAT_VERSION, Results};
use model::study::Study;
use serde::Deserialize;
use serde_json::Value;

use crate::atomic::write_whole;
use crate::bounds;

/// Longer files are compressed.
const COMPRESS_ABOVE: usize = 1 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The largest unpacked size accepted.
const MAX_UNPACKED: u64 = 1 << 30;

/// The highest compression ratio accepted: a small file that unpacks to gigabytes is an attempt to
/// exhaust memory.
const MAX_RATIO: u64 = 1000;

/// Minimum unpacked size for the ratio to be checked.
const MIN_RATIO_CHECK_BYTES: u64 = 64 << 20;

/// The reason why a saved result could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// An operation on a file failed.
    #[error("cannot {verb} {path}: {source}")]
    System {
        /// The operation that failed.
        verb: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not a saved result.
    #[error("{path} is not a saved result of fathom: {why}")]
    Foreign {
        /// Path of the file.
        path: PathBuf,
        /// The problem in its content.
        why: String,
    },
    /// It holds one run, but a study is needed.
    #[error("{path} holds one run, not a study: sweeps and A/B comparisons save studies")]
    NotStudy {
        /// Path of the file.
        path: PathBuf,
    },
    /// Its format version is unknown to this program.
    #[error("{path} has format {found}, which {}", describe_version(*.found))]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// Format version.
        found: u64,
    },
}

/// Turns errors of the system into those of an operation on a file.
pub(crate) fn failed_to<'a>(verb: &'static str, path: &'a Path) -> impl Fn(io::Error) -> ArchiveError + Copy + use<'a> {
    move |source| ArchiveError::System {
        verb,
        path: path.to_owned(),
        source,
    }
}

fn describe_version(version: u64) -> String {
    if version > u64::from(FORMAT_VERSION) {
        format!(
            "is newer than format {FORMAT_VERSION} of this version; use the version of fathom that wrote the \
             file, or a newer one"
        )
    } else {
        format!("this version does not read: it knows format {FORMAT_VERSION}")
    }
}

/// The content of a saved file.
#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    /// One run.
    Run(Box<Results>),
    /// Several runs.
    Study(Box<Study>),
}

/// Writes results to a file atomically.
///
/// # Errors
/// [`ArchiveError::System`] if the file cannot be written.
pub fn save(results: &Results, path: &Path) -> Result<(), ArchiveError> {
    write(results, path)
}

/// Writes a study to a file atomically.
///
/// # Errors
/// [`ArchiveError::System`] if the file cannot be written.
pub fn save_study(study: &Study, path: &Path) -> Result<(), ArchiveError> {
    write(study, path)
}

fn write<T: Json>(value: &T, path: &Path) -> Result<(), ArchiveError> {
    let failed = failed_to("write", path);
    let mut bytes = to_json(value).map_err(failed)?;
    if is_long(&bytes) {
        bytes = compress(&bytes).map_err(failed)?;
    }
    write_whole(path, &bytes).map_err(failed)
}

/// The text of a saved file.
pub(crate) fn to_json<T: Json>(value: &T) -> io::Result<Vec<u8>> {
    let text: Box<str> = value.to_json()?.into();
    Ok((text.into_string() + "\n").into_bytes())
}

/// True if saved files of this text are compressed.
pub(crate) fn is_long(text: &[u8]) -> bool {
    text.len() > COMPRESS_ABOVE
}

pub(crate) fn compress(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text)?;
    packed.finish()
}

/// Reads a saved result of this format version or the one before.
///
/// # Errors
/// [`ArchiveError`] if the file cannot be read, or is not a saved result or study of a known
/// version.
pub fn load(path: &Path) -> Result<Results, ArchiveError> {
    expect_run(load_any(path)?, path)
}

fn expect_run(saved: Saved, path: &Path) -> Result<Results, ArchiveError> {
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
/// [`ArchiveError`] if the file cannot be read, or is not a saved result or study of a known
/// version.
pub fn load_study(path: &Path) -> Result<Study, ArchiveError> {
    expect_study(load_any(path)?, path)
}

/// Parses a saved study; `path` is only for errors.
///
/// # Errors
/// [`ArchiveError`] if the bytes are not a saved result or study of a known version.
pub fn load_study_bytes(bytes: &[u8], path: &Path) -> Result<Study, ArchiveError> {
    expect_study(load_any_bytes(bytes, path)?, path)
}

fn expect_study(saved: Saved, path: &Path) -> Result<Study, ArchiveError> {
    match saved {
        Saved::Study(study) if study.runs.is_empty() => Err(ArchiveError::Foreign {
            path: path.to_owned(),
            why: "it holds a study without runs".into(),
        }),
        Saved::Study(study) => Ok(*study),
        Saved::Run(_) => Err(ArchiveError::NotStudy { path: path.to_owned() }),
    }
}

/// Reads a saved result or study.
///
/// # Errors
/// [`ArchiveError`] if the file cannot be read, or is not a saved result or study of a known
/// version.
pub fn load_any(path: &Path) -> Result<Saved, ArchiveError> {
    load_any_bytes(&fs::read(path).map_err(failed_to("read", path))?, path)
}

/// The version, the first key of a document, is within this length.
const HEAD_BYTES: usize = 200;

/// True if the first bytes look like a saved result or study.
pub fn is_saved(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]);
    bytes.starts_with(&GZIP_MAGIC) || head.trim_start().starts_with('{') && head.contains("\"format_version\"")
}

/// As [`is_saved`], but looks into compressed files: a file of another program may be compressed,
/// too.
pub fn is_saved_head(head: &[u8]) -> bool {
    if !head.starts_with(&GZIP_MAGIC) {
        return is_saved(head);
    }
    let mut unpacked = Vec::new();
    // The end of the head is not the end of the compressed data, which is an error here.
    let _ = GzDecoder::new(head).take(HEAD_BYTES as u64).read_to_end(&mut unpacked);
    !unpacked.starts_with(&GZIP_MAGIC) && is_saved(&unpacked)
}

/// Parses a saved result; `path` is only for errors.
///
/// # Errors
/// [`ArchiveError`] if the bytes are not a saved result or study of a known version.
pub fn load_bytes(bytes: &[u8], path: &Path) -> Result<Results, ArchiveError> {
    expect_run(load_any_bytes(bytes, path)?, path)
}

/// Parses a saved result or study; `path` is only for errors.
///
/// # Errors
/// [`ArchiveError`] if the bytes are not a saved result or study of a known version.
pub fn load_any_bytes(bytes: &[u8], path: &Path) -> Result<Saved, ArchiveError> {
    let foreign = |why: String| ArchiveError::Foreign {
        path: path.to_owned(),
        why,
    };
    let mut bytes = Cow::Borrowed(bytes);
    if bytes.starts_with(&GZIP_MAGIC) {
        bytes = Cow::Owned(decompress(&bytes).map_err(|error| foreign(error.to_string()))?);
    }
    let no_version = || "it has no format_version".to_owned();
    match bytes.trim_ascii_start().first() {
        None => return Err(foreign("it is empty".into())),
        Some(b'{') => {}
        Some(b'[') => return Err(foreign(no_version())),
        Some(_) => return Err(foreign("its content is not JSON".into())),
    }
    let header: Header = serde_json::from_slice(&bytes).map_err(|error| foreign(error.to_string()))?;
    match header.format_version.as_u64() {
        None => return Err(foreign(no_version())),
        Some(version) if version != u64::from(FORMAT_VERSION) => {
            let path = path.to_owned();
            return Err(ArchiveError::Version { path, found: version });
        }
        Some(_) => {}
    }
    match header.kind.as_str() {
        Some("summary") => Err(foreign(
            "it is a summary (`--out json`), which lacks the measurements".into(),
        )),
        Some("study") => read(&bytes).and_then(check_study).map(Saved::Study).map_err(foreign),
        _ => read(&bytes).and_then(check_run).map(Saved::Run).map_err(foreign),
    }
}

fn check_run(results: Box<Results>) -> Result<Box<Results>, String> {
    bounds::check_intervals(&results).map(|()| results)
}

fn check_study(study: Box<Study>) -> Result<Box<Study>, String> {
    for (number, run) in study.runs.iter().enumerate() {
        bounds::check_intervals(&run.results).map_err(|why| format!("runs[{number}].results.{why}"))?;
    }
    Ok(study)
}

/// The fields that identify the kind and version of a document.
#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    format_version: Value,
    #[serde(default)]
    kind: Value,
}

fn read<T: Json>(bytes: &[u8]) -> Result<Box<T>, String> {
    bounds::check_numbers(bytes)
        .and_then(|()| Box::from_json(bytes))
        .map_err(|error| error.to_string())
}

pub(crate) fn decompress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let max = (bytes.len() as u64 * MAX_RATIO).clamp(MIN_RATIO_CHECK_BYTES, MAX_UNPACKED);
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
