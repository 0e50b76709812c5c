//! Preconditioning of a simulated device with a small write cache, and of small real targets.

use model::observation::Observation;
use study::precondition::judge_window;

use crate::prelude::*;

/// A job file with a simulated device of 64 MiB.
fn device(folder: &Path, more: &str) -> PathBuf {
    let path = folder.join("device.toml");
    let content = format!(
        "[[job]]\ntarget = \"simulated:disk\"\nwrite = 100\nwarm-up = \"0s\"\n\
         [simulated.disk]\nsize = \"64MiB\"\nservers = 1\nservice = \"100us\"\n{more}"
    );
    fs::write(&path, content).unwrap();
    path
}

/// The device does 10,000 writes of 4 KiB per second for 3.5 s. Then its fast memory is full, and
/// it does 2,500. So rounds of a second have 10,000 three times, then one mixed value, then 2,500.
/// The window is steady only once it no longer contains the cliff.
#[test]
fn a_cliff_must_leave_the_window() {
    let folder = folder();
    let size = 35_000 * 4096;
    let job = device(folder.path(), &format!("write-buffer = \"{size} 4\"\n"));
    let saved = folder.path().join("saved");
    fathom(&["run", text(&job), "--time", "12s", "-q", "--save", text(&saved)]).expect(0, &[]);
    let results = archive::load(&saved).unwrap();
    let found = Observation::from_results(&results, 0, 0).unwrap();
    let per_round = |points: &[model::observation::SeriesPoint]| {
        points.iter().flat_map(|point| point.operations).sum::<u64>() as f64
    };
    let rates: Vec<f64> = found.series.chunks_exact(10).map(per_round).collect();
    assert_eq!(rates.len(), 12);
    assert!(
        (rates[2] / 10_000.0 - 1.0).abs() < 0.01 && (rates[4] / 2_500.0 - 1.0).abs() < 0.01,
        "{rates:?}"
    );
    let steady = |rounds: usize| judge_window(&rates[..rounds]).is_some_and(|window| window.steady);
    let first = (5..=12).find(|rounds| steady(*rounds));
    assert_eq!(first, Some(9), "{rates:?}");
    let window = judge_window(&rates[..9]).unwrap();
    assert!((window.figures.average / 2_500.0 - 1.0).abs() < 0.01);
}

/// A rate of its own was once called the steady rate of the device.
#[test]
fn a_load_with_a_rate_or_pauses_is_refused() {
    let folder = folder();
    let job = device(folder.path(), "");
    for paced in [["--rate", "100iops"], ["--pause", "1ms"]] {
        let ran = fathom(&[&["precondition", text(&job), "--passes", "0"][..], &paced].concat());
        ran.expect(4, &["cannot show whether the device is steady"]);
    }
}

#[test]
fn a_device_that_does_not_change_is_steady_after_five_rounds() {
    let folder = folder();
    let job = device(folder.path(), "");
    let csv = folder.path().join("rounds.csv");
    let out = format!("json,csv={}", text(&csv));
    let ran = fathom(&["precondition", text(&job), "--round", "200ms", "--out", &out]);
    let json = ran
        .expect(0, &["filling, 2 times", "[5/25]", "round 5: 9,995 IOPS"])
        .json();
    assert_eq!((&json["kind"], &json["steady"]), (&"precondition".into(), &true.into()));
    // Twice 64 MiB, and five rounds of 200 ms with 10,000 writes of 4 KiB a second.
    assert_eq!(json["fill"]["bytes"], 128u64 << 20);
    let written = json["written"].as_u64().unwrap() - (128 << 20);
    assert!((written as f64 / (10_000.0 * 4096.0) - 1.0).abs() < 0.01, "{written}");
    assert_eq!(json["rounds"].as_array().unwrap().len(), 5);
    assert_eq!(json["window"]["first"], 1);
    assert_eq!(json["window"]["last"], 5);
    let range = json["window"]["range"].as_f64().unwrap();
    assert!((0.0..0.02).contains(&range), "{range}");
    assert_eq!(json["window"]["steady_by_stricter_reading"], true);
    let table = fs::read_to_string(&csv).unwrap();
    assert!(table.starts_with("round,read_percent,block_bytes,iops,"), "{table}");
    assert_eq!(table.lines().count(), 6);
}

