//! Reads the rules whose findings are silenced.

use crate::fault::{Fault, Faults};

/// Reads the rules in `FATHOM_SILENCE`, which all commands and the drop-in modes use.
pub fn from_env() -> Vec<String> {
    let text = std::env::var("FATHOM_SILENCE").unwrap_or_default();
    let names = text.split([',', ' ']).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// The `--silence` option.
#[derive(clap::Args)]
pub struct SilenceArgs {
    /// Silence these rules (docs/lint.md); also FATHOM_SILENCE
    #[arg(long, value_name = "RULE,…")]
    silence: Vec<String>,
}

/// Reads the rules of `--silence` and of `FATHOM_SILENCE`.
///
/// # Errors
/// A rule is unknown; the help suggests one.
pub fn from_args(args: &SilenceArgs) -> Result<Vec<String>, Faults> {
    let names = args.silence.iter().flat_map(|value| value.split(',')).map(str::trim);
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    for name in &names {
        let is_known = analysis::lint::rule_names().any(|rule| rule.eq_ignore_ascii_case(name));
        if !is_known {
            let fault = Fault::new(format!("unknown rule `{name}`"));
            let wanted = name.to_ascii_uppercase();
            let near = dialects::nearest(&wanted, analysis::lint::rule_names());
            let help = near.map_or("docs/lint.md lists the rules".to_owned(), |near| {
                format!("did you mean {near}?")
            });
            return Err(fault.into_usage(help));
        }
    }
    names.extend(from_env());
    Ok(names)
}
