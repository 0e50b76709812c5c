//! Linux native AIO, by raw system calls, with completions read from the ring that the kernel maps.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::buffers::SharedBuffers;
use crate::clock::Clock;
use crate::error::{EngineError, os_error_name};
use crate::flags::CallFlags;
use crate::sleep::PreciseSleep;
use crate::sys::aio::{Context, ControlBlock, Event, FLAG_PRIORITY, OP_FDSYNC, OP_FSYNC, OP_READ, OP_WRITE};
use crate::{Engine, File, Setup};

pub(crate) struct Libaio {
    /// Declared before the memory that its operations point into: dropping it ends them first.
    context: Context,
    blocks: Vec<ControlBlock>,
    /// Addresses of the blocks that are handed over in the present turn.
    handed: Vec<*mut ControlBlock>,
    events: Vec<Event>,
    buffers: SharedBuffers,
    files: Vec<File>,
    /// Some operations need more than where and how much.
    refines: bool,
    flags: CallFlags,
    split_stamps: bool,
    submit_batch: u32,
    clock: Clock,
    sleep: PreciseSleep,
}

impl Libaio {
    pub(crate) fn open(setup: Setup) -> Result<Libaio, EngineError> {
        let context = Context::new(setup.slots).map_err(|error| explain(&error, setup.slots))?;
        Ok(Libaio {
            context,
            blocks: vec![ControlBlock::default(); setup.slots as usize],
            handed: Vec::with_capacity(setup.slots as usize),
            events: vec![Event::default(); (setup.slots as usize).clamp(1, 256)],
            buffers: SharedBuffers::new(&setup)?,
            refines: !CallFlags::new(&setup.choice).are_empty() || setup.files.iter().any(|file| file.priority() != 0),
            flags: CallFlags::new(&setup.choice),
            files: setup.files,
            split_stamps: setup.split_stamps,
            submit_batch: setup.submit_batch,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    /// Hands over requests; returns how many were taken.
    #[inline]
    fn submit(&mut self, requests: &[Request], done: &mut Batch) -> Result<u32, EngineError> {
        self.handed.clear();
        for request in requests {
            if !self.fill_block(request) {
                // What native AIO does not know is done by itself, in its turn.
                break;
            }
        }
        if self.handed.is_empty() {
            return Ok(self.perform_directly(&requests[0], done));
        }
        // SAFETY: the blocks are elements of `self.blocks`, which never grows or moves; each names
        // the buffer of a slot that was claimed and is lent to no one until its event is reaped,
        // and a file of `self.files`. The context is dropped, and with it every operation ended,
        // before any of these.
        match unsafe { self.context.submit(&self.handed) } {
            Ok(taken) => {
                for request in &requests[taken as usize..self.handed.len()] {
                    self.buffers.release(request.slot);
                }
                Ok(taken)
            }
            Err(errno) => self.refused(requests, errno, done),
        }
    }

    /// The kernel took none of the requests.
    #[cold]
    fn refused(&mut self, requests: &[Request], errno: i32, done: &mut Batch) -> Result<u32, EngineError> {
        for request in &requests[..self.handed.len()] {
            self.buffers.release(request.slot);
        }
        match errno {
            libc::EINTR => Ok(0),
            libc::EAGAIN if self.buffers.outstanding() > 0 => Ok(0),
            // Nothing in flight will ever make room, so waiting would not help.
            libc::EAGAIN => Err(EngineError::system("io_submit", errno)),
            // The first block is refused as such (a bad file, offset or length): that is the
            // operation's result.
            _ => {
                done.done
                    .push(Completion::new(requests[0].slot, -i64::from(errno), self.clock.now()));
                Ok(1)
            }
        }
    }

    /// Makes the control block of a request ready. False for operations that native AIO does not
    /// know.
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
        self.handed.push(block);
        if self.refines {
            self.refine(request);
        }
        true
    }

    /// What only few operations need.
    #[inline(never)]
    fn refine(&mut self, request: &Request) {
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
    fn perform_directly(&mut self, request: &Request, done: &mut Batch) -> u32 {
        let result = self.files[request.file as usize].without_buffer(request);
        done.done.push(Completion::new(request.slot, result, self.clock.now()));
        1
    }

    #[inline(always)]
    fn finish(&mut self, count: usize, done: &mut Batch) {
        for event in &self.events[..count] {
            let slot = Slot(event.data as u32);
            self.buffers.release(slot);
            done.done.push(Completion::new(slot, event.result, done.reaped));
        }
    }

    /// Takes everything that the ring holds: one stamp for what is there when it is looked at.
    #[inline(always)]
    fn reap_ready(&mut self, done: &mut Batch) {
        loop {
            let count = self.context.take_ready(&mut self.events);
            self.finish(count, done);
            if count < self.events.len() {
                return;
            }
        }
    }

    /// Waits in the kernel; with a deadline, until shortly before it and then spinning. Stamps when
    /// it looked last.
    #[inline(never)]
    fn wait(&mut self, at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        let mut wanted = match until {
            // What was not handed over cannot end, and would be waited for until the end of time.
            Nanos::NEVER => at_least.min(self.buffers.outstanding()),
            _ => at_least,
        };
        while wanted > 0 {
            let now = self.clock.now();
            done.reaped = now;
            if until != Nanos::NEVER && now >= until {
                break;
            }
            let timer = self.sleep.wake_up_for(until);
            if until != Nanos::NEVER && timer <= now {
                let before = done.done.len();
                if self.context.has_ready() {
                    self.reap_ready(done);
                }
                wanted = wanted.saturating_sub((done.done.len() - before) as u32);
                std::hint::spin_loop();
                continue;
            }
            let timeout = (until != Nanos::NEVER).then(|| timer.since(now).min(Nanos::millis(100)));
            let room = self.events.len() as u32;
            let result = self.context.wait(wanted.min(room), &mut self.events, timeout);
            done.reaped = self.clock.now();
            match result {
                Ok(0) => self.sleep.adjust_margin(timer, done.reaped),
                Ok(count) => {
                    self.finish(count, done);
                    wanted = wanted.saturating_sub(count as u32);
                }
                // What is asked for is waited for, as with a ring of io_uring.
                Err(libc::EINTR) => {}
                Err(errno) => {
                    return Err(EngineError::system("io_getevents", errno));
                }
            }
        }
        Ok(())
    }
}

fn explain(error: &std::io::Error, slots: u32) -> EngineError {
    let (why, help) = match error.raw_os_error() {
        Some(libc::EAGAIN) => (
            format!("a queue depth of {slots} exceeds what the system has left for asynchronous I/O (fs.aio-max-nr)"),
            "lower the queue depth or the number of workers, or raise `sysctl fs.aio-max-nr`".to_owned(),
        ),
        Some(libc::ENOSYS) => (
            "this kernel was built without native AIO".to_owned(),
            "use `--engine psync`".to_owned(),
        ),
        Some(errno) => (
            os_error_name(errno),
            "lower the queue depth, or use `--engine psync`".to_owned(),
        ),
        None => (error.to_string(), "use `--engine psync`".to_owned()),
    };
    EngineError::Unavailable {
        kind: EngineKind::Libaio,
        why,
        help,
    }
}

impl Engine for Libaio {
    #[inline]
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        done.before = self.clock.now();
        done.submitted = if requests.is_empty() {
            0
        } else {
            self.submit(requests, done)?
        };
        if self.split_stamps {
            done.returned = self.clock.now();
        }
        let ready = self.context.has_ready();
        if ready {
            done.reaped = self.clock.now();
            self.reap_ready(done);
        }
        let at_least = at_least.saturating_sub(done.done.len() as u32);
        if at_least > 0 && (self.buffers.outstanding() > 0 || until != Nanos::NEVER) {
            self.wait(at_least, until, done)?;
        } else if !ready {
            done.reaped = self.clock.now();
        }
        if !self.split_stamps {
            done.returned = done.reaped;
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.of_free(slot)
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        self.files[usize::from(index)] = with;
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
