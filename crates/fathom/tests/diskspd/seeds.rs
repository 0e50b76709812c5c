//! Command lines from public documents. Only sizes, times and paths are changed.

use crate::diskspd::support::{Sandbox, diskspd_lines};
use crate::prelude::*;

/// Unchanged command lines with Windows paths, and the paths that hints suggest.
#[cfg(target_os = "linux")]
const FOR_WINDOWS: [(&str, &str); 3] = [
    (
        r"-t2 -o32 -b4k -r4k -w0 -d120 -Sh -D -L -c5G C:\ClusterStorage\test01\targetfile\IO.dat",
        "/ClusterStorage/test01/targetfile/IO.dat",
    ),
    (
        r"-t4 -o32 -b4k -r4k -w0 -Sh -D -L C:\ClusterStorage\test01\targetfile\IO.dat",
        "/ClusterStorage/test01/targetfile/IO.dat",
    ),
    (
        r"–Sh –o1 –t1 –L –d300 –w30 –c50G –b32k –rs100 –g2000i F:\diskspd0.tmp F:\diskspd1.tmp",
        "/diskspd0.tmp",
    ),
];

#[cfg(target_os = "linux")]
#[test]
fn windows_paths_are_refused_with_a_suggestion() {
    use std::time::{Duration, Instant};

    use crate::diskspd::support::split_words;

    for (line, suggested) in FOR_WINDOWS {
        let sandbox = Sandbox::new();
        let began = Instant::now();
        let ran = sandbox.noted(line);
        ran.expect(1, &["The test was interrupted before the measurements began."]);
        let paths = split_words(line).into_iter().filter(|word| word.contains('\\'));
        let mut expected: Vec<String> = paths.map(|path| format!("Error opening file: {path} [2]")).collect();
        expected.push("There has been an error during threads execution".into());
        expected.push("Error generating I/O requests".into());
        assert_eq!(diskspd_lines(&ran.err), expected, "{line}");
        let hints: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("hint: ")).collect();
        assert!(hints[0].contains(suggested), "{hints:?}");
        assert_eq!(sandbox.names(), Vec::<String>::new(), "{line}");
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}

/// Without a blank before it, the path becomes a value of `-L`.
#[test]
fn a_path_attached_to_a_switch_is_a_missing_target() {
    let sandbox = Sandbox::new();
    let ran = sandbox.noted(r"-t4 -o32 -b4k -r4k -w0 -Sh -D -L:\ClusterStorage\test01\targetfile\IO.dat");
    ran.expect(3, &[r"hint: `-L` takes no value"]);
    diskspd_lines(&ran.err).assert_is(&["ERROR: need to provide at least one filename"]);
    assert_eq!((ran.out.as_str(), sandbox.names()), ("", Vec::new()));
}

