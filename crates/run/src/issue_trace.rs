//! Writes a trace of a job's operations in fio's format during the run, for replay.

use model::Nanos;
use model::plan::{Job, Plan, TargetId};
use model::trace::iolog::{Action, HEADER, append_line};

use crate::line_log::{self, LogFormat};

/// A worker's writer.
pub(crate) type LogWriter = line_log::LogWriter<Line>;

/// An action on a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Time since the start of the job.
    pub(crate) at: Nanos,
    /// Number of the target.
    pub(crate) target: u32,
    pub(crate) action: Action,
    /// Offset and length of a transfer.
    pub(crate) place: Option<(u64, u32)>,
}

/// The format of a job's trace. As in fio, it is appended to the file, and the files of all workers
/// come first.
pub(crate) fn log_format(plan: &Plan, job: &Job) -> LogFormat {
    let names: Vec<String> = plan.targets.iter().map(|target| target.path.clone()).collect();
    let streams = job.workers.iter().flat_map(|worker| &worker.streams);
    let mut ids: Vec<TargetId> = streams.flat_map(|stream| stream.target.ids().iter().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut preface = Vec::new();
    for id in ids {
        append_line(&mut preface, 0, &names[id.0 as usize], Action::Add, None);
    }
    LogFormat {
        name: "trace",
        header: HEADER,
        preface,
        appends: true,
        names,
    }
}

impl line_log::Line for Line {
    const PLACEHOLDER: Line = Line {
        at: Nanos(0),
        target: 0,
        action: Action::Add,
        place: None,
    };

    fn put(&self, _: usize, log_format: &LogFormat, text: &mut Vec<u8>) {
        let name = log_format.names.get(self.target as usize).map_or("", String::as_str);
        append_line(text, self.at.0 / 1000, name, self.action, self.place);
    }
}
