//! Reads a test from a dialect command line, a file or a saved result.

use std::io;
use std::path::Path;

use dialects::diskspd::text::TextVersion;
use dialects::diskspd::{self, ParseEnv, ParseOutcome, Request, xml};
use dialects::{iometer, native};
use model::finding::{Finding, Severity};
use model::plan::Plan;
use study::diagnosis::KnownLimits;

use super::fio_plan::fio_plan;
use super::{results, run};
use crate::catalogue::CatalogueArgs;
use crate::command_line;
use crate::drop_in::{self, diskspd::local_env::LocalEnv, vdbench::Translation};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::history;
use crate::limits;
use crate::session::Session;
use crate::user_file;

/// The arguments of [`read`].
#[derive(clap::Args)]
pub struct SourceArgs {
    /// A dialect (`fio`, `diskspd`, …) with arguments, or one file
    #[arg(value_name = "SOURCE", required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub source: Vec<String>,
}

/// Help about targets of Iometer that are not here.
pub const MAP_HELP: &str =
    "map it to a path here, and set its size: `fathom lint iometer FILE --map \"NAME=PATH\" --size SIZE`";

/// A test, with the settings that the plan could not represent.
pub struct Source {
    pub plan: Plan,
    /// Settings that the translation lost.
    pub lost: Vec<String>,
    /// Settings that differ.
    pub differs: Vec<String>,
    /// Jobs whose depth above 1 is capped by their engine, with that depth.
    pub capped_depths: Vec<(String, u32)>,
    /// Findings about the source that the plan does not show, for `lint`.
    pub findings: Vec<Finding>,
    /// Limits of flags of `fathom run`, for `lint`.
    pub known: KnownLimits,
}

impl Source {
    /// Refuses a source whose targets are not here: a test would create files with their names.
    /// `verb` is what the caller does with targets.
    ///
    /// # Errors
    /// A fault for each such target.
    pub fn refuse_missing(&self, verb: &str, help: &str) -> Result<(), Faults> {
        let errors = self
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        let missing = errors.filter_map(|finding| Some((finding.at.as_ref()?, &finding.what)));
        let faults: Vec<Fault> = missing
            .map(|(target, what)| Fault::new(format!("cannot {verb} {target}: {what}")).help(help))
            .collect();
        match faults.is_empty() {
            true => Ok(()),
            false => Err(Faults::many(faults, Exit::Usage)),
        }
    }
}

impl From<Plan> for Source {
    fn from(plan: Plan) -> Source {
        Source {
            plan,
            lost: Vec::new(),
            differs: Vec::new(),
            capped_depths: Vec::new(),
            findings: Vec::new(),
            known: KnownLimits::default(),
        }
    }
}

/// Reads a dialect's name with its arguments, or one file. Flags without a name are those of
/// `fathom run`.
///
/// # Errors
/// Every fault of the source.
pub fn read(session: &Session, words: &[String]) -> Result<Source, Faults> {
    let (first, rest) = words.split_first().expect("clap asks for a source");
    match (first.as_str(), rest) {
        ("diskspd", line) => read_diskspd(line),
        ("native", flags) => read_flags(session, flags),
        ("fio", line) => fio_plan(line),
        ("iometer", line) => read_iometer(line),
        ("vdbench", line) => read_vdbench(line),
        // A file or dialect must come before its options.
        (flag, _) if flag.starts_with("--") => read_flags(session, words),
        (file, []) => read_file(file),
        (_, [second, ..]) => {
            let fault = Fault::new(format!("cannot read `{first}` and `{second}` together"));
            let help = match second.starts_with("--") {
                true => "write options before the file: `fathom lint OPTIONS FILE`",
                false => {
                    "name one file, or start a command line with its dialect: `diskspd -b8K …`, `fio --rw=randread …`"
                }
            };
            Err(fault.into_usage(help))
        }
    }
}

