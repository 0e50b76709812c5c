//! Reports whose figures were all worked out by hand.

use model::environment::LogicalCpu;
use model::results::{EffectiveShare, Waits};

use crate::diskspd::builder::{Grid, Work, busy, place, reads, results, section, set, step, text, xml};
use crate::prelude::*;

/// One step in which every operation took `latency_ns`.
fn uniform(seconds: f64, latency_ns: u64, threads: &[&[Work]]) -> StepResults {
    let mut step = step(seconds, None, threads);
    for worker in &mut step.jobs[0].workers {
        for stream in &mut worker.streams {
            let directions = [&mut stream.directions.read, &mut stream.directions.write];
            for results in directions.into_iter().flatten() {
                results.completion.clear();
                results.completion.record_times(latency_ns, results.operations);
            }
        }
    }
    step
}

/// The whole text in version 2.0's form, with the figures of a published report.
#[test]
fn version_2_0_prints_the_whole_published_report() {
    let mut results = results(&[("test_002.dat", 2 << 30)]);
    let block = 65_536;
    let work = Work {
        target: 0,
        block,
        reads: 21_509,
        writes: 5_321,
    };
    results.steps = vec![uniform(30.0039, 8_944_000, &[&[work]])];
    results.steps[0].cores = vec![busy(0, [130, 1229, 8641])];
    results.hosts[0].environment.cpu.topology.truncate(1);
    let origin = &mut results.plan.origin;
    origin.arguments = vec!["diskspd.exe".into(), "-L".into(), "test_002.dat".into()];
    origin.profile = vec!["Input parameters:".into(), String::new()];
    origin.presentation.latency = true;
    set(&mut results, "diskspd_text", "2.0");
    set(&mut results, "wait_statistics", "true");
    let expected = "
Command Line: diskspd.exe -L test_002.dat

Input parameters:



Results for timespan 1:
*******************************************************************************

actual test time:\t30.00s
thread count:\t\t1
proc count:\t\t1

CPU |  Usage |  User  |  Kernel |  Idle
-------------------------------------------
   0|  13.59%|   1.30%|   12.29%|  86.41%
-------------------------------------------
avg.|  13.59%|   1.30%|   12.29%|  86.41%

Total IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
     0 |      1758330880 |        26830 |      55.89 |     894.22 |    8.944 |     0.000 | test_002.dat (2048MiB)
-----------------------------------------------------------------------------------------------------
total:        1758330880 |        26830 |      55.89 |     894.22 |    8.944 |     0.000

Read IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
     0 |      1409613824 |        21509 |      44.80 |     716.87 |    8.944 |     0.000 | test_002.dat (2048MiB)
-----------------------------------------------------------------------------------------------------
total:        1409613824 |        21509 |      44.80 |     716.87 |    8.944 |     0.000

Write IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
     0 |       348717056 |         5321 |      11.08 |     177.34 |    8.944 |     0.000 | test_002.dat (2048MiB)
-----------------------------------------------------------------------------------------------------
total:         348717056 |         5321 |      11.08 |     177.34 |    8.944 |     0.000



total:
  %-ile |  Read (ms) | Write (ms) | Total (ms)
----------------------------------------------
    min |      8.944 |      8.944 |      8.944
   25th |      8.944 |      8.944 |      8.944
   50th |      8.944 |      8.944 |      8.944
   75th |      8.944 |      8.944 |      8.944
   90th |      8.944 |      8.944 |      8.944
   95th |      8.944 |      8.944 |      8.944
   99th |      8.944 |      8.944 |      8.944
3-nines |      8.944 |      8.944 |      8.944
4-nines |      8.944 |      8.944 |      8.944
5-nines |      8.944 |      8.944 |      8.944
6-nines |      8.944 |      8.944 |      8.944
7-nines |      8.944 |      8.944 |      8.944
8-nines |      8.944 |      8.944 |      8.944
9-nines |      8.944 |      8.944 |      8.944
    max |      8.944 |      8.944 |      8.944
";
    assert_eq!(text(&results), expected);
}

