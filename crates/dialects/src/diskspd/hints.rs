//! Suggestions for mistakes. Hints never change the outcome.

use super::arguments::{Argument, TypedSwitch};
use super::newer::Version;
use super::options::{self, Form};

/// Hints for a refused command line.
pub(super) fn for_refused_line(sorted: &[Argument<'_>], problems: &[String], version: Version) -> Vec<String> {
    let has_error = |text: &str| problems.iter().any(|line| line.contains(text));
    let mut hints = separated_values(sorted);
    for argument in sorted {
        let Argument::Switch(switch) = argument else { continue };
        hints.extend(newer(switch, version));
        if has_error(&format!("'{}'", switch.typed)) && options::find_switch(switch.letter).is_none() {
            hints.extend(unknown(switch));
        }
        if has_error("at least one filename") {
            hints.extend(path_after_switch(switch));
        }
        if has_error("-T has no effect") && switch.letter == 'T' && is_small(switch.value) {
            hints.push(format!(
                "`-T` is the distance between threads; `-t{}` is their number",
                switch.value
            ));
        }
        if has_error("failed to load profile") && switch.letter == 'X' {
            hints.push(match switch.value {
                "" => "put the file in the same argument: `-Xprofile.xml`".to_owned(),
                file => format!("the profile is `{file}`"),
            });
        }
        if has_error("unspecified results format") && switch.letter == 'R' && switch.value.is_empty() {
            hints.push("`-r` is random access; `-R` selects the report format".into());
        }
    }
    hints
}

/// A hint for a switch of a later version.
fn newer(switch: &TypedSwitch<'_>, version: Version) -> Option<String> {
    let row = options::find_switch(switch.letter)?;
    let text = format!("{}{}", switch.letter, switch.value);
    let forms = |newer: bool| row.forms.iter().filter(move |form| (form.since > version) == newer);
    (forms(true).any(|form| form.matches(&text)) && !forms(false).any(|form| form.matches(&text))).then(|| {
        format!(
            "`{}` is a DiskSpd 2.3 switch; FATHOM_DISKSPD_VERSION=2.3 accepts it",
            switch.typed
        )
    })
}

/// Hints for a valid command line.
pub(super) fn for_valid_line(sorted: &[Argument<'_>]) -> Vec<String> {
    let mut hints = separated_values(sorted);
    hints.extend(sorted.iter().filter_map(|argument| match argument {
        Argument::Switch(switch) => path_after_switch(switch),
        Argument::Target(_) => None,
    }));
    hints
}

/// Hints for switches whose value is a separate argument.
fn separated_values(sorted: &[Argument<'_>]) -> Vec<String> {
    let pairs = sorted.windows(2).filter_map(|pair| match pair {
        [Argument::Switch(switch), Argument::Target(value)] => Some((switch, *value)),
        _ => None,
    });
    let separated = pairs.filter(|(switch, value)| {
        let row = options::find_switch(switch.letter);
        switch.value.is_empty() && row.is_some_and(|row| row.needs_value()) && looks_like_value(value)
    });
    separated
        .map(|(switch, value)| {
            let letter = switch.letter;
            format!("`{value}` is read as a target; write the value without a blank before it: `-{letter}{value}`")
        })
        .collect()
}

/// Whether a text looks like a number or size, and not like a file name.
fn looks_like_value(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
        && !text.contains(['.', '/', '\\'])
        && text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len() <= 1
}

/// Whether a number is too small for a distance in bytes.
fn is_small(value: &str) -> bool {
    value.parse::<u32>().is_ok_and(|number| number <= 1024)
}

/// A hint for a letter that no switch has.
fn unknown(switch: &TypedSwitch<'_>) -> Option<String> {
    let TypedSwitch {
        typed, letter, value, ..
    } = *switch;
    if letter == '0' && !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!(
            "`{typed}` begins with the digit 0; the letter makes it `-o{value}`"
        ));
    }
    if letter == '-' {
        return Some(match value {
            "help" => "`-?` shows the help".into(),
            "version" => "`-?` shows the version".into(),
            _ => "switches have one dash and one letter; `-?` shows them".into(),
        });
    }
    let other_case = match letter.is_ascii_lowercase() {
        true => letter.to_ascii_uppercase(),
        false => letter.to_ascii_lowercase(),
    };
    let row = options::find_switch(other_case).filter(|_| other_case != letter)?;
    let meaning = row.forms.first().map(|form: &Form| form.help).unwrap_or_default();
    Some(format!(
        "letters are case-sensitive; did you mean `-{other_case}{value}`: {meaning}"
    ))
}

/// A hint for a path directly after a switch without a value, where it is ignored.
fn path_after_switch(switch: &TypedSwitch<'_>) -> Option<String> {
    let TypedSwitch {
        letter, value, typed, ..
    } = *switch;
    let row = options::find_switch(letter).filter(|row| row.ignores_value())?;
    if typed.get(1..) == Some("help") {
        return Some("`-?` shows the help".into());
    }
    let letter = row.letter;
    if let Some(rest) = value.strip_prefix(":\\") {
        // The drive letter was read as a switch, or the blank before the path is missing.
        return Some(format!(
            "`-{letter}` takes no value and ignores what follows it; did you mean `-{letter} \
            {letter}:\\{rest}` or `-{letter} C:\\{rest}`?"
        ));
    }
    value
        .contains(['/', '\\', ':', '.'])
        .then(|| format!("`-{letter}` takes no value and ignores what follows it; did you mean `-{letter} {value}`?"))
}
