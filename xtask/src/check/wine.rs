//! Runs tests of the Windows program under Wine.

use super::wine_view;
use crate::command::run;
use crate::wine::Wine;

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
            "each_step::", "engine_wishes::", "operation_log::", "sharing::", "windows::",
        ],
    ),
];

/// Compiles every package for Windows, where a warning is a failure, and runs unit tests of
/// [`PACKAGES`], [`TESTS`], and the recorded profiles of DiskSpd under Wine. Last, checks the live
/// view on Wine's console.
///
/// Without Wine nothing is run; only the build server treats this as a failure.
pub(crate) fn check() -> Result<(), String> {
    let wine = match Wine::find() {
        Ok(wine) => wine,
        Err(why) if std::env::var_os("FATHOM_CI").is_some_and(|value| value == "1") => return Err(why),
        Err(why) => {
            eprintln!("skipped: {why}");
            return Ok(());
        }
    };
    let wine = wine.prepare()?;
    let mut command = wine.cargo(&["test", "--no-fail-fast", "--lib", "--bins"])?;
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    let mut failures: Vec<String> = run(&mut command).err().into_iter().collect();
    for (package, test, names) in TESTS.into_iter().chain([("fathom", "system", &[][..])]) {
        let mut command = wine.cargo(&["test", "--no-fail-fast", "--package", package, "--test", test])?;
        command.arg("--").args(names);
        failures.extend(run(&mut command).err());
    }
    failures.extend(wine_view::check(&wine).err());
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("; ")),
    }
}
