//! Named target files that the test creates and removes.

use std::path::{Path, PathBuf};

use ::run::targets::TempFile;
use model::event::Event;

/// Targets that did not exist before the test. Dropping this removes those that the test created.
#[derive(Debug)]
pub(super) struct CreatedFiles {
    missing: Vec<PathBuf>,
    files: Vec<TempFile>,
}

impl CreatedFiles {
    /// Remembers the paths that do not exist yet.
    pub(super) fn for_missing(paths: &[String]) -> CreatedFiles {
        let missing = paths.iter().map(PathBuf::from);
        CreatedFiles {
            missing: missing
                .filter(|path| std::fs::symlink_metadata(path).is_err())
                .collect(),
            files: Vec::new(),
        }
    }

    /// Takes ownership of a target file when a run has created it.
    pub(super) fn handle_event(&mut self, event: &Event) {
        let Event::Prepared { target, .. } = event else { return };
        let Some(index) = self.missing.iter().position(|path| path == Path::new(target)) else {
            return;
        };
        // A file that cannot be opened is not removed; its name was printed when it was created.
        if let Ok(file) = TempFile::adopt(&self.missing.swap_remove(index)) {
            self.files.push(file);
        }
    }
}
