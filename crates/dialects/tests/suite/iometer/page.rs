//! `docs/iometer.md`, generated from the tables of keys and switches, and the handwritten
//! `page.md`.

use std::fmt::Write as _;

use dialects::iometer::command_line::SWITCHES;
use dialects::iometer::keys::{KEYS, Section};

use crate::pages::check_page;

const BY_HAND: &str = include_str!("page.md");

fn switches() -> String {
    let mut text = String::from("| switch | meaning |\n| --- | --- |\n");
    for switch in SWITCHES {
        let dash = if switch.name.len() > 1 { "--" } else { "/" };
        let head = format!("{dash}{} {}", switch.name, switch.value);
        let _ = writeln!(text, "| `{}` | {} |", head.trim(), switch.about);
    }
    text.trim_end().to_owned()
}

fn keys() -> String {
    let mut text = String::new();
    for (section, words) in Section::ALL {
        let _ = write!(text, "### `'{words}`\n\n| key | value | here |\n| --- | --- | --- |\n");
        for key in KEYS.iter().filter(|key| key.section == section) {
            let name = if key.name.is_empty() {
                "any".to_owned()
            } else {
                format!("`'{}`", key.name)
            };
            let _ = writeln!(text, "| {name} | {} | {} |", key.value, key.here);
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

#[test]
fn the_page_is_current() {
    let page = BY_HAND
        .replace("<!-- switches -->", &switches())
        .replace("<!-- keys -->", &keys());
    check_page("iometer.md", &page);
}
