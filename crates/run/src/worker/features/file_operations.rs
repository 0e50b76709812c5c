//! Operations on the files of a tree. Selects the next operation and its file, and counts
//! completed operations.

use std::sync::Arc;
use std::time::Duration;

use engine::{Request, Slot};
use model::Direction;
use model::access::Bijection;
use model::draws::{Draws, Purpose};
use model::plan::{
    Existence, FileOperation, FileOperationKind, FilePart, FileTree, FileWork, SessionTransfers, pick_size,
};
use model::sequence::Operation;

use super::{EndedOperation, KeyBlocks, NextOperation};
use crate::file_claims::{FileClaims, FileState};
use crate::worker::io_loop::{IoLoop, action_for};
use crate::worker::recorder::{CellKey, CellKind};
use crate::worker::setup::Assignment;

/// Maximum number of random draws before all files are tried in order.
const MAX_RANDOM_TRIES: u32 = 32;
/// The pause of a worker that waits for others to create or remove files.
const SUPPLY_PAUSE: Duration = Duration::from_micros(100);

/// The operations of a worker on its tree.
#[derive(Debug)]
pub(crate) struct FileOperations {
    work: FileWork,
    tree: FileTree,
    claims: Arc<FileClaims>,
    /// The files of the tree to which files are copied or moved.
    destination: Option<Arc<FileClaims>>,
    /// The permutation that selects the working set, and the number of files in the set.
    working_set: Option<(Bijection, u32)>,
    /// True while other workers may wait for files that this worker creates or removes.
    is_supplier: bool,
    /// In bytes.
    buffer_size: u64,
    /// The cell of each kind of operation.
    cells: Vec<(FileOperationKind, u32)>,
    /// The next file to try for each group, if files are taken in order.
    cursors: Vec<u32>,
    /// The next group of a sequence.
    next_group: usize,
    /// A drawn group that must wait, because all its files are in use.
    pending_group: Option<usize>,
    /// Groups without a suitable file since the last successful claim.
    exhausted: Vec<bool>,
    claimed: Option<ClaimedFile>,
    /// True once the last operation on the claimed file has completed, or one has failed.
    can_release: bool,
    /// Index of this worker in its job, and how many workers the job has.
    position_in_job: (u32, u32),
}

/// The file that a group of operations works on.
#[derive(Clone, Copy, Debug)]
struct ClaimedFile {
    group: usize,
    /// The next operation of the group.
    next: usize,
    file: u32,
    state: FileState,
    /// The state of the file to which it is copied or moved.
    destination: Option<FileState>,
    /// Progress of its session.
    stage: Stage,
}

impl ClaimedFile {
    fn operation(&self, kind: FileOperationKind, block: u64) -> FileOperation {
        FileOperation {
            kind,
            file: self.file,
            block: block as u32,
            renamed: self.state == FileState::Renamed,
        }
    }
}

/// Progress of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The file is not open.
    Closed,
    /// The file is open, and transfers remain.
    Open {
        /// The position of the next transfer, if transfers are sequential.
        position: u64,
        transfers_left: u64,
        bytes_left: u64,
    },
    /// The file is open, and only the close remains.
    CloseDue,
}

/// The result of an attempt to claim a file.
enum ClaimResult {
    /// The file, its state, and the state of its destination.
    File(u32, FileState, Option<FileState>),
    /// Every suitable file is in use.
    InUse,
    /// No suitable file exists.
    NotFound(Obstacles),
}

/// Why files or directories are not suitable.
#[derive(Clone, Copy, Debug, Default)]
struct Obstacles {
    in_use: bool,
    /// It exists although it must be created, or the other way around.
    existence: bool,
    missing_directory: bool,
    /// The directory is not empty.
    not_empty: bool,
}

/// Draws a random file. A `midpoint` distributes the draws exponentially, most to the first files.
fn draw_file(word: u64, count: u32, midpoint: Option<f64>) -> u32 {
    let Some(midpoint) = midpoint else {
        return (word % u64::from(count)) as u32;
    };
    // Above 0 and up to 1.
    let uniform = ((word >> 11) + 1) as f64 / (1u64 << 53) as f64;
    ((-uniform.ln() * f64::from(count) / midpoint) as u64 % u64::from(count)) as u32
}

/// Returns the index of a worker in its job, and the number of workers.
fn worker_position(assignment: &Assignment<'_>) -> (u32, u32) {
    let workers = &assignment.job.workers;
    let own = workers
        .iter()
        .position(|worker| std::ptr::eq(worker, assignment.worker));
    (own.unwrap_or(0) as u32, workers.len().max(1) as u32)
}

