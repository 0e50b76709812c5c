//! Searches for the highest depth that meets a latency target (fio `latency_target`). It doubles
//! the depth, then bisects, then confirms the result in one window.

use model::Nanos;
use model::event::Interval;
use model::histogram::Histogram;
use model::plan::LatencyTarget;
use model::results::ControlOutcome;
use model::stats::{Support, support};

use super::Action;

/// Maximum extension of a window with too few operations for the percentile.
const MAX_EXTENSION: u64 = 10;

#[derive(Debug)]
pub(crate) struct LatencySearch {
    rule: LatencyTarget,
    max_depth: u32,
    depth: u32,
    /// The highest depth that met the target, and the lowest that did not.
    best: u32,
    failing: Option<u32>,
    stage: Stage,
    /// The operations of the current window.
    latencies: Histogram,
    seen_ns: Nanos,
    series: Vec<f64>,
    attained: bool,
    /// A window had too few operations for the percentile even when extended.
    had_few_operations: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// The interval in which the depth changed belongs to neither depth.
    Settling,
    Measuring,
    /// The depth is found; this window confirms it.
    Confirming,
    Done,
}

impl LatencySearch {
    pub(crate) fn new(rule: LatencyTarget, max_depth: u32) -> LatencySearch {
        LatencySearch {
            rule,
            max_depth: max_depth.max(1),
            depth: 1,
            best: 0,
            failing: None,
            stage: Stage::Measuring,
            latencies: Histogram::new(),
            seen_ns: Nanos(0),
            series: Vec::new(),
            attained: false,
            had_few_operations: false,
        }
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    pub(crate) fn on_interval(&mut self, interval: &Interval) -> Action {
        if self.stage == Stage::Settling {
            self.stage = Stage::Measuring;
            return Action::Continue;
        }
        if self.stage == Stage::Done {
            return Action::Continue;
        }
        self.latencies.merge(&interval.total_latency());
        self.seen_ns += interval.length_ns;
        let window_ns = self.rule.window_ns;
        let has_few = self.has_few_operations();
        if self.seen_ns < window_ns || has_few && self.seen_ns.0 < window_ns.0 * MAX_EXTENSION {
            return Action::Continue;
        }
        self.had_few_operations |= has_few;
        let is_met = self.share_within_target() >= self.rule.percentile;
        self.series.push(f64::from(self.depth));
        self.latencies.clear();
        self.seen_ns = Nanos(0);
        if self.stage == Stage::Confirming {
            return self.on_confirmation(is_met);
        }
        if is_met {
            self.best = self.best.max(self.depth);
        } else {
            if self.depth == 1 {
                self.stage = Stage::Done;
                return Action::End(format!("{} is missed even at queue depth 1", self.rule.target_ns));
            }
            self.failing = Some(self.failing.map_or(self.depth, |failing| failing.min(self.depth)));
        }
        self.next_depth()
    }

    fn on_confirmation(&mut self, is_met: bool) -> Action {
        self.attained = is_met;
        if self.rule.keep_running {
            // Conditions may have changed: search near the depth found.
            self.failing = None;
            self.best = if is_met { self.depth } else { self.depth / 2 };
            return if is_met { Action::Continue } else { self.next_depth() };
        }
        self.stage = Stage::Done;
        let (depth, target) = (self.depth, self.rule.target_ns);
        Action::End(match is_met {
            true => format!("queue depth {depth} keeps {target}"),
            false => format!("queue depth {depth} kept {target} once and missed it when repeated"),
        })
    }

    fn next_depth(&mut self) -> Action {
        let next = match self.failing {
            None => (self.best * 2).clamp(1, self.max_depth),
            Some(failing) => (self.best + failing) / 2,
        };
        let is_found = next == self.best || next == self.depth && self.failing.is_none();
        if is_found {
            self.depth = self.best.max(1);
            self.stage = Stage::Confirming;
            return Action::SetDepthAndRestart(self.depth);
        }
        self.depth = next;
        self.stage = Stage::Settling;
        Action::SetDepth(next)
    }

    /// Whether fewer than ten operations of the window may lie beyond the percentile. A percentile
    /// of 100 % can be decided with any number of operations.
    fn has_few_operations(&self) -> bool {
        self.rule.percentile < 100.0 && support(self.rule.percentile / 100.0, self.latencies.n()) == Support::None
    }

    fn share_within_target(&self) -> f64 {
        match self.latencies.n() {
            0 => 0.0,
            n => 100.0 * self.latencies.count_up_to(self.rule.target_ns.0) as f64 / n as f64,
        }
    }

    pub(crate) fn outcome(&self) -> ControlOutcome {
        let LatencyTarget {
            target_ns, percentile, ..
        } = self.rule;
        let rule = format!("the highest queue depth with {percentile} % of operations within {target_ns}");
        let detail = if self.attained {
            format!("queue depth {}", self.depth)
        } else if self.best > 0 {
            format!("not confirmed; queue depth {} kept the target once", self.best)
        } else {
            "no queue depth kept the target".into()
        };
        let few = match self.had_few_operations {
            true => "; some windows had too few operations for this percentile",
            false => "",
        };
        let detail = format!("{detail}{few}");
        let depth = (self.best > 0).then_some(self.best);
        ControlOutcome {
            rule,
            attained: self.attained,
            detail,
            series: self.series.clone(),
            depth,
        }
    }
}
