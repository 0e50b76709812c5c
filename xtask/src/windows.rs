//! Compiles for Windows, and other systems, on Linux.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo, output, root};

pub(crate) const TARGET: &str = "x86_64-pc-windows-gnu";
/// Debian's compiler, with which the source of the standard library is installed.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
pub(crate) const DEBIAN_CARGO: &str = "/usr/bin/cargo";
/// Parts of the standard library to build: enough for programs and tests, so that it is built once.
const PARTS: &str = "build-std=std,panic_unwind,test";

/// The build folder for Windows.
pub(crate) fn folder() -> PathBuf {
    root().join("target/windows")
}

/// A Cargo command that compiles for Windows; a warning is a failure.
///
/// # Errors
/// No compiler is installed; the message names the packages.
pub(crate) fn cargo_for_windows(words: &[&str]) -> Result<Command, String> {
    let mut command = with_rustup(words).or_else(|| with_debian(words)).ok_or_else(|| {
        format!(
            "cannot compile for Windows: no compiler is installed\nhelp: `rustup target add {TARGET}`, or on Debian \
             `apt-get install rustc-web cargo-web rust-web-src mingw-w64`"
        )
    })?;
    command.env("CARGO_TARGET_DIR", folder());
    Ok(command)
}

/// The command with rustup's compiler, if it has the target's standard library.
fn with_rustup(words: &[&str]) -> Option<Command> {
    let installed = output(Command::new("rustup").args(["target", "list", "--installed"])).ok()?;
    installed.lines().any(|line| line.trim() == TARGET).then(|| {
        let mut command = cargo();
        command
            .args(words)
            .args(["--target", TARGET])
            .env("RUSTFLAGS", "-D warnings");
        command
    })
}

fn with_debian(words: &[&str]) -> Option<Command> {
    let mut command = DebianCargo::for_target(TARGET)?.command(words);
    command
        // Dependencies have the same features for any selection of packages.
        .args(["-Z", "feature-unification"])
        .env("CARGO_RESOLVER_FEATURE_UNIFICATION", "workspace")
        // Not in RUSTFLAGS, which would apply to the standard library too.
        .args(["-Z", "warnings", "--config", "build.warnings=\"deny\""]);
    Some(command)
}

/// Debian's compiler. It has the standard library for other systems only as source, which Cargo
/// builds.
pub(crate) struct DebianCargo {
    target: &'static str,
}

impl DebianCargo {
    /// `None` where it is not installed.
    pub(crate) fn for_target(target: &'static str) -> Option<DebianCargo> {
        let needed = [DEBIAN_RUSTC, DEBIAN_CARGO, "/usr/lib/rustlib/src/rust/library/std"];
        needed
            .iter()
            .all(|path| Path::new(path).exists())
            .then_some(DebianCargo { target })
    }

    /// A Cargo command with arguments.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_through(Command::new(DEBIAN_CARGO), words)
    }

    /// Runs Cargo through another program that takes Cargo's arguments.
    pub(crate) fn command_through(&self, mut command: Command, words: &[&str]) -> Command {
        command
            .current_dir(root())
            .args(words)
            .args(["-Z", PARTS, "--target", self.target])
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", DEBIAN_RUSTC)
            // For some queries Cargo uses the first `rustc` in PATH, and rustup's has no source.
            .env("PATH", "/usr/bin:/bin")
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("RUSTDOC")
            .env_remove("CARGO");
        command
    }
}
