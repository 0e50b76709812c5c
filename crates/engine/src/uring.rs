//! Linux io_uring: one ring per worker, with registered files and buffers.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;
use rustix::io::Errno;
use rustix::io_uring::IoringSetupFlags;

use crate::batch::{Action, Batch, Request, Slot};
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
/// Maximum size of a registered buffer.
const MAX_REGISTERED_BYTES: usize = 1 << 30;
/// Maximum number of entries in a ring.
const MAX_ENTRIES: u32 = 32_768;
/// How long a drop waits for operations that cannot be cancelled.
const STUCK_TIMEOUT: Nanos = Nanos::secs(10);

pub(crate) struct IoUring {
    ring: Ring,
    files: Vec<File>,
    buffers: SharedBuffers,
    /// The number that names each file in a submission: its index if files are registered,
    /// otherwise its descriptor.
    file_numbers: Vec<i32>,
    /// Templates of read and write submissions.
    read_template: Submission,
    write_template: Submission,
    /// Number of slots whose buffers share one registered region.
    slots_per_region: u32,
    /// Some submissions need fields beyond the template.
    has_extra_fields: bool,
    force_async_every: u32,
    queued_total: u32,
    split_stamps: bool,
    poll: bool,
    submit_batch: u32,
    features: Vec<String>,
    missing_features: Vec<String>,
    clock: Clock,
    sleep: PreciseSleep,
}

