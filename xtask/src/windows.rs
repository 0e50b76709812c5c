//! Compiling for Windows without a Windows machine, and for others with the compiler that can do
//! that.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo, output, root};

/// What the program is compiled for.
pub(crate) const TARGET: &str = "x86_64-pc-windows-gnu";
/// Debian's compiler, with which the source of the standard library is installed.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
pub(crate) const DEBIAN_CARGO: &str = "/usr/bin/cargo";
/// What of it is built: enough for programs and for tests, so that it is built once.
const PARTS: &str = "build-std=std,panic_unwind,test";

/// Where everything for Windows is built.
pub(crate) fn folder() -> PathBuf {
    root().join("target/windows")
}

/// A Cargo that compiles for Windows, with the words of a command; a warning of ours is a failure.
///
/// # Errors
/// Says what to install where nothing can.
pub(crate) fn cargo_for_windows(words: &[&str]) -> Result<Command, String> {
    let mut command = with_rustup(words).or_else(|| with_debian(words)).ok_or_else(|| {
        format!(
            "nothing here compiles for Windows\nhelp: `rustup target add {TARGET}`, or on Debian \
             `apt-get install rustc-web cargo-web rust-web-src mingw-w64`"
        )
    })?;
    command.env("CARGO_TARGET_DIR", folder());
    Ok(command)
}

/// Where rustup has the standard library of the target.
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
        // Whichever packages are asked for, what they depend on is built in one way.
        .args(["-Z", "feature-unification"])
        .env("CARGO_RESOLVER_FEATURE_UNIFICATION", "workspace")
        // Not by RUSTFLAGS: they would hold for the standard library too.
        .args(["-Z", "warnings", "--config", "build.warnings=\"deny\""]);
    Some(command)
}

/// Debian's compiler. It has no standard library for other systems, but its source, from which
/// Cargo builds it.
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

    /// With the words of a command.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.through(Command::new(DEBIAN_CARGO), words)
    }

    /// The same through a program that takes Cargo's words.
    pub(crate) fn through(&self, mut command: Command, words: &[&str]) -> Command {
        command
            .current_dir(root())
            .args(words)
            .args(["-Z", PARTS, "--target", self.target])
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", DEBIAN_RUSTC)
            // Cargo takes whichever `rustc` it meets first for some questions, and rustup's has no
            // source.
            .env("PATH", "/usr/bin:/bin")
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("RUSTDOC")
            .env_remove("CARGO");
        command
    }
}
