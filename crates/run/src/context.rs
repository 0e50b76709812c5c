//! The context of a run: clock, permissions and hooks of its caller.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use engine::Clock;

use crate::targets::Peers;
use crate::targets::guard::Permissions;

/// The clock, the permissions and the caller's hooks of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunContext<'a> {
    /// The clock that stamps operations.
    pub clock: Clock,
    /// Becomes true when the user or the system asks to stop.
    pub interrupt: &'a AtomicBool,
    /// What the user permits the run to overwrite.
    pub permissions: &'a Permissions,
    /// Hooks of the caller.
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

    /// Adds the hooks of the caller.
    #[must_use]
    pub fn with_hooks(self, hooks: RunHooks<'a>) -> RunContext<'a> {
        RunContext { hooks, ..self }
    }
}

/// Hooks with which the caller influences a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunHooks<'a> {
    /// Set to request the results so far ([`model::event::Event::Snapshot`]). Each step also sends
    /// them at its end.
    pub snapshots: Option<&'a AtomicBool>,
    /// Jobs, by step and number, that must not start. Read once a step is ready
    /// ([`model::event::Event::Ready`]).
    pub cancelled: Option<&'a Mutex<Vec<(usize, usize)>>>,
    /// Set to end every job of the step, as if its work were done.
    pub finished: Option<&'a AtomicBool>,
    /// The other processes of a fleet, which may need the same files.
    pub others: Option<&'a dyn Peers>,
}
