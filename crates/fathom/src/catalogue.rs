//! The policy catalogue with the user's own files, and the options that describe a disk.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::policies::{Catalogue, Date, Inputs, Origin, Policy, PolicyFileError, ResolvedPolicy};
use clap::ValueHint;
use jiff::Zoned;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::user_file;

/// Environment variable that names policy files or directories, separated as in `PATH`.
const VARIABLE: &str = "FATHOM_POLICIES";
/// The argument of [`CatalogueArgs`].
pub const ARGUMENT: &str = "catalogue";

/// Flags that name policy files.
#[derive(clap::Args, Default)]
pub struct CatalogueArgs {
    /// Add your own policy files, or a directory of them
    #[arg(
        long,
        value_name = "PATH",
        value_hint = ValueHint::AnyPath,
        long_help = "Your own policy files, or a directory of them; an entry replaces the built-in one \
            of the same name. Files in FATHOM_POLICIES, and in fathom/policies below \
            XDG_CONFIG_HOME or ~/.config, do the same.",
    )]
    catalogue: Vec<PathBuf>,
}

/// Help heading of [`InputArgs`].
const INPUT_HEADING: &str = "Policy inputs";

/// Flags that describe a disk.
#[derive(clap::Args)]
pub struct InputArgs {
    /// Provisioned size, such as 500GiB
    #[arg(long, value_name = "SIZE", help_heading = INPUT_HEADING)]
    size: Option<String>,
    /// Provisioned operations per second
    #[arg(long, value_name = "NUMBER", help_heading = INPUT_HEADING)]
    iops: Option<String>,
    /// Provisioned throughput, in the vendor's unit
    #[arg(long, value_name = "NUMBER", help_heading = INPUT_HEADING)]
    mbps: Option<String>,
    /// Row of the policy's table, such as P30
    #[arg(long, value_name = "NAME", help_heading = INPUT_HEADING)]
    tier: Option<String>,
    /// Any other input of the policy
    #[arg(
        long,
        value_name = "NAME=VALUE",
        help_heading = INPUT_HEADING,
        long_help = "Any other input of the policy; `fathom policies NAME` lists them."
    )]
    set: Vec<String>,
}

/// Collects the policy inputs that the flags set.
///
/// # Errors
/// [`Faults`] if `--set` has no `=`.
pub fn parse_inputs(args: &InputArgs) -> Result<Inputs, Faults> {
    let own = [
        ("size", &args.size),
        ("iops", &args.iops),
        ("mbps", &args.mbps),
        ("tier", &args.tier),
    ];
    let own = own
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
    let mut inputs: Inputs = own.collect();
    inputs.extend(parse_pairs(&args.set)?);
    Ok(inputs)
}

/// Parses the values of `--set`.
///
/// # Errors
/// [`Faults`] if one has no `=`.
pub fn parse_pairs(pairs: &[String]) -> Result<Inputs, Faults> {
    let mut inputs = Inputs::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            let fault = Fault::new("an input needs a name and a value").at(format!("--set {pair}"));
            return Err(fault.into_usage("for example --set rpm=7200"));
        };
        inputs.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    Ok(inputs)
}

/// Loads the catalogue with the user's files. `also` is the file of a policy that was named by its
/// path.
///
/// # Errors
/// [`Faults`] for each file that cannot be read or parsed.
pub fn load_catalogue(args: &CatalogueArgs, also: Option<&Path>) -> Result<Catalogue, Faults> {
    let (mut files, mut faults) = (Vec::new(), Vec::new());
    for path in list_policy_paths(&args.catalogue)
        .into_iter()
        .chain(also.map(Path::to_owned))
    {
        match read_policy_files(&path) {
            Ok(paths) => files.extend(paths),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(Faults::many(faults, Exit::Refused));
    }
    Catalogue::with_user_files(&files).map_err(|faults| {
        let help = "`fathom policies NAME --toml` prints an entry as a template";
        let fault = |error: PolicyFileError| Fault::new(error.what).at(error.at).help(help);
        Faults::many(faults.into_iter().map(fault).collect(), Exit::Usage)
    })
}

/// The file of a policy, if the name is a path. Names in the catalogue have no extension.
pub fn policy_file(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    (name.ends_with(".toml") || path.is_file()).then_some(path)
}

/// Finds a policy by name, or takes the one in a file. The catalogue was loaded with that file;
/// `option` stands before the name in errors.
///
/// # Errors
/// The catalogue has no such policy.
pub fn find_policy<'a>(catalogue: &'a Catalogue, name: &str, option: &str) -> Result<&'a Policy, Faults> {
    let fault = |why: String| {
        Fault::new(why)
            .at(format!("{option}{name}"))
            .into_usage("`fathom policies` lists them")
    };
    match policy_file(name) {
        Some(path) => {
            let origin = Origin::User(path.display().to_string());
            let mut policies = catalogue.entries();
            policies
                .find(|policy| *policy.origin() == origin)
                .ok_or_else(|| fault("the file holds no policy".into()))
        }
        None => catalogue.find(name).map_err(fault),
    }
}

/// Resolves the policy of `--policy` with its inputs.
///
/// # Errors
/// [`Faults`] if there is no such policy, or an input is invalid.
pub fn resolve_policy(args: &CatalogueArgs, name: &str, inputs: &Inputs) -> Result<ResolvedPolicy, Faults> {
    let catalogue = load_catalogue(args, policy_file(name))?;
    let policy = find_policy(&catalogue, name, "--policy ")?;
    policy
        .resolve(inputs)
        .map_err(|error| Faults::usage(Fault::new(format!("{}: {error}", policy.id())).at(format!("--policy {name}"))))
}

/// Lists the user's policy directories and files. Later ones take precedence.
fn list_policy_paths(named: &[PathBuf]) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or(home);
    // Most users have no such directory.
    places.extend(
        config
            .map(|config| config.join("fathom/policies"))
            .filter(|path| path.is_dir()),
    );
    if let Some(list) = std::env::var_os(VARIABLE) {
        places.extend(std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()));
    }
    places.extend_from_slice(named);
    places
}

/// Lists the user's policy files, in addition to those `named` on the command line. Unreadable
/// directories have none.
pub fn list_policy_files(named: &[PathBuf]) -> Vec<PathBuf> {
    let lists = list_policy_paths(named)
        .into_iter()
        .filter_map(|path| expand_directory(&path).ok());
    lists.flatten().collect()
}

/// Lists the policy files of a directory in name order; a file is its own list.
fn expand_directory(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path)?.flatten().map(|entry| entry.path());
    let is_policy = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "toml");
    let mut files: Vec<PathBuf> = entries.filter(is_policy).collect();
    files.sort();
    Ok(files)
}

/// Reads a policy file, or every policy file of a directory in name order. Returns names with
/// texts.
fn read_policy_files(path: &Path) -> Result<Vec<(String, String)>, Fault> {
    let files = expand_directory(path).map_err(|error| Fault::for_file("read", path, &error))?;
    let read = |file: PathBuf| {
        let text =
            user_file::read_text(&file, user_file::MAX_TEXT).map_err(|error| Fault::for_file("read", &file, &error))?;
        Ok((file.display().to_string(), text))
    };
    files.into_iter().map(read).collect()
}

/// Today's date, to find outdated entries.
pub fn today() -> Date {
    let now = Zoned::now();
    Date::day(now.year(), now.month(), now.day())
}
