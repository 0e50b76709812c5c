//! The recorded job files and command lines: all are accepted, and `--showcmd` prints the files as
//! fio does.

use std::path::Path;

use dialects::fio::{Jobs, ParseOutcome};

use crate::fio::support::{DATA, TestEnv, all, reading_in, split};

fn env() -> TestEnv {
    let mut env = TestEnv {
        folders: ["d06", "d07", "d17"].map(String::from).to_vec(),
        variables: [("SZ", "64"), ("RW", "write")]
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .into(),
        ..TestEnv::default()
    };
    for name in names() {
        let text = std::fs::read_to_string(format!("{DATA}/jobs/{name}")).unwrap();
        env.files.insert(name, text);
    }
    env
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(format!("{DATA}/jobs")).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn shown(line: &str) -> (u8, Jobs) {
    all(reading_in(&mut env(), line))
}

#[test]
fn showcmd_prints_what_fio_prints() {
    let mut count = 0;
    for name in names().iter().filter(|name| name.ends_with(".fio")) {
        let case = name.trim_end_matches(".fio");
        let expected = std::fs::read_to_string(format!("{DATA}/golden/{case}/showcmd.txt")).unwrap();
        let (code, read) = shown(&format!("--showcmd {name}"));
        assert_eq!(code, 0, "{name}");
        let printed: String = read.stdout().map(|line| format!("{line}\n")).collect();
        assert_eq!(printed, expected, "{name}");
        count += 1;
    }
    assert_eq!(count, 19);
}

#[test]
fn every_recorded_workload_is_accepted() {
    for name in names().iter().filter(|name| !name.ends_with(".inc")) {
        let line = match name.strip_suffix(".cmd") {
            Some(_) => std::fs::read_to_string(Path::new(DATA).join("jobs").join(name)).unwrap(),
            None => name.clone(),
        };
        let reading = reading_in(&mut env(), line.trim());
        let ParseOutcome::Run(read) = reading else {
            panic!("{name}: {reading:?}");
        };
        assert!(!read.jobs.is_empty(), "{name}");
        assert_eq!(read.stderr().count(), 0, "{name}: {:?}", read.notices);
    }
}

/// The command line that `--showcmd` prints has the meaning of the file. There are two exceptions:
/// with several global sections, what is printed between jobs would belong to the job before; and a
/// `name=` in a section begins a job.
#[test]
fn the_output_of_showcmd_can_be_read_again() {
    for name in names()
        .iter()
        .filter(|name| name.ends_with(".fio") && !name.starts_with("23") && !name.starts_with("21"))
    {
        let (_, from_file) = shown(&format!("--parse-only {name}"));
        let (_, printed) = shown(&format!("--showcmd {name}"));
        let line = printed.stdout().next().unwrap().to_string();
        let mut arguments = split(&line);
        arguments[0] = "--parse-only".into();
        let borrowed: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, again) = all(env().read(&borrowed));
        assert_eq!(code, 0, "{line}: {:?}", again.notices);
        assert_eq!(again.jobs.len(), from_file.jobs.len(), "{name}");
        for (job, file_job) in again.jobs.into_iter().zip(from_file.jobs) {
            assert_eq!(job.options, file_job.options, "{name}: {}", job.section);
            assert_eq!(job.section, file_job.section, "{name}");
        }
    }
}
