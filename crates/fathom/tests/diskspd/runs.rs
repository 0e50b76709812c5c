//! The recorded runs, run again: the same report line by line, the same words on stderr, the same
//! exit codes.

use std::path::PathBuf;

use crate::calling::Ran;
use crate::diskspd::masks;
use crate::diskspd::support::{DATA, Place, arguments, name, read, same_lines, theirs};

/// The size of the target that was there already, odd on purpose.
const EXIST: usize = 10_498_105;

/// A case that is being compared.
struct Case {
    folder: PathBuf,
    /// With `-Rxml` before the rest.
    is_xml: bool,
}

impl Case {
    fn run(&self) -> Ran {
        let place = Place::new();
        place.file("exist.dat", EXIST);
        for entry in std::fs::read_dir(&self.folder).unwrap().flatten() {
            let of_case = entry.file_name().into_string().unwrap();
            if of_case.ends_with(".xml") && of_case != "result.xml" {
                std::fs::copy(entry.path(), place.path().join(of_case)).unwrap();
            }
        }
        let format = self.is_xml.then(|| "-Rxml".to_owned());
        let typed: Vec<String> = format.into_iter().chain(arguments(&self.folder)).collect();
        place.run(&typed)
    }

    fn what(&self) -> String {
        format!("{} as {}", name(&self.folder), if self.is_xml { "XML" } else { "text" })
    }

    /// What DiskSpd printed before the report, and the report.
    fn recorded(&self) -> (String, String) {
        let file = if self.is_xml { "result.xml" } else { "result.txt" };
        let (before, report) = parted(&read(&self.folder.join(file)), self.is_xml);
        match self.is_trimmed() {
            true => (before, report.replace(">6303801</Range>", ">6303744</Range>")),
            false => (before, report),
        }
    }

    /// The last range ends at the odd end of the target there, and with the last whole block here
    /// (`aligned-absolute-ranges` of tests/deviations.toml).
    fn is_trimmed(&self) -> bool {
        name(&self.folder) == "07-effective-distributions"
    }

    /// What DiskSpd said on stderr, without warnings of short transfers where ours are not short.
    fn recorded_words(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join("stderr.txt")).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if self.is_trimmed() {
            lines.retain(|line| !line.starts_with("Warning: thread "));
        }
        if self.is_xml && lines.last().is_some_and(|line| line == "Error generating I/O requests") {
            lines.insert(lines.len() - 1, String::new());
        }
        lines
    }

    /// Returns what was printed before the report.
    fn check(&self) -> String {
        let (ran, what) = (self.run(), self.what());
        let code: i32 = read(&self.folder.join("exit.txt")).trim().parse().unwrap();
        assert_eq!(ran.code, Some(code), "{what}: {ran:#?}");
        same_lines(&format!("{what}, stderr"), &self.recorded_words(), &theirs(&ran.err));
        let (before, found) = parted(&ran.out, self.is_xml);
        let (_, recorded) = self.recorded();
        let mask = if self.is_xml { masks::xml } else { masks::text };
        same_lines(&what, &mask(&recorded), &mask(&found));
        // A text ends with a line end, a document does not.
        assert_eq!(found.ends_with('\n'), !self.is_xml, "{what}");
        before
    }
}

/// What comes before a report, and the report.
fn parted(stdout: &str, is_xml: bool) -> (String, String) {
    let begin = if is_xml { "<Results>" } else { "\nCommand Line: " };
    let at = stdout.find(begin).unwrap_or_else(|| panic!("no report in {stdout}"));
    (stdout[..at].to_owned(), stdout[at..].to_owned())
}

/// Both forms at a time, which are two runs. What was printed before each report.
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

/// Nothing is printed before the report.
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

/// Each line of `-v` with its time hidden, sorted: threads say theirs when they come to it. Dots
/// are counted apart.
fn verbose(before: &str) -> (Vec<String>, usize) {
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
        let ((expected, _), (found, dots)) = (verbose(&recorded.recorded().0), verbose(printed));
        same_lines(&recorded.what(), &expected, &found);
        assert!(dots > 0, "{printed}");
    }
}
