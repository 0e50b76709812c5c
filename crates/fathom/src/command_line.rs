//! The native command line. Its options are rows of the dialect's table; flags, help, man pages and completions follow.

use std::process::ExitCode;

use archive::SCHEMAS;
use clap::builder::{PossibleValue, PossibleValuesParser, Styles};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, ValueHint, value_parser};
use dialects::native::{Group, OPTIONS};

use crate::exit::{EXPLAINED, Exit};
use crate::{commands, history, limits, outputs, preflight, screen};

const ABOUT: &str = "Measures storage: what it delivers, what the numbers mean, what is in the way";

/// Options of which only one can be meant.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// Builds one subcommand.
type Build = fn() -> Command;

/// The subcommands, in the order of the help page.
const COMMANDS: [(&str, Build); 32] = [
    ("quick", quick),
    ("run", run),
    ("presets", commands::presets::command),
    ("verify", commands::verify::command),
    ("suite", commands::suite::command),
    ("warm-up", commands::warm_up::command),
    ("worker", commands::worker::command),
    ("recover", commands::recover::command),
    ("policies", commands::policies::command),
    ("advise", commands::advise::command),
    ("diskspd", diskspd),
    ("fio", fio),
    ("convert", convert),
    ("lint", commands::lint::command),
    ("sweep", commands::sweep::command),
    ("ab", commands::ab::command),
    ("capture", commands::capture::command),
    ("precondition", commands::precondition::command),
    ("compare", commands::compare::command),
    ("calc", commands::calc::command),
    ("explain", commands::explain::command),
    ("report", commands::report::command),
    ("show", commands::show::command),
    ("history", commands::history::command),
    ("trend", commands::trend::command),
    ("serve", commands::serve::command),
    ("baseline", commands::baseline::command),
    ("targets", targets),
    ("selftest", selftest),
    ("schema", schema),
    ("man", man),
    ("completions", completions),
];

/// Everything this program understands.
pub fn command() -> Command {
    root().subcommands(COMMANDS.map(|(_, build)| build()))
}

/// As much of it as these arguments need. To build the options of all subcommands takes longer than to parse one.
pub fn command_for(arguments: &[String]) -> Command {
    let named = arguments.get(1);
    let named = named.and_then(|word| COMMANDS.iter().find(|(name, _)| name == word));
    named.map_or_else(command, |(_, build)| root().subcommand(build()))
}

fn root() -> Command {
    Command::new("fathom")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .styles(Styles::plain())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .max_term_width(110)
        .after_help(format!(
            "Begin with `fathom quick`: it screens the disk under the current directory in less than a minute.\n\n{EXPLAINED}"
        ))
}

/// Prints what clap has to say. Help and version go to stdout and are no error.
pub fn explain(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = screen::print(&error.render().to_string());
            Exit::Done.code()
        }
        _ => {
            eprint!("{}", error.render());
            Exit::Usage.code()
        }
    }
}

/// For help, man page and completions only: the words of another tool are never clap's to read.
fn drop_in(name: &'static str, about: &'static str, long_about: &'static str, words: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .long_about(long_about)
        .disable_help_flag(true)
        .arg(
            Arg::new("arguments")
                .value_name("ARGUMENTS")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help(words),
        )
}

fn diskspd() -> Command {
    drop_in(
        "diskspd",
        "Runs a DiskSpd command line or XML profile, and reports as DiskSpd does",
        "Runs a command line or XML profile of DiskSpd 2.2 unchanged, prints its report as text (or XML with -Rxml) and \
         ends with its exit codes. The program does the same without this word where it is called `diskspd`, by a copy \
         or a link.\n\n\
         `fathom diskspd -?` lists the switches; docs/diskspd.md tells what each does here. FATHOM_NOTES=1 shows notes \
         where stderr is no terminal, FATHOM_RESULT=FILE saves the native result too, FATHOM_HISTORY=on keeps it in the history, FATHOM_ALLOW_DESTROY=DEVICE \
         names a device again that the guard would not give away, FATHOM_DISKSPD_TEXT=2.0 prints the report in its \
         older form.",
        "Switches and targets, as for DiskSpd",
    )
}

fn fio() -> Command {
    drop_in(
        "fio",
        "Runs a fio command line or job file, and reports as fio does",
        "Runs a command line or job files of fio 3.42 unchanged, prints its report (normal, terse, JSON or JSON+) and ends \
         with its exit codes. The program does the same without this word where it is called `fio`, by a copy or a \
         link.\n\n\
         `fathom fio --help` lists the options, `fathom fio --cmdhelp` those of jobs; docs/fio.md tells what each does here. \
         FATHOM_NOTES=1 shows notes where stderr is no terminal, FATHOM_RESULT=FILE saves the native result too, FATHOM_HISTORY=on keeps \
         it in the history, FATHOM_ALLOW_DESTROY=DEVICE names a device again that the guard would not give away, FATHOM_ALLOW_EXEC=1 \
         permits commands of the shell in jobs.",
        "Options and job files, as for fio",
    )
}

