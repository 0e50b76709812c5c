//! Job files and command lines as people publish them: `tests/data/fio/seeds`. Only sizes, times
//! and paths are made smaller here, and an engine of another system is changed as the file itself
//! says.

use std::fs;

use serde_json::Value;

use crate::calling::Ran;
use crate::fio::support::{Place, recorded};

/// A published file with what has to be another here.
fn edited(name: &str, edits: &[(&str, &str)]) -> String {
    let mut text = recorded(&format!("seeds/{name}"));
    for (from, to) in edits {
        assert!(text.contains(from), "{name} has no {from}");
        text = text.replace(from, to);
    }
    text
}

/// The published command line that runs a file, with its time made shorter, as JSON.
fn words(file: &str) -> Vec<String> {
    let lines = recorded("seeds/commands.txt");
    let line = lines.lines().find(|line| line.ends_with(&format!(" {file}"))).unwrap();
    let words = line.split(' ').skip_while(|word| !word.starts_with("fio")).skip(1);
    let mut words: Vec<String> = words
        .map(|word| if word == "30" { "1" } else { word }.to_owned())
        .collect();
    words.push("--output-format=json".into());
    words
}

fn run(file: &str, text: &str) -> Ran {
    let place = Place::new();
    for folder in ["nocache", "readcache"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    fs::write(place.path().join(file), text).unwrap();
    place.run(&words(file))
}

/// Direction and operations of every entry.
#[track_caller]
fn entries(ran: &Ran) -> Vec<(String, [u64; 2], Value)> {
    ran.expect(0, &[]);
    assert_eq!(ran.err, "", "{ran:#?}");
    // The reader of many a script: from the first brace on.
    let json = &ran.out[ran.out.find('{').unwrap()..];
    let json: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    let jobs = json["jobs"].as_array().unwrap().iter();
    jobs.map(|job| {
        let ios = ["read", "write"].map(|direction| job[direction]["total_ios"].as_u64().unwrap());
        (job["jobname"].as_str().unwrap().to_owned(), ios, job.clone())
    })
    .collect()
}

const SMALLER: [(&str, &str); 1] = [("size=30g", "size=4m")];
const WRITES: (&str, &str) = ("directory=/mnt/nocache", "directory=nocache");
const READS: (&str, &str) = ("directory=/mnt/readcache", "directory=readcache");

#[test]
fn the_most_writes() {
    let ran = run("fiowrite.ini", &edited("fiowrite.ini", &[SMALLER[0], WRITES]));
    let entries = entries(&ran);
    assert_eq!(entries.len(), 4, "{ran:#?}");
    for (name, ios, _) in entries {
        assert_eq!((name.as_str(), ios), ("writer1", [0, 1024]), "{ran:#?}");
    }
}

#[test]
fn the_most_reads() {
    let ran = run("fioread.ini", &edited("fioread.ini", &[SMALLER[0], READS]));
    let entries = entries(&ran);
    assert_eq!(entries.len(), 4, "{ran:#?}");
    for (name, ios, job) in entries {
        assert_eq!((name.as_str(), ios), ("reader1", [1024, 0]), "{ran:#?}");
        assert_eq!(job["job options"]["directory"], "readcache", "{ran:#?}");
    }
}

#[test]
fn reads_beside_limited_writes() {
    let ran = run(
        "fioreadwrite.ini",
        &edited("fioreadwrite.ini", &[SMALLER[0], READS, WRITES]),
    );
    let entries = entries(&ran);
    let names: Vec<&str> = entries.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, [["reader1"; 4], ["writer1"; 4]].concat(), "{ran:#?}");
    for (_, _, job) in &entries[4..] {
        // 1024 writes at 3200 a second, or fewer where the machine has other things to do.
        let iops = job["write"]["iops"].as_f64().unwrap();
        assert!((1000.0..3700.0).contains(&iops), "{iops}: {ran:#?}");
    }
}

/// A file with comments in Russian, for Windows, of which the folder must be another here. Its
/// comment says that the engine is called libaio on Linux.
fn service_level(edits: &[(&str, &str)]) -> String {
    let mut all = vec![
        ("directory=F\\:\\\n", "directory=nocache\n"),
        ("size=25g", "size=4m"),
        ("runtime=300", "runtime=1"),
    ];
    all.extend(edits);
    edited("fio3.ini", &all)
}

#[track_caller]
fn check_service_level(text: &str) {
    let ran = run("fio3.ini", text);
    let entries = entries(&ran);
    let [(name, _, job)] = &entries[..] else {
        panic!("one entry for the group: {ran:#?}");
    };
    assert_eq!(name, "random");
    assert_eq!(job["desc"], "test", "{ran:#?}");
    // Four clones with 700 reads and 300 writes a second each. A machine with other work may not
    // keep up, but nothing goes beyond the rates, and the mix follows from them.
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
fn a_service_level_with_comments_in_russian() {
    check_service_level(&service_level(&[ENGINE]));
}

#[test]
fn line_ends_of_windows() {
    check_service_level(&service_level(&[ENGINE]).replace('\n', "\r\n"));
}

#[test]
fn the_engine_of_windows_is_the_queue_of_this_system() {
    check_service_level(&service_level(&[]));
}

/// As it stands, the file names a folder of Windows.
#[test]
fn a_folder_of_windows_is_refused() {
    let ran = run("fio3.ini", &recorded("seeds/fio3.ini"));
    ran.expect(1, &["fio: F:\\ is not a directory"]);
}
