//! Linux io_uring: one ring per worker, with registered files and buffers.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;
use rustix::io::Errno;
use rustix::io_uring::IoringSetupFlags;

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::buffers::SharedBuffers;
use crate::clock::Clock;
use crate::error::{EngineError, os_error_name};
use crate::flags::CallFlags;
use crate::sleep::PreciseSleep;
use crate::sys::ring::{Ring, RingOptions, Submission};
use crate::{Engine, File, Setup};

const OP_FSYNC: u8 = 3;
const OP_READ_FIXED: u8 = 4;
const OP_WRITE_FIXED: u8 = 5;
const OP_READ: u8 = 22;
const OP_WRITE: u8 = 23;
const FSYNC_DATA_ONLY: u32 = 1;
const FLAG_FIXED_FILE: u8 = 1;
const FLAG_ASYNC: u8 = 1 << 4;
/// The kernel registers at most this much as one buffer.
const MAX_REGISTERED_BYTES: usize = 1 << 30;
/// The most submissions that the kernel lets a ring hold.
const MAX_ENTRIES: u32 = 32_768;
/// How long a drop waits for operations that cannot be cancelled.
const STUCK_TIMEOUT: Nanos = Nanos::secs(10);

pub(crate) struct IoUring {
    ring: Ring,
    files: Vec<File>,
    buffers: SharedBuffers,
    /// How each file is named in a submission: its index if files are registered, else its
    /// descriptor.
    targets: Vec<i32>,
    /// What every submission of a read or a write has in common.
    read: Submission,
    write: Submission,
    /// Buffers per registered piece.
    slots_per_piece: u32,
    /// Some submissions need more than the template of their kind.
    refines: bool,
    force_async_every: u32,
    queued_total: u32,
    split_stamps: bool,
    poll: bool,
    submit_batch: u32,
    features: Vec<String>,
    without: Vec<String>,
    clock: Clock,
    sleep: PreciseSleep,
}

