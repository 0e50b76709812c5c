//! Preconditions a device: fills it twice, then loads it in rounds until the rate is steady. SNIA's
//! Solid State Storage Performance Test Specification 2.0 calls these steps workload-independent
//! and workload-dependent preconditioning. A [`Procedure`] selects the next run and judges the
//! rounds; the caller executes the runs and returns the results.

use model::Bytes;
use model::Nanos;
use model::observation::Observation;
use model::results::Results;
use model::stats::{SniaWindow, snia_window};
use serde::Serialize;

use crate::numbers::{format_number, format_throughput};

/// Number of times that the range is written before the rounds.
pub const FILL_PASSES: u32 = 2;
/// Block size of filling.
pub const FILL_BLOCK: Bytes = Bytes::kib(128);
/// Operations in flight while filling.
pub const FILL_DEPTH: u32 = 32;
/// Length of a round, or of each cell of one.
pub const ROUND_TIME: Nanos = Nanos::secs(60);
/// Upper limit of the rounds.
pub const MAX_ROUNDS: u32 = 25;
/// Rounds that are judged together.
pub const WINDOW_ROUNDS: u32 = 5;
/// Default of the operations in flight in a round.
pub const DEPTH: u32 = 32;

/// Shares of reads in the specification's IOPS test, in percent.
const READ_PERCENTS: [u32; 7] = [100, 95, 65, 50, 35, 5, 0];
/// Block sizes in bytes.
const BLOCK_SIZES: [u64; 8] = [
    1024 << 10,
    128 << 10,
    64 << 10,
    32 << 10,
    16 << 10,
    8 << 10,
    4 << 10,
    512,
];

/// One load of the matrix: random access, one block size, one mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Percent of the operations that read.
    pub read_percent: u32,
    /// Block size.
    pub block: Bytes,
}

impl Cell {
    /// The cell that decides whether the state is steady: random writes of 4 KiB.
    pub const TRACKED: Cell = Cell {
        read_percent: 0,
        block: Bytes::kib(4),
    };

    /// Name in tables: share of reads, share of writes, size.
    pub fn name(self) -> String {
        format!("{}/{} {}", self.read_percent, 100 - self.read_percent, self.block)
    }
}

/// The 56 cells of the IOPS test in its order: from reads to writes, and from large to small.
pub fn matrix_cells() -> Vec<Cell> {
    let cells_of_mix = |read_percent: u32| {
        BLOCK_SIZES.map(|size| Cell {
            read_percent,
            block: Bytes(size),
        })
    };
    READ_PERCENTS.into_iter().flat_map(cells_of_mix).collect()
}

/// Settings of a procedure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcedureSettings {
    /// Number of times that the range is written before the rounds.
    pub passes: u32,
    /// Length of a round, or of each cell of one.
    pub round: Nanos,
    /// Upper limit of the rounds.
    pub rounds: u32,
    /// The cells of each round; empty if a round is one load, described by the user.
    pub cells: Vec<Cell>,
    /// Description of the load of a round.
    pub load: String,
}

/// The next run of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRun {
    /// Write the range.
    Fill,
    /// Run a round, or a cell of one.
    Round {
        /// Number, from 1.
        number: u32,
        /// The cell and its number from 0; absent if a round is one load.
        cell: Option<(usize, Cell)>,
    },
}

/// Results of filling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fill {
    /// Bytes written.
    pub bytes: Bytes,
    /// Time that the fill took.
    pub took_ns: Nanos,
}

/// Results of one cell of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellResult {
    /// The cell; absent if a round is one load.
    pub cell: Option<Cell>,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_sec: f64,
    /// Mean latency; for paced loads the response time.
    pub mean_ns: f64,
    /// 99.9th percentile of the same; absent if fewer than ten operations are beyond it.
    pub p999_ns: Option<f64>,
    /// Bytes written.
    pub written: Bytes,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Round {
    /// Number, from 1.
    pub number: u32,
    /// The judged rate: operations per second of the only load, or of the tracked cell.
    pub tracked: f64,
    /// Results of all its cells.
    pub measured: Vec<CellResult>,
    /// The window that ends with this round; absent before the fifth.
    pub window: Option<Window>,
}

