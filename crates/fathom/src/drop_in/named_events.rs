//! Events that processes know by name: set once, seen by all, gone with the process that made them.
//!
//! Windows has them in the kernel. Here each is a small file where shared memory lies, which every process of the machine
//! can find under its name.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a process that waits looks.
const LOOK: Duration = Duration::from_millis(5);

/// An event.
#[derive(Clone, Debug)]
pub struct NamedEvent {
    path: PathBuf,
    /// It was made here, so it goes with this process.
    made: bool,
}

impl NamedEvent {
    /// The event of that name, made if there is none.
    ///
    /// # Errors
    /// The system's error.
    pub fn open_or_make(name: &str) -> io::Result<NamedEvent> {
        let path = path_of(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => Ok(NamedEvent { path, made: true }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::open(name),
            Err(error) => Err(error),
        }
    }

    /// The event of that name, which somebody has made.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(name: &str) -> io::Result<NamedEvent> {
        let path = path_of(name);
        OpenOptions::new().read(true).write(true).open(&path)?;
        Ok(NamedEvent { path, made: false })
    }

    /// Sets it, for good.
    ///
    /// # Errors
    /// The system's error.
    pub fn set(&self) -> io::Result<()> {
        OpenOptions::new().write(true).open(&self.path)?.write_all(b"set")
    }

    /// True once somebody has set it.
    pub fn is_set(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|meta| meta.len() > 0)
    }

    /// Waits until it is set, or until `enough` says so.
    pub fn wait(&self, enough: impl Fn() -> bool) {
        while !self.is_set() && !enough() {
            std::thread::sleep(LOOK);
        }
    }

    /// Takes it away, if it was made here.
    pub fn let_go(&self) {
        if self.made {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn path_of(name: &str) -> PathBuf {
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() {
        shared.to_owned()
    } else {
        std::env::temp_dir()
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let letters = name.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    folder.join(format!("diskspd-event-{}", letters.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_seen_by_all_who_know_its_name_and_goes_with_its_maker() {
        let name = format!(r"Global\test {}/x", std::process::id());
        assert!(NamedEvent::open(&name).is_err());
        let made = NamedEvent::open_or_make(&name).unwrap();
        let found = NamedEvent::open_or_make(&name).unwrap();
        assert!(!made.is_set() && !found.is_set());
        made.wait(|| true);
        let setter = std::thread::spawn(move || found.set().unwrap());
        made.wait(|| false);
        setter.join().unwrap();
        let other = NamedEvent::open(&name).unwrap();
        assert!(other.is_set());
        other.let_go();
        assert!(made.is_set(), "who has not made it does not take it away");
        made.let_go();
        assert!(NamedEvent::open(&name).is_err());
    }
}
