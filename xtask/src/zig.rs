//! Zig as C compiler and linker for other systems, from PyPI, and Cargo's door to it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{root, run};

/// Versions that were seen to work; PyPI has both as programs.
const ZIG: &str = "ziglang==0.17.1";
const ZIGBUILD: &str = "cargo-zigbuild==0.24.0";

/// Where both are installed.
pub(crate) struct Zig {
    folder: PathBuf,
}

impl Zig {
    /// Installs them, unless they are there.
    ///
    /// # Errors
    /// Says which command failed.
    pub(crate) fn ready() -> Result<Zig, String> {
        let folder = root().join("target/tools");
        if !folder.join("bin/cargo-zigbuild").exists() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
            run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", ZIG, ZIGBUILD]))?;
        }
        Ok(Zig { folder })
    }

    /// `cargo-zigbuild`, which is given Cargo's words.
    pub(crate) fn command(&self) -> Command {
        Command::new(self.folder.join("bin/cargo-zigbuild"))
    }

    /// Lets a command find zig before what lies in `path`.
    ///
    /// # Errors
    /// If `path` cannot be written as one word.
    pub(crate) fn add_to(&self, command: &mut Command, path: &[PathBuf]) -> Result<(), String> {
        let paths = std::iter::once(self.folder.join("bin")).chain(path.iter().cloned());
        let path: OsString = std::env::join_paths(paths).map_err(|error| format!("PATH: {error}"))?;
        command
            .env("PATH", path)
            .env("CARGO_ZIGBUILD_PYTHON_PATH", self.folder.join("bin/python3"));
        Ok(())
    }
}
