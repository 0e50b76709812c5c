//! Compilers for other systems, and checks of the libraries that their programs need.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arm64::{TARGET as ARM64, cargo_for_arm64};
use crate::command::{cannot, output, root, run, write};
use crate::windows::{DebianCargo, TARGET as WINDOWS, cargo_for_windows};
use crate::zig::Zig;

pub(super) const GNU: &str = "x86_64-unknown-linux-gnu";
pub(super) const MUSL: &str = "x86_64-unknown-linux-musl";
/// The C library of CentOS 7, older than the C library of every supported system.
const OLDEST_GLIBC: [u32; 2] = [2, 17];
/// DLLs of every Windows.
const DLLS: &[&str] = &[
    "advapi32.dll", "bcrypt.dll", "bcryptprimitives.dll", "kernel32.dll", "msvcrt.dll", "ntdll.dll", "ole32.dll",
    "powrprof.dll", "shell32.dll", "user32.dll", "userenv.dll", "ws2_32.dll",
];

/// Builds for a C library of 2.17 or later. The linker is zig, which has the symbols of each
/// version.
pub(super) fn build_glibc() -> Result<PathBuf, String> {
    let [major, minor] = OLDEST_GLIBC;
    let zig = Zig::install()?;
    let mut command = zig.command();
    let path = std::env::var_os("PATH").unwrap_or_default();
    zig.add_to_path(&mut command, &std::env::split_paths(&path).collect::<Vec<_>>())?;
    let folder = root().join("target/release-gnu");
    run(command
        .current_dir(root())
        .args(["zigbuild", "--profile", "dist", "--package", "fathom", "--target"])
        .arg(format!("{GNU}.{major}.{minor}"))
        .env("CARGO_TARGET_DIR", &folder))?;
    let program = strip_copy(&folder.join(GNU).join("dist/fathom"), "strip")?;
    let symbols = output(Command::new("objdump").arg("-T").arg(&program))?;
    let newest = newest_glibc_version(&symbols).ok_or("the program needs no symbol of the C library")?;
    match newest <= OLDEST_GLIBC {
        true => Ok(program),
        false => Err(format!("{} needs GLIBC_{}.{}", program.display(), newest[0], newest[1])),
    }
}

/// The newest version of the C library among the symbols that a program needs.
fn newest_glibc_version(symbols: &str) -> Option<[u32; 2]> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|letter: char| letter != '.' && !letter.is_ascii_digit());
        let mut parts = rest[..end.unwrap_or(rest.len())].split('.');
        Some([parts.next()?.parse().ok()?, parts.next()?.parse().ok()?])
    });
    versions.max()
}

