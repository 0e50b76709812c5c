//! `cargo xtask screenshots` on systems other than Linux: it needs tmux.

/// Refuses.
pub(crate) fn screenshots(_: &[String]) -> Result<(), String> {
    Err("screenshots are made on Linux".into())
}
