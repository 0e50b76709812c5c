//! fio's log files: the recorded ones byte for byte except the order of directions, the rest worked
//! out by hand.

use model::operation_log::HEADER;
use model::plan::{Priority, PriorityClass};
use model::results::{Window, WindowLatency, WindowSeries};
use report::formats::fio::logs::{self, LogFile, LogRequest, WindowValue, write_operations};

use crate::fio::builder::{self, Work, recorded, set};
use crate::prelude::*;

const AVERAGE: Nanos = Nanos::millis(500);

/// All logs, averaged, with the name `run`.
fn request() -> LogRequest {
    let name = Some("run".to_owned());
    LogRequest {
        bandwidth: name.clone(),
        latency: name.clone(),
        iops: name,
        averaging_time: Some(AVERAGE),
        ..LogRequest::default()
    }
}

/// A worker of an asynchronous engine that measured for this time and has no windows yet.
fn measured(milliseconds: u64) -> Results {
    let mut work = Work::mixed("logged", 1, 1, 4096).queued(EngineKind::Libaio, 8);
    work.measured_ms = milliseconds;
    let mut results = builder::results(&[work]);
    results.steps[0].jobs[0].series.clear();
    results
}

fn names(files: &[LogFile]) -> Vec<String> {
    files.iter().map(|file| file.name.clone()).collect()
}

