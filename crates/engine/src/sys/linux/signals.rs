//! Signals that would end the program where it can report instead.

/// Writes beyond the file size limit fail with `EFBIG` instead of killing the process.
pub fn ignore_file_size_signal() {
    // SAFETY: SIG_IGN is a valid disposition for SIGXFSZ, and no handler of ours is replaced.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
