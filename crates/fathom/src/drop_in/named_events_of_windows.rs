//! Named events of the Windows kernel, which DiskSpd and other programs use too.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use engine::sys::events::Event;

/// How often a waiting process checks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A named event. The kernel removes it with the last process that has it open.
#[derive(Clone, Debug)]
pub struct NamedEvent(Arc<Event>);

impl NamedEvent {
    /// Opens the event of this name, or creates it.
    ///
    /// # Errors
    /// The event cannot be opened or set.
    pub fn open_or_create(name: &str) -> io::Result<NamedEvent> {
        Event::open_or_create(name).map(|event| NamedEvent(Arc::new(event)))
    }

    /// Sets an existing event permanently.
    ///
    /// # Errors
    /// The event cannot be opened or set.
    pub fn set_existing(name: &str) -> io::Result<()> {
        Event::open(name)?.set()
    }

    /// Sets the event permanently.
    ///
    /// # Errors
    /// The event cannot be opened or set.
    pub fn set(&self) -> io::Result<()> {
        self.0.set()
    }

    pub fn is_set(&self) -> bool {
        self.0.wait(Duration::ZERO)
    }

    /// Waits until the event is set, or until `should_stop` returns true.
    pub fn wait(&self, should_stop: impl Fn() -> bool) {
        while !self.0.wait(POLL_INTERVAL) && !should_stop() {}
    }

    /// Closes the event. The system removes it with its last handle, at the latest when the process
    /// ends.
    pub fn close(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_shared_by_name_and_removed_with_the_last_owner() {
        let name = format!("fathom-{}-seen", std::process::id());
        let missing = NamedEvent::set_existing(&name).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let [first, second] = [&name; 2].map(|name| NamedEvent::open_or_create(name).unwrap());
        assert!(!first.is_set() && !second.is_set());
        first.wait(|| true);
        NamedEvent::set_existing(&name).unwrap();
        assert!(first.is_set() && second.is_set());
        second.wait(|| false);
        first.close();
        drop((first, second));
        assert!(
            !NamedEvent::open_or_create(&name).unwrap().is_set(),
            "a different event"
        );
    }
}
