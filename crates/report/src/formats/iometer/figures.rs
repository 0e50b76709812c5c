//! Sums the results of a CSV row and formats its cells.

use model::histogram::Histogram;
use model::results::{HostCoreUse, StepResults, StreamResults};
use model::{Direction, Nanos};

use super::{FIRST_BIN_COLUMN, TITLES, escape_cell};

/// Upper limits of the bins in nanoseconds. As in Iometer, three of them differ from their titles.
const LIMITS: [u64; 20] = [
    50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 14_925_373, 20_000_000, 30_303_030,
    50_000_000, 100_000_000, 200_000_000, 500_000_000, 1_000_000_000, 2_000_000_000, 4_000_000_000, 5_000_000_000,
    10_000_000_000,
];
/// Ticks in a second, as Iometer prints them; stamps are in nanoseconds.
const TICKS_PER_SEC: &str = "1000000000.000000";
/// The first column of processors, and the column of their speed.
const CPU_COLUMN: usize = 48;
const SPEED_COLUMN: usize = 53;

/// Figures of one direction.
#[derive(Clone, Debug, Default)]
struct DirectionFigures {
    operations: u64,
    bytes: u64,
    errors: u64,
    latency: Histogram,
}

/// Figures of a disk, a worker, a manager or all managers.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    read: DirectionFigures,
    write: DirectionFigures,
    /// Connections that ended.
    connection_latency: Histogram,
    measured: Nanos,
    /// Settings; `None` if they differ between the merged parts.
    pub(super) depth: Option<u64>,
    pub(super) start: Option<u64>,
    pub(super) size: Option<u64>,
    pub(super) transactions: Option<u64>,
}

impl Figures {
    /// Returns a copy that keeps the settings and sets every figure to zero.
    pub(super) fn settings_only(&self) -> Figures {
        Figures {
            depth: self.depth,
            start: self.start,
            size: self.size,
            transactions: self.transactions,
            ..Figures::default()
        }
    }

    pub(super) fn add_stream(&mut self, stream: &StreamResults, measured: Nanos) {
        self.measured = self.measured.max(measured);
        if let Some(connections) = &stream.connections {
            self.connection_latency.merge(&connections.latency);
        }
        for (moved, direction) in [(&mut self.read, Direction::Read), (&mut self.write, Direction::Write)] {
            let Some(results) = &stream.directions[direction] else {
                continue;
            };
            moved.operations += results.operations;
            moved.bytes += results.bytes.0;
            moved.errors += results.errors;
            moved.latency.merge(&results.completion);
        }
    }

    pub(super) fn merge(&mut self, other: &Figures) {
        self.measured = self.measured.max(other.measured);
        self.connection_latency.merge(&other.connection_latency);
        for (mine, theirs) in [(&mut self.read, &other.read), (&mut self.write, &other.write)] {
            mine.operations += theirs.operations;
            mine.bytes += theirs.bytes;
            mine.errors += theirs.errors;
            mine.latency.merge(&theirs.latency);
        }
    }

    /// Merges another part, whose settings may differ.
    pub(super) fn merge_clearing_settings(&mut self, other: &Figures) {
        self.merge(other);
        for (mine, theirs) in [
            (&mut self.depth, other.depth),
            (&mut self.start, other.start),
            (&mut self.size, other.size),
            (&mut self.transactions, other.transactions),
        ] {
            *mine = mine.filter(|mine| Some(*mine) == theirs);
        }
    }

    fn rate(&self, amount: u64) -> f64 {
        match self.measured.as_secs() {
            seconds if seconds > 0.0 => amount as f64 / seconds,
            _ => 0.0,
        }
    }

    fn iops(&self) -> f64 {
        self.rate(self.read.operations + self.write.operations)
    }
}

/// A row under construction.
pub(super) struct Columns(Vec<String>);

fn format_decimal(value: f64) -> String {
    format!("{value:.6}")
}

fn format_milliseconds(nanos: f64) -> String {
    format_decimal(nanos / 1e6)
}

impl Columns {
    /// Starts a row with its first six columns.
    pub(super) fn row_head(kind: &str, name: &str, spec: &str, counts: [String; 3]) -> Columns {
        let mut cells = vec![kind.to_owned(), escape_cell(name, " "), escape_cell(spec, " ")];
        cells.extend(counts);
        Columns(cells)
    }

