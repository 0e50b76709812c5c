//! Sweeps: runs the same load with one or two parameters varied, in random order, as long as more
//! load gives new information.
//!
//! The sweep selects the next point and its length; the caller runs it and returns the results. A
//! [`Report`] interprets the finished [`Study`].

mod burst;
mod report;
mod rules;
mod varied;

pub use burst::MixedRates;
pub use report::{Curve, PACED_JOB, Report, Row, format_settings, list_warnings};
pub(crate) use rules::is_complete;
pub use varied::parse_varied;

use analysis::attribution::Attribution;
use analysis::knee::{self, Limit};
use analysis::policies::{DEFAULT_LATENCY_SECS, open_loop_slots};
use analysis::verdict::MAX_BLOCKED_OPS;
use model::Nanos;
use model::draws::{Draws, GeneratorChoice, Purpose};
use model::observation::Observation;
use model::results::{FORMAT_VERSION, Results, Tool};
use model::study::{
    DocumentKind, Parameter, Question, RunRole, Setting, SkippedPoint, Study, StudyRun, VariedParameter,
};

/// Default length of the measured window of a point.
pub const POINT_TIME: Nanos = Nanos::secs(20);
/// Warm-up before it.
pub const WARM_UP: Nanos = Nanos::secs(5);
/// Minimum operations of a point, unless the user sets its length: a hundred beyond p99.
pub const MIN_OPERATIONS: u64 = 10_000;
/// Maximum length to which a point is extended to reach them.
pub const MAX_POINT_TIME: Nanos = Nanos::secs(300);
/// The default of `--over`.
pub const DEFAULT_OVER: &str = "depth=1..512";
/// Minimum relative gain of the rate when the queue slots are doubled.
const MIN_GROWTH: f64 = 0.05;

/// Settings of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepSettings {
    /// The varied parameters.
    pub varied: Vec<VariedParameter>,
    /// The limit on a latency.
    pub limit: Option<Limit>,
    /// Length of the measured window of each point.
    pub time: Nanos,
    /// Warm-up before it.
    pub warm_up: Nanos,
    /// Minimum operations of a point; absent: the length is fixed.
    pub min_operations: Option<u64>,
    /// Add points near the knee, and repeat the first one at the end.
    pub refine: bool,
    /// Skip points that give no new information.
    pub stop_early: bool,
    /// Upper limit of the queue slots for an offered rate; absent if the user fixed the depth, or
    /// no rate is offered.
    pub slots_max: Option<u32>,
    /// Seed of the order.
    pub seed: u64,
}

/// The next run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct NextRun {
    /// The settings to apply.
    pub settings: Vec<Setting>,
    /// The role of the run.
    pub role: RunRole,
    /// Length of its measured window.
    pub time: Nanos,
    /// Number, from 1.
    pub number: usize,
    /// Expected number of runs; an upper limit.
    pub expected_total: usize,
    /// Expected time of all remaining runs, this one included.
    pub time_left: Nanos,
    /// Queue slots over all workers, if the sweep decides them.
    pub slots: Option<u32>,
    /// A repetition that is longer, to reach enough operations.
    is_extended: bool,
    /// Operations per second with half the slots.
    iops_with_fewer_slots: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Grid,
    Refined,
    Checked,
    Repeated,
}

/// A sweep in progress.
#[derive(Debug)]
pub struct Sweep {
    settings: SweepSettings,
    pending: Vec<NextRun>,
    stage: Stage,
    runs: Vec<StudyRun>,
    skipped: Vec<SkippedPoint>,
    draws: Draws,
}

impl Sweep {
    /// A sweep over all combinations of the values, in an order drawn from the seed.
    pub fn new(settings: SweepSettings) -> Sweep {
        let draws = GeneratorChoice::Native { seed: settings.seed }.start();
        let mut sweep = Sweep {
            pending: Vec::new(),
            stage: Stage::Grid,
            runs: Vec::new(),
            skipped: Vec::new(),
            draws,
            settings,
        };
        sweep.add(combinations(&sweep.settings.varied), RunRole::Measured);
        sweep
    }

