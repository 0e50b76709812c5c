//! `--profile`: built-in workloads, each with its own options.

use super::help;
use super::job_file::{self, Section};
use super::session::{ExitCode, Session};
use crate::Location;

/// A built-in workload.
struct Profile {
    name: &'static str,
    options: &'static [ProfileOption],
    /// Sections and their options. `{name}` is replaced by the value of that option.
    sections: &'static [(&'static str, &'static [&'static str])],
}

/// An option of a profile.
#[derive(Clone, Copy)]
pub(super) struct ProfileOption {
    pub(super) name: &'static str,
    help: &'static str,
    /// The default value.
    default: &'static str,
    /// The unit appended to the user's number.
    unit: &'static str,
}

const fn number(name: &'static str, help: &'static str, default: &'static str, unit: &'static str) -> ProfileOption {
    ProfileOption {
        name,
        help,
        default,
        unit,
    }
}

const PROFILES: &[Profile] = &[Profile {
    name: "tiobench",
    options: &[
        // As in fio: four times the memory in KiB, interpreted as bytes.
        number("size", "Size in MiB", "$mb_memory*4096", "m"),
        number("block", "Block size in bytes", "4096", ""),
        number("numruns", "Number of runs", "1", ""),
        ProfileOption {
            name: "dir",
            help: "Test directory",
            default: "./",
            unit: "",
        },
        number("threads", "Number of Threads", "1", ""),
    ],
    sections: &[
        (
            "global",
            &[
                "buffered=0",
                "size={size}",
                "bs={block}",
                "loops={numruns}",
                "directory={dir}",
                "numjobs={threads}",
                "runtime=600",
                "group_reporting",
                "thread",
                "overwrite=1",
                "filename=.fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4",
                "ioengine=sync",
            ],
        ),
        ("seqwrite", &["rw=write", "end_fsync=1"]),
        ("randwrite", &["stonewall", "rw=randwrite", "end_fsync=1"]),
        ("seqread", &["stonewall", "rw=read"]),
        ("randread", &["stonewall", "rw=randread"]),
    ],
}];

/// Profiles of fio that are not supported, with alternatives.
const ALTERNATIVES: &[(&str, &str)] = &[(
    "act",
    "write a job of reads with rate_iops, and one of large reads and writes at the same load",
)];

/// The error line for an unknown profile.
pub(super) fn unknown_profile_line(name: &str) -> String {
    match ALTERNATIVES.iter().find(|(profile, _)| *profile == name) {
        Some((_, instead)) => format!("fio: profile '{name}' is not supported by this program: {instead}"),
        None => format!("fio: profile '{name}' not found"),
    }
}

/// The profile of a command line, with its options.
pub(super) struct ChosenProfile {
    profile: &'static Profile,
    values: Vec<(&'static str, String)>,
}

impl ChosenProfile {
    pub(super) fn from_name(name: &str) -> Option<ChosenProfile> {
        let profile = PROFILES.iter().find(|profile| profile.name == name)?;
        Some(ChosenProfile {
            profile,
            values: Vec::new(),
        })
    }

    pub(super) fn options(&self) -> &'static [ProfileOption] {
        self.profile.options
    }

    /// Sets the value of an option; false if it is invalid.
    pub(super) fn set(&mut self, option: ProfileOption, value: &str) -> bool {
        let digits = value.trim_end_matches(|last: char| !option.unit.is_empty() && "kmgt".contains(last));
        let is_number = digits.parse::<u32>().is_ok_and(|number| number > 0) && value.len() - digits.len() < 2;
        if option.name != "dir" && !is_number {
            return false;
        }
        let unit = if digits == value { option.unit } else { "" };
        self.values.push((option.name, format!("{value}{unit}")));
        true
    }

    /// The help of one option, or of all.
    pub(super) fn help(&self, name: &str) -> help::HelpOutput {
        let rows = self.options().iter();
        let mut answer = help::HelpOutput::default();
        match rows.clone().find(|option| option.name == name) {
            Some(option) => answer.stdout.extend([
                help::format_labelled(option.name, option.help),
                help::format_labelled("valid", format!("only for profile '{}'", self.profile.name)),
                String::new(),
            ]),
            None if name.is_empty() || name == "all" => {
                answer
                    .stdout
                    .extend(rows.map(|option| help::help_line(option.name, option.help)));
            }
            None => {
                answer.stderr.push(format!("No such command: {name}"));
                answer.stdout.push(String::new());
            }
        }
        answer
    }

    /// Adds the jobs.
    pub(super) fn add_jobs(&self, session: &mut Session<'_>) -> Result<(), ExitCode> {
        for (name, options) in self.profile.sections {
            let location = Location::on_command_line(format!("--profile={}", self.profile.name));
            let section = Section::new(name, location);
            let options = options.iter().map(|option| self.expand(option)).collect();
            job_file::add_section(session, section, options)?;
        }
        Ok(())
    }

    fn expand(&self, option: &str) -> String {
        let options = self.options().iter();
        options.fold(option.to_owned(), |text, option| {
            let mut values = self.values.iter().rev();
            let value = values
                .find(|(name, _)| *name == option.name)
                .map(|(_, value)| value.as_str());
            text.replace(&format!("{{{}}}", option.name), value.unwrap_or(option.default))
        })
    }
}
