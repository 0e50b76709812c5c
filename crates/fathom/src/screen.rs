//! Shows progress on stderr: a full-screen view, a line that is redrawn, or plain lines.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use engine::sys::descriptors::is_stdout_closed;
use model::Nanos;
use model::event::Event;
use model::finding::Severity;
use model::plan::Plan;
use model::results::Results;
use model::visible_lines;
use report::live::{Live, Update};
use run::RunError;
use run::targets::SharedFiles;
use run::targets::guard::Permissions;
use serde::Serialize;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::session::Session;
use crate::terminal::{self, View};

/// Interval of progress lines without a terminal.
const PLAIN_INTERVAL: Duration = Duration::from_millis(3_500);
/// Shortest time between two redraws of the line, so that it can be read.
const LIVE_INTERVAL: Duration = Duration::from_millis(100);
/// Narrowest terminal for which lines are folded, in columns.
const MIN_WIDTH: usize = 40;
/// Shortest run that has a view.
const MIN_VIEW_TIME: Nanos = Nanos::secs(2);

/// Form of the progress display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LiveForm {
    Auto,
    View,
    Line,
}

/// Options of the progress display.
#[derive(clap::Args)]
pub struct ProgressArgs {
    /// Progress on stderr: auto, view, line [default: auto]
    #[arg(
        long,
        value_name = "FORM",
        help_heading = "Output",
        hide_possible_values = true,
        long_help = "Progress on stderr [default: auto]\n  \
            view       fills the terminal during the run; `q` stops and reports, as Ctrl-C does\n  \
            line       one line, updated in place; without a terminal, a line every few seconds\n  \
            auto       the view on a terminal if the run takes over 2 s; otherwise the line"
    )]
    live: Option<LiveForm>,
    /// No progress on stderr
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

/// Shows events to the user.
#[derive(Debug)]
pub struct Screen {
    live: Live,
    form: Form,
    /// Set until a view opens. The view opens when a long run begins.
    view_interrupt: Option<&'static std::sync::atomic::AtomicBool>,
    /// The terminal shows a line that the next one overwrites.
    has_live_line: bool,
    drawn_at: Instant,
}

#[derive(Debug)]
enum Form {
    Quiet,
    /// Plain lines at intervals.
    Plain,
    /// One line that is redrawn.
    Line,
    /// The view, and lines to print after it.
    View(View, Vec<String>),
}

impl Screen {
    /// Chooses the form by `--quiet`, `--live` and the terminal. `streaming` is true if events are
    /// printed on standard output.
    ///
    /// # Errors
    /// A view was requested, but there is no terminal for it.
    pub fn from_args(session: &Session, args: &ProgressArgs, streaming: bool) -> Result<Screen, Faults> {
        let mut screen = Screen::line(args.quiet);
        if matches!(screen.form, Form::Quiet) {
            return Ok(screen);
        }
        let shared = streaming && std::io::stdout().is_terminal();
        let obstacle = terminal::unsupported_reason().or(shared.then_some("the terminal shows a stream of events"));
        match (args.live.unwrap_or(LiveForm::Auto), obstacle) {
            (LiveForm::View, Some(why)) => {
                let fault = Fault::new(format!("cannot show the live view: {why}")).at("--live view");
                Err(fault.into_usage("omit --live: without a terminal, progress is a line"))
            }
            (LiveForm::View | LiveForm::Auto, None) => {
                screen.view_interrupt = Some(session.process.interrupt_flag());
                Ok(screen)
            }
            _ => Ok(screen),
        }
    }

    /// Chooses a redrawn line on a terminal and plain lines elsewhere, never the view.
    pub fn line(quiet: bool) -> Screen {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Screen {
            live: Live::new(1),
            form: match (quiet, terminal) {
                (true, _) => Form::Quiet,
                (false, true) => Form::Line,
                (false, false) => Form::Plain,
            },
            view_interrupt: None,
            has_live_line: false,
            drawn_at: Instant::now(),
        }
    }

    /// Begins the view of another run. `run_label` identifies it among several.
    pub fn begin(&mut self, plan: &Plan, run_label: Option<String>) {
        self.clear();
        self.live = Live::new(plan.steps.len() as u32);
        if max_duration(plan).is_none_or(|length| length > MIN_VIEW_TIME)
            && let Some(interrupt) = self.view_interrupt.take()
        {
            self.form = Form::View(View::new(interrupt), Vec::new());
        }
        if let Form::View(view, _) = &self.form {
            view.begin(plan, run_label);
        }
    }

