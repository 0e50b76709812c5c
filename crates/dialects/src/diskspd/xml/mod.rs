//! DiskSpd profiles as XML documents: read as DiskSpd 2.2 reads them, written as its `-Rpxml`
//! writes them.
//!
//! As in DiskSpd, a document is validated before it is read: errors of the schema are reported
//! first. Unlike DiskSpd, fathom reads numbers above 2³¹−1 exactly, allows paths of any length,
//! escapes text and writes `RandomWriteData`, so that profiles survive a round trip. The elements
//! for DiskSpd 2.3 are fathom's.

pub(super) mod elements;
pub(super) mod read;
pub(super) mod schema;
pub(super) mod write;

use std::fmt;

pub use read::read;
pub use write::lines;

/// Why a document is not a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlError {
    /// The kind of error, which decides DiskSpd's error code.
    pub kind: XmlErrorKind,
    /// The line of the error, from 1.
    pub line: usize,
    /// The column of the error in characters, from 1.
    pub column: usize,
    /// The reason, without the position.
    pub reason: String,
}

/// Kinds of errors in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XmlErrorKind {
    /// The text is not XML.
    Syntax,
    /// Elements, attributes or values that no profile has.
    Schema,
    /// `StrideSize` with `Random` or `RandomRatio`, whose exclusion the schema cannot express.
    Conflict,
    /// A processor or group that no system has.
    Affinity,
}

impl XmlError {
    /// The error as DiskSpd writes it to its standard error.
    pub fn lines(&self) -> Vec<String> {
        // The exact codes are Microsoft's; only the range is reproduced: one base for parse errors,
        // one for validation errors.
        let code = match self.kind {
            XmlErrorKind::Syntax => 0xC00C_E500u32,
            XmlErrorKind::Schema => 0xC00C_E000,
            XmlErrorKind::Conflict => return vec![self.reason.clone()],
            XmlErrorKind::Affinity => return vec![format!("ERROR: {}", self.reason)],
        };
        vec![
            format!(
                "ERROR: failed to load profile, line {}, line position {}, errorCode {code:08x}",
                self.line, self.column
            ),
            format!("ERROR: reason: {}", self.reason),
        ]
    }

    pub(super) fn at(node: roxmltree::Node, kind: XmlErrorKind, reason: String) -> XmlError {
        let position = node.document().text_pos_at(node.range().start);
        XmlError {
            kind,
            line: position.row as usize,
            column: position.col as usize,
            reason,
        }
    }
}

impl From<roxmltree::Error> for XmlError {
    fn from(error: roxmltree::Error) -> XmlError {
        let position = error.pos();
        let text = error.to_string();
        // The library appends the position, which this type stores separately.
        let place = format!(" at {position}");
        XmlError {
            kind: XmlErrorKind::Syntax,
            line: position.row as usize,
            column: position.col as usize,
            reason: text.strip_suffix(&place).unwrap_or(&text).to_string(),
        }
    }
}

impl fmt::Display for XmlError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

impl std::error::Error for XmlError {}
