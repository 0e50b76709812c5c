//! Repeats the recorded runs. Every line of the reports, stderr and the exit codes must match.

use crate::diskspd::masks;
use crate::diskspd::support::{DATA, Sandbox, arguments, assert_same_lines, diskspd_lines, name, read};
use crate::prelude::*;

/// Size of the existing target. It is not a multiple of any block size.
const EXIST: usize = 10_498_105;

/// A recorded case and the format to compare.
struct Case {
    folder: PathBuf,
    /// Runs with `-Rxml` before the other arguments.
    is_xml: bool,
}

impl Case {
    fn run(&self) -> Ran {
        let sandbox = Sandbox::new();
        sandbox.file("exist.dat", EXIST);
        for entry in fs::read_dir(&self.folder).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if name.ends_with(".xml") && name != "result.xml" {
                fs::copy(entry.path(), sandbox.path().join(name)).unwrap();
            }
        }
        let format = self.is_xml.then(|| "-Rxml".to_owned());
        let typed: Vec<String> = format.into_iter().chain(arguments(&self.folder)).collect();
        sandbox.run(&typed)
    }

    fn label(&self) -> String {
        format!("{} as {}", name(&self.folder), if self.is_xml { "XML" } else { "text" })
    }

    /// DiskSpd's output before the report, and the report.
    fn recorded(&self) -> (String, String) {
        let file = if self.is_xml { "result.xml" } else { "result.txt" };
        let (before, report) = split_report(&read(&self.folder.join(file)), self.is_xml);
        match self.is_trimmed() {
            true => (before, report.replace(">6303801</Range>", ">6303744</Range>")),
            false => (before, report),
        }
    }

    /// True if DiskSpd's last range ends at the end of the target, within a block. Ours ends with
    /// the last whole block (`aligned-absolute-ranges` of tests/deviations.toml).
    fn is_trimmed(&self) -> bool {
        name(&self.folder) == "07-effective-distributions"
    }

    /// DiskSpd's lines on stderr, without warnings of short transfers that fathom does not make.
    fn recorded_errors(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("stderr.txt")).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if self.is_trimmed() {
            lines.retain(|line| !line.starts_with("Warning: thread "));
        }
        if self.is_xml && lines.last().is_some_and(|line| line == "Error generating I/O requests") {
            lines.insert(lines.len() - 1, String::new());
        }
        lines
    }

    /// Compares a run with the recording. Returns the output before the report.
    fn check(&self) -> String {
        let (ran, label) = (self.run(), self.label());
        let code: i32 = read(&self.folder.join("exit.txt")).trim().parse().unwrap();
        assert_eq!(ran.code, Some(code), "{label}: {ran:#?}");
        assert_same_lines(
            &format!("{label}, stderr"),
            &self.recorded_errors(),
            &diskspd_lines(&ran.err),
        );
        let (before, found) = split_report(&ran.out, self.is_xml);
        let (_, recorded) = self.recorded();
        let mask = if self.is_xml { masks::xml } else { masks::text };
        assert_same_lines(&label, &mask(&recorded), &mask(&found));
        // A text report ends with a line end, an XML document does not.
        assert_eq!(found.ends_with('\n'), !self.is_xml, "{label}");
        before
    }
}

/// Splits the output before a report from the report.
fn split_report(stdout: &str, is_xml: bool) -> (String, String) {
    let begin = if is_xml { "<Results>" } else { "\nCommand Line: " };
    let at = stdout.find(begin).unwrap_or_else(|| panic!("no report in {stdout}"));
    (stdout[..at].to_owned(), stdout[at..].to_owned())
}

/// Checks both formats in parallel runs. Returns the output before each report.
fn check_both(case: &str) -> [String; 2] {
    let [text, xml] = [false, true].map(|is_xml| {
        let case = Case {
            folder: PathBuf::from(format!("{DATA}/runs/{case}")),
            is_xml,
        };
        std::thread::spawn(move || case.check())
    });
    [text, xml].map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// Checks a case that prints nothing before its report.
fn check(case: &str) {
    assert_eq!(check_both(case), ["", ""], "{case}");
}

macro_rules! cases {
    ($($name:ident: $case:literal;)*) => {
        $(#[test]
        fn $name() {
            check($case);
        })*
    };
}

cases! {
    plain_sequential_read: "01-plain-sequential-read";
    latency_and_buckets_mixed: "02-latency-and-buckets-mixed";
    latency_only_two_targets_read: "03-latency-only-two-targets-read";
    buckets_only_write: "04-buckets-only-write";
    thread_pool: "05-thread-pool";
    two_timespans: "06-two-timespans";
    effective_distributions: "07-effective-distributions";
    percent_distribution: "08-percent-distribution";
    throttled_wait_statistics: "09-throttled-wait-statistics";
    missing_file: "11-missing-file";
    target_too_small: "12-target-too-small";
    completion_routines: "13-completion-routines";
    memory_mapped_flush: "14-memory-mapped-flush";
}

/// The lines of `-v` with masked times, and the number of dots. The lines are sorted, because the
/// order of the threads varies.
fn parse_verbose(before: &str) -> (Vec<String>, usize) {
    let mut dots = 0;
    let lines = before.lines().filter_map(|line| {
        let words = line.trim_start_matches('.');
        dots += line.len() - words.len();
        let (time, words) = words.split_at_checked(20)?;
        Some(masks::digits_hidden(time) + &masks::number_hidden(words))
    });
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    (lines, dots)
}

#[test]
fn verbose_cooldown_progress() {
    let case = "10-verbose-cooldown-progress";
    for (printed, is_xml) in check_both(case).iter().zip([false, true]) {
        let recorded = Case {
            folder: PathBuf::from(format!("{DATA}/runs/{case}")),
            is_xml,
        };
        let ((expected, _), (found, dots)) = (parse_verbose(&recorded.recorded().0), parse_verbose(printed));
        assert_same_lines(&recorded.label(), &expected, &found);
        assert!(dots > 0, "{printed}");
    }
}
