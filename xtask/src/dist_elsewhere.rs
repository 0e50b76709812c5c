//! What `cargo xtask dist` says where it cannot run.

/// Refuses.
pub(crate) fn dist(_: &[String]) -> Result<(), String> {
    Err("archives for all systems are made on Linux".into())
}
