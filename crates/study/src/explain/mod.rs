//! What a result means that is there already, whoever measured it: its load, its figures with their units, how far they can be
//! trusted, and where they stand to limits.

mod sentences;

use analysis::caps::Layer;
use analysis::identities::{self, Little, Percentile, Purpose};
use analysis::standing::{Standing, standings};
use model::finding::Finding;
use model::observation::Observation;
use serde::Serialize;

/// Version of the explanation's form.
pub const FORMAT_VERSION: u32 = 1;

/// Where a result comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Source {
    /// The file, or `standard input`.
    pub file: String,
    /// Its form, in words.
    pub form: String,
    /// The machine that measured, as the result names it.
    pub host: Option<String>,
    /// When, as the result says it.
    pub started: Option<String>,
    /// Processors that the result counts.
    pub processors: Option<u32>,
    /// Command lines that it echoes.
    pub commands: Vec<String>,
    /// Where figures that somebody wrote down come from.
    pub origin: Option<String>,
}

/// What it is held against.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// Limits between the program and its data.
    pub layers: Vec<Layer>,
    /// A promise is judged by it.
    pub promise: bool,
}

/// An explanation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Version of this form.
    pub format_version: u32,
    /// `explanation`.
    pub kind: String,
    /// Where the result comes from.
    pub source: Source,
    /// What reading it showed.
    pub remarks: Vec<Finding>,
    /// Each load by itself.
    pub loads: Vec<Explained>,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// What the result says of it.
    pub observation: Observation,
    /// What that means.
    pub sentences: Vec<String>,
    /// Operations in flight.
    pub little: Option<Little>,
    /// Percentiles, with how far each can be trusted.
    pub percentiles: Vec<Percentile>,
    /// Where it stands to each limit, the nearest first.
    pub limits: Vec<Standing>,
    /// What weakens it.
    pub findings: Vec<Finding>,
}

/// Explains loads of a source. `remarks` is what reading it showed.
pub fn explain(source: Source, remarks: Vec<Finding>, loads: Vec<Observation>, asked: &Asked) -> Explanation {
    Explanation {
        format_version: FORMAT_VERSION,
        kind: "explanation".into(),
        source,
        remarks,
        loads: loads.into_iter().map(|load| explained(load, asked)).collect(),
    }
}

fn explained(observation: Observation, asked: &Asked) -> Explained {
    let limits = standings(&observation, &asked.layers);
    let purpose = Purpose { promise: asked.promise };
    Explained {
        sentences: sentences::of(&observation, &limits),
        little: identities::little(&observation),
        percentiles: identities::percentiles(&observation),
        findings: identities::examine(&observation, purpose),
        limits,
        observation,
    }
}

impl Explanation {
    /// Every finding, those of reading first.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.remarks
            .iter()
            .chain(self.loads.iter().flat_map(|load| &load.findings))
    }
}