/// Optional parts of the 2.0 form: several time spans, a pool's requests, several paths, several
/// groups.
#[test]
fn version_2_0_prints_its_optional_parts() {
    let mut results = results(&[("a", 1 << 30), ("b", 512)]);
    results.plan.origin.presentation.latency = true;
    let thread: &[Work] = &[reads(0, 512, 1), reads(1, 512, 1)];
    results.steps = vec![step(1.0, None, &[thread]), step(1.0, None, &[thread])];
    results.hosts[0].environment.cpu.topology = vec![place(0, 0, 0, 0, 0), place(64, 1, 1, 1, 0)];
    set(&mut results, "diskspd_text", "2.0");
    set(&mut results, "requests.2", "7");
    let text = text(&results);
    assert!(text.starts_with("\n\nResults for timespan 1:\n"));
    let rule = "-".repeat(51);
    text.assert_contains(&[
        "\n\n\nResults for timespan 2:\n***",
        "\nthread count:\t\t1\nproc count:\t\t2\n",
        "\nthread count:\t\t1\nrequest count:\t\t7\nproc count:\t\t2\n",
        &format!("\nGroup | CPU |  Usage |  User  |  Kernel |  Idle\n{rule}\n     0|    0|"),
        "| a (1024MiB)\n",
        "| b (512B)\n",
        "\n\n\n\na\n  %-ile |",
        "\n\nb\n  %-ile |",
        "\n\ntotal:\n",
    ]);
}

/// All optional columns together.
#[test]
fn the_processor_table_has_every_optional_column() {
    let mut results = results(&[("a", 1)]);
    let far = |cpu: u32, core: u32, class: u8| LogicalCpu {
        efficiency_class: class,
        ..place(cpu, core, cpu / 64, cpu / 64, 0)
    };
    let processors = [(0, 0, 1), (1, 0, 1), (64, 1, 0), (66, 2, 0), (68, 3, 0), (71, 4, 0)];
    results.hosts[0].environment.cpu.topology = processors.map(|(cpu, core, class)| far(cpu, core, class)).to_vec();
    results.steps = vec![step(1.0, None, &[&[reads(0, 512, 1)]])];
    results.steps[0].cores = vec![busy(0, [225, 1025, 8750]), busy(71, [25, 225, 9750])];
    let text = text(&results);
    let table = section(&text, "Socket | ");
    table[..3].assert_is(&[
        "Socket | Node | Group | Core | Class | CPU |  Usage |  User  | Kernel |  Idle",
        "-------------------------------------------------------------------------------",
        "      0|     0|      0|     0|     1P|    0|  12.50%|   2.25%|  10.25%|  87.50%",
    ]);
    // Each cell is followed by a bar and a blank, as the headers are.
    table[7..].assert_is(&[
        "      1|     1|      1|     3|     0 |    7|   2.50%|   0.25%|   2.25%|  97.50%",
        "-------------------------------------------------------------------------------",
        "                                       avg.|   2.50%|   0.42%|   2.08%|  97.50%",
    ]);
    let counts = section(&text, "\tcpu count");
    counts.assert_is(&[
        "\tcpu count:\t\t6",
        "\tcore count:\t\t5",
        "\tgroup count:\t\t2",
        "\tnode count:\t\t2",
        "\tsocket count:\t\t2",
        "\theterogeneous cores:\ty",
    ]);
    let xml = xml(&results);
    xml.assert_contains(&[
        r#"<ProcessorTopology Heterogeneous="true">"#,
        r#"<Group Group="1" MaximumProcessors="8" ActiveProcessors="4" ActiveProcessorMask="0x95"/>"#,
        r#"<Core Group="0" Core="0" Mask="0x3" EfficiencyClass="1"/>"#,
        r#"<Core Group="1" Core="3" Mask="0x80" EfficiencyClass="0"/>"#,
        r#"<Node Node="1">"#,
    ]);
}

