//! The complete result in an entry: always compressed, and given out as a saved file has it.

use std::path::Path;

use super::entry::Subject;
use super::error::HistoryError;
use crate::ArchiveError;
use crate::saved::{self, Saved};

/// Compressed, whatever its length.
pub(super) fn packed(subject: Subject<'_>, path: &Path) -> Result<Vec<u8>, HistoryError> {
    let failed = |source| HistoryError::System {
        verb: "compress a result for",
        path: path.to_owned(),
        source,
    };
    let text = match subject {
        Subject::Run(results) => saved::text_of(results),
        Subject::Study(study) => saved::text_of(study),
    };
    saved::compressed(&text.map_err(failed)?).map_err(failed)
}

/// As a saved file has it.
pub(super) fn saved_form(packed: &[u8], path: &Path) -> Result<Vec<u8>, HistoryError> {
    let damaged = |error: std::io::Error| HistoryError::Damaged {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let text = saved::unpack(packed).map_err(damaged)?;
    Ok(match saved::is_long(&text) {
        true => packed.to_vec(),
        false => text,
    })
}

/// What it says.
pub(super) fn read(bytes: &[u8], path: &Path) -> Result<Saved, HistoryError> {
    saved::load_any_bytes(bytes, path).map_err(ArchiveError::into)
}
