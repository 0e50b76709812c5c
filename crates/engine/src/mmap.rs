//! Copies to and from a memory map of the target, one operation at a time.

use model::plan::{EngineKind, MapFlush, Mapping};

use crate::batch::{Action, Request, Slot};
use crate::buffers::Buffers;
use crate::error::EngineError;
use crate::file::Access;
use crate::sync_calls::SyncCalls;
use crate::sys::{self, mapped::FileMap};
use crate::{File, Setup};

pub(crate) struct Mmap {
    files: Vec<File>,
    maps: Vec<Option<MappedFile>>,
    huge_pages: bool,
    buffers: Buffers,
}

/// A mapped file and its flush mode.
pub(crate) struct MappedFile {
    map: FileMap,
    mapping: Mapping,
    size: usize,
}

impl Mmap {
    pub(crate) fn open(setup: Setup) -> Result<Mmap, EngineError> {
        let maps = setup
            .files
            .iter()
            .map(|file| MappedFile::open(file, setup.choice.huge_maps))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Mmap {
            maps,
            huge_pages: setup.choice.huge_maps,
            buffers: Buffers::new(&setup)?,
            files: setup.files,
        })
    }
}

/// Maps the files whose cache mode requests it.
pub(crate) fn map_files(files: &[File]) -> Result<Vec<Option<MappedFile>>, EngineError> {
    let open = |file: &File| match file.options().cache.mapping {
        Some(_) => MappedFile::open(file, false),
        None => Ok(None),
    };
    files.iter().map(open).collect()
}

impl MappedFile {
    /// Maps a file; `None` for a placeholder.
    fn open(file: &File, huge_pages: bool) -> Result<Option<MappedFile>, EngineError> {
        let Some(handle) = file.handle() else { return Ok(None) };
        let unavailable = |why: String, help: &str| EngineError::unavailable(EngineKind::Mmap, why, help);
        let mapping: Mapping = file.options().cache.mapping.unwrap_or_default();
        let size = file.size() as usize;
        let writable = file.options().access != Access::Read;
        let mut map = FileMap::new(handle, size, writable).map_err(|error| {
            unavailable(
                format!("cannot map {}: {error}", file.path().display()),
                "use `--engine psync`",
            )
        })?;
        if matches!(mapping.flush, MapFlush::Lines | MapFlush::LinesWithoutDrain) {
            map.prepare_line_flush().map_err(|_| {
                unavailable(
                    format!(
                        "cannot flush cache lines of {}: it is not in persistent memory",
                        file.path().display()
                    ),
                    "flush the view instead",
                )
            })?;
        }
        if huge_pages {
            map.advise_huge_pages().map_err(|error| {
                unavailable(
                    format!("cannot map {} with huge pages: {error}", file.path().display()),
                    "use normal pages",
                )
            })?;
        }
        Ok(Some(MappedFile { map, mapping, size }))
    }

    /// Copies or flushes. A map cannot trim.
    pub(crate) fn perform(&mut self, io: &Request, buffer: &mut [u8]) -> i64 {
        let (offset, length) = (io.offset as usize, io.length as usize);
        // An access beyond the end of a file that became shorter transfers nothing, as a read does.
        let end = io.offset + u64::from(io.length);
        let result = |map: &FileMap, ok: bool| match ok {
            true => i64::from(io.length),
            false if map.file_size().is_some_and(|size| size < end) => 0,
            false => -i64::from(sys::file::IO_ERROR),
        };
        match io.action {
            Action::Read => {
                let ok = self.map.read(offset, &mut buffer[..length]);
                result(&self.map, ok)
            }
            Action::Write => {
                if !self.map.write(offset, &buffer[..length], self.mapping.non_temporal) {
                    return result(&self.map, false);
                }
                let flushed = match self.mapping.flush {
                    MapFlush::None => 0,
                    MapFlush::View => self.map.flush_view(offset, length),
                    MapFlush::Lines => self.map.flush_lines(offset, length, true),
                    MapFlush::LinesWithoutDrain => self.map.flush_lines(offset, length, false),
                };
                if flushed < 0 { flushed } else { i64::from(io.length) }
            }
            Action::Flush | Action::FlushData => self.map.flush(0, self.size),
            Action::FlushRange(_) => self.map.flush(offset, length),
            Action::Trim => -i64::from(sys::file::NOT_SUPPORTED),
        }
    }
}

impl SyncCalls for Mmap {
    fn perform(&mut self, io: &Request) -> i64 {
        let Some(map) = &mut self.maps[io.file as usize] else {
            return i64::from(io.length);
        };
        match io.action {
            Action::Trim => self.files[io.file as usize].flush_or_trim(io),
            _ => map.perform(io, self.buffers.get_mut(io.slot)),
        }
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.get_mut(slot)
    }

    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        // Unmap the old file before closing it.
        self.maps[usize::from(index)] = None;
        self.maps[usize::from(index)] = MappedFile::open(&replacement, self.huge_pages)?;
        self.files[usize::from(index)] = replacement;
        Ok(())
    }
}
