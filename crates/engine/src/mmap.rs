//! A memory map of the target and copies: one operation at a time.

use model::Nanos;
use model::plan::{EngineKind, MapFlush, Mapping};
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::file::Access;
use crate::sleep::PreciseSleep;
use crate::sys::{self, mapped::FileMap};
use crate::{Engine, File, Setup};

pub(crate) struct Mmap {
    files: Vec<File>,
    maps: Vec<Option<FileMap>>,
    buffers: Buffers,
    clock: Clock,
    sleep: PreciseSleep,
}

impl Mmap {
    pub(crate) fn open(setup: Setup) -> Result<Mmap, EngineError> {
        let maps = setup.files.iter().map(map_file).collect::<Result<Vec<_>, _>>()?;
        Ok(Mmap {
            maps,
            buffers: Buffers::new(&setup)?,
            files: setup.files,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    fn perform(&mut self, io: &Request) -> i64 {
        let slot = io.slot;
        let file = &self.files[io.file as usize];
        let Some(map) = &mut self.maps[io.file as usize] else {
            return i64::from(io.length);
        };
        let (offset, length) = (io.offset as usize, io.length as usize);
        let mapping = file.how().cache.mapping.unwrap_or_default();
        let result = |ok: bool| {
            if ok {
                i64::from(io.length)
            } else {
                -i64::from(sys::file::IO_ERROR)
            }
        };
        match io.action {
            Action::Read => result(map.read(offset, self.buffers.of(slot, length))),
            Action::Write => {
                let ok = map.write(offset, self.buffers.of(slot, length), mapping.non_temporal);
                if ok && mapping.flush == MapFlush::View {
                    let flushed = map.flush(offset, length);
                    return if flushed < 0 { flushed } else { i64::from(io.length) };
                }
                result(ok)
            }
            Action::Flush | Action::FlushData => map.flush(0, file.size() as usize),
            Action::FlushRange(_) => map.flush(offset, length),
            Action::Trim => file.without_buffer(io),
        }
    }
}

fn map_file(file: &File) -> Result<Option<FileMap>, EngineError> {
    let Some(handle) = file.handle() else { return Ok(None) };
    let unavailable = |why: String, help: &str| EngineError::unavailable(EngineKind::Mmap, why, help);
    let mapping: Mapping = file.how().cache.mapping.unwrap_or_default();
    if sys::file::needs_persistent_memory(&mapping) {
        return Err(unavailable(
            format!(
                "{} does not lie in persistent memory, so cache lines cannot be flushed to it",
                file.path().display()
            ),
            "flush the view instead",
        ));
    }
    let writable = file.how().access != Access::Read;
    let map = FileMap::new(handle, file.size() as usize, writable).map_err(|error| {
        unavailable(
            format!("{} cannot be mapped: {error}", file.path().display()),
            "use `--engine psync`",
        )
    })?;
    Ok(Some(map))
}

impl Engine for Mmap {
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        done.before = if done.chained { done.reaped } else { self.clock.now() };
        if requests.is_empty() {
            if at_least > 0 {
                self.sleep.until(until, &self.clock);
            }
            done.reaped = self.clock.now();
        }
        let mut last = done.reaped;
        done.done.in_turn(requests, |request| {
            let result = self.perform(request);
            last = self.clock.now();
            (
                Completion {
                    slot: request.slot,
                    result,
                    at: last,
                },
                last < until,
            )
        });
        done.reaped = last;
        done.submitted = done.done.len() as u32;
        done.returned = done.reaped;
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.whole(slot)
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        // The old map goes before its file.
        self.maps[usize::from(index)] = None;
        self.maps[usize::from(index)] = map_file(&with)?;
        self.files[usize::from(index)] = with;
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: EngineKind::Mmap,
            submit_batch: 1,
            inline: true,
            ..EngineUsed::default()
        }
    }
}
