//! Files that are made under a name of the user's, for the test alone.

use std::path::{Path, PathBuf};

use ::run::targets::TempFile;
use model::event::Event;

/// Named files that were not there before. Dropping it removes those that the test has made.
#[derive(Debug)]
pub(super) struct MadeFiles {
    missing: Vec<PathBuf>,
    held: Vec<TempFile>,
}

impl MadeFiles {
    /// The paths at which there is nothing yet.
    pub(super) fn missing_among(paths: &[String]) -> MadeFiles {
        let missing = paths.iter().map(PathBuf::from);
        MadeFiles {
            missing: missing
                .filter(|path| std::fs::symlink_metadata(path).is_err())
                .collect(),
            held: Vec::new(),
        }
    }

    /// Sees what a run does: a file that was made is held from then on.
    pub(super) fn take(&mut self, event: &Event) {
        let Event::Prepared { target, .. } = event else { return };
        let Some(index) = self.missing.iter().position(|path| path == Path::new(target)) else {
            return;
        };
        // A file that cannot be held stays behind; its name was printed when it was made.
        if let Ok(file) = TempFile::adopt(&self.missing.swap_remove(index)) {
            self.held.push(file);
        }
    }
}
