//! Making, looking up and removing files and directories by their names. The operation at the start
//! of a file does this; the others of the same file do nothing.

use std::fs;
use std::io;
use std::path::Path;

use model::plan::{EngineKind, LookCall};
use model::results::EngineUsed;

use crate::batch::{Action, Request, Slot};
use crate::buffers::Buffers;
use crate::error::EngineError;
use crate::sync_calls::{Calls, used};
use crate::sys;
use crate::{File, Setup};

pub(crate) struct Names {
    kind: EngineKind,
    look: LookCall,
    files: Vec<File>,
    /// Callers fill buffers before writes, whatever becomes of them.
    buffers: Buffers,
    /// The file that was made last. It is closed before the next operation, whose time that is not.
    made: Option<fs::File>,
}

impl Names {
    pub(crate) fn open(setup: Setup) -> Result<Names, EngineError> {
        Ok(Names {
            kind: setup.choice.kind,
            look: setup.choice.look,
            buffers: Buffers::new(&setup)?,
            files: setup.files,
            made: None,
        })
    }

    fn act_on(&mut self, path: &Path) -> io::Result<()> {
        match self.kind {
            EngineKind::FileCreate => {
                self.made = Some(sys::names::create_file(path)?);
                Ok(())
            }
            EngineKind::DirectoryCreate => sys::names::create_directory(path),
            EngineKind::FileDelete => fs::remove_file(path),
            EngineKind::DirectoryDelete => fs::remove_dir(path),
            EngineKind::FileStat | EngineKind::DirectoryStat => sys::names::look_up(path, self.look),
            other => unreachable!("the {} engine does not work on names", other.name()),
        }
    }
}

impl Calls for Names {
    fn tidy(&mut self) -> bool {
        self.made.take().is_some()
    }

    fn perform(&mut self, io: &Request) -> i64 {
        let file = &self.files[usize::from(io.file)];
        let moves = matches!(io.action, Action::Read | Action::Write | Action::Trim);
        if !moves || io.offset > 0 || file.path().as_os_str().is_empty() {
            return i64::from(io.length);
        }
        let path = file.path().to_owned();
        match self.act_on(&path) {
            Ok(()) => i64::from(io.length),
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(sys::file::IO_ERROR)),
        }
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.whole(slot)
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        self.files[usize::from(index)] = with;
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        used(self.kind)
    }
}
