//! Profiles in files, and profiles recorded from DiskSpd 2.2.

use dialects::diskspd::ParseOutcome;
use dialects::diskspd::profile::ResultFormat;

use crate::diskspd::support::{TestEnv, end, request, split, strings};

/// A profile of two time spans with these targets.
fn template(paths: &[&str]) -> String {
    let target = |path: &&str| format!("<Target><Path>{path}</Path><Random>65536</Random></Target>");
    let targets: String = paths.iter().map(target).collect();
    let span = format!("<TimeSpan><Duration>7</Duration><RandSeed>3</RandSeed><Targets>{targets}</Targets></TimeSpan>");
    format!("<Profile><TimeSpans>{span}{span}</TimeSpans></Profile>")
}

/// Reads a command line for which `p.xml` has these targets.
fn with_template(paths: &[&str], line: &str) -> ParseOutcome {
    TestEnv::with_file("p.xml", &template(paths)).read(&split(line))
}

/// Checks the refusal of a command line for which `p.xml` has these targets.
#[track_caller]
fn check_refused(paths: &[&str], line: &str, expected: &[&str]) {
    let end = end(with_template(paths, line));
    assert_eq!((end.code, end.stderr), (3, strings(expected)), "{line}");
}

#[test]
fn the_command_line_overrides_the_file() {
    let line = "-W1 -Xp.xml -d2 -C3 -z4 -v -vs -:5 -Rxml";
    let profile = request(with_template(&["t.dat"], line)).profile;
    assert_eq!(profile.time_spans.len(), 2);
    for span in &profile.time_spans {
        assert_eq!((span.warm_up, span.duration, span.cool_down, span.seed), (1, 2, 3, 4));
    }
    assert!(profile.verbose && profile.verbose_stats);
    assert_eq!(profile.experiment_flags, 5);
    assert_eq!(profile.result_format, ResultFormat::Xml);

    let plain = request(with_template(&["t.dat"], "-Xp.xml")).profile;
    assert_eq!((plain.time_spans[0].duration, plain.time_spans[1].seed), (7, 3));
    assert_eq!(plain.result_format, ResultFormat::Text);
}

#[test]
fn only_some_switches_are_allowed_with_a_profile() {
    let several = "ERROR: multiple XML profiles specified (-X)";
    check_refused(
        &["t.dat"],
        "-Xp.xml -b4K",
        &["ERROR: -b is not compatible with -X XML profile specification"],
    );
    for other in ["-r", "-o4", "-?", "-q"] {
        let message = format!("ERROR: invalid XML profile specification; parameter {other} not compatible with -X");
        check_refused(&["t.dat"], &format!("-Xp.xml {other}"), &[&message]);
        check_refused(&["t.dat"], &format!("{other} -Xp.xml"), &[several]);
    }
    check_refused(&["t.dat"], "-b4K -Xp.xml", &[several]);
    check_refused(&["t.dat"], "-Xp.xml -Xp.xml", &[several]);
}

#[test]
fn files_that_cannot_be_read_are_reported() {
    let missing = "ERROR: failed to load profile, line 0, line position 0, errorCode 800c0006";
    check_refused(
        &["t.dat"],
        "-Xq.xml",
        &[missing, "ERROR: reason: there is no such file"],
    );
    let broken = end(TestEnv::with_file("p.xml", "<Profile>").read(&["-Xp.xml"]));
    assert_eq!(broken.code, 3);
    assert!(broken.stderr[0].starts_with("ERROR: failed to load profile, line 1, line position "));
    assert!(broken.stderr[1].starts_with("ERROR: reason: "));
    let both = template(&["t.dat"]).replace("<Random>", "<StrideSize>65536</StrideSize><Random>");
    let conflict = end(TestEnv::with_file("p.xml", &both).read(&["-Xp.xml"]));
    assert_eq!(
        (conflict.code, conflict.stderr),
        (3, strings(&["sequential <StrideSize> conflicts with <Random>"]))
    );
}

#[test]
fn targets_replace_template_slots() {
    let paths = |paths: &[&str], line: &str| -> Vec<String> {
        let spans = request(with_template(paths, line)).profile.time_spans;
        spans
            .into_iter()
            .flat_map(|span| span.targets)
            .map(|target| target.path)
            .collect()
    };
    assert_eq!(paths(&["*2", "*1", "c"], "-Xp.xml a b"), ["b", "a", "c", "b", "a", "c"]);
    assert_eq!(paths(&["*1", "*1"], "-Xp.xml a"), ["a"; 4]);
    assert_eq!(paths(&["*2", "*1"], "-Rp -Xp.xml"), ["*2", "*1", "*2", "*1"]);
    assert_eq!(paths(&["*01"], "-Xp.xml a"), ["a", "a"]);
}

#[test]
fn template_slots_and_targets_must_match() {
    let unsubstituted = |slot: &str| {
        format!(
            "ERROR: template target '{slot}' was not substituted - all template targets must be substituted to run a profile"
        )
    };
    check_refused(&["*1"], "-Xp.xml", &[&unsubstituted("*1"), &unsubstituted("*1")]);
    check_refused(
        &["*1", "*3"],
        "-Xp.xml a b",
        &["ERROR: template path '*3' does not have a specified substitution - check profile"],
    );
    check_refused(
        &["*2"],
        "-Xp.xml a b c",
        &[
            "ERROR: unused template target substitution _1 -> a - check profile",
            "ERROR: unused template target substitution _3 -> c - check profile",
        ],
    );
    for slot in ["*x", "*0", "*-1", "*1x", "*", "*99999999999"] {
        let message =
            format!("ERROR: template path '{slot}' is not a valid path reference - must be *<integer> - check profile");
        check_refused(&[slot], "-Xp.xml a", &[&message]);
    }
}