impl FileOperations {
    pub(crate) fn from_plan(assignment: &Assignment<'_>, keys: &[CellKey]) -> Option<FileOperations> {
        let stream = assignment.worker.streams.first()?;
        let work = stream.files.clone()?;
        let (tree, claims) = assignment.tree()?;
        let cells = keys.iter().zip(0..).filter_map(|(key, cell)| match key.kind {
            CellKind::FileOperation(kind) => Some((kind, cell)),
            _ => None,
        });
        let mut operations = FileOperations {
            tree: tree.shape.clone(),
            working_set: work
                .working_set
                .map(|set| (Bijection::new(tree.shape.file_count(), set.seed), set.files)),
            is_supplier: false,
            claims: Arc::clone(claims),
            destination: assignment.destination().map(|(_, claims)| Arc::clone(claims)),
            buffer_size: stream.pattern.longest(&stream.mix).0,
            cells: cells.collect(),
            cursors: vec![0; work.groups.len()],
            next_group: 0,
            pending_group: None,
            exhausted: vec![false; work.groups.len()],
            claimed: None,
            can_release: false,
            position_in_job: worker_position(assignment),
            work,
        };
        operations.set_supplier(true);
        Some(operations)
    }

    fn set_supplier(&mut self, is_supplier: bool) {
        if std::mem::replace(&mut self.is_supplier, is_supplier) != is_supplier {
            let kinds = self.work.groups.iter().flat_map(|group| &group.operations);
            kinds.for_each(|kind| self.claims.set_supplier(*kind, is_supplier));
        }
    }

    /// Returns the next operation, after claiming its file for this worker.
    pub(super) fn next_operation(&mut self, io: &mut IoLoop) -> NextOperation {
        let claimed = match self.claimed {
            Some(claimed) => claimed,
            None => match self.claim_next_file(&mut io.draws) {
                Ok(claimed) => *self.claimed.insert(claimed),
                Err(next) => return next,
            },
        };
        if let Some(transfers) = self.transfers() {
            return match claimed.stage {
                Stage::Open { position, .. } => self.next_transfer(io, &transfers.clone(), claimed, position),
                // Open and close follow no schedule; `issue_open_or_close` queues them.
                Stage::Closed | Stage::CloseDue => NextOperation::Wait,
            };
        }
        let kind = self.work.groups[claimed.group].operations[claimed.next];
        let size = self.tree.file_size(claimed.file);
        let block_index = match kind {
            FileOperationKind::ReadBlock | FileOperationKind::WriteBlock => {
                let blocks = (size / self.work.block.0.max(1)).clamp(1, FileOperation::MAX_BLOCKS);
                io.draws.next_u64(Purpose::Offset) % blocks
            }
            _ => 0,
        };
        let operation = claimed.operation(kind, block_index);
        let length = match kind {
            // A session leaves created files empty.
            FileOperationKind::Create if self.work.session.is_some() => 0,
            FileOperationKind::Create | FileOperationKind::Write => size.min(self.buffer_size),
            FileOperationKind::WriteBlock | FileOperationKind::Append => self.work.block.0,
            _ => 0,
        };
        // The search for a file does not count towards the operation.
        io.start_new_round();
        NextOperation::Issue(Operation::new(kind.direction(), operation.pack(), length as u32))
    }

    fn transfers(&self) -> Option<&SessionTransfers> {
        self.work.session.as_ref()?.transfers.as_ref()
    }

    /// Returns the next transfer of a session whose file is open.
    fn next_transfer(
        &self,
        io: &mut IoLoop,
        transfers: &SessionTransfers,
        claimed: ClaimedFile,
        position: u64,
    ) -> NextOperation {
        let size = self.tree.file_size(claimed.file);
        let writes = io.draws.next_u64(Purpose::Mix) % 100 < u64::from(transfers.write_percent);
        let wanted = pick_size(&transfers.sizes, io.draws.next_u64(Purpose::SizeRead)).max(1);
        let start = match transfers.random {
            true => io.draws.next_u64(Purpose::Offset) % (size / wanted).max(1) * wanted,
            false => position,
        };
        let kind = match writes {
            true => FileOperationKind::WriteBlock,
            false => FileOperationKind::ReadBlock,
        };
        let block_index = (start / self.work.block.0.max(1)).min(FileOperation::MAX_BLOCKS);
        let operation = claimed.operation(kind, block_index);
        io.start_new_round();
        let length = wanted.min(size - start) as u32;
        NextOperation::Issue(Operation::new(kind.direction(), operation.pack(), length))
    }

