//! Operations on the files of a tree. Each operation opens the file that its request names, works
//! on it, and closes it.

use std::fs;
use std::io;
use std::sync::Arc;

use model::plan::{CacheMode, EngineKind, FileOperation, FileOperationKind, FileTree};

use crate::Setup;
use crate::batch::{Request, Slot};
use crate::buffers::Buffers;
use crate::error::{EngineError, operation_result};
use crate::sync_calls::SyncCalls;
use crate::sys::tree::TreeRoot;
use crate::sys::{self, OpenFor};

/// An open file tree.
#[derive(Clone, Debug)]
pub struct OpenTree {
    /// The root directory.
    pub root: Arc<TreeRoot>,
    /// Paths and sizes of its files.
    pub shape: FileTree,
}

impl OpenTree {
    /// The size up to which `append` lets a file grow.
    pub fn append_limit(size: u64, block: u64) -> u64 {
        size.saturating_mul(2).saturating_add(block.saturating_mul(16))
    }
}

/// A file tree and how a worker uses it.
#[derive(Clone, Debug)]
pub struct TreeSetup {
    /// The open root directory of the tree.
    pub tree: OpenTree,
    /// Block size in bytes; in sessions, the unit of positions.
    pub block: u64,
    /// Access for which sessions open files; `None` if each operation opens its own.
    pub session_access: Option<OpenFor>,
    /// How files are opened.
    pub cache: CacheMode,
    /// Sessions flush their writes before they close a file.
    pub flush_on_close: bool,
    /// The root of the tree that files are copied or moved to.
    pub destination: Option<Arc<TreeRoot>>,
}

pub(crate) struct Files {
    setup: TreeSetup,
    buffers: Buffers,
    /// The file of the current session.
    session_file: Option<fs::File>,
    path: String,
    /// The new path of a file being renamed.
    new_path: String,
}

impl Files {
    pub(crate) fn open(mut setup: Setup) -> Result<Files, EngineError> {
        let Some(tree_setup) = setup.tree.take() else {
            return Err(EngineError::internal(EngineKind::Files, "the file tree is missing"));
        };
        Ok(Files {
            setup: tree_setup,
            buffers: Buffers::new(&setup)?,
            session_file: None,
            path: String::new(),
            new_path: String::new(),
        })
    }

    /// Executes one operation of a session: opens its file, transfers a part of it, or closes it.
    fn execute_in_session(
        &mut self,
        operation: FileOperation,
        open_for: OpenFor,
        slot: Slot,
        length: u64,
    ) -> io::Result<u64> {
        let OpenTree { root, shape } = &self.setup.tree;
        let start = u64::from(operation.block) * self.setup.block;
        let buffer = self.buffers.get_mut(slot);
        match (operation.kind, &self.session_file) {
            (FileOperationKind::Open | FileOperationKind::Create, _) => {
                shape.write_operation_path(operation, &mut self.path);
                self.session_file = Some(root.open_file(&self.path, open_for, &self.setup.cache)?);
                Ok(0)
            }
            (FileOperationKind::Delete, _) => {
                shape.write_operation_path(operation, &mut self.path);
                root.remove_file(&self.path).map(|()| 0)
            }
            (FileOperationKind::ReadBlock, Some(file)) => read(file, buffer, start, length),
            (FileOperationKind::WriteBlock, Some(file)) => write(file, buffer, start, length),
            (_, session_file) => {
                let flush_result = session_file
                    .as_ref()
                    .filter(|_| self.setup.flush_on_close && open_for != OpenFor::Read)
                    .map(fs::File::sync_all);
                self.session_file = None;
                flush_result.unwrap_or(Ok(())).map(|()| 0)
            }
        }
    }

