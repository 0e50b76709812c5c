//! A trace of what a job issues, written while it runs in fio's form, so that it can be replayed
//! again.

use model::Nanos;
use model::plan::{Job, Plan, TargetId};
use model::trace::iolog::{Action, HEADER, put_line};

use crate::line_log::{self, Form, LineLog};

/// The trace of one job.
pub(crate) type IssueTrace = LineLog<Line>;
/// A worker's end of it.
pub(crate) type LogWriter = line_log::LogWriter<Line>;

/// What happened to a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// From the start of the job.
    pub(crate) at: Nanos,
    /// Number of the target.
    pub(crate) target: u32,
    pub(crate) action: Action,
    /// Offset and length, for what has a place.
    pub(crate) place: Option<(u64, u32)>,
}

/// How the trace of a job is written: behind what is in the file, as fio does it. The files of all
/// its workers come first.
pub(crate) fn form(plan: &Plan, job: &Job) -> Form {
    let names: Vec<String> = plan.targets.iter().map(|target| target.path.clone()).collect();
    let streams = job.workers.iter().flat_map(|worker| &worker.streams);
    let mut ids: Vec<TargetId> = streams.flat_map(|stream| stream.target.ids().iter().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut preface = Vec::new();
    for id in ids {
        put_line(&mut preface, 0, &names[id.0 as usize], Action::Add, None);
    }
    Form {
        name: "trace",
        header: HEADER,
        preface,
        appends: true,
        names,
    }
}

impl line_log::Line for Line {
    const NOTHING: Line = Line {
        at: Nanos(0),
        target: 0,
        action: Action::Add,
        place: None,
    };

    fn put(&self, _: usize, form: &Form, text: &mut Vec<u8>) {
        let name = form.names.get(self.target as usize).map_or("", String::as_str);
        put_line(text, self.at.0 / 1000, name, self.action, self.place);
    }
}
