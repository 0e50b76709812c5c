//! The output directory: its files, and which earlier ones may be replaced.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use jiff::Zoned;

use super::super::print_stdout;

/// The first line of every file of Vdbench.
const MARK: &str = "<title>Vdbench ";

/// Files that always have these names.
pub const STANDARD: &[&str] = &[
    "summary", "totals", "flatfile", "histogram", "logfile", "errorlog", "parmfile", "status", "skew",
];

/// An output directory with its open files.
#[derive(Debug)]
pub struct Output {
    /// Its whole path.
    pub folder: PathBuf,
    shown: String,
    files: BTreeMap<String, File>,
    /// The first file that could not be written, and why.
    pub failed: Option<String>,
}

/// The moment as Vdbench writes it.
pub fn time() -> String {
    Zoned::now().strftime("%H:%M:%S.%3f").to_string()
}

/// The day above columns.
pub fn date() -> String {
    Zoned::now().strftime("%b %d, %Y").to_string()
}

/// The moment in the flat file and in the status file.
pub fn timestamp() -> String {
    Zoned::now().strftime("%m/%d/%Y-%H:%M:%S-%Z").to_string()
}

/// The directory that `-o` means: `+` at its end stands for the next free number, `.tod` for the
/// time.
fn resolve(name: &str) -> PathBuf {
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
    /// Makes the directory, or removes Vdbench's own files from one that is there. The second value
    /// is true if it was made.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(name: &str) -> Result<(Output, bool), String> {
        let path = resolve(name);
        let fail = |error: io::Error| format!("cannot use the output directory {}: {error}", path.display());
        let is_new = match fs::create_dir(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => false,
            Err(error) => return Err(fail(error)),
        };
        let folder = fs::canonicalize(&path).map_err(fail)?;
        if !is_new {
            for entry in fs::read_dir(&folder).map_err(fail)?.flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "html") && is_ours(&path) {
                    fs::remove_file(&path).map_err(fail)?;
                }
            }
        }
        let shown = path.display().to_string();
        Ok((
            Output {
                folder,
                shown,
                files: BTreeMap::new(),
                failed: None,
            },
            is_new,
        ))
    }

    /// Begins a file, without its `.html`.
    ///
    /// # Errors
    /// A file of that name that Vdbench has not written, or why it cannot be made.
    pub fn create(&mut self, name: &str, lines: &[String]) -> Result<(), String> {
        let path = self.folder.join(format!("{name}.html"));
        let made = File::options().write(true).create_new(true).open(&path);
        let file = made.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        self.files.insert(name.to_owned(), file);
        self.write(name, &format!("{MARK}{}/{name}.html</title><pre>", self.shown.clone()));
        lines.iter().for_each(|line| self.write(name, line));
        Ok(())
    }

    /// Adds a line to a file, if it is one of this run.
    pub fn write(&mut self, name: &str, line: &str) {
        let Some(file) = self.files.get_mut(name) else {
            return;
        };
        if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
            self.failed.get_or_insert(format!("cannot write {name}.html: {error}"));
        }
    }

    /// A line on the console and in the log file.
    pub fn print_line(&mut self, line: &str) {
        // A reader that has gone away does not end a run.
        let _ = print_stdout(&format!("{line}\n"));
        self.write("logfile", line);
    }

    /// The same with the time in front.
    pub fn print_stamped(&mut self, text: &str) {
        self.print_line(&format!("{} {text}", time()));
    }
}

/// A file that begins as those of Vdbench do. Any other page stays.
fn is_ours(path: &Path) -> bool {
    let mut start = vec![0; MARK.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == MARK.as_bytes()
}
