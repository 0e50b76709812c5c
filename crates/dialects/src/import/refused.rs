//! Results that are recognised and not read: each with why, and with what to do instead.

/// Results of a tool that are known by their look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Whose they are.
    pub name: &'static str,
    /// Why they are not read.
    pub why: &'static str,
    /// What to do.
    pub instead: &'static str,
}

type Input = (&'static str, fn(&str) -> bool, &'static str);

/// Files that tools run, with what to give instead.
const INPUTS: &[Input] = &[
    (
        "a configuration of Iometer",
        |text| text.contains("'TEST SETUP ==="),
        "`fathom iometer FILE results.csv` runs it; then give results.csv. `fathom lint FILE` examines it",
    ),
    (
        "a parameter file of Vdbench",
        |text| begins_a_line(text, "rd=") && (begins_a_line(text, "sd=") || begins_a_line(text, "fsd=")),
        "`fathom vdbench -f FILE` runs it; then give output/flatfile.html. `fathom lint FILE` examines a FILE.parm",
    ),
    (
        "a job file of fio",
        |text| {
            begins_a_line(text, "[")
                && ["rw=", "readwrite=", "ioengine="]
                    .iter()
                    .any(|key| begins_a_line(text, key))
        },
        "`fathom fio --output-format=json FILE` runs it; then give what it prints. `fathom lint FILE` examines a FILE.fio",
    ),
    (
        "a profile of DiskSpd",
        |text| text.contains("<Profile>") && text.contains("<TimeSpans>"),
        "`fathom diskspd -XFILE` runs it; then give what it prints. `fathom lint FILE` examines a FILE.xml",
    ),
    (
        "a job file of fathom",
        |text| begins_a_line(text, "[[job]]"),
        "`fathom run FILE --save result.fathom` runs it; then give that result. `fathom lint FILE` examines it",
    ),
];

fn begins_a_line(text: &str, words: &str) -> bool {
    let begins = |line: &str| {
        line.get(..words.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(words))
    };
    text.lines().any(|line| begins(line.trim_start()))
}

/// The tool whose output this is, of those that are not read.
pub(super) fn recognise(text: &str) -> Option<Foreign> {
    let has = |part: &str| text.contains(part);
    let of = |name, why, instead| Some(Foreign { name, why, instead });
    if has("Vdbench distribution") {
        let why = "of its pages only summary.html and flatfile.html have the averages of each run";
        of(
            "another page of Vdbench",
            why,
            "give one of these, from the same folder",
        )
    } else if let Some((name, _, instead)) = INPUTS.iter().find(|(_, is_one, _)| is_one(text)) {
        of(name, "it says what to run and holds no result", instead)
    } else if text.lines().any(is_terse) {
        let instead = "run it again with --output-format=json, or with several: --output-format=terse,json";
        of(
            "terse output of fio",
            "its fields have no names and depend on the version",
            instead,
        )
    } else if is_log(text) {
        let why = "its lines say neither which figure they are nor what the whole run did";
        let instead = "`fathom report FILE …` draws logs of fio with their own names (db_lat.1.log); to judge or compare, give its JSON report";
        of("a log of fio", why, instead)
    } else if text.lines().any(is_dd) {
        let instead = "`fathom explain anti-patterns dd` tells why, and what to run instead";
        of("output of dd", "dd is not a storage test", instead)
    } else {
        None
    }
}

fn is_terse(line: &str) -> bool {
    let mut fields = line.trim().split(';');
    let version = fields
        .next()
        .is_some_and(|field| matches!(field, "2" | "3" | "4" | "5"));
    version && fields.next().is_some_and(|field| field.starts_with("fio-"))
}

/// Its first lines are four whole numbers or more, the third a direction.
fn is_log(text: &str) -> bool {
    const LINES: usize = 5;
    let is_one = |line: &str| {
        let columns: Vec<&str> = line.split(", ").collect();
        let numbers = columns.iter().take(4).filter(|column| column.parse::<u64>().is_ok());
        numbers.count() == 4 && matches!(columns[2], "0" | "1" | "2")
    };
    !text.is_empty() && text.lines().take(LINES).all(is_one)
}

fn is_dd(line: &str) -> bool {
    line.contains(" bytes ") && line.contains(" copied, ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_tools_are_named() {
        let name = |text: &str| recognise(text).map(|found| found.name);
        assert_eq!(
            name("1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.001 s, 1.0 GB/s"),
            Some("output of dd")
        );
        assert_eq!(name("3;fio-3.42;job;0;0;1"), Some("terse output of fio"));
        let icf = "Version 1.1.0 \n'TEST SETUP ====================================================================\n'Test Description";
        assert_eq!(name(icf), Some("a configuration of Iometer"));
        assert_eq!(
            name("Vdbench distribution: vdbench50407\nReporting of latency buckets"),
            Some("another page of Vdbench")
        );
        for (input, expected) in [
            ("sd=sd1,lun=/a\nwd=w,sd=sd1\nrd=r,wd=w", "a parameter file of Vdbench"),
            ("[a]\nrw=randread\n", "a job file of fio"),
            ("<Profile>\n<TimeSpans>", "a profile of DiskSpd"),
            ("[[job]]\nread = 70\n", "a job file of fathom"),
        ] {
            assert_eq!(name(input), Some(expected));
        }
        assert_eq!(name("500, 2404, 0, 0, 0\n"), Some("a log of fio"));
        assert_eq!(name(""), None);
        assert_eq!(name("hello"), None);
    }
}
