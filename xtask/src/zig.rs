//! Zig from PyPI, as C compiler and linker for other systems, with `cargo-zigbuild`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{root, run};

/// Tested versions; PyPI has both as programs.
const ZIG: &str = "ziglang==0.17.1";
const ZIGBUILD: &str = "cargo-zigbuild==0.24.0";

/// The installation of both.
pub(crate) struct Zig {
    folder: PathBuf,
}

impl Zig {
    /// Installs both, if necessary.
    ///
    /// # Errors
    /// A command of the installation fails.
    pub(crate) fn install() -> Result<Zig, String> {
        let folder = root().join("target/tools");
        if !folder.join("bin/cargo-zigbuild").exists() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
            run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", ZIG, ZIGBUILD]))?;
        }
        Ok(Zig { folder })
    }

    /// The `cargo-zigbuild` command, for Cargo's arguments.
    pub(crate) fn command(&self) -> Command {
        Command::new(self.folder.join("bin/cargo-zigbuild"))
    }

    /// Puts zig before `path` in a command's PATH.
    ///
    /// # Errors
    /// `path` contains a separator.
    pub(crate) fn add_to_path(&self, command: &mut Command, path: &[PathBuf]) -> Result<(), String> {
        let paths = std::iter::once(self.folder.join("bin")).chain(path.iter().cloned());
        let path: OsString = std::env::join_paths(paths).map_err(|error| format!("PATH: {error}"))?;
        command
            .env("PATH", path)
            .env("CARGO_ZIGBUILD_PYTHON_PATH", self.folder.join("bin/python3"));
        Ok(())
    }
}
