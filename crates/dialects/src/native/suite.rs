//! Suites: workloads, each with a requirement. A workload is a preset, a job file or a set of
//! options; options given with a preset or file change it.
//!
//! This module neither parses requirements nor opens files: the caller passes the job file of a
//! workload to [`Workload::document`].

use model::plan::PresetUse;
use model::visible;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::jobfile::{OBJECTIVE_EXAMPLE, PLAIN_VALUE, Reader, normalize_objective, value_texts};
use super::options::{find, options};
use super::spec::{Document, JobSpec, SimulatedSpec};
use super::{apply, presets};
use crate::diagnostic::{Diagnostic, Location};
use crate::nearest::nearest;

/// The example suite.
pub const EXAMPLE: &str = include_str!("../../suites/acceptance.toml");

/// Keys at the top of a suite.
const TOP_KEYS: [&str; 5] = ["name", "objective", "defaults", "workload", "simulated"];
/// Keys of a workload that are not options.
const KEYS: [&str; 6] = ["name", "preset", "job", "objective", "require", "pace"];

/// Workloads with their requirements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suite {
    /// Name of the suite in reports.
    pub name: Option<String>,
    /// The question that it answers.
    pub objective: Option<String>,
    /// The workloads in the order of execution.
    pub workloads: Vec<Workload>,
    simulated: Vec<SimulatedSpec>,
}

/// A workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Name of the workload in reports.
    pub name: String,
    /// The base that its options change.
    pub base: WorkloadBase,
    /// The question that it answers; absent: the question of its preset or file.
    pub objective: Option<String>,
    /// The requirement; absent: the preset's requirement.
    pub require: Option<String>,
    /// Whether to issue the required rate; absent: if a rate and a latency are required together.
    pub pace: Option<bool>,
    /// Location in the file.
    pub at: Location,
    /// Options in the order of their effect: `[defaults]`, then its own.
    options: Vec<(String, Vec<String>, Location)>,
}

/// The base of a workload.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadBase {
    /// A job with the default values.
    Default,
    /// A preset, by its name.
    Preset(String),
    /// A job file, by its path.
    File(String),
}

impl Workload {
    /// The jobs of the workload. `file` is its job file, if it is based on one.
    ///
    /// # Errors
    /// Every problem about its options.
    pub fn document(&self, suite: &Suite, file: Option<Document>) -> Result<Document, Vec<Diagnostic>> {
        let mut document = match (&self.base, file) {
            (WorkloadBase::Preset(name), _) => presets::find(name)
                .map_err(|problem| vec![problem.at(self.at.clone())])?
                .document(),
            (_, Some(document)) => document,
            (WorkloadBase::Default | WorkloadBase::File(_), None) => Document {
                jobs: vec![JobSpec::default()],
                ..Document::default()
            },
        };
        document.name = Some(self.name.clone());
        document.objective = self.objective.clone().or(document.objective);
        document.simulated.extend(suite.simulated.iter().cloned());
        let mut problems = Vec::new();
        for job in &mut document.jobs {
            for (name, values, location) in &self.options {
                if name == "target" {
                    job.targets.clear();
                }
                for value in values {
                    if let Err(problem) = apply(job, name, value, || location.clone())
                        && !problems.contains(&problem)
                    {
                        problems.push(problem);
                    }
                }
            }
        }
        if let [job] = &mut document.jobs[..] {
            job.name = Some(self.name.clone());
        }
        if let Some(PresetUse { changed, .. }) = &mut document.preset {
            *changed = self
                .options_set()
                .filter(|name| *name != "target")
                .map(str::to_owned)
                .collect();
        }
        match problems.is_empty() {
            true => Ok(document),
            false => Err(problems),
        }
    }

    /// True if the workload or the defaults set an option.
    pub fn sets(&self, option: &str) -> bool {
        self.options.iter().any(|(name, ..)| name == option)
    }

    /// Names of its options in the order of the table.
    fn options_set(&self) -> impl Iterator<Item = &'static str> + '_ {
        options().map(|option| option.name).filter(|name| self.sets(name))
    }
}

/// Reads a suite. `file` is its name, for messages.
///
/// # Errors
/// Every [`Diagnostic`] about the text.
pub fn read_suite(file: &str, text: &str) -> Result<Suite, Vec<Diagnostic>> {
    let (mut reader, root) = Reader::new(file, text)?;
    let suite = read_tables(&mut reader, root.get_ref());
    if suite.workloads.is_empty() && reader.faults.is_empty() {
        let problem = Diagnostic::new(format!("{file} has no workload"));
        reader
            .faults
            .push(problem.help("write `[[workload]]`; `fathom suite --example` prints a suite"));
    }
    match reader.faults.is_empty() {
        true => Ok(suite),
        false => Err(reader.faults),
    }
}

