//! Ends a job when a figure no longer changes. This is fio's `steadystate`, which can express
//! SNIA's criterion.

use std::collections::VecDeque;

use model::event::Interval;
use model::plan::SteadyState;
use model::results::ControlOutcome;
use model::stats::{fit_line, mean};

use super::{Action, figure, tracked_name};

#[derive(Debug)]
pub(crate) struct SteadyRule {
    rule: SteadyState,
    window: VecDeque<f64>,
    capacity: usize,
    last: Option<f64>,
    attained: bool,
}

impl SteadyRule {
    pub(crate) fn new(rule: SteadyState) -> SteadyRule {
        let capacity = (rule.window_ns.0 / rule.interval_ns.0.max(1)).max(2) as usize;
        SteadyRule {
            rule,
            window: VecDeque::with_capacity(capacity),
            capacity,
            last: None,
            attained: false,
        }
    }

    pub(crate) fn on_interval(&mut self, interval: &Interval) -> Action {
        if interval.start_ns < self.rule.ramp_ns || self.attained {
            return Action::Continue;
        }
        if self.window.len() == self.capacity {
            self.window.pop_front();
        }
        self.window.push_back(figure(interval, self.rule.metric, None));
        if self.window.len() < self.capacity {
            return Action::Continue;
        }
        let values = self.window.make_contiguous();
        let average = mean(values);
        let criterion = if self.rule.slope {
            fit_line(values).slope.abs()
        } else {
            values.iter().map(|value| (value - average).abs()).fold(0.0, f64::max)
        };
        let criterion = if self.rule.percent {
            100.0 * criterion / average.max(f64::MIN_POSITIVE)
        } else {
            criterion
        };
        self.last = Some(criterion);
        // A target without operations is not in steady state.
        if average > 0.0 && criterion < self.rule.limit {
            self.attained = true;
            return Action::End(format!("steady state of {}", tracked_name(self.rule.metric)));
        }
        Action::Continue
    }

    pub(crate) fn outcome(&self) -> ControlOutcome {
        let unit = if self.rule.percent { "%" } else { "" };
        let kind = if self.rule.slope { "slope" } else { "largest deviation" };
        let rule = format!(
            "until the {kind} of {} is below {}{unit}",
            tracked_name(self.rule.metric),
            self.rule.limit
        );
        let detail = match self.last {
            Some(criterion) => format!("{kind} {criterion:.6}{unit} over the last {} intervals", self.capacity),
            None => "the window was never full".into(),
        };
        ControlOutcome {
            rule,
            attained: self.attained,
            detail,
            series: self.window.iter().copied().collect(),
            depth: None,
        }
    }
}
