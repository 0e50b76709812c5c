//! Command lines from public documents on Windows, for which they were written. Only sizes, times
//! and paths are changed.

use roxmltree::{Document, Node};
use testbed::need;

use crate::calling::Ran;
use crate::environment::{DriveFolder, diskspd};

/// A published command line, with its edits and the expected report.
struct Seed {
    published: &'static str,
    edits: &'static [(&'static str, &'static str)],
    /// The files in the order of the command line.
    files: &'static [&'static str],
    threads: usize,
    /// The columns of the report's tables after the first one.
    columns: &'static [&'static str],
}

const SEEDS: [Seed; 4] = [
    // Microsoft, "Use DISKSPD to test workload storage performance".
    Seed {
        published: r"-t2 -o32 -b4k -r4k -w0 -d120 -Sh -D -L -c5G C:\ClusterStorage\test01\targetfile\IO.dat",
        edits: &[("-d120", "-d2 -W1"), ("-c5G", "-c8M")],
        files: &[r"C:\ClusterStorage\test01\targetfile\IO.dat"],
        threads: 2,
        columns: &[
            "bytes", "I/Os", "MiB/s", "I/O per s", "AvgLat", "IopsStdDev", "LatStdDev", "file",
        ],
    },
    // The same document, on the file that the first command line created.
    Seed {
        published: r"-t4 -o32 -b4k -r4k -w0 -Sh -D -L C:\ClusterStorage\test01\targetfile\IO.dat",
        edits: &[("-w0", "-w0 -d1 -W0 -c8M")],
        files: &[r"C:\ClusterStorage\test01\targetfile\IO.dat"],
        threads: 4,
        columns: &[
            "bytes", "I/Os", "MiB/s", "I/O per s", "AvgLat", "IopsStdDev", "LatStdDev", "file",
        ],
    },
    // R. Kraik, "SQL: Testowanie dysku pod SQL: diskspd".
    Seed {
        published: r"-b64K -d30 -t8 -o8 -h -r -w20 -L -c2G test_002.dat",
        edits: &[("-d30", "-d2 -W1"), ("-c2G", "-c32M")],
        files: &["test_002.dat"],
        threads: 8,
        columns: &["bytes", "I/Os", "MiB/s", "I/O per s", "AvgLat", "LatStdDev", "file"],
    },
    // A Russian provider's method for testing virtual disks, with the dashes of a word processor.
    Seed {
        published: r"–Sh –o1 –t1 –L –d300 –w30 –c50G –b32k –rs100 –g2000i F:\diskspd0.tmp F:\diskspd1.tmp",
        edits: &[("–d300", "–d2 –W1"), ("–c50G", "–c16M")],
        files: &[r"F:\diskspd0.tmp", r"F:\diskspd1.tmp"],
        threads: 2,
        columns: &["bytes", "I/Os", "MiB/s", "I/O per s", "AvgLat", "LatStdDev", "file"],
    },
];

impl Seed {
    /// Returns the edited command line with its files in a folder, and the paths of the files.
    fn edited_line(&self, folder: &DriveFolder) -> (String, Vec<String>) {
        let mut line = self.published.to_owned();
        for (from, to) in self.edits {
            assert!(line.contains(from), "{line} has no {from}");
            line = line.replace(from, to);
        }
        let mut paths = Vec::new();
        for file in self.files {
            let name = file.rsplit('\\').next().unwrap();
            paths.push(folder.path(name));
            line = line.replace(file, &folder.path(name));
        }
        (line, paths)
    }

    fn run(&self, folder: &DriveFolder, options: &str) -> (Ran, String, Vec<String>) {
        let (line, paths) = self.edited_line(folder);
        let typed = format!("{options}{line}");
        let ran = diskspd().line(&typed);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{typed}: {ran:#?}");
        let names: Vec<&str> = paths.iter().map(|path| path.rsplit('\\').next().unwrap()).collect();
        assert_eq!(folder.names(), names, "{typed}");
        (ran, typed, paths)
    }
}

/// Checks that a report contains these whole lines in this order.
#[track_caller]
fn check_lines_in_order(report: &str, expected: &[&str]) {
    let mut rest = report.lines();
    for line in expected {
        assert!(
            rest.any(|found| found == *line),
            "`{line}` is missing or comes too early:\n{report}"
        );
    }
}

/// Parses a table of a report: the titles of its columns, its rows, and the row of totals.
fn parse_table(report: &str, title: &str) -> (Vec<String>, Vec<Vec<String>>, Vec<String>) {
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_owned()).collect() };
    let mut lines = report.lines().skip_while(|line| *line != title).skip(1);
    let titles = cells(lines.next().unwrap());
    let width = lines.next().unwrap();
    assert!(width.bytes().all(|byte| byte == b'-') && width.len() > 60, "{width}");
    let rows = lines.by_ref().take_while(|line| *line != width).map(cells).collect();
    let total = lines.next().unwrap().strip_prefix("total:").unwrap();
    (titles, rows, cells(total))
}

