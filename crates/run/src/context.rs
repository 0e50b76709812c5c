//! What a run may do, and what its caller may ask of it.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use engine::Clock;

use crate::targets::Peers;
use crate::targets::guard::Permissions;

/// What a run may do, by which clock, and what its caller may ask of it.
#[derive(Clone, Copy, Debug)]
pub struct RunContext<'a> {
    /// The clock that stamps operations.
    pub clock: Clock,
    /// Becomes true when the user or the system asks to stop.
    pub interrupt: &'a AtomicBool,
    /// What the user allows to be lost.
    pub permissions: &'a Permissions,
    /// What the caller may ask during the run.
    pub hooks: RunHooks<'a>,
}

impl<'a> RunContext<'a> {
    /// A context without hooks.
    pub fn new(clock: Clock, interrupt: &'a AtomicBool, permissions: &'a Permissions) -> RunContext<'a> {
        RunContext {
            clock,
            interrupt,
            permissions,
            hooks: RunHooks::default(),
        }
    }

    /// The same with hooks.
    #[must_use]
    pub fn with_hooks(self, hooks: RunHooks<'a>) -> RunContext<'a> {
        RunContext { hooks, ..self }
    }
}

/// What the caller of a run may ask of it while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunHooks<'a> {
    /// Raised to ask for the results so far ([`model::event::Event::Snapshot`]); there is one at
    /// the end of each step too.
    pub snapshots: Option<&'a AtomicBool>,
    /// Jobs, by step and number, that must not begin. It is read once a step is ready
    /// ([`model::event::Event::Ready`]).
    pub cancelled: Option<&'a Mutex<Vec<(usize, usize)>>>,
    /// Other processes that execute parts of the same test, and may want the same files.
    pub others: Option<&'a dyn Peers>,
}
