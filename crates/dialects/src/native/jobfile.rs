//! Reads job files: TOML with one table per job, an optional table of defaults, and command-line
//! options as keys.
//!
//! The reader collects all mistakes of a file, each with its line.

use model::caps::LimitLayer;
use model::plan::SimulatedDevice;
use model::visible;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::apply;
use super::caps::parse_cap;
use super::options::find;
use super::presets::PresetInfo;
use super::simulated::{PROPERTY_NAMES, set_simulated};
use super::spec::{Document, JobSpec, SimulatedSpec};
use super::values;
use crate::diagnostic::{Diagnostic, Location};
use crate::nearest::nearest;

/// Reads a job file. `file` is its name, for messages.
///
/// # Errors
/// Every [`Diagnostic`] about the text.
pub fn read_job_file(file: &str, text: &str) -> Result<Document, Vec<Diagnostic>> {
    let (mut reader, root) = Reader::new(file, text)?;
    let document = reader.read_document(root.get_ref());
    if reader.faults.is_empty() {
        Ok(document)
    } else {
        Err(reader.faults)
    }
}

/// Keys at the top of a job file.
const TOP_KEYS: [&str; 8] = [
    "name", "seed", "objective", "cap", "defaults", "job", "simulated", "preset",
];
const CAP_EXAMPLE: &str = "for example `cap = [\"VM, cached:iops=77000,mbps=485,kind=vm,path=cached\"]`";
/// Pairs of keys that exclude each other, with help.
const EXCLUSIVE_KEYS: [(&str, &str, &str); 2] = [
    ("read", "write", "keep one; the other follows from it"),
    (
        "mix",
        "sequence",
        "keep one, or split them into two `[[job]]` tables on the same target",
    ),
];
/// The end of a message about a value of another type.
pub(super) const PLAIN_VALUE: &str = "must be a string, number, boolean or array";
const EMPTY_OBJECTIVE: &str = "the objective is empty";
pub(super) const OBJECTIVE_EXAMPLE: &str = "for example `objective = \"most IOPS with p99 up to 3 ms\"`";

/// Normalizes an objective to one line; `None` if it is empty.
pub fn normalize_objective(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// The text of a job file, with the mistakes found so far.
pub(super) struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    /// Where each line begins: counting lines anew for each option would take quadratic time.
    line_starts: Vec<usize>,
    pub(super) faults: Vec<Diagnostic>,
}

type Entry<'a, 'b> = (&'b Spanned<std::borrow::Cow<'a, str>>, &'b Spanned<DeValue<'a>>);

impl<'a> Reader<'a> {
    /// Parses the text as TOML.
    ///
    /// # Errors
    /// The text is not valid TOML.
    pub(super) fn new(file: &'a str, text: &'a str) -> Result<(Reader<'a>, Spanned<DeTable<'a>>), Vec<Diagnostic>> {
        let reader = Reader {
            file,
            text,
            line_starts: [0]
                .into_iter()
                .chain(text.match_indices('\n').map(|(at, _)| at + 1))
                .collect(),
            faults: Vec::new(),
        };
        match DeTable::parse(text) {
            Ok(root) => Ok((reader, root)),
            Err(error) => {
                let at = error.span().map(|span| reader.location(span.start));
                let problem = Diagnostic::new(format!("invalid TOML: {}", error.message()));
                Err(vec![Diagnostic { at, ..problem }])
            }
        }
    }
}

