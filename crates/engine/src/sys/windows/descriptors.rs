//! Open handles of this process.

/// Handles that this process may still open: limited only by memory.
pub fn free_descriptors() -> Option<u64> {
    None
}

/// Always false: Rust ignores a missing output.
pub fn is_stdout_closed() -> bool {
    false
}
