//! Where there is no Wine: on Windows itself the step `tests` is all of it.

/// Nothing to do.
pub(crate) fn check() -> Result<(), String> {
    Ok(())
}

/// Nothing to compile.
pub(crate) fn build() -> Result<(), String> {
    Ok(())
}
