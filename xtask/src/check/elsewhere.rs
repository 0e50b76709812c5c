//! Checks of programs for other systems need Linux; on Windows, the step `tests` covers everything.

/// Nothing to do.
pub(crate) fn check() -> Result<(), String> {
    Ok(())
}

/// Nothing to compile.
pub(crate) fn build() -> Result<(), String> {
    Ok(())
}
