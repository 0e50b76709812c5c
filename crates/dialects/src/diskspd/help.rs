//! The text of `-?`, made from the table of switches.

use super::newer::Version;
use super::options::{Form, Group, Status, switches};

/// The version of DiskSpd whose command line and reports fathom reproduces.
pub const VERSION: &str = "2.2.0";
/// The date of that version.
pub const VERSION_DATE: &str = "2024/6/3";

/// Width of the first column, which holds the switches.
const SWITCH_COLUMN_WIDTH: usize = 30;
/// Width of a line.
const LINE_WIDTH: usize = 110;

/// The lines of the help.
pub fn lines(program: &str) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        format!("Usage: {program} [options] target1 [ target2 [ target3 ...] ]"),
        format!("version {VERSION} ({VERSION_DATE})"),
        String::new(),
    ];
    lines.extend(INTRO.lines().map(str::to_string));
    for group in Group::ALL {
        lines.push(String::new());
        lines.push(format!("{}:", group.heading()));
        for switch in switches().filter(|switch| switch.group == *group) {
            for form in switch.forms {
                push_form(&mut lines, form);
            }
            let explanation = format!("Default: {}. {}", switch.default, switch.detail);
            push_entry(&mut lines, String::new(), &explanation);
        }
    }
    lines.push(String::new());
    lines.extend(EXAMPLES.lines().map(str::to_string));
    lines
}

const INTRO: &str =
    "A switch and its value are one argument: -b4K, not -b 4K. Switches come before targets, in any order; if a switch
is repeated, the last one applies unless its entry says otherwise. Letters are case-sensitive.

A target is a file or a device. In profiles, *<n> means target n of the command line.

<size> is a number of bytes, or a number with K, M, G or T for powers of 1024, or with b for multiples of the block
size (-b).";

const EXAMPLES: &str = "Examples:
  Random reads of 4 KiB by 4 threads with 32 in flight each, bypassing the cache, for a minute, with latencies:
    -c10G -b4K -r -t4 -o32 -Sh -d60 -L testfile.dat
  Large sequential writes through all caches:
    -c10G -b1M -w100 -o8 -Sh testfile.dat
  Print the profile of a command line without running it:
    -Rpxml -b8K -r -w30 testfile.dat";

fn push_form(lines: &mut Vec<String>, form: &Form) {
    let mut text = form.help.to_string();
    if form.since > Version::V2_2 {
        text.push_str(" Since DiskSpd 2.3.");
    }
    let status = if cfg!(windows) { form.windows } else { form.linux };
    match status {
        Status::Supported => {}
        Status::WithoutEffect(why) => text.push_str(&format!(" No effect here: {why}.")),
        Status::Refused(why) => text.push_str(&format!(" Refused here: {why}.")),
    }
    push_entry(lines, form.usage(), &text);
}

/// Adds an entry: its label in the first column, or on its own line if too long, and its text
/// wrapped in the second.
fn push_entry(lines: &mut Vec<String>, label: String, text: &str) {
    let mut label = format!("  {label}");
    if label.chars().count() >= SWITCH_COLUMN_WIDTH {
        lines.push(std::mem::take(&mut label));
    }
    let mut words = text.split_whitespace().peekable();
    while let Some(first_word) = words.next() {
        let mut line = format!("{label:<SWITCH_COLUMN_WIDTH$}{first_word}");
        label.clear();
        while let Some(word) = words.next_if(|word| line.chars().count() + 1 + word.chars().count() <= LINE_WIDTH) {
            line = line + " " + word;
        }
        lines.push(line);
    }
}
