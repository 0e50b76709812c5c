//! Sweeps: the same load again and again with one or two parameters varied, in an order without
//! pattern, as long as more load still tells something.
//!
//! The sweep decides which point comes next and how long it lasts; the caller makes a plan of the
//! settings and hands back what came of it. What it all means is worked out from the finished
//! [`Study`], in [`Report`].

mod over;
mod report;
mod rules;

pub use over::over;
pub use report::{Curve, Report, Row, words_of};
pub(crate) use rules::is_whole;

use analysis::attribution::Attribution;
use analysis::knee::{self, Limit, LimitedFigure};
use analysis::policies::{DEFAULT_LATENCY_SECS, open_loop_slots};
use analysis::verdict::BLOCKED_SHARE;
use model::Nanos;
use model::draws::{Draws, DrawsForm, Purpose};
use model::observation::Observation;
use model::results::{FORMAT_VERSION, Results, Tool};
use model::study::{LeftOut, Parameter, Question, Role, Setting, Study, StudyKind, StudyRun, Varied};

/// Length of the measured window of a point, unless it is given.
pub const TIME: Nanos = Nanos::secs(20);
/// I/O before it.
pub const WARM_UP: Nanos = Nanos::secs(5);
/// Operations that a point has at least, unless its length is given: a hundred beyond p99.
pub const MIN_OPERATIONS: u64 = 10_000;
/// No point is made longer than this for their sake.
pub const MAX_POINT: Nanos = Nanos::secs(300);
/// What is varied if nothing is named.
pub const DEFAULT_OVER: &str = "depth=1..512";
/// Twice the queue slots that bring a smaller share more operations bring nothing.
const GROWTH_MIN: f64 = 0.05;

/// What a sweep is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// What is varied.
    pub varied: Vec<Varied>,
    /// The limit on a latency.
    pub limit: Option<Limit>,
    /// Length of the measured window of each point.
    pub time: Nanos,
    /// I/O before it.
    pub warm_up: Nanos,
    /// Operations that a point must have; absent: the length stands as it is.
    pub least_operations: Option<u64>,
    /// Points beside the knee, and the first one again at the end.
    pub refine: bool,
    /// Points that can tell nothing more are left out.
    pub stop_early: bool,
    /// Queue slots at most for each offered rate; absent where the user fixed the depth, or no rate
    /// is offered.
    pub slots_max: Option<u32>,
    /// Seed of the order.
    pub seed: u64,
}

/// The next run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// What to set.
    pub settings: Vec<Setting>,
    /// What the run is for.
    pub role: Role,
    /// Length of its measured window.
    pub time: Nanos,
    /// Its number, from 1.
    pub number: usize,
    /// How many there will be at most, as far as is known now.
    pub of_about: usize,
    /// How long those will take, this one included.
    pub left: Nanos,
    /// Queue slots over all workers, where the sweep decides them.
    pub slots: Option<u32>,
    /// The length was raised so that there are enough operations.
    longer: bool,
    /// Operations per second that half the slots reached.
    narrower_iops: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Grid,
    Refined,
    Repeated,
}

/// A sweep in progress.
#[derive(Debug)]
pub struct Sweep {
    asked: Asked,
    pending: Vec<Next>,
    stage: Stage,
    runs: Vec<StudyRun>,
    left_out: Vec<LeftOut>,
    draws: Draws,
}

impl Sweep {
    /// A sweep over every combination of the values, in an order drawn from the seed.
    pub fn new(asked: Asked) -> Sweep {
        let draws = DrawsForm::Native { seed: asked.seed }.start();
        let mut sweep = Sweep {
            pending: Vec::new(),
            stage: Stage::Grid,
            runs: Vec::new(),
            left_out: Vec::new(),
            draws,
            asked,
        };
        sweep.add(combinations(&sweep.asked.varied), Role::Point);
        sweep
    }

    /// Settings of the run that comes next; `None` at the end.
    pub fn next_run(&mut self) -> Option<Next> {
        loop {
            while let Some(next) = (!self.pending.is_empty()).then(|| self.pending.remove(0)) {
                match self.ruled_out(&next) {
                    Some(why) => self.left_out.push(LeftOut {
                        settings: next.settings,
                        why,
                    }),
                    None => return Some(self.timed(next)),
                }
            }
            match self.stage {
                Stage::Grid => {
                    self.stage = Stage::Refined;
                    let beside = if self.asked.refine {
                        self.beside_knees()
                    } else {
                        Vec::new()
                    };
                    self.add(beside, Role::Point);
                }
                Stage::Refined => {
                    self.stage = Stage::Repeated;
                    self.repeat_first();
                }
                Stage::Repeated => return None,
            }
        }
    }