/// Builds without any library, with Debian's compiler, whose standard library is built for it.
pub(super) fn build_musl() -> Result<PathBuf, String> {
    let folder = root().join("target/release-musl");
    let unwinding = folder.join("unwinding");
    fs::create_dir_all(&unwinding).map_err(cannot("make", &unwinding))?;
    // The standard library requires a library of this name. GCC's has the same, except for one
    // symbol of glibc. This one reports that it knows nothing, so the tables are searched instead.
    let library = unwinding.join("libunwind.a");
    let found = output(Command::new("gcc").arg("-print-file-name=libgcc_eh.a"))?;
    fs::copy(&found, &library).map_err(cannot("copy", Path::new(&found)))?;
    let source = unwinding.join("none.c");
    let none = "int _dl_find_object(void *address, void *into) { (void)address; (void)into; return -1; }\n";
    write(&source, none)?;
    let object = unwinding.join("none.o");
    run(Command::new("musl-gcc")
        .args(["-O2", "-c", "-o"])
        .arg(&object)
        .arg(&source))?;
    run(Command::new("ar").arg("r").arg(&library).arg(&object))?;
    let mut command = DebianCargo::for_target(MUSL)
        .ok_or("cannot compile for musl: no compiler is installed\nhelp: on Debian `apt-get install rustc-web cargo-web rust-web-src musl-tools`")?
        .command(&["build", "--profile", "dist", "--package", "fathom", "--bin", "fathom"]);
    let flags = format!(
        "-C link-self-contained=no -C target-feature=+crt-static -C relocation-model=static -L native={}",
        unwinding.display()
    );
    run(command
        .env("CARGO_TARGET_DIR", &folder)
        .env("CC_x86_64_unknown_linux_musl", "musl-gcc")
        .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER", "musl-gcc")
        .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS", flags))?;
    let program = strip_copy(&folder.join(MUSL).join("dist/fathom"), "strip")?;
    require_static(program, "objdump")
}

/// Builds for ARM64 without any library, with Debian's compiler, and zig for C.
pub(super) fn build_arm64() -> Result<PathBuf, String> {
    let folder = root().join("target/release-arm64");
    let words = [
        "zigbuild", "--profile", "dist", "--package", "fathom", "--bin", "fathom",
    ];
    run(&mut cargo_for_arm64(&words, &folder)?)?;
    let program = strip_copy(&folder.join(ARM64).join("dist/fathom"), "aarch64-linux-gnu-strip")?;
    let headers = output(Command::new("aarch64-linux-gnu-objdump").arg("-f").arg(&program))?;
    match headers.contains("architecture: aarch64") {
        true => require_static(program, "aarch64-linux-gnu-objdump"),
        false => Err(format!("{} is for another processor:\n{headers}", program.display())),
    }
}

/// Returns the program if it is static.
fn require_static(program: PathBuf, objdump: &str) -> Result<PathBuf, String> {
    let needs = output(Command::new(objdump).arg("-p").arg(&program))?;
    match needs.contains("NEEDED") || needs.contains("INTERP") {
        false => Ok(program),
        true => Err(format!("{} is not static", program.display())),
    }
}

/// Builds for Windows, and checks that only DLLs of Windows are needed.
pub(super) fn build_windows() -> Result<PathBuf, String> {
    let folder = root().join("target/release-windows");
    let mut command = cargo_for_windows(&["build", "--profile", "dist", "--package", "fathom", "--bin", "fathom"])?;
    run(command.env("CARGO_TARGET_DIR", &folder))?;
    let program = strip_copy(
        &folder.join(WINDOWS).join("dist/fathom.exe"),
        "x86_64-w64-mingw32-strip",
    )?;
    let headers = output(Command::new("x86_64-w64-mingw32-objdump").arg("-p").arg(&program))?;
    let needed: Vec<&str> = list_dlls(&headers).collect();
    let foreign: Vec<&str> = needed
        .iter()
        .copied()
        .filter(|name| !DLLS.contains(&name.to_ascii_lowercase().as_str()) && !name.starts_with("api-ms-win-"))
        .collect();
    match foreign.is_empty() && !needed.is_empty() {
        true => Ok(program),
        false => Err(format!("{} needs {foreign:?}", program.display())),
    }
}

fn list_dlls(headers: &str) -> impl Iterator<Item = &str> {
    headers
        .lines()
        .filter_map(|line| line.trim().strip_prefix("DLL Name: ").map(str::trim))
}

/// Creates a stripped copy next to the program.
fn strip_copy(program: &Path, strip: &str) -> Result<PathBuf, String> {
    let copy = program
        .with_file_name("stripped")
        .join(program.file_name().unwrap_or_default());
    let folder = copy.parent().expect("the path was just joined");
    fs::create_dir_all(folder).map_err(cannot("make", folder))?;
    run(Command::new(strip).arg("-o").arg(&copy).arg(program))?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let symbols = "0  DF *UND* 0 (GLIBC_2.2.5) read\n0 DF *UND* 0 (GLIBC_2.17) x\n0 DF *UND* 0 (GLIBC_2.9) y\n";
        assert_eq!(newest_glibc_version(symbols), Some([2, 17]));
        assert_eq!(newest_glibc_version("static"), None);
    }

    #[test]
    fn libraries_of_windows_are_read_from_headers() {
        let headers = "The Import Tables\n\tDLL Name: KERNEL32.dll\n\tvma:\n\tDLL Name: msvcrt.dll\n";
        assert_eq!(list_dlls(headers).collect::<Vec<_>>(), ["KERNEL32.dll", "msvcrt.dll"]);
    }
}
