//! Job files: TOML with a table for each job, a table of defaults before them, and the option names of the flags as keys.
//!
//! All mistakes of a file are collected, each with its line.

use model::plan::SimulatedDevice;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::apply;
use super::options::find;
use super::simulated::{KNOWN, set_simulated};
use super::spec::{Document, JobSpec, SimulatedSpec};
use super::values;
use crate::diagnostic::{Diagnostic, Place};
use crate::nearest::nearest;

/// Reads a job file. `file` is its name, for messages.
///
/// # Errors
/// Every [`Diagnostic`] about the text.
pub fn read_job_file(file: &str, text: &str) -> Result<Document, Vec<Diagnostic>> {
    let mut reader = Reader {
        file,
        text,
        faults: Vec::new(),
    };
    let root = match DeTable::parse(text) {
        Ok(root) => root,
        Err(error) => {
            let at = error.span().map(|span| reader.place(span.start));
            let complaint = Diagnostic::new(format!("this is not TOML: {}", error.message()));
            return Err(vec![Diagnostic { at, ..complaint }]);
        }
    };
    let document = reader.document(root.get_ref());
    if reader.faults.is_empty() {
        Ok(document)
    } else {
        Err(reader.faults)
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    faults: Vec<Diagnostic>,
}

type Entry<'a, 'b> = (&'b Spanned<std::borrow::Cow<'a, str>>, &'b Spanned<DeValue<'a>>);

impl Reader<'_> {
    fn place(&self, at: usize) -> Place {
        let before = &self.text[..at.min(self.text.len())];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[start..].lines().next().unwrap_or("").trim().to_owned();
        Place {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            text: line,
        }
    }

    fn complain(&mut self, at: usize, what: impl Into<String>, help: impl Into<String>) {
        let place = self.place(at);
        self.faults.push(Diagnostic::new(what).at(place).help(help));
    }

    fn document(&mut self, root: &DeTable<'_>) -> Document {
        let mut document = Document {
            file: Some(self.file.to_owned()),
            ..Document::default()
        };
        let mut defaults = JobSpec::default();
        // Defaults apply to every job, wherever they stand in the file.
        for (key, value) in root {
            if key.get_ref() == "defaults" {
                match value.get_ref() {
                    DeValue::Table(table) => self.fill_job(&mut defaults, table),
                    _ => self.complain(key.span().start, "`defaults` must be a table", "write `[defaults]`"),
                }
            }
        }
        for (key, value) in root {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("defaults", _) => {}
                ("name", DeValue::String(name)) => document.name = Some(name.to_string()),
                ("seed", DeValue::Integer(seed)) => match seed.as_str().parse() {
                    Ok(seed) => document.seed = Some(seed),
                    Err(_) => self.complain(
                        value.span().start,
                        "the seed must be 0 or more",
                        "for example `seed = 42`",
                    ),
                },
                ("job", DeValue::Array(jobs)) => {
                    for job in jobs {
                        match job.get_ref() {
                            DeValue::Table(table) => {
                                let mut spec = defaults.clone();
                                self.fill_job(&mut spec, table);
                                document.jobs.push(spec);
                            }
                            _ => self.complain(job.span().start, "a job must be a table", "write `[[job]]`"),
                        }
                    }
                }
                ("simulated", DeValue::Table(devices)) => {
                    for (name, device) in devices {
                        self.simulated((name, device), &mut document);
                    }
                }
                (known @ ("name" | "seed" | "job" | "simulated"), _) => {
                    let (what, help) = match known {
                        "job" => ("jobs are tables of an array", "write `[[job]]` above each of them"),
                        "simulated" => ("simulated devices are tables", "write `[simulated.NAME]`"),
                        "name" => ("the name must be a text", "for example `name = \"nightly\"`"),
                        _ => ("the seed must be a whole number", "for example `seed = 42`"),
                    };
                    self.complain(value.span().start, what, help);
                }
                (other, _) => {
                    let help = match (
                        find(other),
                        nearest(other, ["name", "seed", "defaults", "job", "simulated"]),
                    ) {
                        (Some(_), _) => format!("`{other}` belongs under `[[job]]` or `[defaults]`"),
                        (None, Some(near)) => format!("did you mean `{near}`?"),
                        (None, None) => "name, seed, defaults, job and simulated stand at the top of a file".into(),
                    };
                    self.complain(key.span().start, format!("`{other}` does not belong here"), help);
                }
            }
        }
        document
    }

    fn fill_job(&mut self, job: &mut JobSpec, table: &DeTable<'_>) {
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("name", DeValue::String(name)) => job.name = Some(name.to_string()),
                ("part", DeValue::Array(parts)) => {
                    for part in parts {
                        match part.get_ref() {
                            DeValue::Table(table) => self.fill_part(job, table),
                            _ => self.complain(part.span().start, "a part must be a table", "write `[[job.part]]`"),
                        }
                    }
                }
                _ => self.fill_option(job, (key, value)),
            }
        }
    }

    /// A part begins as the job itself says and changes what it names.
    fn fill_part(&mut self, job: &mut JobSpec, table: &DeTable<'_>) {
        let mut scratch = JobSpec {
            part: job.part.clone(),
            ..JobSpec::default()
        };
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match (name, value.get_ref()) {
                ("share", DeValue::Integer(share)) => match values::count(share.as_str(), 0, 1_000_000) {
                    Ok(share) => scratch.part.share = share as u32,
                    Err(why) => self.complain(
                        value.span().start,
                        format!("`share`: {why}"),
                        "for example `share = 60`",
                    ),
                },
                _ if find(name).is_some_and(|option| !option.of_part) => {
                    let help = "it belongs to the job, above its parts";
                    self.complain(key.span().start, format!("`{name}` cannot differ between parts"), help);
                }
                _ => self.fill_option(&mut scratch, (key, value)),
            }
        }
        job.parts.push(scratch.part);
    }

    fn fill_option(&mut self, job: &mut JobSpec, (key, value): Entry<'_, '_>) {
        let name = key.get_ref().as_ref();
        let Some(texts) = texts_of(value.get_ref()) else {
            let help = find(name).map_or("", |option| option.example).to_owned();
            return self.complain(value.span().start, format!("`{name}` takes a plain value"), help);
        };
        if name == "target" {
            job.targets.clear();
        }
        for text in texts {
            let at = key.span().start;
            if let Err(complaint) = apply(job, name, &text, || self.place(at)) {
                self.faults.push(complaint);
            }
        }
    }

    fn simulated(&mut self, (name, device): Entry<'_, '_>, document: &mut Document) {
        let DeValue::Table(table) = device.get_ref() else {
            return self.complain(
                name.span().start,
                "a simulated device is a table",
                "write `[simulated.NAME]`",
            );
        };
        let mut simulated = SimulatedDevice {
            size: model::Bytes::gib(1),
            servers: 1,
            ..SimulatedDevice::default()
        };
        for (key, value) in table {
            let texts = texts_of(value.get_ref()).unwrap_or_default();
            for text in texts {
                if let Err(why) = set_simulated(&mut simulated, key.get_ref(), &text) {
                    self.complain(key.span().start, why, format!("a simulated device has {KNOWN}"));
                }
            }
        }
        document.simulated.push(SimulatedSpec {
            name: name.get_ref().to_string(),
            device: simulated,
        });
    }
}

