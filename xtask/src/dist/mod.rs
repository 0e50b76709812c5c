//! `cargo xtask dist`: builds the release archives in `target/dist`.
//!
//! Each archive has the program, documents, licences, manual pages and completions. Nothing is
//! uploaded.

mod licences;
mod package;
mod toolchains;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cannot, fathom, output, root, select, write};

/// An artefact: the target triple, and what builds the program.
type Artefact = (&'static str, fn() -> Result<PathBuf, String>);

/// The name of the package for Debian and its derivatives.
const DEB: &str = "deb";

const ARTEFACTS: [(&str, Artefact); 5] = [
    // For every Linux with a C library of 2014 or later.
    ("linux-gnu", (toolchains::GNU, toolchains::build_glibc)),
    // For every Linux, without any library.
    ("linux-musl", (toolchains::MUSL, toolchains::build_musl)),
    // For every Linux on ARM64, without any library.
    ("linux-arm64", (crate::arm64::TARGET, toolchains::build_arm64)),
    // For Windows 10 and Windows Server 2016, or later.
    ("windows", (crate::windows::TARGET, toolchains::build_windows)),
    // The program of `linux-gnu`.
    (DEB, (toolchains::GNU, toolchains::build_glibc)),
];

/// Builds the named artefacts, or all.
pub(crate) fn dist(names: &[String]) -> Result<(), String> {
    let wanted = select(&ARTEFACTS, names, "artefact")?;
    let folder = root().join("target/dist");
    fs::create_dir_all(&folder).map_err(cannot("make", &folder))?;
    let pages = pages(&folder)?;
    for (name, (target, build)) in wanted {
        let program = build()?;
        let licences = licences::text_for(target)?;
        let made = match *name {
            DEB => package::deb(&folder, &program, &licences, &pages)?,
            _ => package::archive(&folder, target, &program, &licences, &pages)?,
        };
        let bytes = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        eprintln!(
            "{}: {} bytes; the program in it {}",
            made.display(),
            bytes(&made),
            bytes(&program)
        );
    }
    fs::remove_dir_all(&pages).map_err(cannot("remove", &pages))?;
    package::checksums(&folder)
}

/// Manual pages and completions, as the program prints them: one built for this machine, since the
/// others cannot always run here.
fn pages(folder: &Path) -> Result<PathBuf, String> {
    let pages = folder.join("pages");
    let _ = fs::remove_dir_all(&pages);
    for part in ["man", "completions"] {
        fs::create_dir_all(pages.join(part)).map_err(cannot("make", &pages))?;
    }
    let program = fathom(None, "dev")?;
    let printed = |words: &[&str]| -> Result<String, String> {
        output(Command::new(&program).args(words)).map(|text| text + "\n")
    };
    let help = printed(&["man", "--help"])?;
    let text = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let commands = text
        .split_once("[possible values: ")
        .and_then(|(_, rest)| rest.split_once(']'))
        .ok_or("`fathom man --help` does not name its pages")?
        .0;
    write(&pages.join("man/fathom.1"), &printed(&["man"])?)?;
    for command in commands.split(", ") {
        write(
            &pages.join(format!("man/fathom-{command}.1")),
            &printed(&["man", command])?,
        )?;
    }
    for (shell, name) in [
        ("bash", "fathom.bash"),
        ("zsh", "_fathom"),
        ("fish", "fathom.fish"),
        ("powershell", "fathom.ps1"),
        ("elvish", "fathom.elv"),
    ] {
        write(
            &pages.join("completions").join(name),
            &printed(&["completions", shell])?,
        )?;
    }
    Ok(pages)
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
