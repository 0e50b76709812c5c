//! Files that users ask for: reports, pages and saved results. One rule applies to all of them: an
//! existing file is replaced only if it is empty or fathom wrote it.
//!
//! Most formats are recognised by their beginning. The formats of other tools, texts that users
//! edit and some tables have no such beginning, so fathom marks these files with an extended
//! attribute. The mark contains the length and the time of the last change. So a file that was
//! changed since is not recognised.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use engine::sys;
use model::results::Results;
use model::study::Study;
use report::html;

use crate::fault::{Fault, Faults};
use crate::user_file;

/// The mark of a file whose beginning is not enough.
const ATTRIBUTE: &str = "user.fathom.report";
/// How much of a file is read to recognise it.
const HEAD_BYTES: u64 = 4096;

/// The beginnings of formats of fathom, each with text that the first line also contains.
const BEGINNINGS: [(&str, &str); 12] = [
    ("fathom ", ", seed "),
    ("fathom ", ", in the format of fio-"),
    ("# TYPE fathom_", ""),
    ("{\"event\":", ""),
    ("step,job,", ",name"),
    ("test,job,host,targets,", ""),
    ("workload,verdict,required,", ""),
    ("job,place,result,figure,", ""),
    ("figure,a,b,ratio,", ""),
    ("entry,started,kind,name,", ""),
    ("round,read_percent,block_bytes,", ""),
    ("", ",order,in_flight,iops,iops_half_width,"),
];

/// Refuses to replace a file that fathom did not write.
///
/// # Errors
/// `AlreadyExists` if the file must not be replaced.
pub fn check(path: &Path) -> io::Result<()> {
    let is_kept = match fs::metadata(path) {
        Ok(meta) if meta.is_file() => meta.len() > 0 && !is_own(path),
        // A missing file is created. A pipe, or a device such as /dev/null, is written to.
        _ => false,
    };
    match is_kept {
        true => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it exists and is not a file that fathom wrote",
        )),
        false => Ok(()),
    }
}

/// As [`check`], with the fault for the user.
///
/// # Errors
/// [`Faults`] if the file must not be replaced.
pub fn check_before_run(path: &Path) -> Result<(), Faults> {
    check(path).map_err(|error| Faults::refused(Fault::for_file("write", path, &error)))
}

/// Writes a file atomically, unless it would replace a file that fathom did not write.
///
/// # Errors
/// As [`check`], or the file cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    check(path)?;
    archive::write_whole(path, bytes)?;
    if !has_own_beginning(&bytes[..bytes.len().min(HEAD_BYTES as usize)]) {
        // Where files have no attributes, the user must remove the file before the next run.
        let _ = mark(path);
    }
    Ok(())
}

/// Saves results by the rule of [`write()`].
///
/// # Errors
/// As [`write()`].
pub fn save(results: &Results, path: &Path) -> io::Result<()> {
    check(path)?;
    archive::save(results, path).map_err(into_io_error)
}

/// Saves a study by the rule of [`write()`].
///
/// # Errors
/// As [`write()`].
pub fn save_study(study: &Study, path: &Path) -> io::Result<()> {
    check(path)?;
    archive::save_study(study, path).map_err(into_io_error)
}

fn into_io_error(error: archive::ArchiveError) -> io::Error {
    match error {
        archive::ArchiveError::System { source, .. } => source,
        other => io::Error::other(other),
    }
}

fn is_own(path: &Path) -> bool {
    let Ok(file) = user_file::open(path) else { return false };
    let mut head = Vec::new();
    let read = (&file).take(HEAD_BYTES).read_to_end(&mut head);
    read.is_ok() && (has_own_beginning(&head) || is_marked(&file))
}

fn has_own_beginning(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let first_line = text.lines().next().unwrap_or_default();
    let matches = |(start, part): &(&str, &str)| first_line.starts_with(start) && first_line.contains(part);
    html::is_page(head)
        || archive::is_saved_head(head)
        || text.contains("\n<testsuites name=\"fathom\" ")
        || BEGINNINGS.iter().any(matches)
}

fn mark(path: &Path) -> io::Result<()> {
    let file = user_file::open(path)?;
    sys::file::set_attribute(&file, ATTRIBUTE, build_mark(&file)?.as_bytes())
}

fn is_marked(file: &File) -> bool {
    let stored = sys::file::read_attribute(file, ATTRIBUTE);
    stored.is_some_and(|stored| build_mark(file).is_ok_and(|mark| mark.as_bytes() == stored))
}

fn build_mark(file: &File) -> io::Result<String> {
    let stamp = sys::file::file_stamp(file)?;
    Ok(format!("{} {}", stamp.length, stamp.modified_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_report_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sign-off.md");
        write(&path, b"# Sign-off\n").unwrap();
        if !is_marked(&File::open(&path).unwrap()) {
            assert!(check(&path).is_err(), "without attributes nothing else identifies it");
            return;
        }
        write(&path, b"# Sign-off\n").unwrap();
        fs::write(&path, "# Sign-off\nsigned: A. Miller\n").unwrap();
        assert_eq!(write(&path, b"new").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(fs::read_to_string(&path).unwrap().contains("Miller"));
        fs::write(&path, "").unwrap();
        write(&path, b"new").unwrap();
    }
}
