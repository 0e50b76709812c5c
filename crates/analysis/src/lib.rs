//! What results mean: pure functions from a plan, its results and the environment to findings.
//!
//! Nothing here opens a file, reads a clock or prints; the truth about a machine arrives in [`model::environment`].
//!
//! [`checks`] has the self-checks that every result goes through; `docs/measuring.md` has a section for each. [`lint`]
//! examines a test before it runs. [`diagnosis`] says what limited a load: an ordered list of causes, a file for each, tested
//! on scenarios whose truth is known. `attribution` decides whose fault each missed second of a paced load was, `shifts`
//! whether the window was stationary; verdicts and diagnoses use both. [`policies`] is the catalogue of what storage
//! promises, as data files with formulas; [`requirement`] reads clauses, and `verdict` holds an observation against them.

#![forbid(unsafe_code)]

pub mod attribution;
pub mod baseline;
pub mod calc;
pub mod caps;
pub mod checks;
pub mod compare;
pub mod knee;
pub mod lint;

pub mod diagnosis;
mod figures;
pub mod identities;
pub mod policies;
pub mod requirement;
pub mod shared_limits;
pub mod shifts;
pub mod standing;
pub mod verdict;

pub use checks::{LevelChange, check, level_changes};
