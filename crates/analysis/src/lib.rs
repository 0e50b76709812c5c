//! Judges results: pure functions from a plan, its results and the environment to findings.
//!
//! This crate opens no files, reads no clocks and prints nothing; [`model::environment`] contains
//! the facts about a machine.
//!
//! [`checks`] validates every result; `docs/measuring.md` has a section for each check. [`lint`]
//! examines a test before it runs. [`diagnosis`] names the bottleneck: an ordered list of causes,
//! one file each, tested on scenarios with a known cause. `attribution` decides what caused each
//! missed second of a paced load, and `shifts` whether the window was stationary; verdicts and
//! diagnoses use both. [`policies`] is the catalogue of provider promises, as data files with
//! formulas. [`requirement`] parses clauses, and `verdict` judges an observation by them.

#![forbid(unsafe_code)]

pub mod attribution;
pub mod baseline;
pub mod calc;
pub mod caps;
pub mod checks;
pub mod compare;
pub mod knee;
pub mod limit_use;
pub mod lint;

pub mod diagnosis;
mod figures;
pub mod identities;
pub mod policies;
pub mod requirement;
pub mod shared_limits;
pub mod shifts;
pub mod verdict;

pub use checks::{LevelChange, check, level_changes};
pub use diagnosis::find_dips;
pub use figures::{format_change, round_to_three_digits};
pub use shifts::find_stalls;
