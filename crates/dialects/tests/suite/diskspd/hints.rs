//! Hints about common mistakes. They never change the outcome.

use dialects::diskspd::ParseOutcome;

use crate::diskspd::support::{TestEnv, end, reading, request, split};

/// Checks that a line is refused with a hint that contains these words.
#[track_caller]
fn check(line: &str, words: &[&str]) {
    let end = end(reading(line));
    assert_eq!(end.code, 3, "{line}");
    let hints = end.hints.join("\n");
    assert!(words.iter().all(|word| hints.contains(word)), "{line}: {:?}", end.hints);
}

#[test]
fn common_mistakes_get_a_hint() {
    check(
        r"-D -L:\ClusterStorage\x\IO.dat",
        &["`-L` takes no value", r"-L C:\ClusterStorage\x\IO.dat"],
    );
    check("-D -L/dev/sdx", &["`-L` takes no value", "`-L /dev/sdx`"]);
    check("-08 t.dat", &["digit 0", "`-o8`"]);
    check("-b 4K t.dat", &["`4K` is read as a target", "`-b4K`"]);
    check("-o 8 -r t.dat", &["`8` is read as a target", "`-o8`"]);
    check("--help", &["`-?`"]);
    check("-help", &["`-?`"]);
    check("--version t.dat", &["`-?`"]);
    check("-G100 t.dat", &["case-sensitive", "`-g100`"]);
    check("-T2 t.dat", &["`-t2` is their number"]);
    check("-R t.dat", &["`-r` is random access"]);
    check("-r -s8K t.dat", &["remove `-s`"]);
    check("-s -r8K t.dat", &["remove `-s`"]);
}

#[test]
fn other_mistakes_get_no_hint() {
    for line in ["-q t.dat", "-o0 t.dat", "-T4M t.dat", "-d5"] {
        assert_eq!(end(reading(line)).hints, Vec::<String>::new(), "{line}");
    }
}

#[test]
fn ignored_characters_are_noted_if_the_line_is_accepted() {
    for (line, words) in [
        ("-help t.dat", "`-?` shows the help"),
        ("-L/dev/sdx t.dat", "`-L /dev/sdx`"),
    ] {
        let notes = request(reading(line)).notes;
        assert!(notes.len() == 1 && notes[0].contains(words), "{line}: {notes:?}");
    }
    assert!(request(reading("-L5 -pfoo -w0 t.dat")).notes.is_empty());
}

#[test]
fn accepted_switches_of_the_wrong_case_are_noted() {
    for (line, words) in [
        ("-D120 t.dat", "`-d120`"),
        ("-W30 t.dat", "`-w30`"),
        ("-C5G t.dat", "`-c5G`"),
        ("-l t.dat", "`-L`"),
        (
            "-g2000 -b4k t.dat",
            "2.0 MB/s or 488 operations of 4k per second; `-g2000i`",
        ),
        ("-g2000 t.dat", "31 operations of 64K"),
    ] {
        let notes = request(reading(line)).notes;
        assert!(notes.len() == 1 && notes[0].contains(words), "{line}: {notes:?}");
    }
    for line in [
        "-D120 -d9 t.dat", "-D t.dat", "-W30 -w0 t.dat", "-W5 t.dat", "-C5 t.dat", "-C5s t.dat", "-l -L t.dat",
        "-g2000i t.dat", "-g80000 t.dat",
    ] {
        assert_eq!(request(reading(line)).notes, Vec::<String>::new(), "{line}");
    }
}

#[test]
fn a_separated_value_is_noted_if_the_line_is_accepted() {
    let reading = TestEnv::default().read(&split("-r -d 60 t.dat"));
    assert!(matches!(reading, ParseOutcome::Run(_)));
    let request = request(reading);
    let paths: Vec<&str> = request.profile.time_spans[0]
        .targets
        .iter()
        .map(|target| target.path.as_str())
        .collect();
    assert_eq!(paths, ["60", "t.dat"]);
    assert_eq!(request.profile.time_spans[0].duration, 0);
    assert!(request.notes[0].contains("`-d60`"), "{:?}", request.notes);
}
