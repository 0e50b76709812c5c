//! Decides which failed and short operations the plan tolerates, and reports them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{File, Slot, os_error_name, sys};
use model::plan::{ErrorPolicy, FileOperation, FileTree};
use model::results::{BECAME_SHORTER, FailedOperation, Failure};
use model::{Bytes, Direction, Nanos};

use super::io_loop::IoLoop;
use super::recorder::OperationRun;
use super::setup::Assignment;
use super::slots::SlotRecord;

/// Maximum number of tolerated failures to report; further ones are only counted.
const MAX_TOLERATED: usize = 100;

/// The failures of a worker, and the data for their messages.
#[derive(Debug)]
pub(crate) struct ErrorLog {
    /// The failure that ends the worker.
    pub(crate) failure: Option<Failure>,
    /// Tolerated failures to report.
    pub(crate) tolerated: Vec<Failure>,
    /// Each file of the engine.
    pub(crate) files: Vec<FileLabel>,
    /// Error count that the workers of the step share, for `errors_max`.
    step_errors: Arc<AtomicU64>,
    /// Each stream's rules.
    policies: Vec<ErrorPolicy>,
    /// `creation`, `look-up` or `removal`, for engines that work on names.
    operation_noun: Option<&'static str>,
    /// The tree of file operations, whose positions encode files.
    tree: Option<FileTree>,
}

/// A file of the engine, as messages need it.
#[derive(Clone, Debug)]
pub(crate) struct FileLabel {
    pub(crate) path: String,
    /// The alignment of offsets and lengths with direct I/O.
    alignment: Option<u64>,
}

impl ErrorLog {
    pub(crate) fn new(assignment: &Assignment<'_>, files: &[File]) -> ErrorLog {
        let plan = assignment.worker;
        ErrorLog {
            failure: None,
            tolerated: Vec::new(),
            step_errors: Arc::clone(assignment.errors),
            files: files.iter().map(FileLabel::from).collect(),
            policies: plan.streams.iter().map(|stream| stream.on_error.clone()).collect(),
            operation_noun: plan.engine.kind.operation_noun(),
            tree: assignment.tree().map(|(tree, _)| tree.shape.clone()),
        }
    }

    /// The path of a file of the engine.
    pub(crate) fn path(&self, file: u16) -> &str {
        &self.files[usize::from(file)].path
    }

    /// The location of an operation, in words.
    pub(crate) fn describe_location(&self, record: &SlotRecord) -> String {
        let (path, offset) = (self.path(record.file), record.offset);
        if let Some(tree) = &self.tree {
            return format!("{path}/{}", tree.operation_path(FileOperation::unpack(offset)));
        }
        format!("{path}, {} bytes at offset {offset}", record.length)
    }

    /// The name of an operation in messages.
    fn operation_name(&self, record: &SlotRecord, direction: Option<Direction>) -> &'static str {
        match &self.tree {
            Some(_) => FileOperation::unpack(record.offset).kind.name(),
            None => self
                .operation_noun
                .unwrap_or(direction.map_or("flush", Direction::word)),
        }
    }

    pub(crate) fn failed_operation(&self, slot: Slot, record: &SlotRecord, direction: Direction) -> FailedOperation {
        FailedOperation {
            slot: slot.0,
            stream: record.stream,
            direction,
            path: match &self.tree {
                Some(_) => self.describe_location(record),
                None => self.path(record.file).to_owned(),
            },
            offset: Bytes(if self.tree.is_some() { 0 } else { record.offset }),
            length: record.length,
            too_slow: None,
        }
    }
}

impl From<&File> for FileLabel {
    fn from(file: &File) -> FileLabel {
        FileLabel {
            path: file.path().display().to_string(),
            alignment: file.options().cache.direct.then(|| file.direct_alignment()),
        }
    }
}

