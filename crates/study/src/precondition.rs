//! Bringing a device into the state in which a used one is: fill it twice over, then load it in
//! rounds until the rate of the rounds is steady.
//!
//! SNIA's Solid State Storage Performance Test Specification 2.0 calls the first the
//! workload-independent, the second the workload-dependent preconditioning. A [`Procedure`] decides
//! what comes next and judges the rounds; the caller makes plans of that and hands back what came
//! of them.

use model::Bytes;
use model::Nanos;
use model::observation::Observation;
use model::results::Results;
use model::stats::{SniaWindow, snia_window};
use serde::Serialize;

use crate::numbers::{rounded, throughput};

/// Times that the range is written before the rounds.
pub const PASSES: u32 = 2;
/// Bytes of an operation that fills.
pub const FILL_BLOCK: Bytes = Bytes::kib(128);
/// Operations in flight while it fills.
pub const FILL_DEPTH: u32 = 32;
/// Length of a round, or of each cell of one.
pub const ROUND: Nanos = Nanos::secs(60);
/// Rounds at most.
pub const ROUNDS: u32 = 25;
/// Rounds that are judged together.
pub const WINDOW: u32 = 5;
/// Operations in flight in a round, unless it is said.
pub const DEPTH: u32 = 32;

/// Shares of reads of the specification's test of IOPS, in percent.
const MIXES: [u32; 7] = [100, 95, 65, 50, 35, 5, 0];
/// Its sizes in bytes.
const SIZES: [u64; 8] = [
    1024 << 10,
    128 << 10,
    64 << 10,
    32 << 10,
    16 << 10,
    8 << 10,
    4 << 10,
    512,
];

/// One kind of operations of a round of the matrix: random positions, one size, one mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Percent of the operations that read.
    pub read_percent: u32,
    /// Bytes of an operation.
    pub block: Bytes,
}

impl Cell {
    /// The cell whose rate decides: random writes of 4 KiB.
    pub const TRACKED: Cell = Cell {
        read_percent: 0,
        block: Bytes::kib(4),
    };

    /// Its name in tables: share of reads, share of writes, size.
    pub fn name(self) -> String {
        format!("{}/{} {}", self.read_percent, 100 - self.read_percent, self.block)
    }
}

/// The 56 cells of the test of IOPS, in its order: from reads to writes, from large to small.
pub fn matrix() -> Vec<Cell> {
    let of_mix = |read_percent: u32| {
        SIZES.map(|size| Cell {
            read_percent,
            block: Bytes(size),
        })
    };
    MIXES.into_iter().flat_map(of_mix).collect()
}

/// What a procedure is to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// Times that the range is written first.
    pub passes: u32,
    /// Length of a round, or of each cell of one.
    pub round: Nanos,
    /// Rounds at most.
    pub rounds: u32,
    /// The cells of each round; empty where a round is one load, as the user describes it.
    pub cells: Vec<Cell>,
    /// The load of a round in words.
    pub load: String,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The range is written.
    Fill,
    /// Part of a round.
    Round {
        /// Its number, from 1.
        number: u32,
        /// The cell, and its number from 0; absent where a round is one load.
        cell: Option<(usize, Cell)>,
    },
}

/// What filling took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fill {
    /// Bytes written.
    pub bytes: Bytes,
    /// How long it took.
    pub took_ns: Nanos,
}

/// What one cell of a round measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The cell; absent where a round is one load.
    pub cell: Option<Cell>,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_sec: f64,
    /// Mean latency; of paced loads the response.
    pub mean_ns: f64,
    /// 99.9th percentile of the same; absent where fewer than ten operations lie beyond it.
    pub p999_ns: Option<f64>,
    /// Bytes written.
    pub written: Bytes,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Round {
    /// Its number, from 1.
    pub number: u32,
    /// The rate that is judged: operations per second of the only load, or of the tracked cell.
    pub tracked: f64,
    /// Everything that it measured.
    pub measured: Vec<Measured>,
    /// The window that ends with it; absent before the fifth.
    pub window: Option<Window>,
}

