//! The output directory: its files, and the earlier files that may be replaced.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use engine::sys::file::try_lock_for_writing;
use jiff::Zoned;

use super::super::print_stdout;

/// The first line of every file of Vdbench.
const MARK: &str = "<title>Vdbench ";

/// Files that always have these names.
pub const STANDARD: &[&str] = &[
    "summary", "totals", "flatfile", "histogram", "logfile", "errorlog", "parmfile", "status", "skew", "anchors",
];

/// An output directory with its open files.
#[derive(Debug)]
pub struct Output {
    pub folder: PathBuf,
    title_path: String,
    files: BTreeMap<String, File>,
    /// Locked, so that another run does not remove the files. Windows opens no directories.
    _lock: Option<File>,
    /// The first error of writing a file.
    pub failed: Option<String>,
    /// The first error of printing a line. The run continues, because the files have the line too.
    console_error: Option<String>,
}

/// Returns the current time in Vdbench's format.
pub fn time() -> String {
    Zoned::now().strftime("%H:%M:%S.%3f").to_string()
}

/// Returns the date for column headers.
pub fn date() -> String {
    Zoned::now().strftime("%b %d, %Y").to_string()
}

/// Returns the current time in the format of the flat file and the status file.
pub fn timestamp() -> String {
    Zoned::now().strftime("%m/%d/%Y-%H:%M:%S-%Z").to_string()
}

/// Resolves the directory of `-o`: a final `+` becomes the next free number, `.tod` the time.
fn resolve_folder(name: &str) -> PathBuf {
    if let Some(stem) = name.strip_suffix('+') {
        let free = (1..=999)
            .map(|number| PathBuf::from(format!("{stem}{number:03}")))
            .find(|path| !path.exists());
        return free.unwrap_or_else(|| PathBuf::from(stem));
    }
    match name.strip_suffix(".tod") {
        Some(stem) => PathBuf::from(format!("{stem}.{}", Zoned::now().strftime("%y%m%d.%H%M%S"))),
        None => PathBuf::from(name),
    }
}

impl Output {
    /// Creates the directory, or removes Vdbench's files from an existing one. The second value is
    /// true if the directory is new.
    ///
    /// # Errors
    /// It cannot be created or cleaned.
    pub fn open(name: &str) -> Result<(Output, bool), String> {
        let path = resolve_folder(name);
        let fail = |error: io::Error| format!("cannot use the output directory {}: {error}", path.display());
        let is_new = match fs::create_dir(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => false,
            Err(error) => return Err(fail(error)),
        };
        let folder = fs::canonicalize(&path).map_err(fail)?;
        let lock = File::open(&folder).ok();
        // A file system without locks is trusted.
        if let Some(Err(error)) = lock.as_ref().map(|folder| try_lock_for_writing(folder, false))
            && error.kind() == io::ErrorKind::WouldBlock
        {
            return Err(fail(io::Error::other("another run writes to it")));
        }
        if !is_new {
            for entry in fs::read_dir(&folder).map_err(fail)?.flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "html") && is_vdbench_file(&path) {
                    fs::remove_file(&path).map_err(fail)?;
                }
            }
        }
        let title_path = path.display().to_string();
        Ok((
            Output {
                folder,
                title_path,
                files: BTreeMap::new(),
                _lock: lock,
                failed: None,
                console_error: None,
            },
            is_new,
        ))
    }

    /// Creates a file. `name` is without `.html`.
    ///
    /// # Errors
    /// A file of this name exists that Vdbench did not write, or it cannot be created.
    pub fn create(&mut self, name: &str, lines: &[String]) -> Result<(), String> {
        let path = self.folder.join(format!("{name}.html"));
        // A run on a full file system leaves an empty file.
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0) {
            let _ = fs::remove_file(&path);
        }
        let made = File::options().write(true).create_new(true).open(&path);
        let file = made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => format!(
                "cannot write {}: Vdbench did not write the file that is there; remove it, or give another directory \
                 (`-o`)",
                path.display()
            ),
            _ => format!("cannot write {}: {error}", path.display()),
        })?;
        self.files.insert(name.to_owned(), file);
        self.write(
            name,
            &format!("{MARK}{}/{name}.html</title><pre>", self.title_path.clone()),
        );
        self.write_lines(name, lines);
        Ok(())
    }

    /// Appends a line to a file of this run.
    pub fn write(&mut self, name: &str, line: &str) {
        let Some(file) = self.files.get_mut(name) else {
            return;
        };
        if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
            self.failed.get_or_insert(format!("cannot write {name}.html: {error}"));
        }
    }

    pub fn write_lines(&mut self, name: &str, lines: &[String]) {
        lines.iter().for_each(|line| self.write(name, line));
    }

    /// Prints a line on the console and in the log file.
    pub fn print_line(&mut self, line: &str) {
        if let Err(error) = print_stdout(&format!("{line}\n")) {
            self.console_error
                .get_or_insert(format!("cannot write to standard output: {error}"));
        }
        self.write("logfile", line);
    }

    /// Fails with the first error of a file or of the console.
    pub fn check(&mut self) -> Result<(), String> {
        self.failed
            .take()
            .or_else(|| self.console_error.take())
            .map_or(Ok(()), Err)
    }

    /// Prints a line that begins with the time.
    pub fn print_stamped(&mut self, text: &str) {
        self.print_line(&format!("{} {text}", time()));
    }
}

/// True if a file begins like Vdbench's files. Other files are not removed.
fn is_vdbench_file(path: &Path) -> bool {
    let mut start = vec![0; MARK.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == MARK.as_bytes()
}
