//! Archives, the Debian package, checksums.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::version;
use crate::command::{cannot, output, read, root, run, write};

/// Documents from the root of the workspace.
const TO_READ: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];
/// The file with the licences of others.
const LICENCES: &str = "THIRD-PARTY-LICENCES.txt";

/// A `tar.gz`, or a `zip` for Windows, with one folder in it.
pub(super) fn archive(
    folder: &Path,
    target: &str,
    program: &Path,
    licences: &str,
    pages: &Path,
) -> Result<PathBuf, String> {
    let name = format!("fathom-{}-{target}", version());
    let content = folder.join(&name);
    fresh(&content)?;
    copy(program, &content.join(program.file_name().unwrap_or_default()))?;
    for file in TO_READ {
        copy(&root().join(file), &content.join(file))?;
    }
    write(&content.join(LICENCES), licences)?;
    run(Command::new("cp")
        .arg("-r")
        .arg(pages.join("man"))
        .arg(pages.join("completions"))
        .arg(&content))?;
    let made = match target.contains("windows") {
        true => {
            let made = folder.join(format!("{name}.zip"));
            let _ = fs::remove_file(&made);
            // Uses Python, which every build machine has; `zip` may be missing.
            run(Command::new("python3")
                .current_dir(folder)
                .args(["-m", "zipfile", "-c"])
                .arg(&made)
                .arg(&name))?;
            made
        }
        false => {
            let made = folder.join(format!("{name}.tar.gz"));
            run(Command::new("tar")
                .args([
                    "--sort=name",
                    "--owner=0",
                    "--group=0",
                    "--numeric-owner",
                    &format!("--mtime=@{}", time()?),
                ])
                .args(["-C", &folder.display().to_string(), "-czf"])
                .arg(&made)
                .arg(&name))?;
            made
        }
    };
    fs::remove_dir_all(&content).map_err(cannot("remove", &content))?;
    Ok(made)
}

/// A package for Debian, Ubuntu and their relatives.
pub(super) fn deb(folder: &Path, program: &Path, licences: &str, pages: &Path) -> Result<PathBuf, String> {
    let content = folder.join("deb");
    fresh(&content)?;
    let make = |name: &str| {
        let path = content.join(name);
        fs::create_dir_all(&path).map_err(cannot("make", &path)).map(|()| path)
    };
    copy(program, &make("usr/bin")?.join("fathom"))?;
    let man = make("usr/share/man/man1")?;
    run(Command::new("cp").arg("-r").arg(pages.join("man/.")).arg(&man))?;
    let documents = make("usr/share/doc/fathom")?;
    copy(&root().join("README.md"), &documents.join("README.md"))?;
    copy(&root().join("CHANGELOG.md"), &documents.join("changelog"))?;
    let ours = read(&root().join("LICENSE-MIT"))?;
    let copyright =
        format!("fathom is MIT OR Apache-2.0 (/usr/share/common-licenses/Apache-2.0).\n\n{ours}\n{licences}");
    write(&documents.join("copyright"), &copyright)?;
    let mut to_compress = vec![documents.join("changelog")];
    to_compress.extend(
        fs::read_dir(&man)
            .map_err(cannot("read", &man))?
            .flatten()
            .map(|entry| entry.path()),
    );
    run(Command::new("gzip").arg("-9n").args(&to_compress))?;
    for (from, into, name) in [
        ("fathom.bash", "usr/share/bash-completion/completions", "fathom"),
        ("_fathom", "usr/share/zsh/vendor-completions", "_fathom"),
        ("fathom.fish", "usr/share/fish/vendor_completions.d", "fathom.fish"),
    ] {
        copy(&pages.join("completions").join(from), &make(into)?.join(name))?;
    }
    let kibibytes = output(Command::new("du").args(["-sk", "--apparent-size"]).arg(&content))?;
    let kibibytes = kibibytes.split_whitespace().next().unwrap_or("0").to_owned();
    let control = format!(
        "Package: fathom\nVersion: {}\nArchitecture: amd64\nMaintainer: The fathom authors <fathom@localhost>\n\
         Installed-Size: {kibibytes}\nDepends: libc6 (>= 2.17)\nSection: utils\nPriority: optional\n\
         Description: storage performance, measured and explained\n \
         Measures storage: what it delivers, what the numbers mean, what is in the way.\n \
         Runs fio and DiskSpd command lines and job files unchanged.\n",
        version()
    );
    write(&make("DEBIAN")?.join("control"), &control)?;
    let made = folder.join(format!("fathom_{}_amd64.deb", version()));
    run(Command::new("dpkg-deb")
        .args(["--root-owner-group", "--build"])
        .arg(&content)
        .arg(&made))?;
    fs::remove_dir_all(&content).map_err(cannot("remove", &content))?;
    Ok(made)
}