    /// Adds columns 7 to 48, the processor speed and the bins. The row `ALL` has no `raw` times and
    /// no speed.
    pub(super) fn with_figures(mut self, figures: &Figures, raw: bool) -> Columns {
        let (read, write, connections) = (&figures.read, &figures.write, &figures.connection_latency);
        let mut combined = read.latency.clone();
        combined.merge(&write.latency);
        let three = |total: u64, read: u64, write: u64, divisor: f64| {
            [total, read, write].map(|count| format_decimal(figures.rate(count) / divisor))
        };
        let operations = read.operations + write.operations;
        let bytes = read.bytes + write.bytes;
        let cells = &mut self.0;
        cells.extend(three(operations, read.operations, write.operations, 1.0));
        cells.extend(three(bytes, read.bytes, write.bytes, 1_048_576.0));
        cells.extend(three(bytes, read.bytes, write.bytes, 1e6));
        // A transaction is a transfer.
        cells.extend([operations, connections.n()].map(|count| format_decimal(figures.rate(count))));
        let timed = [&combined, &read.latency, &write.latency, &combined, connections];
        cells.extend(timed.map(|times| format_milliseconds(times.mean())));
        let maxima = timed.map(Histogram::max);
        cells.extend(maxima.map(|nanos| format_milliseconds(nanos as f64)));
        let counts = [
            read.errors + write.errors,
            read.errors,
            write.errors,
            read.bytes,
            write.bytes,
            read.operations,
            write.operations,
            connections.n(),
        ];
        cells.extend(counts.map(|count| count.to_string()));
        let setting = |value: Option<u64>| value.map_or("-1".to_owned(), |value| value.to_string());
        cells.push(setting(figures.transactions));
        match raw {
            false => cells.extend(std::iter::repeat_n(String::new(), 9)),
            true => {
                cells.extend(timed[1..].iter().map(|times| times.sum().to_string()));
                cells.extend(maxima[1..].iter().map(u64::to_string));
                cells.push(figures.measured.0.to_string());
            }
        }
        cells.extend([setting(figures.start), setting(figures.size), setting(figures.depth)]);
        cells.resize(FIRST_BIN_COLUMN, String::new());
        if raw {
            cells[SPEED_COLUMN] = TICKS_PER_SEC.to_owned();
        }
        let cumulative = LIMITS.map(|limit| combined.count_up_to(limit.saturating_sub(1)));
        let mut before = 0;
        for count in cumulative.into_iter().chain([combined.n()]) {
            cells.push((count - before).to_string());
            before = count;
        }
        self
    }

    /// Adds columns 49 to 59, except the processor speed.
    pub(super) fn with_cpu(mut self, cpu: &Cpu, figures: &Figures) -> Columns {
        let shares = cpu.mean();
        for (cell, share) in self.0[CPU_COLUMN..].iter_mut().zip(shares) {
            *cell = format_decimal(share);
        }
        let effectiveness = if shares[0] > 0.0 {
            figures.iops() / shares[0]
        } else {
            0.0
        };
        for (cell, value) in self.0[SPEED_COLUMN + 1..]
            .iter_mut()
            .zip([0.0, effectiveness, 0.0, 0.0, 0.0])
        {
            *cell = format_decimal(value);
        }
        self
    }

    pub(super) fn finish(self) -> Vec<String> {
        debug_assert_eq!(self.0.len(), TITLES.len());
        self.0
    }
}

/// Processors in use: busy, user, privileged, DPC and interrupt time in percent.
#[derive(Debug)]
pub(super) struct Cpu(Vec<(u32, [f64; 5])>);

impl Cpu {
    pub(super) fn from_step(step: &StepResults) -> Cpu {
        let first = |core: &&HostCoreUse| core.host == 0;
        let cores = step.cores.iter().filter(first).map(|HostCoreUse { core, .. }| {
            let parts = [
                core.user_ns, core.system_ns, core.interrupt_ns, core.stolen_ns, core.idle_ns,
            ];
            let total: f64 = parts.iter().map(|part| part.0 as f64).sum();
            let share = |part: Nanos| {
                if total > 0.0 {
                    part.0 as f64 / total * 100.0
                } else {
                    0.0
                }
            };
            let (user, interrupt) = (share(core.user_ns), share(core.interrupt_ns));
            let privileged = share(core.system_ns) + interrupt;
            (core.cpu, [user + privileged, user, privileged, 0.0, interrupt])
        });
        Cpu(cores.collect())
    }

    fn mean(&self) -> [f64; 5] {
        let mut mean = [0.0; 5];
        for (_, shares) in &self.0 {
            for (mean, share) in mean.iter_mut().zip(shares) {
                *mean += share / self.0.len() as f64;
            }
        }
        mean
    }

    /// A row for each processor, which ends before the bin columns.
    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        self.0.iter().map(|(number, shares)| {
            let mut cells = vec!["PROCESSOR".to_owned(), format!("CPU {number}")];
            cells.resize(CPU_COLUMN, String::new());
            cells.extend(shares.map(format_decimal));
            cells.extend([TICKS_PER_SEC.to_owned(), format_decimal(0.0)]);
            cells.resize(FIRST_BIN_COLUMN, String::new());
            cells
        })
    }
}
