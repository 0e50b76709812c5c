//! The data of a page, in reading order.

use model::finding::{Finding, Severity};

use super::chart::Chart;
use super::path::IoPath;

/// A report as one page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Name of the test.
    pub title: String,
    /// Load, targets, time and machine, one line each.
    pub about: Vec<String>,
    /// Whether the requirements were met.
    pub verdict: Verdict,
    /// A table of the compared results, below the verdict.
    pub table: Option<Table>,
    /// The most important sentences, shown first.
    pub lead: Vec<Lead>,
    /// The most important figures; four fit side by side.
    pub tiles: Vec<Tile>,
    /// Charts on the first screen.
    pub charts: Vec<Chart>,
    /// Findings of the checks.
    pub findings: Vec<Finding>,
    /// Everything else.
    pub sections: Vec<Section>,
    /// Embedded files.
    pub downloads: Vec<Download>,
    /// Program, version, time and machine, in the footer.
    pub provenance: String,
}

impl Page {
    /// Moves the charts with these identifiers from their sections to the first screen, in the
    /// order of the identifiers.
    pub fn promote_charts(&mut self, ids: &[&str]) {
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

/// Puts the mark of simulated storage, if there is one, before a title.
pub fn mark_title(simulation: Option<&str>, title: &str) -> String {
    match simulation {
        Some(simulation) => format!("{simulation} — {title}"),
        None => title.to_owned(),
    }
}

/// Whether the requirements were met.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The verdict in a word; empty without requirements.
    pub word: String,
    /// Its part of the title, such as the missed limit and by how much; may be empty.
    pub headline: String,
    /// The meaning of the word.
    pub tone: Tone,
    /// The requirements, or how to set some.
    pub sentence: String,
    /// The outcome of each requirement.
    pub clauses: Vec<Clause>,
    /// Caveats, a sentence each.
    pub notes: Vec<String>,
    /// Options that the next attempt needs, with their values.
    pub options: Vec<(String, String)>,
    /// What to do next, an imperative clause each.
    pub actions: Vec<String>,
    /// Cases that the reader has to tell apart, each with the option that tests it.
    pub alternatives: Vec<(String, (String, String))>,
    /// A promised figure that was not tested, and the option that tests it.
    pub untested: Option<(String, (String, String))>,
    /// The command that judged a saved result; absent if the test itself did.
    pub judged_by: Option<JudgeCommand>,
}

impl Verdict {
    /// Creates a verdict without clauses, notes and advice.
    pub fn new(word: impl Into<String>, tone: Tone, sentence: impl Into<String>) -> Verdict {
        Verdict {
            word: word.into(),
            tone,
            sentence: sentence.into(),
            ..Verdict::default()
        }
    }
}

/// A `fathom report` command that judged a saved result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeCommand {
    /// Its command line, one argument an entry.
    pub arguments: Vec<String>,
    /// The saved result that the command read.
    pub file: String,
}

/// One requirement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clause {
    /// Name of the judged job, if there are several.
    pub job: Option<String>,
    /// The requirement as text.
    pub promised: String,
    /// The outcome in a word.
    pub word: String,
    /// The meaning of the word.
    pub tone: Tone,
    /// The figures and the reason.
    pub sentence: String,
    /// Its line in the charts of its figure.
    pub line: Option<Line>,
}

/// A required value, drawn as a line in charts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line {
    /// Operations per second.
    Iops(f64),
    /// Bytes per second.
    Throughput(f64),
    /// Nanoseconds.
    Latency(f64),
    /// The share of operations that must take no longer, and nanoseconds.
    Percentile(f64, f64),
}

/// The meaning of a word, which decides its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// The requirement is met.
    Good,
    /// No requirement is missed, and another test can decide those that are open.
    Partly,
    /// The requirement is missed.
    Bad,
    /// The evidence does not decide it.
    Unsure,
    /// Information without a judgement.
    #[default]
    Plain,
}

impl Tone {
    /// True if no requirement is missed and at least one is met.
    pub fn is_pass(self) -> bool {
        matches!(self, Tone::Good | Tone::Partly)
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Partly | Tone::Unsure => "unsure",
            Tone::Plain => "plain",
        }
    }
}

