//! Profiles as text: recorded ones, the form of DiskSpd 2.0, and features that no recorded profile
//! has.

use dialects::diskspd::profile::{Cache, Distribution, Range, Target, TimeSpan};
use dialects::diskspd::text::{TextVersion, format_size, lines, range_lines};
use dialects::diskspd::{Profile, xml};
use proptest::prelude::*;
use testbed::AssertIs;

use super::arbitrary::profiles;
use super::file;
use crate::diskspd::support::cases;

/// The recorded lines after the command line: from the flags or the parameters to the system
/// information.
fn recorded_lines(text: &str) -> Vec<&str> {
    let below = text
        .lines()
        .skip_while(|line| !line.starts_with("Command Line: "))
        .skip(2);
    below.take_while(|line| *line != "System information:").collect()
}

#[test]
fn recorded_profiles_match_as_text() {
    for (group, document, report) in [
        ("profiles", "profile.xml", "profile.txt"),
        ("runs", "result.xml", "result.txt"),
    ] {
        for case in cases(group) {
            let text = file(&case, document);
            let start = text.find("<Profile>").unwrap();
            let end = text.find("</Profile>").unwrap() + "</Profile>".len();
            let mut profile = xml::read(&text[start..end]).unwrap();
            let report = file(&case, report);
            // DiskSpd's XML does not contain it, so only the report shows it; in all recorded cases
            // it is the first time span.
            profile.time_spans[0].random_write_data = report.contains("generating random data");
            assert_eq!(
                lines(&profile, TextVersion::V2_2),
                recorded_lines(&report),
                "{}",
                case.display()
            );
        }
    }
}

#[test]
fn the_2_0_form_matches_a_report_of_2_0_20() {
    let target = Target {
        path: "test_001.dat".to_string(),
        block: 64 << 10,
        random_percent: 100,
        file_size: Some(2 << 30),
        requests: 8,
        threads: 8,
        write_percent: 20,
        cache: Cache::Unbuffered,
        write_through: true,
        ..Target::default()
    };
    let profile = Profile {
        experiment_flags: 1,
        time_spans: vec![TimeSpan {
            duration: 30,
            latency: true,
            targets: vec![target],
            ..TimeSpan::default()
        }],
        ..Profile::default()
    };
    let expected = "\
Input parameters:

timespan: 1
-------------
duration: 30s
warm up time: 5s
cool down time: 0s
measuring latency
random seed: 0
path: 'test_001.dat'
think time: 0ms
burst size: 0
software cache disabled
hardware write cache disabled, writethrough on
performing mix test (read/write ratio: 80/20)
block size: 65536
using random I/O (alignment: 65536)
number of outstanding I/O operations: 8
thread stride size: 0
threads per file: 8
using I/O Completion Ports
IO priority: normal
";
    let squeezed = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let written: Vec<String> = lines(&profile, TextVersion::V2_0).iter().map(squeezed).collect();
    assert_eq!(written.join("\n"), expected);
}

#[test]
fn the_2_0_form_omits_later_features() {
    let text = "<Profile><TimeSpans><TimeSpan><ThreadCount>2</ThreadCount><RequestCount>4</RequestCount><Targets><Target>\
                <Path>a</Path><Random>4096</Random><Throughput>5</Throughput><ThreadStride>1048576</ThreadStride>\
                <WriteBufferContent><Pattern>random</Pattern><RandomDataSource><SizeInBytes>1048576</SizeInBytes>\
                </RandomDataSource></WriteBufferContent><Distribution><Percent><Range IO=\"10\">10</Range></Percent>\
                </Distribution></Target></Targets></TimeSpan></TimeSpans></Profile>";
    let profile = xml::read(text).unwrap();
    let newer = lines(&profile, TextVersion::V2_2).join("\n");
    let older = lines(&profile, TextVersion::V2_0).join("\n");
    for later in [
        "thread pool with 2 threads",
        "relative IO weight in thread pool: 1",
        "throughput rate-limited to 5 B/ms",
        "IO Distribution:",
        "write buffer source: random fill",
        "operations per thread: 4",
        "1MiB",
    ] {
        assert!(newer.contains(later), "{later}");
        assert!(!older.contains(later), "{later}");
    }
    assert!(older.contains("\t\twrite buffer size: 1048576\n"));
    assert!(older.contains("\t\tnumber of outstanding I/O operations: 2\n"));
    assert!(older.contains("\t\tthread stride size: 1048576\n"));
}

#[test]
fn sizes_have_the_largest_unit_that_fits() {
    for (bytes, expected) in [
        (0, "0"),
        (1, "1"),
        (512, "512"),
        (1023, "1023"),
        (1024, "1KiB"),
        (1025, "1.00KiB"),
        (1536, "1.50KiB"),
        (65536, "64KiB"),
        (1 << 20, "1MiB"),
        ((1 << 20) - 1, "1024.00KiB"),
        (1536 << 20, "1.50GiB"),
        (1 << 30, "1GiB"),
        (3 << 40, "3TiB"),
        (u64::MAX, "16777216.00TiB"),
    ] {
        assert_eq!(format_size(bytes), expected, "{bytes}");
    }
}

#[test]
fn ranges_of_a_distribution_are_listed() {
    let distribution = |absolute, ranges: &[(u32, u64)]| Distribution {
        absolute,
        ranges: ranges
            .iter()
            .map(|&(io_percent, length)| Range { io_percent, length })
            .collect(),
    };
    range_lines(&distribution(false, &[(5, 1), (0, 9), (95, 90)])).assert_is(&[
        "     5% of IO => [ 0% -   1%) of target",
        "     0% of IO => [ 1% -  10%) of target",
        "    95% of IO => [10% - 100%) of target",
    ]);
    range_lines(&distribution(false, &[(100, 100)])).assert_is(&["   100% of IO => [ 0% - 100%) of target"]);
    range_lines(&distribution(true, &[(60, 512), (40, 0)])).assert_is(&[
        "    60% of IO => [     0    -    512)",
        "    40% of IO => [   512 -       end)",
    ]);
    // A range of 20 % was beyond the end of the target.
    range_lines(&distribution(true, &[(60, 1 << 20), (20, 1 << 20)])).assert_is(&[
        "    75.0% of IO => [     0    -      1MiB)",
        "    25.0% of IO => [     1MiB -      2MiB)",
    ]);
    range_lines(&distribution(true, &[(0, 1024)])).assert_is(&["     0% of IO => [     0    -      1KiB)"]);
}

proptest! {
    #[test]
    fn any_profile_can_be_printed_as_text(profile in profiles()) {
        for form in [TextVersion::V2_2, TextVersion::V2_0] {
            let lines = lines(&profile, form);
            prop_assert_eq!(lines.iter().filter(|line| line.starts_with("\ttimespan: ")).count(), profile.time_spans.len());
            prop_assert_eq!(lines.last().map(String::as_str), Some(""));
        }
    }
}
