//! Linux native AIO through raw system calls. Completions are read from the ring that the kernel
//! maps.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Request, Slot};
use crate::buffers::SharedBuffers;
use crate::clock::Clock;
use crate::error::{EngineError, os_error_name};
use crate::flags::CallFlags;
use crate::sleep::PreciseSleep;
use crate::sys::aio::{Context, ControlBlock, Event, FLAG_PRIORITY, OP_FDSYNC, OP_FSYNC, OP_READ, OP_WRITE};
use crate::{Engine, File, Setup};

pub(crate) struct Libaio {
    /// Declared before the memory that its operations use: dropping the context first ends those
    /// operations.
    context: Context,
    blocks: Vec<ControlBlock>,
    /// Control blocks to submit in this turn.
    submit_list: Vec<*mut ControlBlock>,
    events: Vec<Event>,
    buffers: SharedBuffers,
    files: Vec<File>,
    /// Some operations need priority or flags.
    has_extra_fields: bool,
    flags: CallFlags,
    split_stamps: bool,
    submit_batch: u32,
    clock: Clock,
    sleep: PreciseSleep,
}

impl Libaio {
    pub(crate) fn open(setup: Setup) -> Result<Libaio, EngineError> {
        let context = Context::new(setup.slots).map_err(|error| setup_error(&error, setup.slots))?;
        Ok(Libaio {
            context,
            blocks: vec![ControlBlock::default(); setup.slots as usize],
            submit_list: Vec::with_capacity(setup.slots as usize),
            events: vec![Event::default(); (setup.slots as usize).clamp(1, 256)],
            buffers: SharedBuffers::new(&setup)?,
            has_extra_fields: !CallFlags::new(&setup.choice).are_empty()
                || setup.files.iter().any(|file| file.priority() != 0),
            flags: CallFlags::new(&setup.choice),
            files: setup.files,
            split_stamps: setup.split_stamps,
            submit_batch: setup.submit_batch,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    /// Submits requests. Returns how many were accepted.
    #[inline]
    fn submit(&mut self, requests: &[Request], batch: &mut Batch) -> Result<u32, EngineError> {
        self.submit_list.clear();
        for request in requests {
            if !self.fill_block(request) {
                // An unsupported operation has a turn of its own.
                break;
            }
        }
        if self.submit_list.is_empty() {
            return Ok(self.execute_directly(&requests[0], batch));
        }
        // SAFETY: the blocks are elements of `self.blocks`, which never grows or moves; each names
        // the buffer of a claimed slot, which is not accessible until its event is reaped, and a
        // file of `self.files`. Dropping the context, before any of these, ends every operation.
        match unsafe { self.context.submit(&self.submit_list) } {
            Ok(accepted) => {
                for request in &requests[accepted as usize..self.submit_list.len()] {
                    self.buffers.release(request.slot);
                }
                Ok(accepted)
            }
            Err(errno) => self.handle_submit_error(requests, errno, batch),
        }
    }

    /// Handles a submission of which the kernel accepted no block.
    #[cold]
    fn handle_submit_error(&mut self, requests: &[Request], errno: i32, batch: &mut Batch) -> Result<u32, EngineError> {
        for request in &requests[..self.submit_list.len()] {
            self.buffers.release(request.slot);
        }
        match errno {
            libc::EINTR => Ok(0),
            libc::EAGAIN if self.buffers.outstanding() > 0 => Ok(0),
            // No completion will make room, so do not wait.
            libc::EAGAIN => Err(EngineError::system("io_submit", errno)),
            // The kernel rejects the first block itself (bad file, offset or length), so this is
            // the operation's result.
            _ => {
                batch.done.push(requests[0].slot, -i64::from(errno), self.clock.now());
                Ok(1)
            }
        }
    }

    /// Fills the control block of a request. False if native AIO does not support the operation.
    #[inline(always)]
    fn fill_block(&mut self, request: &Request) -> bool {
        let opcode = match request.action {
            Action::Read => OP_READ,
            Action::Write => OP_WRITE,
            Action::Flush => OP_FSYNC,
            Action::FlushData => OP_FDSYNC,
            Action::Trim | Action::FlushRange(_) => return false,
        };
        let address = self.buffers.claim(request.slot, request.length) as u64;
        let has_buffer = matches!(request.action, Action::Read | Action::Write);
        let block = &mut self.blocks[request.slot.0 as usize];
        block.data = u64::from(request.slot.0);
        block.opcode = opcode;
        block.file = self.files[request.file as usize].descriptor() as u32;
        block.buffer = if has_buffer { address } else { 0 };
        block.bytes = if has_buffer { u64::from(request.length) } else { 0 };
        block.offset = if has_buffer { request.offset as i64 } else { 0 };
        self.submit_list.push(block);
        if self.has_extra_fields {
            self.set_extra_fields(request);
        }
        true
    }

    /// Sets the fields that few operations need.
    #[inline(never)]
    fn set_extra_fields(&mut self, request: &Request) {
        let block = &mut self.blocks[request.slot.0 as usize];
        block.priority = match request.action {
            Action::Read | Action::Write => self.files[usize::from(request.file)].priority(),
            _ => 0,
        };
        block.flags = if block.priority == 0 { 0 } else { FLAG_PRIORITY };
        block.rw_flags = match request.action {
            Action::Read => self.flags.read as i32,
            Action::Write => self.flags.write as i32,
            _ => 0,
        };
    }

    #[inline(never)]
    fn execute_directly(&mut self, request: &Request, batch: &mut Batch) -> u32 {
        let result = self.files[request.file as usize].flush_or_trim(request);
        batch.done.push(request.slot, result, self.clock.now());
        1
    }

    #[inline(always)]
    fn complete_events(&mut self, count: usize, batch: &mut Batch) {
        for event in &self.events[..count] {
            let slot = Slot(event.data as u32);
            self.buffers.release(slot);
            batch.done.push(slot, event.result, batch.reap_time);
        }
    }

    /// Reaps everything in the completion ring with one stamp.
    #[inline(always)]
    fn reap_ready(&mut self, batch: &mut Batch) {
        loop {
            let count = self.context.reap_ready(&mut self.events);
            self.complete_events(count, batch);
            if count < self.events.len() {
                return;
            }
        }
    }

    /// Waits in the kernel. With a deadline, the wait ends shortly before it and spinning follows.
    /// Sets the reap time.
    #[inline(never)]
    fn wait(&mut self, wait_nr: u32, until: Nanos, batch: &mut Batch) -> Result<(), EngineError> {
        let mut remaining = match until {
            // Requests that were not submitted cannot complete; waiting for them would never end.
            Nanos::NEVER => wait_nr.min(self.buffers.outstanding()),
            _ => wait_nr,
        };
        while remaining > 0 {
            let now = self.clock.now();
            batch.reap_time = now;
            if until != Nanos::NEVER && now >= until {
                break;
            }
            let timer = self.sleep.timer_for(until);
            if until != Nanos::NEVER && timer <= now {
                let before = batch.done.len();
                if self.context.has_ready() {
                    self.reap_ready(batch);
                }
                remaining = remaining.saturating_sub((batch.done.len() - before) as u32);
                std::hint::spin_loop();
                continue;
            }
            let timeout = (until != Nanos::NEVER).then(|| timer.since(now).min(Nanos::millis(100)));
            let room = self.events.len() as u32;
            let result = self.context.wait(remaining.min(room), &mut self.events, timeout);
            batch.reap_time = self.clock.now();
            match result {
                Ok(0) => self.sleep.adjust_margin(timer, batch.reap_time),
                Ok(count) => {
                    self.complete_events(count, batch);
                    remaining = remaining.saturating_sub(count as u32);
                }
                // Continue to wait after a signal, as io_uring does.
                Err(libc::EINTR) => {}
                Err(errno) => {
                    return Err(EngineError::system("io_getevents", errno));
                }
            }
        }
        Ok(())
    }
}

fn setup_error(error: &std::io::Error, slots: u32) -> EngineError {
    let (why, help) = match error.raw_os_error() {
        Some(libc::EAGAIN) => (
            format!(
                "a queue depth of {slots} exceeds the remaining asynchronous I/O requests of \
                the system (fs.aio-max-nr)"
            ),
            "reduce the queue depth or the number of workers, or raise `sysctl fs.aio-max-nr`",
        ),
        Some(libc::ENOSYS) => (
            "this kernel was built without native AIO".to_owned(),
            "use `--engine psync`",
        ),
        Some(errno) => (os_error_name(errno), "reduce the queue depth, or use `--engine psync`"),
        None => (error.to_string(), "use `--engine psync`"),
    };
    EngineError::unavailable(EngineKind::Libaio, why, help)
}

impl Engine for Libaio {
    #[inline]
    fn submit_and_reap(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError> {
        batch.done.clear();
        batch.submit_start = self.clock.now();
        batch.submitted = if requests.is_empty() {
            0
        } else {
            self.submit(requests, batch)?
        };
        if self.split_stamps {
            batch.submit_end = self.clock.now();
        }
        let ready = self.context.has_ready();
        if ready {
            batch.reap_time = self.clock.now();
            self.reap_ready(batch);
        }
        let wait_nr = wait_nr.saturating_sub(batch.done.len() as u32);
        if wait_nr > 0 && (self.buffers.outstanding() > 0 || until != Nanos::NEVER) {
            self.wait(wait_nr, until, batch)?;
        } else if !ready {
            batch.reap_time = self.clock.now();
        }
        if !self.split_stamps {
            batch.submit_end = batch.reap_time;
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.idle_buffer(slot)
    }

    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        self.files[usize::from(index)] = replacement;
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: EngineKind::Libaio,
            features: vec!["completions read in user space".into()],
            submit_batch: self.submit_batch,
            ..EngineUsed::default()
        }
    }
}