/// The texts of a plain value: one, or several for an array.
fn texts_of(value: &DeValue<'_>) -> Option<Vec<String>> {
    match value {
        DeValue::String(text) => Some(vec![text.to_string()]),
        DeValue::Integer(number) => Some(vec![number.as_str().to_owned()]),
        DeValue::Float(number) => Some(vec![number.as_str().to_owned()]),
        DeValue::Boolean(flag) => Some(vec![flag.to_string()]),
        DeValue::Array(values) => {
            let texts: Option<Vec<Vec<String>>> = values.iter().map(|value| texts_of(value.get_ref())).collect();
            texts.map(|texts| texts.concat())
        }
        DeValue::Table(_) | DeValue::Datetime(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::lower;

    fn complaints(text: &str) -> Vec<String> {
        match read_job_file("test.toml", text).and_then(|document| lower(&document)) {
            Ok(plan) => plan.check().err().map(|error| error.to_string()).into_iter().collect(),
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn a_whole_file_becomes_a_plan() {
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

    #[test]
    fn all_mistakes_are_told_at_once_with_their_lines() {
        let text = "[[job]]\ntarget = \"null\"\nblok = \"4k\"\ndepth = 0\nread = 101\n[[jobb]]\n";
        let all = complaints(text);
        assert_eq!(all.len(), 4, "{all:#?}");
        let has = |part: &str| assert!(all.iter().any(|c| c.contains(part)), "{part} in {all:#?}");
        has("test.toml:3  blok = \"4k\"");
        has("did you mean `block`?");
        has("`depth`: must be 1 to");
        has("0 to 100 percent");
        has("did you mean `job`?");
    }

    #[test]
    fn mistakes_are_explained() {
        let check = |text: &str, part: &str| {
            let all = complaints(text).join("\n");
            assert!(all.contains(part), "`{part}` in:\n{all}");
        };
        check("", "there is no job");
        check("x = [", "this is not TOML");
        check("depth = 3", "belongs under `[[job]]`");
        check("[[job]]\ndepth = 3", "no target");
        // Nothing is accepted that would do nothing.
        let job = |rest: &str| format!("[[job]]\ntarget = \"null\"\n{rest}");
        check(&job("arrivals = \"poisson\""), "it has none");
        check(&job("catch-up = \"1s\""), "it has none");
        check(&job("pause-after = 5"), "it has no pause");
        check(&job("poll = true\nengine = \"psync\""), "cannot poll");
        check(&job("poll = true\nengine = \"libaio\""), "cannot poll");
        check(&job("submission-thread = true\nengine = \"libaio\""), "only io_uring");
        check("[[job]]\ntarget = \"simulated:x\"", "no simulated device `x`");
        check("[[job]]\ntarget = \"null\"\npasses = 2", "no end");
        check("[[job]]\ntarget = \"null\"\nafter = \"x\"", "no earlier job");
        check(
            "[[job]]\ntarget = \"null\"\n[[job.part]]\ndepth = 2",
            "cannot differ between parts",
        );
        check("[[job]]\ntarget = { a = 1 }", "plain value");
        check("[simulated.a]\nspeed = 1", "no `speed`");
        check("[[job]]\ntarget = \"null\"\nblock = \"4KB\"", "did you mean 4KiB?");
    }

    #[test]
    fn every_option_is_a_key() {
        for option in crate::native::OPTIONS {
            let text = format!("[[job]]\n{}\n", option.example);
            let document = read_job_file("test.toml", &text);
            assert!(document.is_ok(), "{}: {document:?}", option.example);
        }
    }
}
