//! Closes and reopens targets after some operations (Iometer's test connection rate).

use engine::{EngineError, File, OpenOptions};
use model::Nanos;
use model::plan::EngineKind;
use model::results::Failure;

use super::FileWatchers;
use crate::worker::io_loop::IoLoop;
use crate::worker::setup::{Assignment, OpenedFiles, open_target};
use crate::worker::{CellKey, CellKind, ReadyTarget};

/// The targets of a worker that are reopened.
#[derive(Debug)]
pub(crate) struct Reopening(Vec<Connection>);

/// An open file of the engine that is reopened after `operations_max` operations.
#[derive(Debug)]
struct Connection {
    file: u16,
    /// Number of the target.
    id: u32,
    target: ReadyTarget,
    options: OpenOptions,
    priority: u16,
    engine: EngineKind,
    /// Streams that use it. The cell of the first one counts the connections.
    streams: Vec<usize>,
    cell: u32,
    operations_max: u32,
    /// Operations until it is closed.
    operations_left: u32,
    in_flight: u32,
    /// When its opening began; absent before its first operation.
    opened: Option<Nanos>,
}

impl Reopening {
    pub(crate) fn from_plan(assignment: &Assignment<'_>, keys: &[CellKey], opened: &OpenedFiles) -> Option<Reopening> {
        let mut connections: Vec<Connection> = Vec::new();
        for (number, (stream, files)) in assignment.worker.streams.iter().zip(&opened.streams).enumerate() {
            let (Some(operations_max), [id]) = (stream.reopen_every, stream.target.ids()) else {
                continue;
            };
            let file = files.first();
            if let Some(connection) = connections.iter_mut().find(|connection| connection.file == file) {
                connection.streams.push(number);
                continue;
            }
            let is_own = |key: &CellKey| key.stream as usize == number && key.kind == CellKind::Connection;
            connections.push(Connection {
                file,
                id: id.0,
                target: assignment.targets[id.0 as usize].clone(),
                options: files.options,
                priority: files.priority,
                engine: assignment.worker.engine.kind,
                streams: vec![number],
                cell: keys.iter().position(is_own).unwrap_or_default() as u32,
                operations_max,
                operations_left: 0,
                in_flight: 0,
                opened: None,
            });
        }
        (!connections.is_empty()).then_some(Reopening(connections))
    }

    /// True if the targets of a pool accept another operation. Reopens a target after its last
    /// operation has completed.
    pub(super) fn keep_open(&mut self, io: &mut IoLoop, watchers: &mut FileWatchers, pool: usize) -> bool {
        let streams = io.pools[pool].streams.clone();
        for connection in &mut self.0 {
            if connection.operations_left > 0 || !connection.streams.iter().any(|number| streams.contains(number)) {
                continue;
            }
            if connection.in_flight > 0 {
                return false;
            }
            if let Err(failure) = connection.reopen(io, watchers) {
                io.fail(*failure);
                return false;
            }
        }
        true
    }

    pub(super) fn on_issued(&mut self, file: u16) {
        for connection in self.0.iter_mut().filter(|connection| connection.file == file) {
            connection.operations_left -= 1;
            connection.in_flight += 1;
        }
    }

    pub(super) fn on_completed(&mut self, file: u16) {
        for connection in self.0.iter_mut().filter(|connection| connection.file == file) {
            connection.in_flight -= 1;
        }
    }
}

impl Connection {
    fn reopen(&mut self, io: &mut IoLoop, watchers: &mut FileWatchers) -> Result<(), Box<Failure>> {
        let failed = |error: String, errno: Option<i32>| {
            let what = format!("cannot reopen the target: {error}");
            Box::new(Failure {
                errno,
                ..Failure::new(what, self.target.name())
            })
        };
        let engine_failure = |error: EngineError| failed(error.to_string(), error.errno());
        io.engine
            .exchange_file(self.file, File::placeholder(0))
            .map_err(engine_failure)?;
        let closed = io.engine.now();
        if let Some(opened) = self.opened {
            io.recorder.count_one(self.cell, 0, opened, opened, closed);
        }
        let mut reopened = open_target(&self.target, self.options, self.engine)
            .map_err(|error| failed(error.to_string(), error.source.raw_os_error()))?;
        reopened
            .set_priority(self.priority)
            .map_err(|error| failed(error.to_string(), error.raw_os_error()))?;
        io.engine.exchange_file(self.file, reopened).map_err(engine_failure)?;
        watchers.on_exchanged(io, self.file, (self.id, &self.target));
        for number in &self.streams {
            io.streams[*number].sequence.restart(&mut io.draws);
        }
        (self.opened, self.operations_left) = (Some(closed), self.operations_max);
        // The time to open the target is not part of any latency.
        io.start_new_round();
        Ok(())
    }
}
