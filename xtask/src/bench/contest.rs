//! Interleaved rounds with every contender in each, so that disturbances of the machine affect all.

use std::cell::RefCell;

use super::BenchError;
use super::figure::digits;
use super::machine::Machine;
use super::options::Options;
use super::outcome::Outcome;
use super::places::Places;
use super::statistics::{median, median_ratio};
use super::tools::{Tool, Tools};
use super::work::{Until, Work};

/// The context of all rows.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) options: Options,
    pub(crate) tools: Tools,
    pub(crate) machine: Machine,
    pub(crate) places: Places,
    /// Every distinct command line that was measured.
    lines: RefCell<Vec<String>>,
}

/// A workload and the tool that runs it.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    tool: Tool,
    work: Work,
}

/// The outcomes of a contender in all rounds.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    pub(crate) outcomes: Vec<Outcome>,
    /// Processor time of a run of one operation.
    start_up_cpu_secs: f64,
}

impl Contender {
    /// A workload and the program that runs it.
    pub(crate) fn new(tool: Tool, work: &Work) -> Contender {
        let work = work.clone();
        Contender { tool, work }
    }
}

/// A workload for fathom.
pub(crate) fn ours(work: Work) -> Contender {
    Contender::new(Tool::Fathom, &work)
}

/// A workload for fio.
pub(crate) fn theirs(work: Work) -> Contender {
    Contender::new(Tool::Fio, &work)
}

impl Bench {
    /// Finds the tools.
    pub(crate) fn new(options: Options) -> Result<Bench, BenchError> {
        let profile = if options.smoke { "release" } else { "dist" };
        let tools = Tools::find(options.fathom.as_deref(), profile)?;
        Ok(Bench {
            machine: Machine::detect(),
            places: Places::new(&options),
            tools,
            options,
            lines: RefCell::default(),
        })
    }

    /// Length of each run.
    pub(crate) fn time(&self) -> Until {
        Until::Seconds(self.options.seconds)
    }

    /// The tools of others that are not installed.
    pub(crate) fn absent_tools(&self) -> Vec<&'static str> {
        let tools = [("fio", self.tools.has_fio), ("valgrind", self.tools.has_valgrind)];
        tools
            .into_iter()
            .filter(|(_, has)| !has)
            .map(|(name, _)| name)
            .collect()
    }

    /// Every command line so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// Adds a command line to the record.
    fn record_line(&self, tool: Tool, work: &Work) {
        let mut words = self.tools.line(tool, work);
        words[0] = match tool {
            Tool::Fio => "fio".into(),
            Tool::Floor => "floor".into(),
            Tool::Fathom | Tool::InPlace | Tool::DiskSpd => "fathom".into(),
        };
        self.record_text(words.join(" "));
    }

    /// Adds a command line to the record unchanged.
    pub(crate) fn record_text(&self, line: String) {
        let mut lines = self.lines.borrow_mut();
        if !lines.contains(&line) {
            lines.push(line);
        }
    }

    pub(crate) fn run_once(&self, contender: &Contender) -> Result<Outcome, BenchError> {
        let Contender { tool, work } = contender;
        self.record_line(*tool, work);
        let finished = self.tools.run(*tool, work)?;
        match tool {
            Tool::Fathom => Outcome::from_fathom(&finished),
            Tool::InPlace | Tool::Fio => Outcome::from_fio(&finished),
            Tool::DiskSpd => Outcome::from_diskspd(&finished),
            Tool::Floor => Outcome::from_floor(&finished),
        }
    }

    /// Runs all contenders in every round, each time in another order. Without fio installed, its
    /// contenders have no outcomes.
    pub(crate) fn run_rounds(&self, contenders: &[Contender]) -> Result<Vec<Rounds>, BenchError> {
        let is_here = |contender: &Contender| contender.tool != Tool::Fio || self.tools.has_fio;
        let mut rounds = Vec::new();
        for contender in contenders {
            let start_up_cpu_secs = if is_here(contender) {
                self.start_up(contender)?
            } else {
                0.0
            };
            rounds.push(Rounds {
                outcomes: Vec::new(),
                start_up_cpu_secs,
            });
        }
        for round in 0..self.options.pairs {
            for place in 0..contenders.len() {
                let index = (place + round) % contenders.len();
                if is_here(&contenders[index]) {
                    rounds[index].outcomes.push(self.run_once(&contenders[index])?);
                }
            }
        }
        Ok(rounds)
    }

    /// Processor time of a run that does one operation per worker.
    fn start_up(&self, contender: &Contender) -> Result<f64, BenchError> {
        let single_operations = contender
            .work
            .clone()
            .until(Until::Operations(u64::from(contender.work.workers)));
        let mut taken = Vec::new();
        for _ in 0..if self.options.smoke { 1 } else { 3 } {
            taken.push(self.tools.run(contender.tool, &single_operations)?.usage.cpu_secs());
        }
        Ok(median(&taken).unwrap_or_default())
    }
}

