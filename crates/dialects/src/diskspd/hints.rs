//! What may have been meant by a slip. Hints are reported beside the outcome and never change it.

use super::arguments::{Argument, TypedSwitch};
use super::newer::Version;
use super::options::{self, Form};

/// What may have been meant by a line that was refused.
pub(super) fn of_a_refusal(sorted: &[Argument<'_>], complaints: &[String], version: Version) -> Vec<String> {
    let said = |text: &str| complaints.iter().any(|line| line.contains(text));
    let mut hints = values_apart(sorted);
    for argument in sorted {
        let Argument::Switch(switch) = argument else { continue };
        hints.extend(newer(switch, version));
        if said(&format!("'{}'", switch.typed)) && options::find(switch.letter).is_none() {
            hints.extend(unknown(switch));
        }
        if said("at least one filename") {
            hints.extend(glued(switch));
        }
        if said("-T has no effect") && switch.letter == 'T' && small(switch.value) {
            hints.push(format!(
                "`-T` is the distance between threads; `-t{}` is their number",
                switch.value
            ));
        }
        if said("failed to load profile") && switch.letter == 'X' {
            hints.push(match switch.value {
                "" => "put the file in the same argument: `-Xprofile.xml`".to_owned(),
                file => format!("the profile is `{file}`"),
            });
        }
        if said("unspecified results format") && switch.letter == 'R' && switch.value.is_empty() {
            hints.push("`-r` is random access; `-R` chooses the form of the report".into());
        }
    }
    hints
}

/// A switch that a later version has.
fn newer(switch: &TypedSwitch<'_>, version: Version) -> Option<String> {
    let row = options::find(switch.letter)?;
    let text = format!("{}{}", switch.letter, switch.value);
    let forms = |newer: bool| row.forms.iter().filter(move |form| (form.since > version) == newer);
    (forms(true).any(|form| form.may_be(&text)) && !forms(false).any(|form| form.may_be(&text))).then(|| {
        format!(
            "`{}` is a switch of DiskSpd 2.3; FATHOM_DISKSPD_VERSION=2.3 accepts it",
            switch.typed
        )
    })
}

/// What may have been meant by a line that is good as it stands.
pub(super) fn of_a_run(sorted: &[Argument<'_>]) -> Vec<String> {
    let mut hints = values_apart(sorted);
    hints.extend(sorted.iter().filter_map(|argument| match argument {
        Argument::Switch(switch) => glued(switch),
        Argument::Target(_) => None,
    }));
    hints
}

/// A switch that needs a value, with the value as an argument of its own.
fn values_apart(sorted: &[Argument<'_>]) -> Vec<String> {
    let pairs = sorted.windows(2).filter_map(|pair| match pair {
        [Argument::Switch(switch), Argument::Target(value)] => Some((switch, *value)),
        _ => None,
    });
    let apart = pairs.filter(|(switch, value)| {
        let row = options::find(switch.letter);
        switch.value.is_empty() && row.is_some_and(|row| row.needs_value()) && value_like(value)
    });
    apart
        .map(|(switch, value)| {
            let letter = switch.letter;
            format!("`{value}` is taken for a target; a value is written without a blank before it: `-{letter}{value}`")
        })
        .collect()
}

/// Begins as numbers and sizes do, and is not the name of a file.
fn value_like(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
        && !text.contains(['.', '/', '\\'])
        && text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len() <= 1
}

/// A number that makes no sense as a distance in bytes.
fn small(value: &str) -> bool {
    value.parse::<u32>().is_ok_and(|number| number <= 1024)
}

/// A letter that no switch has.
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
    let row = options::find(other_case).filter(|_| other_case != letter)?;
    let meaning = row.forms.first().map(|form: &Form| form.help).unwrap_or_default();
    Some(format!(
        "letters are case-sensitive; there is `-{other_case}{value}`: {meaning}"
    ))
}

/// A path behind the letter of a switch that takes no value, where it goes unnoticed.
fn glued(switch: &TypedSwitch<'_>) -> Option<String> {
    let TypedSwitch {
        letter, value, typed, ..
    } = *switch;
    let row = options::find(letter).filter(|row| row.ignores_value())?;
    if typed.get(1..) == Some("help") {
        return Some("`-?` shows the help".into());
    }
    let letter = row.letter;
    if let Some(rest) = value.strip_prefix(":\\") {
        // The letter of the drive took the place of the switch's letter, or the blank between the
        // two is missing.
        return Some(format!(
            "`-{letter}` takes no value, and what follows it is not looked at; was `-{letter} {letter}:\\{rest}` or \
             `-{letter} C:\\{rest}` meant?"
        ));
    }
    value.contains(['/', '\\', ':', '.']).then(|| {
        format!("`-{letter}` takes no value, and what follows it is not looked at; was `-{letter} {value}` meant?")
    })
}
