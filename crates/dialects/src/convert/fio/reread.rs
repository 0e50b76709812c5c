//! Parses generated fio text again. Files and sizes come from the original plan.

use std::io::Cursor;

use model::plan::{Plan, Stream};
use model::trace::iolog::HEADER;

use crate::convert::compare::is_device;
use crate::fio::{self, Disk, LowerEnv, ParseEnv, ParseOutcome, PathFacts, PathKind, TraceFile};

/// Parses and lowers a command line.
///
/// # Errors
/// Why it is refused.
pub(super) fn lower_arguments(plan: &Plan, arguments: &[String]) -> Result<Plan, String> {
    let jobs = match fio::read("fio", arguments, &mut NullEnv) {
        ParseOutcome::Run(jobs) => jobs,
        ParseOutcome::End(end) => return Err(end.read.stderr().collect::<Vec<_>>().join("; ")),
    };
    let env = LowerEnv {
        arguments: &[],
        disk: &PlanDisk(plan),
        fresh_seed: 0,
        process: 0,
        utc_offset_s: 0,
        client: None,
    };
    let lowered = fio::lower(&jobs, env).map_err(|problems| {
        let problems = problems.iter().map(ToString::to_string);
        problems.collect::<Vec<_>>().join("; ")
    })?;
    Ok(lowered.plan)
}

/// An environment without files, variables or a machine.
struct NullEnv;

impl ParseEnv for NullEnv {
    fn read_job_file(&mut self, _: &str) -> Result<String, String> {
        Err("a generated job file includes no other".into())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn is_directory(&self, _: &str) -> Result<bool, String> {
        Ok(true)
    }

    fn open_output(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn page_size(&self) -> u64 {
        4096
    }

    fn processors(&self) -> u64 {
        1
    }

    fn memory_mib(&self) -> u64 {
        0
    }
}

/// The files of a plan, if the plan describes them.
struct PlanDisk<'a>(&'a Plan);

impl PlanDisk<'_> {
    /// Finds the stream that replays a trace.
    fn replaying(&self, path: &str) -> Option<&Stream> {
        let mut streams = self.0.workers().flat_map(|worker| &worker.streams);
        streams.find(|stream| stream.replay.as_ref().is_some_and(|replay| replay.trace == path))
    }

    /// A minimal trace with the files, directions and lengths that the plan knows.
    fn build_minimal_trace(&self, stream: &Stream) -> String {
        let mut text = HEADER.to_owned();
        for id in stream.target.ids() {
            let path = &self.0.target(*id).path;
            text += &format!("0 {path} add\n0 {path} open\n");
            for direction in stream.mix.directions() {
                let sizes = &stream.pattern.sizes[direction];
                for length in [sizes.min(), sizes.max()] {
                    text += &format!("0 {path} {} 0 {}\n", direction.word(), length.0);
                }
            }
        }
        text
    }
}

impl Disk for PlanDisk<'_> {
    fn find(&self, path: &str) -> Option<PathFacts> {
        is_device(path).then_some(PathFacts {
            kind: PathKind::Device,
            size: 0,
        })
    }

    fn is_complete(&self) -> bool {
        false
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("{path} is not opened"))
    }

    fn list_files_below(&self, folder: &str) -> Result<Vec<String>, String> {
        Err(format!("{folder} is not opened"))
    }

    fn trace(&self, path: &str) -> Result<TraceFile, String> {
        let stream = self.replaying(path).ok_or("no such trace")?;
        Ok(TraceFile {
            path: path.to_owned(),
            bytes: Box::new(Cursor::new(self.build_minimal_trace(stream))),
        })
    }

    fn device(&self, _: u32, _: u32) -> Option<String> {
        None
    }
}