    /// Prints a line that progress does not overwrite.
    pub fn print(&mut self, text: &str) {
        self.print_line(Severity::Note, text.trim_end_matches('\n'));
    }

    fn print_line(&mut self, severity: Severity, text: &str) {
        let text = visible_lines(text).into_owned();
        self.clear();
        self.drop_lost_view();
        match &mut self.form {
            Form::Quiet => {}
            Form::Plain | Form::Line => write_stderr(&format!("{text}\n")),
            Form::View(view, lines) => {
                view.message(severity, &text);
                lines.push(text);
            }
        }
    }

    /// Replaces a view that has lost its terminal with a line.
    fn drop_lost_view(&mut self) {
        if matches!(&self.form, Form::View(view, _) if view.is_lost()) {
            self.close();
        }
    }

    /// Closes the view, if any, and prints its lines.
    pub fn close(&mut self) {
        self.clear();
        if !matches!(self.form, Form::View(..)) {
            return;
        }
        if let Form::View(view, lines) = std::mem::replace(&mut self.form, Form::Line) {
            drop(view);
            terminal::print_messages(&lines);
        }
    }

    /// Executes a run of a study, and shows it as `run_label`.
    ///
    /// # Errors
    /// [`RunError`] if nothing could be measured.
    pub fn execute(
        &mut self,
        session: &Session,
        plan: Plan,
        permissions: &Permissions,
        shared_files: &mut SharedFiles,
        run_label: String,
    ) -> Result<Results, RunError> {
        self.begin(&plan, Some(run_label));
        session.execution(plan, permissions).run(&mut |event| {
            shared_files.adopt_created(&event);
            self.handle_event(&event);
        })
    }

    pub fn handle_event(&mut self, event: &Event) {
        self.drop_lost_view();
        if let Form::View(view, _) = &self.form {
            view.handle_event(event);
        }
        match self.live.apply(event) {
            Update::Nothing => {}
            Update::Line(line) => {
                let severity = match event {
                    Event::Notice { finding } => finding.severity,
                    Event::JobEnded { .. } => Severity::Warning,
                    _ => Severity::Note,
                };
                self.print_line(severity, &line);
            }
            Update::State(state) => match self.form {
                Form::Line => self.redraw_line(&state),
                // Plain lines only report figures.
                Form::Plain if matches!(event, Event::Interval(_) | Event::Preparing { .. }) => {
                    if self.drawn_at.elapsed() >= PLAIN_INTERVAL {
                        note(&state);
                        self.drawn_at = Instant::now();
                    }
                }
                Form::Plain | Form::Quiet | Form::View(..) => {}
            },
        }
    }

    fn redraw_line(&mut self, state: &str) {
        if self.drawn_at.elapsed() < LIVE_INTERVAL && self.has_live_line {
            return;
        }
        let width = terminal::size_of_stderr().map_or(80, |(width, _)| width);
        let line: String = model::visible(state).chars().take(width.saturating_sub(1)).collect();
        write_stderr(&format!("\r{line}\x1b[K"));
        (self.has_live_line, self.drawn_at) = (true, Instant::now());
    }

    /// Clears the redrawn line, so that other text can be printed.
    pub fn clear(&mut self) {
        if self.has_live_line {
            write_stderr("\r\x1b[K");
            self.has_live_line = false;
        }
    }
}

