//! The known word that an unknown one was probably meant to be.

/// The candidate with the fewest edits from `word`, if they change at most a third of its
/// characters, or one.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = word.chars().count();
    let scored = candidates.into_iter().filter_map(|candidate| {
        let candidate_length = candidate.chars().count();
        let allowed = (candidate_length / 3).max(1);
        // Those of another length need as many edits, and a word may be as long as its file.
        (candidate_length.abs_diff(letters) <= allowed).then(|| (count_edits(word, candidate), candidate, allowed))
    });
    let (distance, candidate, allowed) = scored.min()?;
    (distance <= allowed).then_some(candidate)
}

/// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
fn count_edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut min_distance = changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                min_distance = min_distance.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = min_distance;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_corrected_and_unrelated_words_are_not() {
        let known = ["block", "depth", "workers", "warm-up"];
        assert_eq!(nearest("blok", known), Some("block"));
        assert_eq!(nearest("detph", known), Some("depth"));
        assert_eq!(nearest("worker", known), Some("workers"));
        assert_eq!(nearest("warmup", known), Some("warm-up"));
        assert_eq!(nearest("colour", known), None);
    }

    /// Found by mutated job files: comparing a word that long with every option took seconds.
    #[test]
    fn a_word_as_long_as_its_file_is_not_compared() {
        let known = ["depth"; 1000];
        let begun = std::time::Instant::now();
        assert_eq!(nearest(&"[".repeat(100_000), known), None);
        assert!(begun.elapsed().as_secs() < 5);
    }
}
