//! The table of native options. A new option needs only a row here; [`super::lower()`] implements
//! it.

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
    /// The name, without leading dashes.
    pub name: &'static str,
    /// Placeholder of the value in help texts; empty for switches.
    pub value: &'static str,
    /// Group in the help.
    pub group: Group,
    /// One line of help.
    pub help: &'static str,
    /// Longer help: units, default, details. `{engines}` is replaced by the names of engines.
    detail: &'static str,
    /// An example line of a job file.
    pub example: &'static str,
    /// Name in other tools; empty if they have no such option.
    pub other_tools: &'static str,
    /// Other words that people try for it.
    synonyms: &'static [&'static str],
    /// True if it may differ between the parts of a job.
    pub of_part: bool,
    /// Checks and stores a value.
    pub set: fn(&mut JobSpec, &str) -> Result<(), String>,
}

/// Groups of options, in the order of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What to test.
    Target,
    /// Which operations to issue.
    Work,
    /// Operations on files instead of blocks.
    Files,
    /// Depth and rate.
    Load,
    /// Start and end.
    Time,
    /// Execution.
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
        const ENGINE_NAMES: &str = "{engines}";
        if !self.detail.contains(ENGINE_NAMES) {
            return self.detail.to_owned();
        }
        let named =
            |engine: &&EngineInfo| engine.native && !matches!(engine.kind, EngineKind::Auto | EngineKind::Simulated);
        let name = |engine: &EngineInfo| match engine.system {
            System::Windows => format!("`{}` (Windows)", engine.name),
            System::Any | System::Linux => format!("`{}`", engine.name),
        };
        let names: Vec<String> = ENGINES.iter().filter(named).map(name).collect();
        self.detail.replace(ENGINE_NAMES, &names.join(", "))
    }

    /// True if `word` is a name of this option in fio, or another word for it.
    fn is_called(&self, word: &str) -> bool {
        let fio = self.other_tools.split("; ").find_map(|tool| tool.strip_prefix("fio "));
        let mut names = fio.unwrap_or_default().split(", ").map(|name| name.split(' ').next());
        names.any(|name| name == Some(word)) || self.synonyms.contains(&word)
    }
}

/// The option that fio, or common usage, calls `word`: `depth` for `iodepth` or `qd`.
pub fn option_called(word: &str) -> Option<&'static NativeOption> {
    let word = word.replace('-', "_");
    options().find(|option| option.is_called(&word))
}

/// All options, in the order of the help.
pub fn options() -> impl Iterator<Item = &'static NativeOption> {
    let groups = [
        place::OPTIONS,
        work::OPTIONS,
        files::OPTIONS,
        load::OPTIONS,
        time::OPTIONS,
        system::OPTIONS,
    ];
    groups.into_iter().flatten()
}

/// The option with a name.
pub fn find(name: &str) -> Option<&'static NativeOption> {
    options().find(|option| option.name == name)
}

/// An empty row, as the base of the others.
const ROW: NativeOption = NativeOption {
    name: "",
    value: "",
    group: Group::Work,
    help: "",
    detail: "",
    example: "",
    other_tools: "",
    synonyms: &[],
    of_part: false,
    set: |_, _| Ok(()),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_complete_and_its_example_works() {
        for option in options() {
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
        let names: std::collections::HashSet<_> = options().map(|option| option.name).collect();
        assert_eq!(names.len(), options().count(), "a name occurs twice");
    }
}
