//! Policy files whose figures cannot be promises.

use analysis::policies::{Catalogue, ResolvedPolicy};

use model::testing::assert_starts_with;
use testbed::AssertContains;

use crate::{assert_near, inputs};

/// Loads the example policy with a change and resolves it for a disk of 500 GB.
fn resolve_changed(from: &str, to: &str) -> Result<ResolvedPolicy, String> {
    let text = include_str!("../../../../examples/policies/our-disk.toml");
    assert!(text.contains(from), "{from}");
    let files = [("own.toml".to_owned(), text.replacen(from, to, 1))];
    let catalogue =
        Catalogue::with_user_files(&files).map_err(|errors| format!("{}: {}", errors[0].at, errors[0].what))?;
    let policy = catalogue.find("our/disk")?;
    policy
        .resolve(&inputs(&[("size", "500GB")]))
        .map_err(|error| error.to_string())
}

#[test]
fn a_tolerance_is_a_share_of_a_rate() {
    let change = |to: &str| resolve_changed("tolerance = 0.01", to);
    assert_near(change("tolerance = 0.5").unwrap().clauses[0].tolerance, 0.5);
    for value in ["5", "1.0", "-3.0", "inf", "nan"] {
        let error = change(&format!("tolerance = {value}")).unwrap_err();
        assert!(error.starts_with("own.toml:34:13  tolerance = "), "{error}");
        error.assert_contains(&["tolerance of clause `iops`", "below 1"]);
    }
    let error = resolve_changed("metric = \"mean\"", "metric = \"mean\"\ntolerance = 0.1").unwrap_err();
    error.assert_contains(&["own.toml:38:", "only rates"]);
}

#[test]
fn a_figure_of_a_policy_outside_its_bounds_is_an_error() {
    let limit = "iops = \"10 * size_gb\"";
    let workload = "read_percent = 70";
    for (from, to, part) in [
        (limit, "iops = \"0 - 5\"", "layer `disk`: `iops` is -5"),
        (limit, "iops = \"0\"", "layer `disk`: `iops` is 0"),
        (limit, "iops = 100\nunit = \"0-5\"", "layer `disk`: `unit` is -5"),
        (limit, "bytes_per_sec = \"0-5\"", "layer `disk`: `bytes_per_sec` is -5"),
        (workload, "read_percent = 101", "workload: `read_percent` is 101"),
        (workload, "duration = \"1e300\"", "workload: `duration` is 1"),
        (workload, "warm_up = \"0-1\"", "workload: `warm_up` is -1"),
        (workload, "rate = \"0-1\"", "workload: `rate` is -1"),
        (workload, "concurrency = \"0-1\"", "workload: `concurrency` is -1"),
        (
            "target = \"limits.iops\"",
            "target = \"0-1\"",
            "clause `iops`: `target` is -1",
        ),
        (
            "metric = \"iops\"\ntarget = \"limits.iops\"\ntolerance = 0.01",
            "metric = \"availability\"\ntarget = 5",
            "clause `availability`: `target` is 5",
        ),
    ] {
        let error = resolve_changed(from, to).unwrap_err();
        assert!(
            error.contains(part) && error.contains("correct its formula"),
            "{to}: {error}"
        );
        assert_starts_with(&error, "own.toml:");
    }
    assert!(resolve_changed(workload, "warm_up = 0").is_ok());
}

/// The message names the line of the formula, for each kind of error.
#[test]
fn a_formula_without_a_value_has_a_position() {
    let limit = "iops = \"10 * size_gb\"";
    for (to, start) in [
        ("iops = \"0 - 5\"", "own.toml:24:8: layer `disk`: `iops` is -5"),
        ("iops = \"1 / 0\"", "own.toml:24:8: layer `disk`: "),
        (
            "bytes_per_sec = [1, \"0-5\"]",
            "own.toml:24:17: layer `disk`: `bytes_per_sec` is -5",
        ),
    ] {
        assert_starts_with(&resolve_changed(limit, to).unwrap_err(), start);
    }
}
