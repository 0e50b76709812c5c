//! Checks of programs for other systems, which need Linux: on Windows itself the step `tests` covers
//! everything.

/// Nothing to do.
pub(crate) fn check() -> Result<(), String> {
    Ok(())
}

/// Nothing to compile.
pub(crate) fn build() -> Result<(), String> {
    Ok(())
}
