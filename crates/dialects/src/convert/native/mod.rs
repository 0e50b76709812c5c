//! Converts a plan to flags of `fathom run`, or to a job file.

mod options;

use model::plan::{Dialect, Job, Plan, SimulatedDevice, Target, TargetKind};
use model::shell_word;

use options::{job_text, simulated_device_options};

pub(super) use options::{describe_simulated_device, format_tree};

use super::worker_groups::{AllowedDifferences, Names, WorkerGroup, worker_groups};
use super::{Conversion, Form, Lost, compare};
use crate::diagnostic::{Diagnostic, Location};
use crate::native::{self, Document, JobSpec};

/// At most this many workers that each walk the whole target become separate jobs: workers of one
/// job would divide the target.
const MAX_WALKERS: usize = 8;

/// Converts a plan to native text: flags for a single job, else a job file.
pub fn to_native(plan: &Plan) -> Conversion {
    let (form, text, read) = read_back(plan);
    let differences = match read.and_then(|document| native::lower(&document)) {
        Ok(got) => compare::compare(plan, &got, Dialect::Native),
        Err(problems) => compare::Differences::from_lost(refused_text(problems)),
    };
    Conversion::new(Dialect::Native, form, text, differences)
}

/// Native jobs of a plan.
#[derive(Clone, Debug)]
pub struct NativeJobs {
    /// The job file as a document.
    pub document: Document,
    /// The settings that are lost.
    pub lost: Vec<Lost>,
    /// The lost settings that change the load. Each has the option that replaces it, or none
    /// (empty).
    pub load: Vec<(&'static str, Lost)>,
}

/// Converts a plan to native jobs.
///
/// # Errors
/// The native dialect refuses them.
pub fn to_native_jobs(plan: &Plan) -> Result<NativeJobs, Vec<Diagnostic>> {
    let (_, _, read) = read_back(plan);
    let document = read?;
    let got = native::lower(&document)?;
    let differences = compare::compare(plan, &got, Dialect::Native);
    Ok(NativeJobs {
        document,
        lost: differences.lost,
        load: differences.load,
    })
}

/// The native text of a plan, and the result of parsing it again.
fn read_back(plan: &Plan) -> (Form, String, Result<Document, Vec<Diagnostic>>) {
    let text = Text::from_plan(plan);
    match text.fits_flags(plan) {
        true => (Form::CommandLine, text.flags(), text.document()),
        false => {
            let text = text.toml();
            let read = native::read_job_file("job.toml", &text);
            (Form::JobFile, text, read)
        }
    }
}

/// The difference for a text that the native parser refuses.
fn refused_text(problems: Vec<Diagnostic>) -> Vec<Lost> {
    let lost = |problem: Diagnostic| Lost::whole_test(format!("fathom refuses it: {}", problem.what));
    problems.into_iter().map(lost).collect()
}

/// Option names with their values.
type Options = Vec<(&'static str, String)>;

struct Text<'a> {
    name: Option<&'a str>,
    seed: Option<u64>,
    objective: Option<&'a str>,
    jobs: Vec<JobText>,
    simulated: Vec<(String, &'a SimulatedDevice)>,
    caps: Vec<String>,
}

#[derive(Default)]
struct JobText {
    name: String,
    options: Options,
    parts: Vec<(u32, Options)>,
}

impl<'a> Text<'a> {
    fn from_plan(plan: &'a Plan) -> Text<'a> {
        let mut jobs = Vec::new();
        let mut names = Names::default();
        for (number, step) in plan.steps.iter().enumerate() {
            let mut written: Vec<String> = Vec::new();
            for job in &step.jobs {
                let worker_groups = job_groups(job);
                for (index, group) in worker_groups.iter().enumerate() {
                    let name = match worker_groups.len() {
                        1 => names.take(&job.name),
                        _ => names.take(&format!("{} {}", job.name, index + 1)),
                    };
                    // A dependency may have become several jobs; this waits for the last.
                    let after = job.after.last().and_then(|after| written.get(after.0 as usize));
                    let mut text = job_text(plan, group, name.clone());
                    if number > 0 {
                        text.options.push(("step", (number + 1).to_string()));
                    }
                    if let Some(after) = after {
                        text.options.push(("after", after.clone()));
                    }
                    jobs.push(text);
                    if index + 1 == worker_groups.len() {
                        written.push(name);
                    }
                }
            }
        }
        let simulated = plan.targets.iter().filter_map(|target| match &target.kind {
            TargetKind::Simulated { device } => Some((target_name(target)["simulated:".len()..].to_owned(), device)),
            TargetKind::Path
            | TargetKind::Name { .. }
            | TargetKind::Tree { .. }
            | TargetKind::Template { .. }
            | TargetKind::Nothing { .. } => None,
        });
        let native = plan.origin.dialect == Dialect::Native;
        Text {
            name: (native && plan.name != "run").then_some(plan.name.as_str()),
            seed: (plan.seed != 1 && native).then_some(plan.seed),
            objective: plan.origin.objective.as_deref(),
            jobs,
            simulated: simulated.collect(),
            // `cap` cannot express a name with a comma; the comparison reports it.
            caps: plan
                .limits
                .iter()
                .map(native::cap_text)
                .filter(|text| native::parse_cap(text).is_ok())
                .collect(),
        }
    }

    /// Flags describe one job without parts and with the default name.
    fn fits_flags(&self, plan: &Plan) -> bool {
        let unnamed = |job: &JobText| job.name == "job1" || plan.origin.dialect != Dialect::Native;
        let is_single_job = matches!(&self.jobs[..], [job] if unnamed(job) && job.parts.is_empty());
        is_single_job && self.simulated.is_empty() && self.caps.is_empty()
    }

    fn flags(&self) -> String {
        let mut line = "fathom run".to_owned();
        for (name, value) in self.jobs.iter().flat_map(|job| &job.options) {
            match value.as_str() {
                "true" => line += &format!(" --{name}"),
                value => line += &format!(" --{name} {}", shell_word(value)),
            }
        }
        if let Some(seed) = self.seed {
            line += &format!(" --seed {seed}");
        }
        if let Some(name) = self.name {
            line += &format!(" --name {}", shell_word(name));
        }
        if let Some(objective) = self.objective {
            line += &format!(" --objective {}", shell_word(objective));
        }
        line + "\n"
    }

    /// The document that the flags describe.
    fn document(&self) -> Result<Document, Vec<Diagnostic>> {
        let mut document = Document {
            name: self.name.map(str::to_owned),
            seed: self.seed,
            objective: self.objective.map(str::to_owned),
            ..Document::default()
        };
        for job in &self.jobs {
            let mut spec = JobSpec::default();
            for (name, value) in &job.options {
                let location = || Location::on_command_line(format!("--{name} {value}"));
                native::apply(&mut spec, name, value, location).map_err(|problem| vec![problem])?;
            }
            document.jobs.push(spec);
        }
        Ok(document)
    }

    fn toml(&self) -> String {
        let mut text = String::new();
        if let Some(name) = self.name {
            text += &format!("name = {}\n", toml_string(name));
        }
        if let Some(seed) = self.seed {
            text += &format!("seed = {seed}\n");
        }
        if let Some(objective) = self.objective {
            text += &format!("objective = {}\n", toml_string(objective));
        }
        if !self.caps.is_empty() {
            let caps: Vec<String> = self.caps.iter().map(|cap| toml_string(cap)).collect();
            text += &format!("cap = [{}]\n", caps.join(", "));
        }
        for job in &self.jobs {
            if !text.is_empty() {
                text.push('\n');
            }
            text += &format!("[[job]]\nname = {}\n", toml_string(&job.name));
            text += &table(&job.options);
            for (share, options) in &job.parts {
                text += &format!("\n[[job.part]]\nshare = {share}\n{}", table(options));
            }
        }
        for (name, device) in &self.simulated {
            text += &format!(
                "\n[simulated.{}]\n{}",
                toml_string(name),
                table(&simulated_device_options(device))
            );
        }
        text
    }
}

/// Formats the keys of a table. Repeated keys become lists.
fn table(options: &Options) -> String {
    let mut text = String::new();
    let mut done: Vec<&str> = Vec::new();
    for (name, _) in options {
        if done.contains(name) {
            continue;
        }
        done.push(name);
        let values: Vec<String> = options
            .iter()
            .filter(|(other, _)| other == name)
            .map(|(_, value)| toml_value(value))
            .collect();
        match values.as_slice() {
            [value] => text += &format!("{name} = {value}\n"),
            several => text += &format!("{name} = [{}]\n", several.join(", ")),
        }
    }
    text
}

fn toml_value(value: &str) -> String {
    let number = value
        .parse::<i64>()
        .is_ok_and(|number| number >= 0 && number.to_string() == value);
    match number || value == "true" || value == "false" {
        true => value.to_owned(),
        false => toml_string(value),
    }
}

/// Formats a basic TOML string.
fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => out += &format!("\\u{:04X}", u32::from(letter)),
            letter => out.push(letter),
        }
    }
    out + "\""
}

