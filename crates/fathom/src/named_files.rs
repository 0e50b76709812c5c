//! Refuses command lines in which an output names another file: an input, a second output, a policy
//! file of the user, or the history. One of the two would be overwritten.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, ValueHint};
use engine::Identity;
use engine::sys::facts::read_identity;

use crate::fault::{Fault, Faults};
use crate::{catalogue, history};

/// A file that the command line names.
struct NamedFile {
    path: PathBuf,
    /// The option or argument that names it.
    role: String,
    is_output: bool,
}

/// Checks the files of a command line.
///
/// # Errors
/// [`Faults`] about the first output that names another file.
pub fn check_distinct_files(root: &Command, matches: &ArgMatches) -> Result<(), Faults> {
    let (mut files, mut policy_paths) = (Vec::new(), Vec::new());
    let (mut command, mut matches) = (root, matches);
    while let Some((name, inner)) = matches.subcommand()
        && let Some(subcommand) = command.find_subcommand(name)
    {
        (command, matches) = (subcommand, inner);
        let arguments = subcommand.get_arguments().filter(|arg| is_given(arg, inner));
        files.extend(arguments.flat_map(|arg| list_files(arg, inner)));
        if let Ok(Some(paths)) = inner.try_get_many::<PathBuf>(catalogue::ARGUMENT) {
            policy_paths.extend(paths.cloned());
        }
    }
    files.extend(
        catalogue::list_policy_files(&policy_paths)
            .into_iter()
            .map(|path| NamedFile {
                path,
                role: "a policy file".into(),
                is_output: false,
            }),
    );
    files.extend(history::path().ok().map(|path| NamedFile {
        path,
        role: "the history".into(),
        is_output: false,
    }));
    for (number, output) in files.iter().enumerate().filter(|(_, file)| file.is_output) {
        let mut others = files.iter().enumerate().filter(|(other, _)| *other != number);
        let duplicate = others.find(|(_, other)| is_same_file(&output.path, &other.path));
        if let Some((_, other)) = duplicate {
            return Err(refuse(&output.role, &output.path, &other.role));
        }
    }
    Ok(())
}

/// Checks outputs against inputs that the command line does not name, such as the job files of a
/// suite.
///
/// # Errors
/// [`Faults`] about the first output that names an input.
pub fn check_inputs<'a>(outputs: impl Iterator<Item = &'a Path>, inputs: &[PathBuf]) -> Result<(), Faults> {
    for output in outputs {
        if inputs.iter().any(|input| is_same_file(output, input)) {
            return Err(refuse("a report", output, "an input"));
        }
    }
    Ok(())
}

fn refuse(role: &str, path: &Path, other: &str) -> Faults {
    let message = format!("cannot write {role} to {}: it is also {other}", path.display());
    Fault::new(message).into_usage("name another file")
}

fn is_given(arg: &Arg, matches: &ArgMatches) -> bool {
    matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
}

/// Lists the files that an argument names: values of file options, files of `--out`, and positional
/// arguments, which are inputs.
fn list_files(arg: &Arg, matches: &ArgMatches) -> Vec<NamedFile> {
    let name = arg.get_id().as_str();
    let values = matches.get_raw(name).into_iter().flatten().map(OsStr::to_string_lossy);
    let option = arg.get_long().map(|long| format!("--{long}"));
    let is_file = matches!(arg.get_value_hint(), ValueHint::FilePath);
    let file = |path: &str, role: String| NamedFile {
        path: path.into(),
        role,
        is_output: option.is_some(),
    };
    match &option {
        Some(option) if option == "--out" && !is_file => values
            .flat_map(|value| value.split(',').map(str::to_owned).collect::<Vec<_>>())
            .filter_map(|output| {
                let (format, path) = output.split_once('=')?;
                Some(file(path, format!("--out {format}")))
            })
            .collect(),
        Some(option) if is_file || option == "--log" => values.map(|value| file(&value, option.clone())).collect(),
        // `@FILE` names a list of hosts.
        Some(option) if option == "--hosts" => values
            .filter_map(|value| {
                let hosts_file = file(value.strip_prefix('@')?, "an input".into());
                Some(NamedFile {
                    is_output: false,
                    ..hosts_file
                })
            })
            .collect(),
        Some(_) => Vec::new(),
        None => values.map(|value| file(&value, "an input".into())).collect(),
    }
}

/// True if two paths name the same regular file, or will once it is created. Two hard links are one
/// file.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let is_hard_link = || match (read_identity(a), read_identity(b)) {
        (Some(a @ Identity::File { .. }), Some(b)) => a == b,
        _ => false,
    };
    let resolved = resolve_path(a);
    resolved.is_some() && (resolved == resolve_path(b) || is_hard_link())
}

/// Resolves a path, if it is a regular file or will become one.
fn resolve_path(path: &Path) -> Option<PathBuf> {
    if let Ok(canonical) = path.canonicalize() {
        return canonical.is_file().then_some(canonical);
    }
    // The path, or the target of the link, does not exist yet.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
    match path.read_link() {
        Ok(target) => Some(folder.join(target)),
        Err(_) => Some(folder.join(path.file_name()?)),
    }
}