/// The flags of `fathom run`, without the words before them.
pub fn flags_of_run() -> Command {
    run().no_binary_name(true)
}

fn convert() -> Command {
    Command::new("convert")
        .about("Says a test in the words of fio, DiskSpd or fathom, with what they cannot say")
        .long_about(
            "Says a test in the words of fio, DiskSpd or fathom. Nothing is run, and no target is opened. The text goes to \
             standard output; what the other side cannot say goes to standard error, one thing a line: `lost: …` where the \
             test becomes another one, `differs: …` where the other side does the same thing in its own way.\n\n\
             SOURCE is flags of `fathom run`, a command line of another dialect after its name (`diskspd -b8K …`, `fio …`), a DiskSpd profile \
             (FILE.xml), a job file of fathom (FILE.toml), or a saved result, which holds its plan.",
        )
        .after_help(format!(
            "Examples:\n  fathom convert --to native diskspd -b8K -d60 -t4 -o32 -r -w30 -Sh -c10G test.dat\n  \
             fathom convert --to fio --target /data/f.dat --size 10g --read 70 --block 8k --depth 32\n  \
             fathom convert --to diskspd nightly.toml\n\n{EXPLAINED}"
        ))
        .arg(
            Arg::new("to")
                .long("to")
                .value_name("DIALECT")
                .value_parser(PossibleValuesParser::new([
                    PossibleValue::new("fio"),
                    PossibleValue::new("diskspd"),
                    PossibleValue::new("native").alias("fathom"),
                ]))
                .help("Whose words are wanted [default: those of both others, one after the other]"),
        )
        .arg(
            Arg::new("source")
                .value_name("SOURCE")
                .required(true)
                .num_args(1..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help("`diskspd` or `native` and its arguments; or one file"),
        )
}

fn quick() -> Command {
    Command::new("quick")
        .about("Screens a disk in less than a minute: latency, IOPS, throughput, and what they mean")
        .long_about(
            "Screens a disk in less than a minute: 4 KiB random reads and writes at depth 1 and at depth 32 with up to 8 \
             workers, 1 MiB sequential reads and writes, 8 KiB random 70/30; 1 s of warm-up and 4 s each.\n\n\
             In a directory it makes a file, fills it with random data and removes it at the end. On a device, or on a \
             file that fathom has not made, it only reads, unless you name it again with --allow-destroy or \
             --allow-overwrite.",
        )
        .arg(
            Arg::new("path")
                .value_name("PATH")
                .default_value(".")
                .value_hint(ValueHint::AnyPath)
                .help("Directory, file or block device"),
        )
        .arg(
            Arg::new("size")
                .long("size")
                .value_name("SIZE")
                .help("Size of the file that is made [default: 1 GiB, or 5 % of the free space if that is less]"),
        )
        .args(output_options())
        // It is refused with what to do instead.
        .mut_arg("hosts", |arg| arg.hide(true))
        .args(safety_options())
}

fn run() -> Command {
    let command = Command::new("run")
        .about("Runs a job file, or a test described by flags")
        .long_about(
            "Runs a job file, or a test described by flags. Keys of a job file and flags are the same; with both, flags \
             change every job of the file. Sizes take k, m, g, t (powers of 1024) or kB, MB, GB (powers of 1000); times \
             take ns, us, ms, s, m, h.",
        )
        .after_help(format!(
            "Examples:\n  fathom run --target /data --size 10g --depth 32 --time 1m\n  \
             fathom run --target /data/f.dat --size 4g --read 70 --block 8k --rate 5000iops --time 5m\n  \
             fathom run nightly.toml --out text,json=nightly.json --save nightly.result\n  \
             fathom run --preset oltp --target /data --size 100g --objective 'most IOPS with p99 up to 3 ms'\n\n{EXPLAINED}"
        ))
        .arg(
            Arg::new("file")
                .value_name("FILE.toml")
                .value_hint(ValueHint::FilePath)
                .help("Job file"),
        )
        .arg(
            Arg::new("preset")
                .long("preset")
                .value_name("NAME[@VERSION]")
                .help("A test that is ready, instead of a job file; `fathom presets` lists them")
                .long_help(
                    "A test that is ready, instead of a job file; `fathom presets` lists them. It needs a --target; other flags \
                     change every job of it, and the result says which. Without a version it is the newest.",
                ),
        );
    command
        .args(load_options())
        .arg(name_option())
        .arg(objective_option())
        .arg(dry_run_option())
        .args(limits::arguments())
        .arg(preflight::argument("0").help_heading("Safety"))
        .args(output_options())
        .args(safety_options())
}

/// The options of the dialect's table: what a load is.
pub fn load_options() -> Vec<Arg> {
    let arg = |option: &'static dialects::native::NativeOption| {
        let arg = Arg::new(option.name)
            .long(option.name)
            .help(option.help.trim_end_matches('.'))
            .long_help(long_help(option))
            .help_heading(heading(option.group));
        let arg = match option.value {
            "" => arg.action(ArgAction::SetTrue),
            value if option.name == "target" => arg
                .action(ArgAction::Append)
                .value_name(value)
                .value_hint(ValueHint::AnyPath),
            value => arg.action(ArgAction::Set).value_name(value).allow_hyphen_values(true),
        };
        // Each of them says what the operations are.
        match DIRECTIONS.contains(&option.name) {
            true => arg.conflicts_with_all(DIRECTIONS.iter().filter(|name| **name != option.name)),
            false => arg,
        }
    };
    OPTIONS.iter().map(arg).collect()
}

