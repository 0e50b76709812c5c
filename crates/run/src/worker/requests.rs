//! The operations that wait for submission, contiguous in memory, as engines require. Nothing is
//! allocated after the start.

use engine::Request;

/// Operations that wait for submission, oldest first.
#[derive(Debug)]
pub(super) struct Requests {
    list: Box<[Request]>,
    /// Index of the first waiting operation; earlier ones are already submitted.
    head: usize,
    /// Index after the last waiting operation.
    tail: usize,
}

impl Requests {
    /// Room for `max` operations.
    pub(super) fn new(max: usize) -> Requests {
        // Twice as many places as operations, so that operations are rarely moved to the front.
        Requests {
            list: vec![Request::NONE; 2 * max].into(),
            head: 0,
            tail: 0,
        }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.tail - self.head
    }

    /// The oldest waiting operations, up to `max`.
    #[inline(always)]
    pub(super) fn first(&self, max: usize) -> &[Request] {
        let end = self.tail.min(self.head.saturating_add(max));
        self.list.get(self.head..end).unwrap_or(&[])
    }

    /// Free places for `count` more operations; [`Requests::add`] adds them.
    #[inline(always)]
    pub(super) fn free_entries(&mut self, count: usize) -> &mut [Request] {
        if self.tail + count > self.list.len() {
            self.list.copy_within(self.head..self.tail, 0);
            (self.head, self.tail) = (0, self.tail - self.head);
        }
        &mut self.list[self.tail..][..count]
    }

    #[inline(always)]
    pub(super) fn add(&mut self, count: usize) {
        self.tail += count;
    }

    pub(super) fn push(&mut self, request: Request) {
        self.free_entries(1)[0] = request;
        self.add(1);
    }

    /// Removes the first operations after their submission.
    #[inline(always)]
    pub(super) fn remove(&mut self, submitted: usize) {
        self.head += submitted;
        if self.head >= self.tail {
            (self.head, self.tail) = (0, 0);
        }
    }

    pub(super) fn clear(&mut self) {
        (self.head, self.tail) = (0, 0);
    }
}
