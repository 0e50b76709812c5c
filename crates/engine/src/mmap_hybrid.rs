//! Mapped files beside others in one worker: what goes to a map is copied at once, everything else
//! goes to the engine that carries the others. Only a worker that has both is served by this.
//!
//! All operations of a turn are reaped at one stamp, so a copy has a turn to itself: looking for
//! what the others have ready would be counted as its latency. Between two copies the others are
//! looked at, so that neither side waits for the other for longer than one look or one copy.

use model::Nanos;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::error::EngineError;
use crate::mmap::{MappedFile, map_files};
use crate::{Engine, File};

/// An engine with maps beside it.
pub(crate) struct MmapHybrid {
    /// Carries what goes to no map, and lends its buffers to all.
    others: Box<dyn Engine>,
    maps: Vec<Option<MappedFile>>,
    /// Operations of the other engine that have not ended.
    in_flight: u32,
    /// A copy was made since the other engine was looked at.
    copied: bool,
    one_at_a_time: bool,
}

/// True if some of the files are used through maps and some are not.
pub(crate) fn is_mixed(files: &[File]) -> bool {
    let mapped = |file: &File| file.how().cache.mapping.is_some();
    files.iter().any(mapped) && !files.iter().all(mapped)
}

impl MmapHybrid {
    /// Maps those of the files that are used so. `open` starts the engine for the others, which is
    /// given all of them, so that their numbers stay what they are.
    pub(crate) fn open(
        setup: crate::Setup,
        open: impl FnOnce(crate::Setup) -> Result<Box<dyn Engine>, EngineError>,
    ) -> Result<MmapHybrid, EngineError> {
        let maps = map_files(&setup.files)?;
        let one_at_a_time = setup.one_at_a_time;
        Ok(MmapHybrid {
            others: open(setup)?,
            maps,
            in_flight: 0,
            copied: false,
            one_at_a_time,
        })
    }

    /// True for what is done by copying. Trims are calls on the file even where it is mapped.
    fn is_copied(&self, request: &Request) -> bool {
        request.action != Action::Trim && self.maps[usize::from(request.file)].is_some()
    }

    /// Carries out one copy, unless the other engine has something ready and has waited longer:
    /// then that comes first.
    fn copy(&mut self, request: &Request, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        if self.copied && self.in_flight > 0 {
            self.turn_of_others(&[], 0, until, done)?;
            if !done.done.is_empty() {
                return Ok(());
            }
            // The copy begins where the look has ended.
            done.before = done.reaped;
        } else {
            done.before = if done.chained { done.reaped } else { self.others.now() };
        }
        done.done.clear();
        let buffer = self.others.buffer(request.slot);
        let result = match &mut self.maps[usize::from(request.file)] {
            Some(map) => map.perform(request, buffer),
            None => 0,
        };
        let at = self.others.now();
        done.done.push(Completion::new(request.slot, result, at));
        (done.returned, done.reaped, done.submitted) = (at, at, 1);
        self.copied = true;
        Ok(())
    }

    fn turn_of_others(
        &mut self,
        requests: &[Request],
        at_least: u32,
        until: Nanos,
        done: &mut Batch,
    ) -> Result<(), EngineError> {
        self.others.turn(requests, at_least, until, done)?;
        self.in_flight = (self.in_flight + done.submitted).saturating_sub(done.done.len() as u32);
        self.copied = false;
        Ok(())
    }
}

