//! The judgement against truths that are known: each scenario describes a simulated device, a load
//! and what was said about limits, and the answer that is right. The truth lives in
//! `diagnosis.toml` and `verdict.toml` alone; the load runs through the real engine loop on the
//! simulated clock, and the judge sees the results and nothing else.

mod diagnosis;
mod repeat;
mod scenario;
mod verdict;
