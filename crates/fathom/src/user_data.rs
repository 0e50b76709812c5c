//! The directory of this user's data: baselines and the history.

use std::ffi::OsString;
use std::path::PathBuf;

/// Reason for a missing directory, for faults.
pub const NO_FOLDER_REASON: &str = if cfg!(windows) {
    "neither FATHOM_DATA nor XDG_DATA_HOME nor LOCALAPPDATA is set"
} else {
    "neither FATHOM_DATA nor XDG_DATA_HOME nor HOME is set"
};

/// Finds the directory; `None` if no variable sets it.
pub fn folder() -> Option<PathBuf> {
    folder_from_env(|name| std::env::var_os(name))
}

fn folder_from_env(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let program_folder = |base: PathBuf| base.join("fathom");
    set("FATHOM_DATA")
        .or_else(|| {
            set("XDG_DATA_HOME")
                .filter(|path| path.is_absolute())
                .map(program_folder)
        })
        .or_else(|| set("LOCALAPPDATA").filter(|_| cfg!(windows)).map(program_folder))
        .or_else(|| set("HOME").map(|home| home.join(".local/share/fathom")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_variable_decides() {
        let check = |set: &[(&str, &str)], expected: Option<&str>| {
            let value = |name: &str| {
                set.iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| value.into())
            };
            assert_eq!(folder_from_env(value), expected.map(PathBuf::from), "{set:?}");
        };
        let home = ("HOME", "/home/x");
        let root = if cfg!(windows) { "C:/d" } else { "/d" };
        let below = format!("{root}/fathom");
        check(&[home, ("XDG_DATA_HOME", root), ("FATHOM_DATA", "here")], Some("here"));
        check(&[home, ("FATHOM_DATA", ""), ("XDG_DATA_HOME", root)], Some(&below));
        // The XDG standard ignores relative paths.
        check(&[home, ("XDG_DATA_HOME", "d")], Some("/home/x/.local/share/fathom"));
        check(&[], None);
    }
}
