//! Compares two plans path by path.

mod parts;
mod rows;
mod similar;

pub(super) use parts::repeats_passes;

use std::collections::HashSet;

use model::plan::{Dialect, Job, Plan, Step, Stop, Stream, Target, TargetKind, Worker};
use model::{Bytes, Direction};
use serde_json::{Value, json};

use super::worker_groups::{self, AllowedDifferences};
use super::{Lost, dialect_name, words};
use rows::{CAP_OPTIONS, Check, Impact, JOB_OPTIONS, LOAD, Names, ROWS, Row, SEED_OPTIONS, STEP_OPTIONS};
use similar::SimilarStreams;

/// The differences of two plans.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// Differences that change the test.
    pub(super) lost: Vec<Lost>,
    /// Differences that do not change the test.
    pub(super) differs: Vec<Lost>,
    /// The lost ones that change the load. Each has the option that replaces the setting, or none
    /// (empty).
    pub(super) load: Vec<(&'static str, Lost)>,
}

impl Differences {
    pub(super) fn from_lost(lost: Vec<Lost>) -> Differences {
        Differences {
            lost,
            ..Differences::default()
        }
    }

    pub(super) fn whole_test(why: impl Into<String>) -> Differences {
        Differences::from_lost(vec![Lost::whole_test(why)])
    }
}

/// A stream, with its plan, job, worker and target.
#[derive(Clone, Copy)]
struct StreamContext<'a> {
    plan: &'a Plan,
    job: &'a Job,
    /// The number of the job in its step.
    job_number: usize,
    worker: &'a Worker,
    stream: &'a Stream,
    target: &'a Target,
}

/// A stream of the original plan, and its counterpart in the converted one.
struct Pair<'a> {
    from: Dialect,
    to: Dialect,
    wanted: StreamContext<'a>,
    got: StreamContext<'a>,
}

/// Compares the original plan with the plan that was read back from the text in dialect `to`.
pub(super) fn compare(wanted: &Plan, got: &Plan, to: Dialect) -> Differences {
    let mut comparison = Comparison {
        from: wanted.origin.dialect,
        to,
        job: None,
        differences: Differences::default(),
        reported: HashSet::new(),
    };
    comparison.compare_plans(wanted, got);
    comparison.differences
}

struct Comparison {
    from: Dialect,
    to: Dialect,
    /// The job of the differences; absent if there is only one job.
    job: Option<String>,
    differences: Differences,
    /// The differences found so far, with whether they are losses.
    reported: HashSet<(bool, Lost)>,
}

impl Comparison {
    /// Adds a difference, once for each job.
    fn add_difference(&mut self, names: &Names, impact: Impact, wanted: &str, got: &str) {
        let (from, to) = (dialect_name(self.from), dialect_name(self.to));
        let lost = matches!(impact, Impact::Lost);
        let what = match names.subject(self.from) {
            "" => format!("{from}: {wanted}"),
            name => format!("{from} {name}: {wanted}"),
        };
        let why = match (names.in_dialect(self.to), got) {
            ("", "") => format!("{to} has no equivalent"),
            // The names of Vdbench's parameters and of Iometer's keys are not listed.
            ("", _)
                if lost
                    && !names.in_dialect(self.from).is_empty()
                    && !matches!(self.to, Dialect::Vdbench | Dialect::Iometer) =>
            {
                format!("{to} has no equivalent")
            }
            (_, "") => format!("{to} cannot express this"),
            (_, got) => format!("{to}: {got}"),
        };
        let job = self.job.clone().filter(|_| !matches!(impact, Impact::DialectWide));
        let difference = Lost { job, what, why };
        let list = match lost {
            true => &mut self.differences.lost,
            false => &mut self.differences.differs,
        };
        if self.reported.insert((lost, difference.clone())) {
            list.push(difference);
        }
    }

    /// Adds a difference if two descriptions differ.
    fn compare_texts(&mut self, names: &Names, wanted: String, got: String) {
        if wanted != got {
            self.add_difference(names, Impact::Lost, &wanted, &got);
        }
    }

