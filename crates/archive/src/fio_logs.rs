//! fio's log files, each of which appears whole or not at all.
//!
//! All of them are written under temporary names beside their places first; only when the last is
//! complete do they get their names, so that a full disk or a killed run leaves what was there
//! before. Logs that are appended to are copied for that.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use model::Direction;
use model::results::Results;
use report::formats::fio::logs::{self, LogFile, LogRequest};

use crate::ArchiveError;
use crate::atomic::{Part, WholePart};
use crate::compressed::LogWriter;

/// This many files are open at a time; where there are more, the operation log is read again for
/// the next ones.
const MAX_OPEN: usize = 128;

/// Writes the logs of all workers below `folder`, and returns their paths. `requests` has an entry
/// for each job of the plan, over all steps. Logs of single operations are made of the operation
/// log that the plan names for the job.
///
/// # Errors
/// [`ArchiveError::System`], with the file that could not be read or written. No log has changed
/// then, unless it is the last act that failed: giving the files their names.
pub fn write_fio_logs(
    results: &Results,
    requests: &[Option<LogRequest>],
    folder: &Path,
) -> Result<Vec<PathBuf>, ArchiveError> {
    write_fio_logs_of(results, requests, folder, "")
}

/// The same for what another host has measured: its name, as `suffix`, ends the names of the files.
///
/// # Errors
/// As before.
pub fn write_fio_logs_of(
    results: &Results,
    requests: &[Option<LogRequest>],
    folder: &Path,
    suffix: &str,
) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut files = logs::files(results, requests);
    files.iter_mut().for_each(|file| file.name += suffix);
    let mut written = Vec::new();
    // Files of one job follow one another.
    for of_job in files.chunk_by(|one, other| one.job == other.job) {
        let (from_operations, others): (Vec<&LogFile>, Vec<&LogFile>) =
            of_job.iter().partition(|file| file.needs_operations());
        for file in others {
            let (mut part, path) = begin(&file.name, folder)?;
            let whole = write_summary(file, &mut part).and_then(|()| part.finish());
            written.push((file, whole.map_err(failed("write", &path))?));
        }
        for some in from_operations.chunks(MAX_OPEN) {
            written.extend(write_operations(results, some, folder)?);
        }
    }
    into_place(written, folder)
}

fn failed<'a>(verb: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> ArchiveError + use<'a> {
    move |source| ArchiveError::System {
        verb,
        path: path.to_owned(),
        source,
    }
}

/// Writes the logs of the rate of all jobs together, one for each direction, and returns their
/// paths. `prefix` is the first part of their names.
///
/// # Errors
/// [`ArchiveError::System`], with the file that could not be written.
pub fn write_fio_totals(results: &Results, prefix: &str, folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut ready = Vec::new();
    for direction in Direction::ALL {
        let (mut part, path) = begin(&logs::name_of_total(prefix, direction), folder)?;
        let mut out = BufWriter::new(part.file());
        let written = logs::write_total(results, direction, &mut out).and_then(|()| out.flush());
        drop(out);
        let whole = written.and_then(|()| part.finish()).map_err(failed("write", &path))?;
        ready.push((path, whole));
    }
    named(ready)
}

/// Gives files their names, and returns these.
fn named(ready: Vec<(PathBuf, WholePart)>) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut paths = Vec::new();
    for (path, part) in ready {
        part.into_place().map_err(failed("write", &path))?;
        paths.push(path);
    }
    Ok(paths)
}

fn begin(name: &str, folder: &Path) -> Result<(Part, PathBuf), ArchiveError> {
    let path = folder.join(name);
    let part = Part::beside(&path).map_err(failed("write", &path))?;
    Ok((part, path))
}

fn write_summary(file: &LogFile, part: &mut Part) -> io::Result<()> {
    let mut out = LogWriter::new(part.file(), file.compressed);
    file.write(&mut out)?;
    out.finish()
}

/// Writes some logs of one job in one reading of its operation log.
fn write_operations<'a>(
    results: &Results,
    files: &[&'a LogFile<'a>],
    folder: &Path,
) -> Result<Vec<(&'a LogFile<'a>, WholePart)>, ArchiveError> {
    let Some(first) = files.first() else {
        return Ok(Vec::new());
    };
    let job = results.plan.jobs().nth(first.job).map(|(_, job)| job);
    let log = job.and_then(|job| job.operation_log.as_deref()).unwrap_or_default();
    let log = Path::new(log);
    let parts = files.iter().map(|file| begin(&file.name, folder));
    let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
    {
        let parts = files.iter().zip(&mut parts);
        let outs = parts.map(|(file, (part, _))| LogWriter::new(part.file(), file.compressed));
        let mut outs: Vec<_> = files.iter().copied().cloned().zip(outs).collect();
        let mut lines = BufReader::new(File::open(log).map_err(failed("read", log))?);
        let written = logs::write_operations(&mut outs, &mut lines);
        written.map_err(failed("turn into fio's logs", log))?;
        for (file, out) in outs {
            out.finish().map_err(failed("write", &folder.join(&file.name)))?;
        }
    }
    let finished = files.iter().zip(parts).map(|(file, (part, path))| {
        let whole = part.finish().map_err(failed("write", &path))?;
        Ok((*file, whole))
    });
    finished.collect()
}

/// Gives all files their names.
fn into_place(written: Vec<(&LogFile, WholePart)>, folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut ready: Vec<(PathBuf, WholePart)> = Vec::new();
    let mut appended: BTreeMap<PathBuf, Vec<WholePart>> = BTreeMap::new();
    for (file, part) in written {
        let path = folder.join(&file.name);
        match file.appended {
            true => appended.entry(path).or_default().push(part),
            false => ready.push((path, part)),
        }
    }
    for (path, parts) in appended {
        let whole = behind_what_is_there(&path, &parts).map_err(failed("append to", &path))?;
        ready.push((path, whole));
    }
    named(ready)
}

/// A copy of a file with the parts behind its content.
fn behind_what_is_there(path: &Path, parts: &[WholePart]) -> io::Result<WholePart> {
    let mut whole = Part::beside(path)?;
    match File::open(path) {
        Ok(mut earlier) => {
            io::copy(&mut earlier, whole.file())?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    for part in parts {
        io::copy(&mut File::open(part.path())?, whole.file())?;
    }
    whole.finish()
}