    /// The next run; `None` at the end.
    pub fn next_run(&mut self) -> Option<NextRun> {
        loop {
            while let Some(next) = (!self.pending.is_empty()).then(|| self.pending.remove(0)) {
                match self.skip_reason(&next) {
                    Some(why) => self.skipped.push(SkippedPoint {
                        settings: next.settings,
                        why,
                    }),
                    None => return Some(self.complete(next)),
                }
            }
            match self.stage {
                Stage::Grid => {
                    self.stage = Stage::Refined;
                    let added = self.settings.refine.then(|| self.points_near_knees());
                    self.add(added.unwrap_or_default(), RunRole::Measured);
                }
                Stage::Refined => {
                    if !(self.settings.refine && self.repeat_contradicted()) {
                        self.stage = Stage::Checked;
                    }
                }
                Stage::Checked => {
                    self.stage = Stage::Repeated;
                    self.repeat_first();
                }
                Stage::Repeated => return None,
            }
        }
    }

    /// Repeats, once, the lowest load of each curve that missed the limit although a higher load
    /// met it: operations do not wait longer under less load, so something disturbed the point.
    /// False if there is none.
    fn repeat_contradicted(&mut self) -> bool {
        let varied = &self.settings.varied;
        let mut repeated = Vec::new();
        for curve in report::build_curves(varied, &self.runs, self.settings.limit.as_ref()) {
            let load = curve.contradicted_setting();
            let is_repeated = |run: &StudyRun| {
                load.is_some()
                    && rules::load_value(varied, &run.settings) == load
                    && rules::same_curve(varied, &curve.template, &run.settings)
            };
            let mut runs: Vec<&mut StudyRun> = self.runs.iter_mut().filter(|run| is_repeated(run)).collect();
            if runs.iter().any(|run| run.role == RunRole::Contradicted) {
                continue;
            }
            if let Some(run) = runs.iter_mut().find(|run| run.role == RunRole::Measured) {
                run.role = RunRole::Contradicted;
                repeated.push(run.settings.clone());
            }
        }
        let has_any = !repeated.is_empty();
        self.add(repeated, RunRole::Measured);
        has_any
    }

    /// Repeats the first point with its final number of slots.
    fn repeat_first(&mut self) {
        let points = || self.runs.iter().filter(|run| run.role == RunRole::Measured);
        let Some(first) = points().next().filter(|_| self.settings.refine && points().count() > 2) else {
            return;
        };
        let depth = Observation::from_results(&first.results, 0, 0).and_then(|observation| observation.load.depth);
        let settings = first.settings.clone();
        self.add(vec![settings], RunRole::Repeat);
        if let Some(repeat) = self.pending.last_mut() {
            repeat.slots = repeat.slots.and(depth.map(|depth| depth as u32));
        }
    }

    /// Records the results of a run. After too few operations the next run has the same settings
    /// and is longer; after too few slots it has more of them.
    pub fn record(&mut self, next: NextRun, results: Results) {
        let observation = Observation::from_results(&results, 0, 0);
        let is_complete = !results.interrupted && is_complete(&results);
        let mut role = match (is_complete, &observation) {
            (true, Some(_)) => next.role,
            _ => RunRole::CutShort,
        };
        if let (Some(observation), RunRole::Measured) = (&observation, role)
            && let Some(with_more_slots) = self.with_more_slots(&next, observation)
        {
            role = RunRole::TooFewSlots;
            self.pending.insert(0, with_more_slots);
        }
        if let (Some(min_operations), Some(observation), RunRole::Measured) =
            (self.settings.min_operations, &observation, role)
        {
            let operations = observation.total.operations.unwrap_or(0);
            if operations < min_operations && !next.is_extended && operations > 0 {
                let needed = next.time.as_secs() * min_operations as f64 / operations as f64;
                let time = extended_time(next.time, needed);
                if time > next.time {
                    role = RunRole::TooShort;
                    let extended = NextRun {
                        time,
                        is_extended: true,
                        ..next.clone()
                    };
                    self.pending.insert(0, extended);
                }
            }
        }
        self.runs.push(StudyRun {
            settings: next.settings,
            role,
            results,
        });
    }

