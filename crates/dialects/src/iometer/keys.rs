//! The table of keys: what the reader accepts and the writer writes, and what `docs/iometer.md`
//! lists.

/// A key of a configuration file.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Section in which the key occurs.
    pub section: Section,
    /// The text with which a line must begin.
    pub name: &'static str,
    /// The rest of the line as version 1.1.0 writes it. The reader accepts any rest, because other
    /// versions have other ones.
    pub(super) rest: &'static str,
    pub(super) id: Id,
    /// The form of its value.
    pub value: &'static str,
    /// Its effect in fathom.
    pub here: &'static str,
}

/// A section, by the first words of its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The test's subject and duration.
    TestSetup,
    /// What Iometer shows on the screen.
    ResultsDisplay,
    /// Mixes of transfers.
    AccessSpecifications,
    /// Machines with their workers and targets.
    ManagerList,
}

impl Section {
    /// Every section with its first words.
    pub const ALL: [(Section, &'static str); 4] = [
        (Section::TestSetup, "TEST SETUP"),
        (Section::ResultsDisplay, "RESULTS DISPLAY"),
        (Section::AccessSpecifications, "ACCESS SPECIFICATIONS"),
        (Section::ManagerList, "MANAGER LIST"),
    ];

    /// Its first words.
    pub fn heading(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(key, _)| *key == self)
            .map_or("", |(_, words)| words)
    }
}

impl Key {
    /// The first key with an id. The spelling of version 1.1.0 comes before others.
    pub(super) fn with_id(id: Id) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.id == id)
    }
}

/// The setting of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Description,
    RunTime,
    RampUp,
    DiskWorkers,
    OldWorkers,
    NetworkWorkers,
    Record,
    WorkerCycling,
    TargetCycling,
    DepthCycling,
    TestType,
    Display,
    AccessName,
    AccessLines,
    Manager,
    Address,
    Worker,
    WorkerType,
    Interface,
    SettingsBegin,
    Outstanding,
    Disk,
    AssignedSpecs,
    TargetsBegin,
    Target,
    TargetType,
    TargetManager,
}

macro_rules! keys {
    ($($section:ident { $($id:ident $name:literal $(+ $rest:literal)?: $value:literal, $here:literal;)* })*) => {
        /// All keys. If one is a prefix of another, the longer one comes first.
        pub const KEYS: &[Key] = &[$($(Key {
            section: Section::$section,
            name: $name,
            rest: concat!($($rest)?),
            id: Id::$id,
            value: $value,
            here: $here,
        },)*)*];
    };
}

keys! {
    TestSetup {
        Description "Test Description": "text", "copied to the results";
        RunTime "Run Time": "hours minutes seconds", "measured time of each test; 0 (endless in Iometer) is refused";
        RampUp "Ramp Up Time" + " (s)": "seconds", "warm-up, in addition to the run time";
        DiskWorkers "Default Disk Workers to Spawn": "number or `NUMBER_OF_CPUS`", "number of workers if the file lists no manager and `--target` is set";
        OldWorkers "Default Workers to Spawn": "number; 0: one for each CPU", "same as above, in older files";
        NetworkWorkers "Default Network Workers to Spawn": "number", "ignored; network workers are refused only if the file lists them";
        Record "Record Results": "`ALL`, `NO_TARGETS`, `NO_WORKERS`, `NO_MANAGERS`, `NONE` or 0–4", "which rows are written";
        WorkerCycling "Worker Cycling": "start step type", "how the number of workers grows";
        TargetCycling "Disk Cycling": "start step type", "how the number of targets grows";
        TargetCycling "Target Cycling": "start step type", "same as `'Disk Cycling`; Iometer 1.1.0 itself rejects this spelling";
        DepthCycling "Queue Depth Cycling": "start end step type", "how the queue depth grows";
        TestType "Test Type": "a word or 0–7", "which of the three grow";
    }
    ResultsDisplay {
        Display "": "any", "ignored: affects only the screen";
    }
    AccessSpecifications {
        AccessName "Access specification name,default assignment": "name, `NONE`, `ALL`, `DISK`, `NET` or 0–3", "begins a specification; replaces an earlier one with the same name";
        AccessLines "size," + "% of size,% reads,% random,delay,burst,align,reply": "up to 100 lines", "the mix; see below";
    }
    ManagerList {
        Manager "Manager ID, manager name": "number, name", "a machine: this one, or one mapped to it";
        Address "Manager network address": "address", "loopback means this machine";
        WorkerType "Worker type": "`DISK`, `NETWORK,TCP`, `NETWORK,VI`", "network workers are refused";
        Worker "Worker": "name", "a thread";
        Interface "Local network interface": "text", "for network workers only";
        SettingsBegin "Default target settings for worker": "", "begins the next two keys";
        Outstanding "Number of outstanding IOs,test connection rate,transactions per connection" + ",use fixed seed,fixed seed value": "number, `ENABLED` or `DISABLED`, number, then since 1.1.0 `ENABLED` or `DISABLED`, number", "queue depth of each target; test connection rate: if enabled, the target is closed and reopened after that number of transactions; fixed seed: if enabled, the seed";
        Disk "Disk maximum size,starting sector" + ",Data pattern": "sectors, sector, each up to 2^50, then since 1.1.0 0–2", "the used part of the target; data pattern";
        AssignedSpecs "Assigned access specs": "names, one on a line", "in test order; with `Idle` the worker does nothing";
        TargetsBegin "Target assignments": "", "begins the list of targets";
        TargetType "Target type": "`DISK`", "anything else is refused with its worker";
        TargetManager "Target manager ID, manager name": "number, name", "only network workers have it";
        Interface "VI outstanding IOs": "number", "only network workers have it";
        Target "Target": "name", "a disk or file system; see below";
    }
}
