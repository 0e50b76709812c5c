//! Creates, looks up and deletes files and directories by path. The operation at offset 0 of a file
//! does this; other operations on the file do nothing.

use std::fs;
use std::io;
use std::path::Path;

use model::plan::{EngineKind, LookupCall};

use crate::batch::{Action, Request};
use crate::buffers::Buffers;
use crate::error::{EngineError, operation_result};
use crate::sync_calls::SyncCalls;
use crate::sys;
use crate::{File, Setup};

pub(crate) struct MetadataEngine {
    kind: EngineKind,
    lookup_call: LookupCall,
    files: Vec<File>,
    /// Never written; callers fill a buffer before each write.
    buffers: Buffers,
    /// The last created file. It is closed before the next operation, outside the measured time.
    created_file: Option<fs::File>,
}

impl MetadataEngine {
    pub(crate) fn open(setup: Setup) -> Result<MetadataEngine, EngineError> {
        Ok(MetadataEngine {
            kind: setup.choice.kind,
            lookup_call: setup.choice.lookup_call,
            buffers: Buffers::new(&setup)?,
            files: setup.files,
            created_file: None,
        })
    }

    fn execute(&mut self, path: &Path) -> io::Result<()> {
        match self.kind {
            EngineKind::FileCreate => {
                self.created_file = Some(sys::names::create_file(path)?);
                Ok(())
            }
            EngineKind::DirectoryCreate => sys::names::create_directory(path),
            EngineKind::FileDelete => fs::remove_file(path),
            EngineKind::DirectoryDelete => fs::remove_dir(path),
            EngineKind::FileStat | EngineKind::DirectoryStat => sys::names::look_up(path, self.lookup_call),
            other => unreachable!("the {} engine performs no file operations", other.name()),
        }
    }
}

impl SyncCalls for MetadataEngine {
    fn finish_previous(&mut self) -> bool {
        self.created_file.take().is_some()
    }

    fn perform(&mut self, io: &Request) -> i64 {
        let file = &self.files[usize::from(io.file)];
        let transfers_data = matches!(io.action, Action::Read | Action::Write | Action::Trim);
        if !transfers_data || io.offset > 0 || file.path().as_os_str().is_empty() {
            return i64::from(io.length);
        }
        let path = file.path().to_owned();
        match self.execute(&path) {
            Ok(()) => i64::from(io.length),
            Err(error) => operation_result(&error),
        }
    }

    fn storage(&mut self) -> Option<(&mut Vec<File>, &mut Buffers)> {
        Some((&mut self.files, &mut self.buffers))
    }
}
