//! `cargo xtask wine` on Windows.

/// Refuses.
pub(crate) fn wine(_: &[String]) -> Result<(), String> {
    Err("Wine is run on Linux; on Windows itself `cargo test` needs none".into())
}