/// Successive rounds that are judged together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Number of its first round.
    pub first: u32,
    /// Number of its last.
    pub last: u32,
    /// Rates and their slope in the window.
    #[serde(flatten)]
    pub figures: SniaWindow,
    /// Both conditions of the specification are met.
    pub steady: bool,
    /// Both are met even in a stricter reading of the first condition. In that reading, every round
    /// is within 10 % of the mean.
    pub steady_by_stricter_reading: bool,
}

/// Judges the latest of these rates; `None` if there are too few, or the rate is 0.
pub fn judge_window(rates: &[f64]) -> Option<Window> {
    let count = WINDOW_ROUNDS as usize;
    let judged = rates.get(rates.len().checked_sub(count)?..)?;
    let figures = snia_window(judged)?;
    let last = rates.len() as u32;
    Some(Window {
        first: last + 1 - WINDOW_ROUNDS,
        last,
        figures,
        steady: figures.is_steady(),
        steady_by_stricter_reading: figures.is_strictly_steady(),
    })
}

/// A procedure in progress.
#[derive(Debug)]
pub struct Procedure {
    settings: ProcedureSettings,
    fill: Option<Fill>,
    rounds: Vec<Round>,
    /// Finished cells of the current round.
    current: Vec<CellResult>,
}

impl Procedure {
    /// A procedure before its first run.
    pub fn new(settings: ProcedureSettings) -> Procedure {
        Procedure {
            settings,
            fill: None,
            rounds: Vec::new(),
            current: Vec::new(),
        }
    }

    /// The next run; `None` once the state is steady or all rounds are done.
    pub fn next_run(&self) -> Option<NextRun> {
        if self.settings.passes > 0 && self.fill.is_none() {
            return Some(NextRun::Fill);
        }
        let number = self.rounds.len() as u32 + 1;
        let steady = self.rounds.last().and_then(|round| round.window);
        if steady.is_some_and(|window| window.steady) || number > self.settings.rounds {
            return None;
        }
        let position = self.current.len();
        let cell = self.settings.cells.get(position).map(|cell| (position, *cell));
        Some(NextRun::Round { number, cell })
    }

    /// Records the results of a run.
    ///
    /// # Errors
    /// Nothing was measured.
    pub fn record(&mut self, next: NextRun, results: &Results) -> Result<(), String> {
        let nothing_measured = || "no operation completed".to_owned();
        match next {
            NextRun::Fill => {
                let job = results.steps.first().and_then(|step| step.jobs.first());
                let job = job.ok_or_else(nothing_measured)?;
                let bytes = job.total().bytes;
                self.fill = Some(Fill {
                    bytes,
                    took_ns: job.measured(),
                });
            }
            NextRun::Round { cell, .. } => {
                let measured = cell_result(cell.map(|(_, cell)| cell), results).ok_or_else(nothing_measured)?;
                self.record_cell(measured);
            }
        }
        Ok(())
    }

    fn record_cell(&mut self, measured: CellResult) {
        self.current.push(measured);
        if self.current.len() < self.settings.cells.len().max(1) {
            return;
        }
        let measured = std::mem::take(&mut self.current);
        let is_tracked = |result: &&CellResult| result.cell.is_none_or(|cell| cell == Cell::TRACKED);
        let tracked = measured.iter().find(is_tracked).map_or(0.0, |result| result.iops);
        let rates: Vec<f64> = self.rounds.iter().map(|round| round.tracked).chain([tracked]).collect();
        self.rounds.push(Round {
            number: rates.len() as u32,
            tracked,
            measured,
            window: judge_window(&rates),
        });
    }

    /// The rounds so far.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// Results of filling, once it has finished.
    pub fn fill(&self) -> Option<Fill> {
        self.fill
    }

