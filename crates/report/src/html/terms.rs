//! The glossary of a page: the terms that it uses, each explained in a line.

use std::fmt::Write;

use super::chart::Chart;
use super::escape::escape_text;
use super::page::{Block, Page, Section, Table};
use super::path::BOTTLENECK;

/// A term as the page writes it, and its meaning.
type Term = (&'static str, &'static str);

/// All terms, the most important first. `|` separates the words of a term; any of them on a page is
/// enough to list it.
const TERMS: [Term; 34] = [
    ("IOPS", "operations (reads or writes) per second; more is better"),
    ("latency", "how long one operation takes; less is better"),
    (
        "response time",
        "time from the scheduled start of an operation to its completion: wait plus latency",
    ),
    (
        "p99|p99.9|percentile",
        "99 % (or 99.9 %, and so on) of the operations took no longer than this",
    ),
    (
        "mean|median",
        "the average; the median (p50) is the middle: half of the operations took no longer",
    ),
    (
        "availability",
        "the share of all seconds in which the storage kept the other promises",
    ),
    ("~", "a weak percentile: fewer than 100 operations were slower"),
    ("±|95 %", "the range that contains the figure with 95 % confidence"),
    (
        "in flight|depth|QD",
        "number of operations in progress at the same time (queue depth, QD)",
    ),
    (
        "random",
        "at offsets all over the disk, as in databases; sequential: one offset after the other, as in copying",
    ),
    (
        "direct",
        "bypassing the page cache, so that the disk itself is measured",
    ),
    ("warm-up", "the time before the measurement, which does not count"),
    (
        "MiB|GiB|KiB",
        "1 KiB is 1,024 bytes, 1 MiB 1,024 KiB, 1 GiB 1,024 MiB; 1 MB is 1,000,000 bytes",
    ),
    ("paced", "issued at a fixed rate instead of as fast as possible"),
    ("knee", "the load above which latency grows and the rate does not"),
    (
        "credits",
        "a cloud disk's allowance for short bursts; it slows down when they are spent",
    ),
    ("throughput|MB/s|MiB/s", "bytes per second; more is better"),
    (
        "fsync|flush|commits",
        "a program's request to store its writes for good; a database commits by a write and then a flush (fsync), so \
         a commit takes the sum of both times",
    ),
    (
        "CONSISTENT",
        "the test agrees with the promise but is too short to prove it",
    ),
    ("baseline", "the result with which the others are compared"),
    ("margin", "differences of up to this share count as the same"),
    ("stall|stalls", "a time in which no operation completed"),
    ("dip|dips", "a short time in which the rate was lower"),
    (
        "slot|slots",
        "room for one operation in progress; with all slots in use, further operations wait",
    ),
    (
        "trim|trims",
        "a request that tells the disk which blocks are no longer used",
    ),
    (
        "bottleneck",
        "the part that limits the rate; faster parts elsewhere change nothing",
    ),
    (
        "page cache",
        "memory in which the system keeps parts of files; it answers faster than the disk",
    ),
    (
        "hypervisor",
        "the program that shares one machine among several virtual machines",
    ),
    (
        "io_uring|libaio|psync",
        "the system's interface through which the operations were issued",
    ),
    ("USL", "universal scalability law: a curve fitted to the measured rates"),
    (
        "Kneedle|N*|power",
        "methods that find the load above which the rate hardly grows",
    ),
    (
        "interrupts",
        "signals with which devices report completed operations to a processor",
    ),
    ("entry", "a result in the local history, by its number"),
    ("rank|ranks", "a process of a test on several hosts, by its number"),
];

pub(super) fn find_terms(page: &Page) -> Vec<Term> {
    let mut screen_text = vec![page.title.as_str(), &page.verdict.word, &page.verdict.sentence];
    screen_text.extend(page.sections.iter().flat_map(list_texts));
    screen_text.extend(page.table.iter().flat_map(list_cells));
    screen_text.extend(page.about.iter().map(String::as_str));
    screen_text.extend(
        page.verdict
            .clauses
            .iter()
            .flat_map(|clause| [&*clause.word, &*clause.promised, &*clause.sentence]),
    );
    screen_text.extend(page.verdict.notes.iter().map(String::as_str));
    screen_text.extend(page.lead.iter().map(|lead| &*lead.sentence));
    screen_text.extend(page.lead.iter().flat_map(|lead| &lead.advice).map(String::as_str));
    screen_text.extend(
        page.tiles
            .iter()
            .flat_map(|tile| [&*tile.name, &*tile.value, &*tile.note]),
    );
    screen_text.extend(page.charts.iter().flat_map(list_chart_texts));
    let screen_text = screen_text.join(" ").to_lowercase();
    // Wilcoxon's ranks are no processes.
    let screen_text = screen_text.replace("signed ranks", "").replace("rank test", "");
    let is_seen = |(names, _): &Term| {
        names
            .split('|')
            .any(|name| has_word(&screen_text, &name.to_lowercase()))
    };
    TERMS.into_iter().filter(is_seen).collect()
}

/// Lists the texts of a section. Commands and settings, which quote other programs, have none.
fn list_texts(section: &Section) -> Vec<&str> {
    let blocks = section.blocks.iter().flat_map(list_block_texts);
    [&*section.title, &*section.about].into_iter().chain(blocks).collect()
}

fn list_block_texts(block: &Block) -> Vec<&str> {
    match block {
        Block::Text(sentence) => vec![sentence],
        Block::Chart(chart) => list_chart_texts(chart),
        Block::Table(table) => list_cells(table),
        Block::Path(path) => {
            let facts = path.layers.iter().flat_map(|layer| &layer.facts).map(String::as_str);
            facts.chain([BOTTLENECK]).collect()
        }
        Block::Code { .. } => Vec::new(),
    }
}

fn list_chart_texts(chart: &Chart) -> Vec<&str> {
    let names = chart.series.iter().map(|series| &*series.name);
    let marks = chart.marks.iter().map(|mark| &*mark.words);
    [&*chart.title, &*chart.about, &*chart.y.unit]
        .into_iter()
        .chain(names)
        .chain(marks)
        .collect()
}

fn list_cells(table: &Table) -> Vec<&str> {
    let cells = table.head.iter().chain(table.rows.iter().flatten());
    cells.map(String::as_str).collect()
}

/// True if the text contains a whole word or phrase, or a sign anywhere.
fn has_word(text: &str, word: &str) -> bool {
    let is_sign = !word.contains(char::is_alphanumeric);
    let is_end = |letter: Option<char>| is_sign || !letter.is_some_and(char::is_alphanumeric);
    text.match_indices(word)
        .any(|(at, _)| is_end(text[..at].chars().next_back()) && is_end(text[at + word.len()..].chars().next()))
}

pub(super) fn write(terms: &[Term], out: &mut String) {
    if terms.is_empty() {
        return;
    }
    out.push_str("<section id=\"terms\">\n<h2>Glossary</h2>\n<dl class=\"glossary\">\n");
    for (names, meaning) in terms {
        let names = names.replace('|', ", ");
        let _ = writeln!(
            out,
            "<div><dt>{}</dt>: <dd>{}</dd></div>",
            escape_text(&names),
            escape_text(meaning)
        );
    }
    out.push_str("</dl>\n</section>\n");
}
