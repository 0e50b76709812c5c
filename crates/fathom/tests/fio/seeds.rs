//! Published job files and command lines, from `tests/data/fio/seeds`. Sizes and times are reduced
//! here, and paths replaced. An engine of another system is replaced as the file's comment says.

use crate::fio::support::{Sandbox, read_recording};
use crate::prelude::*;

/// A published file, with the edits that this machine needs.
fn edit_published(name: &str, edits: &[(&str, &str)]) -> String {
    let mut text = read_recording(&format!("seeds/{name}"));
    for (from, to) in edits {
        assert!(text.contains(from), "{name} has no {from}");
        text = text.replace(from, to);
    }
    text
}

/// The published command line of a file, with a shorter runtime and JSON output.
fn arguments_for(file: &str) -> Vec<String> {
    let lines = read_recording("seeds/commands.txt");
    let line = lines.lines().find(|line| line.ends_with(&format!(" {file}"))).unwrap();
    let words = line.split(' ').skip_while(|word| !word.starts_with("fio")).skip(1);
    let mut words: Vec<String> = words
        .map(|word| if word == "30" { "1" } else { word }.to_owned())
        .collect();
    words.push("--output-format=json".into());
    words
}

fn run(file: &str, text: &str) -> Ran {
    let sandbox = Sandbox::new();
    for folder in ["nocache", "readcache"] {
        fs::create_dir(sandbox.path().join(folder)).unwrap();
    }
    fs::write(sandbox.path().join(file), text).unwrap();
    sandbox.run(&arguments_for(file))
}

/// Name, reads and writes, and the whole entry of each job in the report.
#[track_caller]
fn job_entries(ran: &Ran) -> Vec<(String, [u64; 2], Value)> {
    ran.succeeds_silently();
    // Many scripts parse from the first brace on.
    let json = &ran.out[ran.out.find('{').unwrap()..];
    let json: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    let jobs = json["jobs"].as_array().unwrap().iter();
    jobs.map(|job| {
        let ios = ["read", "write"].map(|direction| job[direction]["total_ios"].as_u64().unwrap());
        (job["jobname"].as_str().unwrap().to_owned(), ios, job.clone())
    })
    .collect()
}

fn run_published(file: &str, edits: &[(&str, &str)]) -> Ran {
    run(file, &edit_published(file, edits))
}

const SMALLER: (&str, &str) = ("size=30g", "size=4m");
const WRITES: (&str, &str) = ("directory=/mnt/nocache", "directory=nocache");
const READS: (&str, &str) = ("directory=/mnt/readcache", "directory=readcache");

#[test]
fn a_published_write_job_has_four_entries() {
    let ran = run_published("fiowrite.ini", &[SMALLER, WRITES]);
    let entries = job_entries(&ran);
    assert_eq!(entries.len(), 4, "{ran:#?}");
    for (name, ios, _) in entries {
        assert_eq!((name.as_str(), ios), ("writer1", [0, 1024]), "{ran:#?}");
    }
}

#[test]
fn a_published_read_job_has_four_entries() {
    let ran = run_published("fioread.ini", &[SMALLER, READS]);
    let entries = job_entries(&ran);
    assert_eq!(entries.len(), 4, "{ran:#?}");
    for (name, ios, job) in entries {
        assert_eq!((name.as_str(), ios), ("reader1", [1024, 0]), "{ran:#?}");
        assert_eq!(job["job options"]["directory"], "readcache", "{ran:#?}");
    }
}

#[test]
fn a_published_mixed_job_limits_its_writes() {
    let ran = run_published("fioreadwrite.ini", &[SMALLER, READS, WRITES]);
    let entries = job_entries(&ran);
    let names: Vec<&str> = entries.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, [["reader1"; 4], ["writer1"; 4]].concat(), "{ran:#?}");
    for (_, _, job) in &entries[4..] {
        // 1024 writes at 3200 per second, or fewer on a busy machine.
        let iops = job["write"]["iops"].as_f64().unwrap();
        assert!((1000.0..3700.0).contains(&iops), "{iops}: {ran:#?}");
    }
}

/// A published file for Windows with comments in Russian, with its folder replaced. Its comment
/// says that the engine is called libaio on Linux.
fn service_level_job(edits: &[(&str, &str)]) -> String {
    let mut all = vec![
        ("directory=F\\:\\\n", "directory=nocache\n"),
        ("size=25g", "size=4m"),
        ("runtime=300", "runtime=1"),
    ];
    all.extend(edits);
    edit_published("fio3.ini", &all)
}

#[track_caller]
fn check_service_level(text: &str) {
    let ran = run("fio3.ini", text);
    let entries = job_entries(&ran);
    let [(name, _, job)] = &entries[..] else {
        panic!("one entry for the group: {ran:#?}");
    };
    assert_eq!(name, "random");
    assert_eq!(job["desc"], "test", "{ran:#?}");
    // Four clones with 700 reads and 300 writes per second each. A busy machine may not keep up,
    // but the rates are never exceeded, and they determine the mix.
    let iops = |direction: &str| job[direction]["iops"].as_f64().unwrap();
    let (reads, writes) = (iops("read"), iops("write"));
    assert!(
        (280.0..2800.0 * 1.05).contains(&reads) && writes < 1200.0 * 1.05,
        "{reads} {writes}: {ran:#?}"
    );
    assert!(
        (2800.0 / 1200.0 * 0.8..2800.0 / 1200.0 * 1.2).contains(&(reads / writes)),
        "{reads} {writes}: {ran:#?}"
    );
}

const ENGINE: (&str, &str) = ("ioengine=windowsaio", "ioengine=libaio");

#[test]
fn comments_in_russian_are_accepted() {
    check_service_level(&service_level_job(&[ENGINE]));
}

#[test]
fn windows_line_ends_are_accepted() {
    check_service_level(&service_level_job(&[ENGINE]).replace('\n', "\r\n"));
}

#[test]
fn windowsaio_uses_an_asynchronous_engine_of_linux() {
    check_service_level(&service_level_job(&[]));
}

/// Without edits, the file names a Windows folder.
#[test]
fn a_windows_folder_is_refused() {
    run("fio3.ini", &read_recording("seeds/fio3.ini")).expect(1, &["fio: F:\\ is not a directory"]);
}
