//! Compares a figure of two results.

use model::observation::{Latency, Observation, SeriesPoint};
use model::stats::{
    adjust_by_holm, batch_means, quantile_interval, student_quantile, two_sided_student, upper_tail_of_normal,
};
use serde::Serialize;

use crate::figures::{format_change, format_rate, format_time, three_digits};

/// A change whose whole interval is within this share counts as none.
pub const MARGIN: f64 = 0.02;
/// The confidence of all intervals.
pub(super) const CONFIDENCE: f64 = 0.95;

/// The compared figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Operations per second.
    Iops,
    /// Mean latency; response time for paced loads.
    Mean,
    /// A quantile of it, as a share: 0.99 for p99.
    Quantile(f64),
}

/// The figures of every comparison.
pub(super) const FIGURES: [Figure; 6] = [
    Figure::Iops,
    Figure::Mean,
    Figure::Quantile(0.5),
    Figure::Quantile(0.95),
    Figure::Quantile(0.99),
    Figure::Quantile(0.999),
];

/// The judgement of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The second is better, by more than chance.
    Better,
    /// The difference is smaller than the margin.
    Same,
    /// The second is worse, by more than chance.
    Worse,
    /// The runs do not decide.
    Undecided,
    /// The plans define different loads, so the change shows the loads.
    DifferentLoad,
    /// Findings of a run invalidate its figures.
    Doubtful,
}

impl Judgement {
    /// The word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Judgement::Better => "better",
            Judgement::Same => "same",
            Judgement::Worse => "worse",
            Judgement::Undecided => "not known",
            Judgement::DifferentLoad => "different load",
            Judgement::Doubtful => "doubtful",
        }
    }
}

/// The change of a figure from the first result to the second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The compared figure.
    pub figure: Figure,
    /// Value in the first result: operations per second or nanoseconds.
    pub from: f64,
    /// Value in the second result.
    pub to: f64,
    /// Second / first.
    pub ratio: f64,
    /// Lower bound of the 95 % interval of the ratio, if there is one.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Probability that chance causes this change, adjusted for the number of compared figures.
    pub p: Option<f64>,
    /// Better, worse, the same or undecided.
    pub word: Judgement,
}

impl Figure {
    /// Name in tables.
    pub fn name(self) -> String {
        match self {
            Figure::Iops => "IOPS".into(),
            Figure::Mean => "mean latency".into(),
            Figure::Quantile(share) => format!("p{}", (share * 1e8).round() / 1e6),
        }
    }

    /// Name in CSV, which ends with the unit of a time.
    pub fn column(self) -> String {
        match self {
            Figure::Iops => "iops".into(),
            Figure::Mean => "latency_mean_us".into(),
            Figure::Quantile(_) => format!("latency_{}_us", self.name()),
        }
    }

    /// Converts a value to the unit of [`Figure::column`].
    pub fn in_column(self, value: f64) -> f64 {
        match self {
            Figure::Iops => value,
            Figure::Mean | Figure::Quantile(_) => value / 1e3,
        }
    }

    /// True if higher values are better.
    pub fn higher_is_better(self) -> bool {
        match self {
            Figure::Iops => true,
            Figure::Mean | Figure::Quantile(_) => false,
        }
    }

    /// A value with its unit, as text.
    pub fn format_value(self, value: f64) -> String {
        match self {
            Figure::Iops => format_rate(value),
            Figure::Mean | Figure::Quantile(_) => format_time(value),
        }
    }

    /// Value in a result; `None` if unknown, or if fewer than ten operations are beyond a
    /// quantile.
    pub fn value_in(self, observation: &Observation) -> Option<f64> {
        let value = match self {
            Figure::Iops => observation.total.iops?,
            Figure::Mean => observation.total.user_latency()?.mean_ns?,
            Figure::Quantile(share) => {
                let latency = observation.total.user_latency()?;
                let supported = |n: u64| model::stats::support(share, n) != model::stats::Support::None;
                latency
                    .samples
                    .is_none_or(supported)
                    .then(|| latency.quantile(share))??
            }
        };
        (value > 0.0 && value.is_finite()).then_some(value)
    }

    /// The 95 % interval from the variation within the run; `None` without a sufficiently long
    /// series.
    pub(super) fn interval_in(self, observation: &Observation) -> Option<(f64, f64)> {
        let value = self.value_in(observation)?;
        let (error, degrees) = match self {
            Figure::Iops => relative_error(observation, |point| Some(point.iops()))?,
            Figure::Mean => relative_error(observation, |point| point.mean_ns)?,
            Figure::Quantile(share) => {
                let histogram = observation.total.user_latency()?.histogram.as_ref()?;
                let (low, high) = quantile_interval(histogram, share, CONFIDENCE);
                return Some((low? as f64, high? as f64));
            }
        };
        let half = student_quantile(1.0 - (1.0 - CONFIDENCE) / 2.0, degrees as u32) * error;
        Some((value * (1.0 - half).max(0.0), value * (1.0 + half)))
    }