impl IoLoop {
    /// Ends the worker with this failure, unless it has already failed. Nothing more is submitted,
    /// and the phase ends after the current loop iteration.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.errors.failure.get_or_insert(failure);
        self.stop_submitting();
    }

    /// The direction of an operation; absent for a flush.
    pub(crate) fn slot_direction(&self, record: &SlotRecord) -> Option<Direction> {
        self.recorder.cells[record.key as u32 as usize].direction
    }

    /// Counts a short or tolerated operation; any other failure ends the worker.
    #[inline(never)]
    pub(crate) fn reap_failed_or_short(&mut self, slot: Slot, result: i64, reaped: Nanos) {
        let record = *self.slots.get(slot);
        let direction = self.slot_direction(&record);
        if result > 0 {
            let mut run = OperationRun::starting_with(&record);
            (run.operations, run.bytes) = (1, result as u64);
            self.recorder.count(&run, reaped);
            self.recorder.cells[record.key as u32 as usize].short += 1;
            return;
        }
        let errno = (-result) as i32;
        let at_end_of_file = result == 0;
        if !at_end_of_file && self.try_tolerate(slot, &record, direction, errno) {
            return;
        }
        let operation_name = self.errors.operation_name(&record, direction);
        let (message, help) = if at_end_of_file {
            (
                format!("{operation_name} transferred no data: {BECAME_SHORTER}"),
                Some("find the program that truncates or replaces it".to_owned()),
            )
        } else {
            let alignment = self.errors.files[usize::from(record.file)].alignment;
            (
                format!("{operation_name} failed: {}", os_error_name(errno)),
                help_for(errno, &record, alignment),
            )
        };
        let failure = Failure {
            what: message,
            location: self.errors.describe_location(&record),
            errno: (!at_end_of_file).then_some(errno),
            operation: direction.map(|direction| self.errors.failed_operation(slot, &record, direction)),
            help,
        };
        self.fail(failure);
    }

    /// Counts a failed operation whose error the plan tolerates or treats as a regular end. Returns
    /// false for any other error.
    pub(crate) fn try_tolerate(
        &mut self,
        slot: Slot,
        record: &SlotRecord,
        direction: Option<Direction>,
        errno: i32,
    ) -> bool {
        let errors = &mut self.errors;
        let policy = &errors.policies[record.stream as usize];
        let tolerated = match direction {
            Some(Direction::Read) => &policy.tolerate_read,
            _ => &policy.tolerate_write,
        };
        let is_target_full = policy.stop_when_full && [sys::file::NO_SPACE, sys::file::OVER_QUOTA].contains(&errno);
        let count_and_check_limit = |max| errors.step_errors.fetch_add(1, Ordering::Relaxed) + 1 < max;
        if !is_target_full && !tolerated.contains(&errno) && !policy.errors_max.is_some_and(count_and_check_limit) {
            return false;
        }
        if (is_target_full || policy.report_tolerated) && errors.tolerated.len() < MAX_TOLERATED {
            let operation_name = errors.operation_name(record, direction);
            errors.tolerated.push(Failure {
                errno: Some(errno),
                operation: direction.map(|direction| errors.failed_operation(slot, record, direction)),
                ..Failure::new(
                    format!("{operation_name} failed: {}", os_error_name(errno)),
                    errors.describe_location(record),
                )
            });
        }
        self.count_error(record, errno);
        if is_target_full {
            self.stop_submitting();
        }
        true
    }

    /// Counts an error of an operation that does not end the worker.
    pub(crate) fn count_error(&mut self, record: &SlotRecord, errno: i32) {
        let cell = &mut self.recorder.cells[record.key as u32 as usize];
        cell.errors += 1;
        cell.first_error.get_or_insert(errno);
    }
}

/// The remedy for a failed operation, if the error number suggests one.
fn help_for(errno: i32, record: &SlotRecord, alignment: Option<u64>) -> Option<String> {
    let text = match errno {
        sys::file::NO_SPACE => "free some space, or set a smaller size".to_owned(),
        sys::file::OVER_QUOTA => {
            "the quota of this user is exhausted; use a smaller size or another location".to_owned()
        }
        sys::file::TOO_LARGE => "the file size limit is reached; raise `ulimit -f` or use a smaller size".to_owned(),
        sys::file::IO_ERROR => "the device or file system reported an error; check `dmesg` and the health of the \
             device"
            .to_owned(),
        sys::file::INVALID => {
            let alignment = alignment?;
            if record.offset.is_multiple_of(alignment) && u64::from(record.length).is_multiple_of(alignment) {
                return None;
            }
            format!(
                "direct I/O on this target needs offsets and lengths that are multiples of {alignment} bytes; choose \
                 such a block size, or use the page cache"
            )
        }
        sys::file::ACCESS_DENIED => {
            "this user lacks the permission; choose another location, or run as root".to_owned()
        }
        sys::file::NOT_SUPPORTED => "the target does not support this operation".to_owned(),
        sys::file::NOT_PERMITTED | sys::file::READ_ONLY => "the target cannot be written to".to_owned(),
        _ => return None,
    };
    Some(text)
}