/// Reads a job file of another tool. `iometer` are switches for a configuration of Iometer, such as
/// `--map` with a target of the file and its path here.
///
/// # Errors
/// Every fault of the file, and a switch for another kind of file.
pub fn read_job_file(session: &Session, file: &str, iometer: &[&str]) -> Result<Source, Faults> {
    refuse_switches(Some(file), iometer)?;
    let words: Vec<String> = std::iter::once(&file)
        .chain(iometer)
        .map(|word| (*word).to_owned())
        .collect();
    match iometer.is_empty() {
        true => read(session, &words),
        false => read_iometer(&words),
    }
}

/// Refuses switches for a configuration of Iometer if the file is none.
///
/// # Errors
/// The first switch.
pub fn refuse_switches(file: Option<&str>, iometer: &[&str]) -> Result<(), Faults> {
    match iometer.first() {
        Some(switch) if file.and_then(run::detect_extension) != Some("icf") => {
            let fault = Fault::new(format!("cannot use {switch}: no Iometer configuration is named"));
            Err(fault.into_usage("name paths of this machine as targets"))
        }
        _ => Ok(()),
    }
}

fn read_flags(session: &Session, flags: &[String]) -> Result<Source, Faults> {
    let args = run::parse(flags).map_err(|error| {
        Faults::usage(command_line::fault_from_clap(&error).help("`fathom run --help` lists the flags"))
    })?;
    Ok(Source {
        known: limits::from_args(&args.limits, &CatalogueArgs::default())?,
        ..Source::from(native::lower(&run::build_document(session, &args)?)?)
    })
}

/// Reads a file by its extension or content: a profile, a job file, or else a saved result.
fn read_file(file: &str) -> Result<Source, Faults> {
    let path = Path::new(file);
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let unreadable = |error: io::Error| Faults::unreadable(path, &error);
    if !history::is_entry(file) && file != results::STDIN {
        user_file::open(path).map_err(unreadable)?;
    }
    match run::detect_extension(file).or(extension.as_deref()) {
        Some("toml") => {
            let document = native::read_job_file(
                file,
                &user_file::read_text(path, user_file::MAX_TEXT).map_err(unreadable)?,
            )?;
            Ok(native::lower(&document)?.into())
        }
        Some("xml") => {
            let text = LocalEnv::default().read_profile(file);
            let text = text.map_err(|why| Faults::usage(Fault::new(format!("cannot read {file}: {why}"))))?;
            let profile = xml::read(&text).map_err(|error| dialect_faults(&error.lines(), &[]))?;
            lower_profile(&profile)
        }
        Some("icf") => read_iometer(&[file.to_owned()]),
        Some("fio" | "ini" | "job") => fio_plan(&[file.to_owned()]),
        Some("parm") => read_vdbench(&["-f".to_owned(), file.to_owned()]),
        _ if history::is_entry(file) => Ok(results::load_results(file)?.plan.into()),
        _ => match results::load_results(file) {
            Ok(results) => Ok(results.plan.into()),
            Err(faults) => {
                let help = "a source is a job file (.toml, or of fio, DiskSpd, Vdbench or Iometer), a saved result, \
                    or a dialect with its arguments";
                Err(Fault::new(faults.first()).into_usage(help))
            }
        },
    }
}

fn read_iometer(line: &[String]) -> Result<Source, Faults> {
    let iometer::Lowered {
        plan,
        notes,
        unmapped,
        unused_maps,
    } = drop_in::iometer::build_plan(line)?;
    let unused = |note: &String| Finding::new("OPTION-EFFECT", Severity::Note, note);
    let finding = |name: &String| {
        let finding = Finding::new("TARGET", Severity::Error, "this machine has no such target").at(name);
        finding.why("the test would be refused").help(MAP_HELP)
    };
    Ok(Source {
        findings: { unmapped.iter().map(finding) }
            .chain(unused_maps.iter().map(unused))
            .collect(),
        differs: { notes.into_iter() }
            .chain(unmapped.iter().map(|name| {
                format!("{name} is no target of this machine: `fathom iometer --map \"NAME=PATH\"` names its path")
            }))
            .chain(unused_maps)
            .map(|note| format!("Iometer: {note}"))
            .collect(),
        ..Source::from(plan)
    })
}

