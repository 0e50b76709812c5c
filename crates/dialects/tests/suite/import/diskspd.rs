//! Imports reports of DiskSpd: the published one of 2.0.20, recorded ones of 2.2 as text and as
//! XML, and reports that users have edited, truncated or pasted into a page.

use dialects::import::{self, Form, Imported};
use model::observation::IoStats;
use model::testing::assert_contains;
use model::{Bytes, Direction, Nanos};
use testbed::{AssertContains, With};

use super::{finding, folders, only, read, read_text, rules};

const PUBLISHED_REPORT: &str = "diskspd/legacy/report.txt";

fn in_tolerance(found: Option<f64>, expected: f64, tolerance: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() <= tolerance)
}

#[track_caller]
fn assert_published_figures(imported: &Imported) {
    let load = only(&imported.loads);
    assert_eq!(load.load.depth, Some(64), "8 threads with 8 each");
    assert_eq!(load.load.block, Some(Bytes(65_536)));
    assert_eq!(load.load.read_percent, Some(80.0));
    assert_eq!(load.load.random, Some(true));
    assert_eq!(load.load.direct, Some(true));
    assert_eq!(load.load.closed_loop, Some(true));
    assert_eq!(load.load.size, Some(Bytes(2 << 30)));
    assert_eq!(load.measured_ns, Some(Nanos::secs(30)));
    assert_eq!(load.total.operations, Some(215_348));
    assert_eq!(load.total.bytes, Some(Bytes(14_113_046_528)));
    assert_eq!(load.total.iops, Some(7177.32));
    assert!(in_tolerance(load.in_flight(), 63.98, 0.005), "{:?}", load.in_flight());
    let latency = load.total.latency.as_ref().unwrap();
    assert_eq!((latency.mean_ns, latency.deviation_ns), (Some(8.914e6), Some(12.067e6)));
    assert_eq!((latency.min_ns, latency.max_ns), (Some(230_000.0), Some(360.679e6)));
    assert!(in_tolerance(latency.quantile(0.999), 228.571e6, 1.0));
    assert!(in_tolerance(latency.quantile(0.99999), 336.154e6, 1.0));
    assert_eq!(latency.quantiles.len(), 13);
    let write = load.directions.write.as_ref().unwrap();
    assert_eq!(write.operations, Some(43_476));
    let latency = write.latency.as_ref().unwrap();
    assert!(in_tolerance(latency.quantile(0.9999), 323.685e6, 1.0));
    assert_eq!(load.breakdown.len(), 24, "8 threads, in three tables");
    assert_eq!(load.cores.len(), 8);
    assert!((load.cores[0].kernel - 0.1229).abs() < 1e-9);
}

#[test]
fn the_published_report_is_read_completely() {
    let imported = read(PUBLISHED_REPORT);
    assert_eq!(imported.form, Form::DiskspdText);
    assert_published_figures(&imported);
    assert_eq!(imported.loads[0].version.as_deref(), Some("2.0.18 to 2.0.21"));
    assert_eq!(imported.processors, Some(8));
    assert_eq!(imported.unread, []);
    // Its results name another file than its parameters do.
    let edited = finding(&imported, "REPORT-EDITED");
    assert!(edited.what.contains("test_002.dat"), "{}", edited.what);
    assert!(rules(&imported).contains(&"OPTION-DEPRECATED"));
    // Without -w20 on its command line, the report contradicts itself: 20 % are writes.
    let without = read_text(PUBLISHED_REPORT).replacen("-w20 ", "", 1);
    let problems = format!("{:?}", import::read("x", &without).unwrap().findings);
    assert_contains(&problems, "100 % on the command line but 80 %");
}

#[test]
fn a_report_inside_a_page_is_found() {
    let report =
        read_text(PUBLISHED_REPORT).replace("Results for timespan", "Then come the results:\nResults for timespan");
    let page = format!(
        "Testing a disk\r\n\r\n.\\diskspd.exe -b64K -d30 -t8 -o8 -L x.dat > y.txt\r\n-08 – outstanding requests | the queue\r\n{}\r\nThe table \
         shows: thread | bytes | latency",
        report.replace('\n', "\r\n")
    );
    let imported = import::read("page", &page).unwrap();
    assert_published_figures(&imported);
    let typo = finding(&imported, "OPTION-TYPO");
    assert!(typo.help.as_deref().unwrap().contains("-o8"));
}

