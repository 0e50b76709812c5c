//! Writes fio's log files, each atomically.
//!
//! All logs are first written under temporary names and renamed only when the last is complete, so
//! that a full disk or a killed run leaves the earlier files intact. To append to a log, its copy
//! is extended.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use model::Direction;
use model::results::Results;
use report::formats::fio::logs::{self, LogFile, LogRequest};

use crate::ArchiveError;
use crate::atomic::{CompleteTempFile, TempFile};
use crate::compressed::LogWriter;
use crate::saved::failed_to;

/// Upper limit of open files. The operation log is read again for each further batch.
const MAX_OPEN_FILES: usize = 128;

/// Writes the logs of all workers below `folder` and returns their paths. `requests` has an entry
/// for each job of the plan, over all steps. Logs of single operations are converted from the
/// operation log of the job.
///
/// # Errors
/// [`ArchiveError::System`], with the file that could not be read or written. Unless the final
/// renaming failed, all logs are unchanged.
pub fn write_fio_logs(
    results: &Results,
    requests: &[Option<LogRequest>],
    folder: &Path,
) -> Result<Vec<PathBuf>, ArchiveError> {
    write_fio_logs_with_suffix(results, requests, folder, "")
}

/// As [`write_fio_logs`], for the results of another host: `suffix`, its name, is appended to the
/// file names.
///
/// # Errors
/// As [`write_fio_logs`].
pub fn write_fio_logs_with_suffix(
    results: &Results,
    requests: &[Option<LogRequest>],
    folder: &Path,
    suffix: &str,
) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut files = logs::list_files(results, requests);
    files.iter_mut().for_each(|file| file.name += suffix);
    let mut written = Vec::new();
    // Files of one job are adjacent.
    for job_files in files.chunk_by(|a, b| a.job == b.job) {
        let (from_operations, others): (Vec<&LogFile>, Vec<&LogFile>) =
            job_files.iter().partition(|file| file.needs_operation_log());
        for file in others {
            let (mut part, path) = create_log(&file.name, folder)?;
            let whole = write_summary(file, &mut part).and_then(|()| part.finish());
            written.push((file, whole.map_err(failed_to("write", &path))?));
        }
        for batch in from_operations.chunks(MAX_OPEN_FILES) {
            written.extend(write_operations(results, batch, folder)?);
        }
    }
    finish_all(written, folder)
}

/// Writes the logs of the total rate of all jobs and returns their paths. There is one per
/// direction; `prefix` is the first part of their names.
///
/// # Errors
/// [`ArchiveError::System`], with the file that could not be written.
pub fn write_fio_totals(results: &Results, prefix: &str, folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut ready = Vec::new();
    for direction in Direction::ALL {
        let (mut part, path) = create_log(&logs::total_file_name(prefix, direction), folder)?;
        let mut out = BufWriter::new(part.file());
        let written = logs::write_total(results, direction, &mut out).and_then(|()| out.flush());
        drop(out);
        let whole = written
            .and_then(|()| part.finish())
            .map_err(failed_to("write", &path))?;
        ready.push((path, whole));
    }
    rename_all(ready)
}

fn rename_all(ready: Vec<(PathBuf, CompleteTempFile)>) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut paths = Vec::new();
    for (path, part) in ready {
        part.rename_into_place().map_err(failed_to("write", &path))?;
        paths.push(path);
    }
    Ok(paths)
}

fn create_log(name: &str, folder: &Path) -> Result<(TempFile, PathBuf), ArchiveError> {
    let path = folder.join(name);
    let temp_file = TempFile::create_for(&path).map_err(failed_to("write", &path))?;
    Ok((temp_file, path))
}

fn write_summary(file: &LogFile, temp_file: &mut TempFile) -> io::Result<()> {
    let mut out = LogWriter::new(temp_file.file(), file.compressed);
    file.write(&mut out)?;
    out.finish()
}

/// Writes several logs of one job while reading its operation log once.
fn write_operations<'a>(
    results: &Results,
    files: &[&'a LogFile<'a>],
    folder: &Path,
) -> Result<Vec<(&'a LogFile<'a>, CompleteTempFile)>, ArchiveError> {
    let Some(first) = files.first() else {
        return Ok(Vec::new());
    };
    let job = results.plan.jobs().nth(first.job).map(|(_, job)| job);
    let log = job.and_then(|job| job.operation_log.as_deref()).unwrap_or_default();
    let log = Path::new(log);
    let parts = files.iter().map(|file| create_log(&file.name, folder));
    let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
    {
        let parts = files.iter().zip(&mut parts);
        let outs = parts.map(|(file, (part, _))| LogWriter::new(part.file(), file.compressed));
        let mut outs: Vec<_> = files.iter().copied().cloned().zip(outs).collect();
        let mut lines = BufReader::new(File::open(log).map_err(failed_to("read", log))?);
        logs::write_operations(&mut outs, &mut lines).map_err(failed_to("convert to fio's logs", log))?;
        for (file, out) in outs {
            out.finish().map_err(failed_to("write", &folder.join(&file.name)))?;
        }
    }
    let finished = files.iter().zip(parts).map(|(file, (part, path))| {
        let finished = part.finish().map_err(failed_to("write", &path))?;
        Ok((*file, finished))
    });
    finished.collect()
}

/// Renames all files into place; appends to existing logs where requested.
fn finish_all(written: Vec<(&LogFile, CompleteTempFile)>, folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut ready: Vec<(PathBuf, CompleteTempFile)> = Vec::new();
    let mut appended: BTreeMap<PathBuf, Vec<CompleteTempFile>> = BTreeMap::new();
    for (file, part) in written {
        let path = folder.join(&file.name);
        match file.appended {
            true => appended.entry(path).or_default().push(part),
            false => ready.push((path, part)),
        }
    }
    for (path, parts) in appended {
        let appended = append_to_copy(&path, &parts).map_err(failed_to("append to", &path))?;
        ready.push((path, appended));
    }
    rename_all(ready)
}

/// A copy of a file with the parts appended.
fn append_to_copy(path: &Path, parts: &[CompleteTempFile]) -> io::Result<CompleteTempFile> {
    let mut copy = TempFile::create_for(path)?;
    match File::open(path) {
        Ok(mut earlier) => {
            io::copy(&mut earlier, copy.file())?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    for part in parts {
        io::copy(&mut File::open(part.path())?, copy.file())?;
    }
    copy.finish()
}
