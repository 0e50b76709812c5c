//! Flushes at the end of a job, outside all latencies.

use engine::{Action, Request, Slot, os_error_name, sys};
use model::plan::{FlushKind, SyncRule, Worker as WorkerPlan};
use model::results::Failure;
use model::{Direction, Nanos};

use super::features::{Features, flush};
use super::io_loop::IoLoop;

/// Performs the plan's flushes at the end of the job.
pub(super) fn flush_at_end(
    io: &mut IoLoop,
    mut features: Option<&mut Features>,
    plan: &WorkerPlan,
) -> Result<(), Box<Failure>> {
    for (number, stream) in plan.streams.iter().enumerate() {
        let writes = stream.mix.includes(Direction::Write) || stream.mix.includes(Direction::Trim);
        let sync = &stream.sync;
        // Sessions flush the files of a tree.
        let has_tree = stream.files.is_some();
        if !writes || has_tree || !(sync.at_end || sync.on_close || sync.file_system_at_end) {
            continue;
        }
        let open = match &features {
            Some(features) => features.list_open_files(io, number),
            None => vec![io.streams[number].file],
        };
        for file in open {
            flush_open(io, features.as_deref_mut(), file, sync)?;
        }
        // Files that are flushed on close are flushed already.
        if sync.at_end
            && let Some(features) = &features
        {
            let closed = features.list_closed_files(number).into_iter();
            closed.into_iter().try_for_each(|target| flush(target, sync.kind))?;
        }
    }
    Ok(())
}

/// Flushes a file of the engine.
fn flush_open(
    io: &mut IoLoop,
    features: Option<&mut Features>,
    file: u16,
    sync: &SyncRule,
) -> Result<(), Box<Failure>> {
    let action = match sync.kind {
        FlushKind::Data => Action::FlushData,
        FlushKind::Full => Action::Flush,
    };
    let request = Request::flush(file, Slot(0), action);
    if let Some(features) = features {
        features.files.watchers.on_queued(io, &request);
    }
    let path = io.errors.path(file).to_owned();
    let result = match io.engine.submit_and_reap(&[request], 1, Nanos::NEVER, &mut io.batch) {
        Ok(()) => io.batch.done.first().map_or(0, |completion| completion.result),
        Err(error) => -i64::from(error.errno().unwrap_or(sys::file::IO_ERROR)),
    };
    let result = match (result, sync.file_system_at_end) {
        (0, true) => {
            sys::file::open_without_waiting(path.as_ref()).and_then(|file| sys::file::flush_file_system(&file))
        }
        (0, false) => Ok(()),
        (errno, _) => Err(std::io::Error::from_raw_os_error((-errno) as i32)),
    };
    result.map_err(|error| {
        let errno = error.raw_os_error();
        let why = errno.map_or_else(String::new, os_error_name);
        Box::new(Failure {
            errno,
            ..Failure::new(format!("the final flush failed: {why}"), path)
        })
    })
}