impl Reader<'_> {
    pub(super) fn location(&self, at: usize) -> Location {
        let line = self
            .line_starts
            .partition_point(|start| *start <= at.min(self.text.len()));
        let start = self.line_starts[line - 1];
        Location {
            file: self.file.to_owned(),
            line,
            text: self.text[start..].lines().next().unwrap_or("").trim().to_owned(),
        }
    }

    pub(super) fn add_fault(&mut self, at: usize, what: impl Into<String>, help: impl Into<String>) {
        self.add_fault_at(self.location(at), what, help);
    }

    pub(super) fn add_fault_at(&mut self, at: Location, what: impl Into<String>, help: impl Into<String>) {
        self.faults.push(Diagnostic::new(what).at(at).help(help));
    }

    fn read_document(&mut self, root: &DeTable<'_>) -> Document {
        let mut document = Document {
            file: Some(self.file.to_owned()),
            ..Document::default()
        };
        let mut defaults = JobSpec::default();
        // Defaults apply to every job, so the reader reads them first.
        for (key, value) in root {
            if key.get_ref() == "defaults" {
                match value.get_ref() {
                    DeValue::Table(table) => self.fill_job(&mut defaults, table),
                    _ => self.add_fault(key.span().start, "`defaults` must be a table", "write `[defaults]`"),
                }
            }
        }
        for (key, value) in root {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("defaults", _) => {}
                ("name", DeValue::String(name)) => document.name = Some(visible(name).into_owned()),
                ("seed", DeValue::Integer(seed)) => match seed.as_str().parse() {
                    Ok(seed) => document.seed = Some(seed),
                    Err(_) => self.add_fault(
                        value.span().start,
                        "`seed` must be 0 or more",
                        "for example `seed = 42`",
                    ),
                },
                ("job", DeValue::Array(jobs)) => {
                    for job in jobs {
                        match job.get_ref() {
                            DeValue::Table(table) => {
                                let line = self.location(job.span().start).line;
                                let mut spec = JobSpec {
                                    line,
                                    ..defaults.clone()
                                };
                                self.fill_job(&mut spec, table);
                                document.jobs.push(spec);
                            }
                            _ => self.add_fault(job.span().start, "a job must be a table", "write `[[job]]`"),
                        }
                    }
                }
                ("objective", DeValue::String(text)) => match normalize_objective(text) {
                    Some(text) => document.objective = Some(text),
                    None => self.add_fault(value.span().start, EMPTY_OBJECTIVE, OBJECTIVE_EXAMPLE),
                },
                ("cap", value) => {
                    let caps = self.parse_caps(key.span().start, value);
                    document.caps.extend(caps);
                }
                ("preset", DeValue::Table(table)) => document.preset_info = Some(self.read_preset(table)),
                ("simulated", DeValue::Table(devices)) => {
                    for (name, device) in devices {
                        self.read_simulated_device((name, device), &mut document);
                    }
                }
                (key @ ("name" | "seed" | "objective" | "preset" | "job" | "simulated"), _) => {
                    let (what, help) = match key {
                        "job" => ("`job` must be an array of tables", "write `[[job]]` above each job"),
                        "simulated" => ("`simulated` must be a table", "write `[simulated.NAME]`"),
                        "name" => ("`name` must be a string", "for example `name = \"nightly\"`"),
                        "objective" => ("`objective` must be a string", OBJECTIVE_EXAMPLE),
                        "preset" => ("`preset` must be a table", "write `[preset]`"),
                        _ => ("`seed` must be an integer", "for example `seed = 42`"),
                    };
                    self.add_fault(value.span().start, what, help);
                }
                (other, _) => {
                    let help = match (find(other), nearest(other, TOP_KEYS)) {
                        (Some(_), _) => format!("`{other}` belongs under `[[job]]` or `[defaults]`"),
                        (None, Some(near)) => format!("did you mean `{near}`?"),
                        (None, None) => format!("valid top-level keys: {}", TOP_KEYS.join(", ")),
                    };
                    self.add_fault(key.span().start, format!("`{other}` is not a top-level key"), help);
                }
            }
        }
        // The objective of the file takes precedence over the preset's objective.
        if document.objective.is_none() {
            document.objective = document.preset_info.as_ref().and_then(|info| info.objective.clone());
        }
        document
    }

    /// Reads the `[preset]` table.
    fn read_preset(&mut self, table: &DeTable<'_>) -> PresetInfo {
        let mut info = PresetInfo::default();
        for (key, value) in table {
            let at = value.span().start;
            let number = |number: &str| number.parse::<u32>().ok().filter(|number| *number > 0);
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("id", DeValue::String(text)) => info.id = text.to_string(),
                ("title", DeValue::String(text)) => info.title = text.to_string(),
                ("why", DeValue::String(text)) => info.why = text.to_string(),
                ("from", DeValue::String(text)) => info.from = text.to_string(),
                ("objective", DeValue::String(text)) => info.objective = Some(text.to_string()),
                ("judged-by", DeValue::String(text)) => info.judged_by = Some(text.to_string()),
                (name @ ("version" | "targets"), DeValue::Integer(text)) => match (name, number(text.as_str())) {
                    ("version", Some(number)) => info.version = number,
                    (_, Some(number)) => info.targets = Some(number),
                    (_, None) => self.add_fault(
                        at,
                        format!("`{name}` must be an integer above 0"),
                        format!("for example `{name} = 1`"),
                    ),
                },
                (key, _) if PresetInfo::KEYS.contains(&key) => {
                    self.add_fault(at, format!("`{key}` has the wrong type"), PresetInfo::HELP);
                }
                (other, _) => {
                    let help = match nearest(other, PresetInfo::KEYS) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => PresetInfo::HELP.to_owned(),
                    };
                    self.add_fault(key.span().start, format!("unknown key `{other}` in a preset"), help);
                }
            }
        }
        info
    }

    /// Refuses keys that set the same property, because the later one would silently win.
    fn refuse_exclusive_keys(&mut self, table: &DeTable<'_>) {
        let named = |name: &str| table.keys().find(|key| key.get_ref().as_ref() == name);
        for (first, second, help) in EXCLUSIVE_KEYS {
            if let (Some(first_name), Some(second_name)) = (named(first), named(second)) {
                let later = first_name.span().start.max(second_name.span().start);
                self.add_fault(later, format!("`{first}` and `{second}` exclude each other"), help);
            }
        }
    }

    fn fill_job(&mut self, job: &mut JobSpec, table: &DeTable<'_>) {
        self.refuse_exclusive_keys(table);
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("name", DeValue::String(name)) => job.name = Some(visible(name).into_owned()),
                ("cap", value) => {
                    let caps = self.parse_caps(key.span().start, value);
                    job.caps.extend(caps);
                }
                ("tree", DeValue::Table(tree)) => {
                    for (key, value) in tree {
                        let text = value_texts(value.get_ref()).map(|texts| texts.join(","));
                        let text = format!("{}={}", key.get_ref(), text.unwrap_or_default());
                        let at = self.location(key.span().start);
                        if let Err(problem) = apply(job, "tree", &text, || at) {
                            self.faults.push(problem);
                        }
                    }
                }
                ("part", DeValue::Array(parts)) => {
                    for part in parts {
                        match part.get_ref() {
                            DeValue::Table(table) => self.fill_part(job, table),
                            _ => self.add_fault(part.span().start, "a part must be a table", "write `[[job.part]]`"),
                        }
                    }
                }
                _ => self.fill_option(job, (key, value)),
            }
        }
    }

    /// Reads limits in the syntax of `--cap`.
    fn parse_caps(&mut self, at: usize, value: &DeValue<'_>) -> Vec<LimitLayer> {
        let mut caps = Vec::new();
        for text in value_texts(value).unwrap_or_else(|| vec![String::new()]) {
            match parse_cap(&text) {
                Ok(cap) => caps.push(LimitLayer {
                    source: "the job file".into(),
                    ..cap
                }),
                Err(why) => self.add_fault(at, format!("`cap`: {why}"), CAP_EXAMPLE),
            }
        }
        caps
    }

    /// A part starts as a copy of the job's part and changes the options that it names.
    fn fill_part(&mut self, job: &mut JobSpec, table: &DeTable<'_>) {
        let mut scratch = JobSpec {
            part: job.part.clone(),
            ..JobSpec::default()
        };
        self.refuse_exclusive_keys(table);
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match (name, value.get_ref()) {
                ("share", DeValue::Integer(share)) => match values::parse_count(share.as_str(), 0, 1_000_000) {
                    Ok(share) => scratch.part.share = share as u32,
                    Err(why) => self.add_fault(
                        value.span().start,
                        format!("`share`: {why}"),
                        "for example `share = 60`",
                    ),
                },
                _ if find(name).is_some_and(|option| !option.of_part) => {
                    let help = format!("write `{name}` in the job, above its parts");
                    self.add_fault(key.span().start, format!("`{name}` cannot differ between parts"), help);
                }
                _ => self.fill_option(&mut scratch, (key, value)),
            }
        }
        job.parts.push(scratch.part);
    }

    fn fill_option(&mut self, job: &mut JobSpec, (key, value): Entry<'_, '_>) {
        let name = key.get_ref().as_ref();
        let Some(texts) = value_texts(value.get_ref()) else {
            let help = find(name).map_or("", |option| option.example).to_owned();
            return self.add_fault(value.span().start, format!("`{name}` {PLAIN_VALUE}"), help);
        };
        if name == "target" {
            job.targets.clear();
        }
        for text in texts {
            let at = key.span().start;
            if let Err(problem) = apply(job, name, &text, || self.location(at)) {
                self.faults.push(problem);
            }
        }
    }

    pub(super) fn read_simulated_device(&mut self, (name, device): Entry<'_, '_>, document: &mut Document) {
        let DeValue::Table(table) = device.get_ref() else {
            return self.add_fault(
                name.span().start,
                "a simulated device must be a table",
                "write `[simulated.NAME]`",
            );
        };
        let mut simulated = SimulatedDevice {
            size: model::Bytes::gib(1),
            servers: 1,
            ..SimulatedDevice::default()
        };
        for (key, value) in table {
            let Some(texts) = value_texts(value.get_ref()) else {
                let (at, what) = (value.span().start, key.get_ref());
                self.add_fault(at, format!("`{what}` {PLAIN_VALUE}"), "such as `\"2s 300ms\"`");
                continue;
            };
            for text in texts {
                if let Err(why) = set_simulated(&mut simulated, key.get_ref(), &text) {
                    self.add_fault(key.span().start, why, format!("valid properties: {PROPERTY_NAMES}"));
                }
            }
        }
        document.simulated.push(SimulatedSpec {
            name: name.get_ref().to_string(),
            device: simulated,
        });
    }
}

