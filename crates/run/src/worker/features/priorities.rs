//! I/O priorities for parts of a stream's operations. An operation has the priority of its file, so
//! each target is opened once per priority.

use model::Direction;
use model::plan::{Priority, PriorityClass, PriorityRule, Stream};
use model::sequence::Operation;

use super::EndedOperation;
use crate::worker::io_loop::IoLoop;
use crate::worker::recorder::{CellKey, CellKind, OperationRun};
use crate::worker::setup::{Assignment, OpenedFiles, OpenedStream};

/// The priorities of those streams that have several.
#[derive(Debug)]
pub(crate) struct Priorities {
    streams: Vec<Option<StreamPriorities>>,
    /// I/O priority of each file of the engine.
    files: Vec<u16>,
}

/// The rules of a stream, for its current file.
#[derive(Clone, Debug)]
struct StreamPriorities {
    groups: Vec<Group>,
    /// For each file of the set, one engine file per rule, opened with its priority. Absent for
    /// files that share slots.
    files: Vec<Option<Vec<u16>>>,
    /// Recorder cells for each direction and priority.
    cells: Vec<(Direction, u16, u32)>,
}

/// Rules for the same operations.
#[derive(Clone, Debug)]
struct Group {
    direction: Direction,
    length: Option<u32>,
    shares: Vec<Share>,
    /// The share of operations without a rule.
    rest_percent: i32,
    rest_credit: i32,
}

#[derive(Clone, Debug)]
struct Share {
    /// Number of its rule.
    rule: usize,
    percent: i32,
    /// Credit in percent since its last operation; the highest credit is served next.
    credit: i32,
    /// The engine file with this priority.
    file: u16,
}

/// The kernel's number for a priority.
pub(crate) fn priority_number(class: PriorityClass, level: u8, hint: u16) -> u16 {
    u16::from(class_number(class)) << 13 | hint << 3 | u16::from(level)
}

/// The kernel's numbers for the classes.
pub(crate) fn class_number(class: PriorityClass) -> u8 {
    match class {
        PriorityClass::RealTime => 1,
        PriorityClass::BestEffort => 2,
        PriorityClass::Idle => 3,
    }
}

/// The rules of a stream. A priority for a part of all operations is a rule for each direction.
pub(crate) fn priority_rules(stream: &Stream) -> Vec<PriorityRule> {
    let stream_priority = stream.priority.filter(|priority| priority.percent < 100);
    let stream_rules = stream_priority.into_iter().flat_map(|priority| {
        let Priority {
            class,
            level,
            hint,
            percent,
        } = priority;
        Direction::ALL.map(|direction| PriorityRule {
            direction,
            length: None,
            percent,
            class,
            level,
            hint,
        })
    });
    let mut rules: Vec<PriorityRule> = stream.priority_rules.iter().copied().chain(stream_rules).collect();
    rules.retain(|rule| rule.percent > 0 && stream.mix.includes(rule.direction));
    rules
}

