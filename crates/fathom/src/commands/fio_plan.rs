//! Lowers a fio command line or job file to a plan, for `fathom convert`.

use super::source::Source;
use crate::drop_in::fio;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};

/// Lowers fio arguments to a plan.
///
/// # Errors
/// fio's messages about them.
pub fn fio_plan(arguments: &[String]) -> Result<Source, Faults> {
    fio::build_plan(arguments)
        .map_err(|printed| extract_faults(&printed.join("\n")))
        .map(|(plan, capped_depths)| Source {
            capped_depths,
            ..Source::from(plan)
        })
}

/// Extracts errors, which begin with `fio: `, from fio's output: it also has blocks such as tables
/// of valid values.
fn extract_faults(printed: &str) -> Faults {
    let lines = printed.lines().map(str::trim).filter(|line| !line.is_empty());
    // These lines name a source file of fio, or only repeat that a job has a fault.
    let lines = lines.filter(|line| !line.starts_with("fio: file:") && !line.ends_with(" dropped"));
    let (problems, why): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("fio: "));
    let mut list: Vec<Fault> = problems.into_iter().map(Fault::new).collect();
    if list.is_empty() {
        list.push(Fault::new("fio does not accept this command line or job file"));
    }
    list[0].why = match why.first().and_then(|line| line.strip_prefix("valid values:")) {
        Some(first) => {
            let lines = std::iter::once(first).chain(why[1..].iter().map(|line| line.trim_start_matches(':')));
            let words: Vec<&str> = lines.filter_map(|line| line.split_whitespace().next()).collect();
            vec![format!("valid values: {}", words.join(", "))]
        }
        None => why.into_iter().map(str::to_owned).collect(),
    };
    let exit = match list.iter().any(|fault| fault.what.starts_with("fio: unable to open '")) {
        true => Exit::Refused,
        false => Exit::Usage,
    };
    let last = list.pop().expect("there is one at least");
    list.push(last.help("docs/fio.md lists the options and what they take"));
    Faults::many(list, exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_is_one_fault() {
        let printed = "fio: file:fathom:0, func=lstat, error=No such file or directory\n\
                       fio: F:\\ is not a directory\nfio: job global dropped";
        let faults = extract_faults(printed);
        assert_eq!(faults.first(), "fio: F:\\ is not a directory");
        assert_eq!(
            faults.into_first().help.as_deref(),
            Some("docs/fio.md lists the options and what they take")
        );
    }
}