    /// Queues the open or close of a session's file. Pacing ignores both. Returns false if none is
    /// due.
    pub(super) fn issue_open_or_close(
        &mut self,
        io: &mut IoLoop,
        (pool, stream, slot): (usize, usize, Slot),
        keys: Option<&mut KeyBlocks>,
    ) -> bool {
        let Some(session) = &self.work.session else {
            return false;
        };
        let has_transfers = session.transfers.is_some();
        if has_transfers && self.claimed.is_none() {
            // If no file is free, the next operation finds none either.
            self.claimed = self.claim_next_file(&mut io.draws).ok();
        }
        let Some(claimed) = self.claimed else { return false };
        let kind = match claimed.stage {
            Stage::Closed if has_transfers => self.work.groups[claimed.group].operations[claimed.next],
            Stage::CloseDue => FileOperationKind::Close,
            Stage::Closed | Stage::Open { .. } => return false,
        };
        let operation = claimed.operation(kind, 0);
        if let Some(keys) = keys {
            keys.prepare_file(io, operation.pack());
        }
        // Latencies go to the direction of the stream, not of the operation, which may differ.
        let writes = self.work.mix().includes(Direction::Write);
        let direction = if writes { Direction::Write } else { Direction::Read };
        io.start_new_round();
        let request = Request {
            offset: operation.pack(),
            length: 0,
            slot,
            file: io.streams[stream].file,
            action: action_for(direction),
        };
        io.queue_unscheduled(pool, stream, request);
        if let Some(gate) = &mut io.streams[stream].gate {
            gate.issued_unscheduled();
        }
        true
    }

    /// Advances the session of the claimed file, if any, after one of its operations.
    fn advance(&mut self, kind: FileOperationKind, done: u64) {
        let Some(claimed) = self.claimed else { return };
        let size = self.tree.file_size(claimed.file);
        let stage = match (claimed.stage, self.transfers()) {
            (Stage::Closed, Some(transfers)) if size > 0 => Stage::Open {
                position: 0,
                transfers_left: transfers.count.unwrap_or(u64::MAX),
                bytes_left: match transfers.count {
                    Some(_) => u64::MAX,
                    None => ((size as f64 * transfers.percent / 100.0) as u64).max(1),
                },
            },
            (
                Stage::Open {
                    position,
                    transfers_left,
                    bytes_left,
                },
                Some(transfers),
            ) if kind != FileOperationKind::Close => {
                let open = Stage::Open {
                    position: position + done,
                    transfers_left: transfers_left - 1,
                    bytes_left: bytes_left.saturating_sub(done),
                };
                let at_end = !transfers.random && position + done >= size;
                let is_over = transfers_left == 1 || bytes_left <= done || at_end;
                if is_over { Stage::CloseDue } else { open }
            }
            _ => Stage::CloseDue,
        };
        self.claimed = Some(ClaimedFile { stage, ..claimed });
    }

    /// Claims a file for the next group that has a suitable one.
    fn claim_next_file(&mut self, draws: &mut Draws) -> Result<ClaimedFile, NextOperation> {
        let groups = self.work.groups.len();
        self.exhausted.fill(false);
        let mut may_be_supplied = false;
        while let Some(group) = self.pending_group.take().or_else(|| self.next_group(draws)) {
            match self.claim_file(group, draws) {
                ClaimResult::File(file, state, destination) => {
                    self.next_group = (group + 1) % groups;
                    self.set_supplier(true);
                    return Ok(ClaimedFile {
                        group,
                        next: 0,
                        file,
                        state,
                        destination,
                        stage: Stage::Closed,
                    });
                }
                // Choosing another group instead would change the groups' shares.
                ClaimResult::InUse => {
                    self.pending_group = Some(group);
                    std::thread::yield_now();
                    return Err(NextOperation::Wait);
                }
                ClaimResult::NotFound(obstacles) => {
                    self.exhausted[group] = true;
                    may_be_supplied |= self.is_supplied_by_others(group, obstacles);
                }
            }
        }
        if may_be_supplied {
            std::thread::sleep(SUPPLY_PAUSE);
            return Err(NextOperation::Wait);
        }
        self.set_supplier(false);
        Err(NextOperation::EndOfPass)
    }