impl IoUring {
    pub(crate) fn open(setup: Setup) -> Result<IoUring, EngineError> {
        if setup.slots > MAX_ENTRIES {
            return Err(EngineError::unavailable(
                EngineKind::IoUring,
                format!(
                    "a queue depth of {} is beyond what a ring can hold, {MAX_ENTRIES}",
                    setup.slots
                ),
                "lower the queue depth, or spread it over more workers",
            ));
        }
        let mut buffers = SharedBuffers::new(&setup)?;
        let (mut features, mut without) = (Vec::new(), Vec::new());
        let mut ring = open_ring(&setup, &mut features, &mut without)?;
        let mut note = |ok: bool, name: &str, reason: String| {
            if ok {
                features.push(name.to_owned())
            } else {
                without.push(format!("{name}: {reason}"))
            }
        };
        note(
            ring.register_itself(),
            "registered ring",
            "the kernel is older than 5.18".into(),
        );
        let mut targets: Vec<i32> = setup.files.iter().map(File::descriptor).collect();
        let calls = CallFlags::new(&setup.choice);
        let mut read = Submission {
            opcode: OP_READ,
            operation_flags: calls.read,
            ..Submission::default()
        };
        let mut write = Submission {
            opcode: OP_WRITE,
            operation_flags: calls.write,
            ..Submission::default()
        };
        let mut slots_per_piece = setup.slots;
        if setup.choice.registered {
            let result = if setup.exchanges_files {
                Err(std::io::Error::other("files come and go"))
            } else {
                ring.register_files(&targets)
            };
            note(result.is_ok(), "registered files", reason_of(&result));
            if result.is_ok() {
                targets = (0..targets.len() as i32).collect();
                (read.flags, write.flags) = (FLAG_FIXED_FILE, FLAG_FIXED_FILE);
            }
            let result = register_buffers(&ring, &mut buffers);
            note(result.is_ok(), "registered buffers", reason_of(&result));
            if let Ok(per_piece) = result {
                (read.opcode, write.opcode) = (OP_READ_FIXED, OP_WRITE_FIXED);
                slots_per_piece = per_piece;
            }
        }
        let prioritized = setup.files.iter().any(|file| file.priority() != 0);
        Ok(IoUring {
            ring,
            refines: prioritized || setup.choice.force_async_every > 0,
            files: setup.files,
            buffers,
            targets,
            read,
            write,
            slots_per_piece,
            force_async_every: setup.choice.force_async_every,
            queued_total: 0,
            split_stamps: setup.split_stamps,
            poll: setup.choice.poll,
            submit_batch: setup.submit_batch,
            features,
            without,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    /// Puts requests into the ring, up to one that the ring does not know. Returns how many.
    #[inline(always)]
    fn push(&mut self, requests: &[Request]) -> u32 {
        let mut pushed = 0;
        for request in requests {
            let template = match request.action {
                Action::Read => &self.read,
                Action::Write => &self.write,
                other if self.knows(other) => {
                    self.push_flush(request);
                    pushed += 1;
                    continue;
                }
                _ => break,
            };
            let mut submission = Submission {
                file: self.targets[usize::from(request.file)],
                offset: request.offset,
                address: self.buffers.claim(request.slot, request.length) as u64,
                length: request.length,
                user_data: u64::from(request.slot.0),
                ..*template
            };
            if request.slot.0 >= self.slots_per_piece || self.refines {
                self.refine(&mut submission, request.file);
            }
            // SAFETY: the address is the slot's buffer of at least `length` bytes (checked by
            // `claim`), which belongs to this engine and, having been claimed, is lent to no one
            // until the completion of the slot is reaped. `Drop` cancels and reaps every
            // outstanding slot before buffers and files go.
            unsafe { self.ring.push(submission) };
            pushed += 1;
        }
        pushed
    }

    /// What only few submissions need.
    #[inline(never)]
    fn refine(&mut self, submission: &mut Submission, file: u16) {
        submission.priority = self.files[usize::from(file)].priority();
        submission.buffer_index = (submission.user_data / u64::from(self.slots_per_piece)) as u16;
        if self.force_async_every > 0 {
            self.queued_total = self.queued_total.wrapping_add(1);
            if self.queued_total.is_multiple_of(self.force_async_every) {
                submission.flags |= FLAG_ASYNC;
            }
        }
    }

    #[inline(never)]
    fn push_flush(&mut self, request: &Request) {
        self.buffers.claim(request.slot, 0);
        let submission = Submission {
            opcode: OP_FSYNC,
            flags: self.read.flags,
            file: self.targets[usize::from(request.file)],
            operation_flags: if request.action == Action::FlushData {
                FSYNC_DATA_ONLY
            } else {
                0
            },
            user_data: u64::from(request.slot.0),
            ..Submission::default()
        };
        // SAFETY: a flush names no memory, and its file belongs to this engine until `Drop` has
        // reaped it.
        unsafe { self.ring.push(submission) };
    }

    /// Hands over what was pushed. What the kernel does not take is taken back out of the ring.
    #[inline(always)]
    fn hand_over(&mut self, requests: &[Request], wait_for: u32) -> Result<u32, EngineError> {
        let pushed = self.push(requests);
        // What was not pushed cannot end, and without a deadline it would be waited for until the
        // end of time.
        let wait_for = wait_for.min(self.buffers.outstanding());
        let taken = match self.ring.enter(wait_for, None) {
            // Nothing in flight will ever make room, so waiting would not help.
            Err(Errno::AGAIN | Errno::BUSY) if self.buffers.outstanding() == pushed && pushed > 0 => {
                self.take_back(&requests[..pushed as usize], 0);
                return Err(EngineError::System {
                    call: "io_uring_enter",
                    errno: libc::EAGAIN,
                });
            }
            other => accept(other)?,
        };
        if taken < pushed {
            self.take_back(&requests[..pushed as usize], taken);
        }
        Ok(taken)
    }

    #[inline(never)]
    fn take_back(&mut self, pushed: &[Request], taken: u32) {
        self.ring.take_back();
        for request in &pushed[taken as usize..] {
            self.buffers.release(request.slot);
        }
    }

    /// Trims and flushes that have no request of their own are executed inside the submitting
    /// turn.
    #[inline(never)]
    fn perform_directly(&mut self, request: &Request, done: &mut Batch) {
        let result = self.files[request.file as usize].without_buffer(request);
        done.submitted = 1;
        done.done.push(Completion {
            slot: request.slot,
            result,
            at: self.clock.now(),
        });
    }

    fn knows(&self, action: Action) -> bool {
        match action {
            Action::Read | Action::Write => true,
            Action::Flush | Action::FlushData => !self.poll,
            Action::Trim | Action::FlushRange(_) => false,
        }
    }

    /// Waits with a deadline: in the kernel until shortly before it, then spinning.
    #[inline(never)]
    fn wait_until(&mut self, at_least: u32, until: Nanos) -> Result<(), EngineError> {
        while self.ring.available() < at_least {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            let timer = self.sleep.wake_up_for(until);
            if timer > now {
                let result = self
                    .ring
                    .enter(at_least, Some(timer.since(now).min(Nanos::millis(100))));
                accept(result)?;
                if self.ring.available() < at_least {
                    self.sleep.adjust_margin(timer, self.clock.now());
                }
            } else {
                // Completions of this kind of ring appear only when the kernel is entered.
                accept(self.ring.enter(0, None))?;
                std::hint::spin_loop();
            }
        }
        Ok(())
    }
}

impl IoUring {
    fn wait_for_one(&mut self) -> Result<(), EngineError> {
        accept(self.ring.enter(1, Some(Nanos::millis(100)))).map(|_| ())
    }
}

/// Errors of `io_uring_enter` that mean “not now”.
fn accept(result: Result<u32, Errno>) -> Result<u32, EngineError> {
    match result {
        Ok(taken) => Ok(taken),
        Err(Errno::INTR | Errno::AGAIN | Errno::BUSY | Errno::TIME) => Ok(0),
        Err(error) => Err(EngineError::System {
            call: "io_uring_enter",
            errno: error.raw_os_error(),
        }),
    }
}

fn reason_of<T>(result: &std::io::Result<T>) -> String {
    match result {
        Ok(_) => String::new(),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOMEM) => "the limit of locked memory (ulimit -l) is too low".into(),
            Some(errno) => os_error_name(errno),
            None => error.to_string(),
        },
    }
}

/// The ring with the most features that this kernel has.
fn open_ring(setup: &Setup, features: &mut Vec<String>, without: &mut Vec<String>) -> Result<Ring, EngineError> {
    let mut wanted = IoringSetupFlags::empty();
    if setup.choice.poll {
        wanted |= IoringSetupFlags::IOPOLL;
    }
    if setup.choice.submission_thread {
        wanted |= IoringSetupFlags::SQPOLL;
        if setup.choice.submission_cpu.is_some() {
            wanted |= IoringSetupFlags::SQ_AFF;
        }
    }
    let steps = [
        (
            IoringSetupFlags::SINGLE_ISSUER
                | IoringSetupFlags::DEFER_TASKRUN
                | IoringSetupFlags::SUBMIT_ALL
                | IoringSetupFlags::NO_SQARRAY,
            "single issuer, deferred task work, no index array",
        ),
        (
            IoringSetupFlags::SINGLE_ISSUER | IoringSetupFlags::DEFER_TASKRUN | IoringSetupFlags::SUBMIT_ALL,
            "single issuer, deferred task work",
        ),
        (
            IoringSetupFlags::COOP_TASKRUN | IoringSetupFlags::SUBMIT_ALL,
            "cooperative task work",
        ),
        (IoringSetupFlags::empty(), "plain ring"),
    ];
    // A kernel thread takes entries at its own pace, so all that may be in flight must have room.
    let batch = if setup.choice.submission_thread {
        setup.slots
    } else {
        setup.submit_batch
    };
    let submissions = batch.clamp(1, setup.slots.max(1)).min(MAX_ENTRIES);
    let completions = setup.slots.max(submissions) * 2;
    for (extra, name) in steps {
        // A kernel thread that submits excludes deferred task work.
        if setup.choice.submission_thread && extra.contains(IoringSetupFlags::DEFER_TASKRUN) {
            continue;
        }
        match Ring::new(RingOptions {
            submissions,
            completions,
            flags: wanted | extra,
            thread_cpu: setup.choice.submission_cpu.unwrap_or(0),
        }) {
            Ok(ring) => {
                features.push(name.to_owned());
                for (asked, name) in [
                    (setup.choice.poll, "polled completion"),
                    (setup.choice.submission_thread, "submission thread"),
                ] {
                    if asked {
                        features.push(name.to_owned());
                    }
                }
                return Ok(ring);
            }
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                without.push(format!("{name}: the kernel does not know it"));
            }
            Err(error) => return Err(explain_refusal(&error)),
        }
    }
    Err(EngineError::unavailable(
        EngineKind::IoUring,
        "the kernel refuses every kind of ring",
        "use `--engine libaio` or `--engine psync`",
    ))
}

