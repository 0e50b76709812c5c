//! The emulator runs programs for Linux only.

/// Nothing to do.
pub(crate) fn check() -> Result<(), String> {
    Ok(())
}

/// Nothing to compile.
pub(crate) fn build() -> Result<(), String> {
    Ok(())
}
