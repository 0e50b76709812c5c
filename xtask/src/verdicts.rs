//! `cargo xtask verdicts`: how often `fathom verify` is right about simulated devices whose limits
//! are known.

use crate::command::{cargo, run};

/// Regenerates `docs/verdict-accuracy.md`.
///
/// # Errors
/// The arguments are wrong, or the test failed after it wrote the page.
pub(crate) fn verdicts(arguments: &[String]) -> Result<(), String> {
    let seeds = match arguments {
        [] => 100,
        [option, value] if option == "--seeds" => match value.parse::<u32>() {
            Ok(seeds) if seeds > 0 => seeds,
            _ => return Err(format!("--seeds {value}: not a number of seeds; try `--seeds 100`")),
        },
        _ => return Err("usage: cargo xtask verdicts [--seeds N]".into()),
    };
    let mut test = cargo();
    test.args([
        "test", "-p", "fathom-study", "--profile", "simulate", "--test", "verdicts",
    ]);
    run(test.env("FATHOM_SEEDS", seeds.to_string()).env("FATHOM_UPDATE", "1"))
}
