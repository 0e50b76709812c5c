//! Saved files are read back unchanged, and other files are refused with a reason.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use archive::{ArchiveError, load, save};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use model::finding::{Finding, Severity};
use model::results::Results;

fn example() -> Results {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/results/mixed.json");
    load(&path).expect("an example is a saved result")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// More than a megabyte of JSON.
fn large() -> Results {
    let mut results = example();
    let long = Finding::new("LONG", Severity::Note, "a sentence of some length ".repeat(50));
    results.findings = vec![long; 1000];
    results
}

#[test]
fn every_example_is_read_back_unchanged() {
    let folder = folder();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/results");
    for name in ["mixed.json", "paced.json", "steps.json"] {
        let original = load(&examples.join(name)).expect("an example is a saved result");
        let copy = folder.path().join(name);
        save(&original, &copy).expect("saved");
        assert_eq!(load(&copy).expect("loaded"), original);
        // The new file is equal to the example, byte for byte.
        assert!(
            fs::read(&copy).expect("read") == fs::read(examples.join(name)).expect("read"),
            "{name}"
        );
    }
}

#[test]
fn large_files_are_compressed_and_small_ones_are_plain_json() {
    let folder = folder();
    let (small_path, large_path) = (folder.path().join("small"), folder.path().join("large"));
    save(&example(), &small_path).expect("saved");
    save(&large(), &large_path).expect("saved");
    let (small, packed) = (
        fs::read(&small_path).expect("read"),
        fs::read(&large_path).expect("read"),
    );
    assert!(small.starts_with(b"{\"format_version\":"));
    assert_eq!(packed[..2], [0x1f, 0x8b], "the magic number of gzip");
    let mut plain = Vec::new();
    GzDecoder::new(&*packed).read_to_end(&mut plain).expect("unpacked");
    assert!(plain.len() > 1 << 20 && plain.ends_with(b"}\n"));
    assert_eq!(load(&large_path).expect("loaded"), large());
}

/// The error message for a file with the given content.
fn load_error(content: &[u8]) -> String {
    let folder = folder();
    let path = folder.path().join("file.json");
    fs::write(&path, content).expect("written");
    let error = load(&path).expect_err("it is not a saved result");
    error.to_string().replace(&path.display().to_string(), "FILE")
}

#[test]
fn other_files_are_refused_with_a_reason() {
    let check = |content: &str, expected: &str| assert_eq!(load_error(content.as_bytes()), expected);
    let foreign = |why: &str| format!("FILE is not a saved result of fathom: {why}");
    check("", &foreign("it is empty"));
    check("fathom 0.1.0, quick", &foreign("its content is not JSON"));
    check("[1, 2]", &foreign("it has no format_version"));
    check("{}", &foreign("it has no format_version"));
    check("{\"fio version\": \"fio-3.42\"}", &foreign("it has no format_version"));
    check("{\"format_version\": \"1\"}", &foreign("it has no format_version"));
    check(
        "{\"format_version\": 1}",
        &foreign("missing field `kind` at line 1 column 21"),
    );
    let summary = load_error(b"{\"format_version\": 1, \"kind\": \"summary\"}");
    assert!(summary.contains("it is a summary (`--out json`)"), "{summary}");
}

#[test]
fn a_file_of_a_newer_version_is_refused_by_its_number() {
    let mut value = serde_json::to_value(example()).expect("plain data");
    value["format_version"] = 2.into();
    // Newer files may have any content, so the number alone decides.
    value["steps"] = "different".into();
    let text = value.to_string();
    assert_eq!(
        load_error(text.as_bytes()),
        "FILE has format 2, which is newer than format 1 of this version; use the version of fathom that \
         wrote the file, or a newer one"
    );
    assert_eq!(
        load_error(b"{\"format_version\": 0}"),
        "FILE has format 0, which this version does not read: it knows format 1"
    );
}

#[test]
fn impossible_numbers_are_refused_with_their_field() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/results/mixed.json");
    let run: serde_json::Value = serde_json::from_slice(&fs::read(path).expect("read")).expect("JSON");
    let refused = |place: &str, number: u64, expected: &str| {
        let mut changed = run.clone();
        *changed.pointer_mut(place).expect("the example has the field") = number.into();
        let error = load_error(changed.to_string().as_bytes());
        assert!(error.contains(expected), "{place}: {error}");
        let study = serde_json::json!({
            "format_version": 1, "kind": "study", "tool": run["tool"], "name": "x",
            "question": {"asks": "ab", "a": "a", "b": "b"},
            "runs": [{"settings": [], "results": changed}],
        });
        let error = load_error(study.to_string().as_bytes());
        assert!(error.contains(expected), "study, {place}: {error}");
    };
    let job = "/steps/0/jobs/0";
    let first_point = format!("{job}/series/0/points/read/0/n");
    for number in [u64::MAX, 1 << 63, (1 << 60) + 1] {
        refused(
            &first_point,
            number,
            &format!("steps[0].jobs[0].series[0].points.read[0].n: {number} is more than 2^60"),
        );
    }
    refused(
        &format!("{job}/series/0/length_ns"),
        1,
        "steps[0].jobs[0].series[0].length_ns: 1 ns divides",
    );
    refused(
        &format!("{job}/histograms/1/length_ns"),
        1,
        "steps[0].jobs[0].histograms[1].length_ns: 1 ns divides 3 s into 3000000000 intervals",
    );
    refused(
        &format!("{job}/workers/0/streams/0/directions/read/total/min_ns"),
        1 << 50,
        "the histogram has min_ns = 1125899906842624",
    );
    // Each number is possible, but not their sum.
    let mut many = run.clone();
    let points = many
        .pointer_mut(&format!("{job}/series/0/points/read"))
        .and_then(|points| points.as_array_mut());
    let points = points.expect("the example has a series");
    let mut large = points[0].clone();
    large["n"] = (1u64 << 60).into();
    *points = vec![large; 5];
    let error = load_error(many.to_string().as_bytes());
    assert!(
        error.contains("points.read[") && error.contains("].n: all such values add up to more than 2^62"),
        "{error}"
    );
}