    /// Repeats the first point with its final number of slots.
    fn repeat_first(&mut self) {
        let points = || self.runs.iter().filter(|run| run.role == Role::Point);
        let Some(first) = points().next().filter(|_| self.asked.refine && points().count() > 2) else {
            return;
        };
        let depth = Observation::from_results(&first.results, 0, 0).and_then(|found| found.load.depth);
        let settings = first.settings.clone();
        self.add(vec![settings], Role::Repeat);
        if let Some(repeat) = self.pending.last_mut() {
            repeat.slots = repeat.slots.and(depth.map(|depth| depth as u32));
        }
    }

    /// Records the results of a run. After too few operations the next run has the same settings
    /// and is longer; after too few slots it has more of them.
    pub fn take(&mut self, next: Next, results: Results) {
        let found = Observation::from_results(&results, 0, 0);
        let whole = !results.interrupted && is_whole(&results);
        let mut role = match (whole, &found) {
            (true, Some(_)) => next.role,
            _ => Role::CutShort,
        };
        if let (Some(found), Role::Point) = (&found, role)
            && let Some(wider) = self.wider(&next, found)
        {
            role = Role::TooFewSlots;
            self.pending.insert(0, wider);
        }
        if let (Some(least), Some(found), Role::Point) = (self.asked.least_operations, &found, role) {
            let operations = found.total.operations.unwrap_or(0);
            if operations < least && !next.longer && operations > 0 {
                let needed = next.time.as_secs() * least as f64 / operations as f64;
                let time = longer(next.time, needed);
                if time > next.time {
                    role = Role::TooShort;
                    let again = Next {
                        time,
                        longer: true,
                        ..next.clone()
                    };
                    self.pending.insert(0, again);
                }
            }
        }
        self.runs.push(StudyRun {
            settings: next.settings,
            role,
            results,
        });
    }

    /// The same settings with twice the slots, if operations waited for a slot although the device
    /// kept the limit, and more slots may raise the rate.
    fn wider(&self, next: &Next, found: &Observation) -> Option<Next> {
        let slots = next
            .slots
            .zip(self.asked.slots_max)
            .filter(|(slots, most)| slots < most);
        let (slots, most) = slots.filter(|_| {
            Attribution::new(found, None).is_some_and(|attribution| attribution.blocked_share() > BLOCKED_SHARE)
        })?;
        let iops = found.total.iops?;
        let grew = next
            .narrower_iops
            .is_none_or(|before| iops >= before * (1.0 + GROWTH_MIN));
        let service = found.total.latency.as_ref()?;
        let keeps = |limit: &Limit| {
            let figure = match limit.figure {
                LimitedFigure::Mean => service.mean_ns,
                LimitedFigure::Quantile(share) => service.quantile(share),
            };
            figure.is_some_and(|figure| figure <= limit.most_ns.0 as f64)
        };
        (grew && self.asked.limit.as_ref().is_none_or(keeps)).then(|| Next {
            slots: Some(slots.saturating_mul(2).min(most)),
            narrower_iops: Some(iops),
            ..next.clone()
        })
    }

    /// Slots for an offered rate: as many as are in flight at the latency that is allowed, with
    /// head-room.
    fn slots_of(&self, settings: &[Setting]) -> Option<u32> {
        let most = self.asked.slots_max?;
        let is_rate = |setting: &&Setting| setting.name == Parameter::Rate.name();
        let rate = settings.iter().find(is_rate)?.number?;
        let latency = self.asked.limit.map(|limit| limit.most_ns.as_secs());
        Some(open_loop_slots(rate * latency.unwrap_or(DEFAULT_LATENCY_SECS)).min(most))
    }

    /// A run that could not be made.
    pub fn failed(&mut self, next: Next, why: String) {
        self.left_out.push(LeftOut {
            settings: next.settings,
            why,
        });
    }

    /// Everything that was measured. `None` if nothing was.
    pub fn finish(self, name: &str, interrupted: bool) -> Option<Study> {
        let tool: Tool = self.runs.first()?.results.tool.clone();
        let unmeasured = self.pending.into_iter().map(|next| LeftOut {
            settings: next.settings,
            why: "the sweep was interrupted".into(),
        });
        Some(Study {
            format_version: FORMAT_VERSION,
            kind: StudyKind::Study,
            tool,
            name: name.into(),
            question: Question::Sweep {
                varied: self.asked.varied,
                limit: self.asked.limit.map(|limit| limit.to_string()),
            },
            left_out: self.left_out.into_iter().chain(unmeasured).collect(),
            runs: self.runs,
            interrupted,
        })
    }

    fn add(&mut self, cells: Vec<Vec<Setting>>, role: Role) {
        let mut added: Vec<Next> = cells
            .into_iter()
            .map(|settings| Next {
                slots: self.slots_of(&settings),
                settings,
                role,
                time: self.asked.time,
                number: 0,
                of_about: 0,
                left: Nanos(0),
                longer: false,
                narrower_iops: None,
            })
            .collect();
        // Fisher and Yates: any order is as likely, so that nothing that drifts can pass for an
        // effect of the load.
        for end in (1..added.len()).rev() {
            let other = (self.draws.unit(Purpose::Stream) * (end + 1) as f64) as usize;
            added.swap(end, other.min(end));
        }
        self.pending.extend(added);
    }