/// An important sentence with a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lead {
    /// The topic, in a few words.
    pub topic: String,
    /// The finding in one sentence.
    pub sentence: String,
    /// Advice on what to do.
    pub advice: Vec<String>,
}

impl Lead {
    /// Creates a lead.
    pub fn new(topic: &str, sentence: String, advice: Vec<String>) -> Lead {
        Lead {
            topic: topic.into(),
            sentence,
            advice,
        }
    }
}

/// An important figure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tile {
    /// Name of the figure.
    pub name: String,
    /// Value with its unit.
    pub value: String,
    /// Additional information, such as the confidence interval.
    pub note: String,
}

impl Tile {
    /// Creates a tile.
    pub fn new(name: &str, value: String, note: String) -> Tile {
        Tile {
            name: name.into(),
            value,
            note,
        }
    }
}

/// A part of a page with a title.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Heading of the section.
    pub title: String,
    /// Introduction; may be empty.
    pub about: String,
    /// Closed until the reader opens it.
    pub folded: bool,
    /// Content.
    pub blocks: Vec<Block>,
}

impl Section {
    /// Creates an open section without an introduction.
    pub fn new(title: impl Into<String>, blocks: Vec<Block>) -> Section {
        Section {
            title: title.into(),
            blocks,
            ..Section::default()
        }
    }

    /// Creates a section that is closed until the reader opens it.
    pub fn folded(title: impl Into<String>, blocks: Vec<Block>) -> Section {
        Section {
            folded: true,
            ..Section::new(title, blocks)
        }
    }
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
    /// An I/O path.
    Path(IoPath),
    /// Text to copy.
    Code {
        /// Heading.
        title: String,
        /// Preformatted text.
        text: String,
        /// Caveats, a sentence each.
        notes: Vec<String>,
    },
}

impl Block {
    /// Creates a block for a chart, unless the chart is empty.
    pub fn chart_block(chart: Option<Chart>) -> Option<Block> {
        chart
            .filter(|chart| !chart.is_empty())
            .map(|chart| Block::Chart(Box::new(chart)))
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Caption.
    pub caption: String,
    /// Titles of the columns.
    pub head: Vec<String>,
    /// Rows; the first cell of each is the row's name.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with a title for each column.
    pub fn new(caption: &str, head: &[&str], rows: Vec<Vec<String>>) -> Table {
        Table {
            caption: caption.into(),
            head: head.iter().copied().map(str::to_owned).collect(),
            rows,
        }
    }

    /// Creates a table of names and values.
    pub fn from_pairs(caption: &str, pairs: impl IntoIterator<Item = (String, String)>) -> Table {
        Table {
            caption: caption.into(),
            head: Vec::new(),
            rows: pairs.into_iter().map(|(name, value)| vec![name, value]).collect(),
        }
    }
}

/// A file embedded in a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Download {
    /// Suggested file name.
    pub file: String,
    /// Label of its button.
    pub words: String,
    /// Its media type.
    pub media: String,
    /// Content of the file.
    pub text: String,
}

impl Download {
    /// Creates the download of a JSON document.
    pub fn json(file: String, words: &str, text: String) -> Download {
        Download {
            file,
            words: words.into(),
            media: "application/json".into(),
            text,
        }
    }

    /// Creates the download of a CSV table.
    pub fn csv(file: String, words: &str, text: String) -> Download {
        Download {
            media: "text/csv".into(),
            ..Download::json(file, words, text)
        }
    }
}

/// Adds to a statement the runs or jobs that it is about, if there are several.
pub fn add_places(statement: &str, names: &[&str]) -> String {
    match names {
        [] | [_] => statement.to_owned(),
        [first, others @ ..] => format!("{statement} ({first}; also in {})", others.join(", ")),
    }
}

/// Names the runs or jobs that a finding is about.
pub fn name_places(mut finding: Finding, names: &[&str]) -> Finding {
    match names {
        [] => {}
        [only] => finding.at = Some((*only).to_owned()),
        names => {
            finding.what = add_places(&finding.what, names);
            finding.at = None;
        }
    }
    finding
}

/// Sorts findings, the most severe first.
pub(crate) fn sort_by_severity(findings: &[Finding]) -> Vec<&Finding> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    sorted
}

pub(super) fn severity_class(severity: Severity) -> &'static str {
    severity.word()
}