    fn execute(&mut self, operation: FileOperation, slot: Slot) -> io::Result<u64> {
        let TreeSetup {
            tree: OpenTree { root, shape },
            block: block_bytes,
            cache,
            destination,
            ..
        } = &self.setup;
        let (buffers, path) = (&mut self.buffers, &mut self.path);
        let FileOperation {
            kind,
            file,
            block,
            renamed,
        } = operation;
        shape.write_operation_path(operation, path);
        let start = u64::from(block) * block_bytes;
        let open = |open_for: OpenFor| root.open_file(path, open_for, cache);
        match kind {
            FileOperationKind::Create => {
                write(&open(OpenFor::Create)?, buffers.get_mut(slot), 0, shape.file_size(file))
            }
            FileOperationKind::Open => open(OpenFor::Read).map(|_| 0),
            FileOperationKind::Read => read(&open(OpenFor::Read)?, buffers.get_mut(slot), 0, u64::MAX),
            FileOperationKind::ReadBlock => {
                let opened = open(OpenFor::Read)?;
                read(&opened, buffers.get_mut(slot), start, *block_bytes)
            }
            FileOperationKind::Write => write(&open(OpenFor::Write)?, buffers.get_mut(slot), 0, shape.file_size(file)),
            FileOperationKind::WriteBlock => {
                let length = shape.file_size(file).saturating_sub(start).min(*block_bytes);
                write(&open(OpenFor::Write)?, buffers.get_mut(slot), start, length)
            }
            FileOperationKind::Append => {
                let opened = open(OpenFor::Write)?;
                let end = append_offset(&opened, shape.file_size(file), *block_bytes)?;
                write(&opened, buffers.get_mut(slot), end, *block_bytes)
            }
            FileOperationKind::Fsync => open(OpenFor::Write)?.sync_all().map(|()| 0),
            FileOperationKind::Stat => root.file_size(path).map(|_| 0),
            FileOperationKind::Readdir => root.read_directory(path).map(|_| 0),
            FileOperationKind::Rename => {
                shape.write_file_path(file, !renamed, &mut self.new_path);
                root.rename(path, &self.new_path).map(|()| 0)
            }
            FileOperationKind::Delete => root.remove_file(path).map(|()| 0),
            FileOperationKind::Mkdir => root.create_directory(path).map(|()| 0),
            FileOperationKind::Rmdir => root.remove_directory(path).map(|()| 0),
            FileOperationKind::Access => root.check_access(path).map(|()| 0),
            FileOperationKind::SetTimes => root.set_times(path).map(|()| 0),
            // Unreachable: only sessions close files, and a plan with copies names their
            // destination.
            FileOperationKind::Close => Ok(0),
            FileOperationKind::Copy | FileOperationKind::Move => match destination {
                Some(to) if kind == FileOperationKind::Copy => copy(root, to, path, cache, buffers.get_mut(slot)),
                Some(to) => move_file(root, to, path, cache, buffers.get_mut(slot)),
                None => Ok(0),
            },
        }
    }
}

/// The offset at which a block is appended. A file that would grow beyond
/// [`OpenTree::append_limit`] is first truncated to its size, so that no test fills the file
/// system.
fn append_offset(file: &fs::File, size: u64, block: u64) -> io::Result<u64> {
    let end = file.metadata()?.len();
    if end + block <= OpenTree::append_limit(size, block) {
        return Ok(end);
    }
    file.set_len(size)?;
    Ok(size)
}

/// Copies a file to the same path of another tree, a buffer at a time.
fn copy(from: &TreeRoot, to: &TreeRoot, path: &str, cache: &CacheMode, buffer: &mut [u8]) -> io::Result<u64> {
    let source = from.open_file(path, OpenFor::Read, cache)?;
    let target = match to.open_file(path, OpenFor::Write, cache) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => to.open_file(path, OpenFor::Create, cache)?,
        opened => opened?,
    };
    let mut done = 0;
    loop {
        match into_io_result(sys::file::read_at(&source, buffer, done))? {
            0 => return Ok(done),
            read => done += write(&target, &buffer[..read as usize], done, read)?,
        }
    }
}

/// Moves a file to the same path of another tree. On another file system it is copied and removed.
fn move_file(from: &TreeRoot, to: &TreeRoot, path: &str, cache: &CacheMode, buffer: &mut [u8]) -> io::Result<u64> {
    match from.rename_to(path, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let copied = copy(from, to, path, cache, buffer)?;
            from.remove_file(path).map(|()| copied)
        }
        renamed => renamed.map(|()| 0),
    }
}

/// Reads up to `length` bytes, a buffer at a time.
fn read(file: &fs::File, buffer: &mut [u8], start: u64, length: u64) -> io::Result<u64> {
    let mut done = 0;
    while done < length {
        let count = (length - done).min(buffer.len() as u64) as usize;
        match into_io_result(sys::file::read_at(file, &mut buffer[..count], start + done))? {
            0 => break,
            read => done += read,
        }
    }
    Ok(done)
}

/// Writes `length` bytes, a buffer at a time.
fn write(file: &fs::File, buffer: &[u8], start: u64, length: u64) -> io::Result<u64> {
    let mut done = 0;
    while done < length {
        let count = (length - done).min(buffer.len() as u64) as usize;
        match into_io_result(sys::file::write_at(file, &buffer[..count], start + done))? {
            0 => return Err(io::Error::from_raw_os_error(sys::file::IO_ERROR)),
            written => done += written,
        }
    }
    Ok(done)
}

fn into_io_result(result: i64) -> io::Result<u64> {
    u64::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result as i32))
}

impl SyncCalls for Files {
    fn perform(&mut self, io: &Request) -> i64 {
        let operation = FileOperation::unpack(io.offset);
        let result = match self.setup.session_access {
            Some(open_for) => self.execute_in_session(operation, open_for, io.slot, u64::from(io.length)),
            None => self.execute(operation, io.slot),
        };
        result.map_or_else(|error| operation_result(&error), |bytes| bytes as i64)
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.get_mut(slot)
    }
}
