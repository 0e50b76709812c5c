//! Options that several commands share.

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use dialects::native::{NativeOption, options};
use model::Nanos;

use crate::fault::{Fault, Faults};
use crate::screen::ProgressArgs;

/// Options that choose the direction of all operations, and so exclude each other.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// The load options of a command.
pub trait Subset {
    /// True if the command has this option.
    fn has(name: &str) -> bool;
}

/// All load options.
pub struct AllOptions;

impl Subset for AllOptions {
    fn has(_: &str) -> bool {
        true
    }
}

/// A load option with its values on the command line.
pub type OptionWithValues = (&'static NativeOption, Vec<String>);

/// The load options: rows of the native table.
pub struct LoadOptions<S = AllOptions> {
    /// Options on the command line, in the order of the table.
    pub options: Vec<OptionWithValues>,
    subset: PhantomData<S>,
}

impl<S: Subset> FromArgMatches for LoadOptions<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<LoadOptions<S>, clap::Error> {
        let is_given = |option: &&NativeOption| {
            S::has(option.name) && matches.value_source(option.name) == Some(ValueSource::CommandLine)
        };
        let with_values = |option: &'static NativeOption| match option.value {
            "" => (option, vec!["true".to_owned()]),
            _ => (
                option,
                matches.get_many(option.name).into_iter().flatten().cloned().collect(),
            ),
        };
        Ok(LoadOptions {
            options: options().filter(is_given).map(with_values).collect(),
            subset: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = LoadOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<S: Subset> Args for LoadOptions<S> {
    fn augment_args(command: Command) -> Command {
        let options = options().filter(|option| S::has(option.name));
        command.args(options.map(load_option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn load_option(option: &'static NativeOption) -> Arg {
    let arg = Arg::new(option.name)
        .long(option.name)
        .help(option.help.trim_end_matches('.'))
        .long_help(long_help(option))
        .help_heading(option.group.heading());
    let arg = match option.value {
        "" => arg.action(ArgAction::SetTrue),
        value if option.name == "target" => arg
            .action(ArgAction::Append)
            .value_name(value)
            .value_hint(ValueHint::AnyPath),
        value => arg.action(ArgAction::Set).value_name(value).allow_hyphen_values(true),
    };
    // These options exclude each other: each chooses the operations.
    let exclusive = [&DIRECTIONS[..], &["mix", "sequence"]];
    match exclusive.into_iter().find(|names| names.contains(&option.name)) {
        Some(names) => arg.conflicts_with_all(names.iter().filter(|name| **name != option.name)),
        None => arg,
    }
}

fn long_help(option: &NativeOption) -> String {
    let mut text = option.help.to_owned();
    let detail = option.detail();
    if !detail.is_empty() {
        text += &format!(" {detail}");
    }
    text += &format!("\nIn a job file: {}", option.example);
    if !option.other_tools.is_empty() {
        text += &format!("\nElsewhere: {}", option.other_tools);
    }
    text
}

/// A test: its load and its common options.
#[derive(Args)]
pub struct TestArgs<S: Subset = AllOptions> {
    #[command(flatten)]
    pub load: LoadOptions<S>,
    /// Name of the test, for reports
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub name: Option<String>,
    #[command(flatten)]
    pub dry: DryRunArgs,
}

/// The `--dry-run` option.
#[derive(Args)]
pub struct DryRunArgs {
    /// Show what the test would do; open nothing for writing
    #[arg(long, help_heading = "Safety")]
    pub dry_run: bool,
}

/// Options of every command that measures.
#[derive(Args)]
pub struct MeasureArgs {
    /// Seed of all random decisions [default: 1]
    #[arg(long, value_name = "NUMBER", help_heading = "Output")]
    pub seed: Option<u64>,
    #[arg(
        long,
        visible_alias = "host",
        value_name = "HOST,…",
        help_heading = "Output",
        help = "Run on this host, or on several; @FILE lists one per line",
        long_help = "Run on another host instead of this one, or on several hosts, and report the \
            sum. `db1` or `user@db1` connects by ssh, `tcp://db1:7745` to a `fathom agent --listen` \
            on that host; `listen://0.0.0.0:7745*16` waits for 16 agents to connect; `local` is a \
            process on this machine; @FILE has one host per line. In target names %h is the host \
            and %r its number. See docs/fleet.md. The variable FATHOM_HOSTS does the same, also for \
            the drop-in modes."
    )]
    pub hosts: Option<String>,
    #[command(flatten)]
    pub progress: ProgressArgs,
    /// Do not record this run in the history; also FATHOM_HISTORY=off
    #[arg(long, help_heading = "Output")]
    pub no_history: bool,
}

/// Parses the value of an option.
///
/// # Errors
/// The text is no such value.
pub fn parse_value<T>(name: &str, text: &Option<String>, help: &str) -> Result<Option<T>, Faults>
where
    T: FromStr<Err: Display>,
{
    let parse = |text: &String| {
        let parsed = text.parse::<T>();
        parsed.map_err(|error| wrong_value(name, text, error.to_string(), help))
    };
    text.as_ref().map(parse).transpose()
}

/// Parses the time of an option, which must be above 0. The help names `example`.
///
/// # Errors
/// The text is no such time.
pub fn parse_time(name: &str, text: Option<&str>, example: &str) -> Result<Option<Nanos>, Faults> {
    let Some(text) = text else { return Ok(None) };
    let why = match text.parse::<Nanos>() {
        Ok(Nanos(0)) => "the time must be above 0".to_owned(),
        Ok(time) => return Ok(Some(time)),
        Err(error) => error.to_string(),
    };
    let help = format!("for example --{name} {example}");
    Err(wrong_value(name, text, why, &help))
}

/// Parses the percentage of `--read`.
///
/// # Errors
/// The text is no percentage.
pub fn parse_read_percent(text: Option<&str>) -> Result<Option<f64>, Faults> {
    let Some(text) = text else { return Ok(None) };
    let value = text.trim_end_matches('%').parse::<f64>().ok();
    let value = value.filter(|value| (0.0..=100.0).contains(value));
    value.map(Some).ok_or_else(|| {
        let why = format!("`{text}` is not a percentage from 0 to 100");
        wrong_value("read", text, why, "for example --read 70")
    })
}

pub fn wrong_value(name: &str, text: &str, why: impl Into<String>, help: &str) -> Faults {
    Fault::new(why).at(format!("--{name} {text}")).into_usage(help)
}
