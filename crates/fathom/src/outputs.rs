//! Writes results in any number of formats, each to stdout or a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use archive::history::{EntryKind, Subject};
use archive::serve::{AuthGuard, LiveServer, MAX_CONNECTIONS};
use clap::ValueHint;
use engine::Identity;
use engine::sys::descriptors::free_descriptors;
use engine::sys::facts::read_identity;
use engine::sys::file::open_to_write;
use model::event::Event;
use model::finding::Severity;
use model::plan::{Plan, Target};
use model::results::Results;
use model::visible_report;
use report::html::{self, page};
use report::live::Metrics;
use report::{FORMATS, Format, charts, formats, stream, words};
use run::descriptors_needed;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::history;
use crate::named_files::is_same_file;
use crate::options::MeasureArgs;
use crate::running::{self, Notice};
use crate::silenced::SilenceArgs;
use crate::{address, own_files, pages, screen, terminal};

/// Name of the format that streams events.
const STREAM: &str = "ndjson";
/// Name of the format of the page for browsers.
pub const PAGE: &str = "html";

/// Options that choose reports, each to stdout or a file.
#[derive(clap::Args)]
pub struct OutputSpec {
    /// Reports to write, each to stdout or a file: text, json, csv, html [default: text]
    #[arg(long, value_name = "FORMAT[=FILE],…", help_heading = "Output")]
    pub out: Vec<String>,
    /// Write an HTML page with charts, readable offline
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub report: Option<PathBuf>,
}

impl OutputSpec {
    /// Lists the formats with their files, as written on the command line.
    pub fn forms(&self) -> impl Iterator<Item = &str> {
        let forms = self.out.iter().flat_map(|text| text.split(','));
        forms.filter(|form| !form.is_empty())
    }
}

/// The option for charts in the text report.
#[derive(Clone, Copy, clap::Args)]
pub struct ChartsArg {
    /// Add charts of rate and latency to the text
    #[arg(long, help_heading = "Output")]
    pub charts: bool,
}

/// Options of commands that run one test and report it.
#[derive(clap::Args)]
#[command(mut_arg("out", |arg| arg.help(
    "Reports to write, each to stdout or a file: text, json, csv, html, markdown, openmetrics, ndjson, … [default: text]"
).long_help(out_help(""))))]
pub struct OutputArgs {
    #[command(flatten)]
    spec: OutputSpec,
    #[command(flatten)]
    charts: ChartsArg,
    /// Save the whole result, with histograms and intervals
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub save: Option<PathBuf>,
    /// Serve the live run over HTTP: a page, /metrics, /events
    #[arg(
        long,
        value_name = "ADDR",
        help_heading = "Output",
        long_help = "Serve the live run over HTTP: / is a live page, /metrics is OpenMetrics text, \
            /events is the NDJSON stream as server-sent events. A port alone (9101) listens on \
            loopback, which other hosts cannot reach; 0.0.0.0:9101 listens on every network, \
            without a token. The server ends with the run. See docs/serve.md."
    )]
    metrics: Option<String>,
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Exit with 1 if there are warnings
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
    #[command(flatten, next_help_heading = "Output")]
    pub silence: SilenceArgs,
}

impl OutputArgs {
    pub fn record(&self, kind: EntryKind, results: &Results, verdict: Option<&str>) {
        let subject = Subject::Run(results);
        history::record(&self.measure, self.save.as_ref(), kind, subject, None, verdict);
    }
}

/// Formats the help of `--out` with all formats, followed by `end`.
pub fn out_help(end: &str) -> String {
    let formats = list_formats();
    format!("Reports to write, each to standard output or to a file; the default is text.\n{formats}{end}")
}

/// A report and its destination.
#[derive(Debug)]
struct Output {
    what: OutputKind,
    /// File to write; `None` is stdout.
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
enum OutputKind {
    /// A report of finished results.
    Report(&'static Format),
    /// An HTML page of finished results and further facts.
    Page,
    /// A line for each event, live.
    Stream,
}

impl Output {
    fn is_text(&self) -> bool {
        matches!(self.what, OutputKind::Report(format) if format.name == FORMATS[0].name)
    }

