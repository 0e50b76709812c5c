//! `docs/vdbench.md`, generated from the table of parameters and the handwritten `page.md`.

use std::fmt::Write as _;

use dialects::vdbench::{ROWS, Section, Status};

use crate::pages::check_page;

const BY_HAND: &str = include_str!("page.md");

fn parameters() -> String {
    let sections = [
        (Section::General, "General parameters"),
        (Section::Host, "Hosts (`hd=`)"),
        (Section::Replay, "Replay groups (`rg=`)"),
        (Section::Sd, "Storage (`sd=`)"),
        (Section::Wd, "Workloads (`wd=`)"),
        (Section::Rd, "Runs (`rd=`)"),
        (Section::Fsd, "File systems (`fsd=`)"),
        (Section::Fwd, "File system workloads (`fwd=`)"),
    ];
    let mut text = String::new();
    for (section, heading) in sections {
        let _ = write!(
            text,
            "### {heading}\n\n| parameter | default | meaning | here |\n| --- | --- | --- | --- |\n"
        );
        for row in ROWS.iter().filter(|row| row.section == section) {
            let exact = if row.exact { " (whole)" } else { "" };
            let support = match row.status {
                Status::Supported => match row.runs {
                    Some(runs) => format!("supported, in {}", runs.describe()),
                    None => "supported".to_owned(),
                },
                Status::WithoutEffect(why) => format!("no effect: {why}"),
                Status::Refused(why) => format!("refused: {why}"),
            };
            let _ = writeln!(
                text,
                "| `{}`{exact} | {} | {} | {support} |",
                row.name, row.default, row.help
            );
        }
        text.push('\n');
    }
    text.replace(" |  |", " | |").trim_end().to_owned()
}

#[test]
fn the_page_is_current() {
    let page = BY_HAND.replace("<!-- parameters -->", &parameters());
    check_page("vdbench.md", &page);
}

#[test]
fn no_parameter_has_two_rows() {
    for (index, row) in ROWS.iter().enumerate() {
        let twice = ROWS[..index]
            .iter()
            .any(|other| (other.section, other.name) == (row.section, row.name));
        assert!(!twice, "{}", row.name);
    }
}
