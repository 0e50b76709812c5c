//! Restores the terminal when a signal handler ends the process.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The saved terminal attributes, and the bytes that restore its screen.
struct SavedTerminal {
    attributes: libc::termios,
    restore_sequence: &'static [u8],
}

static SAVED: OnceLock<SavedTerminal> = OnceLock::new();
static CHANGED: AtomicBool = AtomicBool::new(false);

/// True if this process may change the terminal on stderr; the kernel would stop a background job.
pub fn is_in_foreground() -> bool {
    // SAFETY: both calls take and return numbers only; stderr may be anything, or closed.
    unsafe { libc::tcgetpgrp(libc::STDERR_FILENO) == libc::getpgrp() }
}

/// Saves the attributes of the terminal on stderr before a change. If a second signal ends the
/// process, they are restored and `restore_sequence` is written.
pub fn save_state(restore_sequence: &'static [u8]) {
    let mut attributes = MaybeUninit::<libc::termios>::uninit();
    // SAFETY: the pointer is to memory of that type, which outlives the call.
    let read = unsafe { libc::tcgetattr(libc::STDERR_FILENO, attributes.as_mut_ptr()) };
    if read == 0 {
        // SAFETY: the call has succeeded, so it has filled the structure.
        let attributes = unsafe { attributes.assume_init() };
        SAVED.get_or_init(|| SavedTerminal {
            attributes,
            restore_sequence,
        });
        CHANGED.store(true, Ordering::Release);
    }
}

/// Discards the saved state, once the terminal has been restored.
pub fn discard_saved_state() {
    CHANGED.store(false, Ordering::Release);
}

/// Suspends the whole job. A terminal in raw mode delivers Ctrl-Z as a key. It may take effect
/// after this returns.
pub fn suspend() {
    // SAFETY: zero is the own process group, and the default of this signal is to stop.
    unsafe { libc::kill(0, libc::SIGTSTP) };
}

/// Restores the terminal. Async-signal-safe: it only reads the saved state and makes permitted
/// calls.
pub(super) fn restore() {
    let Some(saved) = SAVED.get().filter(|_| CHANGED.load(Ordering::Acquire)) else {
        return;
    };
    let restore_sequence = saved.restore_sequence;
    // SAFETY: pointer and length are those of a slice that lives for ever; `write` may be called in
    // a signal handler.
    unsafe {
        libc::write(
            libc::STDERR_FILENO,
            restore_sequence.as_ptr().cast(),
            restore_sequence.len(),
        )
    };
    // SAFETY: the attributes were filled by `tcgetattr` and are not changed any more; `tcsetattr`
    // may be called in a signal handler.
    unsafe { libc::tcsetattr(libc::STDERR_FILENO, libc::TCSANOW, &raw const saved.attributes) };
}

/// Result of [`wait_for_keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Nothing was typed.
    Nothing,
    /// Something can be read.
    Typed,
    /// The terminal is gone.
    Gone,
}

/// Waits at most `timeout` for input on a terminal.
pub fn wait_for_keys(terminal: BorrowedFd<'_>, timeout: Duration) -> Waited {
    let mut wanted = libc::pollfd {
        fd: terminal.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the pointer is to one whole entry, which outlives the call, and the descriptor is
    // borrowed for as long.
    let ready = unsafe { libc::poll(&raw mut wanted, 1, millis) };
    match (ready, wanted.revents) {
        // A signal arrived or the time is over.
        (..=0, _) => Waited::Nothing,
        (_, what) if what & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0 => Waited::Gone,
        _ => Waited::Typed,
    }
}
