//! Where all output goes: the terminal, or the file of `--output`, errors among it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::super::{complain, tell, text_mode};

/// Everything that is printed.
#[derive(Debug)]
pub(super) struct Output {
    to: Destination,
    /// Lines of information are printed: not where the report is JSON alone, so that programs find
    /// a document and nothing else.
    informs: bool,
    failed: Option<io::Error>,
}

#[derive(Debug)]
enum Destination {
    /// stdout, and stderr for complaints.
    Terminal,
    /// A file that is written as things are reported: a pipe, or a report that is renewed during
    /// the run.
    Direct(File),
    /// A file that appears whole at the end or not at all, so that half a document is never read.
    Whole { path: PathBuf, bytes: Vec<u8> },
}

/// True if a file can be put in place of what is at a path: nothing, or a regular file in a folder
/// that takes another one.
fn can_replace(path: &Path) -> bool {
    // These names lead to files that another process has open.
    if ["/dev", "/proc"].iter().any(|special| path.starts_with(special)) {
        return false;
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let regular = fs::metadata(path).map_or(true, |meta| meta.is_file());
    regular && tempfile::tempfile_in(folder.unwrap_or(Path::new("."))).is_ok()
}

impl Output {
    /// The file, if there is one; `renewed` says that reports are written during the run.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub(super) fn new(file: Option<PathBuf>, renewed: bool) -> io::Result<Output> {
        let to = match file {
            None => Destination::Terminal,
            Some(path) if !renewed && can_replace(&path) => Destination::Whole {
                path,
                bytes: Vec::new(),
            },
            Some(path) => Destination::Direct(File::create(path)?),
        };
        Ok(Output {
            to,
            informs: true,
            failed: None,
        })
    }

    /// From now on lines of information are left out.
    pub(super) fn keep_to_reports(&mut self) {
        self.informs = false;
    }

    /// A line of information.
    pub(super) fn line(&mut self, line: &str) {
        if self.informs {
            self.put(&format!("{line}\n"));
        }
    }

    /// A line about an error that fio has on stdout. Where nothing but reports stands there it is a
    /// complaint like others.
    pub(super) fn error_line(&mut self, line: &str) {
        match self.informs {
            true => self.line(line),
            false => self.complaint(line),
        }
    }

    /// An error or a warning. With a file it stands there as well as on stderr, as with fio.
    pub(super) fn complaint(&mut self, line: &str) {
        complain(&[line.to_owned()]);
        match &self.to {
            Destination::Direct(_) | Destination::Whole { .. } => self.put(&format!("{line}\n")),
            Destination::Terminal => {}
        }
    }

    /// What to do about an error: a line that fio does not have, so it is kept out of files that
    /// are read by programs.
    #[expect(clippy::unused_self, reason = "all output goes this way")]
    pub(super) fn hint(&self, text: &str) {
        complain(&[format!("hint: {text}")]);
    }

    /// A report, written whole or not at all by one call.
    pub(super) fn bytes(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let mut bytes = Vec::new();
        let written = write(&mut bytes);
        debug_assert!(written.is_ok(), "a vector takes everything");
        self.put(&String::from_utf8_lossy(&bytes));
    }

    fn put(&mut self, text: &str) {
        let written = match &mut self.to {
            Destination::Direct(file) => file.write_all(text_mode(text).as_bytes()),
            Destination::Whole { bytes, .. } => {
                bytes.extend(text_mode(text).as_bytes());
                Ok(())
            }
            Destination::Terminal => tell(text),
        };
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }

    /// The first error of all that was written.
    ///
    /// # Errors
    /// That one.
    pub(super) fn close(mut self) -> io::Result<()> {
        if let Destination::Whole { path, bytes } = &self.to {
            archive::write_whole(path, bytes)?;
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