fn read_tables(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Suite {
    let mut suite = Suite::default();
    let mut defaults = Vec::new();
    for (key, value) in root {
        if let ("defaults", DeValue::Table(table)) = (key.get_ref().as_ref(), value.get_ref()) {
            for entry in table {
                defaults.extend(read_option(reader, entry));
            }
        }
    }
    for (key, value) in root {
        let at = value.span().start;
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("defaults", DeValue::Table(_)) => {}
            ("name", DeValue::String(name)) => suite.name = Some(visible(name).into_owned()),
            ("objective", DeValue::String(text)) => match normalize_objective(text) {
                Some(line) => suite.objective = Some(line),
                None => reader.add_fault(at, "the objective is empty", OBJECTIVE_EXAMPLE),
            },
            ("workload", DeValue::Array(workloads)) => {
                for entry in workloads {
                    match entry.get_ref() {
                        DeValue::Table(table) => {
                            let entry =
                                read_workload(reader, entry.span().start, table, &defaults, suite.workloads.len() + 1);
                            if suite.workloads.iter().any(|other| other.name == entry.name) {
                                let message = format!("two workloads have the name `{}`", entry.name);
                                reader.add_fault_at(entry.at.clone(), message, "use different names");
                            }
                            suite.workloads.push(entry);
                        }
                        _ => reader.add_fault(entry.span().start, "a workload must be a table", "write `[[workload]]`"),
                    }
                }
            }
            ("simulated", DeValue::Table(devices)) => {
                let mut document = Document::default();
                for entry in devices {
                    reader.read_simulated_device(entry, &mut document);
                }
                suite.simulated = document.simulated;
            }
            (key, _) if TOP_KEYS.contains(&key) => {
                let help = match key {
                    "workload" => "write `[[workload]]` above each workload",
                    "defaults" => "write `[defaults]`",
                    "simulated" => "write `[simulated.NAME]`",
                    _ => "it must be a string",
                };
                reader.add_fault(at, format!("`{key}` has the wrong type"), help);
            }
            ("job", _) => {
                let help = "this looks like a job file: run it with `fathom run`, or name it with `job = \"FILE.toml\"` in a workload";
                reader.add_fault(key.span().start, "a suite has workloads, not jobs", help);
            }
            (other, _) => {
                let help = match (find(other), nearest(other, TOP_KEYS)) {
                    (Some(_), _) => format!("`{other}` belongs under `[[workload]]` or `[defaults]`"),
                    (None, Some(near)) => format!("did you mean `{near}`?"),
                    (None, None) => format!("valid top-level keys: {}", TOP_KEYS.join(", ")),
                };
                reader.add_fault(key.span().start, format!("`{other}` is not a top-level key"), help);
            }
        }
    }
    suite
}

type Entry<'a, 'b> = (&'b Spanned<std::borrow::Cow<'a, str>>, &'b Spanned<DeValue<'a>>);
type Setting = (String, Vec<String>, Location);

fn read_workload(
    reader: &mut Reader<'_>,
    at: usize,
    table: &DeTable<'_>,
    defaults: &[Setting],
    number: usize,
) -> Workload {
    let mut workload = Workload {
        name: format!("workload {number}"),
        base: WorkloadBase::Default,
        objective: None,
        require: None,
        pace: None,
        at: reader.location(at),
        options: defaults.to_vec(),
    };
    for (key, value) in table {
        let at = value.span().start;
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("name", DeValue::String(text)) if !text.trim().is_empty() => {
                workload.name = visible(text).into_owned();
                workload.at = reader.location(key.span().start);
            }
            (name @ ("preset" | "job"), DeValue::String(text)) => {
                if workload.base != WorkloadBase::Default {
                    let help = "remove one of them, or make two workloads";
                    reader.add_fault(
                        key.span().start,
                        "a workload is based on a preset or a job file, not both",
                        help,
                    );
                }
                workload.base = match name {
                    "preset" => WorkloadBase::Preset(text.to_string()),
                    _ => WorkloadBase::File(text.to_string()),
                };
                if let WorkloadBase::Preset(name) = &workload.base
                    && let Err(problem) = presets::find(name)
                {
                    let location = reader.location(at);
                    reader.faults.push(problem.at(location));
                }
            }
            ("objective", DeValue::String(text)) => match normalize_objective(text) {
                Some(line) => workload.objective = Some(line),
                None => reader.add_fault(at, "the objective is empty", OBJECTIVE_EXAMPLE),
            },
            ("require", DeValue::String(text)) => workload.require = Some(text.to_string()),
            ("pace", DeValue::Boolean(pace)) => workload.pace = Some(*pace),
            (key, _) if KEYS.contains(&key) => {
                let help = match key {
                    "pace" => {
                        "write `pace = true` (run at the required rate) or `pace = false` (keep the load unchanged)"
                    }
                    "require" => "write a string: require = \"iops>=4000,p99<=3ms\"",
                    _ => "it must be a string",
                };
                reader.add_fault(at, format!("`{key}` has the wrong type"), help);
            }
            _ => workload.options.extend(read_option(reader, (key, value))),
        }
    }
    workload
}

