//! The words of the field that a page uses, each explained in a line at its end.

use std::fmt::Write;

use super::escape::text;
use super::page::Page;

/// Terms at most.
const MAX_TERMS: usize = 10;

/// A term as the page writes it, and its meaning.
type Term = (&'static str, &'static str);

/// Those that matter most first. A term stands on a page if one of the words before `|` does.
const TERMS: [Term; 12] = [
    ("IOPS", "operations (reads or writes) per second; more is better"),
    ("latency|response time", "how long one operation takes; less is better"),
    (
        "p99|p99.9|percentile",
        "99 % (99.9 %, that share) of the operations took no longer than this",
    ),
    ("±|95 %", "the range in which the figure lies with 95 % confidence"),
    (
        "in flight|depth|QD",
        "operations that are under way at the same time (queue depth, QD)",
    ),
    (
        "random",
        "at places all over the disk, as databases do it; sequential: one place after the other, as copies do it",
    ),
    (
        "direct",
        "past the system's memory, so that the disk itself is measured",
    ),
    ("warm-up", "the time before the measurement, which does not count"),
    (
        "MiB|GiB|KiB",
        "1 KiB is 1,024 bytes, 1 MiB 1,024 KiB, 1 GiB 1,024 MiB; 1 MB is 1,000,000 bytes",
    ),
    ("paced", "issued at a fixed rate, not as fast as the disk takes it"),
    (
        "knee",
        "the load beyond which operations wait longer and no more of them are done",
    ),
    (
        "credits",
        "a cloud disk's allowance for short bursts; it slows down when they are spent",
    ),
];

/// The terms that the first screen uses.
pub(super) fn on_page(page: &Page) -> Vec<Term> {
    let mut seen = vec![page.title.as_str(), &page.verdict.sentence];
    seen.extend(page.about.iter().map(String::as_str));
    seen.extend(
        page.verdict
            .clauses
            .iter()
            .flat_map(|one| [&*one.promised, &*one.sentence]),
    );
    seen.extend(page.verdict.notes.iter().map(String::as_str));
    seen.extend(page.lead.iter().map(|one| &*one.sentence));
    seen.extend(page.tiles.iter().flat_map(|one| [&*one.name, &*one.value, &*one.note]));
    seen.extend(
        page.charts
            .iter()
            .flat_map(|one| [&*one.title, &*one.about, &*one.y.unit]),
    );
    let seen = seen.join(" ").to_lowercase();
    let is_seen = |(names, _): &Term| names.split('|').any(|name| has_word(&seen, &name.to_lowercase()));
    TERMS.into_iter().filter(is_seen).take(MAX_TERMS).collect()
}

/// Whether a text has a word, or several, as a whole.
fn has_word(seen: &str, word: &str) -> bool {
    let is_end = |letter: Option<char>| !letter.is_some_and(char::is_alphanumeric);
    seen.match_indices(word)
        .any(|(at, _)| is_end(seen[..at].chars().next_back()) && is_end(seen[at + word.len()..].chars().next()))
}

/// The list of terms.
pub(super) fn write(terms: &[Term], out: &mut String) {
    if terms.is_empty() {
        return;
    }
    out.push_str("<section id=\"terms\">\n<h2>What the words mean</h2>\n<dl class=\"glossary\">\n");
    for (names, meaning) in terms {
        let names = names.replace('|', ", ");
        let _ = writeln!(out, "<div><dt>{}</dt>: <dd>{}</dd></div>", text(&names), text(meaning));
    }
    out.push_str("</dl>\n</section>\n");
}
