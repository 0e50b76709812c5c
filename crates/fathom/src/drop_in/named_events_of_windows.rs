//! Events that processes know by name: those of the kernel, which DiskSpd and other programs see
//! too.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use engine::sys::events::Event;

/// How often a process that waits looks whether it has to go on.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// An event. It goes with the last process that has it.
#[derive(Clone, Debug)]
pub struct NamedEvent(Arc<Event>);

impl NamedEvent {
    /// The event of that name, made if there is none.
    ///
    /// # Errors
    /// The system's error.
    pub fn open_or_make(name: &str) -> io::Result<NamedEvent> {
        Event::open_or_make(name).map(|event| NamedEvent(Arc::new(event)))
    }

    /// Sets the existing event of that name for good.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_existing(name: &str) -> io::Result<()> {
        Event::open(name)?.set()
    }

    /// Sets it, for good.
    ///
    /// # Errors
    /// The system's error.
    pub fn set(&self) -> io::Result<()> {
        self.0.set()
    }

    /// True once it is set.
    pub fn is_set(&self) -> bool {
        self.0.wait(Duration::ZERO)
    }

    /// Waits until it is set, or until `enough` says so.
    pub fn wait(&self, enough: impl Fn() -> bool) {
        while !self.0.wait(POLL_INTERVAL) && !enough() {}
    }

    /// Has done with it. The system takes it away with the last handle, which goes with the process
    /// at the latest.
    pub fn let_go(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_seen_by_all_who_know_its_name_and_goes_with_the_last() {
        let name = format!("fathom-{}-seen", std::process::id());
        let missing = NamedEvent::set_existing(&name).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let [one, other] = [&name; 2].map(|name| NamedEvent::open_or_make(name).unwrap());
        assert!(!one.is_set() && !other.is_set());
        one.wait(|| true);
        NamedEvent::set_existing(&name).unwrap();
        assert!(one.is_set() && other.is_set());
        other.wait(|| false);
        one.let_go();
        drop((one, other));
        assert!(!NamedEvent::open_or_make(&name).unwrap().is_set(), "it is another one");
    }
}
