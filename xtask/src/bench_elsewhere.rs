//! `cargo xtask bench` on systems other than Linux.

/// Refuses.
pub(crate) fn bench(_: &[String]) -> Result<(), String> {
    Err("the comparison with fio needs Linux".into())
}

/// Refuses.
pub(crate) fn measured(_: &[String]) -> Result<(), String> {
    bench(&[])
}
