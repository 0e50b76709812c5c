//! The processor is played for programs of Linux only.

/// Nothing to do.
pub(crate) fn check() -> Result<(), String> {
    Ok(())
}

/// Nothing to compile.
pub(crate) fn build() -> Result<(), String> {
    Ok(())
}
