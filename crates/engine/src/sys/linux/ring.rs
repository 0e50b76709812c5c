//! An io_uring: the two rings shared with the kernel, and its system calls. This file handles only
//! the layout of the rings; the engine handles operations, buffers and time.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use model::Nanos;
use rustix::io::Errno;
use rustix::io_uring::{
    IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringEnterFlags, IoringFeatureFlags, IoringRegisterOp, IoringSetupFlags,
    IoringSqFlags, io_uring_enter, io_uring_enter_arg, io_uring_getevents_arg, io_uring_params, io_uring_ptr,
    io_uring_register, io_uring_setup,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::Timespec;

/// One submission, as the kernel lays it out.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Submission {
    pub(crate) opcode: u8,
    pub(crate) flags: u8,
    pub(crate) priority: u16,
    pub(crate) file: i32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) length: u32,
    pub(crate) operation_flags: u32,
    pub(crate) user_data: u64,
    pub(crate) buffer_index: u16,
    pub(crate) personality: u16,
    pub(crate) file_index: u32,
    pub(crate) address_3: u64,
    pub(crate) padding: u64,
}

/// One completion, as the kernel lays it out.
#[derive(Clone, Copy)]
#[repr(C)]
struct RawCompletion {
    user_data: u64,
    result: i32,
    flags: u32,
}

/// Options of a new ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingOptions {
    /// Size of the submission queue.
    pub(crate) submissions: u32,
    /// Size of the completion queue.
    pub(crate) completions: u32,
    /// `IORING_SETUP_*`.
    pub(crate) flags: IoringSetupFlags,
    /// CPU of the kernel thread, if the flags pin it.
    pub(crate) thread_cpu: u32,
}

/// The rings. They belong to the thread that created them.
#[derive(Debug)]
pub(crate) struct Ring {
    descriptor: OwnedFd,
    /// The descriptor, or its index among the thread's registered rings.
    enter_number: i32,
    enter_flags: IoringEnterFlags,
    kernel_thread: bool,
    timed_waits: bool,
    rings: SharedMapping,
    submissions: SharedMapping,
    submission_tail: *const AtomicU32,
    submission_flags: *const AtomicU32,
    submission_mask: u32,
    /// Tail of the submission queue as this program sees it; [`Ring::enter`] publishes it to the
    /// kernel.
    local_tail: u32,
    accepted_tail: u32,
    completion_head: *const AtomicU32,
    completion_tail: *const AtomicU32,
    completion_mask: u32,
    completions: *const RawCompletion,
    local_head: u32,
}

/// `struct io_uring_rsrc_update`
#[repr(C)]
struct Update {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// Memory shared with the kernel.
#[derive(Debug)]
struct SharedMapping {
    start: *mut c_void,
    length: usize,
}

impl SharedMapping {
    fn map(descriptor: &OwnedFd, length: usize, offset: u64) -> io::Result<SharedMapping> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let start = unsafe {
            mmap(
                null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                flags,
                descriptor,
                offset,
            )?
        };
        Ok(SharedMapping { start, length })
    }

