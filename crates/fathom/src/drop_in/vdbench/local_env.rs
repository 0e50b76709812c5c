//! The environment for parsing parameter files: files, sizes and names of this machine.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Error, ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use dialects::Diagnostic;
use dialects::vdbench::{Run, VdbenchEnv};
use engine::probe::System;

use crate::drop_in;
use crate::user_file;

/// The name of the built-in test's parameter file.
pub const SELF_TEST_FILE_NAME: &str = "parmfile";

/// The environment of this machine.
#[derive(Debug, Default)]
pub struct LocalEnv {
    /// The text of the built-in test, which has no file.
    pub self_test_text: Option<String>,
    /// Only parse the file: accept any host name.
    pub reads_only: bool,
    /// Texts of files that were read, because a pipe can be read only once.
    texts: HashMap<String, String>,
}

impl LocalEnv {
    /// Returns the parameter files, which no output may replace.
    pub fn inputs(&self) -> Vec<PathBuf> {
        self.texts.keys().map(PathBuf::from).collect()
    }
}

impl VdbenchEnv for LocalEnv {
    fn read_file(&mut self, path: &str) -> Result<String, String> {
        if let Some(text) = self.self_test_text.as_ref().filter(|_| path == SELF_TEST_FILE_NAME) {
            return Ok(text.clone());
        }
        if let Some(text) = self.texts.get(path) {
            return Ok(text.clone());
        }
        // Comments may have any encoding, as in Vdbench.
        let bytes = user_file::read_bytes(Path::new(path), user_file::MAX_TEXT);
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let text = text.map_err(|error| error.to_string())?;
        self.texts.insert(path.to_owned(), text.clone());
        Ok(text)
    }

    fn exists(&self, path: &str) -> bool {
        Path::new(path).exists()
    }

    fn read_bytes(&mut self, path: &str) -> Result<Vec<u8>, String> {
        user_file::read_bytes(Path::new(path), user_file::MAX_TEXT).map_err(|error| error.to_string())
    }

    fn read_size(&self, path: &str) -> Option<u64> {
        let metadata = std::fs::metadata(path).ok()?;
        if metadata.is_file() {
            return Some(metadata.len());
        }
        // The size of a block device is the position of its end. Other types are refused when used.
        match path.starts_with("/dev/") {
            true => File::open(path).ok()?.seek(SeekFrom::End(0)).ok(),
            false => None,
        }
    }

    fn is_same_file(&self, a: &str, b: &str) -> bool {
        let identity = |path: &str| System::live().identity(path);
        match (identity(a), identity(b)) {
            (Some(a), Some(b)) => a == b,
            (None, None) => resolve_path(Path::new(a)) == resolve_path(Path::new(b)),
            _ => false,
        }
    }

    fn is_local(&self, host: &str) -> bool {
        self.reads_only || drop_in::is_this_machine(host)
    }
}

/// Refuses paths that cannot be examined; they would look like missing files. If the plan is only
/// printed, missing permissions are accepted.
///
/// # Errors
/// The first such path, with the cause.
pub fn check_paths_are_accessible(runs: &[Run], is_executed: bool) -> Result<(), Diagnostic> {
    let luns = runs.iter().flat_map(|run| &run.sds).map(|sd| &*sd.lun);
    let files = runs.iter().filter_map(|run| run.files.as_ref());
    let anchors = files.flat_map(|files| &files.fsds).map(|fsd| &*fsd.anchor);
    let is_inaccessible = |error: &Error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => false,
        ErrorKind::PermissionDenied => is_executed,
        _ => true,
    };
    let fault = luns.chain(anchors).find_map(|path| {
        let error = std::fs::metadata(path).err().filter(is_inaccessible)?;
        let fault = Diagnostic::new(format!("cannot examine {path}: {error}"));
        Some(fault.help("make the path accessible; for an input/output error see the kernel log"))
    });
    fault.map_or(Ok(()), Err)
}

/// Returns the canonical path of a file that may not exist yet. Resolves links and the directory.
fn resolve_path(path: &Path) -> PathBuf {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match (std::fs::canonicalize(parent), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => path,
    }
}