/// `--name`.
pub fn name_option() -> Arg {
    Arg::new("name")
        .long("name")
        .value_name("NAME")
        .help("Name of the test, for reports")
        .help_heading("Output")
}

/// `--objective`.
fn objective_option() -> Arg {
    Arg::new("objective")
        .long("objective")
        .value_name("TEXT")
        .help("What the test is to show, in your words; kept in the result")
        .help_heading("Output")
}

/// `--dry-run`.
pub fn dry_run_option() -> Arg {
    Arg::new("dry-run")
        .long("dry-run")
        .action(ArgAction::SetTrue)
        .help("Show what would be done and whether it may be; nothing is opened for writing")
        .help_heading("Safety")
}

/// `--out` and `--save` of studies, which have formats of their own, `--seed` and `--quiet`.
pub fn study_output_options() -> Vec<Arg> {
    let kept = |arg: &Arg| ["report", "seed", "live", "quiet", "no-history", "hosts"].contains(&arg.get_id().as_str());
    let output = |name: &'static str| Arg::new(name).long(name).help_heading("Output");
    let own = [
        output("out")
            .value_name("FORMAT[=FILE],…")
            .action(ArgAction::Append)
            .help("Reports to write, each to stdout or a file: text, json, csv, html [default: text]"),
        output("save")
            .value_name("FILE")
            .value_hint(ValueHint::FilePath)
            .help("Keep every run whole in this file, so that it can be asked anew"),
    ];
    own.into_iter()
        .chain(output_options().into_iter().filter(kept))
        .collect()
}

fn long_help(option: &dialects::native::NativeOption) -> String {
    let mut text = option.help.to_owned();
    let detail = option.detail();
    if !detail.is_empty() {
        text += &format!(" {detail}");
    }
    text += &format!("\nIn a job file: {}", option.example);
    if !option.elsewhere.is_empty() {
        text += &format!("\nElsewhere: {}", option.elsewhere);
    }
    text
}

fn heading(group: Group) -> &'static str {
    group.heading()
}

pub(crate) fn output_options() -> Vec<Arg> {
    let output = |name: &'static str| Arg::new(name).long(name).help_heading("Output");
    vec![
        output("out")
            .value_name("FORMAT[=FILE],…")
            .action(ArgAction::Append)
            .help("Reports to write, each to stdout or a file: text, json, csv, html, markdown, openmetrics, ndjson, … [default: text]")
            .long_help(format!(
                "Reports to write, each to standard output or to a file of its own; the default is text.\n{}",
                outputs::explained()
            )),
        outputs::page_option(),
        output("save")
            .value_name("FILE")
            .value_hint(ValueHint::FilePath)
            .help("Keep the whole result, with its histograms and intervals, in this file"),
        output("seed")
            .value_name("NUMBER")
            .value_parser(value_parser!(u64))
            .help("Seed of all random decisions [default: 1]"),
        live(),
        output("hosts")
            .visible_alias("host")
            .value_name("HOST,…")
            .help("Carry it out on this host, or on these together, instead of here; @FILE has a line for each")
            .long_help(
                "Carry it out on another host instead of here, or on several together, and report the sum. `db1` or `user@db1` is reached by ssh, `tcp://db1:7745` is a \
                 `fathom worker --listen` there, `listen://0.0.0.0:7745*16` waits for 16 workers that connect, `local` is a process on this \
                 machine; @FILE has a line for each. In names of targets %h is the host and %r its number. See docs/fleet.md. The \
                 variable FATHOM_HOSTS does the same, in the place of fio and DiskSpd too.",
            ),
        output("metrics")
            .value_name("ADDR")
            .help("Serve the run while it goes on: a page, /metrics (OpenMetrics), /events; a port alone is this machine only")
            .long_help(
                "Serve the run while it goes on, for browsers and programs: / is a page that shows it, /metrics is OpenMetrics text, \
                 /events is the NDJSON stream as server-sent events. A port alone (9101) is one of this machine, which nobody else \
                 reaches; 0.0.0.0:9101 is every network, without a token. The server ends with the run. See docs/serve.md.",
            ),
        output("quiet")
            .short('q')
            .action(ArgAction::SetTrue)
            .help("No progress on stderr"),
        output("strict")
            .action(ArgAction::SetTrue)
            .help("Exit with 1 if there are warnings"),
        history::option(),
        commands::lint::silence().help_heading("Output"),
    ]
}

