//! Studies: answers questions that take several runs, and explains results of any tool.
//!
//! A study makes a plan, `run` executes it, and the study interprets the results. It neither prints
//! nor saves anything.
//!
//! A [`model::study::Study`] holds the results of several runs, and every report can be produced
//! from it. `sweep` selects the next point from those measured so far; `explain` interprets
//! existing results of any tool.

#![forbid(unsafe_code)]

pub mod ab;
pub mod anti_patterns;
pub mod capture;
pub mod confirm;
pub mod crystal;
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
