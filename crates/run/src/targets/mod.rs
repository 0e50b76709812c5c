//! Targets before and after a run.

pub mod guard;
