//! The contents of a configuration file.

/// A configuration file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The version of the first line, in digits: `1.1.0`.
    pub(crate) version: String,
    /// `'TEST SETUP`.
    pub(crate) setup: TestSetup,
    /// `'ACCESS SPECIFICATIONS`, in their order.
    pub(crate) specs: Vec<AccessSpec>,
    /// `'MANAGER LIST`.
    pub(crate) managers: Vec<Manager>,
}

impl Config {
    /// The specification with a name.
    pub(crate) fn spec(&self, name: &str) -> Option<&AccessSpec> {
        self.specs.iter().find(|spec| spec.name == name)
    }
}

with_defaults! {
    /// `'TEST SETUP`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TestSetup {
        pub(crate) description: String,
        /// Measured time in seconds; 0: until stopped.
        pub(crate) run_seconds: u64,
        /// Time before recording, in seconds.
        pub(crate) ramp_up_seconds: u64,
        /// Workers of a manager that the file does not list; absent: one for each processor.
        pub(crate) disk_workers: Option<u32>,
        pub(crate) record: Record = Record::All,
        pub(crate) workers: Steps,
        pub(crate) targets: Steps,
        pub(crate) depth: Steps = Steps { end: 32, step: 2, exponential: true, ..Steps::default() },
        pub(crate) test_type: TestType = TestType::Normal,
    }
}

with_defaults! {
    /// How a number increases from step to step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Steps {
        pub(crate) start: u32 = 1,
        /// The maximum; only queue depths have one.
        pub(crate) end: u32 = 1,
        pub(crate) step: u32 = 1,
        pub(crate) exponential: bool,
    }
}

/// `'Record Results`: which rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Record {
    #[default]
    All,
    NoTargets,
    NoWorkers,
    NoManagers,
    None,
}

impl Record {
    /// The keywords in the order of their numbers.
    pub const WORDS: [(&str, Record); 5] = [
        ("ALL", Record::All),
        ("NO_TARGETS", Record::NoTargets),
        ("NO_WORKERS", Record::NoWorkers),
        ("NO_MANAGERS", Record::NoManagers),
        ("NONE", Record::None),
    ];
}

/// The number of a value in results: the position of its keyword.
pub(crate) fn number_of<T: PartialEq>(words: &[(&str, T)], value: T) -> usize {
    let position = words.iter().position(|(_, listed)| *listed == value);
    position.unwrap_or_default()
}

/// `'Test Type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestType {
    #[default]
    Normal,
    CycleTargets,
    CycleWorkers,
    IncrementTargetsParallel,
    IncrementTargetsSerial,
    CycleWorkersAndTargets,
    CycleOutstandingIos,
    CycleOutstandingIosAndTargets,
}

impl TestType {
    /// The keywords in the order of their numbers.
    pub const WORDS: [(&str, TestType); 8] = [
        ("NORMAL", TestType::Normal),
        ("CYCLE_TARGETS", TestType::CycleTargets),
        ("CYCLE_WORKERS", TestType::CycleWorkers),
        ("INCREMENT_TARGETS_PARALLEL", TestType::IncrementTargetsParallel),
        ("INCREMENT_TARGETS_SERIAL", TestType::IncrementTargetsSerial),
        ("CYCLE_WORKERS_AND_TARGETS", TestType::CycleWorkersAndTargets),
        ("CYCLE_OUTSTANDING_IOS", TestType::CycleOutstandingIos),
        (
            "CYCLE_OUTSTANDING_IOS_AND_TARGETS",
            TestType::CycleOutstandingIosAndTargets,
        ),
    ];
}

/// An access specification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessSpec {
    pub(crate) name: String,
    /// The workers without a list of their own to which it is assigned.
    pub(crate) assignment: Assignment,
    pub(crate) lines: Vec<SpecLine>,
}

/// `NONE ALL DISK NET`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assignment {
    #[default]
    None,
    All,
    Disk,
    Net,
}

impl Assignment {
    /// The keywords in the order of their numbers.
    pub const WORDS: [(&str, Assignment); 4] = [
        ("NONE", Assignment::None),
        ("ALL", Assignment::All),
        ("DISK", Assignment::Disk),
        ("NET", Assignment::Net),
    ];
}

/// A line of an access specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecLine {
    pub(crate) size: u32,
    pub(crate) percent: u32,
    pub(crate) reads: u32,
    pub(crate) random: u32,
    /// Milliseconds before each burst.
    pub(crate) delay: u32,
    pub(crate) burst: u32,
    pub(crate) align: u32,
    pub(crate) reply: u32,
}

/// A manager: a machine with its workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manager {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) workers: Vec<Worker>,
    /// Its line in the file.
    pub(crate) line: usize,
}

/// A worker: a thread with targets and specifications.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Worker {
    pub(crate) name: String,
    /// `NETWORK,TCP` and the like; empty for disks.
    pub(crate) network: String,
    pub(crate) outstanding: u32,
    /// Transactions after which a target is closed and reopened.
    pub(crate) connection: Option<u32>,
    pub(crate) seed: Option<u32>,
    /// Sectors; 0: all.
    pub(crate) maximum_size: u64,
    pub(crate) starting_sector: u64,
    pub(crate) pattern: DataPattern,
    /// Names of specifications in the order of tests.
    pub(crate) specs: Vec<String>,
    /// Names of targets.
    pub(crate) targets: Vec<String>,
    /// Its line in the file.
    pub(crate) line: usize,
}

/// `Data pattern`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataPattern {
    /// One byte repeating.
    #[default]
    Repeating,
    /// Random data, generated once.
    Once,
    /// New random data for each write.
    Random,
}

impl DataPattern {
    /// The patterns in the order of their numbers.
    pub(crate) const ALL: [DataPattern; 3] = [DataPattern::Repeating, DataPattern::Once, DataPattern::Random];
}
