//! `cargo xtask check`: what must hold before a change is merged.

#[cfg(target_os = "linux")]
mod arm64;
#[cfg(not(target_os = "linux"))]
#[path = "check/arm64_elsewhere.rs"]
mod arm64;
mod dependencies;
mod windows;
#[cfg(target_os = "linux")]
mod wine;
#[cfg(not(target_os = "linux"))]
#[path = "check/wine_elsewhere.rs"]
mod wine;
#[cfg(target_os = "linux")]
mod wine_view;
mod words;

use crate::command::{cargo, run};

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
    ("windows", windows::check),
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
    if let Some(unknown) = only.iter().find(|name| !steps.iter().any(|(known, _)| known == name)) {
        let known: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
        let known = known.join(", ");
        return Err(format!("there is no step `{unknown}`; the steps are {known}"));
    }
    let mut failed = Vec::new();
    for (name, step) in steps
        .iter()
        .filter(|(name, _)| only.is_empty() || only.iter().any(|wanted| wanted == name))
    {
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

/// Every test program.
pub(crate) fn tests() -> Result<(), String> {
    let ran = run(cargo().args(["test", "--workspace", "--no-fail-fast"]));
    ran.and(run(cargo().args(["test", "--workspace", "--no-fail-fast"]).args(SLOW)))
}