impl Engine for MmapHybrid {
    /// A turn that begins with a copy brings no more than that, whatever `at_least` says.
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        match requests.first() {
            Some(first) if self.is_copied(first) => self.copy(first, until, done),
            _ => {
                let run = requests.iter().take_while(|request| !self.is_copied(request)).count();
                // With a copy waiting behind them, nothing is waited for.
                let at_least = if run < requests.len() && !self.one_at_a_time {
                    0
                } else {
                    at_least
                };
                self.turn_of_others(&requests[..run], at_least, until, done)
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use model::plan::{CacheMode, Mapping};

    use super::*;
    use crate::file::{Access, OpenOptions};

    /// What a look for completions costs.
    const POLL_INTERVAL: Nanos = Nanos(1_000_000);
    /// What reading the clock costs.
    const TICK: Nanos = Nanos(1);

    /// An engine that ends its operations at given times, and is slow to look.
    struct Slow {
        clock: Cell<Nanos>,
        /// When each operation ends that it is given, and its slot.
        in_flight: Vec<(Nanos, Slot)>,
        takes: Nanos,
        buffer: Vec<u8>,
    }

    impl Engine for Slow {
        fn turn(&mut self, requests: &[Request], at_least: u32, _: Nanos, done: &mut Batch) -> Result<(), EngineError> {
            done.done.clear();
            done.before = self.now();
            let end = done.before + self.takes;
            self.in_flight
                .extend(requests.iter().map(|request| (end, request.slot)));
            done.submitted = requests.len() as u32;
            if at_least > 0
                && let Some((end, _)) = self.in_flight.iter().max()
            {
                self.clock.set(self.clock.get().max(*end));
            }
            self.clock.set(self.clock.get() + POLL_INTERVAL);
            let now = self.clock.get();
            self.in_flight.retain(|(end, slot)| {
                let (slot, ended) = (*slot, *end <= now);
                if ended {
                    let result = 4096;
                    done.done.push(Completion { slot, result, at: now });
                }
                !ended
            });
            (done.returned, done.reaped) = (now, now);
            Ok(())
        }

        fn now(&self) -> Nanos {
            self.clock.set(self.clock.get() + TICK);
            self.clock.get()
        }

        fn buffer(&mut self, _: Slot) -> &mut [u8] {
            &mut self.buffer
        }

        fn exchange_file(&mut self, _: u16, _: File) -> Result<(), EngineError> {
            Ok(())
        }

        fn describe(&self) -> EngineUsed {
            EngineUsed::default()
        }
    }

    /// Two files: the first is mapped, the second is the slow engine's, whose operations take so
    /// long.
    fn beside(folder: &std::path::Path, takes: Nanos) -> MmapHybrid {
        let path = folder.join("mapped.dat");
        std::fs::write(&path, vec![7; 8192]).unwrap();
        let cache = CacheMode {
            mapping: Some(Mapping::default()),
            ..CacheMode::default()
        };
        let how = OpenOptions::new(Access::ReadWrite, cache);
        let mapped = File::open(&path, how).unwrap();
        MmapHybrid {
            others: Box::new(Slow {
                clock: Cell::new(Nanos(0)),
                in_flight: Vec::new(),
                takes,
                buffer: vec![0; 4096],
            }),
            maps: map_files(&[mapped, File::nothing(8192)]).unwrap(),
            in_flight: 0,
            copied: false,
            one_at_a_time: false,
        }
    }

    fn read(file: u16, slot: u32) -> Request {
        Request {
            length: 4096,
            slot: Slot(slot),
            file,
            ..Request::NONE
        }
    }

    #[test]
    fn a_copy_is_not_charged_with_the_looks_at_others() {
        let folder = tempfile::tempdir().unwrap();
        for at_least in [0, 1, 2] {
            let mut done = Batch::new(2);
            // The other operation ends at the second look.
            let both = [read(1, 0), read(0, 1)];
            let mut engine = beside(folder.path(), POLL_INTERVAL + TICK);
            engine.turn(&both, 0, Nanos::NEVER, &mut done).unwrap();
            assert_eq!((done.submitted, done.done.len()), (1, 0));
            engine.turn(&both[1..], at_least, Nanos::NEVER, &mut done).unwrap();
            let slots: Vec<Slot> = done.done.iter().map(|completion| completion.slot).collect();
            assert_eq!((done.submitted, slots), (1, vec![Slot(1)]), "at least {at_least}");
            let latency = done.reaped.since(done.before);
            assert!(latency < POLL_INTERVAL, "{latency:?} for at least {at_least}");
        }
    }

    #[test]
    fn neither_copies_nor_others_wait_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        for takes in [Nanos(0), POLL_INTERVAL, Nanos(10 * POLL_INTERVAL.0)] {
            let mut engine = beside(folder.path(), takes);
            let mut done = Batch::new(2);
            let mut ended = [0, 0];
            let mut waiting = vec![read(0, 0), read(1, 1)];
            for _ in 0..100 {
                engine.turn(&waiting, 1, Nanos::NEVER, &mut done).unwrap();
                assert!(
                    !done.done.is_empty() || waiting[0].file == 1,
                    "a copy can always be made"
                );
                waiting.drain(..done.submitted as usize);
                for completion in done.done.iter() {
                    // Each is followed by another of its kind, behind those that wait.
                    let slot = completion.slot.0;
                    ended[slot as usize] += 1;
                    waiting.push(read(slot as u16, slot));
                }
            }
            assert!(ended[0] >= 30 && ended[1] >= 5, "{ended:?} with {takes:?}");
        }
    }
}
