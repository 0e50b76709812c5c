//! Processes in the order of their assigned numbers, in whatever order they have come.

use std::time::Duration;

use super::comm::{Comm, Incoming};

/// Processes that may be given other numbers.
pub(super) struct Renumbered {
    comm: Box<dyn Comm>,
    /// What each number was at first.
    before: Vec<u32>,
}

impl Renumbered {
    pub(super) fn new(comm: Box<dyn Comm>) -> Renumbered {
        let before = (0..comm.size()).collect();
        Renumbered { comm, before }
    }

    /// From now on each stands where this says that it was at first.
    pub(super) fn reorder(&mut self, before: Vec<u32>) {
        self.before = before;
    }

    fn now(&self, before: u32) -> u32 {
        let found = self.before.iter().position(|one| *one == before);
        found.map_or(before, |number| number as u32)
    }
}

impl Comm for Renumbered {
    fn rank(&self) -> u32 {
        self.now(self.comm.rank())
    }

    fn size(&self) -> u32 {
        self.comm.size()
    }

    fn describe(&self) -> String {
        self.comm.describe()
    }

    fn send(&self, to: u32, message: &[u8]) {
        self.comm
            .send(self.before.get(to as usize).copied().unwrap_or(to), message);
    }

    fn receive(&self, within: Duration) -> Option<Incoming> {
        Some(match self.comm.receive(within)? {
            Incoming::Message { from, bytes } => Incoming::Message {
                from: self.now(from),
                bytes,
            },
            Incoming::Lost { from, why } => Incoming::Lost {
                from: self.now(from),
                why,
            },
        })
    }

    fn set_low_latency(&self, set_low_latency: bool) {
        self.comm.set_low_latency(set_low_latency);
    }

    fn grace(&self) -> Option<Duration> {
        self.comm.grace()
    }

    fn give_up(&self, on: u32) {
        self.comm.give_up(self.before.get(on as usize).copied().unwrap_or(on));
    }

    fn close(&self) {
        self.comm.close();
    }
}

/// The order of processes of which some have reported a number: those take each other's places, the
/// others keep theirs. `None` if that changes nothing; the number, if two have reported the same.
pub(super) fn ordered(numbers: &[Option<u32>]) -> Result<Option<Vec<u32>>, u32> {
    let places: Vec<usize> = (0..numbers.len()).filter(|place| numbers[*place].is_some()).collect();
    let mut sorted = places.clone();
    sorted.sort_by_key(|place| numbers[*place]);
    if let Some(pair) = sorted.windows(2).find(|pair| numbers[pair[0]] == numbers[pair[1]]) {
        return Err(numbers[pair[0]].unwrap_or_default());
    }
    let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
    for (place, from) in places.iter().zip(&sorted) {
        order[*place] = *from as u32;
    }
    Ok((places != sorted).then_some(order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_stand_where_they_were_sent() {
        let check = |numbers: &[Option<u32>], expected: Result<Option<&[u32]>, u32>| {
            assert_eq!(
                ordered(numbers),
                expected.map(|order| order.map(<[u32]>::to_vec)),
                "{numbers:?}"
            );
        };
        check(&[None, None, None], Ok(None));
        check(&[None, Some(0), Some(1)], Ok(None));
        check(&[None, Some(2), Some(1), Some(3)], Ok(Some(&[0, 2, 1, 3])));
        // One of a list keeps its place in the list.
        check(&[None, None, Some(9), None, Some(4)], Ok(Some(&[0, 1, 4, 3, 2])));
        check(&[None, Some(1), Some(1)], Err(1));
    }
}