#[test]
fn a_direction_without_operations_has_rows_of_zeros() {
    let mut results = results(&[("a.dat", 4096)]);
    results.plan.origin.presentation.latency = true;
    results.plan.origin.presentation.iops_deviation = true;
    results.steps = vec![uniform(2.0, 1_500_000, &[&[reads(0, 4096, 10)]])];
    let text = text(&results);
    section(&text, "Write IO")[2..].assert_is(&[
            "------------------------------------------------------------------------------------------------------------------",
            "     0 |               0 |            0 |       0.00 |       0.00 |    0.000 |       0.00 |       N/A | a.dat (4KiB)",
            "------------------------------------------------------------------------------------------------------------------",
            "total:                 0 |            0 |       0.00 |       0.00 |    0.000 |       0.00 |       N/A",
        ]);
    let chart = section(&text, "Total latency distribution:");
    assert_eq!(chart[3], "    min |      1.500 |        N/A |      1.500");
    assert_eq!(chart.len(), 18);
    let xml = xml(&results);
    xml.assert_contains(&[
        r#"<Latency ReadHistoBuckets="1" WriteHistoBuckets="0" TotalHistoBuckets="1">"#,
        "<AverageTotalMilliseconds>1.500</AverageTotalMilliseconds>",
        "<AverageLatencyMilliseconds>1.500</AverageLatencyMilliseconds>",
    ]);
    xml.assert_lacks(&["WriteMilliseconds", "IopsStdDev>"]);
}

/// Without any operations, figures are zero, and the total column of the chart is still a number.
#[test]
fn a_time_span_without_operations_has_figures_of_zero() {
    let mut results = results(&[("a.dat", 4096)]);
    results.plan.origin.presentation.latency = true;
    results.steps = vec![step(1.0, None, &[&[reads(0, 4096, 0)]])];
    let text = text(&results);
    let chart = section(&text, "Total latency distribution:");
    for row in &chart[3..] {
        assert!(row.ends_with("|        N/A |        N/A |      0.000"), "{row}");
    }
    let xml = xml(&results);
    assert_eq!(xml.matches("<Percentile>").count(), 108);
    assert!(!xml.contains("Milliseconds>"));
}

/// 0, 4, 8 and 0 operations in the half seconds of a two-second window, and one that completed too
/// late.
#[test]
fn deviations_use_only_the_intervals_within_the_window() {
    let mut results = results(&[("a.dat", 4096)]);
    results.plan.origin.presentation.iops_deviation = true;
    set(&mut results, "bucket_ms", "500");
    set(&mut results, "expected_ms.1", "1900");
    let thread: &[Work] = &[reads(0, 4096, 13)];
    let grid = Grid {
        length_ms: 500,
        count: 1,
    };
    results.steps = vec![step(2.0, Some(grid), &[thread, thread])];
    let job = &mut results.steps[0].jobs[0];
    let points = |counts: &[u64]| -> Vec<Point> {
        let point = |operations: &u64| Point {
            operations: *operations,
            latency_ns: operations * 1_000_000,
            latency_squares_ns2: *operations as f64 * 1e12,
            latency_ns_min: 1_000_000 * u64::from(*operations > 0),
            latency_ns_max: 1_000_000 * u64::from(*operations > 0),
            ..Point::default()
        };
        counts.iter().map(point).collect()
    };
    // The first thread's last operation is after the four intervals that fit.
    job.series[0].points.read = points(&[0, 4, 8, 0, 1]);
    job.series[1].points.read = points(&[4, 4]);
    // Intervals of another length, from the same streams, are not used.
    let other = job.series[1].clone().with(|other| other.length_ns = Nanos::millis(100));
    job.series.insert(0, other);

    let text = text(&results);
    let rows = section(&text, "Read IO");
    // ±3.317 around 3 over four half seconds; the second thread was steady while it ran.
    assert!(rows[3].contains(" |       6.63 | a.dat"), "{}", rows[3]);
    assert!(rows[4].contains(" |       0.00 | a.dat"), "{}", rows[4]);
    // 4, 8, 8, 0: ±3.317 around 5.
    assert!(rows[6].ends_with(" |       6.63"), "{}", rows[6]);
    let xml = xml(&results);
    let merged = xml.lines().filter(|line| line.starts_with("      <Bucket Sample"));
    let bucket = |end: u64, count: u64, least: &str, largest: &str, mean: &str| {
        format!(
            r#"      <Bucket SampleMillisecond="{end}" Read="{count}" Write="0" Total="{count}" ReadMinLatencyMilliseconds="{least}" ReadMaxLatencyMilliseconds="{largest}" ReadAvgLatencyMilliseconds="{mean}" ReadLatencyStdDev="0.000" WriteMinLatencyMilliseconds="0.000" WriteMaxLatencyMilliseconds="0.000" WriteAvgLatencyMilliseconds="0.000" WriteLatencyStdDev="0.000"/>"#
        )
    };
    let expected = [
        // One thread was idle, so the minimum is zero.
        bucket(500, 8, "0.000", "1.000", "1.000"),
        bucket(1000, 16, "1.000", "1.000", "1.000"),
        bucket(1500, 16, "0.000", "1.000", "1.000"),
        bucket(2000, 0, "0.000", "0.000", "0.000"),
    ];
    assert_eq!(merged.collect::<Vec<_>>(), expected);
    assert!(xml.contains("      <ReadIopsStdDev>6.633</ReadIopsStdDev>\n      <IopsStdDev>6.633</IopsStdDev>\n"));
}

