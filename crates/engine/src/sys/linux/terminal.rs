//! What must be written to a terminal before the process ends, where nothing but a signal handler
//! is left to write it.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How the terminal was, and the bytes that bring its screen back.
struct Kept {
    attributes: libc::termios,
    farewell: &'static [u8],
}

static KEPT: OnceLock<Kept> = OnceLock::new();
static CHANGED: AtomicBool = AtomicBool::new(false);

/// True if the terminal on stderr lets this process change it: a job in the background would be
/// stopped for that.
pub fn is_in_foreground() -> bool {
    // SAFETY: both calls take and return numbers only; stderr may be anything, or closed.
    unsafe { libc::tcgetpgrp(libc::STDERR_FILENO) == libc::getpgrp() }
}

/// The terminal on stderr is about to be changed. Should a second signal end the process at once,
/// its attributes are put back as they are now, and `farewell` is written to it.
pub fn keep(farewell: &'static [u8]) {
    let mut attributes = MaybeUninit::<libc::termios>::uninit();
    // SAFETY: the pointer is to memory of that type, which outlives the call.
    let read = unsafe { libc::tcgetattr(libc::STDERR_FILENO, attributes.as_mut_ptr()) };
    if read == 0 {
        // SAFETY: the call has succeeded, so it has filled the structure.
        let attributes = unsafe { attributes.assume_init() };
        KEPT.get_or_init(|| Kept { attributes, farewell });
        CHANGED.store(true, Ordering::Release);
    }
}

/// The terminal is as it was: nothing needs to be put back.
pub fn let_go() {
    CHANGED.store(false, Ordering::Release);
}

/// Asks the whole job to stop until it is asked to go on, as Ctrl-Z does where the terminal does
/// not pass it on as a key. It stops in the next moment, not necessarily before this returns.
pub fn suspend() {
    // SAFETY: zero is the own process group, and the default of this signal is to stop.
    unsafe { libc::kill(0, libc::SIGTSTP) };
}

/// Puts the terminal back. For signal handlers: it only reads what was kept, and makes calls that
/// are allowed in one.
pub(super) fn put_back() {
    let Some(kept) = KEPT.get().filter(|_| CHANGED.load(Ordering::Acquire)) else {
        return;
    };
    let farewell = kept.farewell;
    // SAFETY: pointer and length are those of a slice that lives for ever; `write` may be called in
    // a signal handler.
    unsafe { libc::write(libc::STDERR_FILENO, farewell.as_ptr().cast(), farewell.len()) };
    // SAFETY: the attributes were filled by `tcgetattr` and are not changed any more; `tcsetattr`
    // may be called in a signal handler.
    unsafe { libc::tcsetattr(libc::STDERR_FILENO, libc::TCSANOW, &raw const kept.attributes) };
}

/// What came of waiting for keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Nothing was typed.
    Nothing,
    /// Something can be read.
    Typed,
    /// The terminal is gone.
    Gone,
}

/// Waits until something is typed on a terminal, at most for so long.
pub fn wait_for_keys(terminal: BorrowedFd<'_>, at_most: Duration) -> Waited {
    let mut wanted = libc::pollfd {
        fd: terminal.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let millis = i32::try_from(at_most.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the pointer is to one whole entry, which outlives the call, and the descriptor is
    // borrowed for as long.
    let ready = unsafe { libc::poll(&raw mut wanted, 1, millis) };
    match (ready, wanted.revents) {
        // A signal came, or the time is over.
        (..=0, _) => Waited::Nothing,
        (_, what) if what & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0 => Waited::Gone,
        _ => Waited::Typed,
    }
}