#[test]
fn a_damaged_or_truncated_file_is_an_error_and_never_a_panic() {
    let folder = folder();
    let path = folder.path().join("whole");
    for results in [example(), large()] {
        save(&results, &path).expect("saved");
        let whole = fs::read(&path).expect("read");
        let step = (whole.len() / 60).max(1);
        for cut in (0..whole.len() - 1).step_by(step) {
            assert!(
                load_error(&whole[..cut]).starts_with("FILE is not a saved result"),
                "cut at {cut}"
            );
        }
        // A damaged byte causes an error or changes a value, but never a panic.
        for at in (0..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x15;
            let place = folder.path().join("damaged");
            fs::write(&place, &damaged).expect("written");
            let _ = load(&place);
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_or_written_is_named() {
    let folder = folder();
    let missing = folder.path().join("no/such/folder/result.json");
    let error = save(&example(), &missing).expect_err("there is no such folder");
    let expected = format!(
        "cannot write {}: the directory {} does not exist",
        missing.display(),
        folder.path().join("no/such/folder").display()
    );
    assert_eq!(error.to_string(), expected);
    let error = load(&missing).expect_err("there is no such file");
    assert!(matches!(error, ArchiveError::System { verb: "read", .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot read {}: ", missing.display()))
    );
    let error = save(&example(), folder.path()).expect_err("a directory is not a file");
    assert!(error.to_string().ends_with("it is a directory"), "{error}");
}

/// A writer that is killed leaves the old file intact. The new file has a temporary name until it
/// is complete.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_write_leaves_the_old_file_intact() {
    const FILE: &str = "FATHOM_TEST_FILE";
    // This branch runs in the process that the test starts. The write kills it.
    if let Some(path) = std::env::var_os(FILE) {
        let noise: Vec<u8> = (0..4_000_000u32)
            .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        archive::write_whole(Path::new(&path), &noise).expect("written");
        return;
    }
    let folder = folder();
    let path = folder.path().join("result.json");
    save(&example(), &path).expect("saved");
    // The system kills a process that exceeds its limit of 64 KiB per file.
    let child = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -c 0; ulimit -f 64; exec \"$0\" --exact \"$1\" --nocapture",
        ])
        .arg(std::env::current_exe().expect("this program has a path"))
        .arg("an_interrupted_write_leaves_the_old_file_intact")
        .env(FILE, &path)
        .output()
        .expect("started");
    assert!(!child.status.success(), "the limit was not in force");
    assert_eq!(load(&path).expect("the old file is intact"), example());
    // The incomplete new file does not look like a result.
    let entries = fs::read_dir(folder.path()).expect("listed");
    let entry_paths = entries.map(|entry| entry.expect("an entry").path());
    for temp_path in entry_paths.filter(|entry_path| *entry_path != path) {
        let name = temp_path.file_name().expect("a name").to_string_lossy();
        assert!(name.starts_with(".fathom-") && name.ends_with(".part"), "{name}");
    }
    // The next attempt still succeeds.
    save(&large(), &path).expect("saved");
    assert_eq!(load(&path).expect("loaded"), large());
}

/// Such a file once took four gigabytes of memory.
#[test]
fn a_small_file_that_unpacks_to_gigabytes_is_refused() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&vec![b' '; 65 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    let error = archive::load_bytes(&packed, Path::new("bomb.json.gz")).unwrap_err();
    assert!(
        error.to_string().contains("the limit for a file of its size"),
        "{error}"
    );
}
