//! `docs/diskspd.md`, generated from the table of switches, the deviations, and the handwritten
//! `page.md`.

use std::fmt::Write as _;

use dialects::diskspd::{Form, Group, Status, Switch, switches};

use crate::diskspd::support::{end, reading};
use crate::pages::{check_page, deviations_as_table};

const BY_HAND: &str = include_str!("page.md");

fn format_switches() -> String {
    let mut text = String::new();
    for group in Group::ALL {
        let _ = write!(text, "### {}\n\n", group.heading());
        text.push_str("| switch | meaning | example |\n| --- | --- | --- |\n");
        let of_group: Vec<&Switch> = switches().filter(|switch| switch.group == *group).collect();
        for form in of_group.iter().flat_map(|switch| switch.forms) {
            let usage = form.usage().replace('|', "\\|");
            let examples: Vec<String> = form.examples.iter().map(|example| format!("`{example}`")).collect();
            let _ = writeln!(
                text,
                "| `{usage}` | {}{} | {} |",
                form.help,
                status(form),
                examples.join(" ")
            );
        }
        text.push('\n');
        for switch in of_group {
            let (letter, scope, default) = (switch.letter, switch.scope.label(), switch.default);
            let _ = writeln!(
                text,
                "- **`-{letter}`**: scope {scope}; default: {default}. {}",
                switch.detail
            );
        }
        text.push('\n');
    }
    text.lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
        .trim_end()
        .to_string()
}

/// Describes the support of a form that does not simply work.
fn status(form: &Form) -> String {
    let words = |status: Status| match status {
        Status::Supported => None,
        Status::WithoutEffect(why) => Some(format!("accepted without effect: {why}")),
        Status::Refused(why) => Some(format!("refused: {why}")),
    };
    match (words(form.linux), words(form.windows)) {
        (None, None) => String::new(),
        (Some(both), Some(other)) if both == other => format!(" *Everywhere {both}.*"),
        (linux, windows) => [("Linux", linux), ("Windows", windows)]
            .into_iter()
            .filter_map(|(system, words)| Some(format!(" *{system}: {}.*", words?)))
            .collect(),
    }
}

#[test]
fn the_page_is_current() {
    let page = BY_HAND
        .replace("<!-- switches -->", &format_switches())
        .replace("<!-- deviations -->", &deviations_as_table("diskspd", "DiskSpd"));
    check_page("diskspd.md", &page);
}

#[test]
fn the_help_fits_a_screen_and_lists_every_form() {
    let help = end(reading("-?")).stdout;
    for form in switches().flat_map(|switch| switch.forms) {
        let usage = form.usage();
        assert!(help.iter().any(|line| line.trim_start().starts_with(&usage)), "{usage}");
    }
    for line in &help {
        assert!(line.chars().count() <= 120 && line.trim_end() == line, "{line:?}");
    }
}