    /// True if another worker creates or removes the files or directories that a group lacks. Only
    /// suppliers of what is missing count, so creators and removers never wait for each other.
    fn is_supplied_by_others(&self, group: usize, obstacles: Obstacles) -> bool {
        let first = self.work.groups[group].operations[0];
        let lacked = match first.existence() {
            _ if self.work.once => return false,
            Existence::Created => Existence::Removed,
            Existence::Unchanged | Existence::Removed => Existence::Created,
        };
        let supplies = |directories: bool, existence: Existence| {
            let operations = self.work.groups.iter().flat_map(|group| &group.operations);
            let suppliers =
                operations.filter(|kind| (kind.is_on_directory(), kind.existence()) == (directories, existence));
            let own_count = if self.is_supplier { suppliers.count() as u32 } else { 0 };
            self.claims.supplier_count(directories, existence) > own_count
        };
        obstacles.existence && supplies(first.is_on_directory(), lacked)
            || obstacles.missing_directory && supplies(true, Existence::Created)
            || obstacles.not_empty
                && (supplies(false, Existence::Removed)
                    || supplies(true, Existence::Removed) && self.claims.has_empty_directory())
    }

    /// Returns the next group that is not exhausted, or `None` if all are.
    fn next_group(&self, draws: &mut Draws) -> Option<usize> {
        let groups = self.work.groups.len();
        if self.work.in_sequence {
            let mut from_here = (self.next_group..self.next_group + groups).map(|group| group % groups);
            return from_here.find(|group| !self.exhausted[*group]);
        }
        let left = self.work.groups.iter().zip(&self.exhausted);
        let mut shares = left.map(|(group, exhausted)| if *exhausted { 0 } else { u64::from(group.share) });
        let total: u64 = shares.clone().sum();
        // A single group needs no draw.
        let mut remaining = match total {
            0 => return None,
            _ if groups == 1 => 0,
            total => draws.next_u64(Purpose::Stream) % total,
        };
        shares.position(|share| {
            let hit = remaining < share;
            remaining = remaining.wrapping_sub(share);
            hit
        })
    }

    /// Claims a file for a group, in order or at random.
    fn claim_file(&mut self, group: usize, draws: &mut Draws) -> ClaimResult {
        let first = self.work.groups[group].operations[0];
        let count = self.part().file_count(match &self.working_set {
            Some((_, files)) if !first.is_on_directory() => *files,
            _ => self.claims.count(first.is_on_directory()),
        });
        let mut obstacles = Obstacles::default();
        if self.work.in_order {
            let (worker, workers) = if self.work.shares_files {
                (0, 1)
            } else {
                self.position_in_job
            };
            let own_files = count.saturating_sub(worker).div_ceil(workers);
            let cursor = self.cursors[group];
            let files_left = if self.work.once {
                own_files.saturating_sub(cursor)
            } else {
                own_files
            };
            for step in 0..files_left {
                let number = ((u64::from(cursor) + u64::from(step)) % u64::from(own_files)) as u32;
                if let Some(claim) = self.try_claim(number * workers + worker, first, &mut obstacles) {
                    self.cursors[group] = if self.work.once {
                        number + 1
                    } else {
                        (number + 1) % own_files
                    };
                    return claim;
                }
                // Do not skip the next file in order: it will exist or be free later.
                let may_appear = obstacles.missing_directory && !first.is_on_directory();
                if self.work.once && obstacles.in_use
                    || may_appear && self.claims.supplier_count(true, Existence::Created) > 0
                {
                    break;
                }
            }
        } else {
            for _ in 0..MAX_RANDOM_TRIES.min(count) {
                let drawn = draw_file(draws.next_u64(Purpose::File), count, self.work.midpoint);
                if let Some(claim) = self.try_claim(drawn, first, &mut obstacles) {
                    return claim;
                }
            }
            let start = draw_file(draws.next_u64(Purpose::File), count.max(1), self.work.midpoint);
            for number in (start..count).chain(0..start) {
                if let Some(claim) = self.try_claim(number, first, &mut obstacles) {
                    return claim;
                }
            }
        }
        if obstacles.in_use {
            ClaimResult::InUse
        } else {
            ClaimResult::NotFound(obstacles)
        }
    }

    fn part(&self) -> FilePart {
        self.work.part.unwrap_or(FilePart::ALL)
    }

