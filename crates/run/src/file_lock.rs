//! Locks that workers take on files while they hand over operations: fair, so that no worker waits
//! forever.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The lock of one file. Who asks first is served first.
#[derive(Debug, Default)]
pub(crate) struct FileLock {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Number for the next who asks.
    next: u64,
    /// Whose turn it is.
    serving: u64,
    /// How many use the file together.
    together: u32,
    /// One user has it exclusively.
    alone: bool,
}

impl FileLock {
    /// Waits until the file may be used, alone or together with others who use it so.
    pub(crate) fn take(&self, alone: bool) {
        let mut state = self.state();
        let turn = state.next;
        state.next += 1;
        while state.serving != turn || state.alone || alone && state.together > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.serving += 1;
        match alone {
            true => state.alone = true,
            false => state.together += 1,
        }
        drop(state);
        // The next may be one who uses it together.
        self.changed.notify_all();
    }

    /// The file is not used any more.
    pub(crate) fn give_back(&self, alone: bool) {
        let mut state = self.state();
        match alone {
            true => state.alone = false,
            false => state.together -= 1,
        }
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A worker that panicked has left whole numbers behind.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI32, Ordering};

    use super::*;

    /// Threads that use a file, and the most that were seen at the same time: together, and beside
    /// one who was alone.
    fn most(alone: fn(usize) -> bool) -> (i32, i32) {
        let lock = Arc::new(FileLock::default());
        let (inside, alone_inside) = (Arc::new(AtomicI32::new(0)), Arc::new(AtomicI32::new(0)));
        let seen = Arc::new((AtomicI32::new(0), AtomicI32::new(0)));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (lock, inside, alone_inside) = (&lock, &inside, &alone_inside);
                let seen = &seen;
                scope.spawn(move || {
                    for round in 0..200 {
                        let alone = alone(thread + round);
                        lock.take(alone);
                        let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                        let others = alone_inside.fetch_add(i32::from(alone), Ordering::SeqCst) + i32::from(alone);
                        seen.0.fetch_max(now, Ordering::SeqCst);
                        if others > 0 {
                            seen.1.fetch_max(now, Ordering::SeqCst);
                        }
                        std::thread::yield_now();
                        alone_inside.fetch_sub(i32::from(alone), Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        lock.give_back(alone);
                    }
                });
            }
        });
        (seen.0.load(Ordering::SeqCst), seen.1.load(Ordering::SeqCst))
    }

    #[test]
    fn who_is_alone_is_alone() {
        assert_eq!(most(|_| true).0, 1);
        assert_eq!(most(|number| number % 3 == 0).1, 1);
    }

    #[test]
    fn others_may_come_while_all_use_it_together_and_one_alone_must_wait() {
        let lock = Arc::new(FileLock::default());
        lock.take(false);
        lock.take(false);
        let other = Arc::clone(&lock);
        let waiting = std::thread::spawn(move || {
            other.take(true);
            other.give_back(true);
        });
        // Both have to leave before the third comes in; with one of them there the thread cannot
        // end.
        lock.give_back(false);
        assert!(!waiting.is_finished());
        lock.give_back(false);
        waiting.join().unwrap();
    }
}