fn explain_refusal(error: &std::io::Error) -> EngineError {
    let help = "use `--engine libaio` or `--engine psync`";
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel is older than 5.4 or was built without io_uring".to_owned(),
        Some(libc::EPERM) => {
            let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
            match setting.trim() {
                "1" | "2" => "it is switched off on this system".to_owned(),
                _ => "the container or a security module forbids it".to_owned(),
            }
        }
        Some(libc::ENOMEM) => "there is not enough memory, or the limit of locked memory (ulimit -l) is too low".into(),
        Some(libc::EMFILE) => "this process has too many open files (ulimit -n)".into(),
        _ => error.to_string(),
    };
    let help = match error.raw_os_error() {
        Some(libc::EPERM) => format!("set `sysctl kernel.io_uring_disabled=0` as root, or {help}"),
        _ => help.to_owned(),
    };
    EngineError::Unavailable {
        kind: EngineKind::IoUring,
        why,
        help,
    }
}

/// Registers all buffers, in as few pieces as the kernel allows. Returns the number of slots in a
/// piece.
fn register_buffers(ring: &Ring, buffers: &mut SharedBuffers) -> std::io::Result<u32> {
    let (stride, slots) = (buffers.stride(), buffers.slots());
    // What lies between separated buffers would be pinned too, and take memory.
    let apart = buffers.bytes_apart();
    let per_piece = match apart {
        Some(_) => 1,
        None => ((MAX_REGISTERED_BYTES / stride) as u32).clamp(1, slots),
    };
    let start = buffers.start();
    let pieces: Vec<(*mut u8, usize)> = (0..slots)
        .step_by(per_piece as usize)
        .map(|first| {
            let count = per_piece.min(slots - first) as usize;
            (
                start.wrapping_add(first as usize * stride),
                apart.unwrap_or(count * stride),
            )
        })
        .collect();
    // SAFETY: the pieces lie within the mapping of `buffers`, which `IoUring` keeps until after its
    // ring is gone: `drop` ends every operation first, and the pinned pages outlive even an early
    // unmapping.
    unsafe { ring.register_buffers(&pieces)? };
    Ok(per_piece)
}

