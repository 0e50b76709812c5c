//! Mapped files beside others in one worker: what goes to a map is copied at once, everything else goes to the engine that
//! carries the others. Only a worker that has both is served by this.

use model::Nanos;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::error::EngineError;
use crate::mmap::{MappedFile, map_files};
use crate::{Engine, File};

/// An engine with maps beside it.
pub(crate) struct Beside {
    /// Carries what goes to no map, and lends its buffers to all.
    others: Box<dyn Engine>,
    maps: Vec<Option<MappedFile>>,
    /// What the other engine brought after a copy.
    brought: Batch,
    one_at_a_time: bool,
}

/// True if some of the files are used through maps and some are not.
pub(crate) fn is_mixed(files: &[File]) -> bool {
    let mapped = |file: &File| file.how().cache.mapping.is_some();
    files.iter().any(mapped) && !files.iter().all(mapped)
}

impl Beside {
    /// Maps those of the files that are used so. `open` starts the engine for the others, which is given all of them, so that
    /// their numbers stay what they are.
    pub(crate) fn open(
        setup: crate::Setup,
        open: impl FnOnce(crate::Setup) -> Result<Box<dyn Engine>, EngineError>,
    ) -> Result<Beside, EngineError> {
        let maps = map_files(&setup.files)?;
        let (slots, one_at_a_time) = (setup.slots, setup.one_at_a_time);
        Ok(Beside {
            others: open(setup)?,
            maps,
            brought: Batch::new(slots),
            one_at_a_time,
        })
    }

    /// True for what is done by copying. Trims are calls on the file even where it is mapped.
    fn is_copied(&self, request: &Request) -> bool {
        request.action != Action::Trim && self.maps[usize::from(request.file)].is_some()
    }

    /// Carries out one copy, and takes along what the other engine has ready.
    fn copy(&mut self, request: &Request, at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        done.before = if done.chained { done.reaped } else { self.others.now() };
        let buffer = self.others.buffer(request.slot);
        let result = match &mut self.maps[usize::from(request.file)] {
            Some(map) => map.perform(request, buffer),
            None => 0,
        };
        let at = self.others.now();
        done.done.push(Completion {
            slot: request.slot,
            result,
            at,
        });
        (done.returned, done.reaped, done.submitted) = (at, at, 1);
        if self.one_at_a_time {
            return Ok(());
        }
        // Its latency ends here; what else is ready is seen a moment later.
        let missing = at_least.saturating_sub(1);
        self.others.turn(&[], missing, until, &mut self.brought)?;
        self.brought
            .done
            .iter()
            .for_each(|completion| done.done.push(*completion));
        if !self.brought.done.is_empty() {
            done.reaped = self.brought.reaped;
        }
        Ok(())
    }
}

impl Engine for Beside {
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        match requests.first() {
            Some(first) if self.is_copied(first) => self.copy(first, at_least, until, done),
            _ => {
                let run = requests.iter().take_while(|request| !self.is_copied(request)).count();
                // With a copy waiting behind them, nothing is waited for.
                let at_least = if run < requests.len() && !self.one_at_a_time {
                    0
                } else {
                    at_least
                };
                self.others.turn(&requests[..run], at_least, until, done)
            }
        }
    }

    fn now(&self) -> Nanos {
        self.others.now()
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        // Whether a place is mapped is the same for all files of a set.
        if self.maps[usize::from(index)].is_some() {
            self.maps[usize::from(index)] = map_files(std::slice::from_ref(&with))?.pop().flatten();
        }
        self.others.exchange_file(index, with)
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.others.buffer(slot)
    }

    fn describe(&self) -> EngineUsed {
        let mut used = self.others.describe();
        used.features.push("memory maps beside it".into());
        used
    }
}
