//! Ends a job when the confidence interval of a figure is narrow enough.

use model::event::Interval;
use model::plan::Precision;
use model::results::ControlOutcome;
use model::stats::batch_means;

use super::{Action, figure, tracked_name};

#[derive(Debug)]
pub(crate) struct PrecisionRule {
    rule: Precision,
    series: Vec<f64>,
    half_width_percent: Option<f64>,
}

impl PrecisionRule {
    pub(crate) fn new(rule: Precision) -> PrecisionRule {
        PrecisionRule {
            rule,
            series: Vec::new(),
            half_width_percent: None,
        }
    }

    pub(crate) fn on_interval(&mut self, interval: &Interval) -> Action {
        self.series.push(figure(interval, self.rule.metric, None));
        let Some(means) = batch_means(&self.series, 0.95) else {
            return Action::Continue;
        };
        let percent = 100.0 * means.half_width / means.mean.abs();
        let percent = if percent.is_finite() { percent } else { f64::INFINITY };
        self.half_width_percent = Some(percent);
        let old_enough = interval.start_ns + interval.length_ns >= self.rule.at_least_ns;
        // Zero operations have no precision.
        if old_enough && means.mean > 0.0 && percent <= self.rule.percent {
            return Action::End(format!(
                "{} are known to ±{percent:.2} %",
                tracked_name(self.rule.metric)
            ));
        }
        Action::Continue
    }

    pub(crate) fn outcome(&self) -> ControlOutcome {
        let attained = self
            .half_width_percent
            .is_some_and(|percent| percent <= self.rule.percent);
        let detail = match self.half_width_percent {
            Some(percent) => format!("{} ± {percent:.2} % at 95 % confidence", tracked_name(self.rule.metric)),
            None => "too short for a confidence interval".into(),
        };
        let rule = format!(
            "until {} are known to ±{} %",
            tracked_name(self.rule.metric),
            self.rule.percent
        );
        ControlOutcome {
            rule,
            attained,
            detail,
            series: self.series.clone(),
            depth: None,
        }
    }
}
