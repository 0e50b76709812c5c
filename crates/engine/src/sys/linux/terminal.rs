//! The terminal of a full-screen view: raw mode, keys, and its restoration, also when a signal
//! handler ends the process.

use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
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

/// Puts the terminal on stderr into raw mode and writes `enter_sequence`. [`restore`] undoes both,
/// and writes `restore_sequence`; so does a second signal that ends the process.
///
/// # Errors
/// The terminal cannot be changed; [`restore`] undoes what was done.
pub fn take_over(enter_sequence: &'static [u8], restore_sequence: &'static [u8]) -> io::Result<()> {
    let mut attributes = MaybeUninit::<libc::termios>::uninit();
    // SAFETY: the pointer is to memory of that type, which outlives the call.
    if unsafe { libc::tcgetattr(libc::STDERR_FILENO, attributes.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded, so it has filled the structure.
    let attributes = unsafe { attributes.assume_init() };
    SAVED.get_or_init(|| SavedTerminal {
        attributes,
        restore_sequence,
    });
    CHANGED.store(true, Ordering::Release);
    let mut raw = attributes;
    // SAFETY: the pointer is to a filled structure, which the call changes.
    unsafe { libc::cfmakeraw(&raw mut raw) };
    // SAFETY: the pointer is to a filled structure, which the call only reads.
    if unsafe { libc::tcsetattr(libc::STDERR_FILENO, libc::TCSANOW, &raw const raw) } != 0 {
        return Err(io::Error::last_os_error());
    }
    io::stderr().write_all(enter_sequence)
}

/// Suspends the whole job. A terminal in raw mode delivers Ctrl-Z as a key. It may take effect
/// after this returns.
pub fn suspend() {
    // SAFETY: zero is the own process group, and the default of this signal is to stop.
    unsafe { libc::kill(0, libc::SIGTSTP) };
}

/// Restores the terminal, once. Async-signal-safe: it only reads the saved state and makes
/// permitted calls.
pub fn restore() {
    let Some(saved) = SAVED.get().filter(|_| CHANGED.swap(false, Ordering::AcqRel)) else {
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

/// Keys of the controlling terminal of the process, independent of its standard input.
#[derive(Debug)]
pub struct Keys(File);

impl Keys {
    /// Opens the terminal.
    ///
    /// # Errors
    ///
    /// The process has no controlling terminal.
    pub fn new() -> io::Result<Keys> {
        File::open("/dev/tty").map(Keys)
    }

    /// Waits at most `timeout` for keys, and returns the bytes that they send; empty if none came.
    ///
    /// # Errors
    ///
    /// The terminal is gone.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<Vec<u8>> {
        let mut wanted = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the pointer is to one whole entry, which outlives the call, and the descriptor is
        // open.
        let ready = unsafe { libc::poll(&raw mut wanted, 1, millis) };
        // A signal arrived or the time is over.
        if ready <= 0 {
            return Ok(Vec::new());
        }
        let mut typed = vec![0; 64];
        let is_gone = wanted.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0;
        let count = if is_gone { 0 } else { self.0.read(&mut typed)? };
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        typed.truncate(count);
        Ok(typed)
    }
}
