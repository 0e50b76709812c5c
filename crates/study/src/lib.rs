//! Studies: questions that take several runs to answer, and what results of any tool mean.
//!
//! A study makes a plan, lets `run` carry it out and says what came of it. It prints nothing and keeps nothing.
//!
//! What several runs found is a [`model::study::Study`], from which every report is made again. `sweep` decides from what was
//! measured which point comes next; `explain` speaks about results that exist already, of any tool.

#![forbid(unsafe_code)]

pub mod ab;
pub mod anti_patterns;
pub mod capture;
pub mod confirm;
pub mod diagnosis;
pub mod explain;
pub mod precondition;
pub mod quick;
pub mod selftest;
pub mod suite;
pub mod sweep;
pub mod verify;

mod figures;
mod numbers;
