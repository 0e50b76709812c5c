//! The native dialect: flags of `fathom run` and keys of its job files, which are the same.
//!
//! The table [`options()`] has a row for each; flags, keys, help, man page and completions come
//! from it.

mod caps;
pub mod files;
mod jobfile;
mod lower;
mod options;
pub mod presets;
pub(crate) mod simulated;
mod spec;
pub mod suite;
mod values;

pub(crate) use caps::cap_text;
pub use caps::{parse_cap, parse_name, parse_path};
pub use jobfile::{normalize_objective, read_job_file};
pub use lower::lower;
pub(crate) use lower::{IO_ERROR, visits_each_block_once};
pub use options::{Group, NativeOption, find, option_called, options};
pub use spec::{Document, JobSpec, PartSpec, SimulatedSpec};

use crate::diagnostic::{Diagnostic, Location};
use crate::nearest::nearest;

/// Rewrites a line of a job file as a flag: `read = 70` as `--read 70`.
fn to_flag(line: &str) -> String {
    let Some((name, value)) = line.split_once(" = ") else {
        return line.to_owned();
    };
    let value = value.trim_matches('"');
    match value {
        "true" => format!("--{name}"),
        _ if value.contains(' ') => format!("--{name} '{value}'"),
        _ => format!("--{name} {value}"),
    }
}

/// Applies an option to a job. The error names the location of an unknown option or a wrong value.
pub fn apply(
    job: &mut JobSpec,
    name: &str,
    value: &str,
    location: impl FnOnce() -> Location,
) -> Result<(), Diagnostic> {
    let Some(option) = find(name) else {
        let problem = Diagnostic::new(format!("unknown option `{name}`")).at(location());
        return Err(match nearest(name, options().map(|option| option.name)) {
            Some(suggestion) => problem.help(format!("did you mean `{suggestion}`?")),
            None => problem.help("`fathom run --help` lists them"),
        });
    };
    job.written.insert(option.name);
    (option.set)(job, value).map_err(|why| {
        let location = location();
        let example = match location.line {
            0 => to_flag(option.example),
            _ => option.example.to_owned(),
        };
        let problem = Diagnostic::new(format!("`{name}`: {why}")).at(location);
        problem.help(format!("{} Example: {example}", option.help))
    })
}
