//! The commands. Each has a row in the table and a file of its own.

pub mod ab;
pub mod advise;
pub mod agent;
pub mod baseline;
pub mod calc;
pub mod capture;
pub mod compare;
pub mod completions;
pub mod convert;
mod drop_ins;
pub mod explain;
mod fio_plan;
pub mod help;
pub mod history;
pub mod lint;
pub mod man;
pub mod nfs;
pub mod policies;
pub mod precondition;
pub mod presets;
pub mod quick;
mod quick_cdm;
pub mod recover;
pub mod report;
pub mod results;
pub mod run;
pub mod schema;
pub mod selftest;
pub mod serve;
pub mod show;
mod source;
mod study_outputs;
pub mod suite;
pub mod sweep;
pub mod targets;
pub mod trend;
pub mod verify;
pub mod warm_up;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::exit::Exit;
use crate::fault::Faults;
use crate::session::Session;

/// A group of commands in the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Measure,
    Judge,
    Compare,
    Understand,
    OtherTools,
    Housekeeping,
    /// Rarely used commands, which the help lists in one line.
    Also,
}

impl Group {
    /// True if its commands examine targets before they do anything else.
    pub fn examines_targets(self) -> bool {
        !matches!(self, Group::Housekeeping | Group::Also)
    }

    pub fn heading(self) -> &'static str {
        match self {
            Group::Measure => "Measure",
            Group::Judge => "Judge",
            Group::Compare => "Compare",
            Group::Understand => "Understand",
            Group::OtherTools => "Other tools",
            Group::Housekeeping => "Housekeeping",
            Group::Also => "Also",
        }
    }
}

/// A command of the program.
pub struct CommandRow {
    /// The word on the command line.
    pub name: &'static str,
    /// An earlier name, which still works.
    pub former_name: Option<&'static str>,
    /// Group under which the help lists it.
    pub group: Group,
    /// Options and help.
    pub command: fn() -> Command,
    pub execute: fn(&Session, &ArgMatches) -> Result<Exit, Faults>,
}

/// Builds the row of a command from the `Args` and `execute` of its module.
macro_rules! row {
    ($group:ident, $name:literal, $module:ident) => {
        CommandRow {
            name: $name,
            former_name: None,
            group: Group::$group,
            command: || <$module::Args as Args>::augment_args(Command::new($name)),
            execute: |session, matches| {
                let args = $module::Args::from_arg_matches(matches).expect("clap has checked the arguments");
                $module::execute(session, &args)
            },
        }
    };
}

/// Builds the row of a drop-in mode.
const fn drop_in_row(name: &'static str, command: fn() -> Command) -> CommandRow {
    CommandRow {
        name,
        former_name: None,
        group: Group::OtherTools,
        command,
        execute: |_, _| unreachable!("main recognises other tools before it parses a command"),
    }
}

/// Every command, in the order of the help.
pub const COMMANDS: &[CommandRow] = &[
    row!(Measure, "quick", quick),
    row!(Measure, "run", run),
    row!(Measure, "sweep", sweep),
    row!(Measure, "precondition", precondition),
    row!(Measure, "warm-up", warm_up),
    row!(Measure, "capture", capture),
    row!(Measure, "presets", presets),
    row!(Judge, "verify", verify),
    row!(Judge, "suite", suite),
    row!(Judge, "policies", policies),
    row!(Judge, "advise", advise),
    row!(Judge, "baseline", baseline),
    row!(Compare, "ab", ab),
    row!(Compare, "compare", compare),
    row!(Compare, "trend", trend),
    row!(Understand, "lint", lint),
    row!(Understand, "nfs", nfs),
    row!(Understand, "explain", explain),
    row!(Understand, "calc", calc),
    row!(Understand, "show", show),
    row!(Understand, "report", report),
    row!(Understand, "history", history),
    row!(Understand, "serve", serve),
    drop_in_row("fio", drop_ins::fio),
    drop_in_row("diskspd", drop_ins::diskspd),
    drop_in_row("iometer", drop_ins::iometer),
    drop_in_row("vdbench", drop_ins::vdbench),
    row!(OtherTools, "convert", convert),
    row!(Housekeeping, "targets", targets),
    row!(Housekeeping, "selftest", selftest),
    CommandRow {
        former_name: Some("worker"),
        ..row!(Housekeeping, "agent", agent)
    },
    row!(Housekeeping, "recover", recover),
    row!(Housekeeping, "help", help),
    row!(Also, "schema", schema),
    row!(Also, "man", man),
    row!(Also, "completions", completions),
];

/// Finds the row of a command by its name or its former name.
pub fn find(name: &str) -> Option<&'static CommandRow> {
    COMMANDS
        .iter()
        .find(|row| row.name == name || row.former_name == Some(name))
}