    fn at<T>(&self, offset: u32) -> *mut T {
        self.start.wrapping_byte_add(offset as usize).cast()
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `map`; the pointers into it live in the same `Ring` and
        // die with it.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}

impl Ring {
    /// Asks the kernel for a ring.
    ///
    /// # Errors
    /// The kernel's error: `EINVAL` for flags or sizes it does not know, `ENOSYS`, `EPERM`,
    /// `ENOMEM`.
    pub(crate) fn new(options: RingOptions) -> io::Result<Ring> {
        let mut parameters = io_uring_params::default();
        parameters.flags = options.flags | IoringSetupFlags::CQSIZE;
        parameters.cq_entries = options.completions.next_power_of_two();
        parameters.sq_thread_idle = 1000;
        parameters.sq_thread_cpu = options.thread_cpu;
        // SAFETY: the structure is live and lets the kernel map no memory of this process (no
        // NO_MMAP).
        let descriptor = unsafe { io_uring_setup(options.submissions.next_power_of_two(), &mut parameters)? };
        if !parameters.features.contains(IoringFeatureFlags::SINGLE_MMAP) {
            return Err(Errno::NOSYS.into());
        }
        let (sq, cq) = (parameters.sq_off, parameters.cq_off);
        let completions_end = cq.cqes as usize + parameters.cq_entries as usize * size_of::<RawCompletion>();
        let array_end = sq.array as usize + parameters.sq_entries as usize * size_of::<u32>();
        let rings = SharedMapping::map(&descriptor, completions_end.max(array_end), IORING_OFF_SQ_RING)?;
        let submissions_length = parameters.sq_entries as usize * size_of::<Submission>();
        let submissions = SharedMapping::map(&descriptor, submissions_length, IORING_OFF_SQES)?;
        if !options.flags.contains(IoringSetupFlags::NO_SQARRAY) {
            for index in 0..parameters.sq_entries {
                // SAFETY: the array of `sq_entries` numbers is within the mapping, and the kernel
                // reads it only in io_uring_enter, which has not been called yet.
                unsafe { rings.at::<u32>(sq.array).add(index as usize).write(index) };
            }
        }
        Ok(Ring {
            enter_number: descriptor.as_raw_fd(),
            enter_flags: IoringEnterFlags::GETEVENTS,
            kernel_thread: options.flags.contains(IoringSetupFlags::SQPOLL),
            timed_waits: parameters.features.contains(IoringFeatureFlags::EXT_ARG),
            submission_tail: rings.at(sq.tail),
            submission_flags: rings.at(sq.flags),
            submission_mask: parameters.sq_entries - 1,
            local_tail: 0,
            accepted_tail: 0,
            completion_head: rings.at(cq.head),
            completion_tail: rings.at(cq.tail),
            completion_mask: parameters.cq_entries - 1,
            completions: rings.at(cq.cqes),
            local_head: 0,
            descriptor,
            rings,
            submissions,
        })
    }

    /// Registers or unregisters resources of the ring.
    ///
    /// # Safety
    /// `argument` leads to `count` live values of the type that the operation reads and writes.
    unsafe fn register(&self, operation: IoringRegisterOp, argument: *const c_void, count: u32) -> Result<u32, Errno> {
        // SAFETY: the descriptor is that of the ring; the caller guarantees the argument.
        unsafe { io_uring_register(self.descriptor.as_fd(), operation, argument, count) }
    }

    /// Registers the ring with the thread, which saves the kernel a lookup at each call.
    pub(crate) fn register_itself(&mut self) -> bool {
        let mut update = Update {
            offset: u32::MAX,
            reserved: 0,
            data: self.descriptor.as_raw_fd() as u64,
        };
        let pointer = (&raw mut update).cast::<c_void>();
        // SAFETY: the operation reads and writes one update structure, which is live.
        let result = unsafe { self.register(IoringRegisterOp::RegisterRingFds, pointer, 1) };
        if result != Ok(1) {
            return false;
        }
        self.enter_number = update.offset as i32;
        self.enter_flags |= IoringEnterFlags::REGISTERED_RING;
        true
    }

    /// Registers files, which are then addressed by index.
    pub(crate) fn register_files(&self, descriptors: &[i32]) -> io::Result<()> {
        let pointer = descriptors.as_ptr().cast::<c_void>();
        let count = descriptors.len() as u32;
        // SAFETY: the operation reads `count` numbers behind the pointer, which are live.
        unsafe { self.register(IoringRegisterOp::RegisterFiles, pointer, count)? };
        Ok(())
    }

    /// Registers buffers, which the kernel then keeps pinned.
    ///
    /// # Safety
    /// The memory must stay mapped until the ring is gone.
    pub(crate) unsafe fn register_buffers(&self, buffers: &[(*mut u8, usize)]) -> io::Result<()> {
        let vectors: Vec<libc::iovec> = buffers
            .iter()
            .map(|(base, length)| libc::iovec {
                iov_base: base.cast(),
                iov_len: *length,
            })
            .collect();
        let (pointer, count) = (vectors.as_ptr().cast::<c_void>(), vectors.len() as u32);
        // SAFETY: the operation reads `count` vectors behind the pointer, which are live; the
        // caller keeps the memory they name.
        unsafe { self.register(IoringRegisterOp::RegisterBuffers, pointer, count)? };
        Ok(())
    }

    /// Pushes a submission. There must be room: no more than [`RingOptions::submissions`] between
    /// two calls of [`Ring::enter`] that accept them all.
    ///
    /// # Safety
    /// Memory and files of the submission must stay valid until its completion is reaped.
    #[inline(always)]
    pub(crate) unsafe fn push(&mut self, submission: Submission) {
        debug_assert!(self.pushed() <= self.submission_mask, "the submission ring is full");
        let index = (self.local_tail & self.submission_mask) as usize;
        // SAFETY: the masked index is within the mapped array. The kernel reads an entry only
        // after the tail has moved past it, in `enter`, and has consumed all earlier ones there.
        unsafe { self.submissions.start.cast::<Submission>().add(index).write(submission) };
        self.local_tail = self.local_tail.wrapping_add(1);
    }

    /// Submissions pushed and not yet accepted by the kernel.
    #[inline(always)]
    fn pushed(&self) -> u32 {
        self.local_tail.wrapping_sub(self.accepted_tail)
    }

    /// Submits everything pushed and waits until `wait_nr` completions are available or `timeout`
    /// has passed. Returns how many submissions the kernel accepted.
    ///
    /// # Errors
    /// The kernel's error: `EAGAIN` and `EBUSY` if it has no room, `EINTR`, `ETIME` if nothing was
    /// submitted and the timeout passed.
    #[inline(always)]
    pub(crate) fn enter(&mut self, wait_nr: u32, timeout: Option<Nanos>) -> Result<u32, Errno> {
        // SAFETY: the tail is within the mapping that `self` keeps.
        unsafe { (*self.submission_tail).store(self.local_tail, Ordering::Release) };
        let mut flags = self.enter_flags;
        if self.kernel_thread {
            // The fence ensures that either the kernel thread sees the new tail, or we see that it
            // sleeps.
            std::sync::atomic::fence(Ordering::SeqCst);
            // SAFETY: the flags are within the mapping that `self` keeps.
            let state = unsafe { (*self.submission_flags).load(Ordering::Relaxed) };
            if state & IoringSqFlags::NEED_WAKEUP.bits() != 0 {
                flags |= IoringEnterFlags::SQ_WAKEUP;
            } else if wait_nr == 0 {
                let pushed = self.pushed();
                self.accepted_tail = self.local_tail;
                return Ok(pushed);
            }
        }
        let entered = match timeout {
            None => {
                // SAFETY: the callers of `push` promise that everything the submissions name is
                // valid. The number is that of the ring's own descriptor or of its registration, as
                // the flags say.
                unsafe { io_uring_enter(self.enter_descriptor(), self.pushed(), wait_nr, flags) }
            }
            Some(timeout) => self.enter_timed(wait_nr, timeout, flags),
        };
        let accepted = match entered {
            // The kernel thread accepts all entries before the tail, regardless of how the wait
            // ended.
            Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::INTR | Errno::TIME) if self.kernel_thread => self.pushed(),
            entered => entered?,
        };
        debug_assert!(
            accepted <= self.pushed(),
            "the kernel accepts at most what was submitted"
        );
        self.accepted_tail = self.accepted_tail.wrapping_add(accepted);
        Ok(accepted)
    }

    /// Removes submissions that the kernel has not accepted.
    pub(crate) fn drop_unaccepted(&mut self) {
        // The kernel reads entries only in `enter`, so it will not read the remaining ones. (A
        // kernel thread accepts all.)
        self.local_tail = self.accepted_tail;
    }

    #[inline(never)]
    fn enter_timed(&mut self, wait_nr: u32, timeout: Nanos, flags: IoringEnterFlags) -> Result<u32, Errno> {
        if !self.timed_waits {
            // Before Linux 5.11: submit, then poll again soon.
            // SAFETY: as in `enter`.
            let accepted = unsafe { io_uring_enter(self.enter_descriptor(), self.pushed(), 0, flags)? };
            if self.available() < wait_nr {
                super::thread::sleep(timeout.min(Nanos::micros(50)));
            }
            return Ok(accepted);
        }
        let time = Timespec {
            tv_sec: (timeout.0 / 1_000_000_000) as i64,
            tv_nsec: (timeout.0 % 1_000_000_000) as _,
        };
        let argument = io_uring_getevents_arg {
            ts: io_uring_ptr::new((&raw const time).cast_mut().cast()),
            ..Default::default()
        };
        let flags = flags | IoringEnterFlags::EXT_ARG;
        // SAFETY: as in `enter`; argument and time live until the call returns.
        unsafe { io_uring_enter_arg(self.enter_descriptor(), self.pushed(), wait_nr, flags, Some(&argument)) }
    }

    #[inline(always)]
    fn enter_descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as `self`; a registered index is only ever passed
        // together with the flag that says so.
        unsafe { BorrowedFd::borrow_raw(self.enter_number) }
    }