    /// True for a text report on standard output.
    fn is_read_by_people(&self) -> bool {
        let for_people = matches!(self.what, OutputKind::Report(format) if ["text", "markdown"].contains(&format.name));
        for_people && self.file.is_none()
    }
}

#[derive(Debug)]
pub struct Outputs {
    list: Vec<Output>,
    save: Option<PathBuf>,
    charts: bool,
    streams: Vec<Sink>,
    metrics: Option<String>,
    /// Lists this run for `fathom serve`.
    announcement: Option<Notice>,
    live_server: Option<LiveServer>,
}

/// An open stream.
#[derive(Debug)]
enum Sink {
    Stdout,
    File(File, PathBuf),
    /// A write failed, which was reported.
    Closed,
}

impl Outputs {
    /// Reads `--out` and `--save`. Checks before the run that every file can be written, and that
    /// none is a target of the plan.
    ///
    /// # Errors
    /// [`Faults`] about each wrong option or unusable file.
    pub fn from_args(args: &OutputArgs, plan: &Plan) -> Result<Outputs, Faults> {
        Outputs::parse(args)?.open(plan)
    }

    /// Checks the files, and opens streams and the server.
    ///
    /// # Errors
    /// [`Faults`] about each wrong option or unusable file.
    pub fn open(mut self, plan: &Plan) -> Result<Outputs, Faults> {
        check_not_target(self.files(), &plan.targets)?;
        check_writable(self.files())?;
        self.open_streams()?;
        self.open_server(plan)?;
        Ok(self)
    }

    /// Reads `--out` and `--save`, and opens nothing.
    ///
    /// # Errors
    /// [`Faults`] about each wrong option or unusable file.
    pub fn parse(args: &OutputArgs) -> Result<Outputs, Faults> {
        Outputs::new(&args.spec, args.charts, args.save.clone(), args.metrics.clone())
    }

    /// Reads the outputs from the single options.
    ///
    /// # Errors
    /// [`Faults`] about each wrong option or unusable file.
    pub fn new(
        spec: &OutputSpec,
        ChartsArg { charts }: ChartsArg,
        save: Option<PathBuf>,
        metrics: Option<String>,
    ) -> Result<Outputs, Faults> {
        let parsed = spec.forms().map(parse);
        let mut list = parsed.collect::<Result<Vec<_>, _>>().map_err(Faults::usage)?;
        if list.is_empty() {
            list.push(Output {
                what: OutputKind::Report(&FORMATS[0]),
                file: None,
            });
        }
        list.extend(spec.report.clone().map(|file| Output {
            what: OutputKind::Page,
            file: Some(file),
        }));
        if list.iter().filter(|output| output.file.is_none()).count() > 1 {
            let fault = Fault::new("only one output can go to standard output");
            return Err(fault
                .at("--out")
                .into_usage("write the others to files: --out text,json=result.json"));
        }
        if charts && !list.iter().any(Output::is_text) {
            let fault = Fault::new("charts need the text report, which --out does not include").at("--charts");
            return Err(fault.into_usage("add it: --out text,json=result.json"));
        }
        Ok(Outputs {
            list,
            save,
            charts,
            streams: Vec::new(),
            metrics,
            announcement: None,
            live_server: None,
        })
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let files = self.list.iter().filter_map(|output| output.file.as_deref());
        files.chain(self.save.as_deref())
    }

    fn open_streams(&mut self) -> Result<(), Faults> {
        for output in self
            .list
            .iter()
            .filter(|output| matches!(output.what, OutputKind::Stream))
        {
            self.streams.push(match &output.file {
                None => Sink::Stdout,
                Some(path) => {
                    let failed = |error| Faults::refused(Fault::for_file("write", path, &error));
                    let mut options = File::options();
                    options.write(true).create(true).truncate(true);
                    Sink::File(open_to_write(&mut options, path, true).map_err(failed)?, path.clone())
                }
            });
        }
        Ok(())
    }

    /// Starts the server of `--metrics` before the measurement, because its address might be in
    /// use.
    fn open_server(&mut self, plan: &Plan) -> Result<(), Faults> {
        const OPTION: &str = "--metrics";
        let Some(text) = &self.metrics else { return Ok(()) };
        let (listener, bound) = address::bind(OPTION, address::parse(OPTION, text)?)?;
        let metrics = Metrics::new(&plan.name, env!("CARGO_PKG_VERSION"));
        let (title, about) = (words::title(plan), words::plan(plan));
        let guard = AuthGuard::new(bound, None);
        let server = LiveServer::start(listener, max_connections(plan), guard, metrics, &title, &about);
        let failed = |error| Faults::refused(Fault::new(format!("cannot start the server: {error}")).at(OPTION));
        self.live_server = Some(server.map_err(failed)?);
        self.announcement = running::announce(bound, &plan.name);
        screen::note(&format!(
            "watch it at http://{bound}/ (figures: http://{bound}/metrics)"
        ));
        Ok(())
    }