/// The texts of a plain value: one, or several of an array; `None` for a table.
pub(super) fn value_texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    match value {
        DeValue::String(text) => Some(vec![text.to_string()]),
        DeValue::Integer(number) => Some(vec![number.as_str().to_owned()]),
        DeValue::Float(number) => Some(vec![number.as_str().to_owned()]),
        DeValue::Boolean(flag) => Some(vec![flag.to_string()]),
        DeValue::Array(values) => {
            let texts: Option<Vec<Vec<String>>> = values.iter().map(|value| value_texts(value.get_ref())).collect();
            texts.map(|texts| texts.concat())
        }
        DeValue::Table(_) | DeValue::Datetime(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use model::plan::{CachePath, StoragePath};
    use model::testing::assert_contains;

    use super::*;
    use crate::native::lower;

    fn problems(text: &str) -> Vec<String> {
        match read_job_file("test.toml", text).and_then(|document| lower(&document)) {
            Ok(plan) => plan.check().err().map(|error| error.to_string()).into_iter().collect(),
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn a_block_must_fit_in_its_target() {
        let job = |size: &str| format!("[[job]]\nname = \"a\"\ntarget = \"f\"\nblock = \"128m\"\nsize = \"{size}\"\n");
        let found = problems(&job("64m"));
        assert_eq!(found.len(), 1);
        assert_contains(&found[0], "a block of 128 MiB does not fit in a size of 64 MiB");
        assert_eq!(problems(&job("128m")), Vec::<String>::new());
    }

    #[test]
    fn a_complete_file_becomes_a_plan() {
        let text = r#"
            name = "nightly"
            seed = 7
            [defaults]
            time = "10s"
            target = "simulated:disk"
            [[job]]
            name = "oltp"
            read = 70
            block = "8KiB"
            depth = 32
            workers = 4
            rate = "4000 iops"
            [[job]]
            name = "scan"
            step = 2
            access = "sequential"
            block = "1MiB"
            [[job.part]]
            share = 3
            [[job.part]]
            share = 1
            read = 0
            [simulated.disk]
            size = "1GiB"
            servers = 8
            service = "exponential 100us"
            stall = ["1s 10ms", "2s 20ms"]
        "#;
        let document = read_job_file("test.toml", text).unwrap();
        let plan = lower(&document).unwrap();
        plan.check().unwrap();
        assert_eq!(
            (plan.name.as_str(), plan.seed, plan.steps.len(), plan.targets.len()),
            ("nightly", 7, 2, 1)
        );
        assert_eq!(plan.steps[0].jobs[0].workers.len(), 4);
        assert_eq!(plan.steps[1].jobs[0].workers[0].streams.len(), 2);
        assert_eq!(plan.steps[1].jobs[0].workers[0].streams[0].weight, 3);
    }

    /// Each job of a step may end all others, so their number is limited.
    #[test]
    fn a_step_has_a_limited_number_of_jobs() {
        let document = |count: u32| Document {
            jobs: vec![JobSpec::default(); count as usize],
            ..Document::default()
        };
        let error = lower(&document(4097)).unwrap_err().remove(0);
        assert_eq!(error.what, "step 1 has more than 4096 jobs");
        let mut several = document(4097);
        several.jobs[0].step = 2;
        assert_ne!(lower(&several).unwrap_err()[0].what, error.what);
    }

    #[test]
    fn automatic_workers_use_each_processor() {
        let workers = |line: &str| {
            let document = read_job_file("test.toml", &format!("[[job]]\ntarget = \"null\"\n{line}\n"))?;
            Ok::<usize, Vec<Diagnostic>>(lower(&document)?.steps[0].jobs[0].workers.len())
        };
        let processors = std::thread::available_parallelism().unwrap().get();
        assert_eq!(workers("workers = \"auto\"").unwrap(), processors);
        let refused = workers("workers = \"automatic\"").unwrap_err();
        assert!(refused[0].what.contains("1 to 4096, or `auto`"), "{refused:?}");
    }

    #[test]
    fn all_mistakes_are_reported_together_with_their_lines() {
        let text = "[[job]]\ntarget = \"null\"\nblok = \"4k\"\ndepth = 0\nread = 101\n[[jobb]]\n";
        let found = problems(text);
        assert_eq!(found.len(), 4, "{found:#?}");
        let has = |part: &str| assert!(found.iter().any(|c| c.contains(part)), "{part} in {found:#?}");
        has("test.toml:3  blok = \"4k\"");
        has("did you mean `block`?");
        has("`depth`: must be 1 to");
        has("0 to 100 percent");
        has("did you mean `job`?");
    }

    #[test]
    fn an_objective_is_kept_and_a_copy_of_a_preset_is_not_a_preset() {
        let text = "objective = \"most  IOPS\\n at 3 ms\"\n[preset]\nid = \"mine\"\nobjective = \"other\"\n[[job]]\ntarget = \"null\"";
        let document = read_job_file("test.toml", text).unwrap();
        let plan = lower(&document).unwrap();
        assert_eq!(plan.origin.objective.as_deref(), Some("most IOPS at 3 ms"));
        assert_eq!(plan.origin.preset, None);
        assert_eq!(document.preset_info.map(|info| info.id), Some("mine".into()));
        let fallback = text.replacen("objective = \"most  IOPS\\n at 3 ms\"\n", "", 1);
        let document = read_job_file("test.toml", &fallback).unwrap();
        assert_eq!(document.objective.as_deref(), Some("other"));
    }

    #[test]
    fn mistakes_are_explained() {
        let check = |text: &str, part: &str| {
            let joined = problems(text).join("\n");
            assert!(joined.contains(part), "`{part}` in:\n{joined}");
        };
        check("", "there is no job");
        check("x = [", "invalid TOML");
        check("objective = 3", "`objective` must be a string");
        check("objective = \" \"", "the objective is empty");
        check("preset = \"oltp\"", "write `[preset]`");
        check("[preset]\ntitel = \"x\"", "did you mean `title`?");
        check("[preset]\nversion = 0", "an integer above 0");
        check("[preset]\ntitle = 3", "has the wrong type");
        check("depth = 3", "belongs under `[[job]]`");
        check("[[job]]\ndepth = 3", "no target");
        // Every accepted option has an effect.
        let job = |rest: &str| format!("[[job]]\ntarget = \"null\"\n{rest}");
        check(&job("arrivals = \"poisson\""), "need a rate");
        check(&job("catch-up = \"1s\""), "need a rate");
        check(&job("read = 70\nwrite = 70"), "`read` and `write` exclude each other");
        let on_files = job("kind = \"files\"\nmix = \"stat\"\nsequence = \"read\"");
        check(&on_files, "`mix` and `sequence` exclude each other");
        check(&format!("{0}{0}", job("name = \"a\"\n")), "has this name");
        check(&job("rate = \"100MB\""), "write `100MB/s`");
        check(&job("after = \"b\""), "not an earlier job");
        check(
            "name = \"n\"\n\n[[job]]\ntarget = \"null\"\nafter = \"x\"",
            "test.toml:3  job `job1`",
        );
        check(&job("pause-after = 5"), "the job has none");
        check(&job("poll = true\nengine = \"psync\""), "cannot poll");
        check(&job("poll = true\nengine = \"libaio\""), "cannot poll");
        check(&job("submission-thread = true\nengine = \"libaio\""), "only io_uring");
        check("[[job]]\ntarget = \"simulated:x\"", "no simulated device `x`");
        check("[[job]]\ntarget = \"null\"\npasses = 2", "no end");
        check("[[job]]\ntarget = \"null\"\nafter = \"x\"", "not an earlier job");
        check(
            "[[job]]\ntarget = \"null\"\n[[job.part]]\ndepth = 2",
            "cannot differ between parts",
        );
        check(
            "[[job]]\ntarget = { a = 1 }",
            "`target` must be a string, number, boolean or array",
        );
        check("[simulated.a]\nspeed = 1", "unknown property `speed`");
        check(
            "[simulated.a]\nstall = { at = 1 }",
            "`stall` must be a string, number, boolean or array",
        );
        check("[[job]]\ntarget = \"null\"\nblock = \"4KB\"", "did you mean 4KiB?");
    }

    #[test]
    fn jobs_name_their_path_and_limits() {
        let text = "cap = [\"VM, cached:iops=77000,kind=vm,path=cached\", \"all:mbps=100\"]\n\
                    [[job]]\nname = \"reader\"\ntarget = \"null\"\npath = \"cached\"\n\
                    [[job]]\nname = \"writer\"\ntarget = \"null\"\nwrite = 100\nrole = \"log\"\nreplicas = 3\nhops = 2\n\
                    cap = \"disks:iops=15000\"\n";
        let plan = lower(&read_job_file("test.toml", text).unwrap()).unwrap();
        let jobs = &plan.steps[0].jobs;
        assert_eq!(jobs[0].storage.cache, Some(CachePath::Cached));
        let writer = StoragePath {
            cache: None,
            role: Some("log".into()),
            replicas: Some(3),
            hops: Some(2),
        };
        assert_eq!(jobs[1].storage, writer);
        let limits: Vec<_> = plan
            .limits
            .iter()
            .map(|limit| (limit.name.as_str(), limit.path, limit.job.as_deref()))
            .collect();
        let expected = [
            ("VM, cached", Some(CachePath::Cached), None),
            ("all", None, None),
            ("disks", None, Some("writer")),
        ];
        assert_eq!(limits, expected);
        let check = |text: &str, part: &str| {
            let joined = problems(text).join("\n");
            assert!(joined.contains(part), "`{part}` in:\n{joined}");
        };
        let job = |rest: &str| format!("[[job]]\ntarget = \"null\"\n{rest}");
        check(&job("path = \"/mnt\""), "`/mnt` is not one of cached, uncached");
        check(&job("replicas = 0"), "must be 1 to");
        check(&job("role = \" \""), "the name is empty");
        check(&job("cap = \"iosp=5\""), "did you mean `iops`");
        check(&job("cap = 5"), "`5` is not written as KEY=VALUE");
        check("cap = {}\n[[job]]\ntarget = \"null\"", "needs iops=, mbps= or mibps=");
    }

    #[test]
    fn every_option_is_a_key() {
        for option in crate::native::options() {
            let text = format!("[[job]]\n{}\n", option.example);
            let document = read_job_file("test.toml", &text);
            assert!(document.is_ok(), "{}: {document:?}", option.example);
        }
    }
}
