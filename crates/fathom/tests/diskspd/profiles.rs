//! Profiles that are printed instead of run, and command lines that are refused: the very words of
//! DiskSpd 2.2.

use serde_json::Value;

use crate::diskspd::support::{DATA, Place, arguments, cases, name, read, same_lines};
use crate::place;

/// The line that `xml-keeps-random-write-data` of tests/deviations.toml adds.
const ADDED: &str = "<RandomWriteData>true</RandomWriteData>";

#[test]
fn printed_profiles_are_the_recorded_ones() {
    let place = Place::new();
    let cases = cases("profiles");
    assert_eq!(cases.len(), 26);
    for case in &cases {
        for (switch, file) in [("-Rpxml", "profile.xml"), ("-Rptext", "profile.txt")] {
            let mut typed = vec![switch.to_owned()];
            typed.extend(arguments(case));
            // Printing needs nothing but the profile that `-X` names.
            let ran = place::finish(&mut place.command_in(case, &typed));
            let what = format!("{} {switch}", name(case));
            let mut printed: Vec<&str> = ran.out.lines().collect();
            if ["18-random-write-data", "26-xml-thread-pool"].contains(&name(case)) && switch == "-Rpxml" {
                let before = printed.len();
                printed.retain(|line| line.trim() != ADDED);
                assert_eq!(printed.len(), before - 1, "{what}: the deviation is not needed");
            }
            let recorded = read(&case.join(file));
            same_lines(&what, &recorded.lines().collect::<Vec<_>>(), &printed);
            assert!(ran.out.ends_with('\n'), "{what}");
            let warned = std::fs::read_to_string(case.join("stderr.txt")).unwrap_or_default();
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), warned.as_str()), "{what}");
        }
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn refused_lines_are_refused_with_the_recorded_words() {
    let place = Place::new();
    let template = format!("{DATA}/profiles/24-xml-template/template.xml");
    std::fs::copy(template, place.path().join("template.xml")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&read(format!("{DATA}/rejected.json").as_ref())).unwrap();
    assert_eq!(cases.len(), 33);
    for case in &cases {
        let texts = |name: &str| -> Vec<&str> {
            let list = case[name].as_array().unwrap();
            list.iter().map(|text| text.as_str().unwrap()).collect()
        };
        let arguments = texts("argv");
        let ran = place.run(&arguments);
        let what = format!("{arguments:?}");
        assert_eq!(ran.code.map(i64::from), case["exit"].as_i64(), "{what}");
        same_lines(&what, &texts("stderr"), &crate::diskspd::support::theirs(&ran.err));
        assert_eq!(ran.out, "", "{what}");
    }
    assert_eq!(place.names(), ["template.xml"], "nothing was made");
}

#[test]
fn no_arguments_and_the_help() {
    let place = Place::new();
    let (nothing, asked) = (place.run::<&str>(&[]), place.line("-?"));
    assert_eq!((nothing.code, asked.code), (Some(3), Some(0)));
    assert_eq!(nothing.out, asked.out);
    assert!(nothing.err.is_empty() && asked.err.is_empty());
    let first = "\nUsage: diskspd.exe [options] target1 [ target2 [ target3 ...] ]\nversion 2.2.0 (2024/6/3)\n";
    assert!(asked.out.starts_with(first), "{}", asked.out);
    // Only if nothing earlier on the line failed.
    place.line("-q -? t.dat").expect(3, &["ERROR: invalid option: '-q'"]);
    place.line("-? -q t.dat").expect(0, &["Usage: diskspd.exe"]);
}

/// The same as a word of our own command line.
#[test]
fn a_command_of_ours_is_as_good_as_the_name() {
    let typed = ["diskspd", "-Rpxml", "-b4K", "-r", "t.dat"];
    let ran = place::plain(crate::calling::fathom(&typed));
    let place = Place::new();
    assert_eq!((ran.code, ran.out), (Some(0), place.run(&typed[1..]).out));
    let help = place::plain(crate::calling::fathom(&["diskspd", "-?"]));
    let usage = format!("fathom{} diskspd [options] target1", std::env::consts::EXE_SUFFIX);
    help.expect(0, &[&usage]);
}