    fn compare_plans(&mut self, wanted: &Plan, got: &Plan) {
        self.compare_texts(
            &CAP_OPTIONS,
            words::describe_limits(&wanted.limits),
            words::describe_limits(&got.limits),
        );
        if self.from == self.to || wanted.seed > u64::from(u32::MAX) {
            self.compare_texts(&SEED_OPTIONS, wanted.seed.to_string(), got.seed.to_string());
        }
        let (wanted_steps, got_steps) = (wanted.steps.len(), got.steps.len());
        if wanted_steps != got_steps {
            let wanted_text = format!("{wanted_steps} in sequence");
            self.add_difference(&STEP_OPTIONS, Impact::Lost, &wanted_text, &got_steps.to_string());
        }
        for (wanted_step, got_step) in wanted.steps.iter().zip(&got.steps) {
            self.compare_steps((wanted, wanted_step), (got, got_step));
        }
    }

    fn compare_steps(&mut self, (plan, wanted): (&Plan, &Step), (got_plan, got): (&Plan, &Step)) {
        let many = wanted.jobs.len() > 1 || plan.steps.len() > 1;
        let threads = |step: &Step| -> Vec<usize> {
            let workers = step.jobs.iter().flat_map(|job| &job.workers);
            workers.map(|worker| worker.streams.len()).collect()
        };
        let got_contexts: Vec<StreamContext<'_>> = stream_contexts(got_plan, got);
        let alike = threads(wanted) == threads(got);
        let mut similar = SimilarStreams::new(&got_contexts);
        self.job = None;
        self.compare_texts(&JOB_OPTIONS, describe_threads(wanted), describe_threads(got));
        let mut heads = (JobHeader::default(), JobHeader::default());
        let mut before: Option<(&Job, (Stream, Worker, Worker))> = None;
        for (index, context) in stream_contexts(plan, wanted).into_iter().enumerate() {
            self.job = many.then(|| context.job.name.clone());
            let counterpart = match alike {
                true => got_contexts.get(index),
                false => similar.find(&context),
            };
            let Some(counterpart) = counterpart else {
                self.add_difference(&JOB_OPTIONS, Impact::Lost, "all of it", "");
                continue;
            };
            // A job can have thousands of equal threads: one comparison is enough for a run of
            // them.
            let like = (
                context.stream.clone(),
                worker_groups::without_differences(context.worker, AllowedDifferences::default()),
                worker_groups::without_differences(counterpart.worker, AllowedDifferences::default()),
            );
            // A job is compared once, not for each of its threads: that took quadratic time.
            let same_job = |job: &Job| std::ptr::eq(job, context.job) || *job == *context.job;
            let repeats = before
                .as_ref()
                .is_some_and(|(job, before)| *before == like && same_job(job));
            let same_cpus = context.worker.placement.cpus == counterpart.worker.placement.cpus;
            if self.from != self.to && same_cpus && repeats {
                continue;
            }
            before = Some((context.job, like));
            let pair = Pair {
                from: self.from,
                to: self.to,
                wanted: context,
                got: *counterpart,
            };
            let values = (heads.0.value(&context), heads.1.value(counterpart));
            ROWS.iter().for_each(|row| self.compare_row(row, &pair, &values));
        }
        self.job = None;
    }

    fn compare_row(&mut self, row: &Row, pair: &Pair<'_>, values: &(Value, Value)) {
        if !row.paths.starts_with("target.") {
            return self.check(row, pair, values);
        }
        let ids = |context: &StreamContext<'_>| context.stream.target.ids().to_vec();
        for (wanted, got) in ids(&pair.wanted).into_iter().zip(ids(&pair.got)) {
            let (wanted, got) = (pair.wanted.plan.target(wanted), pair.got.plan.target(got));
            let pair = Pair {
                wanted: StreamContext {
                    target: wanted,
                    ..pair.wanted
                },
                got: StreamContext {
                    target: got,
                    ..pair.got
                },
                ..*pair
            };
            self.check(row, &pair, values);
        }
    }