/// Reads an option with its values, and checks it on a scratch job.
fn read_option(reader: &mut Reader<'_>, (key, value): Entry<'_, '_>) -> Option<Setting> {
    let name = key.get_ref().as_ref();
    let at = key.span().start;
    if find(name).is_none() {
        let keys = options().map(|option| option.name).chain(KEYS);
        let help = match nearest(name, keys) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "valid keys: name, preset, job, objective, require, pace, and the options of `fathom run --help`"
                .to_owned(),
        };
        reader.add_fault(at, format!("unknown key `{name}` in a workload"), help);
        return None;
    }
    let Some(values) = value_texts(value.get_ref()) else {
        let example = find(name).map_or("", |option| option.example);
        reader.add_fault(value.span().start, format!("`{name}` {PLAIN_VALUE}"), example);
        return None;
    };
    let location = reader.location(at);
    for text in &values {
        if let Err(problem) = apply(&mut JobSpec::default(), name, text, || location.clone()) {
            reader.faults.push(problem);
        }
    }
    Some((name.to_owned(), values, location))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::lower;

    fn problems(text: &str) -> String {
        let faults = read_suite("suite.toml", text).unwrap_err();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn control_characters_of_names_are_escaped() {
        let text = "name = \"s\\n\"\n[[workload]]\nname = \"a\\r\\nb\"\nrequire = \"iops>=1\"\n";
        let suite = read_suite("suite.toml", text).unwrap();
        assert_eq!(suite.name.as_deref(), Some("s\\n"));
        assert_eq!(suite.workloads[0].name, "a\\r\\nb");
    }

    #[test]
    fn the_example_is_a_suite() {
        let suite = read_suite("example", EXAMPLE).unwrap();
        assert_eq!(suite.workloads.len(), 4);
        for workload in &suite.workloads {
            assert!(workload.require.is_some());
            let mut document = workload.document(&suite, None).unwrap();
            document.jobs[0].targets = vec!["/data".into()];
            let plan = lower(&document).unwrap();
            plan.check().unwrap();
            let job = &plan.steps[0].jobs[0];
            assert_eq!(job.stop.after_ns, Some(model::Nanos::secs(300)), "the defaults hold");
            assert_eq!(job.name, workload.name);
        }
        let document = suite.workloads[0].document(&suite, None).unwrap();
        assert_eq!(document.preset.unwrap().changed, ["time", "warm-up"]);
    }

    #[test]
    fn options_of_a_workload_override_the_defaults_and_its_base() {
        let text = "[defaults]\ndepth = 2\ntime = \"9s\"\n[[workload]]\njob = \"x.toml\"\ndepth = 3\ntarget = [\"a\", \"b\"]\n";
        let suite = read_suite("suite.toml", text).unwrap();
        let workload = &suite.workloads[0];
        assert_eq!(
            (workload.name.as_str(), &workload.base),
            ("workload 1", &WorkloadBase::File("x.toml".into()))
        );
        let file = Document {
            jobs: vec![JobSpec {
                workers: 7,
                targets: vec!["c".into()],
                ..JobSpec::default()
            }],
            ..Document::default()
        };
        let document = workload.document(&suite, Some(file)).unwrap();
        let job = &document.jobs[0];
        assert_eq!(
            (job.depth, job.workers, job.time),
            (Some(3), 7, Some(model::Nanos::secs(9)))
        );
        assert_eq!(job.targets, ["a", "b"]);
        assert!(workload.sets("time") && !workload.sets("read"));
    }

    #[test]
    fn all_mistakes_are_reported_together_with_their_lines() {
        let text = "nmae = \"x\"\n[defaults]\nblok = \"4k\"\n[[workload]]\npreset = \"olpt\"\njob = \"x.toml\"\nrequire = 3\npace = \"yes\"\n\
                    depth = 0\nreqire = \"iops>=3\"\n[[workload]]\nname = \"a\"\n[[workload]]\nname = \"a\"\n";
        let found = problems(text);
        for part in [
            "did you mean `name`?",
            "suite.toml:3  blok",
            "did you mean `block`?",
            "did you mean `oltp`?",
            "not both",
            "`require` has the wrong type",
            "`pace` has the wrong type",
            "`depth`: must be 1 to",
            "did you mean `require`?",
            "two workloads have the name `a`",
        ] {
            assert!(found.contains(part), "`{part}` in:\n{found}");
        }
        assert!(problems("").contains("has no workload"));
        assert!(problems("x = [").contains("invalid TOML"));
        assert!(problems("[[job]]\ndepth = 3").contains("looks like a job file"));
        assert!(problems("depth = 3").contains("belongs under `[[workload]]`"));
        assert!(problems("workload = 3").contains("write `[[workload]]`"));
    }
}