    /// The change, not yet judged; `None` if either result lacks the figure.
    pub(super) fn change(self, from: &Observation, to: &Observation) -> Option<Change> {
        let (a, b) = (self.value_in(from)?, self.value_in(to)?);
        let bounds = match self {
            Figure::Iops => welch_bounds(from, to, b / a, |point| Some(point.iops())),
            Figure::Mean => welch_bounds(from, to, b / a, |point| point.mean_ns),
            Figure::Quantile(share) => {
                quantile_ratio_bounds(from.total.user_latency()?, to.total.user_latency()?, share)
            }
        };
        Some(Change {
            figure: self,
            from: a,
            to: b,
            ratio: b / a,
            low: bounds.map(|bounds| bounds.low),
            high: bounds.map(|bounds| bounds.high),
            p: bounds.map(|bounds| bounds.p),
            word: Judgement::Undecided,
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Bounds {
    low: f64,
    high: f64,
    p: f64,
}

/// The relative standard error of a series mean, by batch means, with its degrees of freedom.
fn relative_error(observation: &Observation, value: impl Fn(&SeriesPoint) -> Option<f64>) -> Option<(f64, f64)> {
    let longest = observation.series.iter().map(|point| point.length_ns).max()?;
    // The last interval may be shorter and then varies more than the others.
    let longest_points = observation.series.iter().filter(|point| point.length_ns == longest);
    let means = batch_means(&longest_points.filter_map(value).collect::<Vec<f64>>(), CONFIDENCE)?;
    let degrees = means.batches - 1;
    let quantile = student_quantile(1.0 - (1.0 - CONFIDENCE) / 2.0, degrees);
    (means.mean > 0.0).then(|| (means.half_width / quantile / means.mean, f64::from(degrees)))
}

/// Welch's interval (1947) of the logarithm of a ratio of means. The errors come from batch means.
fn welch_bounds(
    from: &Observation,
    to: &Observation,
    ratio: f64,
    value: impl Fn(&SeriesPoint) -> Option<f64>,
) -> Option<Bounds> {
    let ((a, a_degrees), (b, b_degrees)) = (relative_error(from, &value)?, relative_error(to, &value)?);
    let error = a.hypot(b);
    if error == 0.0 {
        let p = f64::from(u8::from(ratio == 1.0));
        return Some(Bounds {
            low: ratio,
            high: ratio,
            p,
        });
    }
    let degrees = error.powi(4) / (a.powi(4) / a_degrees + b.powi(4) / b_degrees);
    let degrees = degrees.floor().max(1.0) as u32;
    let half = student_quantile(1.0 - (1.0 - CONFIDENCE) / 2.0, degrees) * error;
    Some(Bounds {
        low: ratio * (-half).exp(),
        high: ratio * half.exp(),
        p: two_sided_student(ratio.ln() / error, degrees),
    })
}

/// The interval of the ratio of two quantiles: MOVER (Zou and Donner 2008) on the logarithms of
/// their order-statistic intervals. Assumes independent operations.
fn quantile_ratio_bounds(from: &Latency, to: &Latency, share: f64) -> Option<Bounds> {
    let bounds = |latency: &Latency| {
        let histogram = latency.histogram.as_ref()?;
        let (low, high) = quantile_interval(histogram, share, CONFIDENCE);
        let log = |value: u64| (value.max(1) as f64).ln();
        Some((log(low?), log(histogram.quantile(share)), log(high?)))
    };
    let ((a_low, a, a_high), (b_low, b, b_high)) = (bounds(from)?, bounds(to)?);
    let difference = b - a;
    let below = (b - b_low).hypot(a_high - a);
    let above = (b_high - b).hypot(a - a_low);
    // The side nearer to no change decides; the interval spans 1.96 deviations.
    let side = if difference > 0.0 { below } else { above };
    let p = match (difference == 0.0, side > 0.0) {
        (true, _) => 1.0,
        (false, true) => (2.0 * upper_tail_of_normal(difference.abs() / (side / 1.959_964))).min(1.0),
        (false, false) => 0.0,
    };
    Some(Bounds {
        low: (difference - below).exp(),
        high: (difference + above).exp(),
        p,
    })
}

impl Change {
    /// Judges the change: same if the whole interval is within the margin, better or worse if
    /// chance does not explain it, otherwise undecided.
    pub(super) fn judge(&mut self, margin: f64) {
        let (Some(low), Some(high), Some(p)) = (self.low, self.high, self.p) else {
            self.word = Judgement::Undecided;
            return;
        };
        self.word = if low >= 1.0 - margin && high <= 1.0 + margin {
            Judgement::Same
        } else if p > 1.0 - CONFIDENCE || low <= 1.0 && high >= 1.0 {
            Judgement::Undecided
        } else if (self.ratio > 1.0) == self.figure.higher_is_better() {
            Judgement::Better
        } else {
            Judgement::Worse
        };
    }

    /// The change without its interval: `+10 %`.
    pub fn format_ratio(&self) -> String {
        format_change(self.ratio)
    }

    /// The change with its interval: `+10 % (+9.1 to +11 %)`, `3.99 times (1.29 to 12.4)`.
    pub fn describe(&self) -> String {
        let (Some(low), Some(high)) = (self.low, self.high) else {
            return format_change(self.ratio);
        };
        let ends = [low, high].map(format_change);
        // After rounding, an interval of equal ends says nothing.
        if ends[0] == ends[1] {
            return format_change(self.ratio);
        }
        // The change and both ends have the same unit.
        if ends[1].ends_with("times") {
            let [ratio, low, high] = [self.ratio, low, high].map(format_factor);
            return format!("{ratio} times ({low} to {high})");
        }
        let [low, high] = ends;
        format!(
            "{} ({} to {high})",
            format_change(self.ratio),
            low.trim_end_matches(" %")
        )
    }

    /// The judgement for tables. An interval without "no change" may still be chance, because
    /// several figures are compared.
    pub fn describe_judgement(&self) -> &'static str {
        let is_apart = self.low.is_some_and(|low| low > 1.0) || self.high.is_some_and(|high| high < 1.0);
        match self.word {
            Judgement::Undecided if is_apart => "may be chance",
            word => word.word(),
        }
    }
}

/// Formats a factor with three digits.
fn format_factor(factor: f64) -> String {
    match factor {
        small if small < 10.0 => format!("{small:.2}"),
        large => three_digits(large),
    }
}

/// The deciding figure: operations per second if all are closed loops, otherwise the mean response,
/// because the rate is fixed. `None` without results.
pub fn primary(observations: &[&Observation]) -> Option<Figure> {
    let closed = |observation: &&&Observation| observation.load.closed_loop.unwrap_or(true);
    observations.first()?;
    Some(match observations.iter().all(|observation| closed(&observation)) {
        true => Figure::Iops,
        false => Figure::Mean,
    })
}

/// Judges the changes of all common figures, with Holm's adjustment. The intervals cover variation
/// within the two runs, not between runs.
pub fn changes(from: &Observation, to: &Observation, margin: f64) -> Vec<Change> {
    let changes = FIGURES.iter().filter_map(|figure| figure.change(from, to));
    judge_all(changes.collect(), margin)
}

/// Adjusts the probabilities by Holm's method and judges every change.
pub(super) fn judge_all(mut changes: Vec<Change>, margin: f64) -> Vec<Change> {
    let raised = adjust_by_holm(&changes.iter().filter_map(|change| change.p).collect::<Vec<_>>());
    let with_p = changes.iter_mut().filter(|change| change.p.is_some());
    for (change, p) in with_p.zip(raised) {
        change.p = Some(p);
    }
    changes.iter_mut().for_each(|change| change.judge(margin));
    changes
}

/// Describes the figures that changed by more than chance if `word`, the judgement of the deciding
/// figure, does not cover them.
pub fn describe_contrary(word: Judgement, changes: &[Change]) -> Option<String> {
    let list_changes = |wanted: Judgement| {
        let named = changes.iter().filter(|change| change.word == wanted);
        let named: Vec<String> = named
            .map(|change| format!("{} {}", change.figure.name(), format_change(change.ratio)))
            .collect();
        (!named.is_empty()).then(|| named.join(", "))
    };
    let better = list_changes(Judgement::Better).map(|figures| format!("better in {figures}"));
    let worse = list_changes(Judgement::Worse).map(|figures| format!("worse in {figures}"));
    match word {
        Judgement::Better | Judgement::Worse => Some(format!("{}; {}", better?, worse?)),
        Judgement::Same | Judgement::Undecided => match (better, worse) {
            (Some(better), Some(worse)) => Some(format!("{better}; {worse}")),
            (better, worse) => better.or(worse),
        },
        Judgement::DifferentLoad | Judgement::Doubtful => None,
    }
}

/// Describes a change of the second result, `name`, relative to the first, `base`.
pub fn describe_change(change: &Change, name: &str, base: &str, margin: f64) -> String {
    let figure_name = match change.figure {
        Figure::Iops => "operations per second".to_owned(),
        figure => figure.name(),
    };
    let words = change.describe();
    match change.word {
        Judgement::Better | Judgement::Worse => {
            format!("{name} is {} than {base}: {words} {figure_name}.", change.word.word())
        }
        Judgement::Same => format!(
            "{name} and {base} are the same within {:.0} %: {words} {figure_name}.",
            margin * 100.0
        ),
        Judgement::DifferentLoad => {
            format!("{name} and {base} are different loads, so neither is better: {words} {figure_name}.")
        }
        Judgement::Doubtful => {
            format!(
                "{name} against {base}: {words} {figure_name}, but findings invalidate the figures, so neither is better."
            )
        }
        Judgement::Undecided if change.low.is_none() => {
            format!("{name} against {base}: {words} {figure_name}, and it is unknown how much of that is chance.")
        }
        Judgement::Undecided => format!("{name} against {base}: {words} {figure_name}, which may be chance."),
    }
}