/// The possible priorities of a direction's operations, the default first. Empty if all have the
/// same.
pub(crate) fn priority_numbers(stream: &Stream, direction: Direction) -> Vec<u16> {
    let rules = priority_rules(stream);
    if rules.is_empty() {
        return Vec::new();
    }
    let mut numbers = vec![default_priority_number(stream)];
    for rule in rules.iter().filter(|rule| rule.direction == direction) {
        let number = priority_number(rule.class, rule.level, rule.hint);
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers
}

/// The priority of operations without a rule; 0 for the thread's priority.
pub(crate) fn default_priority_number(stream: &Stream) -> u16 {
    let stream_priority = stream.priority.filter(|priority| priority.percent >= 100);
    stream_priority.map_or(0, |priority| {
        priority_number(priority.class, priority.level, priority.hint)
    })
}

impl Priorities {
    pub(crate) fn from_plan(assignment: &Assignment<'_>, keys: &[CellKey], opened: &OpenedFiles) -> Option<Priorities> {
        let streams = assignment.worker.streams.iter().zip(&opened.streams).enumerate();
        let streams = streams.map(|(number, (stream, opened))| {
            let stream_keys = keys.iter().zip(0..).filter(|(key, _)| key.stream as usize == number);
            let cells = stream_keys.filter_map(|(key, cell)| match key.kind {
                CellKind::Priority(direction, priority) => Some((direction, priority, cell)),
                CellKind::Moves(_) | CellKind::FileOperation(_) | CellKind::Sync | CellKind::Connection => None,
            });
            let files = (0..stream.target.ids().len()).map(|file| rule_files(opened, file));
            StreamPriorities::new(&priority_rules(stream), files.collect(), cells.collect())
        });
        let streams: Vec<_> = streams.collect();
        streams.iter().any(Option::is_some).then(|| Priorities {
            streams,
            files: opened.priorities.clone(),
        })
    }

    /// Changes the current file of a stream. The credits stay, because they belong to the stream.
    pub(super) fn switch_file(&mut self, number: usize, file: usize) {
        if let Some(stream) = &mut self.streams[number] {
            stream.switch_file(file);
        }
    }

    /// The file of an operation, if a rule selects it.
    pub(super) fn choose(&mut self, number: usize, operation: &Operation) -> Option<u16> {
        self.streams[number].as_mut()?.choose(operation)
    }

    /// Counts an operation with those that have its I/O priority.
    pub(super) fn on_completed(&self, io: &mut IoLoop, ended: &EndedOperation, mut run: OperationRun) {
        let Some(stream) = &self.streams[ended.record.stream as usize] else {
            return;
        };
        let priority = self.files[usize::from(ended.record.file)];
        let matches_operation = |cell: &&(Direction, u16, u32)| (Some(cell.0), cell.1) == (ended.direction, priority);
        if let Some((_, _, cell)) = stream.cells.iter().find(matches_operation) {
            run.key = u64::from(*cell);
            io.recorder.count(&run, ended.at);
        }
    }
}

/// One of a stream's files with the priority of each rule.
fn rule_files(opened: &OpenedStream, file: usize) -> Option<Vec<u16>> {
    let files = opened.rules.iter().map(|(_, files)| files.get(file).copied());
    files.collect()
}

impl StreamPriorities {
    fn new(
        rules: &[PriorityRule],
        files: Vec<Option<Vec<u16>>>,
        cells: Vec<(Direction, u16, u32)>,
    ) -> Option<StreamPriorities> {
        let first = files.first()?.clone()?;
        let mut groups: Vec<Group> = Vec::new();
        for (number, (rule, file)) in rules.iter().zip(first).enumerate() {
            let length = rule.length.map(|length| length.0 as u32);
            let share = Share {
                rule: number,
                percent: i32::from(rule.percent),
                credit: 0,
                file,
            };
            let existing = groups
                .iter_mut()
                .find(|group| group.direction == rule.direction && group.length == length);
            match existing {
                Some(group) => {
                    group.rest_percent -= share.percent;
                    group.shares.push(share);
                }
                None => groups.push(Group {
                    direction: rule.direction,
                    length,
                    rest_percent: 100 - share.percent,
                    rest_credit: 0,
                    shares: vec![share],
                }),
            }
        }
        // A rule for one length comes before a rule for all lengths.
        groups.sort_by_key(|group| group.length.is_none());
        (!groups.is_empty()).then_some(StreamPriorities { groups, files, cells })
    }

    fn switch_file(&mut self, file: usize) {
        let Some(Some(files)) = self.files.get(file) else {
            return;
        };
        for share in self.groups.iter_mut().flat_map(|group| &mut group.shares) {
            share.file = files[share.rule];
        }
    }

    /// Chooses the part with the most credit, so each share is exact to within one operation.
    fn choose(&mut self, operation: &Operation) -> Option<u16> {
        let fits = |group: &&mut Group| {
            group.direction == operation.direction && group.length.is_none_or(|length| length == operation.length)
        };
        let group = self.groups.iter_mut().find(fits)?;
        group.rest_credit += group.rest_percent;
        group.shares.iter_mut().for_each(|share| share.credit += share.percent);
        let highest = group.shares.iter_mut().max_by_key(|share| share.credit)?;
        if highest.credit > group.rest_credit {
            highest.credit -= 100;
            return Some(highest.file);
        }
        group.rest_credit -= 100;
        None
    }
}

#[cfg(test)]
mod tests {
    use model::Bytes;

    use super::*;

    fn rule(length: Option<u64>, percent: u8, level: u8) -> PriorityRule {
        PriorityRule {
            direction: Direction::Read,
            length: length.map(Bytes),
            percent,
            class: PriorityClass::RealTime,
            level,
            hint: 0,
        }
    }

    /// Counts how many of 1000 reads of a length go to each file. The last count is for all others.
    fn count_by_file(rules: &[PriorityRule], length: u32) -> Vec<usize> {
        let files: Vec<u16> = (0..rules.len() as u16).collect();
        let mut priorities = StreamPriorities::new(rules, vec![Some(files)], Vec::new()).unwrap();
        let mut counts = vec![0; rules.len() + 1];
        let operation = Operation::new(Direction::Read, 0, length);
        for _ in 0..1000 {
            let file = priorities.choose(&operation);
            counts[file.map_or(rules.len(), usize::from)] += 1;
        }
        counts
    }

    #[test]
    fn each_part_gets_its_share() {
        assert_eq!(count_by_file(&[rule(None, 10, 0)], 4096), [100, 900]);
        assert_eq!(count_by_file(&[rule(None, 100, 0)], 4096), [1000, 0]);
        assert_eq!(
            count_by_file(&[rule(None, 50, 0), rule(None, 50, 1)], 4096),
            [500, 500, 0]
        );
        let by_length = [
            rule(Some(4096), 20, 0),
            rule(Some(8192), 50, 0),
            rule(Some(4096), 30, 1),
        ];
        assert_eq!(count_by_file(&by_length, 4096), [200, 0, 300, 500]);
        assert_eq!(count_by_file(&by_length, 8192), [0, 500, 0, 500]);
        assert_eq!(count_by_file(&by_length, 512), [0, 0, 0, 1000]);
    }

    #[test]
    fn priority_numbers_are_those_of_the_kernel() {
        assert_eq!(priority_number(PriorityClass::RealTime, 0, 0), 1 << 13);
        assert_eq!(priority_number(PriorityClass::Idle, 7, 3), 3 << 13 | 3 << 3 | 7);
    }
}