/// Latencies of 1 to 100 ns have a bucket each. In double precision 0.07 × 100 is more than 7, in
/// DiskSpd too.
#[test]
fn percentiles_are_found_by_rank() {
    let mut results = results(&[("a.dat", 4096)]);
    results.plan.origin.presentation.latency = true;
    let mut step = uniform(1.0, 1, &[&[reads(0, 4096, 100)]]);
    let read = step.jobs[0].workers[0].streams[0].directions.read.as_mut().unwrap();
    read.completion.clear();
    // Buckets up to 99 µs are in whole microseconds, so the three decimals of a millisecond show
    // them exactly.
    (1..=100u64).for_each(|micros| read.completion.record(micros * 1000));
    results.steps = vec![step];
    let xml = xml(&results);
    let document = roxmltree::Document::parse(&xml).unwrap();
    let latency = document
        .descendants()
        .find(|node| node.has_tag_name("Latency"))
        .unwrap();
    let child_text = |bucket: roxmltree::Node, name: &str| {
        let child = bucket.children().find(|child| child.has_tag_name(name)).unwrap();
        child.text().unwrap().to_owned()
    };
    let buckets = latency.children().filter(|node| node.has_tag_name("Bucket"));
    let buckets = buckets.map(|bucket| {
        let value: f64 = child_text(bucket, "TotalMilliseconds").parse().unwrap();
        (child_text(bucket, "Percentile"), value)
    });
    let buckets: Vec<(String, f64)> = buckets.collect();
    assert_eq!(buckets.len(), 108);
    assert_eq!(buckets[0], ("0".to_owned(), 0.001));
    // Microsecond 8 instead of 7.
    assert_eq!(buckets[7], ("7".to_owned(), 0.008));
    // The upper edge: at most 0.8 % above the value.
    for (index, (name, value)) in buckets[1..100].iter().enumerate() {
        let exact = (index + 1) as f64 / 1e3;
        assert_eq!(*name, (index + 1).to_string());
        let allowed = exact - 1e-9..=exact * 1.008 + 0.0015;
        assert!(allowed.contains(value), "{name}: {value}");
    }
    assert_eq!(buckets[106], ("99.9999999".to_owned(), 0.1));
    assert_eq!(buckets[107], ("100".to_owned(), 0.1));
    assert!(xml.contains(
        "<AverageTotalMilliseconds>0.051</AverageTotalMilliseconds>\n      <LatencyStdev>0.029</LatencyStdev>"
    ));
}

#[test]
fn totals_combine_several_time_spans() {
    let mut results = results(&[("a.dat", 4096)]);
    let work = |reads: u64, writes: u64| Work {
        target: 0,
        block: 1 << 20,
        reads,
        writes,
    };
    let cut = step(9.0, None, &[&[work(100, 100)]]).with(|cut| cut.jobs[0].ended = None);
    let whole = |seconds: f64, work: Work| step(seconds, None, &[&[work]]);
    results.steps = vec![whole(1.0, work(30, 0)), cut, whole(2.0, work(0, 60))];
    let text = text(&results);
    let block = "\n\n\nTotals:\n\
        *******************************************************************************\n\
        \n\
        type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s\n\
        -------------------------------------------------------------------------------\n\
        write  |        62914560 |           60 |      20.00 |      20.00\n\
        read   |        31457280 |           30 |      10.00 |      10.00\n\
        -------------------------------------------------------------------------------\n\
        total  |        94371840 |           90 |      30.00 |      30.00\n\
        \n\
        total test time:\t3.00s\n";
    assert!(text.ends_with(block), "{text}");
    assert!(text.contains(
        "\nResults for timespan 2:\n*******************************************************************************\n\
         The test was interrupted before the measurements began. No results are displayed.\n\n\
         Results for timespan 3:\n"
    ));
}