    /// Completes what comes next: its length, its number, and what is left to do.
    fn timed(&self, next: Next) -> Next {
        let time = match (self.asked.least_operations, self.least_rate(&next.settings)) {
            (Some(least), Some(iops)) if !next.longer => longer(next.time, least as f64 / iops),
            _ => next.time,
        };
        let beside = match (self.refined_axis().is_some(), self.asked.limit) {
            (false, _) => 0,
            (true, None) => 2,
            (true, Some(_)) => 4,
        };
        let to_come = self.pending.len()
            + match (self.stage, self.asked.refine) {
                (_, false) => 0,
                (Stage::Grid, true) => beside + 1,
                (Stage::Refined, true) => 1,
                (Stage::Repeated, true) => 0,
            };
        let each = |time: Nanos| time + self.asked.warm_up;
        let pending: u64 = self.pending.iter().map(|next| each(next.time).0).sum();
        let unknown = (to_come - self.pending.len()) as u64 * each(self.asked.time).0;
        Next {
            time,
            number: self.runs.len() + 1,
            of_about: self.runs.len() + 1 + to_come,
            left: each(time) + Nanos(pending + unknown),
            ..next
        }
    }

    /// The largest rate of the same curve under no more load: as much is to be expected.
    fn least_rate(&self, settings: &[Setting]) -> Option<f64> {
        let load = rules::load_of(&self.asked.varied, settings)?;
        let below = self
            .curve_of(settings)
            .into_iter()
            .filter(|(setting, _)| *setting <= load);
        below
            .map(|(_, found)| found.total.iops.unwrap_or(0.0))
            .reduce(f64::max)
            .filter(|rate| *rate > 0.0)
    }

    /// Finished points that differ from these settings at most in the load, in its order.
    fn curve_of(&self, settings: &[Setting]) -> Vec<(f64, Observation)> {
        let mut curve: Vec<(f64, Observation)> = self
            .runs
            .iter()
            .filter(|run| run.role == Role::Point && rules::same_curve(&self.asked.varied, &run.settings, settings))
            .filter_map(|run| {
                let load = rules::load_of(&self.asked.varied, &run.settings)?;
                Some((load, Observation::from_results(&run.results, 0, 0)?))
            })
            .collect();
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        curve
    }

    fn ruled_out(&self, next: &Next) -> Option<String> {
        if !self.asked.stop_early || next.role != Role::Point || next.longer || next.narrower_iops.is_some() {
            return None;
        }
        let (index, parameter) = rules::load_axis(&self.asked.varied)?;
        let load = next.settings.get(index)?.number?;
        let curve = self.curve_of(&next.settings);
        let devices = self.runs.first().map(|run| &run.results);
        rules::ruled_out(parameter, load, &curve, self.asked.limit.as_ref(), devices)
    }

    /// The load whose curves get points beside their knees: what is in flight.
    fn refined_axis(&self) -> Option<(usize, Parameter)> {
        let axis = rules::load_axis(&self.asked.varied);
        axis.filter(|(_, parameter)| matches!(parameter, Parameter::Depth | Parameter::Workers))
    }

    /// Settings half as large again as the knee of each curve, and as the point below it. What was
    /// left out stays so.
    fn beside_knees(&self) -> Vec<Vec<Setting>> {
        let Some((index, parameter)) = self.refined_axis() else {
            return Vec::new();
        };
        let mut beside = Vec::new();
        for curve in report::curves(&self.asked.varied, &self.runs, self.asked.limit.as_ref()) {
            let Some(per_setting) = curve.in_flight_per_setting() else {
                continue;
            };
            for in_flight in knee::refinement(&curve.knee) {
                let number = (in_flight as f64 / per_setting).round();
                let mut settings = curve.template.clone();
                settings[index] = over::setting(parameter, number);
                let is_known =
                    curve.settings.contains(&number) || self.left_out.iter().any(|left| left.settings == settings);
                if number >= 1.0 && !is_known {
                    beside.push(settings);
                }
            }
        }
        beside
    }
}

/// A length for that many seconds with a little to spare, not below the one that was asked for and
/// not above the longest.
fn longer(asked: Nanos, seconds: f64) -> Nanos {
    let wanted = Nanos((seconds * 1.05).ceil().min(1e6) as u64 * 1_000_000_000);
    wanted.min(MAX_POINT.max(asked)).max(asked)
}

/// Every combination of the values.
fn combinations(varied: &[Varied]) -> Vec<Vec<Setting>> {
    varied.iter().fold(vec![Vec::new()], |cells, varied| {
        let with = |cell: &Vec<Setting>, value: &Setting| {
            let mut cell = cell.clone();
            cell.push(value.clone());
            cell
        };
        cells
            .iter()
            .flat_map(|cell| varied.values.iter().map(move |value| with(cell, value)))
            .collect()
    })
}

#[cfg(test)]
mod tests;