    /// The same run with twice the slots. `None` unless operations waited for a slot although the
    /// device met the limit, and more slots may raise the rate.
    fn with_more_slots(&self, next: &NextRun, observation: &Observation) -> Option<NextRun> {
        let slots = next
            .slots
            .zip(self.settings.slots_max)
            .filter(|(slots, slots_max)| slots < slots_max);
        let (slots, slots_max) = slots.filter(|_| {
            Attribution::new(observation, None).is_some_and(|attribution| attribution.blocked_share() > MAX_BLOCKED_OPS)
        })?;
        let iops = observation.total.iops?;
        let has_gained = next
            .iops_with_fewer_slots
            .is_none_or(|before| iops >= before * (1.0 + MIN_GROWTH));
        let service = observation.total.latency.as_ref()?;
        let meets_limit = |limit: &Limit| {
            let figure = rules::limited_figure_of(limit, service);
            figure.is_some_and(|figure| figure <= limit.max_ns.0 as f64)
        };
        (has_gained && self.settings.limit.as_ref().is_none_or(meets_limit)).then(|| NextRun {
            slots: Some(slots.saturating_mul(2).min(slots_max)),
            iops_with_fewer_slots: Some(iops),
            ..next.clone()
        })
    }

    /// Slots for an offered rate: the operations in flight at the allowed latency, with headroom.
    fn slots_for_rate(&self, settings: &[Setting]) -> Option<u32> {
        let slots_max = self.settings.slots_max?;
        let is_rate = |setting: &&Setting| setting.name == Parameter::Rate.name();
        let rate = settings.iter().find(is_rate)?.number?;
        let latency = self.settings.limit.map(|limit| limit.max_ns.as_secs());
        Some(open_loop_slots(rate * latency.unwrap_or(DEFAULT_LATENCY_SECS)).min(slots_max))
    }

    /// Records that a run failed.
    pub fn record_failure(&mut self, next: NextRun, why: String) {
        self.skipped.push(SkippedPoint {
            settings: next.settings,
            why,
        });
    }

    /// All results; `None` if nothing was measured.
    pub fn finish(self, name: &str, interrupted: bool) -> Option<Study> {
        let tool: Tool = self.runs.first()?.results.tool.clone();
        let unmeasured = self.pending.into_iter().map(|next| SkippedPoint {
            settings: next.settings,
            why: "the sweep was interrupted".into(),
        });
        Some(Study {
            format_version: FORMAT_VERSION,
            kind: DocumentKind::Study,
            tool,
            name: name.into(),
            question: Question::Sweep {
                varied: self.settings.varied,
                limit: self.settings.limit.map(|limit| limit.to_string()),
            },
            skipped: self.skipped.into_iter().chain(unmeasured).collect(),
            runs: self.runs,
            interrupted,
        })
    }

    fn add(&mut self, cells: Vec<Vec<Setting>>, role: RunRole) {
        let mut added: Vec<NextRun> = cells
            .into_iter()
            .map(|settings| NextRun {
                slots: self.slots_for_rate(&settings),
                settings,
                role,
                time: self.settings.time,
                number: 0,
                expected_total: 0,
                time_left: Nanos(0),
                is_extended: false,
                iops_with_fewer_slots: None,
            })
            .collect();
        // Fisher-Yates shuffle: in random order, a drift cannot look like an effect of the load.
        for end in (1..added.len()).rev() {
            let drawn = (self.draws.next_f64(Purpose::Stream) * (end + 1) as f64) as usize;
            added.swap(end, drawn.min(end));
        }
        self.pending.extend(added);
    }

    /// Fills in the length and the number of the run, and the remaining time.
    fn complete(&self, next: NextRun) -> NextRun {
        let time = match (self.settings.min_operations, self.expected_iops(&next.settings)) {
            (Some(min_operations), Some(iops)) if !next.is_extended => {
                extended_time(next.time, min_operations as f64 / iops)
            }
            _ => next.time,
        };
        let near_knees = match (self.refined_axis().is_some(), self.settings.limit) {
            (false, _) => 0,
            (true, None) => 2,
            (true, Some(_)) => 4,
        };
        let to_come = self.pending.len()
            + match (self.stage, self.settings.refine) {
                (_, false) => 0,
                (Stage::Grid, true) => near_knees + 1,
                (Stage::Refined | Stage::Checked, true) => 1,
                (Stage::Repeated, true) => 0,
            };
        let run_time = |time: Nanos| time + self.settings.warm_up;
        let pending: u64 = self.pending.iter().map(|next| run_time(next.time).0).sum();
        let unknown = (to_come - self.pending.len()) as u64 * run_time(self.settings.time).0;
        NextRun {
            time,
            number: self.runs.len() + 1,
            expected_total: self.runs.len() + 1 + to_come,
            time_left: run_time(time) + Nanos(pending + unknown),
            ..next
        }
    }

