//! Shortcuts to a plan in each dialect, and back from the text of a conversion.

use dialects::convert::{Conversion, Form};
use dialects::diskspd::text::TextForm;
use dialects::diskspd::{EventRole, LowerEnv, ParseEnv, Processors, Reading, Version, read, xml};
use dialects::native::{self, Document, JobSpec};
use dialects::{Location, fio};
use model::plan::{Origin, Plan};

/// Folder of the data recorded from DiskSpd.
pub const DISKSPD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/diskspd");

/// Four processors, and the files that a test adds.
#[derive(Default)]
pub struct TestEnv {
    pub files: Vec<(String, String)>,
    pub version: Version,
}

impl TestEnv {
    /// The environment of the DiskSpd version that has the switches of a line.
    pub fn for_line(words: &[String]) -> TestEnv {
        let newer = words
            .iter()
            .any(|word| word.starts_with("-u") || word.starts_with("-bs"));
        TestEnv {
            version: if newer { Version::V2_3 } else { Version::V2_2 },
            ..TestEnv::default()
        }
    }
}

impl ParseEnv for TestEnv {
    fn processors(&self) -> Processors {
        Processors {
            online: vec![0, 1, 2, 3],
            possible: 4,
        }
    }

    fn milliseconds_since_start(&self) -> u64 {
        77
    }

    fn read_profile(&mut self, path: &str) -> Result<String, String> {
        let found = self.files.iter().find(|(name, _)| name == path);
        found.map(|(_, text)| text.clone()).ok_or_else(|| "no such file".into())
    }

    fn open_event(&mut self, _: EventRole, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn signal_event(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn version(&self) -> Version {
        self.version
    }

    fn slash_is_a_switch(&self) -> bool {
        false
    }
}

impl fio::ParseEnv for TestEnv {
    fn read_job_file(&mut self, path: &str) -> Result<String, String> {
        self.read_profile(path)
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn is_directory(&self, path: &str) -> Result<bool, String> {
        Ok(path.ends_with('/'))
    }

    fn open_output(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn page_size(&self) -> u64 {
        4096
    }

    fn processors(&self) -> u64 {
        4
    }

    fn memory_mib(&self) -> u64 {
        4096
    }
}

/// The plan of a DiskSpd profile on four processors.
pub fn lowered(profile: &dialects::diskspd::Profile) -> Plan {
    let env = LowerEnv {
        cpus: &[0, 1, 2, 3],
        arguments: &[],
        form: TextForm::V2_2,
        windows: false,
        ..LowerEnv::default()
    };
    dialects::diskspd::lower(profile, env).unwrap().plan
}

/// The plan of a DiskSpd command line.
#[track_caller]
pub fn diskspd(arguments: &[String], env: &mut TestEnv) -> Plan {
    // Printing does not query the machine.
    let words: Vec<String> = std::iter::once("-Rp".to_owned())
        .chain(arguments.iter().cloned())
        .collect();
    match read("diskspd", &words, env) {
        Reading::Run(request) | Reading::Print(request) => lowered(&request.profile),
        Reading::End(end) => panic!("{arguments:?}: {end:?}"),
    }
}

/// The same for a line without quotes.
#[track_caller]
pub fn diskspd_line(line: &str) -> Plan {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    diskspd(&words, &mut TestEnv::for_line(&words))
}

/// The plan of a DiskSpd profile.
#[track_caller]
pub fn diskspd_profile(text: &str) -> Plan {
    lowered(&xml::read(text).unwrap())
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
    let (mut words, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    let mut letters = line.trim_end().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => (quoted, any) = (!quoted, true),
            '\\' if !quoted => word.extend(letters.next()),
            ' ' if !quoted => {
                if any || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            _ => word.push(letter),
        }
    }
    if any || !word.is_empty() {
        words.push(word);
    }
    words
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
            diskspd(&words[1..], &mut TestEnv::for_line(&words))
        }
        Form::Xml => diskspd_profile(&conversion.text),
        Form::JobFile => panic!("{}", conversion.text),
    }
}

/// The jobs that fio reads from a conversion.
#[track_caller]
pub fn fio_again(conversion: &Conversion) -> Vec<fio::Job> {
    let jobs = |arguments: &[String], files: Vec<(String, String)>| {
        let reading = fio::read(
            "fio",
            arguments,
            &mut TestEnv {
                files,
                ..TestEnv::default()
            },
        );
        match reading {
            fio::Reading::Run(read) => {
                assert_eq!(read.stderr().count(), 0, "{:?}\n{}", read.notices, conversion.text);
                read.jobs
            }
            fio::Reading::End(end) => panic!("{:?}\n{}", end.read.notices, conversion.text),
        }
    };
    let of_file = jobs(&["a.fio".to_owned()], vec![("a.fio".into(), conversion.text.clone())]);
    if let Some(line) = &conversion.one_line {
        let of_line = jobs(&split_words(line)[1..], Vec::new());
        assert_eq!(of_line.len(), 1, "{line}");
        assert_eq!(of_line[0].options, of_file[0].options, "{line}\n{}", conversion.text);
    }
    of_file
}

/// The plan without the record of the input that it came from.
pub fn without_origin(plan: &Plan) -> Plan {
    Plan {
        origin: Origin::default(),
        ..plan.clone()
    }
}

pub fn texts<T: ToString>(list: &[T]) -> Vec<String> {
    list.iter().map(T::to_string).collect()
}
