//! What results mean: pure functions from a plan, its results and the environment to findings.
//!
//! Nothing here opens a file, reads a clock or prints; the truth about a machine arrives in [`model::environment`].

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