    /// True if standard output is a live stream of events.
    pub fn streams_to_stdout(&self) -> bool {
        self.streams.iter().any(|sink| matches!(sink, Sink::Stdout))
    }

    /// Writes an event to the streams. Returns a message about streams that failed.
    pub fn handle_event(&mut self, event: &Event) -> Option<String> {
        let is_unreported = matches!(event, Event::Rank(_) | Event::Snapshot { .. });
        if is_unreported || self.streams.is_empty() && self.live_server.is_none() {
            return None;
        }
        let line = stream::line(event);
        if let Some(server) = &self.live_server {
            server.send_event(event, &line);
        }
        self.write_line(&line)
    }

    fn write_line(&mut self, line: &str) -> Option<String> {
        let mut message = String::new();
        for sink in &mut self.streams {
            let outcome = match sink {
                Sink::Stdout => screen::print(&format!("{line}\n")),
                Sink::File(file, _) => file.write_all(format!("{line}\n").as_bytes()),
                Sink::Closed => Ok(()),
            };
            if let Err(error) = outcome {
                let path = match sink {
                    Sink::File(_, path) => path.clone(),
                    Sink::Stdout | Sink::Closed => PathBuf::from("standard output"),
                };
                let faults = Faults::one(Fault::for_file("write", &path, &error), Exit::Internal);
                message += &faults.text(screen::colour_on_stderr());
                *sink = Sink::Closed;
            }
        }
        (!message.is_empty()).then_some(message)
    }

    pub fn has_page(&self) -> bool {
        self.list.iter().any(|output| matches!(output.what, OutputKind::Page))
    }

    /// True if something shows or stores more of a result than the text report does.
    pub fn has_whole_result(&self, measure: &MeasureArgs) -> bool {
        let is_text_only = self.save.is_none() && self.metrics.is_none() && self.list.iter().all(Output::is_text);
        !is_text_only || history::is_recording(measure)
    }

    /// Writes all reports. `replaced` has reports that replace the default one of a format.
    ///
    /// # Errors
    /// [`Faults`] with every file that could not be written; the others are written. Then the text
    /// report goes to stderr too, so that the results are not lost.
    pub fn finish(mut self, results: &Results, replaced: &[(&str, &str)]) -> Result<(), Faults> {
        if !self.streams.is_empty() || self.live_server.is_some() {
            let last = stream::last_line(results);
            if let Some(server) = &self.live_server {
                server.send_line(&last);
            }
            if let Some(message) = self.write_line(&last) {
                let _ = io::stderr().write_all(message.as_bytes());
            }
        }
        if !self.list.iter().any(Output::is_read_by_people) {
            note_errors(results);
        }
        let mut faults = Vec::new();
        for output in &self.list {
            let name = match output.what {
                OutputKind::Report(format) => format.name,
                OutputKind::Page => PAGE,
                OutputKind::Stream => continue,
            };
            let mut text = match (replaced.iter().find(|(replaced, _)| *replaced == name), output.what) {
                (Some((_, text)), _) => (*text).to_owned(),
                (None, OutputKind::Report(format)) => screen::write_to_string(|out| (format.write)(results, out)),
                (None, OutputKind::Page | OutputKind::Stream) => {
                    html::render_file(&pages::run(results, page::Verdict::default()))
                }
            };
            if self.charts && output.is_text() {
                text += &charts::format_charts(results, terminal::has_unicode());
            }
            faults.extend(write_report(&text, output.file.as_deref(), output.is_text()).err());
        }
        if let Some(path) = &self.save
            && let Err(error) = own_files::save(results, path)
        {
            faults.push(Fault::for_file("write", path, &error));
        }
        if faults.is_empty() {
            return Ok(());
        }
        let mut rescue = Vec::new();
        let _ = (FORMATS[0].write)(results, &mut rescue);
        let _ = io::stderr().write_all(&rescue);
        Err(Faults::many(faults, Exit::Internal))
    }
}

/// Writes a report to its file, or to standard output. `is_text` is true if people read it.
pub(crate) fn write_report(text: &str, file: Option<&Path>, is_text: bool) -> Result<(), Fault> {
    let (outcome, path) = match file {
        Some(path) => (own_files::write(path, text.as_bytes()), path),
        None if is_text => (screen::print_report(text), Path::new("standard output")),
        None => (screen::print(&visible_report(text)), Path::new("standard output")),
    };
    outcome.map_err(|error| Fault::for_file("write", path, &error))
}

/// Prints failures on stderr, because no report on standard output shows them.
fn note_errors(results: &Results) {
    for finding in results
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
    {
        let at = finding.at.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
        screen::note(&format!("error: {at}{} [{}]", finding.what, finding.rule));
    }
}

/// Refuses reports that would overwrite a target or a disk.
pub(crate) fn check_not_target<'a>(files: impl Iterator<Item = &'a Path>, targets: &[Target]) -> Result<(), Faults> {
    for path in files {
        refuse_protected(path)?;
        let identity = read_identity(path);
        let is_output_path = |target: &Target| {
            is_same_file(Path::new(&target.path), path)
                || (identity.is_some() && read_identity(Path::new(&target.path)) == identity)
        };
        if targets.iter().any(is_output_path) {
            return Err(protected_fault(path, "a target of the test"));
        }
    }
    Ok(())
}

/// Checks before the run that files can be written, so that no measurement is lost, and that they
/// replace only files of fathom.
pub(crate) fn check_writable<'a>(files: impl Iterator<Item = &'a Path>) -> Result<(), Faults> {
    for path in files {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let failed = |error: &io::Error| Faults::refused(Fault::for_file("write", path, error));
        refuse_protected(path)?;
        if path.is_dir() {
            return Err(failed(&io::Error::from(io::ErrorKind::IsADirectory)));
        }
        // A device such as /dev/null or a pipe is written directly.
        if !path.exists() || path.is_file() {
            tempfile::tempfile_in(folder).map_err(|error| failed(&error))?;
        }
        own_files::check_before_run(path)?;
    }
    Ok(())
}

