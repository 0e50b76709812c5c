//! An environment that records its calls, and shortcuts to read a command line.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use dialects::diskspd::profile::{Profile, Target, TimeSpan};
use dialects::diskspd::{EventRole, ExitOutput, ParseEnv, ParseOutcome, Processors, Request, Version, read};
use testbed::With;

/// Folder of the recorded data.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/diskspd");

/// The folders of a group of recorded data, in order.
pub fn cases(group: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("{DATA}/{group}")).unwrap_or_else(|error| panic!("{group}: {error}"));
    let mut cases: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    cases.sort();
    assert!(cases.len() > 5, "{group} holds only {} cases", cases.len());
    cases
}

/// An environment of four processors, with the files and events that a test adds.
pub struct TestEnv {
    pub files: HashMap<String, String>,
    pub processors: Processors,
    pub slash: bool,
    pub version: Version,
    pub events_fail: bool,
    pub opened: Vec<(EventRole, String)>,
    pub signalled: Vec<String>,
}

impl Default for TestEnv {
    fn default() -> Self {
        TestEnv {
            files: HashMap::new(),
            processors: Processors {
                online: vec![0, 1, 2, 3],
                possible: 4,
            },
            slash: false,
            version: Version::V2_2,
            events_fail: false,
            opened: Vec::new(),
            signalled: Vec::new(),
        }
    }
}

impl TestEnv {
    pub fn with_file(path: &str, text: &str) -> Self {
        TestEnv::default().with(|test_env| test_env.files = HashMap::from([(path.to_string(), text.to_string())]))
    }

    pub fn read(&mut self, arguments: &[&str]) -> ParseOutcome {
        let arguments: Vec<String> = arguments.iter().map(|argument| argument.to_string()).collect();
        read("diskspd", &arguments, self)
    }
}

impl ParseEnv for TestEnv {
    fn processors(&self) -> Processors {
        self.processors.clone()
    }

    fn milliseconds_since_boot(&self) -> u64 {
        (1 << 32) + 77
    }

    fn read_profile(&mut self, path: &str) -> Result<String, String> {
        self.files
            .get(path)
            .cloned()
            .ok_or_else(|| "there is no such file".to_string())
    }

    fn open_event(&mut self, role: EventRole, name: &str) -> Result<(), String> {
        self.opened.push((role, name.to_string()));
        if self.events_fail { Err("no".into()) } else { Ok(()) }
    }

    fn signal_event(&mut self, name: &str) -> Result<(), String> {
        self.signalled.push(name.to_string());
        if self.events_fail { Err("no".into()) } else { Ok(()) }
    }

    fn version(&self) -> Version {
        self.version
    }

    fn slash_is_a_switch(&self) -> bool {
        self.slash
    }
}

/// The arguments of a command line without quotes.
pub fn split(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Reads a command line in the default environment.
pub fn reading(line: &str) -> ParseOutcome {
    TestEnv::default().read(&split(line))
}

/// Reads a command line as DiskSpd 2.3 does.
pub fn newer(line: &str) -> ParseOutcome {
    let version = Version::V2_3;
    TestEnv::default()
        .with(|test_env| test_env.version = version)
        .read(&split(line))
}

/// The request that a command line makes, for a run or for printing.
#[track_caller]
pub fn request(reading: ParseOutcome) -> Request {
    match reading {
        ParseOutcome::Run(request) | ParseOutcome::Print(request) => request,
        ParseOutcome::End(end) => panic!("refused: {end:?}"),
    }
}

/// The exit of a command line that ends the process.
#[track_caller]
pub fn end(reading: ParseOutcome) -> ExitOutput {
    match reading {
        ParseOutcome::End(end) => end,
        ParseOutcome::Run(request) | ParseOutcome::Print(request) => panic!("accepted: {request:?}"),
    }
}

/// The profile of a command line.
#[track_caller]
pub fn profile(line: &str) -> Profile {
    request(reading(line)).profile
}

/// The time span of a command line without targets; `t.dat` is added.
#[track_caller]
pub fn span(switches: &str) -> TimeSpan {
    profile(&format!("-Rp {switches} t.dat")).time_spans.remove(0)
}

/// The target of a command line without targets; `t.dat` is added.
#[track_caller]
pub fn target(switches: &str) -> Target {
    span(switches).targets.remove(0)
}

/// Checks of the messages about switches, to which `t.dat` is added.
pub trait AssertMessages {
    /// They are refused with this stderr and exit code 3.
    fn assert_refused(&self, expected: &[&str]);
    /// They are accepted with these warnings.
    fn assert_warned(&self, expected: &[&str]);
    /// The second pass refuses them with these lines and the common one, with the last switch.
    fn assert_refused_by_name(&self, expected: &[&str]);
}

impl AssertMessages for str {
    #[track_caller]
    fn assert_refused(&self, expected: &[&str]) {
        let end = end(reading(&format!("{self} t.dat")));
        assert_eq!((end.code, end.stderr), (3, strings(expected)), "{self}");
        assert!(end.stdout.is_empty(), "{self}");
    }

    #[track_caller]
    fn assert_warned(&self, expected: &[&str]) {
        let reading = reading(&format!("{self} t.dat"));
        assert!(matches!(reading, ParseOutcome::Run(_)), "{self}: {reading:?}");
        assert_eq!(request(reading).stderr, strings(expected), "{self}");
    }

    #[track_caller]
    fn assert_refused_by_name(&self, expected: &[&str]) {
        let last = split(self).pop().unwrap_or_default();
        let shared = format!("ERROR: incorrectly provided option: '{last}'");
        self.assert_refused(&[expected, &[shared.as_str()]].concat());
    }
}

pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}