    fn check(&mut self, row: &Row, pair: &Pair<'_>, values: &(Value, Value)) {
        let (wanted, got) = match &row.check {
            Check::Ignored | Check::Whole => return,
            Check::Pair(differ) => match differ(pair) {
                Some(words) => words,
                None => return,
            },
            Check::Words(words) => (words(&pair.wanted, &pair.wanted), words(&pair.got, &pair.wanted)),
            by_value => {
                let path = row.paths.split(' ').next().unwrap_or_default();
                let (wanted, got) = (part(&values.0, path), part(&values.1, path));
                let wanted_words = by_value.describe(wanted);
                // If values differ but their words do not, the dialect cannot express the value.
                let got_words = Some(by_value.describe(got)).filter(|got| *got != wanted_words);
                match wanted == got {
                    true => return,
                    false => (wanted_words, got_words.unwrap_or_default()),
                }
            }
        };
        if wanted.is_empty() || wanted == got {
            return;
        }
        let impact = match row.impact {
            Impact::Computed(decide) => decide(pair),
            impact => impact,
        };
        let before = self.differences.lost.len();
        self.add_difference(&row.names, impact, &wanted, &got);
        let option = LOAD.iter().find(|(path, _)| *path == row.paths);
        if let Some((_, option)) = option {
            let added = self.differences.lost[before..].iter().cloned();
            self.differences.load.extend(added.map(|lost| (*option, lost)));
        }
    }
}

/// A serialised job without its workers, which are compared separately.
#[derive(Default)]
struct JobHeader<'a>(Option<(&'a Job, Value)>);

impl<'a> JobHeader<'a> {
    /// The serialised parts of a stream and its context.
    fn value(&mut self, context: &StreamContext<'a>) -> Value {
        let cached = self.0.take().filter(|(job, _)| std::ptr::eq(*job, context.job));
        let (job, head) = cached.unwrap_or_else(|| {
            let job_without_workers = Job {
                workers: Vec::new(),
                ..context.job.clone()
            };
            (context.job, json!(job_without_workers))
        });
        let value = json! ( { "job" : head, "worker" : context. worker, "stream" : context. stream });
        self.0 = Some((job, head));
        value
    }
}

/// The value at a path; null if there is none.
fn part<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(value, |value, key| &value[key])
}

impl StreamContext<'_> {
    /// True if its operations write.
    fn writes(&self) -> bool {
        self.stream.mix.includes(Direction::Write)
    }

    /// The paths of its targets.
    fn paths(&self) -> Vec<&str> {
        let ids = self.stream.target.ids().iter();
        ids.map(|id| self.plan.target(*id).path.as_str()).collect()
    }
}

/// Every stream of a step, ordered by job and worker.
fn stream_contexts<'a>(plan: &'a Plan, step: &'a Step) -> Vec<StreamContext<'a>> {
    let jobs = step.jobs.iter().enumerate();
    let workers = jobs.flat_map(|(number, job)| job.workers.iter().map(move |worker| (number, job, worker)));
    let streams = workers
        .flat_map(|(number, job, worker)| worker.streams.iter().map(move |stream| (number, job, worker, stream)));
    streams
        .filter_map(|(job_number, job, worker, stream)| {
            Some(StreamContext {
                plan,
                job,
                job_number,
                worker,
                stream,
                target: plan.target(*stream.target.ids().first()?),
            })
        })
        .collect()
}

/// Describes how the threads of a step are assigned to targets.
fn describe_threads(step: &Step) -> String {
    let mut worker_groups: Vec<(usize, (usize, usize))> = Vec::new();
    for worker in step.jobs.iter().flat_map(|job| &job.workers) {
        // A file set counts as one target per file.
        let ids = worker.streams.iter().flat_map(|stream| stream.target.ids());
        let streams = ids.clone().count();
        let group = (ids.collect::<HashSet<_>>().len(), streams);
        match worker_groups.last_mut() {
            Some((count, same)) if *same == group => *count += 1,
            _ => worker_groups.push((1, group)),
        }
    }
    let worker_groups = worker_groups.iter().map(|(count, group)| match group {
        (1, 1) => format!("{count} with one target each"),
        (1, streams) => format!("{count} with {streams} streams each on one target"),
        (targets, streams) if targets == streams => format!("{count} with {targets} targets each"),
        (targets, streams) => format!("{count} with {streams} streams each on {targets} targets"),
    });
    format!("workers: {}", worker_groups.collect::<Vec<_>>().join(", "))
}