/// Groups the workers that one native job can hold.
fn job_groups(job: &Job) -> Vec<WorkerGroup<'_>> {
    let streams = || job.workers.iter().flat_map(|worker| &worker.streams);
    let walking = streams().all(|stream| stream.pattern.access.iter().all(native::visits_each_block_once));
    let native = job
        .workers
        .iter()
        .all(|worker| matches!(worker.draws, model::draws::GeneratorChoice::Native { .. }));
    let allowed = AllowedDifferences {
        regions: walking,
        depths: native,
        starts: false,
    };
    let mut all = Vec::new();
    for group in worker_groups(job, allowed) {
        let region = group.worker().streams[0].region;
        let undivided = group.workers.iter().all(|worker| worker.streams[0].region == region);
        match walking && undivided && (2..=MAX_WALKERS).contains(&group.workers.len()) {
            true => all.extend(group.single_workers()),
            false => all.push(group),
        }
    }
    all
}

fn target_name(target: &Target) -> String {
    match &target.kind {
        TargetKind::Path | TargetKind::Name { .. } | TargetKind::Tree { .. } | TargetKind::Template { .. } => {
            target.path.clone()
        }
        TargetKind::Nothing { .. } => "null".into(),
        TargetKind::Simulated { .. } if target.path.starts_with("simulated:") => target.path.clone(),
        TargetKind::Simulated { .. } => format!("simulated:{}", target.path),
    }
}
