//! Combines memory maps with another engine in one worker.
//!
//! Requests for mapped files are copied immediately; all others go to the inner engine. Only
//! workers with both kinds of file use this engine. A turn has one reap time for all its
//! operations. A copy therefore has its own turn; otherwise its latency would include the poll of
//! the inner engine. The inner engine is polled between two copies, so neither side waits longer
//! than one poll or one copy.

use model::Nanos;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Request, Slot};
use crate::error::EngineError;
use crate::mmap::{MappedFile, map_files};
use crate::{Engine, File};

pub(crate) struct MmapHybrid {
    /// Serves files that are not mapped. Its buffers serve all slots.
    inner: Box<dyn Engine>,
    maps: Vec<Option<MappedFile>>,
    /// Operations in flight in the inner engine.
    in_flight: u32,
    /// A copy was made since the inner engine was last polled.
    copied_since_poll: bool,
    depth_is_one: bool,
}

/// True if some of the files are mapped and some are not.
pub(crate) fn is_mixed(files: &[File]) -> bool {
    let mapped = |file: &File| file.options().cache.mapping.is_some();
    files.iter().any(mapped) && !files.iter().all(mapped)
}

impl MmapHybrid {
    /// Maps the files that request it. `open` starts the inner engine with all files, so that file
    /// indexes stay valid.
    pub(crate) fn open(
        setup: crate::Setup,
        open_inner: impl FnOnce(crate::Setup) -> Result<Box<dyn Engine>, EngineError>,
    ) -> Result<MmapHybrid, EngineError> {
        let maps = map_files(&setup.files)?;
        let depth_is_one = setup.depth_is_one;
        Ok(MmapHybrid {
            inner: open_inner(setup)?,
            maps,
            in_flight: 0,
            copied_since_poll: false,
            depth_is_one,
        })
    }

    /// True if a copy serves the request. Trims are system calls even on mapped files.
    fn uses_map(&self, request: &Request) -> bool {
        request.action != Action::Trim && self.maps[usize::from(request.file)].is_some()
    }

    /// Executes one copy. After an earlier copy it polls the inner engine first, and returns that
    /// engine's completions instead if there are any.
    fn copy_or_poll(&mut self, request: &Request, until: Nanos, batch: &mut Batch) -> Result<(), EngineError> {
        if self.copied_since_poll && self.in_flight > 0 {
            self.turn_inner(&[], 0, until, batch)?;
            if !batch.done.is_empty() {
                return Ok(());
            }
            // The copy starts when the poll ends.
            batch.submit_start = batch.reap_time;
        } else {
            batch.submit_start = if batch.chained {
                batch.reap_time
            } else {
                self.inner.now()
            };
        }
        batch.done.clear();
        let buffer = self.inner.buffer(request.slot);
        let result = match &mut self.maps[usize::from(request.file)] {
            Some(map) => map.perform(request, buffer),
            None => 0,
        };
        let at = self.inner.now();
        batch.done.push(request.slot, result, at);
        (batch.submit_end, batch.reap_time, batch.submitted) = (at, at, 1);
        self.copied_since_poll = true;
        Ok(())
    }

