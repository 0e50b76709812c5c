//! fio's suggestions for unknown names. As in fio, job files get no suggestions of aliases, and on
//! a command line the value counts as part of the name.

use super::flags::FLAGS;
use super::table;

/// The suggestion for a name in a job file.
pub(super) fn similar_option(name: &str) -> Option<&'static str> {
    find_closest(
        name,
        table::common_rows()
            .filter(|row| row.engines.is_empty())
            .map(|row| row.name),
    )
}

/// The option to explain instead of an unknown one. It must be more similar than a suggestion.
pub(super) fn similar_help_topic(name: &str) -> Option<&'static str> {
    similar_option(name).filter(|candidate| edit_distance(name, candidate) < 3)
}

/// The suggestion for an argument without its dashes.
pub(super) fn similar_argument(typed: &str) -> Option<&'static str> {
    let flags = FLAGS.iter().map(|flag| flag.name);
    find_closest(typed, flags.chain(table::common_rows().flat_map(|row| row.names())))
}

/// The first of the closest names, if at most half of its characters differ.
fn find_closest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let allowed = name.len().div_ceil(2);
    // The edit distance is at least the difference in length. This check matters because a
    // malformed name may be as long as its file.
    let scored = names
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= allowed)
        .map(|candidate| (edit_distance(name, candidate), candidate));
    let (edits, candidate) = scored.min_by_key(|(edits, _)| *edits)?;
    (edits <= allowed).then_some(candidate)
}

/// The edit distance: insertions, deletions and substitutions.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for j in 0..b.len() {
            let substituted = diagonal + usize::from(*letter != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by mutated command lines: without the length check, comparing such a name took
    /// seconds.
    #[test]
    fn a_name_as_long_as_its_file_is_not_compared() {
        let begun = std::time::Instant::now();
        assert_eq!(similar_argument(&"[".repeat(200_000)), None);
        assert_eq!(similar_option(&"(".repeat(200_000)), None);
        assert_eq!(similar_option("ioengin"), Some("ioengine"));
        assert!(begun.elapsed().as_secs() < 5);
    }
}
