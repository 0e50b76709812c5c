//! The person in front: a line that is renewed on a terminal, plain lines elsewhere. Always on stderr.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use model::event::Event;
use report::live::{Live, Update};

use crate::exit::Exit;
use crate::fault::{Fault, Faults};

/// Without a terminal the present state is told this often.
const TELL_PLAIN: Duration = Duration::from_millis(3_500);
/// A line that changes more often than this cannot be read.
const TELL_LIVE: Duration = Duration::from_millis(100);

/// Shows events to a person.
#[derive(Debug)]
pub struct Screen {
    live: Live,
    terminal: bool,
    quiet: bool,
    /// A line stands on the terminal that the next one replaces.
    standing: bool,
    told: Instant,
}

impl Screen {
    /// A screen for a plan of so many steps.
    pub fn new(steps: usize, quiet: bool) -> Screen {
        Screen {
            live: Live::new(steps as u32),
            terminal: std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
            quiet,
            standing: false,
            told: Instant::now(),
        }
    }

    /// Shows an event.
    pub fn take(&mut self, event: &Event) {
        match self.live.take(event) {
            Update::Nothing => {}
            _ if self.quiet => {}
            Update::Line(line) => {
                self.clear();
                say(&format!("{line}\n"));
            }
            Update::State(state) if self.terminal => {
                if self.told.elapsed() < TELL_LIVE && self.standing {
                    return;
                }
                let width =
                    terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
                let line: String = state.chars().take(width.saturating_sub(1)).collect();
                say(&format!("\r{line}\x1b[K"));
                (self.standing, self.told) = (true, Instant::now());
            }
            // Only figures are worth a line.
            Update::State(state) if matches!(event, Event::Interval(_) | Event::Preparing { .. }) => {
                if self.told.elapsed() >= TELL_PLAIN {
                    say(&format!("{state}\n"));
                    self.told = Instant::now();
                }
            }
            Update::State(_) => {}
        }
    }

    /// Takes the renewed line away, so that something else may be printed.
    pub fn clear(&mut self) {
        if self.standing {
            say("\r\x1b[K");
            self.standing = false;
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Where stderr is closed there is nobody to tell.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// True if colours are wanted on stderr.
pub fn colour_on_stderr() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints to stdout. A reader that has gone away is no error.
pub fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints the whole output of a command.
pub fn put(text: &str) -> Result<Exit, Faults> {
    print(text).map_err(|error| {
        Faults::one(
            Fault::of_file("write", Path::new("standard output"), &error),
            Exit::Internal,
        )
    })?;
    Ok(Exit::Done)
}

/// A paragraph of a report: two columns in, no wider than people like to read.
pub fn wrapped(text: &str) -> String {
    const WIDTH: usize = 96;
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
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
