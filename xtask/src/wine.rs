//! Windows programs under Wine: the prefix in which they run, its drives, and the one DLL that an
//! older Wine lacks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::TmpFs;

use crate::command::{cannot, output, root, run};
use crate::windows::{TARGET, cargo_for_windows, folder};

const USAGE: &str = "\
usage: cargo xtask wine -- ARGUMENT…       builds fathom.exe and runs it with these arguments
       cargo xtask wine test [ARGUMENT]…   `cargo test` for Windows with these arguments, such as `-p fathom-engine --lib`
       cargo xtask wine build [ARGUMENT]…  `cargo build` for Windows
";

/// Debian's path, which is not in PATH.
const DEBIAN_WINE: &str = "/usr/lib/wine/wine64";
/// The DLL that Wine before version 9 lacks, and its source.
const SHIM: &str = "bcryptprimitives.dll";
const SHIM_SOURCE: &str = "tests/wine/bcryptprimitives.c";
/// The program that presses keys, on drive `C:`, and its source.
const PRESS: &str = "press.exe";
const PRESS_SOURCE: &str = "tests/wine/press.c";
/// A file that even root cannot write to.
const DENIED: &str = r"Z:\sys\kernel\uevent_seqnum";
/// The small drive for tests with a full disk.
const SMALL_DRIVE: (&str, u64) = ("g:", 32 << 20);

/// Wine with a prepared prefix. Dropping it ends its server.
pub(crate) struct Wine {
    program: PathBuf,
    prefix: PathBuf,
    /// The file system of `G:`.
    small: Option<TmpFs>,
}

/// `cargo xtask wine`.
pub(crate) fn wine(arguments: &[String]) -> Result<(), String> {
    let (verb, rest) = match arguments.split_first() {
        Some((verb, rest)) => (verb.as_str(), rest),
        None => return Err(format!("nothing to run\n{USAGE}")),
    };
    let wine = Wine::prepare(find()?)?;
    match verb {
        "--" => {
            run(&mut wine.cargo(&["build", "--package", "fathom", "--bin", "fathom"])?)?;
            run(wine.command().arg(program()).args(rest))
        }
        "test" | "build" => run(wine.cargo(&[verb])?.args(rest)),
        _ => Err(format!("there is no `wine {verb}`\n{USAGE}")),
    }
}

pub(crate) fn program() -> PathBuf {
    folder().join(TARGET).join("wine/fathom.exe")
}

/// Finds the Wine of this machine.
///
/// # Errors
/// Wine is not installed; the message names the package.
pub(crate) fn find() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = ["wine64", "wine"];
    let in_path = std::env::split_paths(&path).flat_map(|folder| named.map(|name| folder.join(name)));
    let mut programs = in_path.chain([DEBIAN_WINE.into()]);
    programs
        .find(|program| program.is_file())
        .ok_or_else(|| "Wine is not installed\nhelp: on Debian `apt-get install --no-install-recommends wine64`".into())
}

impl Wine {
    /// Creates the prefix (`WINEPREFIX`, or our own), if necessary, and its drives.
    pub(crate) fn prepare(program: PathBuf) -> Result<Wine, String> {
        let prefix = std::env::var_os("WINEPREFIX").map_or_else(|| folder().join("prefix"), PathBuf::from);
        let mut wine = Wine {
            program,
            prefix,
            small: None,
        };
        let system = wine.prefix.join("drive_c/windows/system32");
        if !system.join("ntdll.dll").exists() {
            fs::create_dir_all(&wine.prefix).map_err(cannot("make", &wine.prefix))?;
            run(wine.command().args(["wineboot", "--init"]))?;
        }
        if !system.join(SHIM).exists() {
            compile(SHIM_SOURCE, &system.join(SHIM), &["-shared"], &["-ladvapi32"])?;
        }
        let press = wine.prefix.join("drive_c").join(PRESS);
        compile(PRESS_SOURCE, &press, &["-Wall", "-Wextra", "-Werror"], &[])?;
        let drives = wine.prefix.join("dosdevices");
        let f = wine.prefix.join("drive_f");
        fs::create_dir_all(&f).map_err(cannot("make", &f))?;
        link(&drives.join("f:"), Path::new("../drive_f"))?;
        let (letter, bytes) = SMALL_DRIVE;
        wine.small = testbed::need(TmpFs::with_size(bytes));
        if let Some(small) = &wine.small {
            link(&drives.join(letter), small.path())?;
        }
        Ok(wine)
    }

    /// A Wine command with the settings of all programs.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        self.apply_settings(&mut command);
        command
    }

    /// Adds the settings of all programs under Wine to a command.
    pub(crate) fn apply_settings(&self, command: &mut Command) {
        command
            .env("WINEPREFIX", &self.prefix)
            .env("WINEDEBUG", std::env::var_os("WINEDEBUG").unwrap_or("-all".into()))
            // Disables .NET and the browser, so that Wine does not offer to install them.
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=")
            // Variables that tests use, as on a real Windows.
            .env("FATHOM_TEST_DRIVE", r"F:\")
            .env("FATHOM_TEST_SMALL_DRIVE", format!(r"{}\", SMALL_DRIVE.0.to_uppercase()))
            .env("FATHOM_TEST_PRESS", format!(r"C:\{PRESS}"))
            .env("FATHOM_TEST_DENIED", DENIED);
    }

    /// Path of Wine's program.
    pub(crate) fn path(&self) -> &Path {
        &self.program
    }

    /// A Cargo command for Windows that runs built programs under Wine, with the profile for that.
    pub(crate) fn cargo(&self, words: &[&str]) -> Result<Command, String> {
        let mut command = cargo_for_windows(words)?;
        let runner = TARGET.to_uppercase().replace('-', "_");
        command
            .args(["--profile", "wine"])
            .env(format!("CARGO_TARGET_{runner}_RUNNER"), &self.program);
        self.apply_settings(&mut command);
        Ok(command)
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        // Otherwise the server and its services stay for a while and keep the small drive busy.
        let sibling = self.program.with_file_name("wineserver");
        let server = if sibling.exists() { sibling } else { "wineserver".into() };
        let mut command = Command::new(server);
        self.apply_settings(&mut command);
        let _ = output(command.arg("--kill"));
        if self.small.is_some() {
            let _ = fs::remove_file(self.prefix.join("dosdevices").join(SMALL_DRIVE.0));
        }
    }
}

/// Compiles C for Windows, if the source is newer than the program.
fn compile(source: &str, into: &Path, flags: &[&str], libraries: &[&str]) -> Result<(), String> {
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    if changed(into).is_ok_and(|made| changed(&root().join(source)).is_ok_and(|written| written < made)) {
        return Ok(());
    }
    run(Command::new("x86_64-w64-mingw32-gcc")
        .current_dir(root())
        .args(flags)
        .args(["-O2", "-o"])
        .arg(into)
        .arg(source)
        .args(libraries))
}

/// Creates or replaces a symbolic link.
fn link(at: &Path, to: &Path) -> Result<(), String> {
    if fs::read_link(at).is_ok_and(|present| present == to) {
        return Ok(());
    }
    let _ = fs::remove_file(at);
    symlink(to, at).map_err(cannot("make", at))
}
