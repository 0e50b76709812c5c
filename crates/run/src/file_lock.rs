//! Fair locks that workers hold on files while they submit operations.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The lock of a file, granted in the order of requests.
#[derive(Debug, Default)]
pub(crate) struct FileLock {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the next request.
    next: u64,
    /// The number of the request to grant next.
    serving: u64,
    /// The number of shared holders.
    shared_count: u32,
    /// It is held exclusively.
    exclusive: bool,
}

impl FileLock {
    /// Waits for the lock, exclusive or shared.
    pub(crate) fn acquire(&self, exclusive: bool) {
        let mut state = self.state();
        let ticket = state.next;
        state.next += 1;
        while state.serving != ticket || state.exclusive || exclusive && state.shared_count > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.serving += 1;
        match exclusive {
            true => state.exclusive = true,
            false => state.shared_count += 1,
        }
        drop(state);
        // Wake the next waiter: a shared request can be granted at once.
        self.changed.notify_all();
    }

    /// Releases the lock.
    pub(crate) fn release(&self, exclusive: bool) {
        let mut state = self.state();
        match exclusive {
            true => state.exclusive = false,
            false => state.shared_count -= 1,
        }
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI32, Ordering};

    use super::*;

    /// Acquires the lock in four threads. Returns the largest number of holders at any
    /// time, and the largest number while one of them was exclusive.
    fn count_max_holders(exclusive: fn(usize) -> bool) -> (i32, i32) {
        let lock = Arc::new(FileLock::default());
        let (holder_count, exclusive_holders) = (Arc::new(AtomicI32::new(0)), Arc::new(AtomicI32::new(0)));
        let seen = Arc::new((AtomicI32::new(0), AtomicI32::new(0)));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (lock, holder_count, exclusive_holders) = (&lock, &holder_count, &exclusive_holders);
                let seen = &seen;
                scope.spawn(move || {
                    for round in 0..200 {
                        let exclusive = exclusive(thread + round);
                        lock.acquire(exclusive);
                        let holders = holder_count.fetch_add(1, Ordering::SeqCst) + 1;
                        let exclusive_inside =
                            exclusive_holders.fetch_add(i32::from(exclusive), Ordering::SeqCst) + i32::from(exclusive);
                        seen.0.fetch_max(holders, Ordering::SeqCst);
                        if exclusive_inside > 0 {
                            seen.1.fetch_max(holders, Ordering::SeqCst);
                        }
                        std::thread::yield_now();
                        exclusive_holders.fetch_sub(i32::from(exclusive), Ordering::SeqCst);
                        holder_count.fetch_sub(1, Ordering::SeqCst);
                        lock.release(exclusive);
                    }
                });
            }
        });
        (seen.0.load(Ordering::SeqCst), seen.1.load(Ordering::SeqCst))
    }

    #[test]
    fn an_exclusive_holder_is_alone() {
        assert_eq!(count_max_holders(|_| true).0, 1);
        assert_eq!(count_max_holders(|number| number % 3 == 0).1, 1);
    }

    #[test]
    fn shared_holders_overlap_and_exclusive_ones_wait() {
        let lock = Arc::new(FileLock::default());
        lock.acquire(false);
        lock.acquire(false);
        let shared_lock = Arc::clone(&lock);
        let waiting = std::thread::spawn(move || {
            shared_lock.acquire(true);
            shared_lock.release(true);
        });
        // The thread cannot acquire the lock, and so cannot end, until both shared holders have
        // released it.
        lock.release(false);
        assert!(!waiting.is_finished());
        lock.release(false);
        waiting.join().unwrap();
    }
}
