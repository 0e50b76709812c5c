//! Recognises files that fathom does not read, with the reason and an alternative.

/// A kind of file that fathom recognises but does not read.
pub(super) struct Unsupported {
    /// What the file is, for the message.
    pub(super) name: &'static str,
    matches: fn(&str) -> bool,
    /// Why it is not read.
    pub(super) why: &'static str,
    /// Advice on what to do instead.
    pub(super) advice: &'static str,
}

const DESCRIBES_TEST: &str = "it describes a test, not a result";

/// All kinds. If several match a text, the first one counts.
const KINDS: &[Unsupported] = &[
    Unsupported {
        name: "another Vdbench page",
        matches: |text| text.contains("Vdbench distribution"),
        why: "only summary.html and flatfile.html have the averages of each run",
        advice: "pass one of these files from the same directory",
    },
    Unsupported {
        name: "an Iometer configuration",
        matches: |text| text.contains("'TEST SETUP ==="),
        why: DESCRIBES_TEST,
        advice: "run it with `fathom iometer FILE results.csv`, then pass results.csv; `fathom lint FILE` examines it",
    },
    Unsupported {
        name: "a Vdbench parameter file",
        matches: |text| begins_line(text, "rd=") && (begins_line(text, "sd=") || begins_line(text, "fsd=")),
        why: DESCRIBES_TEST,
        advice: "run it with `fathom vdbench -f FILE`, then pass output/flatfile.html; `fathom lint FILE` examines it",
    },
    Unsupported {
        name: "an fio job file",
        matches: |text| {
            let keys = ["rw=", "readwrite=", "ioengine="];
            begins_line(text, "[") && keys.iter().any(|key| begins_line(text, key))
        },
        why: DESCRIBES_TEST,
        advice: "run it with `fathom fio --output-format=json FILE`, then pass its output; `fathom lint FILE` \
            examines it",
    },
    Unsupported {
        name: "a DiskSpd profile",
        // A saved result of fathom may contain a profile.
        matches: |text| {
            text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
                && text.contains("<Profile>")
                && text.contains("<TimeSpans>")
                && !text.contains("<Results>")
        },
        why: DESCRIBES_TEST,
        advice: "run it with `fathom diskspd -XFILE`, then pass its output; `fathom lint FILE` examines it",
    },
    Unsupported {
        name: "a fathom job file",
        matches: |text| begins_line(text, "[[job]]"),
        why: DESCRIBES_TEST,
        advice: "run it with `fathom run FILE --save result.fathom`, then pass that result; `fathom lint FILE` \
            examines it",
    },
    Unsupported {
        name: "fio terse output",
        matches: |text| text.lines().any(is_terse),
        why: "its fields have no names and depend on the version",
        advice: "run the test again with --output-format=json, or with both: --output-format=terse,json",
    },
    Unsupported {
        name: "an fio log",
        matches: is_log,
        why: "its lines contain neither the kind of the figures nor totals of the run",
        advice: "to draw it, run `fathom report FILE …` with its original name (db_lat.1.log); to judge or compare, \
            pass fio's JSON report",
    },
    Unsupported {
        name: "dd output",
        matches: |text| {
            text.lines()
                .any(|line| line.contains(" bytes ") && line.contains(" copied, "))
        },
        why: "dd is not a storage test",
        advice: "see `fathom explain anti-patterns dd` for the reason, and for what to run instead",
    },
];

fn begins_line(text: &str, words: &str) -> bool {
    let begins = |line: &str| {
        line.get(..words.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(words))
    };
    text.lines().any(|line| begins(line.trim_start()))
}

/// Recognises a description of a test, and names its kind.
pub fn recognise_test(text: &str) -> Option<&'static str> {
    let mut tests = KINDS.iter().filter(|kind| kind.why == DESCRIBES_TEST);
    tests.find(|kind| (kind.matches)(text)).map(|kind| kind.name)
}

/// Detects text that is not read.
pub(super) fn recognise(text: &str) -> Option<&'static Unsupported> {
    KINDS.iter().find(|kind| (kind.matches)(text))
}

fn is_terse(line: &str) -> bool {
    let mut fields = line.trim().split(';');
    let version = fields
        .next()
        .is_some_and(|field| matches!(field, "2" | "3" | "4" | "5"));
    version && fields.next().is_some_and(|field| field.starts_with("fio-"))
}

/// True if the first lines have at least four integers, of which the third is a direction.
fn is_log(text: &str) -> bool {
    const LINES: usize = 5;
    let is_log_line = |line: &str| {
        let columns: Vec<&str> = line.split(", ").collect();
        let numbers = columns.iter().take(4).filter(|column| column.parse::<u64>().is_ok());
        numbers.count() == 4 && matches!(columns[2], "0" | "1" | "2")
    };
    !text.is_empty() && text.lines().take(LINES).all(is_log_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_tools_are_named() {
        let name = |text: &str| recognise(text).map(|found| found.name);
        assert_eq!(
            name("1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.001 s, 1.0 GB/s"),
            Some("dd output")
        );
        assert_eq!(name("3;fio-3.42;job;0;0;1"), Some("fio terse output"));
        let icf = "Version 1.1.0 \n'TEST SETUP ====================================================================\n'Test Description";
        assert_eq!(name(icf), Some("an Iometer configuration"));
        assert_eq!(
            name("Vdbench distribution: vdbench50407\nReporting of latency buckets"),
            Some("another Vdbench page")
        );
        for (input, expected) in [
            ("sd=sd1,lun=/a\nwd=w,sd=sd1\nrd=r,wd=w", "a Vdbench parameter file"),
            ("[a]\nrw=randread\n", "an fio job file"),
            ("<Profile>\n<TimeSpans>", "a DiskSpd profile"),
            ("[[job]]\nread = 70\n", "a fathom job file"),
        ] {
            assert_eq!(name(input), Some(expected));
        }
        // A report of DiskSpd contains its profile.
        assert_eq!(recognise_test("<Results>\n<Profile>\n<TimeSpans>"), None);
        assert_eq!(recognise_test("{\"diskspd\": \"<Profile>\\n<TimeSpans>\"}"), None);
        assert_eq!(name("500, 2404, 0, 0, 0\n"), Some("an fio log"));
        assert_eq!(name(""), None);
        assert_eq!(name("hello"), None);
    }
}
