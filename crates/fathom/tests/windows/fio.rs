//! fio's job files for Windows: its engine, its paths, the line ends of its editors.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::calling::{self, Ran};
use crate::place;
use crate::reported::{drive, fio, press};

/// A job file of a provider, with comments in Russian, four jobs of 25 GiB and 300 seconds.
const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/fio/seeds/fio3.ini");

fn published() -> String {
    let text = fs::read_to_string(PUBLISHED).unwrap();
    for line in ["directory=F\\:\\", "ioengine=windowsaio", "size=25g", "runtime=300"] {
        assert!(text.lines().any(|found| found == line), "{line} is missing");
    }
    text
}

/// The files of its jobs, where it looks for them: those of one test at a time.
struct Files<'a> {
    drive: &'a Path,
    _turn: MutexGuard<'static, ()>,
}

impl<'a> Files<'a> {
    fn on(drive: &'a Path) -> Files<'a> {
        static ONE: Mutex<()> = Mutex::new(());
        Files {
            drive,
            _turn: ONE.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn paths(&self) -> [std::path::PathBuf; 4] {
        [0, 1, 2, 3].map(|number| self.drive.join(format!("random.{number}.0")))
    }
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        self.paths().iter().for_each(|path| _ = fs::remove_file(path));
    }
}

/// Runs a job file of this text and reads the JSON that it is asked for.
fn run(text: &str) -> (Ran, Value) {
    let place = fio();
    fs::write(place.path().join("fio3.ini"), text).unwrap();
    let ran = place.line("fio3.ini --output-format=json");
    ran.expect(0, &[]);
    assert_eq!(ran.err, "", "{ran:#?}");
    let json = serde_json::from_str(&ran.out[ran.out.find('{').unwrap()..]);
    let json = json.unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    (ran, json)
}

#[track_caller]
fn check(job: &Value) {
    assert_eq!(
        (job["jobname"].as_str(), job["desc"].as_str()),
        (Some("random"), Some("test"))
    );
    assert_eq!(job["error"], 0);
    // Four clones with 700 reads and 300 writes a second each; a machine with other work may not
    // keep up.
    let iops = |direction: &str| job[direction]["iops"].as_f64().unwrap();
    let (reads, writes) = (iops("read"), iops("write"));
    assert!(
        (100.0..2800.0 * 1.05).contains(&reads) && writes < 1200.0 * 1.05,
        "{reads} {writes}"
    );
    assert!(
        (2800.0 / 1200.0 * 0.8..2800.0 / 1200.0 * 1.2).contains(&(reads / writes)),
        "{reads} {writes}"
    );
}

/// With files that are there and a key that ends it, the file needs no change at all.
#[test]
fn a_published_job_file_runs_unchanged() {
    let (Some(drive), Some(press)) = (drive(), press()) else {
        return;
    };
    let files = Files::on(&drive);
    for path in files.paths() {
        if let Err(error) = fs::File::create(&path).unwrap().set_len(25 << 30) {
            return testbed::skip(format!(
                "{} has no room for four files of 25 GiB: {error}",
                drive.display()
            ));
        }
    }
    let place = fio();
    fs::write(place.path().join("fio3.ini"), published()).unwrap();
    let mut command = Command::new(press);
    let after = crate::keys::after() + 3000;
    command
        .arg("c")
        .arg(after.to_string())
        .arg(place.program())
        .arg("fio3.ini")
        .current_dir(place.path());
    let ran = place::plain(calling::finish(&mut command));
    // Interrupted, as fio's own.
    assert_eq!(ran.code, Some(128), "{ran:#?}");
    for part in [
        "random: (g=0): rw=randrw, bs=(R) 32.0KiB-32.0KiB, (W) 32.0KiB-32.0KiB, (T) 32.0KiB-32.0KiB, ioengine=windowsaio, iodepth=1\n...\n",
        "Starting 4 processes\n",
        "random: (groupid=0, jobs=4): err= 0: ",
        "  Description  : [test]\n",
        "Run status group 0 (all jobs):\n",
    ] {
        assert!(ran.out.contains(part), "`{part}` is missing: {ran:#?}");
    }
}

/// Smaller and shorter, to its end; and with the line ends of an editor of Windows.
#[test]
fn a_published_job_file_runs_to_its_end() {
    let Some(drive) = drive() else { return };
    let _files = Files::on(&drive);
    assert_eq!(drive, Path::new(r"F:\"), "the file names this drive");
    let shorter = published()
        .replace("size=25g", "size=8m")
        .replace("runtime=300", "runtime=2");
    for text in [shorter.clone(), shorter.replace('\n', "\r\n")] {
        let (ran, json) = run(&text);
        let [job] = &json["jobs"].as_array().unwrap()[..] else {
            panic!("one entry for the group: {ran:#?}");
        };
        check(job);
        assert_eq!(json["global options"]["ioengine"], "windowsaio");
    }
}