    /// The largest rate of the same curve under the same or less load.
    fn expected_iops(&self, settings: &[Setting]) -> Option<f64> {
        let load = rules::load_value(&self.settings.varied, settings)?;
        let below = self
            .finished_curve(settings)
            .into_iter()
            .filter(|(setting, _)| *setting <= load);
        below
            .map(|(_, found)| found.total.iops.unwrap_or(0.0))
            .reduce(f64::max)
            .filter(|rate| *rate > 0.0)
    }

    /// Finished points that differ from these settings at most in the load, sorted by load.
    fn finished_curve(&self, settings: &[Setting]) -> Vec<(f64, Observation)> {
        let mut curve: Vec<(f64, Observation)> = self
            .runs
            .iter()
            .filter(|run| {
                run.role == RunRole::Measured && rules::same_curve(&self.settings.varied, &run.settings, settings)
            })
            .filter_map(|run| {
                let load = rules::load_value(&self.settings.varied, &run.settings)?;
                Some((load, Observation::from_results(&run.results, 0, 0)?))
            })
            .collect();
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        curve
    }

    fn was_contradicted(&self, settings: &[Setting]) -> bool {
        let mut runs = self.runs.iter();
        runs.any(|run| run.role == RunRole::Contradicted && run.settings == settings)
    }

    fn skip_reason(&self, next: &NextRun) -> Option<String> {
        if !self.settings.stop_early
            || next.role != RunRole::Measured
            || next.is_extended
            || next.iops_with_fewer_slots.is_some()
            || self.was_contradicted(&next.settings)
        {
            return None;
        }
        let (index, parameter) = rules::load_axis(&self.settings.varied)?;
        let load = next.settings.get(index)?.number?;
        let curve = self.finished_curve(&next.settings);
        let devices = self.runs.first().map(|run| &run.results);
        rules::skip_reason(parameter, load, &curve, self.settings.limit.as_ref(), devices)
    }

    /// The load parameter whose curves get points near their knees: depth or workers.
    fn refined_axis(&self) -> Option<(usize, Parameter)> {
        let axis = rules::load_axis(&self.settings.varied);
        axis.filter(|(_, parameter)| matches!(parameter, Parameter::Depth | Parameter::Workers))
    }

    /// Settings 1.5 times the knee of each curve, and 1.5 times the point below it. Skipped points
    /// stay skipped.
    fn points_near_knees(&self) -> Vec<Vec<Setting>> {
        let Some((index, parameter)) = self.refined_axis() else {
            return Vec::new();
        };
        let mut points = Vec::new();
        for curve in report::build_curves(&self.settings.varied, &self.runs, self.settings.limit.as_ref()) {
            let Some(per_setting) = curve.in_flight_per_setting() else {
                continue;
            };
            for in_flight in knee::refinement(&curve.knee) {
                let number = (in_flight as f64 / per_setting).round();
                let mut settings = curve.template.clone();
                settings[index] = varied::setting(parameter, number);
                let is_known =
                    curve.settings.contains(&number) || self.skipped.iter().any(|skipped| skipped.settings == settings);
                if number >= 1.0 && !is_known {
                    points.push(settings);
                }
            }
        }
        points
    }
}

/// A length of 5 % more than `seconds`, between the planned length and the longest allowed.
fn extended_time(planned: Nanos, seconds: f64) -> Nanos {
    let wanted = Nanos((seconds * 1.05).ceil().min(1e6) as u64 * 1_000_000_000);
    wanted.min(MAX_POINT_TIME.max(planned)).max(planned)
}

/// Every combination of the values.
fn combinations(varied: &[VariedParameter]) -> Vec<Vec<Setting>> {
    varied.iter().fold(vec![Vec::new()], |cells, varied| {
        let extend = |cell: &Vec<Setting>, value: &Setting| {
            let mut cell = cell.clone();
            cell.push(value.clone());
            cell
        };
        cells
            .iter()
            .flat_map(|cell| varied.values.iter().map(move |value| extend(cell, value)))
            .collect()
    })
}

#[cfg(test)]
mod tests;