/// Runs a line and checks that exactly these files exist afterwards.
fn check(line: &str, files: &[&str]) -> Option<Ran> {
    let sandbox = Sandbox::new();
    if !line.contains("-c") && !line.contains("–c") {
        files.iter().for_each(|name| _ = sandbox.file(name, 8 << 20));
    }
    let ran = sandbox.line(line);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{line}: {ran:#?}");
    assert_eq!(sandbox.names(), files, "{line}");
    let echo = format!("\nCommand Line: diskspd.exe {line}\n\nInput parameters:\n");
    assert!(ran.out.starts_with(&echo), "{}", ran.out);
    Some(ran)
}

/// The cells of a table in the report, with the row of the total.
fn table(ran: &Ran, title: &str) -> Vec<Vec<String>> {
    let lines = ran.out.lines().skip_while(|line| *line != title).skip(3);
    let lines = lines
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("---"));
    let cells = |line: &str| {
        let line = line.replace("total:", "total |");
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    lines.map(cells).collect()
}

#[test]
fn random_reads_of_a_new_file() {
    let line = "-t2 -o32 -b4k -r4k -w0 -d1 -Sh -D -L -c5M IO.dat";
    let ran = need!(check(line, &["IO.dat"]));
    let total = table(&ran, "Total IO");
    assert_eq!(total.len(), 3);
    assert_eq!(total[0].len(), 9, "latency and deviation: {total:?}");
    assert_eq!(total[0][8], "IO.dat (5MiB)");
    // The total has no file.
    assert_eq!(total[2].len(), 8);
    // The default is 5 seconds.
    ran.exits(0)
        .prints(&["\twarm up time: 5s\n", "\tgathering IOPS at intervals of 1000ms\n"]);
}

#[test]
fn random_reads_of_an_existing_file() {
    let line = "-t4 -o32 -b4k -r4k -w0 -d1 -W0 -Sh -D -L IO.dat";
    let ran = need!(check(line, &["IO.dat"]));
    assert_eq!(table(&ran, "Read IO").len(), 5);
    assert_eq!(table(&ran, "Write IO")[4][1..3], ["0", "0"]);
}

#[test]
fn a_thread_pool_reads_or_writes() {
    for line in [
        "-c20M -w100 -b8K -F4 -r -o128 -W1 -d1 -Sh testfile.dat",
        "-c20M -b4K -F4 -r -o128 -W1 -d1 -Sh testfile.dat",
    ] {
        let ran = need!(check(line, &["testfile.dat"]));
        ran.expect(0, &["\tthread pool with 4 threads\n", "\nthread count:\t\t4\n"]);
        let writes = line.contains("-w100");
        let (reads, wrote) = (table(&ran, "Read IO"), table(&ran, "Write IO"));
        let none = |table: &[Vec<String>]| table.iter().all(|row| row[2] == "0");
        assert_eq!((none(&reads), none(&wrote)), (writes, !writes), "{line}");
    }
}

#[test]
fn a_mixed_load_with_the_old_cache_switch() {
    let line = "-b64K -d2 -W0 -t8 -o8 -h -r -w20 -L -c32M test_002.dat";
    let ran = need!(check(line, &["test_002.dat"]));
    ran.exits(0).prints(&[
        "\t\tperforming mix test (read/write ratio: 80/20)\n",
        "\t\tsoftware cache disabled\n\t\thardware write cache disabled, writethrough on\n",
    ]);
    let [all, writes] = ["Total IO", "Write IO"].map(|title| table(&ran, title)[8][2].parse::<f64>().unwrap());
    // Directions are random. The tolerance is five standard deviations.
    let tolerance = 5.0 * (0.2 * 0.8 / all).sqrt();
    assert!((writes / all - 0.2).abs() < tolerance, "{writes} of {all}");
}

/// Runs a line on tmpfs, because a busy disk may be too slow.
#[cfg(target_os = "linux")]
fn run_with_notes(line: &str, files: &[&str]) -> Option<Ran> {
    use crate::calling;

    let memory = need(testbed::TmpFs::with_size(64 << 20))?;
    let sandbox = Sandbox::new();
    let mut command = sandbox.command_in(memory.path(), &split_words(line));
    let ran = finish(command.env("FATHOM_NOTES", "1"));
    if ran.code == Some(0) {
        assert_eq!(calling::names(memory.path()), files);
    }
    Some(ran)
}

#[cfg(not(target_os = "linux"))]
fn run_with_notes(line: &str, files: &[&str]) -> Option<Ran> {
    let sandbox = Sandbox::new();
    let ran = sandbox::finish(sandbox.command(&split_words(line)).env("FATHOM_NOTES", "1"));
    assert_eq!(sandbox.names(), files, "{ran:#?}");
    Some(ran)
}

#[test]
fn typographic_dashes_are_accepted_and_rate_limits_are_kept() {
    let line = "–Sh –o1 –t1 –L –d2 –W1 –w30 –c16M –b32k –rs100 –g2000i d0.tmp d1.tmp";
    let ran = need!(run_with_notes(line, &["d0.tmp", "d1.tmp"]));
    if ran.err.contains("Error opening file") {
        return testbed::note("tmpfs has no direct I/O before Linux 6.6");
    }
    ran.exits(0).prints(&[
        "note: read a typographic dash as `-` in `–Sh`, `–o1`,",
        "\t\tthroughput rate-limited to 2000 IOPS\n",
    ]);
    let rows = table(&ran, "Total IO");
    let rate = |row: &Vec<String>| row[4].parse::<f64>().unwrap();
    for row in &rows[..2] {
        match ran.err.contains("[RATE-NOT-KEPT]") {
            false => assert!((rate(row) - 2000.0).abs() < 40.0, "{row:?}"),
            true => testbed::note(format!("{} operations per second instead of 2000", rate(row))),
        }
    }
}
