//! Sorts arguments into switches and targets.

/// An argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument<'a> {
    /// A switch.
    Switch(TypedSwitch<'a>),
    /// Anything else.
    Target(&'a str),
}

/// A switch as the user typed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypedSwitch<'a> {
    /// The whole argument.
    pub(super) typed: &'a str,
    /// The letter; NUL for a lone dash, which no switch has.
    pub(super) letter: char,
    /// The text after the letter.
    pub(super) value: &'a str,
    /// The dash is a typographic one.
    pub(super) typographic: bool,
}

/// Sorts the arguments. A path may begin with `/`, except where that introduces switches.
pub(super) fn sort<'a>(arguments: &'a [String], slash: bool) -> Vec<Argument<'a>> {
    arguments.iter().map(|typed| sort_one(typed, slash)).collect()
}

fn sort_one(typed: &str, slash: bool) -> Argument<'_> {
    let mut letters = typed.chars();
    let typographic = match letters.next() {
        Some('-') => false,
        Some('/') if slash => false,
        // Documents and blogs turn `-` into these dashes. DiskSpd treats such an argument as a
        // target.
        Some('\u{2010}'..='\u{2015}' | '\u{2212}') => true,
        _ => return Argument::Target(typed),
    };
    Argument::Switch(TypedSwitch {
        typed,
        letter: letters.next().unwrap_or('\0'),
        value: letters.as_str(),
        typographic,
    })
}