/// Reads parameter files: each run becomes a step.
fn read_vdbench(line: &[String]) -> Result<Source, Faults> {
    let Translation { plan, omitted, notes } = drop_in::vdbench::build_plan(line)?;
    let lost: Vec<String> = omitted.iter().map(|what| format!("Vdbench {what}")).collect();
    let finding = |what: &String| Finding::new("OMITTED", Severity::Note, format!("the plan omits {what}"));
    let unused = |note: &String| Finding::new("OPTION-EFFECT", Severity::Note, note);
    Ok(Source {
        findings: { lost.iter().map(finding) }.chain(notes.iter().map(unused)).collect(),
        differs: notes.iter().map(|note| format!("Vdbench: {note}")).collect(),
        lost,
        ..Source::from(plan)
    })
}

fn read_diskspd(line: &[String]) -> Result<Source, Faults> {
    if let Some(profile) = line.iter().find_map(|word| word.strip_prefix("-X")) {
        user_file::open(Path::new(profile)).map_err(|error| Faults::unreadable(Path::new(profile), &error))?;
    }
    let mut env = LocalEnv::without_events();
    let request = match diskspd::read("diskspd", line, &mut env) {
        ParseOutcome::Run(request) | ParseOutcome::Print(request) => request,
        ParseOutcome::End(end) if end.stderr.is_empty() => {
            let fault = Fault::new("the DiskSpd command line names no target");
            return Err(fault.into_usage("name a target after the switches: `diskspd -b8K -d10 -c1G test.dat`"));
        }
        ParseOutcome::End(end) => return Err(dialect_faults(&end.stderr, &[end.notes, end.hints].concat())),
    };
    let Request {
        profile,
        events,
        stderr: warnings,
        notes,
    } = request;
    let mut source = lower_profile(&profile)?;
    let named = [
        ("-ys", &events.start),
        ("-yf", &events.finish),
        ("-yr", &events.wait),
        ("-yp", &events.stop),
    ];
    for (switch, event) in named {
        if let Some(name) = event {
            source.lost.push(format!(
                "DiskSpd {switch}: the event `{name}`; no other dialect has events"
            ));
        }
    }
    source
        .differs
        .extend(notes.iter().map(|note| format!("DiskSpd: {note}")));
    let typo = |note: &String| Finding::new("OPTION-TYPO", Severity::Note, note);
    source.findings.extend(notes.iter().map(typo));
    let warning =
        |text: &String| Finding::new("OPTION-EFFECT", Severity::Warning, text.trim_start_matches("WARNING: "));
    source.findings.extend(warnings.iter().map(warning));
    Ok(source)
}

fn lower_profile(profile: &diskspd::Profile) -> Result<Source, Faults> {
    let cpus = engine::sys::thread::usable_cpus();
    let env = diskspd::LowerEnv {
        cpus: &cpus,
        arguments: &[],
        form: TextVersion::V2_2,
        windows: cfg!(windows),
        ..diskspd::LowerEnv::default()
    };
    let lowered = diskspd::lower(profile, env)?;
    let note = |text: &String| Finding::new("OPTION-EFFECT", Severity::Note, text);
    let unmeasured = { profile.time_spans.iter() }.all(|span| !span.latency).then(|| {
        Finding::new("NO-LATENCY", Severity::Note, "DiskSpd reports no latency without `-L`")
            .help("add `-L`; fathom's own reports have it in any case")
    });
    Ok(Source {
        differs: lowered.notes.iter().map(|note| format!("DiskSpd {note}")).collect(),
        findings: { lowered.notes.iter().map(note) }.chain(unmeasured).collect(),
        ..Source::from(lowered.plan)
    })
}

/// Converts DiskSpd's messages, and fathom's hints about them, to faults.
fn dialect_faults(lines: &[String], hints: &[String]) -> Faults {
    let fault = |line: &&String| Fault::new(line.trim_start_matches("ERROR: "));
    let errors = lines.iter().filter(|line| !line.starts_with("WARNING: "));
    let mut list: Vec<Fault> = errors.map(|line| fault(&line)).collect();
    if let Some(last) = list.last_mut().filter(|_| !hints.is_empty()) {
        last.help = Some(hints.join("; "));
    }
    Faults::many(list, Exit::Usage)
}
