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
}

#[test]
fn other_mistakes_get_no_hint() {
    for line in ["-q t.dat", "-o0 t.dat", "-r -s t.dat", "-T4M t.dat", "-d5"] {
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
