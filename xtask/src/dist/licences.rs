//! The licences of everything in the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{cannot, metadata};

/// Libraries that no manifest lists: libraries of the compiler or inside crates.
const UNLISTED_LIBRARIES: &str = "\
Beside the crates below, the program holds:

* Rust's standard library: MIT OR Apache-2.0, The Rust Project contributors (https://www.rust-lang.org/policies/licenses).
* SQLite, in libsqlite3-sys: public domain (https://sqlite.org/copyright.html).
* In the static program for Linux: musl, MIT, Rich Felker et al., and GCC's unwinder, GPL-3.0 with the GCC Runtime Library Exception.
* In the program for Windows: parts of mingw-w64, public domain and ZPL-2.1, and GCC's unwinder, as above.
";

/// Prefixes of names of licence files.
const BEGINNINGS: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// A text with the licences of all crates in the program for a target, and of build dependencies.
pub(super) fn text_for(target: &str) -> Result<String, String> {
    let metadata: Value = metadata(target)?;
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"])
        .map(|package| (text(&package["id"]), package))
        .collect();
    let mut document = format!(
        "Licences of what fathom {} for {target} is made of\n\n{UNLISTED_LIBRARIES}\n",
        super::version()
    );
    // A text that several crates share is listed once, with their names.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for id in used(&metadata, &packages)? {
        let package = packages[id];
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let licence = match text(&package["license"]) {
            "" => "see its text",
            licence => licence,
        };
        let _ = writeln!(document, "{name} {version}: {licence}");
        let folder = Path::new(text(&package["manifest_path"]))
            .parent()
            .unwrap_or(Path::new(""));
        for text in texts_in(folder)? {
            texts.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    for (text, names) in texts {
        let _ = write!(
            document,
            "\n{}\n{}\n\n{}\n",
            "=".repeat(80),
            names.join(", "),
            text.trim_end()
        );
    }
    Ok(document)
}

/// External packages that ours depend on, except in tests, by name.
fn used<'a>(metadata: &'a Value, packages: &BTreeMap<&str, &'a Value>) -> Result<Vec<&'a str>, String> {
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"]["nodes"])
        .map(|node| (text(&node["id"]), node))
        .collect();
    let begin = packages
        .iter()
        .find(|(_, package)| package["name"] == "fathom" && package["source"].is_null())
        .ok_or("`cargo metadata` knows no fathom")?;
    let mut seen = BTreeSet::from([*begin.0]);
    let mut open = vec![*begin.0];
    while let Some(id) = open.pop() {
        let Some(node) = nodes.get(id) else { continue };
        for dependency in list(&node["deps"]) {
            let needed = list(&dependency["dep_kinds"]).any(|kind| kind["kind"] != "dev");
            let id = text(&dependency["pkg"]);
            if needed && seen.insert(id) {
                open.push(id);
            }
        }
    }
    let mut others: Vec<&'a str> = Vec::new();
    for node in list(&metadata["packages"]) {
        if seen.contains(text(&node["id"])) && !node["source"].is_null() {
            others.push(text(&node["id"]));
        }
    }
    others.sort_by_key(|id| (text(&packages[id]["name"]), *id));
    Ok(others)
}

/// The texts of licence files.
fn texts_in(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(cannot("read", folder))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let of_licences = paths.iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        path.is_file() && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
    });
    let read = |path| fs::read(path).map_err(cannot("read", path));
    of_licences
        .map(|path| read(path).map(|bytes| String::from_utf8_lossy(&bytes).replace("\r\n", "\n")))
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_program_are_listed_with_their_texts() {
        let document = text_for("x86_64-unknown-linux-gnu").expect("cargo lists them");
        for part in [
            "\nserde 1.",
            "\nlibsqlite3-sys 0.",
            "\nrustix 1.",
            "Apache License",
            "Permission is hereby granted",
        ] {
            assert!(document.contains(part), "{part}");
        }
        // Libraries that only tests use, or that only another system needs, are not in it.
        assert!(!document.contains("\nproptest 1.") && !document.contains("\nwindows-sys "));
        assert!(
            text_for("x86_64-pc-windows-gnu")
                .expect("cargo lists them")
                .contains("\nwindows-sys ")
        );
    }
}