#[test]
fn files_from_windows_are_read_in_every_encoding() {
    let text = read_text(PUBLISHED_REPORT).replace('\n', "\r\n");
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [[&[0xff, 0xfe], &*wide].concat(), wide, text.into_bytes()] {
        let decoded = import::decode(&bytes);
        assert_published_figures(&import::read("x", &decoded.text).unwrap());
    }
}

#[test]
fn decimal_commas_are_read_where_they_cannot_mean_thousands() {
    let text = read_text(PUBLISHED_REPORT);
    // Only in tables: dots in the command line and in paths are not decimal points.
    let lines = text
        .lines()
        .map(|line| match line.contains('|') && !line.contains(".dat") {
            true => line.replace('.', ","),
            false => line.to_owned(),
        });
    let imported = import::read("x", &lines.collect::<Vec<_>>().join("\n")).unwrap();
    assert_published_figures(&imported);
    assert!(rules(&imported).contains(&"DECIMAL-COMMA"));
    let thousands = text.replace("| 7177.32 |", "| 7,177.32 |");
    let problems = import::read("x", &thousands).unwrap_err();
    let problems: String = problems.iter().map(ToString::to_string).collect();
    problems.assert_contains(&["cannot read `7,177.32`: expected a number with a decimal point", "x:58"]);
}

#[test]
fn parts_missing_from_a_truncated_report_are_listed() {
    let text = read_text(PUBLISHED_REPORT);
    let check = |until: &str, missing: &str| {
        let cut = &text[..text.find(until).unwrap()];
        let imported = import::read("x", cut).unwrap();
        let finding = finding(&imported, "REPORT-TRUNCATED");
        assert!(finding.what.contains(missing), "{}", finding.what);
        assert_eq!(imported.loads[0].total.operations, Some(215_348));
    };
    check("3-nines", "the percentiles, or their last rows");
    check("Write IO", "the total of writes");
    let settings_only = &text[..text.find("Results for").unwrap()];
    let problems = import::read("x", settings_only).unwrap_err();
    assert_contains(&problems[0].what, "ends before the results of time span 1");
    let no_total = &text[..text.find("total: 14113046528").unwrap()];
    let problems = import::read("x", no_total).unwrap_err();
    assert_contains(&problems[0].what, "the total of all operations");
}

#[test]
fn every_recorded_run_is_read_as_text_and_as_xml() {
    for case in folders("diskspd/runs") {
        let text = import::read(&case, &read_text(&format!("diskspd/runs/{case}/result.txt")));
        if ["11-missing-file", "12-target-too-small"].contains(&&*case) {
            let problems = text.unwrap_err();
            assert!(problems[0].what.contains("interrupted"), "{case}: {problems:?}");
            continue;
        }
        let text = text.unwrap();
        assert_eq!(text.unread, [], "{case}");
        assert_eq!(text.findings, [], "{case}");
        assert!(
            text.loads.iter().all(|load| load.version.as_deref() == Some("2.2")),
            "{case}"
        );
        assert_eq!(text.host.as_deref(), Some("testhost"));
        let xml = read(&format!("diskspd/runs/{case}/result.xml"));
        assert_eq!(xml.form, Form::DiskspdXml);
        assert_eq!(xml.findings, [], "{case}");
        // Text and XML are from two runs of one command line: same load, different figures.
        assert_eq!(text.loads.len(), xml.loads.len(), "{case}");
        for (text, xml) in text.loads.iter().zip(&xml.loads) {
            // The text rounds sizes that are not multiples of a unit.
            let whole = xml.load.size.filter(|size| size.0.is_multiple_of(1 << 20));
            let size = whole.or(text.load.size);
            assert_eq!(text.load, xml.load.clone().with(|load| load.size = size), "{case}");
            assert_eq!(text.breakdown.len(), xml.breakdown.len(), "{case}");
            assert_eq!(text.cores.len(), xml.cores.len(), "{case}");
            assert_eq!(text.total.latency.is_some(), xml.total.latency.is_some(), "{case}");
        }
    }
}

