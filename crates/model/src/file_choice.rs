//! Chooses the file for the next operation, and tracks which files of a set are open. The rules are
//! fio's (`file_service_type`, `openfiles`): a file is opened when it is first chosen; completed
//! files are skipped, and so are closed ones once the limit of open files is reached. Positions are
//! decided elsewhere.

use std::sync::Arc;

use crate::access::{Access, Area, Cursor, Normal, Pareto, Placement, PositionRequest, SharedAccess, Zipf};
use crate::direction::{Direction, PerDirection};
use crate::draws::{Draws, GeneratorChoice, Purpose, Reduction};
use crate::plan::FileService;

/// Ranks per file of a skewed service, so that neighbouring ranks need not be neighbouring files
/// (fio).
const RANKS_PER_FILE: u64 = 1 << 10;

/// The files of one set while they are used.
#[derive(Clone, Debug)]
pub struct FileChoice {
    service: FileService,
    /// Operations before another file is picked.
    operations: u64,
    open_at_once: usize,
    files: Box<[FileState]>,
    /// The current file.
    current: Option<usize>,
    left: u64,
    /// The next file, round-robin.
    next_in_turn: usize,
    skew: Option<Skew>,
}

#[derive(Clone, Copy, Debug, Default)]
struct FileState {
    open: bool,
    done: bool,
}

/// A skewed service has its own generator, so that its draws do not change the positions within
/// files.
#[derive(Clone, Debug)]
struct Skew {
    cursor: Cursor,
    draws: Draws,
}

/// The file to use next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextFile {
    /// This one, which is open.
    Use(usize),
    /// This one, which must be opened first.
    Open(usize),
    /// None, until a completed file is closed.
    Wait,
    /// None: all are done.
    AllDone,
}

impl FileChoice {
    /// A choice among `count` closed files. `draws` is used only to seed a skewed service.
    pub fn new(
        service: FileService,
        operations: u64,
        open_at_once: u32,
        count: usize,
        draws: &mut Draws,
    ) -> FileChoice {
        FileChoice {
            service,
            operations: operations.max(1),
            open_at_once: (open_at_once as usize).clamp(1, count.max(1)),
            files: vec![FileState::default(); count].into(),
            current: None,
            left: 0,
            next_in_turn: 0,
            skew: Skew::new(service, count, draws),
        }
    }

    /// The maximum number of open files.
    pub fn open_at_once(&self) -> usize {
        self.open_at_once
    }

    /// Chooses the file of the next operation and counts it as open. Call it once per operation. If
    /// the file turns out to be complete, call `mark_done` and then this again.
    pub fn next(&mut self, draws: &mut Draws) -> NextFile {
        if let Some(current) = self.current
            && self.left > 0
            && self.files[current].open
            && !self.files[current].done
        {
            self.left -= 1;
            return NextFile::Use(current);
        }
        let open = self.files.iter().filter(|file| file.open).count();
        let room = open < self.open_at_once;
        let usable = |file: &FileState| !file.done && (file.open || room);
        if self.files.iter().all(|file| file.done) {
            return NextFile::AllDone;
        }
        if !self.files.iter().any(usable) {
            return NextFile::Wait;
        }
        // At least one file is usable, so redrawing ends; fio redraws too.
        let chosen = loop {
            let candidate = self.next_candidate(draws);
            if usable(&self.files[candidate]) {
                break candidate;
            }
        };
        self.next_in_turn = chosen + 1;
        self.current = Some(chosen);
        self.left = match self.service {
            FileService::Sequential => u64::MAX,
            _ => self.operations - 1,
        };
        if std::mem::replace(&mut self.files[chosen].open, true) {
            NextFile::Use(chosen)
        } else {
            NextFile::Open(chosen)
        }
    }

    fn next_candidate(&mut self, draws: &mut Draws) -> usize {
        let count = self.files.len();
        match (&mut self.skew, self.service) {
            (Some(skew), _) => skew.draw().min(count - 1),
            (None, FileService::Random) => {
                draws.next_below(Purpose::File, count as u64, Reduction::MultiplyHigh32) as usize
            }
            (None, _) => {
                let index = self.next_in_turn % count;
                self.next_in_turn = index + 1;
                index
            }
        }
    }

    /// Marks a file as done for this pass.
    pub fn mark_done(&mut self, file: usize) {
        // As in fio, a skewed service restarts a file from its beginning, so its set is never done.
        if self.skew.is_none() {
            self.files[file].done = true;
        }
        self.left = 0;
    }

    /// Whether files restart at their end instead of being done.
    pub fn restarts_files(&self) -> bool {
        self.skew.is_some()
    }

    /// Marks a file as open.
    pub fn mark_open(&mut self, file: usize) {
        self.files[file].open = true;
    }

    /// Marks a file as closed.
    pub fn mark_closed(&mut self, file: usize) {
        self.files[file].open = false;
    }

    /// Open files that are done. They may be closed once nothing is in flight on them.
    pub fn open_and_done(&self) -> impl Iterator<Item = usize> {
        let states = self.files.iter().enumerate();
        states
            .filter(|(_, file)| file.open && file.done)
            .map(|(index, _)| index)
    }

    /// Every open file.
    pub fn open(&self) -> impl Iterator<Item = usize> {
        let states = self.files.iter().enumerate();
        states.filter(|(_, file)| file.open).map(|(index, _)| index)
    }

