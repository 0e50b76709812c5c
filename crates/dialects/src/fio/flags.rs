//! The flags of the command line, which apply to the whole run.

use super::help;
use super::values::{self, Unit};

with_defaults! {
    /// The flags, typed, with their defaults.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Flags {
        /// The file for all output, including errors.
        pub output: Option<String>,
        /// Report formats.
        pub formats: Formats = Formats { normal: true, ..Formats::NONE },
        /// Version of the terse format.
        pub terse_version: u8 = 3,
        /// The name of the log of total bandwidth.
        pub bandwidth_log: Option<String>,
        /// Whether the status line is shown.
        pub eta: Eta = Eta::Auto,
        /// Microseconds between new lines of the status output; 0 for never.
        pub eta_newline_us: u64,
        /// Microseconds between two status lines.
        pub eta_interval_us: u64 = 1_000_000,
        /// Microseconds between two cumulative reports; 0 for none.
        pub status_interval_us: u64,
        /// The sections to run; all if empty.
        pub sections: Vec<String>,
        /// Jobs that write or trim are refused.
        pub readonly: bool,
        /// Checks the options, and runs nothing.
        pub parse_only: bool,
        /// Prints job files as command lines, and runs nothing.
        pub show_command: bool,
        /// A warning about a job is an error.
        pub warnings_fatal: bool,
        /// Where verify states and dumps go; the working directory if absent.
        pub aux_path: Option<String>,
        /// Classes of debug messages to print.
        pub debug: Vec<String>,
        /// Merges traces, and runs nothing.
        pub merge_blktrace_only: bool,
        /// How idle processors are measured.
        pub idle_profile: Option<IdleProfile>,
        /// A file whose appearance ends the jobs.
        pub trigger_file: Option<String>,
        /// Microseconds until the trigger ends the jobs; 0 for never.
        pub trigger_timeout_us: u64,
        /// The command that a trigger runs.
        pub trigger: Option<String>,
        /// The address on which to listen for clients; empty for the default.
        pub server: Option<String>,
        /// The file for the process id of the background server.
        pub daemonize: Option<String>,
    }
}

/// Formats of the report, printed in the order terse, JSON, normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// The normal report.
    pub normal: bool,
    /// Fields separated by semicolons.
    pub terse: bool,
    /// JSON.
    pub json: bool,
    /// JSON with histograms.
    pub json_plus: bool,
}

/// How the idleness of processors is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleProfile {
    /// For all processors together.
    System,
    /// For each processor as well.
    EachCpu,
}

/// An action instead of running jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StandaloneAction {
    /// Print the lines of this compressed log.
    InflateLog(String),
    /// Measure and print the time of a unit of work.
    CalibrateIdle,
    /// Measure the speed of the listed checksums, or of all.
    TestChecksums(String),
    /// Measure the speed of the listed ways to copy memory, or of all.
    TestCopies(String),
    /// Test whether the clocks of all processors agree.
    TestClocks,
    /// Run jobs for clients.
    Serve,
}

/// When the status line is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Flags {
    /// True if `--debug` enables messages of this class.
    pub fn is_debug_enabled(&self, kind: &str) -> bool {
        self.debug.iter().any(|class| class == kind)
    }
}

impl Formats {
    const NONE: Formats = Formats {
        normal: false,
        terse: false,
        json: false,
        json_plus: false,
    };

    /// Whether JSON is the only format.
    pub fn is_json_only(&self) -> bool {
        (self.json || self.json_plus) && !self.normal && !self.terse
    }
}

/// A flag of the table.
pub struct Flag {
    /// Name without dashes.
    pub name: &'static str,
    /// Whether it has a value.
    pub parameter: Parameter,
    /// The placeholder of the value in help texts.
    pub placeholder: &'static str,
    /// One sentence for the help.
    pub help: &'static str,
    pub(super) apply: fn(&mut Flags, &str) -> Action,
}

