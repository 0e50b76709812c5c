//! Where everything goes that is told: the terminal, or the file of `--output`, errors among it.

use std::fs::File;
use std::io::{self, Write};

use super::super::{complain, tell, text_mode};

/// Everything that is told.
#[derive(Debug)]
pub(super) struct Output {
    file: Option<File>,
    failed: Option<io::Error>,
}

impl Output {
    pub(super) fn new(file: Option<File>) -> Output {
        Output { file, failed: None }
    }

    /// A line of the report, or of information.
    pub(super) fn line(&mut self, line: &str) {
        self.put(&format!("{line}\n"));
    }

    /// An error or a warning.
    pub(super) fn complaint(&mut self, line: &str) {
        match &self.file {
            Some(_) => self.line(line),
            None => complain(&[line.to_owned()]),
        }
    }

    /// A report, written whole or not at all by one call.
    pub(super) fn bytes(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let mut bytes = Vec::new();
        let written = write(&mut bytes);
        debug_assert!(written.is_ok(), "a vector takes everything");
        self.put(&String::from_utf8_lossy(&bytes));
    }

    fn put(&mut self, text: &str) {
        let written = match &mut self.file {
            Some(file) => file.write_all(text_mode(text).as_bytes()),
            None => tell(text),
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
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