/// Writes `SHA256SUMS` of all files in the folder.
pub(super) fn checksums(folder: &Path) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(cannot("read", folder))?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| [".tar.gz", ".zip", ".deb"].iter().any(|end| name.ends_with(end)))
        .collect();
    names.sort();
    let sums = output(Command::new("sha256sum").current_dir(folder).args(&names))?;
    eprintln!("{sums}");
    write(&folder.join("SHA256SUMS"), &(sums + "\n"))
}

/// The time of the commit, for reproducible archives.
fn time() -> Result<String, String> {
    output(
        Command::new("git")
            .current_dir(root())
            .args(["log", "-1", "--format=%ct"]),
    )
}

fn fresh(folder: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(cannot("make", folder))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(|_| ()).map_err(cannot("copy", from))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a release, with any program.
    #[test]
    fn a_release_has_all_its_parts() {
        let folder = tempfile::tempdir().expect("a temporary directory can always be made");
        let path = |name: &str| folder.path().join(name);
        for part in ["man", "completions"] {
            fs::create_dir_all(path("pages").join(part)).expect("made");
        }
        for name in [
            "man/fathom.1",
            "man/fathom-run.1",
            "completions/fathom.bash",
            "completions/_fathom",
            "completions/fathom.fish",
        ] {
            fs::write(path("pages").join(name), name).expect("written");
        }
        for name in ["fathom", "fathom.exe"] {
            fs::write(path(name), "a program").expect("written");
        }
        let pages = path("pages");
        let listed = |program: &str, arguments: &[&str], made: &Path| {
            let listed = output(Command::new(program).args(arguments).arg(made)).expect("listed");
            move |name: &str| assert!(listed.contains(name), "{name} is missing:\n{listed}")
        };

        let made = archive(folder.path(), "x86_64-any", &path("fathom"), "licences", &pages).expect("made");
        let name = format!("fathom-{}-x86_64-any", version());
        let holds = listed("tar", &["-tzf"], &made);
        for part in [
            "fathom", "README.md", "LICENSE-MIT", LICENCES, "man/fathom-run.1", "completions/_fathom",
        ] {
            holds(&format!("{name}/{part}\n"));
        }
        let windows = archive(folder.path(), "x86_64-windows", &path("fathom.exe"), "licences", &pages).expect("made");
        let holds = listed("python3", &["-m", "zipfile", "-l"], &windows);
        for part in [
            "fathom.exe",
            "CHANGELOG.md",
            LICENCES,
            "man/fathom.1",
            "completions/fathom.fish",
        ] {
            holds(&format!("fathom-{}-x86_64-windows/{part} ", version()));
        }
        let package = deb(folder.path(), &path("fathom"), "licences", &pages).expect("made");
        let holds = listed("dpkg-deb", &["--contents"], &package);
        for part in [
            "./usr/bin/fathom\n",
            "./usr/share/man/man1/fathom-run.1.gz\n",
            "./usr/share/doc/fathom/copyright\n",
            "./usr/share/bash-completion/completions/fathom\n",
        ] {
            holds(part);
        }
        let holds = listed("dpkg-deb", &["--field"], &package);
        holds("Depends: libc6 (>= 2.17)");
        checksums(folder.path()).expect("written");
        let sums = fs::read_to_string(path("SHA256SUMS")).expect("written");
        assert_eq!(sums.lines().count(), 3, "{sums}");
        output(
            Command::new("sha256sum")
                .current_dir(folder.path())
                .args(["--check", "SHA256SUMS"]),
        )
        .expect("the checksums match");
    }
}
