//! Programs of others that call fio and read what it leaves: put in its place, they notice nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fio::support::Place;

/// The client, in the version that was tried.
const CLIENT: &str = "fio-plot==1.1.21";

/// The folder with the client's programs, installed once for all runs of the tests.
fn programs() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-clients");
    testbed::need(testbed::python_packages(&folder, &[CLIENT]))?;
    Some(folder.join("bin"))
}

/// bench-fio runs a matrix of jobs, fio-plot draws charts of its reports and of its logs.
#[test]
fn charts_of_a_matrix() {
    let Some(programs) = programs() else { return };
    let place = Place::on_disk().unwrap();
    let call = |program: &str, arguments: &str| {
        let path = format!("{}:{}", place.programs().display(), std::env::var("PATH").unwrap());
        let output = Command::new(programs.join(program))
            .args(arguments.split_whitespace())
            .current_dir(place.path())
            .env("PATH", path)
            .env("MPLCONFIGDIR", place.path())
            .output()
            .unwrap();
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{program} {arguments}\n{text}");
        text
    };
    let folder = place.path().display().to_string();
    call(
        "bench-fio",
        &format!(
            "-d {folder} -t directory -s 4m -o out --runtime 2 --time-based --iodepth 1 4 --numjobs 1 2 --loginterval 500 \
             -m randread randwrite --destructive --quiet"
        ),
    );
    let name = place.path().file_name().unwrap().to_str().unwrap().to_owned();
    let results = format!("out/{name}/4k");
    for mode in ["randread", "randwrite"] {
        for depth in [1, 4] {
            for jobs in [1, 2] {
                let report = place.path().join(format!("{results}/{mode}-{depth}-{jobs}.json"));
                let text = std::fs::read_to_string(&report).unwrap();
                let report: serde_json::Value = serde_json::from_str(&text).unwrap();
                let of = if mode == "randread" { "read" } else { "write" };
                assert!(report["jobs"][0][of]["total_ios"].as_u64().unwrap() > 0, "{text}");
            }
        }
    }
    let charts = [
        ("bars", "-l -r randread"),
        ("depths", "-L -r randwrite -t iops"),
        ("iops over time", "-g -r randread -t iops -d 1 4 -n 1"),
        ("latency over time", "-g -r randwrite -t lat bw -d 4 -n 2"),
        ("histogram", "-H -r randread -d 4 -n 1"),
    ];
    for (what, arguments) in charts {
        let chart = format!("{}.png", what.replace(' ', "-"));
        let told = call(
            "fio-plot",
            &format!("-i {results} -T {what} {arguments} -o {chart}").replace(what, &what.replace(' ', "-")),
        );
        let bytes = std::fs::read(place.path().join(&chart)).unwrap_or_default();
        assert!(
            bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000,
            "{what}: {} bytes\n{told}",
            bytes.len()
        );
    }
}
