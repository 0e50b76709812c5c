//! `fathom iometer`: runs configurations and writes result files, which `explain` reads.

use crate::prelude::*;

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/iometer");

/// The rows of a result file, with the titles by which readers find a column.
struct ResultRows<'a> {
    titles: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
}

impl<'a> ResultRows<'a> {
    fn parse(text: &'a str) -> ResultRows<'a> {
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        let titles = rows.iter().find(|row| row[0] == "'Target Type").unwrap().clone();
        ResultRows { titles, rows }
    }

    fn rows_of(&self, kind: &str) -> Vec<&Vec<&'a str>> {
        self.rows.iter().filter(|row| row[0] == kind).collect()
    }

    fn cell(&self, row: &[&'a str], title: &str) -> &'a str {
        let column = self.titles.iter().position(|known| *known == title);
        row[column.unwrap_or_else(|| panic!("{title}"))]
    }

    fn number(&self, row: &[&'a str], title: &str) -> f64 {
        self.cell(row, title).parse().unwrap()
    }
}

#[test]
fn four_workers_cycle_and_explain_reads_their_results() {
    let folder = need!(Directory::fast());
    let at = |name: &str| folder.path().join(name).display().to_string();
    for drive in ["d", "e"] {
        fs::create_dir(at(drive)).unwrap();
    }
    let (config, results) = (format!("{FILES}/v1.1.0-cycling.icf"), at("results.csv"));
    let maps = [format!("D:={}", at("d")), format!("E:={}", at("e"))];
    let words = [
        "iometer", "/c", &config, "/r", &results, "/t", "5", "--map", &maps[0], "--map", &maps[1],
    ];
    fathom(&words).expect(0, &[]);
    let text = fs::read_to_string(&results).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    lines[..4].assert_is(&[
        "'Test Type,Test Description",
        "5,four workers- cycled",
        "'Version",
        "1.1.0",
    ]);
    assert_eq!(lines.iter().filter(|line| **line == "'Results").count(), 8);
    assert_eq!(
        lines.iter().filter(|line| **line == "'Access specifications").count(),
        2
    );
    assert!(
        text.contains("\n4096,100,100,100,0,1,4096,0,\n"),
        "rows of specifications end with a comma"
    );
    assert_eq!(lines.last(), Some(&"'End Test"));
    let parsed = ResultRows::parse(&text);
    assert_eq!(parsed.titles.len(), 80);
    let rows_of = |kind: &str| parsed.rows_of(kind);
    assert_eq!(rows_of("ALL").len(), 8);
    // Workers: 2 2 4 4, then 2 2 3 3. Disks: 2 3 4 6, then 2 3 3 5.
    assert_eq!((rows_of("WORKER").len(), rows_of("DISK").len()), (22, 28));
    for (kind, columns) in [("ALL", 80), ("WORKER", 80), ("DISK", 80), ("PROCESSOR", 59)] {
        assert!(rows_of(kind).iter().all(|row| row.len() == columns), "{kind}");
    }
    for row in rows_of("ALL") {
        let number = |title: &str| parsed.number(row, title);
        let operations = number("Read I/Os") + number("Write I/Os");
        let bins: f64 = row[59..].iter().map(|count| count.parse::<f64>().unwrap()).sum();
        assert!(operations > 0.0 && (bins - operations).abs() < 0.5, "{row:?}");
        let binary = number("MiBps (Binary)") * 1_048_576.0;
        assert!((binary - number("MBps (Decimal)") * 1e6).abs() < 2.0, "{row:?}");
    }
    // With several specifications at once, the row `ALL` has no name.
    assert_eq!(rows_of("ALL")[2][2], "");
    assert_eq!(rows_of("ALL")[0][2], "4 KiB; 100% Read; 100% random");
    assert_eq!(fs::metadata(at("d/iobw.tst")).unwrap().len(), 8192 * 512);
    fathom(&["explain", &results]).expect(0, &["results of Iometer", "File server (result"]);
}

#[test]
fn configurations_of_2006_append_results_in_their_layout() {
    let folder = need!(Directory::fast());
    let results = folder.path().join("results.csv").display().to_string();
    fs::write(&results, "before\n").unwrap();
    let map = format!("D:={}", folder.path().display());
    fathom(&["iometer", &format!("{FILES}/v2006.icf"), &results, "--map", &map]).expect(0, &[]);
    let both = fs::read_to_string(&results).unwrap();
    let old = both.strip_prefix("before\n").unwrap();
    let titles = ResultRows::parse(old).titles;
    assert_eq!(titles.len(), 56);
    assert_eq!(titles[9], "MBps");
    assert_eq!(titles[12], "Transactions per Second");
    assert!(old.contains("\n4096,100,67,100,0,1,4096,0\n'End access"), "{old}");
    assert!(!old.contains("\nDISK,") && old.contains("\nWORKER,Worker 1,"), "{old}");
}

/// The figures include the transfers of each connection, and the time of open and close.
#[test]
fn results_include_figures_of_connections() {
    let folder = need!(Directory::fast());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let text = fs::read_to_string(format!("{FILES}/v1.1.0-cycling.icf")).unwrap();
    let tested = text.replace("2,DISABLED,1,ENABLED", "2,ENABLED,4,ENABLED");
    let (config, results) = (at("tested.icf"), at("r.csv"));
    fs::write(&config, tested.replace("CYCLE_WORKERS_AND_TARGETS", "NORMAL")).unwrap();
    let maps = [format!("D:={}", at("d")), format!("E:={}", at("e"))];
    fathom(&["iometer", &config, &results, "--map", &maps[0], "--map", &maps[1]]).expect(0, &[]);
    let text = fs::read_to_string(&results).unwrap();
    let parsed = ResultRows::parse(&text);
    // Workers 1 to 4 have one, two, one and two targets. The last worker keeps its targets open.
    let disks = parsed.rows_of("DISK");
    for (place, disk) in disks[..6].iter().enumerate() {
        let number = |title: &str| parsed.number(disk, title);
        let operations = number("Read I/Os") + number("Write I/Os");
        let (connections, tested) = (number("Connections"), place < 4);
        let transactions = if tested { 4.0 } else { -1.0 };
        assert_eq!(number("Transactions per Connection"), transactions);
        assert_eq!(connections > 0.0, tested, "{disk:?}");
        // The first connection began before the recorded time, and the last had not ended.
        assert!(!tested || (operations / 4.0 - connections).abs() <= 2.0, "{disk:?}");
        let [mean, max, total] = [
            "Average Connection Time",
            "Maximum Connection Time",
            "Total Raw Connection Time",
        ]
        .map(number);
        assert!(
            mean <= max && (mean * 1e6 * connections - total).abs() <= connections,
            "{disk:?}"
        );
        // A connection lasts longer than each of its transfers.
        assert!(!tested || mean > number("Average Response Time"), "{disk:?}");
        assert_eq!(parsed.cell(disk, "Processor Speed"), "1000000000.000000");
    }
    let connections = disks[..6].iter().map(|disk| parsed.number(disk, "Connections"));
    let all = parsed.rows_of("ALL")[0];
    assert_eq!(parsed.number(all, "Connections"), connections.sum::<f64>());
    assert_eq!(parsed.cell(all, "Transactions per Connection"), "-1");
    for (kind, speed) in [("MANAGER", true), ("PROCESSOR", true), ("WORKER", true), ("ALL", false)] {
        let expected = if speed { "1000000000.000000" } else { "" };
        let found = parsed.cell(parsed.rows_of(kind)[0], "Processor Speed");
        assert_eq!(found, expected, "{kind}");
    }
}

#[test]
fn a_test_with_a_failed_worker_is_marked_as_aborted() {
    let folder = need!(Directory::fast());
    let text = fs::read_to_string(format!("{FILES}/v2006.icf"))
        .unwrap()
        .replace('\r', "");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (config, results) = (at("reads.icf"), at("r.csv"));
    let reads = text
        .replace("\t4096,100,67,100,", "\t4096,100,100,100,")
        .replace("CYCLE_OUTSTANDING_IOS", "NORMAL")
        .replace("\t0          0          1\n", "\t0          0          4\n");
    fs::write(&config, reads).unwrap();
    let map = format!("D:={}", folder.path().display());
    let line = ["iometer", &config, &results, "--map", &map];
    let mut child = command(&line).spawn().unwrap();
    let target = folder.path().join("iobw.tst");
    let has_target = || fs::metadata(&target).is_ok_and(|target| target.len() > 0);
    while !has_target() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(2));
    File::options().write(true).open(&target).unwrap().set_len(0).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let text = fs::read_to_string(&results).unwrap();
    assert_eq!(text.lines().last(), Some("Aborted test"), "{text}");
}

#[test]
fn an_unknown_assigned_specification_is_reported_without_notes() {
    let folder = need!(Directory::fast());
    let text = fs::read_to_string(format!("{FILES}/v2006.icf")).unwrap();
    let (begin, workers) = text.split_once("'MANAGER LIST").unwrap();
    let assigned = "4 KiB; 100% Read; 100% random";
    let workers = workers.replacen(assigned, &format!("gone\n\t{assigned}"), 1);
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("gone.icf"), format!("{begin}'MANAGER LIST{workers}")).unwrap();
    let map = format!("D:={}", folder.path().display());
    fathom(&["iometer", &at("gone.icf"), &at("r.csv"), "--map", &map])
        .exits(0)
        .prints(&[
            "warning: Error restoring access specification assignments",
            "\"gone\" doesn't exist.  Ignoring.",
        ]);
}

#[test]
fn bursts_are_shared_by_all_targets_of_a_worker() {
    let folder = need!(Directory::fast());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (config, results) = (format!("{FILES}/v1998.10.08.icf"), at("r.csv"));
    let maps = [format!("D:={}", at("d.bin")), format!("E:={}", at("e.bin"))];
    fathom(&[
        "iometer", &config, &results, "--map", &maps[0], "--map", &maps[1], "--layout", "2006.07.27",
    ])
    .expect(0, &[]);
    let text = fs::read_to_string(&results).unwrap();
    let parsed = ResultRows::parse(&text);
    let number = |title: &str| parsed.number(parsed.rows_of("ALL")[0], title);
    // Half of the bursts are eight reads, 5 ms after the previous burst. The others are one write.
    let (reads, writes) = (number("Read I/Os"), number("Write I/Os"));
    assert!(
        (4.0..16.0).contains(&(reads / writes)),
        "{reads} reads, {writes} writes"
    );
    assert!(
        reads < 8.0 * 1000.0 / 5.0 * 1.1,
        "a delay comes before each burst: {reads} reads in a second"
    );
    let [first, second] = parsed.rows_of("DISK")[..] else {
        panic!("{text}")
    };
    let [first, second] = [first, second].map(|disk| parsed.number(disk, "Read I/Os"));
    assert!(
        first > 0.6 * second && second > 0.6 * first,
        "targets alternate: {first} and {second}"
    );
    let copy = at("copy.icf");
    fs::copy(&config, &copy).unwrap();
    let words = ["iometer", &copy, &copy, "--map", &maps[0], "--map", &maps[1]];
    fathom(&words).expect(1, &["it is also an input"]);
}

#[test]
fn wrong_files_and_command_lines_fail_with_code_1() {
    let folder = need!(Directory::fast());
    let results = folder.path().join("r.csv").display().to_string();
    let config = format!("{FILES}/v2006.icf");
    fathom(&["iometer", &config, &results]).exits(1).prints(&[
        "A worker is assigned a target, \"D: \"Data\"\", that isn't available.",
        "--map \"D:=DIRECTORY\"",
    ]);
    fathom(&["iometer", "/c", &config]).expect(1, &["without a result file", "add `/r FILE`"]);
    fathom(&["iometer", "/r", &results]).expect(1, &["no configuration file is named"]);
    let saved = folder.path().join("saved.csv").display().to_string();
    let rows = "'Test Type,Test Description\n'Access specifications\n'Results\n'Target Type,Target Name\n";
    fs::write(&saved, rows).expect("a file");
    fathom(&["iometer", &saved, &results]).expect(1, &["is not an Iometer configuration"]);
    fathom(&["iometer", "none.icf", &results]).expect(1, &["Cannot read from file: none.icf"]);
    fathom(&["iometer", "-cc"]).expect(1, &["Exactly one letter must follow a switch character."]);
    fathom(&["iometer", "/?"]).expect(0, &["/c FILE", "--map NAME=PATH"]);
    assert!(!folder.path().join("r.csv").exists(), "nothing was run");
    fathom(&["run", &config]).expect(4, &["is an Iometer configuration", "fathom iometer"]);
}

/// The drive D: of another machine.
#[test]
fn lint_reports_targets_without_a_map_and_checks_the_rest() {
    let config = format!("{FILES}/v2006.icf");
    let expected = [
        "error TARGET (D: \"Data\"): this machine has no such target",
        "map it to a path here",
        "SHORT-RUN",
        "1 error,",
    ];
    fathom(&["lint", &config]).expect(3, &expected);
    fathom(&["lint", "iometer", &config, "--map", "D:=/nowhere"]).expect(0, &["SHORT-RUN", "0 errors,"]);
}

#[test]
fn other_commands_accept_configurations() {
    let config = format!("{FILES}/v2006.icf");
    let line = fathom(&["convert", "--to", "fio", &config]);
    line.expect(0, &["rw=randrw", "rwmixwrite=33", "iodepth=4", "differs: Iometer"]);
    // One of its lines has a delay of 5 ms, the other none.
    let delays = fathom(&["convert", "--to", "fio", &format!("{FILES}/v1998.10.08.icf")]);
    delays.expect(6, &["lost: Iometer job: workers: "]);
    assert!(!delays.err.contains("0s after"), "{}", delays.err);
    line.expect(0, &["is no target of this machine: `fathom iometer --map"]);
    let cycling = format!("{FILES}/v1.1.0-cycling.icf");
    fathom(&["lint", "iometer", &cycling, "--map", "D:=/nowhere"])
        .expect(3, &["error TARGET (E:)", "SHORT-RUN", "4 threads"]);
}

/// Fuzzing found that the tests up to the limit were created first. They took half a gigabyte.
#[test]
fn too_many_tests_are_refused_before_any_is_created() {
    let folder = need!(Directory::fast());
    let text = fs::read_to_string(format!("{FILES}/v1.1.0-cycling.icf"))
        .unwrap()
        .replace('\r', "");
    let text = text.replace("\t2          2          LINEAR", "\t1          1          LINEAR");
    let (begin, rest) = text.split_once("'Worker\n").unwrap();
    let (worker, _) = rest.split_once("'End worker\n").unwrap();
    let (_, end) = rest.rsplit_once("'End worker\n").unwrap();
    let specs = "\t4 KiB; 100% Read; 100% random\n".repeat(50);
    let worker = worker.replace("\t4 KiB; 100% Read; 100% random\n\tFile server\n", &specs);
    let workers = format!("'Worker\n{worker}'End worker\n").repeat(100);
    let config = folder.path().join("large.icf").display().to_string();
    fs::write(&config, format!("{begin}{workers}{end}")).unwrap();
    let script = format!("ulimit -v 300000; exec \"$0\" lint iometer {config} --map D:=/nowhere");
    let output = Command::new("bash").args(["-c", &script, PROGRAM]).output().unwrap();
    let refusal = String::from_utf8_lossy(&output.stderr);
    assert!(refusal.contains("it has more than 4096 tests"), "{refusal}");
}

/// A pause after each burst would begin the first one at once.
#[test]
fn a_delay_precedes_the_first_burst() {
    let folder = need!(Directory::fast());
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("data"), vec![1; 1 << 20]).unwrap();
    let reads = |delay: u32, seconds: u32| {
        let config = format!(
            "'TEST SETUP\n'Run Time\n0 0 {seconds}\n'Default Disk Workers to Spawn\n1\n'ACCESS SPECIFICATIONS\n\
             'Access specification name,default assignment\nA,DISK\n'size,x\n4096,100,100,100,{delay},1,4096,0\n"
        );
        let results = at(&format!("{delay}.csv"));
        fs::write(at("x.icf"), config).unwrap();
        fathom(&["iometer", &at("x.icf"), &results, "--target", &at("data")]).expect(0, &[]);
        let text = fs::read_to_string(results).unwrap();
        let parsed = ResultRows::parse(&text);
        parsed.number(parsed.rows_of("ALL")[0], "Read I/Os")
    };
    assert_eq!(reads(100_000, 1), 0.0);
    // After 0.5, 1 and 1.5 seconds; a busy machine may be late.
    assert!((2.0..=3.0).contains(&reads(500, 2)));
}