    /// Completions ready to be reaped.
    #[inline(always)]
    pub(crate) fn available(&self) -> u32 {
        // SAFETY: the tail is within the mapping that `self` keeps.
        unsafe { (*self.completion_tail).load(Ordering::Acquire) }.wrapping_sub(self.local_head)
    }

    /// Reaps `count` completions, which must be available.
    #[inline(always)]
    pub(crate) fn reap(&mut self, count: u32, mut on_completion: impl FnMut(u64, i32)) {
        debug_assert!(count <= self.available());
        for step in 0..count {
            let index = (self.local_head.wrapping_add(step) & self.completion_mask) as usize;
            // SAFETY: the masked index is within the mapped array, and the acquire load of the
            // tail in `available` has shown that the kernel has finished writing this entry.
            let completion = unsafe { *self.completions.add(index) };
            on_completion(completion.user_data, completion.result);
        }
        self.local_head = self.local_head.wrapping_add(count);
        // SAFETY: the head is within the mapping that `self` keeps. Release: entries were read
        // before.
        unsafe { (*self.completion_head).store(self.local_head, Ordering::Release) };
    }

    /// Asks the kernel to cancel everything in flight. Other operations complete as usual.
    pub(crate) fn cancel_all(&self) {
        /// `struct io_uring_sync_cancel_reg`
        #[repr(C)]
        struct SyncCancel {
            address: u64,
            file: i32,
            flags: u32,
            timeout: [i64; 2],
            padding: [u64; 4],
        }
        const CANCEL_ALL: u32 = 1;
        const CANCEL_ANY: u32 = 1 << 2;
        let mut request = SyncCancel {
            address: 0,
            file: -1,
            flags: CANCEL_ALL | CANCEL_ANY,
            timeout: [0, 0],
            padding: [0; 4],
        };
        let pointer = (&raw mut request).cast::<c_void>();
        // SAFETY: the operation reads one structure behind the pointer, which is live. Failure (an
        // old kernel, nothing to cancel, operations that run to their end) leaves the operations to
        // complete as usual.
        let _ = unsafe { self.register(IoringRegisterOp::RegisterSyncCancel, pointer, 1) };
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // A registration holds a reference to the ring. Release it: a thread can register at most
        // sixteen rings.
        if self.enter_flags.contains(IoringEnterFlags::REGISTERED_RING) {
            let mut update = Update {
                offset: self.enter_number as u32,
                reserved: 0,
                data: 0,
            };
            let pointer = (&raw mut update).cast::<c_void>();
            // SAFETY: the operation reads one update structure, which is live.
            let _ = unsafe { self.register(IoringRegisterOp::UnregisterRingFds, pointer, 1) };
        }
        let _ = &self.rings;
    }
}