/// Rounds that are judged together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Number of its first round.
    pub first: u32,
    /// Number of its last.
    pub last: u32,
    /// Its figures.
    #[serde(flatten)]
    pub figures: SniaWindow,
    /// Both conditions of the specification hold.
    pub steady: bool,
    /// They hold, too, where the first is read more strictly: no round is further than 10 % from
    /// the mean.
    pub steady_by_stricter_reading: bool,
}

/// The window that ends with the last of these rates; `None` if there are too few, or the rate
/// is 0.
pub fn window_of(rates: &[f64]) -> Option<Window> {
    let count = WINDOW as usize;
    let judged = rates.get(rates.len().checked_sub(count)?..)?;
    let figures = snia_window(judged)?;
    let last = rates.len() as u32;
    Some(Window {
        first: last + 1 - WINDOW,
        last,
        figures,
        steady: figures.is_steady(),
        steady_by_stricter_reading: figures.is_strictly_steady(),
    })
}

/// A procedure in progress.
#[derive(Debug)]
pub struct Procedure {
    asked: Asked,
    fill: Option<Fill>,
    rounds: Vec<Round>,
    /// Cells of the round that is not complete.
    current: Vec<Measured>,
}

impl Procedure {
    /// A procedure that has not begun.
    pub fn new(asked: Asked) -> Procedure {
        Procedure {
            asked,
            fill: None,
            rounds: Vec::new(),
            current: Vec::new(),
        }
    }

    /// What comes next; `None` once it is steady or all rounds are done.
    pub fn next_run(&self) -> Option<Next> {
        if self.asked.passes > 0 && self.fill.is_none() {
            return Some(Next::Fill);
        }
        let number = self.rounds.len() as u32 + 1;
        let steady = self.rounds.last().and_then(|round| round.window);
        if steady.is_some_and(|window| window.steady) || number > self.asked.rounds {
            return None;
        }
        let position = self.current.len();
        let cell = self.asked.cells.get(position).map(|cell| (position, *cell));
        Some(Next::Round { number, cell })
    }

    /// Takes in what came of what came next.
    ///
    /// # Errors
    /// Nothing was measured.
    pub fn take(&mut self, next: Next, results: &Results) -> Result<(), String> {
        let nothing = || "not one operation ended".to_owned();
        match next {
            Next::Fill => {
                let job = results.steps.first().and_then(|step| step.jobs.first());
                let job = job.ok_or_else(nothing)?;
                let bytes = job.total().bytes;
                self.fill = Some(Fill {
                    bytes,
                    took_ns: job.measured(),
                });
            }
            Next::Round { cell, .. } => {
                let measured = measured(cell.map(|(_, cell)| cell), results).ok_or_else(nothing)?;
                self.take_measured(measured);
            }
        }
        Ok(())
    }

    fn take_measured(&mut self, measured: Measured) {
        self.current.push(measured);
        if self.current.len() < self.asked.cells.len().max(1) {
            return;
        }
        let measured = std::mem::take(&mut self.current);
        let decides = |one: &&Measured| one.cell.is_none_or(|cell| cell == Cell::TRACKED);
        let tracked = measured.iter().find(decides).map_or(0.0, |one| one.iops);
        let rates: Vec<f64> = self.rounds.iter().map(|round| round.tracked).chain([tracked]).collect();
        self.rounds.push(Round {
            number: rates.len() as u32,
            tracked,
            measured,
            window: window_of(&rates),
        });
    }

    /// The rounds so far.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// What filling took, once it is over.
    pub fn fill(&self) -> Option<Fill> {
        self.fill
    }

