//! Compiling for ARM64, and running what comes of it on another processor.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::root;
use crate::windows::{DEBIAN_CARGO, DebianCargo};
use crate::zig::Zig;

/// Linux without any library: what is built for it runs wherever its processor is, or is played.
pub(crate) const TARGET: &str = "aarch64-unknown-linux-musl";
/// Plays the processor for one program, and hands its system calls to the kernel that is there.
const EMULATORS: [&str; 2] = ["qemu-aarch64-static", "qemu-aarch64"];
/// C library and start come from zig, and nothing is looked for when the program starts.
const FLAGS: &str = "-C link-self-contained=no -C target-feature=+crt-static -C relocation-model=static";

/// A Cargo that compiles for ARM64 with Debian's compiler and links with zig: `zigbuild` or `test`
/// with the words of a command.
///
/// # Errors
/// Says what to install where nothing can.
pub(crate) fn cargo_for_arm64(words: &[&str], folder: &Path) -> Result<Command, String> {
    let debian = DebianCargo::for_target(TARGET).ok_or(
        "nothing here compiles for ARM64\nhelp: on Debian `apt-get install rustc-web cargo-web rust-web-src python3-venv`",
    )?;
    let zig = Zig::ready()?;
    let mut command = debian.through(zig.command(), words);
    zig.add_to(&mut command, &["/usr/bin".into(), "/bin".into()])?;
    command
        .env("CARGO", DEBIAN_CARGO)
        .env("CARGO_TARGET_DIR", folder)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUSTFLAGS", FLAGS);
    Ok(command)
}

/// Where everything for checks is built.
pub(crate) fn folder() -> PathBuf {
    root().join("target/arm64")
}

/// What runs a program for ARM64 here.
///
/// # Errors
/// Says what to install.
pub(crate) fn emulator() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .flat_map(|folder| EMULATORS.map(|name| folder.join(name)))
        .find(|program| program.is_file())
        .ok_or_else(|| {
            "nothing here plays an ARM64 processor\nhelp: on Debian `apt-get install --no-install-recommends qemu-user-static`"
                .to_owned()
        })
}
