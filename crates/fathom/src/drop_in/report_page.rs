//! The HTML page of a drop-in run: `fathom TOOL --report FILE`, or `FATHOM_REPORT=FILE`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use model::results::Results;
use report::html;
use report::html::page::Verdict;

use crate::fault::Fault;
use crate::{own_files, pages};

const OPTION: &str = "--report";
const VARIABLE: &str = "FATHOM_REPORT";

/// The file that the option names.
static NAMED: OnceLock<PathBuf> = OnceLock::new();

/// Takes `--report FILE` from the arguments of `fathom TOOL`.
///
/// No tool has an option of that name. A copy or link with the name of a tool accepts only the
/// arguments of that tool, so there only the variable has an effect.
///
/// # Errors
/// The name of the file is missing.
pub fn take_option(arguments: &mut Vec<String>) -> Result<(), Fault> {
    let value = |word: &str| word.strip_prefix(OPTION).map(str::to_owned);
    let option = arguments.iter().enumerate().find_map(|(at, word)| {
        let rest = value(word).filter(|rest| rest.is_empty() || rest.starts_with('='))?;
        Some((at, rest))
    });
    let Some((at, rest)) = option else { return Ok(()) };
    arguments.remove(at);
    let path = match rest.strip_prefix('=') {
        Some(path) => path.to_owned(),
        None if at < arguments.len() => arguments.remove(at),
        None => String::new(),
    };
    if path.is_empty() || path.starts_with('-') {
        let fault = Fault::new("missing file name").at(OPTION);
        return Err(fault.help("name the page: `--report page.html`"));
    }
    NAMED.get_or_init(|| path.into());
    Ok(())
}

/// Returns the name for messages and the path of the requested page.
pub(super) fn requested() -> Option<(&'static str, PathBuf)> {
    let named = NAMED.get().map(|path| (OPTION, path.clone()));
    named.or_else(|| Some((VARIABLE, std::env::var_os(VARIABLE)?.into())))
}

/// Writes the page.
///
/// # Errors
/// A sentence with the reason.
pub(super) fn write(results: &Results, path: &Path) -> Result<(), String> {
    let page = html::render_file(&pages::run(results, Verdict::default()));
    own_files::write(path, page.as_bytes()).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_option_is_taken() {
        let mut words: Vec<String> = ["fathom", "vdbench", "-f", "x", "--report-to", "e=5"]
            .map(str::to_owned)
            .into();
        let before = words.clone();
        take_option(&mut words).unwrap();
        assert_eq!(words, before);
        for end in [&["--report"][..], &["--report="], &["--report", "-o", "out"]] {
            let end = end.iter().map(ToString::to_string);
            let mut words: Vec<String> = before.iter().cloned().chain(end).collect();
            assert!(take_option(&mut words).is_err(), "{words:?}");
        }
    }
}
