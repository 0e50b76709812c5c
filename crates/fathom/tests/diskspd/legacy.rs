//! Environment variables of DiskSpd mode: notes, the switches of 2.3, and the old report. The
//! report of 2.0.17 to 2.0.20 is compared with a published one, whose blanks and empty lines were
//! lost.

use crate::diskspd::masks::number_hidden;
use crate::diskspd::support::{
    DATA, Sandbox, THREADS_FAILED, assert_same_lines, check_failed, diskspd_lines, read, split_words,
};
use crate::sandbox;

/// Masks measured values, and collapses blanks as in the published page. Rows of processors become
/// one row, because their number depends on the machine.
fn normalize(report: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in report.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = match line.starts_with("Command Line: ") {
            true => "Command Line: …".to_owned(),
            false => number_hidden(&line),
        };
        let is_repeated = line.starts_with("#| #.##%|") && lines.last() == Some(&line);
        if !line.is_empty() && !is_repeated {
            lines.push(line);
        }
    }
    lines
}

#[test]
fn the_old_report_matches_the_published_one() {
    let line = "-c32M -b64K -d2 -W1 -t8 -o8 -h -r -w20 -L test_001.dat";
    let sandbox = Sandbox::new();
    let ran = sandbox::finish(sandbox.command(&split_words(line)).env("FATHOM_DISKSPD_TEXT", "2.0"));
    ran.expect(0, &["\nproc count:\t\t", "\n\ntotal:\n  %-ile |"]);
    let published = read(format!("{DATA}/legacy/report.txt").as_ref());
    assert_same_lines("the old report", &normalize(&published), &normalize(&ran.out));
    // The rules have their original lengths, so the columns have their original widths.
    for rule in published.lines().filter(|line| line.starts_with("-----")) {
        assert!(ran.out.lines().any(|line| line == rule), "{rule}");
    }
}

/// Without a request for notes, standard error has only DiskSpd's lines.
#[test]
fn stderr_has_notes_and_hints_only_on_request() {
    let sandbox = Sandbox::with_file(1 << 20);
    let missing = sandbox.line("-d60 missing");
    assert_eq!(diskspd_lines(&missing.err), missing.err.lines().collect::<Vec<_>>());
    let refused = sandbox.line("-b 4K -x -help f");
    assert_eq!(diskspd_lines(&refused.err), refused.err.lines().collect::<Vec<_>>());
    assert_eq!(sandbox.line("-d1 -W0 -O4 -ft f").err, "");
    assert!(sandbox.noted("-d1 -W0 -O4 f").err.starts_with("note: "));
    assert!(sandbox.noted("-d60 missing").err.contains("\nhint: "));
}

/// They are refused before files are created, with the message that scripts look for.
#[test]
fn too_many_operations_in_flight_are_refused_at_once() {
    let sandbox = Sandbox::new();
    let code = if cfg!(windows) { "0x8" } else { "0xc" };
    let message = format!("ERROR: Could not allocate a buffer for target 'f'. Error code: {code}");
    for line in [
        "-c1M -d60 -o4294967295 f",
        "-c1M -d60 -r -t64 -o100000000 f",
        "-c1M -d60 -r -t64 -o1000000 -b4K f",
        "-c1M -d60 -r -F4 -O2000000 f",
        "-c1M -d60 -o1000 -b4G f",
    ] {
        let line = line.replace("4G", "4294967294");
        check_failed(&sandbox, &line, &[&message, THREADS_FAILED]).expect(1, &["hint: "]);
        assert_eq!(sandbox.names(), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn the_switches_of_2_3_work_on_request() {
    let sandbox = Sandbox::new();
    let run = |version: &str, line: &str| {
        let mut command = sandbox.command(&split_words(line));
        sandbox::finish(command.env("FATHOM_DISKSPD_VERSION", version))
    };
    let line = "-c1M -r -d1 -W0 -b4K -o8 -t2 -oc4 -acp f";
    for separation in ["-bsn", "-bsp", "-bs64K"] {
        run("2.3", &format!("{separation} {line}")).expect(0, &["Total IO"]);
    }
    run("2.3", "-Rs").expect(0, &["System information:", "computer name:"]);
    run("2.3", "-Rsxml").expect(0, &["<System>"]);
    let bypass = match cfg!(windows) {
        // Wine has no BypassIO either.
        true => "cannot use BypassIO for reads of f",
        false => "ERROR: BypassIO (-Sy, -SY) exists only on Windows",
    };
    run("2.3", "-SY -d1 f").expect(1, &[bypass]);
    run("2.3", "-u8p -d1 f").expect(1, &["ERROR: the meaning of p"]);
    for version in ["", "2.2"] {
        let refused = run(version, line);
        assert_eq!(refused.code, Some(3));
        assert_eq!(refused.err.as_str(), "ERROR: incorrectly provided option: '-oc4'\n");
    }
    run("2.4", "-d1 f").expect(3, &["invalid value `2.4` of FATHOM_DISKSPD_VERSION"]);
}