    fn turn_inner(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError> {
        self.inner.submit_and_reap(requests, wait_nr, until, batch)?;
        self.in_flight = (self.in_flight + batch.submitted).saturating_sub(batch.done.len() as u32);
        self.copied_since_poll = false;
        Ok(())
    }
}

impl Engine for MmapHybrid {
    /// Takes a turn. A turn that begins with a copy completes nothing else, regardless of
    /// `wait_nr`.
    fn submit_and_reap(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError> {
        match requests.first() {
            Some(first) if self.uses_map(first) => self.copy_or_poll(first, until, batch),
            _ => {
                let leading_requests = requests.iter().take_while(|request| !self.uses_map(request)).count();
                // A copy waits behind these requests, so only poll.
                let wait_nr = if leading_requests < requests.len() && !self.depth_is_one {
                    0
                } else {
                    wait_nr
                };
                self.turn_inner(&requests[..leading_requests], wait_nr, until, batch)
            }
        }
    }

    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        // All files of a set are mapped, or none.
        if self.maps[usize::from(index)].is_some() {
            self.maps[usize::from(index)] = map_files(std::slice::from_ref(&replacement))?.pop().flatten();
        }
        self.inner.exchange_file(index, replacement)
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn describe(&self) -> EngineUsed {
        let mut used = self.inner.describe();
        used.features.push("memory-mapped files".into());
        used
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use model::plan::{CacheMode, Mapping};

    use super::*;
    use crate::file::{Access, OpenOptions};

    /// Cost of a poll.
    const POLL_INTERVAL: Nanos = Nanos(1_000_000);
    /// Cost of reading the clock.
    const TICK: Nanos = Nanos(1);

    /// An engine with a fixed service time and slow polls.
    struct SlowEngine {
        simulated_now: Cell<Nanos>,
        /// End time and slot of each operation.
        in_flight: Vec<(Nanos, Slot)>,
        service_time: Nanos,
        buffer: Vec<u8>,
    }

    impl Engine for SlowEngine {
        fn submit_and_reap(
            &mut self,
            requests: &[Request],
            wait_nr: u32,
            _: Nanos,
            batch: &mut Batch,
        ) -> Result<(), EngineError> {
            batch.done.clear();
            batch.submit_start = self.now();
            let end = batch.submit_start + self.service_time;
            self.in_flight
                .extend(requests.iter().map(|request| (end, request.slot)));
            batch.submitted = requests.len() as u32;
            if wait_nr > 0
                && let Some((end, _)) = self.in_flight.iter().max()
            {
                self.simulated_now.set(self.simulated_now.get().max(*end));
            }
            self.simulated_now.set(self.simulated_now.get() + POLL_INTERVAL);
            let now = self.simulated_now.get();
            self.in_flight.retain(|(end, slot)| {
                let (slot, ended) = (*slot, *end <= now);
                if ended {
                    batch.done.push(slot, 4096, now);
                }
                !ended
            });
            (batch.submit_end, batch.reap_time) = (now, now);
            Ok(())
        }

        fn now(&self) -> Nanos {
            self.simulated_now.set(self.simulated_now.get() + TICK);
            self.simulated_now.get()
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

    /// Opens a hybrid engine over two files: the first is mapped, the second belongs to the slow
    /// engine with this service time.
    fn hybrid_engine(folder: &std::path::Path, service_time: Nanos) -> MmapHybrid {
        let path = folder.join("mapped.dat");
        std::fs::write(&path, vec![7; 8192]).unwrap();
        let cache = CacheMode {
            mapping: Some(Mapping::default()),
            ..CacheMode::default()
        };
        let options = OpenOptions::new(Access::ReadWrite, cache);
        let mapped = File::open(&path, options).unwrap();
        MmapHybrid {
            inner: Box::new(SlowEngine {
                simulated_now: Cell::new(Nanos(0)),
                in_flight: Vec::new(),
                service_time,
                buffer: vec![0; 4096],
            }),
            maps: map_files(&[mapped, File::placeholder(8192)]).unwrap(),
            in_flight: 0,
            copied_since_poll: false,
            depth_is_one: false,
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
    fn polls_do_not_count_as_copy_latency() {
        let folder = tempfile::tempdir().unwrap();
        for wait_nr in [0, 1, 2] {
            let mut batch = Batch::new(2);
            // The other operation completes at the second poll.
            let operations = [read(1, 0), read(0, 1)];
            let mut engine = hybrid_engine(folder.path(), POLL_INTERVAL + TICK);
            engine
                .submit_and_reap(&operations, 0, Nanos::NEVER, &mut batch)
                .unwrap();
            assert_eq!((batch.submitted, batch.done.len()), (1, 0));
            engine
                .submit_and_reap(&operations[1..], wait_nr, Nanos::NEVER, &mut batch)
                .unwrap();
            let slots: Vec<Slot> = batch.done.iter().map(|completion| completion.slot).collect();
            assert_eq!((batch.submitted, slots), (1, vec![Slot(1)]), "at least {wait_nr}");
            let latency = batch.reap_time.since(batch.submit_start);
            assert!(latency < POLL_INTERVAL, "{latency:?} for at least {wait_nr}");
        }
    }

    #[test]
    fn neither_copies_nor_other_requests_starve() {
        let folder = tempfile::tempdir().unwrap();
        for service_time in [Nanos(0), POLL_INTERVAL, Nanos(10 * POLL_INTERVAL.0)] {
            let mut engine = hybrid_engine(folder.path(), service_time);
            let mut batch = Batch::new(2);
            let mut ended = [0, 0];
            let mut waiting = vec![read(0, 0), read(1, 1)];
            for _ in 0..100 {
                engine.submit_and_reap(&waiting, 1, Nanos::NEVER, &mut batch).unwrap();
                assert!(
                    !batch.done.is_empty() || waiting[0].file == 1,
                    "a copy never has to wait"
                );
                waiting.drain(..batch.submitted as usize);
                for completion in batch.done.iter() {
                    // Queue another request of the same kind.
                    let slot = completion.slot.0;
                    ended[slot as usize] += 1;
                    waiting.push(read(slot as u16, slot));
                }
            }
            assert!(ended[0] >= 30 && ended[1] >= 5, "{ended:?} with {service_time:?}");
        }
    }
}