/// The signal came while the threads waited for their start.
#[test]
fn a_window_that_was_closed_at_once_has_no_figures() {
    let not_measured = "The test was interrupted before the measurements began.";
    for (seconds, is_measured) in [(0.001, false), (0.5, true)] {
        let mut results = results(&[("a.dat", 4096)]);
        let mut step_results = step(seconds, None, &[&[reads(0, 4096, 1)]]);
        step_results.jobs[0].ended = Some(EndReason::Interrupted);
        results.steps = vec![step_results];
        let text = text(&results);
        assert_eq!(text.contains(not_measured), !is_measured, "{text}");
        assert_eq!(text.contains("actual test time"), is_measured, "{text}");
    }
}

/// All time spans were cut short: rates over no time are zero, not NaN.
#[test]
fn totals_over_no_time_are_zero() {
    let mut results = results(&[("a.dat", 4096)]);
    let never = step(0.0, None, &[&[]]).with(|never| never.jobs[0].ended = Some(EndReason::Interrupted));
    results.steps = vec![never.clone(), never];
    let text = text(&results);
    assert!(
        text.contains("total  |               0 |            0 |       0.00 |       0.00\n\ntotal test time:\t0.00s\n")
    );
}

#[test]
fn wait_statistics_are_printed() {
    let mut results = results(&[("a.dat", 4096)]);
    results.steps = vec![step(1.0, None, &[&[reads(0, 4096, 1)]])];
    results.steps[0].jobs[0].workers[0].waits = Waits {
        completion: 123,
        throttled: 45,
        slept: 6789,
        polls: 1010,
        completions_per_poll: [1, 2, 3, 4, 5, 6, 7, 88],
    };
    assert!(!text(&results).contains("Wait Statistics"));
    assert!(!xml(&results).contains("WaitStatistics"));
    set(&mut results, "wait_statistics", "true");
    section(&text(&results), "Wait Statistics").assert_is(&[
        "Wait Statistics",
        "thread | completion wait | throttle wait  -  sleep | lookaside | 0 - 7+ complete per lookaside",
        "-----------------------------------------------------------------------------------------------",
        "     0 |             123 |            45  -   6789 |      1010 | 1 2 3 4 5 6 7 88",
    ]);
    assert!(xml(&results).contains("<LookasideCompletion>1 2 3 4 5 6 7 88</LookasideCompletion>"));
}

/// Threads 0, 2, 4, 5 and 6 share a distribution on one target, thread 3 has the same one on
/// another path, and thread 1 has its own, which was cut off at the end of its target.
#[test]
fn effective_distributions_list_their_threads() {
    let mut results = results(&[("a.dat", 1 << 20), ("b.dat", 1 << 20)]);
    let share = |percent: f64, start: u64, length: u64| EffectiveShare {
        operations_percent: percent,
        start: Bytes(start),
        length: Bytes(length),
    };
    let (a, b): (&[Work], &[Work]) = (&[reads(0, 4096, 1)], &[reads(1, 4096, 1)]);
    let mut step = step(1.0, None, &[a, a, a, b, a, a, a]);
    for (number, worker) in step.jobs[0].workers.iter_mut().enumerate() {
        worker.streams[0].effective_ranges = match number {
            1 => vec![share(30.0, 0, 512), share(30.0, 2048, 1 << 19)],
            _ => vec![share(100.0, 512, 1_048_064)],
        };
    }
    results.steps = vec![step];
    section(&text(&results), "Effective IO Distributions").assert_is(&[
        "Effective IO Distributions",
        "--------------------------",
        "target: a.dat [thread: 0 2 4 - 6]",
        "target: b.dat [thread: 3]",
        "   100% of IO => [   512 -      1MiB)",
        "target: a.dat [thread: 1]",
        "    50.0% of IO => [     0    -    512)",
        "    50.0% of IO => [     2KiB -    514KiB)",
    ]);
    let xml = xml(&results);
    let range = "          <Absolute>\n            <Range IO=\"0\">512</Range>\n            <Range IO=\"100\">1048064</Range>\n";
    assert_eq!(xml.matches(range).count(), 6, "{xml}");
    assert!(xml.contains(
        "<Range IO=\"30\">512</Range>\n            <Range IO=\"0\">1536</Range>\n            <Range IO=\"30\">"
    ));
}