impl Flag {
    const fn help(mut self, help: &'static str) -> Flag {
        self.help = help;
        self
    }

    const fn apply(mut self, apply: fn(&mut Flags, &str) -> Action) -> Flag {
        self.apply = apply;
        self
    }

    /// How it is written, with a placeholder for its value: `--enghelp[=ENGINE[,OPTION]]`.
    pub fn usage(&self) -> String {
        let placeholder = self.placeholder;
        let bare = placeholder.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        match self.parameter {
            Parameter::None => format!("--{}", self.name),
            Parameter::Optional => format!("--{}[={}]", self.name, bare.unwrap_or(placeholder)),
            Parameter::Required => format!("--{}={placeholder}", self.name),
        }
    }
}

/// Whether a flag has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// It has no value.
    None,
    /// It may have one after an equals sign.
    Optional,
    /// It has one, after an equals sign or as the next argument.
    Required,
}

/// The effect of a flag on parsing.
pub(super) enum Action {
    /// Parsing continues.
    Continue,
    /// Parsing continues after these lines on stderr.
    Warn(Vec<String>),
    /// The program ends with these lines on stderr.
    Refuse(Vec<String>),
    /// The program ends, since the flag is not supported.
    Unsupported,
    /// Output goes to this file.
    Output(String),
    /// This line is printed, and the program ends.
    Print(String),
    /// The usage is printed.
    Help,
    /// An option is explained.
    OptionHelp(String),
    /// An engine is explained.
    EngineHelp(String),
    /// The program performs this action and ends.
    StandaloneAction(StandaloneAction),
}

fn refuse(line: impl Into<String>) -> Action {
    Action::Refuse(vec![line.into()])
}

/// Builds a flag that is accepted and has no effect until `apply` gives it one.
const fn flag(name: &'static str, placeholder: &'static str) -> Flag {
    let parameter = match placeholder.as_bytes() {
        [] => Parameter::None,
        [b'[', ..] => Parameter::Optional,
        _ => Parameter::Required,
    };
    Flag {
        name,
        parameter,
        placeholder,
        help: "",
        apply: |_, _| Action::Continue,
    }
}

const fn unsupported(name: &'static str, placeholder: &'static str) -> Flag {
    flag(name, placeholder)
        .help("Not supported.")
        .apply(|_, _| Action::Unsupported)
}

/// A flag that sets fields and continues.
macro_rules! set {
    ($flags:pat, $value:pat => $change:expr) => {
        |$flags, $value| {
            $change;
            Action::Continue
        }
    };
}

/// The classes of fio's `--debug`.
const DEBUG_CLASSES: &[&str] = &[
    "process", "file", "io", "mem", "blktrace", "verify", "random", "parse", "diskutil", "job", "mutex", "profile",
    "time", "net", "rate", "compress", "steadystate", "helperthread", "zbd", "all",
];

