//! Errors in job files, command lines and imported reports, with their location and advice. Every
//! dialect reports its errors in this form.

use std::fmt;

use model::visible::excerpt;

/// An error in a job file, a command line or an imported report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Describes the error in one sentence.
    pub what: String,
    /// Location, if known.
    pub at: Option<Location>,
    /// How to correct it.
    pub help: Option<String>,
}

/// A location in a file or on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The file, or `command line`.
    pub file: String,
    /// Line number, from 1; 0 if there is none.
    pub line: usize,
    /// The text at that location.
    pub text: String,
}

impl Location {
    /// Creates the location of an argument.
    pub fn on_command_line(text: impl Into<String>) -> Location {
        Location {
            file: "command line".into(),
            line: 0,
            text: text.into(),
        }
    }
}

impl Diagnostic {
    /// Creates an error without location and help.
    pub fn new(what: impl Into<String>) -> Diagnostic {
        Diagnostic {
            what: what.into(),
            at: None,
            help: None,
        }
    }

    /// Adds the location.
    pub fn at(self, location: Location) -> Diagnostic {
        Diagnostic {
            at: Some(location),
            ..self
        }
    }

    /// Adds advice.
    pub fn help(self, help: impl Into<String>) -> Diagnostic {
        Diagnostic {
            help: Some(help.into()),
            ..self
        }
    }
}

impl fmt::Display for Location {
    /// Formats as `file:line  text`; a long text is shortened.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, text) = (&self.file, excerpt(&self.text));
        match self.line {
            0 => write!(out, "{file}: {text}"),
            line => write!(out, "{file}:{line}  {text}"),
        }
    }
}

impl fmt::Display for Diagnostic {
    /// Formats `what`, then location and help, each on its own line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.what)?;
        if let Some(location) = &self.at {
            write!(out, "\n  --> {location}")?;
        }
        if let Some(help) = &self.help {
            write!(out, "\nhelp: {help}")?;
        }
        Ok(())
    }
}