impl IoUring {
    pub(crate) fn open(setup: Setup) -> Result<IoUring, EngineError> {
        if setup.slots > MAX_ENTRIES {
            return Err(EngineError::unavailable(
                EngineKind::IoUring,
                format!(
                    "a queue depth of {} exceeds the capacity of a ring, {MAX_ENTRIES}",
                    setup.slots
                ),
                "reduce the queue depth, or spread it over more workers",
            ));
        }
        let mut buffers = SharedBuffers::new(&setup)?;
        let (mut features, mut missing_features) = (Vec::new(), Vec::new());
        let mut ring = open_ring(&setup, &mut features, &mut missing_features)?;
        let mut record_feature = |ok: bool, name: &str, reason: String| {
            if ok {
                features.push(name.to_owned())
            } else {
                missing_features.push(format!("{name}: {reason}"))
            }
        };
        record_feature(
            ring.register_itself(),
            "registered ring",
            "the kernel is older than 5.18".into(),
        );
        let mut file_numbers: Vec<i32> = setup.files.iter().map(File::descriptor).collect();
        let calls = CallFlags::new(&setup.choice);
        let mut read_template = Submission {
            opcode: OP_READ,
            operation_flags: calls.read,
            ..Submission::default()
        };
        let mut write_template = Submission {
            opcode: OP_WRITE,
            operation_flags: calls.write,
            ..Submission::default()
        };
        let mut slots_per_region = setup.slots;
        if setup.choice.registered {
            let result = if setup.exchanges_files {
                Err(std::io::Error::other("files are replaced during the run"))
            } else {
                ring.register_files(&file_numbers)
            };
            record_feature(result.is_ok(), "registered files", failure_reason(&result));
            if result.is_ok() {
                file_numbers = (0..file_numbers.len() as i32).collect();
                (read_template.flags, write_template.flags) = (FLAG_FIXED_FILE, FLAG_FIXED_FILE);
            }
            let result = register_buffers(&ring, &mut buffers);
            record_feature(result.is_ok(), "registered buffers", failure_reason(&result));
            if let Ok(slots) = result {
                (read_template.opcode, write_template.opcode) = (OP_READ_FIXED, OP_WRITE_FIXED);
                slots_per_region = slots;
            }
        }
        let prioritized = setup.files.iter().any(|file| file.priority() != 0);
        Ok(IoUring {
            ring,
            has_extra_fields: prioritized || setup.choice.force_async_every > 0,
            files: setup.files,
            buffers,
            file_numbers,
            read_template,
            write_template,
            slots_per_region,
            force_async_every: setup.choice.force_async_every,
            queued_total: 0,
            split_stamps: setup.split_stamps,
            poll: setup.choice.poll,
            submit_batch: setup.submit_batch,
            features,
            missing_features,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    /// Pushes requests into the ring, up to the first that it does not support. Returns how many.
    #[inline(always)]
    fn push(&mut self, requests: &[Request]) -> u32 {
        let mut pushed = 0;
        for request in requests {
            let template = match request.action {
                Action::Read => &self.read_template,
                Action::Write => &self.write_template,
                other if self.supports(other) => {
                    self.push_flush(request);
                    pushed += 1;
                    continue;
                }
                _ => break,
            };
            let mut submission = Submission {
                file: self.file_numbers[usize::from(request.file)],
                offset: request.offset,
                address: self.buffers.claim(request.slot, request.length) as u64,
                length: request.length,
                user_data: u64::from(request.slot.0),
                ..*template
            };
            if request.slot.0 >= self.slots_per_region || self.has_extra_fields {
                self.set_extra_fields(&mut submission, request.file);
            }
            // SAFETY: the address is the slot's buffer of at least `length` bytes (checked by
            // `claim`), which belongs to this engine and is not accessible until the completion of
            // the slot is reaped. `Drop` cancels and reaps every outstanding slot before buffers
            // and files are freed.
            unsafe { self.ring.push(submission) };
            pushed += 1;
        }
        pushed
    }

    /// Sets the fields that few submissions need.
    #[inline(never)]
    fn set_extra_fields(&mut self, submission: &mut Submission, file: u16) {
        submission.priority = self.files[usize::from(file)].priority();
        submission.buffer_index = (submission.user_data / u64::from(self.slots_per_region)) as u16;
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
            flags: self.read_template.flags,
            file: self.file_numbers[usize::from(request.file)],
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

    /// Pushes and submits requests. Requests that the kernel does not accept are removed from the
    /// ring.
    #[inline(always)]
    fn submit(&mut self, requests: &[Request], wait_for: u32) -> Result<u32, EngineError> {
        let pushed = self.push(requests);
        // Requests that were not pushed cannot complete; waiting for them would never end.
        let wait_for = wait_for.min(self.buffers.outstanding());
        let accepted = match self.ring.enter(wait_for, None) {
            // No completion will make room, so do not wait.
            Err(Errno::AGAIN | Errno::BUSY) if self.buffers.outstanding() == pushed && pushed > 0 => {
                self.withdraw(&requests[..pushed as usize], 0);
                return Err(EngineError::system("io_uring_enter", libc::EAGAIN));
            }
            other => ignore_temporary_errors(other)?,
        };
        if accepted < pushed {
            self.withdraw(&requests[..pushed as usize], accepted);
        }
        Ok(accepted)
    }

    #[inline(never)]
    fn withdraw(&mut self, pushed: &[Request], accepted: u32) {
        self.ring.drop_unaccepted();
        for request in &pushed[accepted as usize..] {
            self.buffers.release(request.slot);
        }
    }

    /// Executes operations that the ring does not support inside the submitting turn.
    #[inline(never)]
    fn execute_directly(&mut self, request: &Request, batch: &mut Batch) {
        let result = self.files[request.file as usize].flush_or_trim(request);
        batch.submitted = 1;
        batch.done.push(request.slot, result, self.clock.now());
    }

    fn supports(&self, action: Action) -> bool {
        match action {
            Action::Read | Action::Write => true,
            Action::Flush | Action::FlushData => !self.poll,
            Action::Trim | Action::FlushRange(_) => false,
        }
    }

    /// Waits until the deadline: in the kernel until shortly before it, then spinning.
    #[inline(never)]
    fn wait_until(&mut self, wait_nr: u32, until: Nanos) -> Result<(), EngineError> {
        while self.ring.available() < wait_nr {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            let timer = self.sleep.timer_for(until);
            if timer > now {
                let result = self.ring.enter(wait_nr, Some(timer.since(now).min(Nanos::millis(100))));
                ignore_temporary_errors(result)?;
                if self.ring.available() < wait_nr {
                    self.sleep.adjust_margin(timer, self.clock.now());
                }
            } else {
                // Completions of this kind of ring appear only when the program enters the kernel.
                ignore_temporary_errors(self.ring.enter(0, None))?;
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<(), EngineError> {
        ignore_temporary_errors(self.ring.enter(1, Some(Nanos::millis(100)))).map(|_| ())
    }
}

/// Treats temporary errors of `io_uring_enter` as nothing submitted.
fn ignore_temporary_errors(result: Result<u32, Errno>) -> Result<u32, EngineError> {
    match result {
        Ok(accepted) => Ok(accepted),
        Err(Errno::INTR | Errno::AGAIN | Errno::BUSY | Errno::TIME) => Ok(0),
        Err(error) => Err(EngineError::system("io_uring_enter", error.raw_os_error())),
    }
}

fn failure_reason<T>(result: &std::io::Result<T>) -> String {
    match result {
        Ok(_) => String::new(),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOMEM) => "the limit of locked memory (ulimit -l) is too low".into(),
            Some(errno) => os_error_name(errno),
            None => error.to_string(),
        },
    }
}

/// Opens the ring with the most features that this kernel supports.
fn open_ring(
    setup: &Setup,
    features: &mut Vec<String>,
    missing_features: &mut Vec<String>,
) -> Result<Ring, EngineError> {
    let mut base_flags = IoringSetupFlags::empty();
    if setup.choice.poll {
        base_flags |= IoringSetupFlags::IOPOLL;
    }
    if setup.choice.submission_thread {
        base_flags |= IoringSetupFlags::SQPOLL;
        if setup.choice.submission_cpu.is_some() {
            base_flags |= IoringSetupFlags::SQ_AFF;
        }
    }
    let feature_levels = [
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
    // A kernel thread consumes entries at its own pace, so there must be room for all operations in
    // flight.
    let batch = if setup.choice.submission_thread {
        setup.slots
    } else {
        setup.submit_batch
    };
    let submissions = batch.clamp(1, setup.slots.max(1)).min(MAX_ENTRIES);
    let completions = setup.slots.max(submissions) * 2;
    for (extra, name) in feature_levels {
        // Deferred task work cannot be combined with a kernel submission thread.
        if setup.choice.submission_thread && extra.contains(IoringSetupFlags::DEFER_TASKRUN) {
            continue;
        }
        match Ring::new(RingOptions {
            submissions,
            completions,
            flags: base_flags | extra,
            thread_cpu: setup.choice.submission_cpu.unwrap_or(0),
        }) {
            Ok(ring) => {
                features.push(name.to_owned());
                for (is_requested, name) in [
                    (setup.choice.poll, "polled completion"),
                    (setup.choice.submission_thread, "submission thread"),
                ] {
                    if is_requested {
                        features.push(name.to_owned());
                    }
                }
                return Ok(ring);
            }
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                missing_features.push(format!("{name}: the kernel does not support it"));
            }
            Err(error) => return Err(setup_error(&error)),
        }
    }
    Err(EngineError::unavailable(
        EngineKind::IoUring,
        "the kernel supports no kind of ring",
        "use `--engine libaio` or `--engine psync`",
    ))
}

fn setup_error(error: &std::io::Error) -> EngineError {
    let help = "use `--engine libaio` or `--engine psync`";
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel is older than 5.4 or was built without io_uring".to_owned(),
        Some(libc::EPERM) => {
            let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
            match setting.trim() {
                "1" | "2" => "io_uring is disabled on this system".to_owned(),
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
    EngineError::unavailable(EngineKind::IoUring, why, help)
}

/// Registers all buffers in as few regions as the kernel allows. Returns the number of slots per
/// region.
fn register_buffers(ring: &Ring, buffers: &mut SharedBuffers) -> std::io::Result<u32> {
    let (stride, slots) = (buffers.stride(), buffers.slots());
    // The kernel would pin the gaps between sparse buffers too, which uses memory.
    let sparse_bytes = buffers.sparse_buffer_bytes();
    let slots_per_region = match sparse_bytes {
        Some(_) => 1,
        None => ((MAX_REGISTERED_BYTES / stride) as u32).clamp(1, slots),
    };
    let start = buffers.base_address();
    let regions: Vec<(*mut u8, usize)> = (0..slots)
        .step_by(slots_per_region as usize)
        .map(|first| {
            let count = slots_per_region.min(slots - first) as usize;
            (
                start.wrapping_add(first as usize * stride),
                sparse_bytes.unwrap_or(count * stride),
            )
        })
        .collect();
    // SAFETY: the regions are within the mapping of `buffers`, which `IoUring` owns longer than its
    // ring: `drop` ends every operation first, and the pinned pages outlive even an early
    // unmapping.
    unsafe { ring.register_buffers(&regions)? };
    Ok(slots_per_region)
}

impl Engine for IoUring {
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
        batch.submitted = 0;
        let mut requests = requests;
        if let Some(first) = requests.first()
            && !self.supports(first.action)
        {
            self.execute_directly(first, batch);
            requests = &[];
        }
        // Operations executed directly count as completions.
        let wait_nr = wait_nr.saturating_sub(batch.done.len() as u32);
        let waits_in_submit = until == Nanos::NEVER && !self.split_stamps;
        // Completions of this kind of ring appear only when the program enters the kernel, so a
        // mere poll must enter it too.
        if !requests.is_empty() || waits_in_submit || wait_nr == 0 || self.poll {
            batch.submitted += self.submit(requests, if waits_in_submit { wait_nr } else { 0 })?;
        }
        if self.split_stamps {
            batch.submit_end = self.clock.now();
        }
        if !waits_in_submit && wait_nr > 0 {
            if until == Nanos::NEVER {
                let wait_nr = wait_nr.min(self.buffers.outstanding());
                if self.ring.available() < wait_nr {
                    ignore_temporary_errors(self.ring.enter(wait_nr, None))?;
                }
            } else {
                self.wait_until(wait_nr, until)?;
            }
        }
        let available = self.ring.available();
        batch.reap_time = self.clock.now();
        if !self.split_stamps {
            batch.submit_end = batch.reap_time;
        }
        let (buffers, at) = (&mut self.buffers, batch.reap_time);
        self.ring.reap(available, |user_data, result| {
            let slot = Slot(user_data as u32);
            buffers.release(slot);
            batch.done.push(slot, i64::from(result), at);
        });
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.idle_buffer(slot)
    }

    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        debug_assert!(
            self.read_template.flags & FLAG_FIXED_FILE == 0,
            "a replaceable file must not be registered"
        );
        self.file_numbers[usize::from(index)] = replacement.descriptor();
        self.has_extra_fields |= replacement.priority() != 0;
        self.files[usize::from(index)] = replacement;
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: EngineKind::IoUring,
            features: self.features.clone(),
            unavailable_features: self.missing_features.clone(),
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
        let until = self.clock.now() + STUCK_TIMEOUT;
        while outstanding > 0 && self.clock.now() < until {
            let available = self.ring.available();
            self.ring.reap(available, |_, _| {});
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
