//! The command line of `cargo xtask bench`.

use std::path::PathBuf;

use super::rows::ROWS;
use crate::command::{root, select};

/// The command line: how much to measure, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    /// Only check that every row works.
    pub(crate) smoke: bool,
    /// Rows by name; empty: all.
    pub(crate) only: Vec<String>,
    /// Number of interleaved pairs of each comparison.
    pub(crate) pairs: usize,
    /// Length of each run.
    pub(crate) seconds: f64,
    /// A folder on the disk to measure.
    pub(crate) dir: PathBuf,
    /// A fathom program to use instead of building one.
    pub(crate) fathom: Option<PathBuf>,
}

const USAGE: &str =
    "usage: cargo xtask bench [--smoke] [--only NAME]… [--pairs N] [--seconds S] [--dir DIR] [--fathom PROGRAM]";

impl Options {
    /// Parses the arguments after `bench`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options {
            smoke: false,
            only: Vec::new(),
            pairs: 5,
            seconds: 4.0,
            dir: root().join("target"),
            fathom: None,
        };
        let mut rest = arguments.iter();
        let (mut pairs, mut seconds) = (None, None);
        while let Some(name) = rest.next() {
            let mut value = || rest.next().cloned().ok_or(format!("{name} needs a value\n{USAGE}"));
            match name.as_str() {
                "--smoke" => options.smoke = true,
                "--only" => options.only.push(value()?),
                "--pairs" => pairs = Some(value()?.parse().map_err(|_| format!("{name} needs a number"))?),
                "--seconds" => seconds = Some(value()?.parse().map_err(|_| format!("{name} needs a number"))?),
                "--dir" => options.dir = value()?.into(),
                "--fathom" => options.fathom = Some(value()?.into()),
                _ => return Err(format!("`{name}` is unknown\n{USAGE}")),
            }
        }
        if options.smoke {
            (options.pairs, options.seconds) = (1, 1.0);
        }
        options.pairs = pairs.unwrap_or(options.pairs).max(1);
        options.seconds = seconds.unwrap_or(options.seconds);
        select(ROWS, &options.only, "row")?;
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn a_smoke_run_is_short_unless_asked_otherwise() {
        let smoke = parse("--smoke").unwrap();
        assert_eq!((smoke.pairs, smoke.seconds), (1, 1.0));
        assert_eq!(parse("--smoke --pairs 3").unwrap().pairs, 3);
        assert_eq!(parse("").unwrap().pairs, 5);
    }

    #[test]
    fn unknown_words_are_refused() {
        assert!(parse("--only nothing").unwrap_err().contains("null"));
        assert!(parse("--fast").unwrap_err().contains("usage"));
        assert!(parse("--pairs many").is_err());
        assert!(parse("--pairs").is_err());
    }
}
