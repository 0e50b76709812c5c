//! The report in the form of 2.0.17 to 2.0.20, against a published one whose blanks and empty lines were lost.

use crate::diskspd::masks::number_hidden;
use crate::diskspd::support::{DATA, Place, read, same_lines, words};
use crate::place;

/// A line without what changes, and with blanks as they survive in a page. Rows of processors are one, for their number
/// depends on the machine.
fn squeezed(report: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in report.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = match line.starts_with("Command Line: ") {
            true => "Command Line: …".to_owned(),
            false => number_hidden(&line),
        };
        let again = line.starts_with("#| #.##%|") && lines.last() == Some(&line);
        if !line.is_empty() && !again {
            lines.push(line);
        }
    }
    lines
}

#[test]
fn the_old_report_is_the_published_one() {
    let line = "-c32M -b64K -d2 -W1 -t8 -o8 -h -r -w20 -L test_001.dat";
    let place = Place::new();
    let ran = place::finish(place.command(&words(line)).env("FATHOM_DISKSPD_TEXT", "2.0"));
    ran.expect(0, &["\nproc count:\t\t", "\n\ntotal:\n  %-ile |"]);
    let published = read(format!("{DATA}/legacy/report.txt").as_ref());
    same_lines("the old report", &squeezed(&published), &squeezed(&ran.out));
    // Rules keep their lengths, and the columns of the tables theirs.
    for rule in published.lines().filter(|line| line.starts_with("-----")) {
        assert!(ran.out.lines().any(|line| line == rule), "{rule}");
    }
}
