//! Linux native AIO: a context, its control blocks, and the completion ring that the kernel maps
//! into the process.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use model::Nanos;

/// One control block, as the kernel lays it out.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct ControlBlock {
    pub(crate) data: u64,
    key: u32,
    pub(crate) rw_flags: i32,
    pub(crate) opcode: u16,
    pub(crate) priority: u16,
    pub(crate) file: u32,
    pub(crate) buffer: u64,
    pub(crate) bytes: u64,
    pub(crate) offset: i64,
    reserved: u64,
    pub(crate) flags: u32,
    event_file: u32,
}

/// The priority of the block is used.
pub(crate) const FLAG_PRIORITY: u32 = 2;

pub(crate) const OP_READ: u16 = 0;
pub(crate) const OP_WRITE: u16 = 1;
pub(crate) const OP_FSYNC: u16 = 2;
pub(crate) const OP_FDSYNC: u16 = 3;

/// One completion, as the kernel lays it out.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Event {
    pub(crate) data: u64,
    block: u64,
    pub(crate) result: i64,
    result_2: i64,
}

/// Head of the ring of completions.
#[repr(C)]
struct RingHead {
    id: u32,
    entries: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    length: u32,
}

const RING_MAGIC: u32 = 0xa10a_10a1;

/// An AIO context.
#[derive(Debug)]
pub(crate) struct Context {
    /// The kernel's handle, which is the address of the ring.
    id: u64,
    /// The layout of the ring is known, so events can be read without a system call.
    ring_is_readable: bool,
}

impl Context {
    /// Creates a context for `depth` operations.
    ///
    /// # Errors
    /// The kernel's error: `EAGAIN` beyond `fs.aio-max-nr`, `EINVAL`, `ENOMEM`, `ENOSYS`.
    pub(crate) fn new(depth: u32) -> io::Result<Context> {
        let mut id: u64 = 0;
        // SAFETY: the call writes one word behind the pointer, which is live.
        if unsafe { libc::syscall(libc::SYS_io_setup, depth as libc::c_long, &raw mut id) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let head = id as *const RingHead;
        // SAFETY: a context's handle is the address at which the kernel has mapped its ring into
        // this process, readable since Linux 2.6; it stays mapped until io_destroy.
        let ring_is_readable = unsafe { (*head).magic == RING_MAGIC && (*head).incompatible == 0 };
        Ok(Context { id, ring_is_readable })
    }

    /// Submits control blocks. Returns how many the kernel accepted.
    ///
    /// # Safety
    /// Every block, its memory and its file must stay valid until its event is reaped.
    ///
    /// # Errors
    /// The kernel's error number if it accepted none.
    pub(crate) unsafe fn submit(&self, blocks: &[*mut ControlBlock]) -> Result<u32, i32> {
        let count = blocks.len() as libc::c_long;
        // SAFETY: `blocks` is a live array of pointers; the caller guarantees that what they point
        // to is valid.
        let accepted = unsafe { libc::syscall(libc::SYS_io_submit, self.id, count, blocks.as_ptr()) };
        if accepted >= 0 {
            Ok(accepted as u32)
        } else {
            Err(last_error())
        }
    }

    /// Reaps completed events from the ring without a system call. Returns how many.
    #[inline]
    pub(crate) fn reap_ready(&self, events: &mut [Event]) -> usize {
        if !self.ring_is_readable {
            return 0;
        }
        let head = self.id as *const RingHead;
        // SAFETY: the ring is mapped as long as the context lives. The kernel writes events before
        // it moves the tail, and only this thread moves the head, so entries between the two are
        // complete and ours.
        unsafe {
            let entries = (*head).entries;
            let first = head.cast::<u8>().add((*head).length as usize).cast::<Event>();
            let (mut at, tail) = (
                (*head).head.load(Ordering::Relaxed),
                (*head).tail.load(Ordering::Acquire),
            );
            let mut count = 0;
            while at != tail && count < events.len() {
                events[count] = *first.add(at as usize);
                count += 1;
                at = if at + 1 == entries { 0 } else { at + 1 };
            }
            if count > 0 {
                (*head).head.store(at, Ordering::Release);
            }
            count
        }
    }

    /// True if the ring has events. Always false if the ring is not readable.
    pub(crate) fn has_ready(&self) -> bool {
        if !self.ring_is_readable {
            return false;
        }
        let head = self.id as *const RingHead;
        // SAFETY: as in `reap_ready`.
        unsafe { (*head).head.load(Ordering::Relaxed) != (*head).tail.load(Ordering::Acquire) }
    }

    /// Waits for at least `min_events` events or the timeout. Returns how many were reaped.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(crate) fn wait(&self, min_events: u32, events: &mut [Event], timeout: Option<Nanos>) -> Result<usize, i32> {
        let time = timeout.map(|length| libc::timespec {
            tv_sec: (length.0 / 1_000_000_000) as _,
            tv_nsec: (length.0 % 1_000_000_000) as _,
        });
        let pointer = time
            .as_ref()
            .map_or(std::ptr::null(), |time| time as *const libc::timespec);
        let min_nr = min_events as libc::c_long;
        // SAFETY: the kernel writes at most `events.len()` events into the live slice and reads the
        // live time.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.id,
                min_nr,
                events.len(),
                events.as_mut_ptr(),
                pointer,
            )
        };
        if count >= 0 {
            Ok(count as usize)
        } else {
            Err(last_error())
        }
    }
}

fn last_error() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

impl Drop for Context {
    fn drop(&mut self) {
        // The kernel cancels what it can and waits for the rest before this returns.
        // SAFETY: the context was made by `new` and is destroyed once.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}