    /// Begins another pass, with the first file.
    pub fn restart(&mut self) {
        self.files.iter_mut().for_each(|file| file.done = false);
        (self.current, self.left, self.next_in_turn) = (None, 0, 0);
    }
}

impl Skew {
    fn new(service: FileService, count: usize, draws: &mut Draws) -> Option<Skew> {
        let placement = match service {
            FileService::RoundRobin | FileService::Random | FileService::Sequential => return None,
            FileService::Zipf { theta } => Placement::Zipf(Zipf { theta, center: None }),
            FileService::Pareto { h } => Placement::Pareto(Pareto { h, center: None }),
            FileService::Normal { deviation_percent } => Placement::Normal(Normal {
                deviation_percent,
                center: 0.5,
            }),
        };
        let area = Area::of_blocks(0, count as u64 * RANKS_PER_FILE, 1);
        let seed = draws.next_u64(Purpose::File);
        let mut draws = GeneratorChoice::Native { seed }.start();
        let shared = Arc::<SharedAccess>::default();
        let access = Access::Random { placement };
        // Plan checks have refused parameters out of range.
        let cursor = access.cursor(PerDirection::all(area), 1, &shared, &mut draws).ok()?;
        Some(Skew { cursor, draws })
    }

    fn draw(&mut self) -> usize {
        let wanted = PositionRequest {
            direction: Direction::Read,
            slot: 0,
        };
        let position = self.cursor.next(&mut self.draws, wanted);
        position.map_or(0, |position| (position.offset / RANKS_PER_FILE) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(service: FileService, operations: u64, open_at_once: u32, count: usize) -> (FileChoice, Draws) {
        let mut draws = GeneratorChoice::fio(0x89, 1).start();
        (
            FileChoice::new(service, operations, open_at_once, count, &mut draws),
            draws,
        )
    }

    /// Simulates the order in which files of `each` operations are served, on a device that
    /// completes immediately. Files are closed when they are done.
    fn order(
        service: FileService,
        operations: u64,
        open_at_once: u32,
        count: usize,
        operations_per_file: u32,
    ) -> Vec<usize> {
        let (mut choice, mut draws) = choice(service, operations, open_at_once, count);
        let (mut operations_left, mut served) = (vec![operations_per_file; count], Vec::new());
        loop {
            let (NextFile::Use(file) | NextFile::Open(file)) = choice.next(&mut draws) else {
                return served;
            };
            assert!(choice.open().count() <= open_at_once as usize, "too many are open");
            if operations_left[file] == 0 {
                choice.mark_done(file);
                choice.mark_closed(file);
            } else {
                operations_left[file] -= 1;
                served.push(file);
            }
        }
    }

    /// As fio 3.33 logged for `nrfiles=4 openfiles=2 size=64k bs=4k`.
    #[test]
    fn orders_that_fio_logged() {
        let cases: [(FileService, u64, u32, &str); 7] = [
            (FileService::RoundRobin, 1, 2, "0101010123232323"),
            (FileService::RoundRobin, 2, 2, "0011001122332233"),
            (FileService::Sequential, 1, 2, "0000111122223333"),
            (FileService::RoundRobin, 1, 4, "0123012301230123"),
            (FileService::Random, 1, 4, "3300202323112011"),
            (FileService::Random, 3, 4, "3333000022221111"),
            (FileService::Random, 1, 2, "3300033110121222"),
        ];
        for (service, operations, open, expected) in cases {
            let expected: Vec<usize> = expected.bytes().map(|digit| usize::from(digit - b'0')).collect();
            let got = order(service, operations, open, 4, 4);
            assert_eq!(got, expected, "{service:?}:{operations} with {open} open");
        }
    }

    #[test]
    fn skewed_services_prefer_some_files() {
        for service in [
            FileService::Zipf { theta: 1.2 },
            FileService::Pareto { h: 0.1 },
            FileService::Normal {
                deviation_percent: 10.0,
            },
        ] {
            let (mut choice, mut draws) = choice(service, 1, 8, 8);
            let before = draws.clone().next_u64(Purpose::Offset);
            let mut counts = [0u32; 8];
            for _ in 0..8000 {
                let (NextFile::Use(file) | NextFile::Open(file)) = choice.next(&mut draws) else {
                    panic!("such a set is never finished");
                };
                counts[file] += 1;
            }
            let max = counts.iter().max().copied().unwrap_or(0);
            assert!(max > 1300, "{service:?}: {counts:?}");
            assert_eq!(
                before,
                draws.next_u64(Purpose::Offset),
                "file draws must not affect positions"
            );
        }
    }

    #[test]
    fn a_full_set_waits_until_a_file_is_closed() {
        let (mut choice, mut draws) = choice(FileService::RoundRobin, 1, 1, 2);
        assert_eq!(choice.next(&mut draws), NextFile::Open(0));
        choice.mark_done(0);
        assert_eq!(choice.next(&mut draws), NextFile::Wait);
        assert_eq!(choice.open_and_done().collect::<Vec<_>>(), [0]);
        choice.mark_closed(0);
        assert_eq!(choice.next(&mut draws), NextFile::Open(1));
        choice.mark_done(1);
        choice.mark_closed(1);
        assert_eq!(choice.next(&mut draws), NextFile::AllDone);
        choice.restart();
        assert_eq!(choice.next(&mut draws), NextFile::Open(0));
    }
}