/// `--live`.
pub(crate) fn live() -> Arg {
    Arg::new("live")
        .long("live")
        .value_name("FORM")
        .value_parser(PossibleValuesParser::new(["auto", "view", "line"]))
        .hide_possible_values(true)
        .help("Progress on stderr: auto, view, line [default: auto]")
        .long_help(
            "Progress on stderr [default: auto]\n  \
             view       fills the terminal while it goes on; `q` stops and reports, as Ctrl-C does\n  \
             line       one line that is renewed; without a terminal a line every few seconds\n  \
             auto       the view on a terminal, for what takes more than 2 s; otherwise the line",
        )
        .help_heading("Output")
}

/// What the user names again.
pub(crate) fn safety_options() -> Vec<Arg> {
    let safety = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::Append)
            .value_hint(ValueHint::AnyPath)
            .help_heading("Safety")
    };
    vec![
        safety("allow-destroy")
            .value_name("DEVICE")
            .help("Everything on this device or file may be lost; also FATHOM_ALLOW_DESTROY"),
        safety("allow-overwrite")
            .value_name("FILE")
            .help("This file may be written to although fathom did not make it"),
    ]
}

fn targets() -> Command {
    Command::new("targets")
        .about("Lists disks and file systems, with what may be tested and why not")
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("One JSON document for programs"),
        )
}

fn selftest() -> Command {
    Command::new("selftest")
        .about("Measures the generator itself: the ceiling of each engine, the clock, the timer")
        .arg(
            Arg::new("folder")
                .value_name("DIRECTORY")
                .value_hint(ValueHint::DirPath)
                .help("Where the file for the engines is made, 64 MiB [default: the directory for temporary files]"),
        )
        .arg(
            Arg::new("time")
                .long("time")
                .value_name("TIME")
                .default_value("1s")
                .help("Measured window of each row"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("One JSON document for programs"),
        )
}

fn schema() -> Command {
    let explained = SCHEMAS
        .iter()
        .map(|schema| format!("{}: {}", schema.name, schema.about));
    Command::new("schema").about("Prints the JSON Schema of a format").arg(
        Arg::new("of")
            .value_name("FORMAT")
            .required(true)
            .value_parser(PossibleValuesParser::new(SCHEMAS.iter().map(|schema| schema.name)))
            .help(explained.collect::<Vec<_>>().join("; ")),
    )
}

fn man() -> Command {
    let pages = COMMANDS.map(|(name, _)| name).into_iter().filter(|name| *name != "man");
    Command::new("man").about("Prints the manual page").arg(
        Arg::new("of")
            .value_name("COMMAND")
            .value_parser(PossibleValuesParser::new(pages))
            .help("Of one command; without it, of the program"),
    )
}

fn completions() -> Command {
    Command::new("completions").about("Prints completions for a shell").arg(
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(value_parser!(clap_complete::Shell))
            .help("The shell"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_makes_a_command_line() {
        command().debug_assert();
    }

    #[test]
    fn each_command_is_found_by_its_name() {
        for (name, build) in COMMANDS {
            assert_eq!(build().get_name(), name);
        }
    }

    #[test]
    fn one_command_parses_as_all_of_them_do() {
        let check = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let whole = command().try_get_matches_from(&arguments);
            let part = command_for(&arguments).try_get_matches_from(&arguments);
            match (whole, part) {
                (Ok(whole), Ok(part)) => {
                    let words = |matches: &clap::ArgMatches| format!("{:?}", matches.subcommand());
                    assert_eq!(words(&whole), words(&part), "{line}");
                }
                (Err(whole), Err(part)) => assert_eq!(whole.to_string(), part.to_string(), "{line}"),
                (whole, part) => panic!("{line}: {whole:?}, {part:?}"),
            }
        };
        check("fathom run --target f --read 70");
        check("fathom run --nothing");
        check("fathom run --help");
        check("fathom history show 3");
        check("fathom man sweep");
        check("fathom nothing");
        check("fathom --version");
    }
}