/// Multiplies amounts by the number of rounds.
pub(super) fn multiply_rounds(stop: Stop) -> Stop {
    let rounds = stop.rounds.unwrap_or(1);
    let times = u64::from(rounds);
    Stop {
        bytes: stop.bytes.map(|bytes| Bytes(bytes.0.saturating_mul(times))),
        region_percent: stop.region_percent.map(|percent| percent.saturating_mul(rounds)),
        operations: stop.operations.map(|operations| operations.saturating_mul(times)),
        passes: stop.passes.map(|passes| passes.saturating_mul(rounds)),
        rounds: None,
        ..stop
    }
}

/// True if the path looks like a device.
pub(super) fn is_device(path: &str) -> bool {
    path.starts_with("/dev/") || path.starts_with('#') || path.starts_with(r"\\.\")
}

/// The size of a target, if known without examining it.
fn known_size(target: &Target) -> Option<u64> {
    match &target.kind {
        TargetKind::Nothing { size } | TargetKind::Name { size, .. } => Some(size.0),
        TargetKind::Simulated { device } => Some(device.size.0),
        TargetKind::Tree { tree } => Some(tree.total_size().0),
        TargetKind::Path | TargetKind::Template { .. } => target.prepare.size().map(|size| size.0),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Collects the paths of all schema entries that are not objects.
    fn leaves(schema: &Value, definitions: &Value, path: &str, found: &mut BTreeSet<String>) -> bool {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap_or_default();
            return leaves(&definitions[name], definitions, path, found);
        }
        let mut has_leaves = false;
        for choice in ["oneOf", "anyOf", "allOf"] {
            for alternative in schema[choice].as_array().into_iter().flatten() {
                has_leaves |= leaves(alternative, definitions, path, found);
            }
        }
        if schema["items"].is_object() {
            has_leaves |= leaves(&schema["items"], definitions, path, found);
        }
        for (name, value) in schema["properties"].as_object().into_iter().flatten() {
            // The tag of a variant.
            if !value["const"].is_null() {
                continue;
            }
            has_leaves = true;
            let below = match format!("{path}.{name}").as_str() {
                "plan.targets" => "target".to_owned(),
                "plan.steps" => "step".to_owned(),
                "step.jobs" => "job".to_owned(),
                "job.workers" => "worker".to_owned(),
                "worker.streams" => "stream".to_owned(),
                other => other.to_owned(),
            };
            if !leaves(value, definitions, &below, found) {
                found.insert(below);
            }
        }
        has_leaves
    }

    #[test]
    fn every_path_of_a_plan_has_a_row() {
        let schema: Value = serde_json::from_str(include_str!("../../../../../docs/schema/plan.schema.json")).unwrap();
        let mut found = BTreeSet::new();
        leaves(&schema, &schema["$defs"], "plan", &mut found);
        assert!(found.len() > 400, "only {} paths", found.len());
        let covers = |row: &str, path: &str| {
            path.strip_prefix(row)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let rows: Vec<&str> = ROWS.iter().flat_map(|row| row.paths.split(' ')).collect();
        let without: Vec<&String> = found
            .iter()
            .filter(|path| !rows.iter().any(|row| covers(row, path)))
            .collect();
        assert!(without.is_empty(), "no row covers {without:?}");
        let stale: Vec<&&str> = rows
            .iter()
            .filter(|row| !found.iter().any(|path| covers(row, path)))
            .collect();
        assert!(stale.is_empty(), "rows name paths that no plan has: {stale:?}");
    }
}
