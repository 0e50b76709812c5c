//! `merge_blktrace_file`: merges the traces of a job before it runs.

use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use archive::write_whole_with;
use dialects::fio::options::replay::Replay;
use dialects::fio::{Jobs, values};
use model::trace::{MergeError, MergeInput};

use crate::user_file;

/// Merges the traces of all jobs, and each set of traces only once.
///
/// # Errors
/// The message, if a trace cannot be read or written.
pub(super) fn merge(jobs: &Jobs, stop: &AtomicBool) -> Result<(), String> {
    let mut done: Vec<&Replay> = Vec::new();
    for job in &jobs.jobs {
        let replay: &Replay = &job.options.replay;
        if done.contains(&replay) {
            continue;
        }
        if let Some(path) = &replay.merge_blktrace_file {
            merge_one(replay, path, stop)?;
        }
        done.push(replay);
    }
    Ok(())
}

fn merge_one(replay: &Replay, path: &str, stop: &AtomicBool) -> Result<(), String> {
    let Some(list) = &replay.read_iolog else {
        return Err("fio: merge_blktrace_file needs the traces to merge in read_iolog".into());
    };
    let names = values::split_names(list);
    let percents = value_per_trace(
        "merge_blktrace_scalars",
        &replay.merge_blktrace_scalars,
        names.len(),
        100.0,
    )?;
    let iterations = value_per_trace("merge_blktrace_iters", &replay.merge_blktrace_iters, names.len(), 1.0)?;
    if let Some(wrong) = iterations.iter().find(|count| count.fract() != 0.0 || **count < 1.0) {
        return Err(format!(
            "fio: merge_blktrace_iters: invalid value {wrong}: use 1 or more"
        ));
    }
    let is_output_file = |name: &&String| match (Path::new(name).canonicalize(), Path::new(path).canonicalize()) {
        (Ok(input), Ok(output)) => input == output,
        _ => false,
    };
    if let Some(input) = names.iter().find(is_output_file) {
        return Err(format!(
            "fio: merge_blktrace_file: {path} is the input {input}: use another file"
        ));
    }
    let weighted_inputs = names.iter().zip(percents).zip(iterations);
    let inputs: Vec<_> = weighted_inputs
        .map(|((name, time_percent), iterations)| MergeInput {
            open: Box::new(move || Ok(Box::new(user_file::open(name.as_ref())?) as Box<dyn Read>)),
            time_percent,
            iterations: iterations as u32,
        })
        .collect();
    let written = write_whole_with(path.as_ref(), |file| {
        let mut out = BufWriter::new(file);
        model::trace::merge(&inputs, &mut out, stop)?;
        out.flush().map_err(MergeError::from)
    });
    written.map_err(
        |MergeError { input, error }| match input.and_then(|index| names.get(index)) {
            Some(name) => format!("fio: read_iolog: {name}: {error}"),
            None => format!("fio: merge_blktrace_file: {path}: {error}"),
        },
    )
}

/// Reads a list with one value for each trace; an empty list means the default.
fn value_per_trace(option: &str, list: &[f64], traces: usize, default: f64) -> Result<Vec<f64>, String> {
    match list.len() {
        0 => Ok(vec![default; traces]),
        count if count == traces => Ok(list.to_vec()),
        count => Err(format!("fio: {option}({count}) != nr_logs({traces})")),
    }
}
