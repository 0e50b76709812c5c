//! Facts about this machine for reading and lowering job files.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use dialects::fio::{Disk, ParseEnv, PathFacts, PathKind, TraceFile};
use engine::probe::{self, System};
use engine::{Identity, sys};
use jiff::Zoned;

use crate::user_file::{self, MAX_TEXT};

/// The environment of this process.
#[derive(Debug, Default)]
pub(super) struct LocalEnv {
    output: Option<PathBuf>,
    /// Job files and included files, which no output must replace.
    pub(super) inputs: Vec<PathBuf>,
    /// True if files must not be changed.
    only_reads: bool,
}

impl LocalEnv {
    /// Creates an environment that changes no file, not even the `--output` file.
    pub(super) fn only_reading() -> LocalEnv {
        LocalEnv {
            only_reads: true,
            ..LocalEnv::default()
        }
    }

    /// Takes the file of `--output`, if there is one.
    pub(super) fn output(&mut self) -> Option<PathBuf> {
        self.output.take()
    }
}

fn error_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" (os error ")
        .map_or(text.clone(), |(words, _)| words.to_owned())
}

impl ParseEnv for LocalEnv {
    fn read_job_file(&mut self, path: &str) -> Result<String, String> {
        let read = match path {
            "-" => user_file::read_limited(std::io::stdin().lock(), MAX_TEXT),
            path => {
                self.inputs.push(path.into());
                user_file::read_bytes(path.as_ref(), MAX_TEXT)
            }
        };
        let bytes = read.map_err(|error| error_text(&error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn is_directory(&self, path: &str) -> Result<bool, String> {
        fs::metadata(path)
            .map(|meta| meta.is_dir())
            .map_err(|error| error_text(&error))
    }

    fn open_output(&mut self, path: &str) -> Result<(), String> {
        if self.only_reads {
            return Ok(());
        }
        // Only checks that the file is writable; its content is replaced later.
        let existing = fs::symlink_metadata(path).is_ok();
        let opened = match fs::metadata(path) {
            // Opening a pipe would block, and closing it would end its reader.
            Ok(meta) if !meta.is_file() && !meta.is_dir() => Ok(()),
            _ => OpenOptions::new().append(true).create(true).open(path).map(|_| ()),
        };
        opened.map_err(|error| error_text(&error))?;
        if !existing {
            let _ = fs::remove_file(path);
        }
        self.output = Some(path.into());
        Ok(())
    }

    fn page_size(&self) -> u64 {
        engine::page_size()
    }

    fn processors(&self) -> u64 {
        std::thread::available_parallelism().map_or(1, |count| count.get() as u64)
    }

    fn memory_mib(&self) -> u64 {
        probe::memory_total(&System::live()) >> 20
    }

    fn max_cpu(&self) -> Option<u32> {
        let cpus = fs::read_to_string("/sys/devices/system/cpu/present").ok()?;
        cpus.trim().rsplit([',', '-']).next()?.parse().ok()
    }

    fn has_numa_node(&self, node: u32) -> bool {
        let nodes = Path::new("/sys/devices/system/node");
        !nodes.exists() || nodes.join(format!("node{node}")).exists()
    }
}

/// The real files and devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealDisk;

impl Disk for RealDisk {
    fn find(&self, path: &str) -> Option<PathFacts> {
        let meta = fs::metadata(path).ok()?;
        if meta.is_file() {
            return Some(PathFacts {
                kind: PathKind::File,
                size: meta.len(),
            });
        }
        let device = sys::facts::read_identity(path.as_ref());
        let kind = match device {
            Some(Identity::BlockDevice(_)) => PathKind::Device,
            Some(Identity::CharacterDevice(_)) => PathKind::CharacterDevice,
            _ => PathKind::Other,
        };
        Some(PathFacts { kind, size: 0 })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        user_file::read_bytes(path.as_ref(), MAX_TEXT).map_err(|error| error_text(&error))
    }

    fn list_files_below(&self, folder: &str) -> Result<Vec<String>, String> {
        let mut files = Vec::new();
        collect_files(folder.as_ref(), &mut files).map_err(|error| error_text(&error))?;
        files.sort();
        Ok(files)
    }

    fn trace(&self, path: &str) -> Result<TraceFile, String> {
        let (path, file) = match path {
            "-" => spooled_input().map_err(|error| error_text(&error))?,
            path => (
                path.to_owned(),
                user_file::open(path.as_ref()).map_err(|error| error_text(&error))?,
            ),
        };
        Ok(TraceFile {
            path,
            bytes: Box::new(file),
        })
    }

    fn is_zoned(&self, path: &str) -> bool {
        let Some(Identity::BlockDevice(number)) = sys::facts::read_identity(path.as_ref()) else {
            return false;
        };
        // A partition uses the queue of its disk.
        let queues = ["queue", "../queue"].iter();
        let mut models = queues.map(|queue| fs::read_to_string(format!("/sys/dev/block/{number}/{queue}/zoned")));
        models.any(|model| model.is_ok_and(|model| model.trim() == "host-managed"))
    }

    fn device(&self, major: u32, minor: u32) -> Option<String> {
        let name = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
        Some(format!("/dev/{}", name.file_name()?.to_str()?))
    }
}

/// Copies standard input to an unnamed file, because several clones read it repeatedly.
fn spooled_input() -> std::io::Result<(String, fs::File)> {
    static INPUT: Mutex<Option<fs::File>> = Mutex::new(None);
    let mut input = INPUT.lock().unwrap_or_else(PoisonError::into_inner);
    if input.is_none() {
        let mut file = tempfile::tempfile()?;
        std::io::copy(&mut std::io::stdin().lock(), &mut file)?;
        *input = Some(file);
    }
    let number = input.as_ref().map_or(-1, descriptor);
    let path = format!("/proc/self/fd/{number}");
    let file = fs::File::open(&path)?;
    Ok((path, file))
}

#[cfg(unix)]
fn descriptor(file: &fs::File) -> i32 {
    std::os::fd::AsRawFd::as_raw_fd(file)
}

/// Returns -1: this system has no paths for open files.
#[cfg(not(unix))]
fn descriptor(_: &fs::File) -> i32 {
    -1
}

/// Collects the regular files below a directory. Links are not followed.
fn collect_files(folder: &Path, files: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect_files(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path().display().to_string());
        }
    }
    Ok(())
}

/// Chooses an unpredictable seed.
pub(super) fn fresh_seed() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64);
    now ^ u64::from(std::process::id()).rotate_left(32)
}

/// Returns the seconds that local time is ahead of UTC.
pub(super) fn utc_offset_s() -> i32 {
    Zoned::now().offset().seconds()
}