/// Checks another file of a command by the same rules.
pub(crate) fn check_file(path: &Path, targets: &[Target]) -> Result<(), Faults> {
    check_not_target([path].into_iter(), targets)?;
    check_writable([path].into_iter())
}

/// Refuses a report to a block device or the history, whose data it would destroy.
fn refuse_protected(path: &Path) -> Result<(), Faults> {
    find_protected(path).map_or(Ok(()), |kind| Err(protected_fault(path, kind)))
}

fn protected_fault(path: &Path, kind: &str) -> Faults {
    let fault = Fault::new(format!("cannot write a report to {}: it is {kind}", path.display()));
    fault.into_refusal("write the report to another file")
}

/// Names what no output may replace, if the path leads to it.
pub(crate) fn find_protected(path: &Path) -> Option<&'static str> {
    match read_identity(path) {
        Some(Identity::BlockDevice(_)) => Some("a block device"),
        _ if history::path().is_ok_and(|history| is_same_file(path, &history)) => Some("the history"),
        _ => None,
    }
}

/// Computes the connections that the server of a run may have: the file descriptors that the plan
/// leaves, but at least one.
fn max_connections(plan: &Plan) -> usize {
    let descriptors_left = free_descriptors().map(|free| free.saturating_sub(descriptors_needed(plan)));
    descriptors_left.map_or(MAX_CONNECTIONS, |descriptors_left| {
        (descriptors_left as usize).clamp(1, MAX_CONNECTIONS)
    })
}

fn parse(text: &str) -> Result<Output, Fault> {
    let (name, file) = match text.split_once('=') {
        Some((name, file)) => (name, Some(file)),
        None => (text, None),
    };
    let what = match name {
        STREAM => OutputKind::Stream,
        PAGE => OutputKind::Page,
        name => match formats::find(name) {
            Some(format) => OutputKind::Report(format),
            None => {
                let fault = Fault::new(format!("unknown output format `{name}`")).at(format!("--out {text}"));
                return Err(fault.help(format!("formats: {}", names().join(", "))));
            }
        },
    };
    if file.is_some_and(str::is_empty) {
        let fault = Fault::new("missing file name").at(format!("--out {text}"));
        return Err(fault.help(format!("for example --out {name}=result.{name}")));
    }
    Ok(Output {
        what,
        file: file.map(PathBuf::from),
    })
}

pub fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).chain([PAGE, STREAM]).collect()
}

/// Formats one line per format, for the help.
fn list_formats() -> String {
    let page = (PAGE, "an HTML page with charts, in one file; --report FILE is the same");
    let stream = (STREAM, "one line of JSON for each event, live");
    let formats = FORMATS
        .iter()
        .map(|format| (format.name, format.about))
        .chain([page, stream]);
    formats.map(|(name, about)| format!("  {name:<17}{about}\n")).collect()
}
