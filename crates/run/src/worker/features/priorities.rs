//! I/O priorities of parts of a stream: which operation gets which, and where it is counted.
//!
//! An operation has the priority of the file that it goes to, so each target is there once for each priority.

use model::Direction;
use model::plan::{Priority, PriorityClass, PriorityRule, Stream};
use model::sequence::Operation;

/// The rules of a stream, on the file that it uses at present.
#[derive(Clone, Debug)]
pub(crate) struct Priorities {
    groups: Vec<Group>,
    /// Cells to count an operation in beside that of its direction, by direction and priority.
    cells: Vec<(Direction, u16, u32)>,
}

/// Rules for the same operations.
#[derive(Clone, Debug)]
struct Group {
    direction: Direction,
    length: Option<u32>,
    shares: Vec<Share>,
    /// What is owed to operations that no rule picks.
    rest_percent: i32,
    rest_owed: i32,
}

#[derive(Clone, Debug)]
struct Share {
    percent: i32,
    /// Percent that have come together since its last operation.
    owed: i32,
    /// The same file with the priority.
    file: u16,
}

/// The number that the kernel has for a priority.
pub(crate) fn number(class: PriorityClass, level: u8, hint: u16) -> u16 {
    u16::from(class_number(class)) << 13 | hint << 3 | u16::from(level)
}

/// The numbers that the kernel has for the classes.
pub(crate) fn class_number(class: PriorityClass) -> u8 {
    match class {
        PriorityClass::RealTime => 1,
        PriorityClass::BestEffort => 2,
        PriorityClass::Idle => 3,
    }
}

/// The rules of a stream. A priority for a part of all operations is a rule for each direction.
pub(crate) fn rules(stream: &Stream) -> Vec<PriorityRule> {
    let of_all = stream.priority.filter(|priority| priority.percent < 100);
    let each = of_all.into_iter().flat_map(|priority| {
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
    let mut rules: Vec<PriorityRule> = stream.priorities.iter().copied().chain(each).collect();
    rules.retain(|rule| rule.percent > 0 && stream.mix.includes(rule.direction));
    rules
}

/// Priorities that operations of a direction can have, that of the others first; none if all have the same.
pub(crate) fn numbers_of(stream: &Stream, direction: Direction) -> Vec<u16> {
    let rules = rules(stream);
    if rules.is_empty() {
        return Vec::new();
    }
    let mut numbers = vec![usual(stream)];
    for rule in rules.iter().filter(|rule| rule.direction == direction) {
        let number = number(rule.class, rule.level, rule.hint);
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers
}

/// The priority of operations that no rule picks; 0 for that of the thread.
pub(crate) fn usual(stream: &Stream) -> u16 {
    let whole = stream.priority.filter(|priority| priority.percent >= 100);
    whole.map_or(0, |priority| number(priority.class, priority.level, priority.hint))
}

impl Priorities {
    /// `files` are the files with the priority of each rule.
    pub(crate) fn new(
        rules: &[PriorityRule],
        files: &[u16],
        cells: Vec<(Direction, u16, u32)>,
    ) -> Option<Box<Priorities>> {
        let mut groups: Vec<Group> = Vec::new();
        for (rule, file) in rules.iter().zip(files) {
            let length = rule.length.map(|length| length.0 as u32);
            let share = Share {
                percent: i32::from(rule.percent),
                owed: 0,
                file: *file,
            };
            let known = groups
                .iter_mut()
                .find(|group| group.direction == rule.direction && group.length == length);
            match known {
                Some(group) => {
                    group.rest_percent -= share.percent;
                    group.shares.push(share);
                }
                None => groups.push(Group {
                    direction: rule.direction,
                    length,
                    rest_percent: 100 - share.percent,
                    rest_owed: 0,
                    shares: vec![share],
                }),
            }
        }
        // What is said of a length counts before what is said of all.
        groups.sort_by_key(|group| group.length.is_none());
        (!groups.is_empty()).then(|| Box::new(Priorities { groups, cells }))
    }

    /// The same rules on other files, with what is owed as it is.
    pub(crate) fn on(&mut self, files: &Priorities) {
        let theirs = files.groups.iter().flat_map(|group| &group.shares);
        let ours = self.groups.iter_mut().flat_map(|group| &mut group.shares);
        for (ours, theirs) in ours.zip(theirs) {
            ours.file = theirs.file;
        }
    }

    /// The file for an operation, if a rule picks it. Each part gets its share to within one operation at every moment.
    pub(crate) fn choose(&mut self, operation: &Operation) -> Option<u16> {
        let fits = |group: &&mut Group| {
            group.direction == operation.direction && group.length.is_none_or(|length| length == operation.length)
        };
        let group = self.groups.iter_mut().find(fits)?;
        group.rest_owed += group.rest_percent;
        group.shares.iter_mut().for_each(|share| share.owed += share.percent);
        let most = group.shares.iter_mut().max_by_key(|share| share.owed)?;
        if most.owed > group.rest_owed {
            most.owed -= 100;
            return Some(most.file);
        }
        group.rest_owed -= 100;
        None
    }

    /// The cell for an operation of a direction with a priority.
    pub(crate) fn cell(&self, direction: Direction, number: u16) -> Option<u32> {
        let found = self
            .cells
            .iter()
            .find(|(of, with, _)| (*of, *with) == (direction, number));
        found.map(|(_, _, cell)| *cell)
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

    /// How many of 1000 reads of a length go to each file; the last is that of the others.
    fn counts(rules: &[PriorityRule], length: u32) -> Vec<usize> {
        let files: Vec<u16> = (0..rules.len() as u16).collect();
        let mut priorities = Priorities::new(rules, &files, Vec::new()).unwrap();
        let mut counts = vec![0; rules.len() + 1];
        let operation = Operation {
            direction: Direction::Read,
            offset: 0,
            length,
        };
        for _ in 0..1000 {
            let file = priorities.choose(&operation);
            counts[file.map_or(rules.len(), usize::from)] += 1;
        }
        counts
    }

    #[test]
    fn each_part_gets_its_share() {
        assert_eq!(counts(&[rule(None, 10, 0)], 4096), [100, 900]);
        assert_eq!(counts(&[rule(None, 100, 0)], 4096), [1000, 0]);
        assert_eq!(counts(&[rule(None, 50, 0), rule(None, 50, 1)], 4096), [500, 500, 0]);
        let by_length = [
            rule(Some(4096), 20, 0),
            rule(Some(8192), 50, 0),
            rule(Some(4096), 30, 1),
        ];
        assert_eq!(counts(&by_length, 4096), [200, 0, 300, 500]);
        assert_eq!(counts(&by_length, 8192), [0, 500, 0, 500]);
        assert_eq!(counts(&by_length, 512), [0, 0, 0, 1000]);
    }

    #[test]
    fn the_number_of_a_priority_is_the_kernels() {
        assert_eq!(number(PriorityClass::RealTime, 0, 0), 1 << 13);
        assert_eq!(number(PriorityClass::Idle, 7, 3), 3 << 13 | 3 << 3 | 7);
    }
}
