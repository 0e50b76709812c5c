//! Every recorded run of fio 3.42, repeated with fathom. Lines, labels, keys, order, types, number
//! formats, exit codes and files must match. Measured figures are masked; figures that the job
//! determines are compared.

use crate::fio::masks::{json_lines, normal_lines, terse_lines};
use crate::fio::support::{DATA, Sandbox, read_recording, split_percentiles};
use crate::prelude::*;

/// The recorded output formats.
const FORMATS: [(&str, &str); 4] = [
    ("normal.txt", "--output-format=normal"),
    ("out.json", "--output-format=json"),
    ("out.json+", "--output-format=json+"),
    ("terse3.txt", "--output-format=terse"),
];

/// The condition that ends a job. It decides which figures depend on the speed of the disk.
#[derive(Clone, Copy, PartialEq)]
enum EndsBy {
    /// Amount of I/O: counts are as recorded, but not the samples per half second.
    Amount,
    /// Runtime: the samples are there, but counts differ.
    Time,
    /// The first of the two: neither counts nor samples are compared.
    Either,
}

fn check(case: &str, end: EndsBy) {
    let fixed = end == EndsBy::Amount;
    let sandbox = Sandbox::on_disk().unwrap();
    for folder in ["d06", "d07", "d17"] {
        fs::create_dir(sandbox.path().join(folder)).unwrap();
    }
    for entry in fs::read_dir(format!("{DATA}/jobs")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".inc") || name.starts_with(case) {
            fs::copy(entry.path(), sandbox.path().join(&name)).unwrap();
        }
    }
    let arguments: Vec<String> = match fs::read_to_string(format!("{DATA}/jobs/{case}.cmd")) {
        Ok(line) => {
            let words = line
                .split_whitespace()
                .filter(|word| !word.starts_with("--output-format"));
            words.map(str::to_owned).collect()
        }
        Err(_) => vec![format!("{case}.fio")],
    };
    let codes = read_recording(&format!("golden/{case}/exit-codes.txt"));
    for (file, format) in FORMATS {
        let mut all = vec![format.to_owned()];
        all.extend(arguments.iter().cloned());
        let mut command = sandbox.command(&all);
        let ran = finish(command.env("SZ", "64").env("RW", "write"));
        let both_outputs = || format!("{}{}", ran.out, ran.err);
        let code = codes.lines().find_map(|line| line.strip_prefix(&format!("{file} ")));
        let found = ran.code.unwrap_or(-1).to_string();
        assert_eq!(found, code.unwrap(), "{case}, {file}\n{}", both_outputs());
        // fathom reports the version without a commit.
        let expected = read_recording(&format!("golden/{case}/{file}")).replace("fio-3.42-135-gf5344", "fio-3.42");
        let masked = |text: &str| match file {
            "normal.txt" => normal_lines(&remove_speed_dependent(text, end), fixed),
            "terse3.txt" => terse_lines(text),
            _ => json_lines(&remove_speed_dependent(text, end), fixed),
        };
        let (expected, found) = (masked(&expected), masked(&ran.out));
        if file == "normal.txt" {
            let recorded = read_recording(&format!("golden/{case}/files.txt"));
            assert_eq!(list_files(&sandbox), recorded, "{case}");
        }
        if let Some(difference) = first_difference(&expected, &found) {
            panic!("{case}, {file}, {difference}\n{}", both_outputs());
        }
    }
}

/// Lists files with their sizes in the format of the recording. Logs have no size.
fn list_files(sandbox: &Sandbox) -> String {
    let mut files = Vec::new();
    let mut folders = vec![sandbox.path()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            let name = path.strip_prefix(sandbox.path()).unwrap().display().to_string();
            match meta.is_dir() {
                true => folders.push(path),
                false if [".fio", ".cmd", ".inc"].iter().any(|end| name.ends_with(end)) => {}
                false if name.ends_with(".log") => files.push((name, "-".to_owned())),
                false => files.push((name, meta.len().to_string())),
            }
        }
    }
    files.sort();
    files.iter().map(|(name, size)| format!("{size} {name}\n")).collect()
}

/// Describes the first line that differs.
fn first_difference(expected: &[String], found: &[String]) -> Option<String> {
    let pairs = expected.iter().zip(found).enumerate();
    let mut pairs = pairs.filter(|(_, (expected, found))| expected != found);
    if let Some((number, (expected, found))) = pairs.next() {
        return Some(format!("line {}\nexpected {expected}\nfound    {found}", number + 1));
    }
    (expected.len() != found.len()).then(|| format!("{} lines instead of {}", found.len(), expected.len()))
}

/// Removes lines and counts that depend on the speed of the machine. These are the samples per half
/// second, if the job takes about that long, and the depth that meets a latency target.
fn remove_speed_dependent(text: &str, end: EndsBy) -> String {
    let counts = [
        "\"bw_samples\" : ", "\"iops_samples\" : ", "\"eta\" : ", "\"latency_depth\" : ",
    ];
    let lines = text
        .lines()
        .filter(|line| end == EndsBy::Time || !(line.starts_with("   bw (") || line.starts_with("   iops  ")));
    let lines = lines.map(|line| {
        if line.starts_with("     |") {
            return split_percentiles(line);
        }
        let count = counts.iter().find(|count| line.contains(*count));
        match count.and_then(|count| line.split_once(count).map(|(before, _)| (before, count))) {
            Some((before, count)) => format!("{before}{count}0,\n"),
            None => format!("{line}\n"),
        }
    });
    lines.collect()
}

macro_rules! cases {
    ($($name:ident: $case:literal, $end:ident;)*) => {
        $(#[test]
        fn $name() {
            check($case, EndsBy::$end);
        })*

        /// No recording may be forgotten.
        #[test]
        fn every_recording_is_used() {
            let recorded = calling::names(format!("{DATA}/golden").as_ref());
            assert_eq!(recorded, [$($case),*]);
        }
    };
}

cases! {
    sequential_reads: "01-seqread-psync", Amount;
    random_writes: "02-fiowrite", Time;
    random_reads: "03-fioread", Time;
    reads_and_writes: "04-fioreadwrite", Time;
    mixed_with_latencies: "05-sla-70-30", Time;
    flushed_writes: "06-etcd-fdatasync", Amount;
    stonewalled_steps: "07-four-stonewalled", Time;
    block_size_shares: "08-bssplit-latpct", Amount;
    verified_writes: "09-verify-crc32c", Amount;
    threads_and_ramp: "10-iouring-thread-ramp", Time;
    logs: "11-logs", Time;
    gtod_reduce: "12-gtod-reduce", Amount;
    groups: "13-groups-desc", Time;
    unified_directions: "14-unified-mixed", Amount;
    latency_target: "15-latency-target", Time;
    steady_state: "16-steadystate", Time;
    many_files: "17-many-files", Amount;
    environment_and_include: "18-env-include", Amount;
    trims: "19-trim-null", Amount;
    terse: "20-terse-style", Either;
    disabled_latencies: "21-no-lat", Time;
    loops: "22-loops-number-ios", Amount;
    decimal_units: "23-two-globals-kb1000", Amount;
}