    /// What the procedure says.
    pub fn report(self, target: &str, left_out: Vec<String>, interrupted: bool) -> Report {
        let written = self.fill.map_or(0, |fill| fill.bytes.0);
        let of_rounds = self
            .rounds
            .iter()
            .flat_map(|round| &round.measured)
            .chain(&self.current);
        let written = written + of_rounds.map(|one| one.written.0).sum::<u64>();
        let last = self.rounds.last().and_then(|round| round.window);
        let steady = last.filter(|window| window.steady);
        let mut report = Report {
            kind: "precondition",
            target: target.into(),
            steady: steady.is_some(),
            window: last,
            written: Bytes(written),
            fill: self.fill,
            rounds: self.rounds,
            asked: self.asked,
            left_out,
            sentences: Vec::new(),
            interrupted,
        };
        report.sentences = sentences(&report);
        report
    }
}

fn measured(cell: Option<Cell>, results: &Results) -> Option<Measured> {
    let found = Observation::from_results(results, 0, 0)?;
    let latency = found.total.waited()?;
    let enough = latency.samples.is_some_and(|samples| samples >= 10_000);
    let writes = found.directions.write.as_ref().and_then(|writes| writes.bytes);
    Some(Measured {
        cell,
        iops: found.total.iops?,
        bytes_per_sec: found.total.bytes_per_sec?,
        mean_ns: latency.mean_ns?,
        p999_ns: latency.quantile(0.999).filter(|_| enough),
        written: writes.unwrap_or_default(),
    })
}

/// What a procedure says, for people and programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Always `precondition`.
    pub kind: &'static str,
    /// What was brought into this state.
    pub target: String,
    /// What was to be done.
    pub asked: Asked,
    /// The state is steady by the rule as it is written.
    pub steady: bool,
    /// The last window; absent where there were too few rounds.
    pub window: Option<Window>,
    /// Bytes written in all.
    pub written: Bytes,
    /// What filling took; absent where nothing was filled.
    pub fill: Option<Fill>,
    /// Every round.
    pub rounds: Vec<Round>,
    /// What was not done, with the reason.
    pub left_out: Vec<String>,
    /// In words.
    pub sentences: Vec<String>,
    /// It was cut short.
    pub interrupted: bool,
}

fn sentences(report: &Report) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(fill) = &report.fill {
        let rate = fill.bytes.0 as f64 / fill.took_ns.as_secs().max(1e-9);
        said.push(format!(
            "Filled: {} in {}, {}.",
            fill.bytes,
            fill.took_ns,
            throughput(rate)
        ));
    }
    let count = report.rounds.len();
    match &report.window {
        Some(window) if window.steady => said.push(format!(
            "Steady state is reached: rounds {} to {} keep both conditions. {} operations per second are its rate.",
            window.first,
            window.last,
            rounded(window.figures.average)
        )),
        _ if report.interrupted => said.push(format!(
            "Cut short after {count} whole rounds: whether the state is steady is not known."
        )),
        Some(_) => said.push(format!(
            "Steady state is NOT reached in {count} rounds: what is measured now still changes."
        )),
        None => said.push(format!(
            "Steady state is NOT reached: {count} rounds measured something, and {WINDOW} are judged together."
        )),
    }
    if let Some(window) = &report.window {
        let figures = &window.figures;
        let kept = |kept: bool| if kept { "kept" } else { "broken" };
        said.push(format!(
            "Range: the rounds {} to {} differ by {:.1} % of their mean, at most 20 % are allowed: {}.",
            window.first,
            window.last,
            100.0 * figures.range,
            kept(figures.keeps_range())
        ));
        said.push(format!(
            "Excursion: the line through them changes by {:.1} % of their mean, at most 10 % are allowed: {}.",
            100.0 * figures.excursion,
            kept(figures.keeps_excursion())
        ));
        said.push(format!(
            "Some read the first condition more strictly, no round further than 10 % from the mean: here it is {:.1} %, {}. \
             The rule as it is written decides.",
            100.0 * figures.deviation,
            kept(figures.deviation <= SniaWindow::DEVIATION)
        ));
    }
    if !report.steady && !report.interrupted && report.window.is_some() {
        said.push("Go on with `--passes 0`, with longer rounds, or look at the series: it may fall for hours.".into());
    }
    said.extend(report.left_out.iter().cloned());
    said
}

#[cfg(test)]
mod tests;
