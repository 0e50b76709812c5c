//! fio's job files for Windows: the engine, paths, and line ends.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use testbed::need;

use crate::calling::{self, Ran};
use crate::environment::{drive, fio, press_program};
use crate::sandbox;

/// A provider's job file: four jobs of 25 GiB and 300 seconds, with comments in Russian.
const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/fio/seeds/fio3.ini");

fn read_published() -> String {
    let text = fs::read_to_string(PUBLISHED).unwrap();
    for line in ["directory=F\\:\\", "ioengine=windowsaio", "size=25g", "runtime=300"] {
        assert!(text.lines().any(|found| found == line), "{line} is missing");
    }
    text
}

/// The files of the published jobs on the drive. Only one test may use them at a time.
struct JobFiles<'a> {
    drive: &'a Path,
    _lock: MutexGuard<'static, ()>,
}

impl<'a> JobFiles<'a> {
    fn on(drive: &'a Path) -> JobFiles<'a> {
        static LOCK: Mutex<()> = Mutex::new(());
        JobFiles {
            drive,
            _lock: LOCK.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn paths(&self) -> [std::path::PathBuf; 4] {
        [0, 1, 2, 3].map(|number| self.drive.join(format!("random.{number}.0")))
    }
}

impl Drop for JobFiles<'_> {
    fn drop(&mut self) {
        self.paths().iter().for_each(|path| _ = fs::remove_file(path));
    }
}

/// Runs a job file with this text, and parses its JSON output.
fn run_job_file(text: &str) -> (Ran, Value) {
    let sandbox = fio();
    fs::write(sandbox.path().join("fio3.ini"), text).unwrap();
    let ran = sandbox.line("fio3.ini --output-format=json");
    ran.succeeds_silently();
    let json = serde_json::from_str(&ran.out[ran.out.find('{').unwrap()..]);
    let json = json.unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    (ran, json)
}

#[track_caller]
fn check_job(job: &Value) {
    assert_eq!(job["jobname"].as_str(), Some("random"));
    assert_eq!(job["desc"].as_str(), Some("test"));
    assert_eq!(job["error"], 0);
    // Four clones, each with 700 reads and 300 writes per second. A busy machine may reach less.
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

/// With existing files and an interrupt, the job file needs no change.
#[test]
fn a_published_job_file_runs_unchanged_until_an_interrupt() {
    let (drive, press) = (need!(drive()), need!(press_program()));
    let files = JobFiles::on(&drive);
    for path in files.paths() {
        if let Err(error) = fs::File::create(&path).unwrap().set_len(25 << 30) {
            return testbed::skip(format!(
                "{} has no space for four files of 25 GiB: {error}",
                drive.display()
            ));
        }
    }
    let sandbox = fio();
    fs::write(sandbox.path().join("fio3.ini"), read_published()).unwrap();
    let mut command = Command::new(press);
    let after = crate::keys::startup_ms() + 3000;
    command
        .arg("c")
        .arg(after.to_string())
        .arg(sandbox.program())
        .arg("fio3.ini")
        .current_dir(sandbox.path());
    let ran = sandbox::plain(calling::finish(&mut command));
    // The exit code of fio after an interrupt.
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

/// With a smaller size and runtime, also with the line ends of Windows.
#[test]
fn a_published_job_file_runs_to_its_end() {
    let drive = need!(drive());
    let _files = JobFiles::on(&drive);
    assert_eq!(drive, Path::new(r"F:\"), "the file names this drive");
    let shorter = read_published()
        .replace("size=25g", "size=8m")
        .replace("runtime=300", "runtime=2");
    for text in [shorter.clone(), shorter.replace('\n', "\r\n")] {
        let (ran, json) = run_job_file(&text);
        let [job] = &json["jobs"].as_array().unwrap()[..] else {
            panic!("one entry for the group: {ran:#?}");
        };
        check_job(job);
        assert_eq!(json["global options"]["ioengine"], "windowsaio");
    }
}
