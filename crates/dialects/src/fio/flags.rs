//! The flags of the command line: what concerns the run as a whole and no job.

use super::show;
use super::values::{self, Unit};

/// The flags, typed, each with its default until it is given.
#[derive(Clone, Debug, PartialEq)]
pub struct Flags {
    /// The file that all output goes to, errors too.
    pub output: Option<String>,
    /// Forms of the report.
    pub formats: Formats,
    /// Version of the terse form.
    pub terse_version: u8,
    /// A log of the total bandwidth is written.
    pub bandwidth_log: Option<String>,
    /// When the status line is shown.
    pub eta: Eta,
    /// Microseconds after which the status line begins on a new line; 0 for never.
    pub eta_newline_us: u64,
    /// Microseconds between two status lines.
    pub eta_interval_us: u64,
    /// Microseconds between two cumulative reports; 0 for none.
    pub status_interval_us: u64,
    /// The only sections that are run; all if it is empty.
    pub sections: Vec<String>,
    /// Jobs that write or trim are refused.
    pub readonly: bool,
    /// Options are checked and nothing is run.
    pub parse_only: bool,
    /// Job files are printed as command lines and nothing is run.
    pub show_command: bool,
    /// A warning about a job is an error.
    pub warnings_fatal: bool,
    /// Where verify states and dumps go; the working directory if absent.
    pub aux_path: Option<String>,
    /// What to trace.
    pub debug: Vec<String>,
    /// Traces are merged and nothing is run.
    pub merge_blktrace_only: bool,
    /// How idle processors are measured.
    pub idle_profile: Option<IdleProfile>,
    /// A file whose appearance ends the jobs.
    pub trigger_file: Option<String>,
    /// Microseconds after which a trigger ends the jobs; 0 for never.
    pub trigger_timeout_us: u64,
    /// The command that a trigger runs.
    pub trigger: Option<String>,
    /// Where it listens for processes that say what to run; empty for the usual place.
    pub server: Option<String>,
    /// The file that gets the number of the process that waits in the background.
    pub daemonize: Option<String>,
}

/// Forms of the report. They are printed in the order terse, JSON, normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// For people.
    pub normal: bool,
    /// Fields between semicolons.
    pub terse: bool,
    /// JSON.
    pub json: bool,
    /// JSON with histograms.
    pub json_plus: bool,
}

/// How idleness of processors is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleProfile {
    /// Of all together.
    System,
    /// Of each as well.
    EachCpu,
}

/// Something that is done in place of jobs. The program ends with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StandaloneAction {
    /// The lines of this compressed log are printed.
    InflateLog(String),
    /// How long a unit of work takes is measured and printed.
    CalibrateIdle,
    /// The speed of checksums is measured: of those in this list, or of all.
    TestChecksums(String),
    /// The speed of ways to copy memory is measured: of those in this list, or of all.
    TestCopies(String),
    /// Whether all processors agree on the time is tested.
    TestClocks,
    /// Jobs that other processes ask for are run.
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
    /// `--debug` asks for lines of this kind.
    pub fn debugs(&self, kind: &str) -> bool {
        self.debug.iter().any(|word| word == kind)
    }
}

impl Default for Flags {
    fn default() -> Self {
        Flags {
            output: None,
            formats: Formats {
                normal: true,
                ..Formats::NONE
            },
            terse_version: 3,
            bandwidth_log: None,
            eta: Eta::Auto,
            eta_newline_us: 0,
            eta_interval_us: 1_000_000,
            status_interval_us: 0,
            sections: Vec::new(),
            readonly: false,
            parse_only: false,
            show_command: false,
            warnings_fatal: false,
            aux_path: None,
            debug: Vec::new(),
            idle_profile: None,
            merge_blktrace_only: false,
            trigger_file: None,
            trigger_timeout_us: 0,
            trigger: None,
            server: None,
            daemonize: None,
        }
    }
}