#[test]
fn text_reports_have_the_format_of_diskspd() {
    for seed in &SEEDS {
        let folder = need!(DriveFolder::new("seeds-text"));
        let (ran, typed, paths) = seed.run(&folder, "");
        let report = &ran.out;
        let echo = format!("\nCommand Line: diskspd.exe {typed}\n\nInput parameters:\n\n\ttimespan:   1\n");
        assert!(report.starts_with(&echo), "{report}");
        check_lines_in_order(
            report,
            &[
                "\tmeasuring latency",
                &format!("\tpath: '{}'", paths[0]),
                "System information:",
                "\theterogeneous cores:\tn",
                "Results for timespan 1:",
                &"*".repeat(79),
                &format!("thread count:\t\t{}", seed.threads),
                "Total IO",
                "Read IO",
                "Write IO",
                "Total latency distribution:",
                "  %-ile |  Read (ms) | Write (ms) | Total (ms)",
            ],
        );
        let tables = ["Total IO", "Read IO", "Write IO"].map(|title| parse_table(report, title));
        let number = |cell: &String| cell.parse::<f64>().unwrap_or_else(|_| panic!("{cell}: {report}"));
        for (titles, rows, total) in &tables {
            assert_eq!(titles[1..], *seed.columns, "{report}");
            assert_eq!(rows.len(), seed.threads, "{report}");
            for (row, thread) in rows.iter().zip(0..) {
                assert_eq!(row[0], thread.to_string());
                let file = &paths[thread * paths.len() / seed.threads];
                assert!(row.last().unwrap().starts_with(&format!("{file} (")), "{row:?}");
            }
            for column in 0..2 {
                let sum: f64 = rows.iter().map(|row| number(&row[column + 1])).sum();
                assert_eq!(sum, number(&total[column]), "{report}");
            }
        }
        let [all, reads, writes] = tables.map(|(_, _, total)| number(&total[1]));
        assert!(all > 100.0 && reads + writes == all, "{report}");
        assert_eq!(writes > 0.0, typed.contains("w20") || typed.contains("w30"), "{report}");
        let percentiles: Vec<&str> = report
            .lines()
            .skip_while(|line| !line.starts_with("  %-ile"))
            .skip(2)
            .take_while(|line| !line.is_empty())
            .map(|line| line.split('|').next().unwrap().trim())
            .collect();
        let expected = [
            "min", "25th", "50th", "75th", "90th", "95th", "99th", "3-nines", "4-nines", "5-nines", "6-nines",
            "7-nines", "8-nines", "9-nines", "max",
        ];
        assert_eq!(percentiles, expected, "{report}");
    }
}

#[test]
fn xml_reports_have_the_format_of_diskspd() {
    for seed in &SEEDS {
        let folder = need!(DriveFolder::new("seeds-xml"));
        let (ran, typed, paths) = seed.run(&folder, "-Rxml ");
        let document = Document::parse(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out));
        let names = |node: Node| -> Vec<String> {
            let children = node.children().filter(Node::is_element);
            children.map(|child| child.tag_name().name().to_owned()).collect()
        };
        let child = |node: Node<'_, '_>, name: &str| -> Vec<roxmltree::NodeId> {
            node.children()
                .filter(|child| child.has_tag_name(name))
                .map(|child| child.id())
                .collect()
        };
        let root = document.root_element();
        assert_eq!(names(root), ["System", "Profile", "TimeSpan"], "{typed}");
        let span = document.get_node(child(root, "TimeSpan")[0]).unwrap();
        let threads: Vec<Node> = span.descendants().filter(|node| node.has_tag_name("Thread")).collect();
        assert_eq!(threads.len(), seed.threads, "{typed}");
        let texts = |name: &str| -> Vec<&str> {
            let found = span.descendants().filter(|node| node.has_tag_name(name));
            found.map(|node| node.text().unwrap()).collect()
        };
        let sum = |name: &str| -> u64 { texts(name).iter().map(|text| text.parse::<u64>().unwrap()).sum() };
        assert_eq!(sum("IOCount"), sum("ReadCount") + sum("WriteCount"), "{typed}");
        assert!(sum("IOCount") > 100, "{typed}");
        let reported: Vec<&str> = texts("Path");
        for (thread, path) in reported.iter().enumerate() {
            assert_eq!(*path, paths[thread * paths.len() / seed.threads], "{typed}");
        }
        assert_eq!(reported.len(), seed.threads);
    }
}

/// In an existing directory, the path of the first document needs no change.
#[test]
fn a_path_of_cluster_storage_can_be_tested() {
    let folder = std::path::Path::new(r"C:\ClusterStorage\fathom-test01\targetfile");
    std::fs::create_dir_all(folder).unwrap();
    let file = folder.join("IO.dat");
    let line = format!("-t2 -o32 -b4k -r4k -w0 -d1 -W0 -Sh -D -L -c5M {}", file.display());
    let ran = diskspd().line(&line);
    let found = std::fs::metadata(&file).map(|file| file.len());
    std::fs::remove_dir_all(r"C:\ClusterStorage\fathom-test01").unwrap();
    let _ = std::fs::remove_dir(r"C:\ClusterStorage");
    ran.expect(0, &[r"C:\ClusterStorage\fathom-test01\targetfile\IO.dat (5MiB)"]);
    assert_eq!(found.unwrap(), 5 << 20);
}
