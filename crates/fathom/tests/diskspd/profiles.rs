//! Profiles that are printed instead of run, and refused command lines. The text must be exactly
//! that of DiskSpd 2.2.

use crate::diskspd::support::{DATA, Sandbox, arguments, assert_same_lines, cases, diskspd_lines, name, read};
use crate::prelude::*;

/// The line that `xml-keeps-random-write-data` of tests/deviations.toml adds.
const ADDED: &str = "<RandomWriteData>true</RandomWriteData>";

#[test]
fn printed_profiles_match_the_recording() {
    let sandbox = Sandbox::new();
    let cases = cases("profiles");
    assert_eq!(cases.len(), 26);
    for case in &cases {
        for (switch, file) in [("-Rpxml", "profile.xml"), ("-Rptext", "profile.txt")] {
            let mut typed = vec![switch.to_owned()];
            typed.extend(arguments(case));
            // Printing needs only the profile that `-X` names.
            let ran = sandbox::finish(&mut sandbox.command_in(case, &typed));
            let label = format!("{} {switch}", name(case));
            let mut printed: Vec<&str> = ran.out.lines().collect();
            if ["18-random-write-data", "26-xml-thread-pool"].contains(&name(case)) && switch == "-Rpxml" {
                let before = printed.len();
                printed.retain(|line| line.trim() != ADDED);
                assert_eq!(printed.len(), before - 1, "{label}: the deviation is not needed");
            }
            let recorded = read(&case.join(file));
            assert_same_lines(&label, &recorded.lines().collect::<Vec<_>>(), &printed);
            assert!(ran.out.ends_with('\n'), "{label}");
            let warnings = fs::read_to_string(case.join("stderr.txt")).unwrap_or_default();
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), warnings.as_str()), "{label}");
        }
    }
    assert!(sandbox.names().is_empty(), "{:?}", sandbox.names());
}

#[test]
fn refused_lines_print_the_recorded_errors() {
    let sandbox = Sandbox::new();
    let template = format!("{DATA}/profiles/24-xml-template/template.xml");
    fs::copy(template, sandbox.path().join("template.xml")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&read(format!("{DATA}/rejected.json").as_ref())).unwrap();
    assert_eq!(cases.len(), 33);
    for case in &cases {
        let texts = |name: &str| -> Vec<&str> {
            let list = case[name].as_array().unwrap();
            list.iter().map(|text| text.as_str().unwrap()).collect()
        };
        let arguments = texts("argv");
        let ran = sandbox.run(&arguments);
        let label = format!("{arguments:?}");
        assert_eq!(ran.code.map(i64::from), case["exit"].as_i64(), "{label}");
        assert_same_lines(&label, &texts("stderr"), &diskspd_lines(&ran.err));
        assert_eq!(ran.out, "", "{label}");
    }
    assert_eq!(sandbox.names(), ["template.xml"], "no file was created");
}

#[test]
fn the_help_is_printed_on_request_and_without_arguments() {
    let sandbox = Sandbox::new();
    let (without, help) = (sandbox.run::<&str>(&[]), sandbox.line("-?"));
    assert_eq!((without.code, help.code), (Some(3), Some(0)));
    assert_eq!(without.out, help.out);
    assert!(without.err.is_empty() && help.err.is_empty());
    let first = "\nUsage: diskspd.exe [options] target1 [ target2 [ target3 ...] ]\nversion 2.2.0 (2024/6/3)\n";
    assert!(help.out.starts_with(first), "{}", help.out);
    // The help is printed only if no earlier argument is invalid.
    sandbox.line("-q -? t.dat").expect(3, &["ERROR: invalid option: '-q'"]);
    sandbox.line("-? -q t.dat").expect(0, &["Usage: diskspd.exe"]);
}

/// `fathom diskspd` behaves like a program named `diskspd`.
#[test]
fn the_diskspd_command_replaces_the_program_name() {
    let typed = ["diskspd", "-Rpxml", "-b4K", "-r", "t.dat"];
    let ran = sandbox::plain(fathom(&typed));
    let sandbox = Sandbox::new();
    assert_eq!((ran.code, ran.out), (Some(0), sandbox.run(&typed[1..]).out));
    let help = sandbox::plain(fathom(&["diskspd", "-?"]));
    let usage = format!("fathom{} diskspd [options] target1", std::env::consts::EXE_SUFFIX);
    help.expect(0, &[&usage]);
}