/// All flags, in the order of the help.
pub const FLAGS: &[Flag] = &[
    flag("output", "FILE")
        .help("Write all output, including messages, to this file.")
        .apply(|_, path| Action::Output(path.to_string())),
    flag("output-format", "LIST")
        .help("Report formats: normal, terse, json, json+.")
        .apply(|flags, list| {
            flags.formats = Formats::NONE;
            add_formats(flags, list)
        }),
    flag("minimal", "")
        .help("Use only the terse format.")
        .apply(set!(flags, _ => flags.formats = Formats { terse: true, ..Formats::NONE })),
    flag("append-terse", "")
        .help("Add the terse format.")
        .apply(set!(flags, _ => flags.formats.terse = true)),
    flag("terse-version", "N")
        .help("Version of the terse format: 2, 3, 4 or 5.")
        .apply(|flags, text| {
            match text.parse() {
                Ok(version @ 2..=5) => flags.terse_version = version,
                _ => return refuse("fio: bad terse version format"),
            }
            Action::Continue
        }),
    flag("bandwidth-log", "[NAME]")
        .help("Log the total bandwidth of all jobs; file names begin with NAME (default: agg).")
        .apply(set!(flags, name => flags.bandwidth_log = Some(match name {
            "" => "agg".into(),
            name => name.to_string(),
        }))),
    flag("eta", "WHEN")
        .help("Status line: always, never or auto.")
        .apply(set!(flags, word => flags.eta = match word {
            "always" => Eta::Always,
            "never" => Eta::Never,
            _ => Eta::Auto,
        })),
    flag("eta-newline", "TIME")
        .help("Start a new status line at this interval (default unit: seconds).")
        .apply(|flags, text| set_time(text, &mut flags.eta_newline_us, "eta time")),
    flag("eta-interval", "TIME")
        .help("Update interval of the status line, at least 250 ms (default unit: seconds).")
        .apply(|flags, text| {
            let action = set_time(text, &mut flags.eta_interval_us, "eta interval time");
            match flags.eta_interval_us {
                0..250_000 => refuse("fio: eta interval time too small"),
                _ => action,
            }
        }),
    flag("status-interval", "TIME")
        .help("Interval of cumulative reports (default unit: seconds).")
        .apply(|flags, text| {
            let action = set_time(text, &mut flags.status_interval_us, "time");
            match action {
                Action::Continue if flags.status_interval_us < 1000 => refuse("fio: status interval too small"),
                action => action,
            }
        }),
    flag("section", "NAME")
        .help("Run only this section; may be repeated.")
        .apply(|flags, name| {
            if name.starts_with("global") {
                return refuse("fio: can't use global as only section");
            }
            flags.sections.push(name.to_string());
            Action::Continue
        }),
    flag("readonly", "")
        .help("Refuse to write or trim.")
        .apply(set!(flags, _ => flags.readonly = true)),
    flag("parse-only", "")
        .help("Check the options, and run nothing.")
        .apply(set!(flags, _ => flags.parse_only = true)),
    flag("showcmd", "")
        .help("Print job files as command lines, and run nothing.")
        .apply(set!(flags, _ => flags.show_command = true)),
    flag("max-jobs", "N").help("Accepted; there is no limit."),
    flag("alloc-size", "KIB").help("Accepted; memory is allocated as needed."),
    flag("warnings-fatal", "")
        .help("Treat warnings about jobs as errors.")
        .apply(set!(flags, _ => flags.warnings_fatal = true)),
    flag("aux-path", "DIR")
        .help("Directory for verify states and dumps.")
        .apply(set!(flags, path => flags.aux_path = Some(path.to_string()))),
    flag("cmdhelp", "[OPTION]")
        .help("Explain an option, or list all.")
        .apply(|_, name| Action::OptionHelp(name.to_string())),
    flag("enghelp", "[ENGINE[,OPTION]]")
        .help("List engines, or the options of one.")
        .apply(|_, name| Action::EngineHelp(name.to_string())),
    flag("version", "")
        .help("Print the version.")
        .apply(|_, _| Action::Print(help::VERSION.into())),
    flag("help", "").help("Print this.").apply(|_, _| Action::Help),
    flag("debug", "LIST")
        .help(
            "Print debug output: random prints the seeds of each job; parse prints the threshold of \
            steadystate. Other classes are accepted and print nothing.",
        )
        .apply(|flags, list| {
            if list == "?" {
                return Action::Print(format!("fio: dumping debug options:{}", DEBUG_CLASSES.join(",")));
            }
            let (classes, unknown) = list
                .split(',')
                .map(str::to_string)
                .partition(|word| DEBUG_CLASSES.contains(&word.as_str()));
            flags.debug = classes;
            let lines = unknown
                .iter()
                .map(|word: &String| format!("fio: debug mask {word} not found"));
            Action::Warn(lines.collect())
        }),
    flag("idle-prof", "KIND")
        .help(
            "Measure the idleness of processors: system or percpu; calibrate measures the time of a \
            unit of work, then exits.",
        )
        .apply(|flags, kind| {
            flags.idle_profile = Some(match kind {
                "system" => IdleProfile::System,
                "percpu" => IdleProfile::EachCpu,
                "calibrate" => return Action::StandaloneAction(StandaloneAction::CalibrateIdle),
                _ => return refuse(format!("fio: incorrect idle-prof option: {kind}")),
            });
            Action::Continue
        }),
    flag("trigger-file", "FILE")
        .help("End the jobs when this file appears.")
        .apply(set!(flags, path => flags.trigger_file = Some(path.to_string()))),
    flag("trigger-timeout", "TIME")
        .help("End the jobs after this time (default unit: seconds).")
        .apply(|flags, text| set_time(text, &mut flags.trigger_timeout_us, "time")),
    flag("trigger", "COMMAND")
        .help("Run this command when a trigger ends the jobs; needs FATHOM_ALLOW_EXEC=1.")
        .apply(set!(flags, command => flags.trigger = Some(command.to_string()))),
    unsupported("trigger-remote", "COMMAND"),
    flag("latency-log", "NAME")
        .help("Removed from fio; use the log options of a job.")
        .apply(|_, _| refuse("fio: --latency-log is deprecated. Use per-job latency log options.")),
    flag("merge-blktrace-only", "")
        .help("Merge the traces of merge_blktrace_file, then exit.")
        .apply(set!(flags, _value => flags.merge_blktrace_only = true)),
    flag("cpuclock-test", "")
        .help("Test whether the clocks of all processors agree, then exit.")
        .apply(|_, _| Action::StandaloneAction(StandaloneAction::TestClocks)),
    flag("crctest", "[TYPE,…]")
        .help(
            "Measure the speed of these checksums, or of all, then exit. fio's murmur3, jhash and \
            fnv are not supported.",
        )
        .apply(|_, types| Action::StandaloneAction(StandaloneAction::TestChecksums(types.to_string()))),
    flag("memcpytest", "[TYPE,…]")
        .help("Measure the speed of these memory copy methods, or of all, then exit.")
        .apply(|_, types| Action::StandaloneAction(StandaloneAction::TestCopies(types.to_string()))),
    flag("inflate-log", "LOG")
        .help("Print a log that log_store_compressed has compressed, then exit.")
        .apply(|_, path| Action::StandaloneAction(StandaloneAction::InflateLog(path.to_string()))),
    flag("server", "[ADDRESS]")
        .help("Listen for fathom clients (--client) on HOST,PORT, ip:…, ip6:… or sock:PATH (default port: 8765).")
        .apply(set!(flags, address => flags.server = Some(address.to_string()))),
    flag("daemonize", "FILE")
        .help("With --server: run in the background, and write the process id to this file.")
        .apply(set!(flags, path => flags.daemonize = Some(path.to_string()))),
    flag("client", "HOST")
        .help("Run the following jobs on this host, or on the hosts in a file; may be repeated.")
        .apply(|_, _| refuse("fio: --client is not supported here: it runs jobs on other hosts")),
    unsupported("remote-config", "FILE"),
];

fn add_formats(flags: &mut Flags, list: &str) -> Action {
    for word in list.split(',') {
        match word {
            "normal" => flags.formats.normal = true,
            "terse" | "minimal" | "csv" => flags.formats.terse = true,
            "json" => flags.formats.json = true,
            "json+" => {
                flags.formats.json = true;
                flags.formats.json_plus = true;
            }
            _ => {
                return Action::Refuse(vec![
                    format!("fio: invalid output format {word}"),
                    "fio: failed parsing output-format".into(),
                ]);
            }
        }
    }
    Action::Continue
}

fn set_time(text: &str, field: &mut u64, name: &str) -> Action {
    match values::parse_number(text, Unit::Seconds, 1024) {
        Some(number) => {
            *field = number.raw;
            Action::Continue
        }
        None => refuse(format!("fio: failed parsing {name} {text}")),
    }
}
