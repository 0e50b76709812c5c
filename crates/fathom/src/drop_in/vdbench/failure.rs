//! Failures that end the execution of a command line.

use ::run::RunError;
use dialects::Diagnostic;

use super::super::{print_stderr, print_stdout};
use super::output::{Output, time};

/// A failure that ends the command.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) text: String,
    /// The place of the error and the help, for stderr.
    pub(super) more: Vec<String>,
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Failure {
        let place = diagnostic.at.filter(|at| at.line > 0).map(|at| format!("  --> {at}"));
        let help = diagnostic.help.map(|help| format!("help: {help}"));
        Failure {
            text: diagnostic.what,
            more: place.into_iter().chain(help).collect(),
        }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure { text, more: Vec::new() }
    }
}

impl Failure {
    pub(super) fn with_help(text: String, help: &str) -> Failure {
        Failure {
            text,
            more: vec![format!("help: {help}")],
        }
    }

    /// Prints the text on the console as Vdbench does, and place and help on stderr. If the console
    /// fails, the text goes to stderr too.
    pub(super) fn report(&self, output: Option<&mut Output>) {
        let line = format!("{} {}", time(), self.text);
        let printed = print_stdout(&format!("\n{line}\n\n"));
        if let Some(output) = output {
            output.write("logfile", &format!("\n{line}\n"));
            output.write("errorlog", &line);
        }
        if printed.is_err() {
            print_stderr(&[line]);
        }
        print_stderr(&self.more);
    }
}

/// Converts an error of a run. All lines after the first become help.
pub(super) fn failure_from_error(error: &RunError) -> Failure {
    let text = error.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    let mut more: Vec<String> = lines.map(str::to_owned).collect();
    match error {
        RunError::Refused(_) => more.push("help: set FATHOM_ALLOW_DESTROY=PATH if its data may be lost".into()),
        RunError::Targets(errors) => {
            let help = errors.iter().filter_map(|error| error.help());
            more.extend(help.map(|help| format!("help: {help}")));
        }
        _ => {}
    }
    Failure { text: first, more }
}
