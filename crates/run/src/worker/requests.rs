//! The operations that wait to be handed over. They lie side by side, as the engine takes them, and
//! nothing is allocated after the start.

use engine::Request;

/// Operations that wait to be handed over, oldest first.
#[derive(Debug)]
pub(super) struct Requests {
    list: Box<[Request]>,
    /// The first that waits; those before it have been taken over.
    head: usize,
    /// Behind the last.
    tail: usize,
}

impl Requests {
    /// Room for `most` operations.
    pub(super) fn new(most: usize) -> Requests {
        // Twice as many places as operations: they are moved to the front only once in that many.
        Requests {
            list: vec![Request::NONE; 2 * most].into(),
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

    /// The oldest ones, up to `most`.
    #[inline(always)]
    pub(super) fn first(&self, most: usize) -> &[Request] {
        let end = self.tail.min(self.head.saturating_add(most));
        self.list.get(self.head..end).unwrap_or(&[])
    }

    /// Places behind the last for `count` more; they count once [`Requests::add`] is called.
    #[inline(always)]
    pub(super) fn places(&mut self, count: usize) -> &mut [Request] {
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
        self.places(1)[0] = request;
        self.add(1);
    }

    /// The engine has taken the first N over.
    #[inline(always)]
    pub(super) fn remove(&mut self, taken: usize) {
        self.head += taken;
        if self.head >= self.tail {
            (self.head, self.tail) = (0, 0);
        }
    }

    pub(super) fn clear(&mut self) {
        (self.head, self.tail) = (0, 0);
    }
}