/// Computes the longest time that a plan can take, if known.
fn max_duration(plan: &Plan) -> Option<Nanos> {
    let mut lengths = plan.jobs().map(|(_, job)| {
        let phases = &job.phases;
        Some(phases.start_delay.high_ns + phases.warm_up_ns + job.stop.after_ns? + phases.cool_down_ns)
    });
    lengths.try_fold(Nanos(0), |sum, length| Some(sum + length?))
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

/// Writes to stderr. If it is closed, the text is lost.
fn write_stderr(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

pub fn colour_on_stderr() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints a line to stderr, with control characters escaped. If stderr is closed, the line is lost.
pub fn note(line: &str) {
    let line = format!("{}\n", visible_lines(line));
    match usable_width(terminal::size_of_stderr()) {
        Some(width) => write_stderr(&fold(&line, width)),
        None => write_stderr(&line),
    }
}

/// Prints text to stdout unchanged. A reader that has closed the pipe is not an error.
pub fn print(text: &str) -> std::io::Result<()> {
    if is_stdout_closed() && !text.is_empty() {
        return Err(std::io::Error::other("it is closed"));
    }
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints a report for people, with control characters escaped. A terminal gets lines that are
/// folded between words.
pub fn print_report(text: &str) -> std::io::Result<()> {
    let text = visible_lines(text);
    match usable_width(terminal::size_of_stdout()) {
        Some(width) => print(&fold(&text, width)),
        None => print(&text),
    }
}

/// Returns the columns of the terminal; `None` without a terminal, or on one without a width, such
/// as that of `mpirun`.
fn usable_width(size: Option<(usize, usize)>) -> Option<usize> {
    size.map(|(columns, _)| columns).filter(|columns| *columns >= MIN_WIDTH)
}

/// Folds lines longer than `width` between words. Continuations are indented two columns more than
/// their line.
fn fold(text: &str, width: usize) -> String {
    let mut folded = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let mut rest = line;
        let mut room = width;
        while rest.trim_end().chars().count() > room {
            let end = rest.char_indices().nth(room).map_or(rest.len(), |(end, _)| end);
            // A break within the indentation would leave an empty line.
            let first_word = rest.len() - rest.trim_start_matches(' ').len();
            let fitting = match rest[end..].starts_with(' ') {
                true => Some(end),
                false => rest[..end].rfind(' ').filter(|end| *end > first_word),
            };
            let Some(end) = fitting.or_else(|| Some(end + rest[end..].trim_end().find(' ')?)) else {
                break;
            };
            folded += rest[..end].trim_end();
            folded += "\n";
            folded += &" ".repeat(indent + 2);
            rest = rest[end..].trim_start_matches(' ');
            room = width.saturating_sub(indent + 2);
        }
        folded += rest;
    }
    folded
}

/// Prints the output of a command as [`print_report`] does.
pub fn put(text: &str) -> Result<Exit, Faults> {
    print_report(text).map_err(|error| unwritable_stdout(&error))?;
    Ok(Exit::Done)
}

/// Prints text that may be saved or passed on, such as a job file. Lines are never folded, and
/// control characters are escaped.
pub fn put_document(text: &str) -> Result<Exit, Faults> {
    put_bytes(&visible_lines(text)).map(|()| Exit::Done)
}

/// Returns the text that `write` produces.
pub fn write_to_string(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("writing to memory does not fail");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A document for programs, indented and with a newline at the end.
pub fn json_text<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string_pretty(value).expect("plain values are valid JSON") + "\n"
}

/// Prints a document for programs.
pub fn put_json<T: Serialize + ?Sized>(value: &T) -> Result<Exit, Faults> {
    put_document(&json_text(value))
}

/// Prints the output of a command unchanged: another program reads it.
pub fn put_bytes(text: &str) -> Result<(), Faults> {
    print(text).map_err(|error| unwritable_stdout(&error))
}

fn unwritable_stdout(error: &std::io::Error) -> Faults {
    let fault = Fault::for_file("write", Path::new("standard output"), error);
    Faults::one(fault, Exit::Internal)
}

/// Wraps a paragraph of a report and indents it by two columns.
pub fn wrap_paragraph(text: &str) -> String {
    const MAX_WIDTH: usize = 96;
    let width = usable_width(terminal::size_of_stdout()).map_or(MAX_WIDTH, |width| width.min(MAX_WIDTH));
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            lines.push('\n');
            column = 0;
        }
        if column == 0 {
            lines.push_str("  ");
            column = 2;
        } else {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn long_lines_are_folded_between_words() {
        assert_eq!(
            fold("  cpu      12 us per operation\nend\n", 20),
            "  cpu      12 us per\n    operation\nend\n"
        );
        assert_eq!(fold("twenty columns exact\n", 20), "twenty columns exact\n");
        assert_eq!(fold("ein Wörterbuch äöü ß\n", 10), "ein\n  Wörterbuch\n  äöü ß\n");
        assert_eq!(
            fold("  /a/path/without/any/blank then more\n", 20),
            "  /a/path/without/any/blank\n    then more\n"
        );
    }
}
