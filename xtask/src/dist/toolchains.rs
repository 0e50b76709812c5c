//! Compilers for other systems than this one, and what the program they make may need there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cannot;
use crate::command::{output, root, run};
use crate::windows::{DebianCargo, TARGET as WINDOWS, cargo_for_windows};

const GNU: &str = "x86_64-unknown-linux-gnu";
const MUSL: &str = "x86_64-unknown-linux-musl";
/// The C library of CentOS 7, and older than that of every system that is still looked after.
const OLDEST_GLIBC: [u32; 2] = [2, 17];
/// Versions that were seen to work; from PyPI, which has both as programs.
const ZIG: &str = "ziglang==0.17.1";
const ZIGBUILD: &str = "cargo-zigbuild==0.24.0";
/// What every Windows has.
const DLLS: &[&str] = &[
    "advapi32.dll",
    "bcrypt.dll",
    "bcryptprimitives.dll",
    "kernel32.dll",
    "msvcrt.dll",
    "ntdll.dll",
    "ole32.dll",
    "powrprof.dll",
    "shell32.dll",
    "user32.dll",
    "userenv.dll",
    "ws2_32.dll",
];

/// For a C library of 2.17 or later: with zig as linker, which has the symbols of each version.
pub(super) fn glibc() -> Result<PathBuf, String> {
    let tools = root().join("target/tools");
    if !tools.join("bin/cargo-zigbuild").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&tools))?;
        run(Command::new(tools.join("bin/pip")).args(["install", "--quiet", ZIG, ZIGBUILD]))?;
    }
    let [major, minor] = OLDEST_GLIBC;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(tools.join("bin")).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).map_err(|error| format!("PATH: {error}"))?;
    let folder = root().join("target/release-gnu");
    run(Command::new(tools.join("bin/cargo-zigbuild"))
        .current_dir(root())
        .args(["zigbuild", "--release", "--package", "fathom", "--target"])
        .arg(format!("{GNU}.{major}.{minor}"))
        .env("PATH", path)
        .env("CARGO_ZIGBUILD_PYTHON_PATH", tools.join("bin/python3"))
        .env("CARGO_TARGET_DIR", &folder))?;
    let program = stripped(&folder.join(GNU).join("release/fathom"), "strip")?;
    let symbols = output(Command::new("objdump").arg("-T").arg(&program))?;
    let newest = newest_symbol(&symbols).ok_or("the program needs no symbol of the C library")?;
    match newest <= OLDEST_GLIBC {
        true => Ok(program),
        false => Err(format!("{} needs GLIBC_{}.{}", program.display(), newest[0], newest[1])),
    }
}

/// The newest version of the C library among the symbols that a program needs.
fn newest_symbol(symbols: &str) -> Option<[u32; 2]> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|letter: char| letter != '.' && !letter.is_ascii_digit());
        let mut parts = rest[..end.unwrap_or(rest.len())].split('.');
        Some([parts.next()?.parse().ok()?, parts.next()?.parse().ok()?])
    });
    versions.max()
}

/// Without any library: Debian's compiler, whose standard library is built for it.
pub(super) fn musl() -> Result<PathBuf, String> {
    let folder = root().join("target/release-musl");
    let unwinding = folder.join("unwinding");
    fs::create_dir_all(&unwinding).map_err(cannot("make", &unwinding))?;
    // The standard library asks for one of this name. GCC's does the same, but for one symbol of glibc, which says
    // that it knows nothing, and the tables are searched instead.
    let library = unwinding.join("libunwind.a");
    let found = output(Command::new("gcc").arg("-print-file-name=libgcc_eh.a"))?;
    fs::copy(&found, &library).map_err(cannot("copy", Path::new(&found)))?;
    let source = unwinding.join("none.c");
    let none = "int _dl_find_object(void *address, void *into) { (void)address; (void)into; return -1; }\n";
    fs::write(&source, none).map_err(cannot("write", &source))?;
    let object = unwinding.join("none.o");
    run(Command::new("musl-gcc")
        .args(["-O2", "-c", "-o"])
        .arg(&object)
        .arg(&source))?;
    run(Command::new("ar").arg("r").arg(&library).arg(&object))?;
    let mut command = DebianCargo::for_target(MUSL)
        .ok_or("nothing here compiles for musl\nhelp: on Debian `apt-get install rustc-web cargo-web rust-web-src musl-tools`")?
        .command(&["build", "--release", "--package", "fathom", "--bin", "fathom"]);
    let flags = format!(
        "-C link-self-contained=no -C target-feature=+crt-static -C relocation-model=static -L native={}",
        unwinding.display()
    );
    run(command
        .env("CARGO_TARGET_DIR", &folder)
        .env("CC_x86_64_unknown_linux_musl", "musl-gcc")
        .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER", "musl-gcc")
        .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS", flags))?;
    let program = stripped(&folder.join(MUSL).join("release/fathom"), "strip")?;
    let needs = output(Command::new("objdump").arg("-p").arg(&program))?;
    match needs.contains("NEEDED") || needs.contains("INTERP") {
        false => Ok(program),
        true => Err(format!("{} is not static", program.display())),
    }
}

/// With nothing but what Windows has.
pub(super) fn windows() -> Result<PathBuf, String> {
    let folder = root().join("target/release-windows");
    let mut command = cargo_for_windows(&["build", "--release", "--package", "fathom", "--bin", "fathom"])?;
    run(command.env("CARGO_TARGET_DIR", &folder))?;
    let program = stripped(
        &folder.join(WINDOWS).join("release/fathom.exe"),
        "x86_64-w64-mingw32-strip",
    )?;
    let headers = output(Command::new("x86_64-w64-mingw32-objdump").arg("-p").arg(&program))?;
    let needed: Vec<&str> = dlls(&headers).collect();
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

fn dlls(headers: &str) -> impl Iterator<Item = &str> {
    headers
        .lines()
        .filter_map(|line| line.trim().strip_prefix("DLL Name: ").map(str::trim))
}

/// A copy without the names of functions, beside the program.
fn stripped(program: &Path, strip: &str) -> Result<PathBuf, String> {
    let copy = program
        .with_file_name("stripped")
        .join(program.file_name().unwrap_or_default());
    let folder = copy.parent().expect("it was just joined");
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
        assert_eq!(newest_symbol(symbols), Some([2, 17]));
        assert_eq!(newest_symbol("static"), None);
    }

    #[test]
    fn libraries_of_windows_are_read_from_headers() {
        let headers = "The Import Tables\n\tDLL Name: KERNEL32.dll\n\tvma:\n\tDLL Name: msvcrt.dll\n";
        assert_eq!(dlls(headers).collect::<Vec<_>>(), ["KERNEL32.dll", "msvcrt.dll"]);
    }
}
