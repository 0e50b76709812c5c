//! Shortcuts to a plan in each dialect, and back from the text of a conversion.

use dialects::convert::{Conversion, Form};
use dialects::diskspd::{LowerEnv, ParseOutcome, Version, read, xml};
use dialects::native::{self, Document, JobSpec};
use dialects::{Location, fio};
use model::plan::{Dialect, Origin, Plan};
use testbed::With;

pub use crate::diskspd::support::TestEnv;
use crate::fio::support as fio_support;

pub const DIALECTS: [Dialect; 5] = [
    Dialect::Native,
    Dialect::Fio,
    Dialect::Diskspd,
    Dialect::Vdbench,
    Dialect::Iometer,
];

/// The environment of the DiskSpd version that has the switches of a line.
pub fn env_for_line(words: &[String]) -> TestEnv {
    let newer = |word: &String| word.starts_with("-u") || word.starts_with("-bs");
    TestEnv {
        version: if words.iter().any(newer) {
            Version::V2_3
        } else {
            Version::V2_2
        },
        ..TestEnv::default()
    }
}

/// The environment of a plan on four processors.
pub fn lower_env(windows: bool) -> LowerEnv<'static> {
    LowerEnv {
        cpus: &[0, 1, 2, 3],
        windows,
        ..LowerEnv::default()
    }
}

/// The plan of a DiskSpd profile on four processors.
pub fn lowered(profile: &dialects::diskspd::Profile) -> Plan {
    dialects::diskspd::lower(profile, lower_env(false)).unwrap().plan
}

/// The plan of a DiskSpd command line.
#[track_caller]
pub fn diskspd(arguments: &[String], env: &mut TestEnv) -> Plan {
    // Printing does not query the machine.
    let words: Vec<String> = std::iter::once("-Rp".to_owned())
        .chain(arguments.iter().cloned())
        .collect();
    match read("diskspd", &words, env) {
        ParseOutcome::Run(request) | ParseOutcome::Print(request) => lowered(&request.profile),
        ParseOutcome::End(end) => panic!("{arguments:?}: {end:?}"),
    }
}

/// The same for a line without quotes.
#[track_caller]
pub fn diskspd_line(line: &str) -> Plan {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    diskspd(&words, &mut env_for_line(&words))
}

/// The plan of a native job file.
#[track_caller]
pub fn job_file(text: &str) -> Plan {
    let document = native::read_job_file("test.toml", text).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
    native::lower(&document).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"))
}

/// The plan of `fathom run` with these flags.
#[track_caller]
pub fn flags(line: &str) -> Plan {
    let mut job = JobSpec::default();
    let mut document = Document::default();
    let words = split_words(line);
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").unwrap_or_else(|| panic!("{word} in {line}"));
        let value = words.next_if(|next| !next.starts_with("--")).unwrap_or("true");
        match name {
            "seed" => document.seed = Some(value.parse().unwrap()),
            "name" => document.name = Some(value.to_owned()),
            _ => {
                let location = || Location {
                    file: "line".into(),
                    line: 0,
                    text: word.into(),
                };
                native::apply(&mut job, name, value, location).unwrap_or_else(|fault| panic!("{fault} in {line}"));
            }
        }
    }
    document.jobs.push(job);
    native::lower(&document).unwrap_or_else(|faults| panic!("{faults:?} in {line}"))
}

/// Splits a line as a shell does, with the quotes that conversions use.
pub fn split_words(line: &str) -> Vec<String> {
    fio_support::split_quoted(line.trim_end(), '\'', Some('\\'))
}

/// The plan of a conversion to native.
#[track_caller]
pub fn native_again(conversion: &Conversion) -> Plan {
    match conversion.form {
        Form::CommandLine => flags(conversion.text.strip_prefix("fathom run ").unwrap()),
        Form::JobFile => job_file(&conversion.text),
        Form::Xml => panic!("{}", conversion.text),
    }
}

/// The plan of a conversion to DiskSpd.
#[track_caller]
pub fn diskspd_again(conversion: &Conversion) -> Plan {
    match conversion.form {
        Form::CommandLine => {
            let words = split_words(&conversion.text);
            diskspd(&words[1..], &mut env_for_line(&words))
        }
        Form::Xml => lowered(&xml::read(&conversion.text).unwrap()),
        Form::JobFile => panic!("{}", conversion.text),
    }
}

/// The jobs that fio reads from a conversion.
#[track_caller]
pub fn fio_again(conversion: &Conversion) -> Vec<fio::Job> {
    let mut env = fio_support::TestEnv::with_file("a.fio", &conversion.text);
    let mut jobs = |arguments: &[String]| match fio::read("fio", arguments, &mut env) {
        fio::ParseOutcome::Run(read) => {
            assert_eq!(read.stderr().count(), 0, "{:?}\n{}", read.notices, conversion.text);
            read.jobs
        }
        fio::ParseOutcome::End(end) => panic!("{:?}\n{}", end.read.notices, conversion.text),
    };
    let of_file = jobs(&["a.fio".to_owned()]);
    if let Some(line) = &conversion.one_line {
        let of_line = jobs(&split_words(line)[1..]);
        assert_eq!(of_line.len(), 1, "{line}");
        assert_eq!(of_line[0].options, of_file[0].options, "{line}\n{}", conversion.text);
    }
    of_file
}

/// Every path is an existing file of 1 MiB; devices too.
struct SmallFiles;

impl fio::Disk for SmallFiles {
    fn find(&self, path: &str) -> Option<fio::PathFacts> {
        let kind = match path.starts_with("/dev/") {
            true => fio::PathKind::Device,
            false => fio::PathKind::File,
        };
        Some(fio::PathFacts { kind, size: 1 << 20 })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("{path} is not opened"))
    }

    fn list_files_below(&self, _: &str) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    fn trace(&self, path: &str) -> Result<fio::TraceFile, String> {
        Err(format!("{path} is not opened"))
    }

    fn device(&self, _: u32, _: u32) -> Option<String> {
        None
    }
}

/// The plan of fio's jobs on files of 1 MiB.
pub fn fio_plan(jobs: &fio::Jobs) -> Result<Plan, String> {
    let lowered =
        fio::lower(jobs, fio_support::lower_env(&SmallFiles)).map_err(|problems| texts(&problems).join("; "))?;
    Ok(lowered.plan)
}

/// The plan without the record of the input that it came from.
pub fn without_origin(plan: &Plan) -> Plan {
    plan.clone().with(|plan| plan.origin = Origin::default())
}

pub fn texts<T: ToString>(list: &[T]) -> Vec<String> {
    list.iter().map(T::to_string).collect()
}
