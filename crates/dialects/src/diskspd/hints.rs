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
        if has_error("sequential IO (-s) conflicts") && switch.letter == 's' {
            hints.push("remove `-s`: DiskSpd 2.0 ignored it next to `-r`".into());
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
    hints.extend(switches(sorted).filter_map(path_after_switch));
    hints.extend(other_case(sorted));
    hints.extend(rate_in_bytes(sorted));
    hints
}

fn switches<'a, 'b>(sorted: &'b [Argument<'a>]) -> impl Iterator<Item = &'b TypedSwitch<'a>> {
    sorted.iter().filter_map(|argument| match argument {
        Argument::Switch(switch) => Some(switch),
        Argument::Target(_) => None,
    })
}

fn find<'a, 'b>(sorted: &'b [Argument<'a>], letter: char) -> Option<&'b TypedSwitch<'a>> {
    switches(sorted).find(|switch| switch.letter == letter)
}

/// A switch that is easily typed for its other case: the letter, that of the likely meaning,
/// whether the value fits that meaning, and what the switch does instead.
type CaseMistake = (char, char, fn(&str) -> bool, &'static str);

const MISREAD: [CaseMistake; 4] = [
    (
        'D',
        'd',
        is_number,
        "the interval of IOPS statistics in ms, and the test lasts 10 s",
    ),
    ('W', 'w', is_share, "a warm-up in seconds, and nothing is written"),
    (
        'C',
        'c',
        has_size_suffix,
        "a cool-down in seconds, and no file is created",
    ),
    ('l', 'L', str::is_empty, "large pages, and no latency is measured"),
];

/// Hints for accepted switches of the wrong case. A profile has its own values.
fn other_case(sorted: &[Argument<'_>]) -> Vec<String> {
    if find(sorted, 'X').is_some() {
        return Vec::new();
    }
    let misread = MISREAD.iter().filter_map(|(letter, likely, fits, meaning)| {
        let switch = find(sorted, *letter).filter(|switch| fits(switch.value))?;
        let (typed, value) = (switch.typed, switch.value);
        (find(sorted, *likely).is_none())
            .then(|| format!("`{typed}` means {meaning}; did you mean `-{likely}{value}`?"))
    });
    misread.collect()
}

fn is_number(value: &str) -> bool {
    value.parse::<u32>().is_ok()
}

/// True for a likely percentage of writes. The default warm-up is 5 s.
fn is_share(value: &str) -> bool {
    value.parse::<u32>().is_ok_and(|number| (10..=100).contains(&number))
}

fn has_size_suffix(value: &str) -> bool {
    value.ends_with(['K', 'M', 'G', 'T', 'k', 'm', 'g', 't'])
}

/// The largest rate in bytes per millisecond that is likely to be meant as operations per second.
const MAX_LIKELY_OPERATIONS: u64 = 10_000;

/// States what a low rate in bytes amounts to: most people think in operations.
fn rate_in_bytes(sorted: &[Argument<'_>]) -> Option<String> {
    let rate = find(sorted, 'g')?;
    let amount: u64 = rate
        .value
        .parse()
        .ok()
        .filter(|amount| (1..=MAX_LIKELY_OPERATIONS).contains(amount))?;
    let size = find(sorted, 'b').map_or("64K", |block| block.value);
    let block = super::numbers::parse_size(size, 64 << 10)
        .ok()
        .filter(|bytes| *bytes > 0)?;
    let (megabytes, operations) = (amount as f64 / 1000.0, amount as f64 * 1000.0 / block as f64);
    Some(format!(
        "`{typed}` is {amount} bytes per millisecond, for each thread and target {megabytes:.1} MB/s or \
         {operations:.0} operations of {size} per second; `-g{amount}i` is {amount} operations per second",
        typed = rate.typed
    ))
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
