//! The complete result in an entry: stored compressed, and returned in the form of a saved file.

use std::path::Path;

use super::entry::Subject;
use super::error::HistoryError;
use crate::ArchiveError;
use crate::saved::{self, Saved};

/// Compresses a result of any length.
pub(super) fn compress(subject: Subject<'_>, path: &Path) -> Result<Vec<u8>, HistoryError> {
    let failed = |source| HistoryError::System {
        verb: "compress a result for",
        path: path.to_owned(),
        source,
    };
    let text = match subject {
        Subject::Run(results) => saved::to_json(results),
        Subject::Study(study) => saved::to_json(study),
    };
    saved::compress(&text.map_err(failed)?).map_err(failed)
}

/// Converts a compressed result to the form of a saved file.
pub(super) fn to_saved_form(packed: &[u8], path: &Path) -> Result<Vec<u8>, HistoryError> {
    let damaged = |error: std::io::Error| HistoryError::Damaged {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let text = saved::decompress(packed).map_err(damaged)?;
    Ok(match saved::is_long(&text) {
        true => packed.to_vec(),
        false => text,
    })
}

/// Parses a result.
pub(super) fn read(bytes: &[u8], path: &Path) -> Result<Saved, HistoryError> {
    saved::load_any_bytes(bytes, path).map_err(ArchiveError::into)
}
