//! Reports that other tools really wrote, and reports of Vdbench and Iometer in their documented
//! forms, read back; and all of them damaged in various ways.

mod diskspd;
mod figures;
mod fio;
mod iometer;
mod mangled;
mod vdbench;

use std::fs;
use std::path::PathBuf;

use dialects::import::{self, Imported};
use model::finding::Finding;

/// A path of the test data.
fn data(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data")).join(path)
}

fn read_text(path: &str) -> String {
    let bytes = fs::read(data(path)).unwrap();
    import::decode(&bytes).text
}

#[track_caller]
fn read(path: &str) -> Imported {
    import::read(path, &read_text(path)).unwrap_or_else(|problems| panic!("{path}: {problems:#?}"))
}

/// The only one of a list.
#[track_caller]
fn only<T: std::fmt::Debug>(list: &[T]) -> &T {
    match list {
        [one] => one,
        _ => panic!("{list:#?}"),
    }
}

/// Checks the first problem about a text.
#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let problems = import::read("x", text).unwrap_err();
    assert!(problems[0].to_string().contains(expected), "{problems:#?}");
}

/// The first finding of a rule.
#[track_caller]
fn finding<'a>(imported: &'a Imported, rule: &str) -> &'a Finding {
    let finding = imported.findings.iter().find(|finding| finding.rule == rule);
    finding.unwrap_or_else(|| panic!("no {rule}: {:?}", imported.findings))
}

/// Folders of a folder, in order.
fn folders(path: &str) -> Vec<String> {
    let entries = fs::read_dir(data(path)).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = entries
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

fn rules(imported: &Imported) -> Vec<&str> {
    imported.findings.iter().map(|finding| finding.rule.as_str()).collect()
}

#[test]
fn other_texts_are_refused_with_a_list_of_readable_results() {
    let check = |text: &str, expected: &str| {
        let problems = import::read("x.txt", text).unwrap_err();
        let message = problems.iter().map(ToString::to_string).collect::<String>();
        assert!(message.contains(expected), "{message}");
    };
    check("", "x.txt is empty");
    check("\n\nhello there", "x.txt:3  hello there");
    check("hello", "a text report of DiskSpd");
    check("3;fio-3.42;a;0;0", "--output-format=json");
    check(
        "1048576 bytes (1.0 MB) copied, 0.1 s, 10 MB/s",
        "explain anti-patterns dd",
    );
    check(
        "Vdbench distribution: vdbench50407\n",
        "only summary.html and flatfile.html have the averages",
    );
    check(
        "'Test Type,Test Description\n0,\n'Version\n1.1.0\n",
        "contains no readable result (form: results of Iometer)",
    );
    // A page that merely mentions them contains no result.
    check(
        "Vdbench and Iometer report each interval of a test",
        "contains no result",
    );
    check("{\"fio version\" : \"fio-3.42\", \"jobs\" : [", "truncated");
    check("<Results>\n<System>", "the complete report, which ends with </Results>");
    check(
        "[global]\nrw=read\n[a]\n",
        "an fio job file, which fathom does not read",
    );
    // A page that merely mentions reports contains no result.
    check(
        "DiskSpd prints <Results> and thread | bytes | I/Os",
        "contains no result",
    );
}
