//! The table of native options. A row is all that a new option needs here; [`super::lower()`] gives
//! it its meaning.

mod files;
mod load;
mod place;
mod system;
mod time;
mod work;

use model::plan::{ENGINES, EngineInfo, EngineKind, System};

use super::spec::JobSpec;

/// One option: a flag of `fathom run` and a key of its job files.
#[derive(Clone, Copy, Debug)]
pub struct NativeOption {
    /// The name, without dashes before it.
    pub name: &'static str,
    /// What stands for the value in help texts; empty for switches.
    pub value: &'static str,
    /// Where it is listed.
    pub group: Group,
    /// One line of help.
    pub help: &'static str,
    /// More help: units, default, particulars. `{engines}` stands for the names of engines.
    detail: &'static str,
    /// A value that works.
    pub example: &'static str,
    /// What fio and DiskSpd call it; empty if they don't have it.
    pub elsewhere: &'static str,
    /// It may differ between the parts of a job.
    pub of_part: bool,
    /// Checks and stores a value.
    pub set: fn(&mut JobSpec, &str) -> Result<(), String>,
}

/// Groups of options, in the order of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What is tested.
    Target,
    /// What operations do.
    Work,
    /// Operations on files instead of blocks.
    Files,
    /// How much at once and how fast.
    Load,
    /// When it ends.
    Time,
    /// How it is executed.
    System,
}

impl Group {
    /// Heading in help texts.
    pub fn heading(self) -> &'static str {
        match self {
            Group::Target => "Target",
            Group::Work => "Work",
            Group::Files => "Files",
            Group::Load => "Load",
            Group::Time => "Time",
            Group::System => "System",
        }
    }
}

impl NativeOption {
    /// More help: units, default, particulars.
    pub fn detail(&self) -> String {
        let named =
            |engine: &&EngineInfo| engine.native && !matches!(engine.kind, EngineKind::Auto | EngineKind::Simulated);
        let name = |engine: &EngineInfo| match engine.system {
            System::Windows => format!("`{}` (Windows)", engine.name),
            System::Any | System::Linux => format!("`{}`", engine.name),
        };
        let names: Vec<String> = ENGINES.iter().filter(named).map(name).collect();
        self.detail.replace("{engines}", &names.join(", "))
    }
}

/// All options.
pub const OPTIONS: &[NativeOption] = &[
    place::TARGET,
    place::SIZE,
    place::OFFSET,
    place::KEEP,
    place::PATH,
    place::ROLE,
    place::REPLICAS,
    place::HOPS,
    work::ACCESS,
    work::READ,
    work::WRITE,
    work::TRIM,
    work::EXACT_MIX,
    work::BLOCK,
    work::ALIGN,
    work::CONTENT,
    work::FLUSH_EVERY,
    work::FLUSH,
    work::FLUSH_AT_END,
    files::KIND,
    files::TREE,
    files::MIX,
    files::SEQUENCE,
    files::ORDER,
    load::DEPTH,
    load::DEPTH_PER,
    load::WORKERS,
    load::RATE,
    load::ARRIVALS,
    load::CATCH_UP,
    load::PAUSE,
    load::PAUSE_AFTER,
    time::TIME,
    time::WARM_UP,
    time::COOL_DOWN,
    time::START_DELAY,
    time::OPERATIONS,
    time::BYTES,
    time::PASSES,
    time::UNTIL_PRECISION,
    time::UNTIL_STEADY,
    time::LATENCY_TARGET,
    time::STEP,
    time::AFTER,
    system::CACHE,
    system::ENGINE,
    system::BATCH,
    system::POLL,
    system::SUBMISSION_THREAD,
    system::CPUS,
    system::TOLERATE_ERRORS,
    system::HOSTS,
    system::DIVIDE,
    system::LOG,
];

/// The option with a name.
pub fn find(name: &str) -> Option<&'static NativeOption> {
    OPTIONS.iter().find(|option| option.name == name)
}

/// A row with everything empty, for those below to fill in.
const ROW: NativeOption = NativeOption {
    name: "",
    value: "",
    group: Group::Work,
    help: "",
    detail: "",
    example: "",
    elsewhere: "",
    of_part: false,
    set: |_, _| Ok(()),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_whole_and_its_example_works() {
        for option in OPTIONS {
            assert!(
                !option.name.is_empty() && option.help.ends_with('.') && !option.example.is_empty(),
                "{}",
                option.name
            );
            let value = option
                .example
                .split_once('=')
                .map_or("", |(_, value)| value.trim().trim_matches('"'));
            let mut job = JobSpec::default();
            (option.set)(&mut job, value).unwrap_or_else(|why| panic!("{}: {why}", option.example));
        }
        let names: std::collections::HashSet<_> = OPTIONS.iter().map(|option| option.name).collect();
        assert_eq!(names.len(), OPTIONS.len(), "a name stands twice");
    }
}
