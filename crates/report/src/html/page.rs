//! A page: what stands on it, in the order in which it is read.

use model::finding::{Finding, Severity};

use super::chart::Chart;
use super::path::IoPath;

/// A report as one page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Name of the test.
    pub title: String,
    /// What and where it was, a line each.
    pub about: Vec<String>,
    /// Whether what was promised is kept.
    pub verdict: Verdict,
    /// The sentences that matter, before everything else.
    pub lead: Vec<Lead>,
    /// The figures that matter; four fit beside each other.
    pub tiles: Vec<Tile>,
    /// The charts that a reader sees first.
    pub charts: Vec<Chart>,
    /// What the checks found.
    pub findings: Vec<Finding>,
    /// Everything else.
    pub sections: Vec<Section>,
    /// Files that the page holds.
    pub downloads: Vec<Download>,
    /// What made it, below everything and below every chart.
    pub provenance: String,
}

impl Page {
    /// Moves the charts with these identifiers from their sections to the first screen, in the
    /// order of the identifiers.
    pub fn raise_charts(&mut self, ids: &[&str]) {
        for id in ids {
            for section in &mut self.sections {
                let is_it = |block: &Block| matches!(block, Block::Chart(chart) if chart.id == *id);
                let place = section.blocks.iter().position(is_it);
                if let Some(Block::Chart(chart)) = place.map(|place| section.blocks.remove(place)) {
                    self.charts.push(*chart);
                }
            }
        }
    }
}

/// Whether what was promised is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// In a word; empty where nothing was promised.
    pub word: String,
    /// What the title says of it, such as what is missed and by how much; may be empty.
    pub headline: String,
    /// What the word means for the reader.
    pub tone: Tone,
    /// What was promised, or how to ask.
    pub sentence: String,
    /// Each promise.
    pub clauses: Vec<Clause>,
    /// What to mind, a sentence each.
    pub notes: Vec<String>,
    /// Options that the next try needs, with their values.
    pub options: Vec<(String, String)>,
}

/// One promise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clause {
    /// What was promised.
    pub promised: String,
    /// What came of it, in a word.
    pub word: String,
    /// What the word means.
    pub tone: Tone,
    /// The figures and the reason.
    pub sentence: String,
    /// The line that it is in the charts of its figure.
    pub line: Option<Line>,
}

/// What was promised, as a line in charts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line {
    /// Operations per second.
    Iops(f64),
    /// Bytes per second.
    Throughput(f64),
    /// Nanoseconds.
    Latency(f64),
}

/// What a word means for the reader. The word itself says it as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// Not known.
    Unsure,
    /// Neither: it only informs.
    #[default]
    Plain,
}

impl Tone {
    pub(super) fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Unsure => "unsure",
            Tone::Plain => "plain",
        }
    }
}

/// A sentence that matters, with a word or two before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lead {
    /// What it is about.
    pub topic: String,
    /// The sentence.
    pub sentence: String,
    /// What to do.
    pub advice: Vec<String>,
}

/// A figure that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tile {
    /// What it is.
    pub name: String,
    /// The figure with its unit.
    pub value: String,
    /// What to know about it.
    pub note: String,
}

/// A part of a page with a title.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// What it is about; may be empty.
    pub about: String,
    /// It is closed until the reader opens it.
    pub folded: bool,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A chart.
    Chart(Box<Chart>),
    /// A table.
    Table(Table),
    /// The path of an operation.
    Path(IoPath),
    /// Text to be copied.
    Code {
        /// What it is.
        title: String,
        /// The text.
        text: String,
        /// What to mind about it, a sentence each.
        notes: Vec<String>,
    },
}

impl Block {
    /// A chart, if it shows anything.
    pub fn chart(chart: Option<Chart>) -> Option<Block> {
        chart
            .filter(|chart| !chart.is_empty())
            .map(|chart| Block::Chart(Box::new(chart)))
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Titles of the columns.
    pub head: Vec<String>,
    /// Rows; the first cell of each is its name.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of names and values.
    pub fn of_pairs(caption: &str, pairs: impl IntoIterator<Item = (String, String)>) -> Table {
        Table {
            caption: caption.into(),
            head: Vec::new(),
            rows: pairs.into_iter().map(|(name, value)| vec![name, value]).collect(),
        }
    }
}

/// A file that a page holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Download {
    /// Its name.
    pub file: String,
    /// What it is.
    pub words: String,
    /// Its media type.
    pub media: String,
    /// Its text.
    pub text: String,
}

/// The order in which findings matter.
pub(crate) fn by_weight(findings: &[Finding]) -> Vec<&Finding> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    sorted
}

/// The class of a severity in the style sheet.
pub(super) fn class_of(severity: Severity) -> &'static str {
    severity.word()
}
