//! Compiles for ARM64, and runs the programs in an emulator.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::root;
use crate::windows::{DEBIAN_CARGO, DebianCargo};
use crate::zig::Zig;

/// A static Linux target: its programs run on any ARM64 processor or emulator.
pub(crate) const TARGET: &str = "aarch64-unknown-linux-musl";
/// User-mode emulators, which pass system calls to the local kernel.
const EMULATORS: [&str; 2] = ["qemu-aarch64-static", "qemu-aarch64"];
/// Links the C library and start-up code of zig statically.
const FLAGS: &str = "-C link-self-contained=no -C target-feature=+crt-static -C relocation-model=static";

/// A Cargo command that compiles for ARM64 with Debian's compiler and links with zig. `words`
/// starts with `zigbuild` or `test`.
///
/// # Errors
/// No compiler for ARM64 is installed; the message names the packages.
pub(crate) fn cargo_for_arm64(words: &[&str], folder: &Path) -> Result<Command, String> {
    let debian = DebianCargo::for_target(TARGET).ok_or(
        "cannot compile for ARM64: no compiler is installed\nhelp: on Debian `apt-get install rustc-web cargo-web rust-web-src python3-venv`",
    )?;
    let zig = Zig::install()?;
    let mut command = debian.command_through(zig.command(), words);
    zig.add_to_path(&mut command, &["/usr/bin".into(), "/bin".into()])?;
    command
        .env("CARGO", DEBIAN_CARGO)
        .env("CARGO_TARGET_DIR", folder)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUSTFLAGS", FLAGS);
    Ok(command)
}

/// The build folder for checks.
pub(crate) fn folder() -> PathBuf {
    root().join("target/arm64")
}

/// The emulator that runs programs for ARM64.
///
/// # Errors
/// No emulator is installed; the message names the package.
pub(crate) fn emulator() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .flat_map(|folder| EMULATORS.map(|name| folder.join(name)))
        .find(|program| program.is_file())
        .ok_or_else(|| {
            "cannot run programs for ARM64: no emulator is installed\nhelp: on Debian `apt-get install --no-install-recommends qemu-user-static`"
                .to_owned()
        })
}
