//! Whether the workspace compiles for Windows, without a Windows machine.

use std::path::Path;
use std::process::Command;

use crate::command::{cargo, output, root, run};

const TARGET: &str = "x86_64-pc-windows-gnu";
/// Debian's compiler, with which the source of the standard library is installed.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";

/// Checks every package for Windows; a warning is a failure.
pub(crate) fn check() -> Result<(), String> {
    let mut command = with_rustup().or_else(with_debian).ok_or_else(|| {
        format!(
            "nothing here compiles for Windows\nhelp: `rustup target add {TARGET}`, or on Debian \
             `apt-get install rustc-web cargo-web rust-web-src mingw-w64`"
        )
    })?;
    let own_folder = root().join("target/windows");
    run(command.env("CARGO_TARGET_DIR", own_folder))
}

/// Where rustup has the standard library of the target.
fn with_rustup() -> Option<Command> {
    let installed = output(Command::new("rustup").args(["target", "list", "--installed"])).ok()?;
    installed.lines().any(|line| line.trim() == TARGET).then(|| {
        let mut command = cargo();
        command
            .args(["check", "--workspace", "--target", TARGET])
            .env("RUSTFLAGS", "-D warnings");
        command
    })
}

/// Debian has no standard library for Windows, but its source, from which Cargo builds it.
fn with_debian() -> Option<Command> {
    let source = Path::new("/usr/lib/rustlib/src/rust/library/std");
    if !Path::new(DEBIAN_RUSTC).exists() || !Path::new(DEBIAN_CARGO).exists() || !source.exists() {
        return None;
    }
    let mut command = Command::new(DEBIAN_CARGO);
    command
        .current_dir(root())
        .args([
            "check",
            "-Z",
            "build-std=std,panic_abort",
            "--target",
            TARGET,
            "--workspace",
        ])
        // Not by RUSTFLAGS: they would hold for the standard library too.
        .args(["-Z", "warnings", "--config", "build.warnings=\"deny\""])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", DEBIAN_RUSTC)
        // Cargo takes whichever `rustc` it meets first for some questions, and rustup's has no source.
        .env("PATH", "/usr/bin:/bin")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("RUSTDOC")
        .env_remove("CARGO");
    Some(command)
}
