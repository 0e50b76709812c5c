//! A mistake in a text: what, where, why, and what to do. The only road from a dialect to the
//! screen.

use std::fmt;

use model::visible::excerpt;

/// One complaint about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The mistake, in a sentence.
    pub what: String,
    /// Where in the text.
    pub at: Option<Place>,
    /// Advice on what to do.
    pub help: Option<String>,
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, or `command line`.
    pub file: String,
    /// Number of the line, counted from 1; 0 if it has none.
    pub line: usize,
    /// The text at that place.
    pub text: String,
}

impl Place {
    /// A part of the command line.
    pub fn on_command_line(text: impl Into<String>) -> Place {
        Place {
            file: "command line".into(),
            line: 0,
            text: text.into(),
        }
    }
}

impl Diagnostic {
    /// A complaint without place and help.
    pub fn new(what: impl Into<String>) -> Diagnostic {
        Diagnostic {
            what: what.into(),
            at: None,
            help: None,
        }
    }

    /// Adds the place.
    pub fn at(self, place: Place) -> Diagnostic {
        Diagnostic {
            at: Some(place),
            ..self
        }
    }

    /// Adds what to do.
    pub fn help(self, help: impl Into<String>) -> Diagnostic {
        Diagnostic {
            help: Some(help.into()),
            ..self
        }
    }
}

impl fmt::Display for Place {
    /// `file:line  text`, the text cut where it is long.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, text) = (&self.file, excerpt(&self.text));
        match self.line {
            0 => write!(out, "{file}: {text}"),
            line => write!(out, "{file}:{line}  {text}"),
        }
    }
}

impl fmt::Display for Diagnostic {
    /// `what`, then the place and the help on lines of their own.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.what)?;
        if let Some(place) = &self.at {
            write!(out, "\n  --> {place}")?;
        }
        if let Some(help) = &self.help {
            write!(out, "\nhelp: {help}")?;
        }
        Ok(())
    }
}
