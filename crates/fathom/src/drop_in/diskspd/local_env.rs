//! Environment for parsing a DiskSpd command line: files, processors, named events.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use dialects::diskspd::{EventRole, ParseEnv, Processors, Version};

use super::super::named_events::NamedEvent;
use crate::user_file;

/// This machine, and the named events that the command line opened.
#[derive(Debug, Default)]
pub struct LocalEnv {
    events: Vec<(EventRole, NamedEvent)>,
    /// Profiles that were read, which no output must replace.
    pub(super) inputs: Vec<PathBuf>,
    /// True if threads also run on other machines, whose processors are unknown.
    has_other_hosts: bool,
    /// True if named events are neither opened nor set.
    ignores_events: bool,
}

/// Environment variable with the version of DiskSpd whose switches are accepted.
pub const VERSION: &str = "FATHOM_DISKSPD_VERSION";

/// Number of CPUs assumed for an unknown machine.
const MAX_CPUS_ELSEWHERE: u32 = 4096;

impl LocalEnv {
    /// Creates an environment. `has_other_hosts` is true if threads also run on other machines.
    pub fn for_hosts(has_other_hosts: bool) -> LocalEnv {
        let mut env = LocalEnv::default();
        env.has_other_hosts = has_other_hosts;
        env
    }

    /// Creates an environment for parsing a line without running it, which must not set an event.
    pub fn without_events() -> LocalEnv {
        let mut env = LocalEnv::default();
        env.ignores_events = true;
        env
    }

    /// Returns the event of a role, if the command line names one.
    pub fn event(&self, role: EventRole) -> Option<&NamedEvent> {
        let mut newest_first = self.events.iter().rev();
        newest_first
            .find(|(event_role, _)| *event_role == role)
            .map(|(_, event)| event)
    }
}

impl Drop for LocalEnv {
    fn drop(&mut self) {
        self.events.iter().for_each(|(_, event)| event.close());
    }
}

impl ParseEnv for LocalEnv {
    fn processors(&self) -> Processors {
        let online = match self.has_other_hosts {
            true => (0..MAX_CPUS_ELSEWHERE).collect(),
            false => engine::sys::thread::usable_cpus(),
        };
        Processors {
            possible: online.last().map_or(0, |last| last + 1),
            online,
        }
    }

    fn version(&self) -> Version {
        match std::env::var_os(VERSION) {
            Some(version) if version == "2.3" => Version::V2_3,
            _ => Version::V2_2,
        }
    }

    fn milliseconds_since_boot(&self) -> u64 {
        if let Some(since) = engine::sys::native_facts::since_start() {
            return since.as_millis() as u64;
        }
        let uptime = std::fs::read_to_string("/proc/uptime").ok();
        let seconds = uptime.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        match seconds {
            Some(seconds) => (seconds * 1000.0) as u64,
            // Without an uptime, uses any number that differs between runs.
            None => UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as u64),
        }
    }

    fn read_profile(&mut self, path: &str) -> Result<String, String> {
        self.inputs.push(path.into());
        let bytes =
            user_file::read_bytes(path.as_ref(), user_file::MAX_TEXT).map_err(|error| match error.raw_os_error() {
                Some(number) => engine::os_error_name(number),
                None => error.to_string(),
            })?;
        decode_text(&bytes).ok_or_else(|| "the file is neither UTF-8 nor UTF-16 text".to_owned())
    }

    fn open_event(&mut self, role: EventRole, name: &str) -> Result<(), String> {
        if self.ignores_events {
            return Ok(());
        }
        let event = NamedEvent::open_or_create(name).map_err(|error| error.to_string())?;
        self.events.push((role, event));
        Ok(())
    }

    fn signal_event(&mut self, name: &str) -> Result<(), String> {
        if self.ignores_events {
            return Ok(());
        }
        NamedEvent::set_existing(name).map_err(|error| match error.kind() {
            // DiskSpd's message reports the failure.
            ErrorKind::NotFound => String::new(),
            _ => error.to_string(),
        })
    }
}

/// Decodes text with or without a byte order mark. PowerShell writes UTF-16 by default.
fn decode_text(bytes: &[u8]) -> Option<String> {
    let wide = |bytes: &[u8], decode: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| decode(*pair)).collect();
        rest.is_empty().then(|| String::from_utf16(&units).ok()).flatten()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read_in_utf_8_and_utf_16() {
        let text = "<Profile>é</Profile>";
        let wide = |encode: fn(u16) -> [u8; 2], mark: [u8; 2]| -> Vec<u8> {
            mark.into_iter().chain(text.encode_utf16().flat_map(encode)).collect()
        };
        let marked: Vec<u8> = [0xef, 0xbb, 0xbf].into_iter().chain(text.bytes()).collect();
        for bytes in [
            text.as_bytes().to_vec(),
            marked,
            wide(u16::to_le_bytes, [0xff, 0xfe]),
            wide(u16::to_be_bytes, [0xfe, 0xff]),
        ] {
            assert_eq!(decode_text(&bytes).as_deref(), Some(text));
        }
        assert_eq!(decode_text(&[0xff, 0xfe, 0x41]), None);
        assert_eq!(decode_text(&[0xc3, 0x28]), None);
    }
}
