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

use crate::command::{cargo, output, root, run, target_folder};

const USAGE: &str =
    "usage: cargo xtask dist [linux-gnu|linux-musl|linux-arm64|windows|deb]…, all of them if none is named";

/// An artefact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Artefact {
    /// For every Linux with a C library of 2014 or later.
    LinuxGnu,
    /// For every Linux, without any library.
    LinuxMusl,
    /// For every Linux on ARM64, without any library.
    LinuxArm64,
    /// For Windows 10 and Windows Server 2016, or later.
    Windows,
    /// `LinuxGnu` as a package for Debian and its derivatives.
    Deb,
}

const ARTEFACTS: [(&str, Artefact); 5] = [
    ("linux-gnu", Artefact::LinuxGnu),
    ("linux-musl", Artefact::LinuxMusl),
    ("linux-arm64", Artefact::LinuxArm64),
    ("windows", Artefact::Windows),
    ("deb", Artefact::Deb),
];

impl Artefact {
    /// The target triple.
    fn target(self) -> &'static str {
        match self {
            Artefact::LinuxGnu | Artefact::Deb => "x86_64-unknown-linux-gnu",
            Artefact::LinuxMusl => "x86_64-unknown-linux-musl",
            Artefact::LinuxArm64 => crate::arm64::TARGET,
            Artefact::Windows => crate::windows::TARGET,
        }
    }

    /// Builds the program.
    fn build(self) -> Result<PathBuf, String> {
        match self {
            Artefact::LinuxGnu | Artefact::Deb => toolchains::build_glibc(),
            Artefact::LinuxMusl => toolchains::build_musl(),
            Artefact::LinuxArm64 => toolchains::build_arm64(),
            Artefact::Windows => toolchains::build_windows(),
        }
    }
}

/// Builds the named artefacts, or all.
pub(crate) fn dist(names: &[String]) -> Result<(), String> {
    let known = |name: &String| {
        ARTEFACTS
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, artefact)| *artefact)
    };
    let mut wanted = Vec::new();
    for name in names {
        wanted.push(known(name).ok_or_else(|| format!("there is no `{name}`\n{USAGE}"))?);
    }
    if wanted.is_empty() {
        wanted = ARTEFACTS.map(|(_, artefact)| artefact).to_vec();
    }
    let folder = root().join("target/dist");
    fs::create_dir_all(&folder).map_err(cannot("make", &folder))?;
    let pages = pages(&folder)?;
    for artefact in wanted {
        let program = artefact.build()?;
        let licences = licences::text_for(artefact.target())?;
        let made = match artefact {
            Artefact::Deb => package::deb(&folder, &program, &licences, &pages)?,
            _ => package::archive(&folder, artefact.target(), &program, &licences, &pages)?,
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
    run(cargo().args(["build", "--package", "fathom", "--bin", "fathom"]))?;
    let program = target_folder().join("debug/fathom");
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
    let write = |path: PathBuf, text: String| fs::write(&path, text).map_err(cannot("write", &path));
    write(pages.join("man/fathom.1"), printed(&["man"])?)?;
    for command in commands.split(", ") {
        write(
            pages.join(format!("man/fathom-{command}.1")),
            printed(&["man", command])?,
        )?;
    }
    for (shell, name) in [
        ("bash", "fathom.bash"),
        ("zsh", "_fathom"),
        ("fish", "fathom.fish"),
        ("powershell", "fathom.ps1"),
        ("elvish", "fathom.elv"),
    ] {
        write(pages.join("completions").join(name), printed(&["completions", shell])?)?;
    }
    Ok(pages)
}

/// The version of the program.
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn cannot(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> String {
    move |error| format!("cannot {what} {}: {error}", path.display())
}