impl Formats {
    const NONE: Formats = Formats {
        normal: false,
        terse: false,
        json: false,
        json_plus: false,
    };

    /// Nothing but JSON is wanted.
    pub fn are_json_alone(&self) -> bool {
        (self.json || self.json_plus) && !self.normal && !self.terse
    }
}

/// A flag of the table.
pub struct Flag {
    /// Its name behind the dashes.
    pub name: &'static str,
    /// Whether a value follows.
    pub parameter: Parameter,
    /// What stands for the value in help texts.
    pub placeholder: &'static str,
    /// What it does.
    pub help: &'static str,
    pub(super) take: fn(&mut Flags, &str) -> Action,
}

impl Flag {
    /// How it is written, with a placeholder for its value: `--enghelp[=ENGINE[,OPTION]]`.
    pub fn usage(&self) -> String {
        let value = self.placeholder;
        let bare = value.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        match self.parameter {
            Parameter::None => format!("--{}", self.name),
            Parameter::Optional => format!("--{}[={}]", self.name, bare.unwrap_or(value)),
            Parameter::Required => format!("--{}={value}", self.name),
        }
    }
}

/// Whether a value follows a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// None does.
    None,
    /// One may follow an equals sign.
    Optional,
    /// One does, after an equals sign or as the next argument.
    Required,
}

/// What a flag leads to.
pub(super) enum Action {
    /// Nothing but what it changed.
    Go,
    /// The program continues with these lines on stderr.
    Warn(Vec<String>),
    /// The program ends with these lines on stderr.
    Refuse(Vec<String>),
    /// The program ends, since there is no such thing here.
    Unsupported,
    /// This file is opened for the output.
    Output(String),
    /// This line is printed, and the program ends.
    Print(String),
    /// The usage is printed.
    Help,
    /// An option is explained.
    OptionHelp(String),
    /// An engine is explained.
    EngineHelp(String),
    /// The program ends with this.
    StandaloneAction(StandaloneAction),
}

fn refuse(line: impl Into<String>) -> Action {
    Action::Refuse(vec![line.into()])
}

const fn flag(
    name: &'static str,
    placeholder: &'static str,
    help: &'static str,
    take: fn(&mut Flags, &str) -> Action,
) -> Flag {
    let parameter = match placeholder.as_bytes() {
        [] => Parameter::None,
        [b'[', ..] => Parameter::Optional,
        _ => Parameter::Required,
    };
    Flag {
        name,
        parameter,
        placeholder,
        help,
        take,
    }
}

const fn unsupported(name: &'static str, placeholder: &'static str, help: &'static str) -> Flag {
    flag(name, placeholder, help, |_, _| Action::Unsupported)
}

/// Sets something and continues.
macro_rules! set {
    ($flags:pat, $value:pat => $change:expr) => {
        |$flags, $value| {
            $change;
            Action::Go
        }
    };
}

/// What `--debug` of fio knows.
const DEBUG_WORDS: &[&str] = &[
    "process", "file", "io", "mem", "blktrace", "verify", "random", "parse", "diskutil", "job", "mutex", "profile",
    "time", "net", "rate", "compress", "steadystate", "helperthread", "zbd", "all",
];