#[test]
fn depths_follow_diskspds_rules() {
    let depth = |case: &str, span: usize| {
        let imported = read(&format!("diskspd/runs/{case}/result.txt"));
        let load = &imported.loads[span].load;
        (load.workers, load.depth)
    };
    assert_eq!(depth("02-latency-and-buckets-mixed", 0), (Some(2), Some(8)), "-t2 -o4");
    assert_eq!(
        depth("03-latency-only-two-targets-read", 0),
        (Some(2), Some(4)),
        "two targets with two each"
    );
    assert_eq!(
        depth("05-thread-pool", 0),
        (Some(3), Some(12)),
        "-F3 -O4, regardless of the targets"
    );
}

#[test]
fn rates_of_the_command_line_are_totals_over_all_threads() {
    let imported = read("diskspd/runs/09-throttled-wait-statistics/result.txt");
    let load = &imported.loads[0].load;
    assert_eq!(load.closed_loop, Some(false), "{load:?}");
    assert!(load.rate_iops.is_some());
    // Before 2.1, reports do not mention the rate limit.
    let without_limit: String = read_text("diskspd/runs/09-throttled-wait-statistics/result.txt")
        .lines()
        .filter(|line| !line.contains("rate-limited"))
        .map(|line| format!("{line}\n"))
        .collect();
    let again = import::read("x", &without_limit).unwrap();
    assert_eq!(again.loads[0].load.rate_iops, load.rate_iops);
}

#[test]
fn topology_columns_do_not_shift_the_figures() {
    let wide = "Socket | Node | Group | Core | Class | CPU |  Usage |  User  | Kernel |  Idle\n-----\n\
                      0|     0|      0|     0|     1P|    0|  12.50%|   2.25%|  10.25%|  87.50%\n\
                      1|     1|      1|     3|     0 |    0|   2.50%|   0.25%|   2.25%|  97.50%\n-----\n\
                                                       avg.|   7.50%|   1.25%|   6.25%|  92.50%\n";
    let text = read_text("diskspd/runs/01-plain-sequential-read/result.txt");
    let start = text.find("CPU |").unwrap();
    let end = text.find("Total IO").unwrap();
    let text = format!("{}{wide}\n{}", &text[..start], &text[end..]);
    let imported = import::read("x", &text).unwrap();
    let cores = imported.loads[0].cores.iter();
    let cores: Vec<(u32, f64)> = cores.map(|core| (core.cpu, core.kernel)).collect();
    assert_eq!(cores, [(0, 0.1025), (1, 0.0225)], "CPU numbers restart in each group");
}

#[test]
fn malformed_xml_written_by_diskspd_is_read() {
    let text = read_text("diskspd/runs/01-plain-sequential-read/result.xml");
    let path = text.replace("<Path>one.dat</Path>", "<Path>a & b.dat</Path>");
    let scheme = path.replace("Name=\"Balanced\"", "Name=\"<unknown>\"");
    assert_ne!(scheme, text);
    let imported = import::read("x", &scheme).unwrap();
    assert_eq!(imported.loads[0].load.targets, ["a & b.dat"]);
    // Several results in one page.
    let twice = format!("run 1\n{text}\nrun 2\n{text}\nend");
    assert_eq!(import::read("x", &twice).unwrap().loads.len(), 2);
    let cut = &text[..text.len() / 2];
    let problems = import::read("x", cut).unwrap_err();
    assert!(problems[0].at.as_ref().unwrap().line > 10, "{problems:?}");
}

#[test]
fn buckets_of_the_xml_become_a_series() {
    let imported = read("diskspd/runs/02-latency-and-buckets-mixed/result.xml");
    let load = &imported.loads[0];
    let counted: u64 = load.series.iter().flat_map(|point| point.operations).sum();
    let all = load.total.operations.unwrap();
    assert!(counted.abs_diff(all) * 50 < all, "{counted} of {all}");
    assert!(load.series.iter().all(|point| point.length_ns == Nanos::millis(500)));
}

#[test]
fn directions_without_operations_are_absent() {
    let imported = read("diskspd/runs/04-buckets-only-write/result.txt");
    let load = &imported.loads[0];
    assert_eq!(load.directions[Direction::Read], None);
    let write: &IoStats = load.directions.write.as_ref().unwrap();
    assert_eq!(write.operations, load.total.operations);
    assert_eq!(write.latency, None, "there is no latency without -L");
    assert!(load.total.iops_deviation.is_some());
}