impl Rounds {
    /// A figure of each round.
    pub(crate) fn each(&self, figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.outcomes.iter().map(figure).collect()
    }

    /// Operations per second of each round.
    pub(crate) fn iops(&self) -> Vec<f64> {
        self.each(|outcome| outcome.iops)
    }

    /// Processor time per operation in nanoseconds for each round, without start-up.
    pub(crate) fn cpu_ns(&self) -> Vec<f64> {
        self.each(|outcome| (outcome.usage.cpu_secs() - self.start_up_cpu_secs) * 1e9 / outcome.operations.max(1.0))
    }
}

/// Median of the ratios of rounds, the ratios, and both medians as text.
pub(crate) struct Comparison {
    pub(crate) ratio: Option<f64>,
    pub(crate) samples: Vec<f64>,
    pub(crate) detail: String,
}

/// Compares a figure of two contenders round by round.
pub(crate) fn compare(ours: &[f64], theirs: &[f64], show: impl Fn(f64) -> String) -> Comparison {
    let words = |values: &[f64]| median(values).map_or("–".to_owned(), &show);
    Comparison {
        ratio: median_ratio(ours, theirs),
        samples: ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect(),
        detail: format!("{} : {}", words(ours), words(theirs)),
    }
}

/// `1.31 M/s`, `45.1 k/s`.
pub(crate) fn per_second(iops: f64) -> String {
    match iops {
        iops if iops >= 1e6 => format!("{} M/s", digits(iops / 1e6)),
        iops if iops >= 1e4 => format!("{} k/s", digits(iops / 1e3)),
        iops => format!("{}/s", digits(iops)),
    }
}

/// `412 ns`, `3.1 µs`, `12 ms`.
pub(crate) fn time(ns: f64) -> String {
    match ns {
        ns if ns >= 1e6 => format!("{} ms", digits(ns / 1e6)),
        ns if ns >= 1e3 => format!("{} µs", digits(ns / 1e3)),
        ns => format!("{} ns", digits(ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_up_is_not_counted() {
        let outcome = Outcome {
            operations: 1000.0,
            usage: super::super::child::Usage {
                user_secs: 0.5,
                system_secs: 0.6,
                ..Default::default()
            },
            ..Outcome::default()
        };
        let rounds = Rounds {
            outcomes: vec![outcome],
            start_up_cpu_secs: 0.1,
        };
        let cpu_ns = rounds.cpu_ns();
        assert!((cpu_ns[0] - 1e6).abs() < 1e-3, "{cpu_ns:?}");
    }

    #[test]
    fn a_comparison_without_fio_has_no_ratio() {
        let found = compare(&[1.0], &[], per_second);
        assert_eq!((found.ratio, found.detail.as_str()), (None, "1/s : –"));
    }

    #[test]
    fn units_follow_the_size() {
        assert_eq!(per_second(1_310_000.0), "1.31 M/s");
        assert_eq!(per_second(45_100.0), "45.1 k/s");
        assert_eq!(time(3_100.0), "3.1 µs");
        assert_eq!(time(412.0), "412 ns");
    }
}