/// All flags, in the order of the help.
pub const FLAGS: &[Flag] = &[
    flag(
        "output",
        "FILE",
        "Write everything to this file, messages too.",
        |_, path| Action::Output(path.to_string()),
    ),
    flag(
        "output-format",
        "LIST",
        "Forms of the report: normal, terse, json, json+.",
        |flags, list| {
            flags.formats = Formats::NONE;
            add_formats(flags, list)
        },
    ),
    flag(
        "minimal",
        "",
        "The terse form alone.",
        set!(flags, _ => {
            flags.formats = Formats { terse: true, ..Formats::NONE }
        }),
    ),
    flag(
        "append-terse",
        "",
        "The terse form as well.",
        set!(flags, _ => flags.formats.terse = true),
    ),
    flag(
        "terse-version",
        "N",
        "Version of the terse form: 2, 3, 4 or 5.",
        |flags, text| {
            match text.parse() {
                Ok(version @ 2..=5) => flags.terse_version = version,
                _ => return refuse("fio: bad terse version format"),
            }
            Action::Go
        },
    ),
    flag(
        "bandwidth-log",
        "[NAME]",
        "Write logs of the rate of all jobs together; their names begin with NAME, or agg.",
        set!(flags, name => flags.bandwidth_log = Some(match name {
            "" => "agg".into(),
            name => name.to_string(),
        })),
    ),
    flag(
        "eta",
        "WHEN",
        "Status line: always, never or auto.",
        set!(flags, word => flags.eta = match word {
            "always" => Eta::Always,
            "never" => Eta::Never,
            _ => Eta::Auto,
        }),
    ),
    flag(
        "eta-newline",
        "TIME",
        "Begin the status line anew this often (bare: seconds).",
        |flags, text| time(text, &mut flags.eta_newline_us, "eta time"),
    ),
    flag(
        "eta-interval",
        "TIME",
        "Time between two status lines, at least 250 ms (bare: seconds).",
        |flags, text| {
            let action = time(text, &mut flags.eta_interval_us, "eta interval time");
            match flags.eta_interval_us {
                0..250_000 => refuse("fio: eta interval time too small"),
                _ => action,
            }
        },
    ),
    flag(
        "status-interval",
        "TIME",
        "Print a cumulative report this often (bare: seconds).",
        |flags, text| {
            let action = time(text, &mut flags.status_interval_us, "time");
            match action {
                Action::Go if flags.status_interval_us < 1000 => refuse("fio: status interval too small"),
                action => action,
            }
        },
    ),
    flag(
        "section",
        "NAME",
        "Run this section alone; may be repeated.",
        |flags, name| {
            if name.starts_with("global") {
                return refuse("fio: can't use global as only section");
            }
            flags.sections.push(name.to_string());
            Action::Go
        },
    ),
    flag(
        "readonly",
        "",
        "Refuse to write or trim.",
        set!(flags, _ => flags.readonly = true),
    ),
    flag(
        "parse-only",
        "",
        "Check the options and run nothing.",
        set!(flags, _ => flags.parse_only = true),
    ),
    flag(
        "showcmd",
        "",
        "Print job files as command lines and run nothing.",
        set!(flags, _ => flags.show_command = true),
    ),
    flag("max-jobs", "N", "Accepted; there is no limit.", |_, _| Action::Go),
    flag("alloc-size", "KIB", "Accepted; memory is taken as needed.", |_, _| {
        Action::Go
    }),
    flag(
        "warnings-fatal",
        "",
        "Take warnings about jobs for errors.",
        set!(flags, _ => flags.warnings_fatal = true),
    ),
    flag(
        "aux-path",
        "DIR",
        "Where verify states and dumps go.",
        set!(flags, path => {
            flags.aux_path = Some(path.to_string())
        }),
    ),
    flag("cmdhelp", "[OPTION]", "Explain an option, or list all.", |_, name| {
        Action::OptionHelp(name.to_string())
    }),
    flag(
        "enghelp",
        "[ENGINE[,OPTION]]",
        "List engines, or the options of one.",
        |_, name| Action::EngineHelp(name.to_string()),
    ),
    flag("version", "", "Print the version.", |_, _| {
        Action::Print(show::VERSION.into())
    }),
    flag("help", "", "Print this.", |_, _| Action::Help),
    flag(
        "debug",
        "LIST",
        "Print what is asked for: random, the seeds of each job; parse, the threshold of steadystate. Other words print nothing.",
        |flags, list| {
            if list == "?" {
                return Action::Print(format!("fio: dumping debug options:{}", DEBUG_WORDS.join(",")));
            }
            let (known, unknown) = list
                .split(',')
                .map(str::to_string)
                .partition(|word| DEBUG_WORDS.contains(&word.as_str()));
            flags.debug = known;
            let lines = unknown
                .iter()
                .map(|word: &String| format!("fio: debug mask {word} not found"));
            Action::Warn(lines.collect())
        },
    ),
    flag(
        "idle-prof",
        "KIND",
        "Measure how idle processors are: system, percpu; or calibrate, to measure what a unit of work takes and end.",
        |flags, kind| {
            flags.idle_profile = Some(match kind {
                "system" => IdleProfile::System,
                "percpu" => IdleProfile::EachCpu,
                "calibrate" => return Action::StandaloneAction(StandaloneAction::CalibrateIdle),
                _ => return refuse(format!("fio: incorrect idle-prof option: {kind}")),
            });
            Action::Go
        },
    ),
    flag(
        "trigger-file",
        "FILE",
        "End the jobs when this file appears.",
        set!(flags, path => {
            flags.trigger_file = Some(path.to_string())
        }),
    ),
    flag(
        "trigger-timeout",
        "TIME",
        "End the jobs this long after the start of the program (bare: seconds).",
        |flags, text| time(text, &mut flags.trigger_timeout_us, "time"),
    ),
    flag(
        "trigger",
        "COMMAND",
        "Carry this out when such a trigger ends the jobs, where FATHOM_ALLOW_EXEC=1 allows it.",
        set!(flags, command => {
            flags.trigger = Some(command.to_string())
        }),
    ),
    unsupported("trigger-remote", "COMMAND", "Not supported."),
    flag("latency-log", "NAME", "Gone; logs belong to jobs.", |_, _| {
        refuse("fio: --latency-log is deprecated. Use per-job latency log options.")
    }),
    flag(
        "merge-blktrace-only",
        "",
        "Merge traces as merge_blktrace_file of the jobs says, and end.",
        set!(flags, _value => {
            flags.merge_blktrace_only = true
        }),
    ),
    flag(
        "cpuclock-test",
        "",
        "Test whether all processors agree on the time, and end.",
        |_, _| Action::StandaloneAction(StandaloneAction::TestClocks),
    ),
    flag(
        "crctest",
        "[TYPE,…]",
        "Measure how fast these checksums are, or all, and end. fio's murmur3, jhash and fnv are not among them.",
        |_, types| Action::StandaloneAction(StandaloneAction::TestChecksums(types.to_string())),
    ),
    flag(
        "memcpytest",
        "[TYPE,…]",
        "Measure how fast these ways to copy memory are, or all, and end.",
        |_, types| Action::StandaloneAction(StandaloneAction::TestCopies(types.to_string())),
    ),
    flag(
        "inflate-log",
        "LOG",
        "Print a log that log_store_compressed has compressed, and end.",
        |_, path| Action::StandaloneAction(StandaloneAction::InflateLog(path.to_string())),
    ),
    flag(
        "server",
        "[ADDRESS]",
        "Carry out what `--client` of another fathom asks for: HOST,PORT; ip:, ip6:, sock:PATH; usually port 8765.",
        set!(flags, address => {
            flags.server = Some(address.to_string())
        }),
    ),
    flag(
        "daemonize",
        "FILE",
        "With --server: go on in the background, with the number of the process in this file.",
        set!(flags, path => {
            flags.daemonize = Some(path.to_string())
        }),
    ),
    flag(
        "client",
        "HOST",
        "Carry the jobs that follow out on this host, or on those of a file; may be repeated.",
        |_, _| refuse("fio: --client runs jobs on other hosts, and nothing runs here"),
    ),
    unsupported("remote-config", "FILE", "Not supported."),
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
    Action::Go
}

fn time(text: &str, to: &mut u64, what: &str) -> Action {
    match values::number(text, Unit::Seconds, 1024) {
        Some(number) => {
            *to = number.raw;
            Action::Go
        }
        None => refuse(format!("fio: failed parsing {what} {text}")),
    }
}
