//! Generates the page about all rules from the rules themselves.

use std::fmt::Write;

use super::{GUARD_RULES, Rule, rules};
use crate::checks::CHECKS;

const HEAD: &str = "# Is the test valid?\n\n<!-- Generated: FATHOM_UPDATE=1 cargo test -p fathom-analysis --test \
    documented -->\n\n`fathom lint JOB` checks a test before it runs; `fathom run` does the same and also checks the \
    results. A finding has a\nname; it states what was found and where, why it matters and what to do. *Errors* make \
    the figures invalid,\n*warnings* mean that figures may mislead, *notes* are worth knowing. With `--strict` \
    warnings end the program with\nexit code 1. `--silence NAME,…` skips rules that do not apply; refusals of the \
    guard cannot be silenced.\n`--out sarif=FILE,junit=FILE` writes the findings for code scanners and build \
    servers as well.\n\
    `--vm`, `--disk`, `--cap` and `--policy NAME --set size=500GiB` state limits, burst credits and promises for\n\
    BW-BINDS-FIRST, RATE-ABOVE-LIMIT and BURST-WINDOW.\n";

/// The text of `docs/lint.md`.
pub fn page() -> String {
    let mut text = HEAD.to_owned();
    text += "\n## Before the run\n\n| rule | maximum severity | when |\n| --- | --- | --- |\n";
    for Rule {
        name, severity, about, ..
    } in rules()
    {
        let _ = writeln!(
            text,
            "| [{name}](#{}) | {} | {about} |",
            name.to_lowercase(),
            severity.word()
        );
    }
    text += "\n## The guard\n\nA test that would write is refused (exit code 3) in these cases:\n\n| \
        rule | when |\n| --- | --- |\n";
    for (name, about) in GUARD_RULES {
        let _ = writeln!(text, "| {name} | {about} |");
    }
    text += "\n## After the run\n\n[How fathom measures](measuring.md) explains each of them. Notices of the run \
        itself are in\n[Notices of a run](measuring.md#notices-of-a-run).\n\n| rules | check |\n| --- | --- |\n";
    for check in CHECKS {
        let _ = writeln!(text, "| {} | {} |", check.rules.join(", "), check.about);
    }
    text += "\n## Details of the rules before the run\n";
    for Rule {
        name, about, why, fix, ..
    } in rules()
    {
        let _ = write!(text, "\n### {name}\n\n{about}\n\n*Why:* {why}.\n\n*Fix:* {fix}.\n");
    }
    text
}
