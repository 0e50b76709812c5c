//! Signals that would end the program where it can report instead: Windows has none of them.

/// Nothing to do.
pub fn ignore_file_size_signal() {}
