//! Sorts processes by their assigned numbers, independent of the order in which they connect.

use std::time::Duration;

use super::comm::{Comm, Incoming};

/// A [`Comm`] whose processes can be renumbered.
pub(super) struct RenumberedComm {
    comm: Box<dyn Comm>,
    /// The original number of each process.
    originals: Vec<u32>,
}

impl RenumberedComm {
    pub(super) fn new(comm: Box<dyn Comm>) -> RenumberedComm {
        let originals = (0..comm.size()).collect();
        RenumberedComm { comm, originals }
    }

    /// Renumbers the processes: `originals` has the original number of each.
    pub(super) fn reorder(&mut self, originals: Vec<u32>) {
        self.originals = originals;
    }

    fn new_number(&self, original: u32) -> u32 {
        let position = self.originals.iter().position(|number| *number == original);
        position.map_or(original, |number| number as u32)
    }
}

impl Comm for RenumberedComm {
    fn process_number(&self) -> u32 {
        self.new_number(self.comm.process_number())
    }

    fn size(&self) -> u32 {
        self.comm.size()
    }

    fn describe(&self) -> String {
        self.comm.describe()
    }

    fn send(&self, to: u32, message: &[u8]) {
        self.comm
            .send(self.originals.get(to as usize).copied().unwrap_or(to), message);
    }

    fn receive(&self, timeout: Duration) -> Option<Incoming> {
        Some(match self.comm.receive(timeout)? {
            Incoming::Message { from, bytes } => Incoming::Message {
                from: self.new_number(from),
                bytes,
            },
            Incoming::Lost { process, why } => Incoming::Lost {
                process: self.new_number(process),
                why,
            },
        })
    }

    fn set_low_latency(&self, enabled: bool) {
        self.comm.set_low_latency(enabled);
    }

    fn grace_period(&self) -> Option<Duration> {
        self.comm.grace_period()
    }

    fn mark_lost(&self, process: u32) {
        self.comm
            .mark_lost(self.originals.get(process as usize).copied().unwrap_or(process));
    }

    fn close(&self) {
        self.comm.close();
    }
}

/// The order of processes of which some have announced a number. Those are sorted among their
/// positions; the other processes keep theirs. `None` if the order is unchanged; an error with the
/// number if two announce the same.
pub(super) fn sort_by_number(numbers: &[Option<u32>]) -> Result<Option<Vec<u32>>, u32> {
    let numbered: Vec<usize> = (0..numbers.len())
        .filter(|process| numbers[*process].is_some())
        .collect();
    let mut sorted = numbered.clone();
    sorted.sort_by_key(|process| numbers[*process]);
    if let Some(pair) = sorted.windows(2).find(|pair| numbers[pair[0]] == numbers[pair[1]]) {
        return Err(numbers[pair[0]].unwrap_or_default());
    }
    let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
    for (place, from) in numbered.iter().zip(&sorted) {
        order[*place] = *from as u32;
    }
    Ok((numbered != sorted).then_some(order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_sorted_by_announced_number() {
        let check = |numbers: &[Option<u32>], expected: Result<Option<&[u32]>, u32>| {
            assert_eq!(
                sort_by_number(numbers),
                expected.map(|order| order.map(<[u32]>::to_vec)),
                "{numbers:?}"
            );
        };
        check(&[None, None, None], Ok(None));
        check(&[None, Some(0), Some(1)], Ok(None));
        check(&[None, Some(2), Some(1), Some(3)], Ok(Some(&[0, 2, 1, 3])));
        // A process without a number keeps its position.
        check(&[None, None, Some(9), None, Some(4)], Ok(Some(&[0, 1, 4, 3, 2])));
        check(&[None, Some(1), Some(1)], Err(1));
    }
}
