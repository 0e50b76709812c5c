//! Runs tests of the Windows program under Wine.

use super::{optional_tool, wine_view};
use crate::command::run;
use crate::wine::{Wine, find};

/// Packages that depend on the operating system. The others behave the same everywhere.
const PACKAGES: [&str; 5] = [
    "fathom", "fathom-archive", "fathom-dialects", "fathom-engine", "fathom-run",
];

/// Tests that depend on the operating system: package, test program, and names of tests.
const TESTS: [(&str, &str, &[&str]); 3] = [
    ("fathom", "windows", &[]),
    ("fathom-engine", "suite", &[]),
    (
        "fathom-run",
        "suite",
        &[
            "each_step::", "engine_features::", "operation_log::", "sharing::", "windows::",
        ],
    ),
];

/// Compiles every package for Windows, where a warning is a failure, and runs unit tests of
/// [`PACKAGES`], [`TESTS`], and DiskSpd's recorded profiles under Wine. Last, checks the live view
/// on Wine's console.
///
/// Without Wine nothing is run; only the build server treats this as a failure.
pub(crate) fn check() -> Result<(), String> {
    let Some(wine) = prepared()? else { return Ok(()) };
    let mut failures = run_tests(&wine, &[]);
    failures.extend(wine_view::check(&wine).err());
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("; ")),
    }
}

/// Compiles what [`check`] runs.
pub(crate) fn build() -> Result<(), String> {
    let Some(wine) = prepared()? else { return Ok(()) };
    run_tests(&wine, &["--no-run"]).into_iter().next().map_or(Ok(()), Err)
}

fn prepared() -> Result<Option<Wine>, String> {
    optional_tool(find())?.map(Wine::prepare).transpose()
}

/// `cargo test` with these options for every test program. Returns the failures.
fn run_tests(wine: &Wine, options: &[&str]) -> Vec<String> {
    let units: Vec<&str> = ["--lib", "--bins"]
        .into_iter()
        .chain(PACKAGES.iter().flat_map(|package| ["--package", package]))
        .collect();
    let tests = TESTS.into_iter().chain([("fathom", "system", &[][..])]);
    let suites = tests.map(|(package, test, names)| {
        let program = ["--package", package, "--test", test, "--"];
        program.iter().chain(names).copied().collect()
    });
    let run_one = |words: Vec<&str>| {
        let mut command = wine.cargo(&["test", "--no-fail-fast"])?;
        run(command.args(options).args(words))
    };
    { std::iter::once(units).chain(suites) }
        .filter_map(|words| run_one(words).err())
        .collect()
}