impl Engine for IoUring {
    #[inline]
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        done.before = self.clock.now();
        done.submitted = 0;
        let mut requests = requests;
        if let Some(first) = requests.first()
            && !self.knows(first.action)
        {
            self.perform_directly(first, done);
            requests = &[];
        }
        // What was done directly counts towards what is waited for.
        let at_least = at_least.saturating_sub(done.done.len() as u32);
        let waits_freely = until == Nanos::NEVER && !self.split_stamps;
        // Completions of this kind of ring appear only when the kernel is entered, so a mere poll
        // must enter, too.
        if !requests.is_empty() || waits_freely || at_least == 0 || self.poll {
            done.submitted += self.hand_over(requests, if waits_freely { at_least } else { 0 })?;
        }
        if self.split_stamps {
            done.returned = self.clock.now();
        }
        if !waits_freely && at_least > 0 {
            if until == Nanos::NEVER {
                let at_least = at_least.min(self.buffers.outstanding());
                if self.ring.available() < at_least {
                    accept(self.ring.enter(at_least, None))?;
                }
            } else {
                self.wait_until(at_least, until)?;
            }
        }
        let available = self.ring.available();
        done.reaped = self.clock.now();
        if !self.split_stamps {
            done.returned = done.reaped;
        }
        let (buffers, at) = (&mut self.buffers, done.reaped);
        self.ring.take(available, |user_data, result| {
            let slot = Slot(user_data as u32);
            buffers.release(slot);
            done.done.push(Completion {
                slot,
                result: i64::from(result),
                at,
            });
        });
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.of_free(slot)
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        debug_assert!(
            self.read.flags & FLAG_FIXED_FILE == 0,
            "what is exchanged was not registered"
        );
        self.targets[usize::from(index)] = with.descriptor();
        self.refines |= with.priority() != 0;
        self.files[usize::from(index)] = with;
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: EngineKind::IoUring,
            features: self.features.clone(),
            without: self.without.clone(),
            submit_batch: self.submit_batch,
            ..EngineUsed::default()
        }
    }
}

impl Drop for IoUring {
    fn drop(&mut self) {
        let mut outstanding = self.buffers.outstanding();
        if outstanding > 0 {
            self.ring.cancel_all();
        }
        let deadline = self.clock.now() + STUCK_TIMEOUT;
        while outstanding > 0 && self.clock.now() < deadline {
            let available = self.ring.available();
            self.ring.take(available, |_, _| {});
            outstanding -= available;
            if outstanding > 0 && self.wait_for_one().is_err() {
                break;
            }
        }
        if outstanding > 0 {
            self.buffers.abandon();
        }
    }
}
