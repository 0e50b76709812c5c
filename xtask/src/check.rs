//! `cargo xtask check`: what must hold before a change is merged.

#[cfg(target_os = "linux")]
mod arm64;
mod dependencies;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod wine;
#[cfg(target_os = "linux")]
mod wine_view;
mod words;

#[cfg(not(target_os = "linux"))]
use elsewhere as arm64;
#[cfg(not(target_os = "linux"))]
use elsewhere as wine;

use crate::command::{cargo, run, select};
use crate::windows::cargo_for_windows;

type Step = (&'static str, fn() -> Result<(), String>);

/// Test programs that a plain `cargo test` leaves out: their manifests say `test = false`.
const SLOW: [&str; 8] = [
    "--test", "fleet", "--test", "short", "--test", "system", "--test", "verdicts",
];

/// The checks, the cheap ones first.
const STEPS: [Step; 10] = [
    ("fmt", formatting),
    ("words", words::check),
    ("dependencies", dependencies::check),
    ("clippy", lints),
    ("docs", documentation),
    ("tests", tests),
    ("schemas", schemas),
    ("windows", windows),
    ("wine", wine::check),
    ("arm64", arm64::check),
];

/// Compilation that some checks need; it can be done while other tests wait.
const BUILDS: [Step; 2] = [("wine", wine::build), ("arm64", arm64::build)];

/// Runs the named steps, or all; after `--no-run`, compiles what they need. Continues after a
/// failure, so that one run shows every failure.
pub(crate) fn check(arguments: &[String]) -> Result<(), String> {
    let (only, steps) = match arguments.split_first() {
        Some((first, rest)) if first == "--no-run" => (rest, &BUILDS[..]),
        _ => (arguments, &STEPS[..]),
    };
    let mut failed = Vec::new();
    for (name, step) in select(steps, only, "step")? {
        eprintln!("== {name}");
        if let Err(why) = step() {
            eprintln!("failed: {why}");
            failed.push(*name);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}", failed.join(", "))),
    }
}

fn formatting() -> Result<(), String> {
    run(cargo().args(["fmt", "--all", "--check"]))
}

fn lints() -> Result<(), String> {
    let strict = ["--", "-D", "warnings"];
    run(cargo().args(["clippy", "--workspace", "--all-targets"]).args(strict))?;
    run(cargo().args(["clippy", "--workspace"]).args(SLOW).args(strict))
}

fn documentation() -> Result<(), String> {
    run(cargo()
        .args(["doc", "--workspace", "--no-deps", "--document-private-items"])
        .env("RUSTDOCFLAGS", "-D warnings"))
}

/// Checks that the published schemas match the types. Only this build has the descriptions of
/// types.
fn schemas() -> Result<(), String> {
    run(cargo()
        .args([
            "test", "--package", "fathom-archive", "--features", "schema", "--test", "schema",
        ])
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0"))
}

/// Checks that every package compiles for Windows, without a Windows machine; a warning is a
/// failure.
fn windows() -> Result<(), String> {
    run(&mut cargo_for_windows(&["check", "--workspace"])?)
}

/// A tool; `None` if it is missing, which only the build server treats as a failure.
#[cfg(target_os = "linux")]
fn optional_tool<T>(found: Result<T, String>) -> Result<Option<T>, String> {
    match found {
        Ok(tool) => Ok(Some(tool)),
        Err(why) if std::env::var_os("FATHOM_CI").is_some_and(|value| value == "1") => Err(why),
        Err(why) => {
            eprintln!("skipped: {why}");
            Ok(None)
        }
    }
}

/// Every test program.
pub(crate) fn tests() -> Result<(), String> {
    let ran = run(cargo().args(["test", "--workspace", "--no-fail-fast"]));
    ran.and(run(cargo().args(["test", "--workspace", "--no-fail-fast"]).args(SLOW)))
}