/// A device is a hundred times slower while another load runs. The load starts at random and lasts
/// about two rounds.
#[test]
fn a_device_that_never_becomes_steady_is_reported_with_an_exit_code() {
    let folder = folder();
    let job = device(folder.path(), "neighbour = \"100ms 100ms 100\"\n");
    let line = format!(
        "precondition {} --passes 0 --round 50ms --rounds 7 -q --seed 5",
        job.display()
    );
    let ran = fathom_line(&line);
    ran.exits(1).prints(&[
        "NOT reached in 7 rounds",
        "(maximum 20 %): missed",
        "Continue with `--passes 0`",
    ]);
    assert!(!ran.out.contains("yes\n"), "{ran:#?}");
}

#[test]
fn the_matrix_has_all_its_cells() {
    let folder = folder();
    let job = device(folder.path(), "");
    let ran = fathom_line(&format!(
        "precondition {} --matrix --round 20ms --passes 0 --depth 1",
        job.display()
    ));
    ran.exits(0).prints(&[
        "[1/25, 56/56] 0/100 512 B",
        "IOPS of round 5",
        "Steady state reached: rounds 1 to 5",
    ]);
    assert!(!ran.err.contains("filling"));
}

#[test]
fn a_real_file_is_filled_and_loaded_and_removed() {
    let folder = folder();
    let ran = fathom_line(&format!(
        "precondition {} --size 8MiB --round 200ms --rounds 5 --depth 4 --out json",
        folder.path().display()
    ));
    // On a busy machine the device might not become steady. The exit code must agree.
    let json = ran.json();
    assert_eq!(ran.code, Some(if json["steady"] == true { 0 } else { 1 }), "{ran:#?}");
    assert_eq!(json["fill"]["bytes"], 16u64 << 20);
    let rounds = json["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 5);
    assert!(
        rounds.iter().all(|round| round["tracked"].as_f64().unwrap() > 0.0),
        "{rounds:#?}"
    );
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_device_is_only_written_if_it_is_named_again() {
    let device = need!(loop_device(16));
    let path = text(device.path());
    let words = ["precondition", path, "--round", "100ms", "--rounds", "5"];
    fathom(&words).expect(3, &["the loss of its contents was not permitted", "--allow-destroy"]);
    fathom(&[&words[..], &["--dry-run"]].concat()).exits(3).prints(&[
        "filled 2 times, then up to 5 rounds",
        "filling:",
        "round 1:",
        "refused",
        "nothing was opened for writing",
    ]);
    let ran = fathom(&[&words[..], &["--allow-destroy", path, "-q"]].concat());
    assert!(
        matches!(ran.code, Some(0 | 1)) && ran.out.contains("Filled: 32 MiB"),
        "{ran:#?}"
    );
}

#[test]
fn mistakes_are_reported_before_anything_is_written() {
    let folder = folder();
    let job = device(folder.path(), "");
    let check = |more: &[&str], part: &str| {
        fathom(&[&["precondition", text(&job)][..], more].concat()).expect(4, &[part]);
    };
    check(&["--round", "0s"], "the time must be above 0");
    check(&["--round", "soon"], "for example --round 60s");
    check(&["--rounds", "4"], "4 is not in 5..");
    check(&["--matrix", "--block", "8k"], "cannot be used with");
    check(&["--time", "5s"], "unexpected argument '--time'");
    check(&["--out", "xml"], "formats: text, json, csv");
    let ends = folder.path().join("ends.toml");
    fs::write(&ends, "[[job]]\ntarget = \"null\"\nwrite = 100\noperations = 5\n").unwrap();
    fathom(&["precondition", text(&ends)]).expect(4, &["sets its own end", "set the length with --round"]);
    let two = folder.path().join("two.toml");
    fs::write(&two, "[[job]]\ntarget = [\"null\", \"/nowhere\"]\nwrite = 100\n").unwrap();
    fathom(&["precondition", text(&two)]).expect(4, &["there are 2 targets"]);
}
