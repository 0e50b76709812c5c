//! An environment that consists of texts, and shortcuts to read a command line.

use std::collections::HashMap;

use dialects::fio::{Disk, ExitOutput, Job, Jobs, LowerEnv, ParseEnv, ParseOutcome, read};
use testbed::With;

/// Folder of the recorded data.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/fio");

/// A seed that cannot be known in advance.
const FRESH_SEED: u64 = 7;

/// A machine with two processors, and the files, folders and variables that a test adds.
#[derive(Default)]
pub struct TestEnv {
    pub files: HashMap<String, String>,
    pub folders: Vec<String>,
    pub variables: HashMap<String, String>,
}

impl TestEnv {
    pub fn with_file(path: &str, text: &str) -> TestEnv {
        TestEnv::default().with(|test_env| test_env.files = HashMap::from([(path.to_string(), text.to_string())]))
    }

    pub fn read(&mut self, arguments: &[&str]) -> ParseOutcome {
        let arguments: Vec<String> = arguments.iter().map(|argument| argument.to_string()).collect();
        read("fio", &arguments, self)
    }
}

impl ParseEnv for TestEnv {
    fn read_job_file(&mut self, path: &str) -> Result<String, String> {
        let missing = || "No such file or directory".to_string();
        self.files.get(path).cloned().ok_or_else(missing)
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn is_directory(&self, path: &str) -> Result<bool, String> {
        match self.folders.iter().any(|folder| folder == path) {
            true => Ok(true),
            false => Err("No such file or directory".into()),
        }
    }

    fn open_output(&mut self, path: &str) -> Result<(), String> {
        match path.contains('/') {
            true => Err("No such file or directory".into()),
            false => Ok(()),
        }
    }

    fn page_size(&self) -> u64 {
        4096
    }

    fn processors(&self) -> u64 {
        2
    }

    fn memory_mib(&self) -> u64 {
        24105
    }
}

/// Splits a command line into arguments; double quotes keep blanks.
pub fn split(line: &str) -> Vec<String> {
    split_quoted(line, '"', None)
}

/// Splits a command line into arguments. Quotes keep blanks, and outside of them, `escape` keeps
/// the next letter.
pub fn split_quoted(line: &str, quote: char, escape: Option<char>) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            _ if letter == quote => (quoted, any) = (!quoted, true),
            _ if Some(letter) == escape && !quoted => word.extend(letters.next()),
            _ if letter.is_whitespace() && !quoted => {
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

/// The machine of a plan whose files are on this disk.
pub fn lower_env(disk: &dyn Disk) -> LowerEnv<'_> {
    LowerEnv {
        arguments: &[],
        disk,
        fresh_seed: FRESH_SEED,
        process: 1,
        utc_offset_s: 0,
        client: None,
    }
}

pub fn reading_in(env: &mut TestEnv, line: &str) -> ParseOutcome {
    read("fio", &split(line), env)
}

/// Reads a command line in the default environment.
pub fn reading(line: &str) -> ParseOutcome {
    reading_in(&mut TestEnv::default(), line)
}

/// Everything that was read, regardless of how reading ended.
pub fn all(reading: ParseOutcome) -> (u8, Jobs) {
    match reading {
        ParseOutcome::End(ExitOutput { code, read, .. }) => (code, read),
        ParseOutcome::Run(read) => (0, read),
    }
}

/// The only job of a command line.
#[track_caller]
pub fn job(options: &str) -> Job {
    let (code, mut read) = all(reading(&format!("--parse-only --name=x {options}")));
    assert_eq!(code, 0, "{options}: {:?}", read.notices);
    assert_eq!(read.jobs.len(), 1, "{options}");
    read.jobs.remove(0)
}

/// The jobs of a file, of which only the syntax is checked.
#[track_caller]
pub fn file(text: &str) -> Vec<Job> {
    let (code, read) = all(reading_in(&mut TestEnv::with_file("a.fio", text), "--parse-only a.fio"));
    assert_eq!(code, 0, "{text}: {:?}", read.notices);
    read.jobs
}

/// Compares the stderr of a refused command line.
#[track_caller]
pub fn check_refused(line: &str, expected: &[&str]) {
    let (code, read) = all(reading(line));
    assert_eq!(read.stderr().collect::<Vec<_>>(), expected, "{line}");
    assert_eq!(code, 1, "{line}");
}