#[test]
fn times_and_names_are_printed() {
    let mut results = results(&[("a & <b>.dat", 4096)]);
    results.hosts[0].environment.host.name = "lab\"1\"".into();
    results.steps = vec![step(1.0, None, &[&[reads(0, 4096, 1)]])];
    let text = text(&results);
    assert!(
        text.starts_with("System information:\n\n\tcomputer name: lab\"1\"\n\tstart time: 2026/01/02 03:04:05 UTC\n\n")
    );
    assert!(text.contains("\tactive power scheme:\t<unknown>\n\nResults for timespan 1:\n"));
    let xml = xml(&results);
    assert!(xml.contains("<Path>a &amp; &lt;b&gt;.dat</Path>"));
    xml.assert_contains(&["<RunTime>2026/01/02 03:04:05 UTC</RunTime>", "\n  <Profile/>\n"]);
    let document = roxmltree::Document::parse(&xml).unwrap();
    let path = document.descendants().find(|node| node.has_tag_name("Path")).unwrap();
    assert_eq!(path.text(), Some("a & <b>.dat"));
}

/// A time span shorter than 0.1 µs is treated as not measured.
#[test]
fn the_shortest_measured_time_is_a_tenth_of_a_microsecond() {
    let mut results = results(&[("a.dat", 4096)]);
    let shown = |results: &Results| xml(results).contains("<TestTimeSeconds>0.00</TestTimeSeconds>");
    results.steps = vec![step(0.000_000_1, None, &[&[reads(0, 4096, 1)]])];
    assert!(shown(&results));
    results.steps[0].jobs[0].workers[0].measured_ns = Nanos(99);
    assert!(!shown(&results) && xml(&results).contains("<Error>The test was interrupted"));
}

/// Results of a test from another dialect: several jobs, several files of a stream, latencies
/// without `-L`.
#[test]
fn results_of_another_dialect_are_printed() {
    let mut results = results(&[("a", 4096), ("b", 4096), ("c", 4096)]);
    results.plan.origin.dialect = Dialect::Native;
    let mut made = step(1.0, None, &[&[reads(0, 4096, 5)]]);
    let mut second = step(2.0, None, &[&[reads(1, 4096, 7)]]).jobs.remove(0);
    second.workers[0].streams[0].targets = vec![0, 1, 2];
    made.jobs.push(second);
    results.steps = vec![made];
    let text = text(&results);
    assert!(text.contains("actual test time:\t2.00s\nthread count:\t\t2\n"));
    let rows = section(&text, "Total IO");
    for (row, thread, file) in [(3, "     0 |", "| a (4KiB)"), (4, "     1 |", "| a and 2 more (12KiB)")] {
        assert!(
            rows[row].starts_with(thread) && rows[row].ends_with(file),
            "{}",
            rows[row]
        );
    }
    assert!(text.contains("Total latency distribution:"));
}

/// Only Windows has a power scheme; another system's CPU governor is not printed as one.
#[test]
fn only_windows_has_a_power_scheme() {
    let reports_with = |governor: &str| {
        let mut results = results(&[("test.dat", 1 << 20)]);
        results.hosts[0].environment.cpu.governor = Some(governor.into());
        (text(&results), xml(&results))
    };
    let (shown, markup) = reports_with("Balanced & \u{c9}co (381b4222-f694-41f0-9685-ff5bb260df2e)");
    shown.assert_contains(&["\tactive power scheme:\tBalanced & \u{c9}co (381b4222-f694-41f0-9685-ff5bb260df2e)\n"]);
    markup.assert_contains(&[
        "<PowerScheme Name=\"Balanced &amp; \u{c9}co\" Guid=\"381b4222-f694-41f0-9685-ff5bb260df2e\"/>",
    ]);
    let (shown, _) = reports_with("performance");
    assert!(shown.contains("\tactive power scheme:\t<unknown>\n"));
}
