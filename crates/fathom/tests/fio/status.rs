//! Output while jobs run: cumulative reports and the status line.

use std::io::BufRead;
use std::sync::mpsc;

use crate::fio::support::Sandbox;
use crate::prelude::*;

const JOB: &str = "--name=a --size=4m --rw=randread --rate_iops=200 --time_based";

/// Parses each report on stdout.
fn parse_reports(text: &str) -> Vec<Value> {
    let values = serde_json::Deserializer::from_str(text).into_iter();
    values
        .map(|value| value.unwrap_or_else(|error| panic!("{error}: {text}")))
        .collect()
}

fn operations(report: &Value) -> u64 {
    report["jobs"][0]["read"]["total_ios"].as_u64().unwrap()
}

/// Every report covers the run so far, and the last one covers all of it.
#[test]
fn status_interval_prints_cumulative_reports() {
    let sandbox = Sandbox::new();
    let ran = sandbox.line(&format!("{JOB} --runtime=4 --output-format=json --status-interval=1"));
    let found = parse_reports(&ran.out);
    // A disk that stalls lengthens the run.
    let stamps = [found.first(), found.last()].map(|report| report.unwrap()["timestamp_ms"].as_u64().unwrap());
    let max = (stamps[1] - stamps[0]) / 1000 + 3;
    let count = found.len();
    assert!((4..=max as usize).contains(&count), "{count}: {}", ran.out);
    let counts: Vec<u64> = found.iter().map(operations).collect();
    assert!(counts.is_sorted() && counts[0] < 500, "{counts:?}");
    let last = *counts.last().unwrap();
    assert!((700..=800).contains(&last), "{counts:?}");
    // Context switches are counted while the thread runs, not only once it has ended.
    let switches = |report: &Value| report["jobs"][0]["ctx"].as_u64().unwrap();
    let switches: Vec<u64> = found.iter().map(switches).collect();
    assert!(switches.is_sorted() && switches[0] > 0, "{switches:?}");
    let runtime = found.last().unwrap()["jobs"][0]["read"]["runtime"].as_u64().unwrap();
    assert!((3900..=4100).contains(&runtime), "{runtime}");
}

/// SIGUSR1 and the file `fio-dump-status` each cause a report; the run continues.
#[test]
fn a_signal_or_a_file_causes_a_report() {
    let sandbox = Sandbox::new();
    let line = format!("{JOB} --runtime=10 --output-format=json");
    let mut command = sandbox.command(&split_words(&line));
    let folder = sandbox.path();
    let mut child = calling::spawn(command.env("TMPDIR", &folder));
    let (lines, mut printed) = mpsc::channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        stdout
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| lines.send(line))
    });
    // Wait until the run has begun: it creates its file first.
    calling::wait_until(30, || folder.join("a.0.0").exists(), "the run has not begun");
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, "USR1");
    let first = receive_report(&mut printed);
    std::thread::sleep(Duration::from_millis(1000));
    fs::write(folder.join("fio-dump-status"), "").unwrap();
    let second = receive_report(&mut printed);
    assert!(!folder.join("fio-dump-status").exists());
    let last = receive_report(&mut printed);
    assert_eq!(end(child).code, Some(0));
    assert_eq!(printed.try_iter().count(), 0, "a fourth report");
    let counts = [first, second, last].map(|report| operations(&report));
    assert!(counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
}

fn receive_report(lines: &mut mpsc::Receiver<String>) -> Value {
    let mut text = String::new();
    while !text.ends_with("\n}\n") {
        text += &lines.recv_timeout(Duration::from_secs(30)).expect("a report");
        text += "\n";
    }
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The line is printed only on request, and only on stdout. It shows rates, and the time left once
/// there is an estimate.
#[test]
fn eta_always_prints_the_status_line() {
    let sandbox = Sandbox::new();
    let ran = sandbox.line(&format!("{JOB} --runtime=5 --eta=always --output=report.txt"));
    let states = ran.out.split(['\r', '\n']);
    let states: Vec<&str> = states.filter(|line| !line.trim().is_empty()).collect();
    assert!(states.len() >= 3, "{:?}", ran.out);
    assert!(states[0].starts_with("Jobs: 1 (f=1), 0-200 IOPS"), "{:?}", ran.out);
    let is_complete = |line: &str| line.contains(": [r(1)][") && line.contains(" IOPS][eta 00m:0");
    assert!(states.iter().any(|line| is_complete(line)), "{:?}", ran.out);
    let report = fs::read_to_string(sandbox.path().join("report.txt")).unwrap();
    assert!(report.contains("issued rwts") && !report.contains("Jobs: "), "{report}");
    let silent = sandbox.line(&format!("{JOB} --runtime=2"));
    assert!(!silent.out.contains("Jobs: "), "{}", silent.out);
}