/// The log of that name.
fn text(results: &Results, request: &LogRequest, name: &str) -> String {
    let requests = vec![Some(request.clone()); results.plan.jobs().count()];
    let files = logs::list_files(results, &requests);
    let file = files.iter().find(|file| file.name == name);
    let file = file.unwrap_or_else(|| panic!("no {name} among {:?}", names(&files)));
    let mut bytes = Vec::new();
    file.write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Columns of the lines of a recorded log.
fn lines(log: &str) -> Vec<Vec<u64>> {
    let line = |line: &str| line.split(", ").map(|column| column.parse().unwrap()).collect();
    log.lines().map(line).collect()
}

fn direction(number: u64) -> Direction {
    Direction::ALL[number as usize]
}

/// A window whose operations all took the same time.
fn window(number: u64, operations: u64, slat: u64, clat: u64) -> Window {
    let latency = |ns: u64| WindowLatency {
        sum_ns: ns * operations,
        max_ns: ns,
    };
    Window {
        number,
        operations,
        bytes: operations * 4096,
        submission: latency(slat),
        completion: latency(clat),
        total: latency(slat + clat),
        buckets: Vec::new(),
    }
}

fn keep(results: &mut Results, length: Nanos, windows: PerDirection<Vec<Window>>) {
    let histograms = windows
        .iter()
        .any(|(_, windows)| windows.iter().any(|window| !window.buckets.is_empty()));
    let series = WindowSeries {
        worker: 0,
        length_ns: length,
        histograms,
        windows,
    };
    results.steps[0].jobs[0].windows.push(series);
}

fn keep_reads(results: &mut Results, length: Nanos, windows: Vec<Window>) {
    let windows = PerDirection::from_reads(windows);
    keep(results, length, windows);
}

/// A series of the first worker, with reads in each interval.
fn sampled(results: &mut Results, length: Nanos, operations: &[u64]) {
    let point = |operations: &u64| Point::new(*operations, operations * 4096);
    results.steps[0].jobs[0].series.push(Series {
        length_ns: length,
        source: Some((0, 0)),
        points: PerDirection::from_reads(operations.iter().map(point).collect()),
    });
}

fn assert_is_recorded(results: &Results, name: &str) {
    let log = recorded(&format!("golden/11-logs/{name}"));
    let mut expected: Vec<&str> = log.lines().collect();
    expected.sort_by_key(|line| {
        let columns = lines(line).remove(0);
        (columns[0], columns[2])
    });
    assert_eq!(expected.len(), 12, "{name}");
    let written = text(results, &request(), name);
    assert_eq!(written.lines().collect::<Vec<_>>(), expected, "{name}");
}

#[test]
fn recorded_logs_of_rates_match() {
    let mut results = measured(3000);
    let mut points: PerDirection<Vec<Point>> = PerDirection::default();
    let rates = lines(&recorded("golden/11-logs/run_bw.1.log"));
    for (bandwidth, iops) in rates.iter().zip(lines(&recorded("golden/11-logs/run_iops.1.log"))) {
        points[direction(bandwidth[2])].push(Point::new(iops[1] / 2, bandwidth[1] * 512));
    }
    results.steps[0].jobs[0].series.push(Series {
        length_ns: AVERAGE,
        source: Some((0, 0)),
        points,
    });
    assert_is_recorded(&results, "run_bw.1.log");
    assert_is_recorded(&results, "run_iops.1.log");
}

#[test]
fn recorded_logs_of_latencies_match() {
    let mut results = measured(3001);
    let mut windows: PerDirection<Vec<Window>> = PerDirection::default();
    let read = |kind: &str| {
        let mut lines = lines(&recorded(&format!("golden/11-logs/run_{kind}.1.log")));
        lines.sort_by_key(|line| (line[0], line[2]));
        lines
    };
    let latency = |line: &[u64]| WindowLatency {
        sum_ns: line[1] * 200,
        max_ns: line[1] * 10,
    };
    for ((slat, clat), lat) in read("slat").iter().zip(read("clat")).zip(read("lat")) {
        windows[direction(slat[2])].push(Window {
            number: slat[0] / 500 - 1,
            operations: 200,
            bytes: 200 * 4096,
            submission: latency(slat),
            completion: latency(&clat),
            total: latency(&lat),
            buckets: Vec::new(),
        });
    }
    keep(&mut results, AVERAGE, windows);
    for kind in ["slat", "clat", "lat"] {
        assert_is_recorded(&results, &format!("run_{kind}.1.log"));
    }
}

#[test]
fn the_recorded_run_wrote_the_same_files() {
    let results = measured(3000);
    let requests = [Some(request())];
    let mut names = names(&logs::list_files(&results, &requests));
    names.sort();
    let list = recorded("golden/11-logs/files.txt");
    let recorded = list.lines().filter_map(|line| line.strip_prefix("- "));
    assert_eq!(names, recorded.collect::<Vec<_>>());
}

#[test]
fn idle_windows_have_no_line_and_the_last_is_cut_short() {
    let mut results = measured(1200);
    keep_reads(&mut results, AVERAGE, vec![window(0, 3, 0, 10), window(2, 2, 1, 20)]);
    sampled(&mut results, AVERAGE, &[100, 0, 50]);
    text(&results, &request(), "run_clat.1.log").assert_is("500, 10, 0, 0, 0\n1200, 20, 0, 0, 0\n");
    text(&results, &request(), "run_lat.1.log").assert_is("500, 10, 0, 0, 0\n1200, 21, 0, 0, 0\n");
    // 50 in 200 ms.
    text(&results, &request(), "run_iops.1.log").assert_is("500, 200, 0, 0, 0\n1200, 250, 0, 0, 0\n");
    text(&results, &request(), "run_bw.1.log").assert_is("500, 800, 0, 0, 0\n1200, 1000, 0, 0, 0\n");
}

#[test]
fn operations_completed_at_the_end_belong_to_the_last_window() {
    let mut results = measured(1000);
    let windows = vec![window(0, 1, 0, 9), window(1, 3, 0, 10), window(2, 1, 0, 30)];
    keep_reads(&mut results, AVERAGE, windows);
    sampled(&mut results, AVERAGE, &[100, 99, 1]);
    text(&results, &request(), "run_clat.1.log").assert_is("500, 9, 0, 0, 0\n1000, 15, 0, 0, 0\n");
    text(&results, &request(), "run_iops.1.log").assert_is("500, 200, 0, 0, 0\n1000, 200, 0, 0, 0\n");
}

#[test]
fn a_last_window_shorter_than_a_millisecond_gets_its_own_time() {
    let mut results = measured(500);
    results.steps[0].jobs[0].workers[0].measured_ns = Nanos(500_000_001);
    keep_reads(&mut results, AVERAGE, vec![window(0, 1, 0, 1), window(1, 1, 0, 2)]);
    text(&results, &request(), "run_clat.1.log").assert_is("500, 1, 0, 0, 0\n501, 2, 0, 0, 0\n");
}

#[test]
fn shorter_samples_are_averaged() {
    let mut results = measured(1500);
    // Two samples in each second; the one without I/O is ignored.
    sampled(&mut results, AVERAGE, &[100, 103, 0]);
    results.steps[0].jobs[0].series[0].points.write =
        vec![Point::default(), Point::new(7, 7 * 1024), Point::new(9, 9 * 1024)];
    let mut wanted = request().with(|wanted| wanted.averaging_time = Some(Nanos::secs(1)));
    let iops = |value: WindowValue| {
        let wanted = wanted.clone().with(|request| request.value = value);
        text(&results, &wanted, "run_iops.1.log")
    };
    iops(WindowValue::Average).assert_is("1000, 203, 0, 0, 0\n1000, 14, 1, 0, 0\n1500, 18, 1, 0, 0\n");
    iops(WindowValue::Maximum).assert_is("1000, 206, 0, 0, 0\n1000, 14, 1, 0, 0\n1500, 18, 1, 0, 0\n");
    iops(WindowValue::MeanAndMax).assert_is("1000, 203, 206, 0, 0, 0\n1000, 14, 14, 1, 0, 0\n1500, 18, 18, 1, 0, 0\n");
    // A sample is half a second, and must not be longer than a line.
    assert_eq!(wanted.effective_bandwidth_sample(), AVERAGE);
    wanted.averaging_time = Some(Nanos::millis(100));
    assert_eq!(wanted.effective_iops_sample(), Nanos::millis(100));
}

#[test]
fn means_are_rounded_and_maxima_shown() {
    let mut results = measured(500);
    let odd = window(0, 2, 0, 0).with(|odd| odd.completion = WindowLatency { sum_ns: 25, max_ns: 20 });
    keep_reads(&mut results, AVERAGE, vec![odd]);
    let mut wanted = request();
    let mut clat = |value: WindowValue| {
        wanted.value = value;
        text(&results, &wanted, "run_clat.1.log")
    };
    assert_eq!(clat(WindowValue::Average), "500, 13, 0, 0, 0\n");
    assert_eq!(clat(WindowValue::Maximum), "500, 20, 0, 0, 0\n");
    assert_eq!(clat(WindowValue::MeanAndMax), "500, 13, 20, 0, 0, 0\n");
}

#[test]
fn other_columns_of_averages_are_zero() {
    let mut results = measured(500);
    keep_reads(&mut results, AVERAGE, vec![window(0, 1, 0, 5)]);
    let mut wanted = request();
    (wanted.offset, wanted.priority, wanted.issue_time) = (true, true, true);
    text(&results, &wanted, "run_clat.1.log").assert_is("500, 5, 0, 0, 0, 0x0000, 0\n");
}

#[test]
fn clock_times_are_measured_from_the_start_of_the_measurement() {
    let mut results = measured(500);
    keep_reads(&mut results, AVERAGE, vec![window(0, 1, 0, 5)]);
    let mut wanted = request();
    wanted.clock_ahead_ns = Some(0);
    // The run began at …764.250 s, and the worker began to measure 5 ms later.
    assert_eq!(text(&results, &wanted, "run_clat.1.log"), "1795289764755, 5, 0, 0, 0\n");
    // The system had started 1000 s earlier.
    wanted.clock_ahead_ns = Some(-1_795_288_764_250_000_000);
    assert_eq!(text(&results, &wanted, "run_clat.1.log"), "1000505, 5, 0, 0, 0\n");
}

#[test]
fn workers_are_numbered_over_all_jobs() {
    let first = Work::new("first", Direction::Read, 1, 4096).with(|first| first.clones = 2);
    let second = Work::new("second", Direction::Read, 1, 4096);
    let third = Work::new("third", Direction::Read, 1, 4096).with(|third| third.step = 1);
    let results = builder::results(&[first, second, third]);
    let wanted = |prefix: &str| LogRequest::default().with(|request| request.iops = Some(prefix.into()));
    let mut requests = [Some(wanted("a")), None, Some(wanted("dir/c"))];
    let files = logs::list_files(&results, &requests);
    assert_eq!(names(&files), ["a_iops.1.log", "a_iops.2.log", "dir/c_iops.4.log"]);
    assert_eq!(files.iter().map(|file| file.job).collect::<Vec<_>>(), [0, 0, 2]);
    assert!(files.iter().all(|file| !file.appended && file.needs_operation_log()));
    requests[0].as_mut().unwrap().per_job = false;
    let files = logs::list_files(&results, &requests);
    assert_eq!(names(&files), ["a_iops.log", "a_iops.log", "dir/c_iops.4.log"]);
    assert!(files[0].appended && files[1].appended && !files[2].appended);
}

#[test]
fn disabled_kinds_have_no_file_and_synchronous_engines_an_empty_one() {
    let mut results = measured(500);
    keep_reads(&mut results, AVERAGE, vec![window(0, 1, 3, 5)]);
    assert_eq!(text(&results, &request(), "run_slat.1.log"), "500, 3, 0, 0, 0\n");
    results.plan.steps[0].jobs[0].workers[0].latency = model::plan::LatencyPoints::BeforeCall;
    assert_eq!(text(&results, &request(), "run_slat.1.log"), "");
    let wanted = request().with(|wanted| wanted.histogram = Some("h".into()));
    set(&mut results, "disabled", "clat,slat");
    let requests = [Some(wanted)];
    names(&logs::list_files(&results, &requests)).assert_is(&["run_bw.1.log", "run_lat.1.log", "run_iops.1.log"]);
}

fn histogram_request(coarseness: u32) -> LogRequest {
    LogRequest {
        histogram: Some("h".into()),
        histogram_interval: Some(Nanos::secs(1)),
        coarseness,
        ..LogRequest::default()
    }
}

#[test]
fn histograms_have_fios_bins() {
    let mut results = measured(1500);
    let mut first = window(0, 6, 0, 0);
    // Buckets 256 and 257 hold 256 to 259 ns, which share a bin of fio's; 7 ns has its own bin.
    first.buckets = vec![(7, 3), (256, 1), (257, 2)];
    let mut late = window(1, 1, 0, 0);
    // Longer than any bin.
    late.buckets = vec![(model::histogram::BUCKETS as u32, 1)];
    let write = window(0, 1, 0, 0).with(|write| (write.bytes, write.buckets) = (8192, vec![(0, 1)]));
    let windows = PerDirection::new(vec![first, late], vec![write], Vec::new());
    keep(&mut results, Nanos::secs(1), windows);
    let bins = recorded("bins.tsv");
    let bin_index = |ns: u64| -> usize {
        let line = bins.lines().find(|line| line.starts_with(&format!("{ns}\t"))).unwrap();
        line.split('\t').nth(1).unwrap().parse().unwrap()
    };
    assert_eq!(bin_index(256), 192, "so the file says");
    let whole = lines(&text(&results, &histogram_request(0), "h_clat_hist.1.log"));
    let heads: Vec<&[u64]> = whole.iter().map(|line| &line[..3]).collect();
    assert_eq!(heads, [[1000, 0, 4096], [1000, 1, 8192], [1500, 0, 4096]]);
    let filled = |line: &[u64]| -> Vec<(usize, u64)> {
        let counts = line[3..].iter().copied().enumerate();
        counts.filter(|(_, count)| *count > 0).collect()
    };
    assert!(whole.iter().all(|line| line.len() == 3 + 1856));
    assert_eq!(filled(&whole[0]), [(7, 3), (192, 3)]);
    assert_eq!(filled(&whole[1]), [(0, 1)]);
    assert_eq!(filled(&whole[2]), [(1855, 1)]);
    for coarseness in 1..=6 {
        let coarse = lines(&text(&results, &histogram_request(coarseness), "h_clat_hist.1.log"));
        assert!(coarse.iter().all(|line| line.len() == 3 + (1856 >> coarseness)));
        for (coarse, whole) in coarse.iter().zip(&whole) {
            let sums = whole[3..].chunks(1 << coarseness).map(|bins| bins.iter().sum::<u64>());
            assert_eq!(coarse[3..], sums.collect::<Vec<_>>());
        }
    }
    let without = histogram_request(0).with(|request| request.histogram_interval = None);
    assert_eq!(text(&results, &without, "h_clat_hist.1.log"), "");
}

/// Logs with a line for each operation, and their names.
fn operation_logs(results: &Results, request: &LogRequest, log: &str) -> std::io::Result<Vec<(String, String)>> {
    let requests = [Some(request.clone())];
    let files = logs::list_files(results, &requests);
    let mut files: Vec<(LogFile, Vec<u8>)> = files.into_iter().map(|file| (file, Vec::new())).collect();
    write_operations(&mut files, &mut log.as_bytes())?;
    let text = |(file, bytes): (LogFile, Vec<u8>)| (file.name, String::from_utf8(bytes).unwrap());
    Ok(files.into_iter().map(text).collect())
}

#[test]
fn each_operation_has_a_line() {
    let mut results = measured(500);
    let worker = results.plan.steps[0].jobs[0].workers[0].clone();
    results.plan.steps[0].jobs[0].workers.push(worker);
    let log = format!(
        "{HEADER}\
         1999999,0,0,read,8192,4096,4096,,1000,5000,\n\
         2000000,1,0,trim,0,65536,65536,,0,0,\n\
         2000001,0,0,write,4096,4096,2048,77,500,1000500,\n\
         2000002,0,0,flush,0,0,0,,0,9,\n\
         2000003,0,0,read,0,4096,0,,0,9,5\n"
    );
    let wanted = request().with(|wanted| wanted.averaging_time = None);
    let found = operation_logs(&results, &wanted, &log).unwrap();
    let found: Vec<(&str, &str)> = found.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    assert_eq!(
        found,
        [
            // 4096 bytes in 4 µs are 1,024,000 kB/s: fio does not use KiB here.
            ("run_bw.1.log", "1, 1024000, 0, 4096, 0\n2, 2048, 1, 2048, 0\n"),
            ("run_slat.1.log", "1, 1000, 0, 4096, 0\n2, 500, 1, 2048, 0\n"),
            ("run_clat.1.log", "1, 4000, 0, 4096, 0\n2, 1000000, 1, 2048, 0\n"),
            ("run_lat.1.log", "1, 5000, 0, 4096, 0\n2, 1000500, 1, 2048, 0\n"),
            ("run_iops.1.log", "1, 1, 0, 4096, 0\n2, 1, 1, 2048, 0\n"),
            ("run_bw.2.log", "2, 0, 2, 65536, 0\n"),
            ("run_slat.2.log", "2, 0, 2, 65536, 0\n"),
            ("run_clat.2.log", "2, 0, 2, 65536, 0\n"),
            ("run_lat.2.log", "2, 0, 2, 65536, 0\n"),
            ("run_iops.2.log", "2, 1, 2, 65536, 0\n"),
        ]
    );
}

#[test]
fn operations_show_offset_priority_and_issue() {
    let mut results = measured(500);
    let log = format!("{HEADER}9000000,0,0,read,8192,4096,4096,,1000,5000,\n");
    let mut wanted = request();
    (wanted.bandwidth, wanted.iops, wanted.averaging_time) = (None, None, None);
    let clat = |results: &Results, wanted: &LogRequest| {
        let found = operation_logs(results, wanted, &log).unwrap();
        found.into_iter().find(|(name, _)| name == "run_clat.1.log").unwrap().1
    };
    wanted.offset = true;
    assert_eq!(clat(&results, &wanted), "9, 4000, 0, 4096, 8192, 0\n");
    wanted.issue_time = true;
    assert_eq!(clat(&results, &wanted), "9, 4000, 0, 4096, 8192, 0, 8996000\n");
    let mut prioritized = |class: PriorityClass, percent: u8| {
        let stream = &mut results.plan.steps[0].jobs[0].workers[0].streams[0];
        stream.priority = Some(Priority {
            class,
            level: 4,
            percent,
            hint: 0,
        });
        let plain = clat(&results, &wanted.clone().with(|request| request.priority = false));
        let hex = clat(&results, &wanted.clone().with(|request| request.priority = true));
        let column = |line: &str| line.split(", ").nth(5).unwrap().to_owned();
        (column(&plain), column(&hex))
    };
    let pair = |plain: &str, hex: &str| (plain.to_owned(), hex.to_owned());
    assert_eq!(prioritized(PriorityClass::RealTime, 100), pair("1", "0x2004"));
    assert_eq!(prioritized(PriorityClass::BestEffort, 100), pair("0", "0x4004"));
    assert_eq!(prioritized(PriorityClass::Idle, 100), pair("0", "0x6004"));
    assert_eq!(prioritized(PriorityClass::RealTime, 50), pair("0", "0x0000"));
}

#[test]
fn a_log_of_another_form_is_refused() {
    let results = measured(500);
    let wanted = request().with(|wanted| wanted.averaging_time = None);
    for log in ["", "time,value\n", &format!("{HEADER}1,2,3\n")] {
        let error = operation_logs(&results, &wanted, log).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{log}");
    }
}
