//! The structure of the workspace: which crate uses which, and where `unsafe` is allowed.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The workspace crates that each crate may use: the arrows drawn in ARCHITECTURE.md, and no
/// others.
const ARROWS: &[(&str, &[&str])] = &[
    // A derive macro.
    ("schema", &[]),
    ("model", &["schema"]),
    ("json", &["model"]),
    ("engine", &["model"]),
    ("dialects", &["model"]),
    ("analysis", &["model"]),
    ("report", &["model"]),
    ("run", &["model", "json", "engine"]),
    ("archive", &["model", "json", "analysis", "report"]),
    ("study", &["model", "analysis", "run"]),
    (
        "fathom",
        &[
            "model", "engine", "dialects", "analysis", "report", "run", "archive", "study",
        ],
    ),
    // For developers only, never part of the program.
    ("testbed", &[]),
    ("fuzz", &["model", "dialects", "analysis", "archive"]),
    ("xtask", &["testbed"]),
];

/// Additional crates for tests: the testbed, and the clock that a simulated run uses.
const FOR_TESTS: &[&str] = &["testbed", "engine"];

/// The crate with `unsafe` code.
const DANGEROUS: &str = "engine";
/// The crate that denies it, so that one exception for a foreign library is possible; all others
/// forbid it.
const WITH_A_DOOR: &str = "run";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Short name and folder of every crate of the workspace.
fn crates() -> Vec<(String, PathBuf)> {
    let mut found: Vec<PathBuf> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("Cargo.toml").exists())
        .collect();
    found.extend(["tests/testbed", "tests/fuzz", "xtask"].map(|folder| root().join(folder)));
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    found.into_iter().map(|path| (name(&path), path)).collect()
}

fn manifest(folder: &Path) -> toml::Table {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap();
    text.parse()
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The workspace crate that a dependency is, by the name under which it is used or by that of its
/// package.
fn ours(name: &str, dependency: &toml::Value) -> Option<&'static str> {
    let package = dependency.get("package").and_then(|package| package.as_str());
    ARROWS
        .iter()
        .map(|(known, _)| *known)
        .find(|known| name == *known || [Some(name), package].contains(&Some(&format!("fathom-{known}"))))
}

/// Every dependency on a workspace crate in this kind of table, for any system.
fn used(manifest: &toml::Table, kind: &str) -> BTreeSet<&'static str> {
    let systems = manifest.get("target").and_then(|systems| systems.as_table());
    let below = systems.into_iter().flat_map(|systems| systems.values());
    let tables = std::iter::once(manifest.get(kind)).chain(below.map(|system| system.get(kind)));
    tables
        .flatten()
        .filter_map(|table| table.as_table())
        .flatten()
        .filter_map(|(name, dependency)| ours(name, dependency))
        .collect()
}

#[test]
fn crates_use_each_other_only_as_drawn() {
    let mut wrong = Vec::new();
    for (name, folder) in crates() {
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            wrong.push(format!("{name} is not drawn"));
            continue;
        };
        let manifest = manifest(&folder);
        for kind in ["dependencies", "build-dependencies"] {
            let undrawn = used(&manifest, kind)
                .into_iter()
                .filter(|other| !allowed.contains(other));
            wrong.extend(undrawn.map(|other| format!("{name} uses {other}")));
        }
        let undrawn = used(&manifest, "dev-dependencies")
            .into_iter()
            .filter(|other| !allowed.contains(other) && !FOR_TESTS.contains(other));
        wrong.extend(undrawn.map(|other| format!("tests of {name} use {other}")));
    }
    assert!(wrong.is_empty(), "arrows that are not drawn: {}", wrong.join(", "));
}

#[test]
fn an_arrow_is_found_under_any_name_and_for_any_system() {
    let manifest: toml::Table = r#"
        [dependencies]
        serde = "1"
        model.workspace = true
        [target.'cfg(unix)'.dependencies]
        other = { package = "fathom-run", path = "../run" }
        [target.'cfg(windows)'.dev-dependencies]
        testbed.workspace = true
    "#
    .parse()
    .unwrap();
    assert_eq!(used(&manifest, "dependencies"), BTreeSet::from(["model", "run"]));
    assert_eq!(used(&manifest, "dev-dependencies"), BTreeSet::from(["testbed"]));
}

#[test]
fn every_crate_of_the_table_exists() {
    let present: BTreeSet<String> = crates().into_iter().map(|(name, _)| name).collect();
    let drawn: BTreeSet<String> = ARROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(drawn, present);
}

#[test]
fn only_one_crate_allows_unsafe_code() {
    for (name, folder) in crates() {
        let first = ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file));
        let first = first.into_iter().find(|path| path.exists()).unwrap();
        let text = fs::read_to_string(&first).unwrap();
        let wanted = match name.as_str() {
            DANGEROUS => continue,
            WITH_A_DOOR => "#![deny(unsafe_code)]",
            _ => "#![forbid(unsafe_code)]",
        };
        assert!(
            text.lines().any(|line| line == wanted),
            "{} lacks {wanted}",
            first.display()
        );
    }
}
