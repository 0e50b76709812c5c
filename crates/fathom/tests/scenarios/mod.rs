//! Diagnosis and verdict on simulated devices with a known cause. Each scenario describes a device,
//! a load, the declared limits and the correct answer. The answers are only in `diagnosis.toml` and
//! `verdict.toml`. The load runs through the real engine loop on the simulated clock, and is judged
//! by its results alone.

mod diagnosis;
mod repeat;
mod scenario;
mod verdict;