    /// Ends the procedure with its report.
    pub fn report(self, target: &str, left_out: Vec<String>, interrupted: bool) -> Report {
        let written = self.fill.map_or(0, |fill| fill.bytes.0);
        let cell_results = self
            .rounds
            .iter()
            .flat_map(|round| &round.measured)
            .chain(&self.current);
        let written = written + cell_results.map(|result| result.written.0).sum::<u64>();
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
            settings: self.settings,
            left_out,
            sentences: Vec::new(),
            interrupted,
        };
        report.sentences = describe_report(&report);
        report
    }
}

fn cell_result(cell: Option<Cell>, results: &Results) -> Option<CellResult> {
    let observation = Observation::from_results(results, 0, 0)?;
    let latency = observation.total.user_latency()?;
    let has_enough_samples = latency.samples.is_some_and(|samples| samples >= 10_000);
    let writes = observation.directions.write.as_ref().and_then(|writes| writes.bytes);
    Some(CellResult {
        cell,
        iops: observation.total.iops?,
        bytes_per_sec: observation.total.bytes_per_sec?,
        mean_ns: latency.mean_ns?,
        p999_ns: latency.quantile(0.999).filter(|_| has_enough_samples),
        written: writes.unwrap_or_default(),
    })
}

/// The report of a procedure, for people and programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Always `precondition`.
    pub kind: &'static str,
    /// The preconditioned target.
    pub target: String,
    /// Settings of the procedure.
    #[serde(rename = "asked")]
    pub settings: ProcedureSettings,
    /// The state is steady by the literal rule.
    pub steady: bool,
    /// The last window; absent if there were too few rounds.
    pub window: Option<Window>,
    /// Bytes written in total.
    pub written: Bytes,
    /// Results of filling; absent if nothing was filled.
    pub fill: Option<Fill>,
    /// Every round.
    pub rounds: Vec<Round>,
    /// Skipped cells, with the reason.
    pub left_out: Vec<String>,
    /// Conclusions in sentences.
    pub sentences: Vec<String>,
    /// The procedure was cut short.
    pub interrupted: bool,
}

fn describe_report(report: &Report) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(fill) = &report.fill {
        let rate = fill.bytes.0 as f64 / fill.took_ns.as_secs().max(1e-9);
        sentences.push(format!(
            "Filled: {} in {}, {}.",
            fill.bytes,
            fill.took_ns,
            format_throughput(rate)
        ));
    }
    let count = report.rounds.len();
    match &report.window {
        Some(window) if window.steady => sentences.push(format!(
            "Steady state reached: rounds {} to {} meet both conditions. The steady rate is {} operations per \
             second.",
            window.first,
            window.last,
            format_number(window.figures.average)
        )),
        _ if report.interrupted => sentences.push(format!(
            "The procedure ended after {count} complete rounds: it is unknown whether the state is steady."
        )),
        Some(_) => sentences.push(format!(
            "Steady state NOT reached in {count} rounds: the rate is still changing."
        )),
        None => sentences.push(format!(
            "Steady state NOT reached: {count} rounds measured something, but a judgement needs {WINDOW_ROUNDS}."
        )),
    }
    if let Some(window) = &report.window {
        let figures = &window.figures;
        let judgement = |is_met: bool| if is_met { "met" } else { "missed" };
        sentences.push(format!(
            "Range: the rounds {} to {} differ by {:.1} % of their mean (maximum 20 %): {}.",
            window.first,
            window.last,
            100.0 * figures.range,
            judgement(figures.keeps_range())
        ));
        sentences.push(format!(
            "Excursion: the line through them changes by {:.1} % of their mean (maximum 10 %): {}.",
            100.0 * figures.excursion,
            judgement(figures.keeps_excursion())
        ));
        sentences.push(format!(
            "Stricter reading of the first condition (every round within 10 % of the mean): the largest distance is \
             {:.1} %, {}. The literal rule decides.",
            100.0 * figures.deviation,
            judgement(figures.deviation <= SniaWindow::DEVIATION)
        ));
    }
    if !report.steady && !report.interrupted && report.window.is_some() {
        sentences.push(
            "Continue with `--passes 0` or longer rounds. The rate may fall for hours; the series shows whether it \
             still does."
                .into(),
        );
    }
    sentences.extend(report.left_out.iter().cloned());
    sentences
}

#[cfg(test)]
mod tests;
