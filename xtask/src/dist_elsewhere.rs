//! `cargo xtask dist` on systems other than Linux.

/// Refuses.
pub(crate) fn dist(_: &[String]) -> Result<(), String> {
    Err("archives for all systems are made on Linux".into())
}