    /// Claims a file or directory for a group that begins with `first`, or records the obstacle.
    fn try_claim(&self, number: u32, first: FileOperationKind, obstacles: &mut Obstacles) -> Option<ClaimResult> {
        let (on_directory, present) = (first.is_on_directory(), first.existence() != Existence::Created);
        let number = self.part().file(number);
        let file = match &self.working_set {
            Some((order, _)) if !on_directory => order.image(u64::from(number)) as u32,
            _ => number,
        };
        let claim = match self.work.shares_files {
            true => self.claims.share(file),
            false => self.claims.claim(file, on_directory, present),
        };
        let state = match (claim, &self.destination) {
            (Ok(state), None) => return Some(ClaimResult::File(file, state, None)),
            (Ok(state), Some(destination)) => match destination.claim_in_any_state(file) {
                Ok(other) => return Some(ClaimResult::File(file, state, Some(other))),
                Err(other) => {
                    self.claims.release(file, false, state);
                    obstacles.in_use |= other == FileState::InUse;
                    return None;
                }
            },
            (Err(state), _) => state,
        };
        obstacles.in_use |= state == FileState::InUse;
        obstacles.existence |= state.exists() == Some(!present);
        obstacles.missing_directory |= state == FileState::WithoutDirectory;
        obstacles.not_empty |= state == FileState::NotEmpty && present;
        None
    }

    /// Advances a session past a transfer that is skipped.
    pub(super) fn skip_transfer(&mut self, length: u32) {
        self.advance(FileOperationKind::ReadBlock, u64::from(length));
    }

    /// True if the claimed file can be released.
    pub(super) fn can_release(&self) -> bool {
        self.can_release
    }

    /// Counts a completed operation. After the last operation of its group, the file can be
    /// released. A read that validation adds before or after a write does not advance the session.
    pub(super) fn on_completed(&mut self, io: &mut IoLoop, ended: &EndedOperation, is_extra: bool) {
        let kind = FileOperation::unpack(ended.record.offset).kind;
        let cell = self.cells.iter().find(|cell| cell.0 == kind).map(|cell| cell.1);
        match u64::try_from(ended.result) {
            Ok(bytes) => {
                let mut run = ended.run(bytes);
                if !self.work.is_unscheduled(kind) {
                    io.recorder.count(&run, ended.at);
                }
                if let Some(cell) = cell {
                    run.key = u64::from(cell);
                    io.recorder.count(&run, ended.at);
                }
            }
            Err(_) => {
                io.reap_failed_or_short(ended.slot, ended.result, ended.at);
                if let Some(cell) = cell {
                    let cell = &mut io.recorder.cells[cell as usize];
                    cell.errors += 1;
                    cell.first_error.get_or_insert((-ended.result) as i32);
                }
            }
        }
        if is_extra && ended.result >= 0 {
            return;
        }
        if self.work.session.is_some() && ended.result >= 0 && kind == FileOperationKind::Delete {
            if let Some(claimed) = &mut self.claimed {
                (claimed.next, claimed.state) = (claimed.next + 1, FileState::Absent);
            }
            return;
        }
        if self.work.session.is_some() && ended.result >= 0 && kind != FileOperationKind::Close {
            // Use the requested length: short reads of a truncated file would never end a session.
            self.advance(kind, u64::from(ended.record.length));
            if kind == FileOperationKind::Create
                && let Some(claimed) = &mut self.claimed
            {
                claimed.state = FileState::Present;
            }
            return;
        }
        let Some(claimed) = &mut self.claimed else { return };
        if kind.needs_destination() {
            claimed.destination = Some(match ended.result {
                ..0 => FileState::Lost,
                _ => FileState::Present,
            });
        }
        let changes = kind.existence() != Existence::Unchanged || kind == FileOperationKind::Rename;
        claimed.next += 1;
        claimed.state = match (kind, kind.existence(), claimed.state) {
            _ if ended.result < 0 && changes => FileState::Lost,
            _ if ended.result < 0 => claimed.state,
            (_, Existence::Created, _) => FileState::Present,
            (_, Existence::Removed, _) => FileState::Absent,
            (FileOperationKind::Rename, _, FileState::Renamed) => FileState::Present,
            (FileOperationKind::Rename, ..) => FileState::Renamed,
            (.., state) => state,
        };
        if ended.result < 0
            || kind == FileOperationKind::Close
            || claimed.next == self.work.groups[claimed.group].operations.len()
        {
            self.can_release = true;
        }
    }

    /// Releases the claimed file, if any.
    pub(super) fn release_file(&mut self) {
        self.can_release = false;
        if let Some(claimed) = self.claimed.take() {
            if self.work.shares_files {
                self.claims.unshare(claimed.file);
                return;
            }
            if let (Some(destination), Some(state)) = (&self.destination, claimed.destination) {
                destination.release(claimed.file, false, state);
            }
            let on_directory = self.work.groups[claimed.group].operations[0].is_on_directory();
            self.claims.release(claimed.file, on_directory, claimed.state);
        }
    }
}

impl Drop for FileOperations {
    fn drop(&mut self) {
        self.set_supplier(false);
    }
}
