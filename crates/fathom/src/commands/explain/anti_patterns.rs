//! `fathom explain anti-patterns`.

use study::anti_patterns::{ANTI_PATTERNS, AntiPattern, find};

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::screen;

pub(super) fn print(names: &[String], json: bool) -> Result<Exit, Faults> {
    let list: Vec<&AntiPattern> = if names.is_empty() {
        ANTI_PATTERNS.iter().collect()
    } else {
        let list_names = || {
            ANTI_PATTERNS
                .iter()
                .map(|pattern| pattern.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let unknown = |name: &str| {
            let fault =
                Fault::new(format!("unknown anti-pattern `{name}`")).help(format!("anti-patterns: {}", list_names()));
            Faults::usage(fault)
        };
        let patterns = names.iter().map(|name| find(name).ok_or_else(|| unknown(name)));
        patterns.collect::<Result<_, Faults>>()?
    };
    if json {
        return screen::put_json(&list);
    }
    let mut text = String::from("Common tests that do not test storage\n");
    for pattern in list {
        text += &format!("\n{}\n", pattern.name);
        text += &screen::wrap_paragraph(pattern.what);
        text += &screen::wrap_paragraph(pattern.why);
        text += &screen::wrap_paragraph(&format!("Instead: {}", pattern.instead));
    }
    screen::put(&text)
}
