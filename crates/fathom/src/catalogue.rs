//! The catalogue with the user's own files, and what commands say about an entry.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::policies::{Catalogue, Date, Inputs};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, ValueHint};
use jiff::Zoned;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::user_file;

/// Names one folder or file, or several as in `PATH`.
const VARIABLE: &str = "FATHOM_POLICIES";
/// Inputs that have a flag of their own, because most entries take them.
const COMMON: [&str; 4] = ["size", "iops", "mbps", "tier"];

/// Flags that name policy files.
pub fn catalogue_option() -> Arg {
    Arg::new("catalogue")
        .long("catalogue")
        .value_name("PATH")
        .action(ArgAction::Append)
        .value_hint(ValueHint::AnyPath)
        .help("Policy files of your own, or a folder of them; they come before those of the same name")
        .long_help(
            "Policy files of your own, or a folder of them; an entry replaces the one of the same name. So do the files that \
             FATHOM_POLICIES names, and those in fathom/policies below XDG_CONFIG_HOME or ~/.config.",
        )
}

/// Flags that say what is known of a disk.
pub fn input_options() -> Vec<Arg> {
    let input = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .help_heading("The disk, as the policy asks for it")
    };
    vec![
        input("size", "SIZE", "Size that was ordered, such as 500GiB"),
        input("iops", "NUMBER", "Operations per second that were ordered"),
        input("mbps", "NUMBER", "Throughput that was ordered, in the vendor's unit"),
        input("tier", "NAME", "Row of the policy's table, such as P30"),
        input("set", "NAME=VALUE", "Any other input of the policy")
            .action(ArgAction::Append)
            .long_help("Any other input of the policy; `fathom policies NAME` lists them."),
    ]
}

/// What the flags say about a disk.
///
/// # Errors
/// [`Faults`] if `--set` has no `=`.
pub fn inputs(args: &ArgMatches) -> Result<Inputs, Faults> {
    let mut inputs = Inputs::new();
    for name in COMMON {
        if args.value_source(name) == Some(ValueSource::CommandLine)
            && let Some(value) = args.get_one::<String>(name)
        {
            inputs.insert(name.to_owned(), value.clone());
        }
    }
    for pair in args.get_many::<String>("set").into_iter().flatten() {
        let Some((name, value)) = pair.split_once('=') else {
            let fault = Fault::new("an input has a name and a value").at(format!("--set {pair}"));
            return Err(Faults::usage(fault.help("for example --set rpm=7200")));
        };
        inputs.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    Ok(inputs)
}

/// The catalogue with every file that the user has put beside it. `also` is one more file, if a policy was named by its path.
///
/// # Errors
/// [`Faults`] for each file that cannot be read or understood.
pub fn catalogue(args: &ArgMatches, also: Option<&Path>) -> Result<Catalogue, Faults> {
    let (mut files, mut faults) = (Vec::new(), Vec::new());
    for path in places(args).into_iter().chain(also.map(Path::to_owned)) {
        match texts(&path) {
            Ok(found) => files.extend(found),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(Faults::many(faults, Exit::Refused));
    }
    Catalogue::with(&files).map_err(|faults| {
        let help = "`fathom policies NAME --toml` prints an entry as a model";
        let fault = |what: String| Fault::new(what).help(help);
        Faults::many(faults.into_iter().map(fault).collect(), Exit::Usage)
    })
}

/// Folders and files of policies: later ones come before earlier ones.
fn places(args: &ArgMatches) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or(home);
    // Usually there is none.
    places.extend(
        config
            .map(|config| config.join("fathom/policies"))
            .filter(|path| path.is_dir()),
    );
    if let Some(list) = std::env::var_os(VARIABLE) {
        places.extend(std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()));
    }
    places.extend(
        args.get_many::<String>("catalogue")
            .into_iter()
            .flatten()
            .map(PathBuf::from),
    );
    places
}

/// Name and text of a file, or of every policy file of a folder in the order of their names.
fn texts(path: &Path) -> Result<Vec<(String, String)>, Fault> {
    let failed = |error: std::io::Error| Fault::of_file("read", path, &error);
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let entries = fs::read_dir(path).map_err(failed)?;
        files = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
    }
    let read = |file: PathBuf| {
        let text =
            user_file::read_text(&file, user_file::MAX_TEXT).map_err(|error| Fault::of_file("read", &file, &error))?;
        Ok((file.display().to_string(), text))
    };
    files.into_iter().map(read).collect()
}

/// Today's date, which tells what is old.
pub fn today() -> Date {
    let now = Zoned::now();
    Date::day(now.year(), now.month(), now.day())
}
