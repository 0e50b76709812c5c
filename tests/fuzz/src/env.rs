//! A machine without files, for parsers that query one.

use dialects::diskspd::{EventRole, Processors};
use dialects::fio::{Disk, PathFacts, PathKind, TraceFile};

/// The only file that can be read, under any name.
#[derive(Debug)]
pub(crate) struct NullEnv(pub(crate) String);

impl dialects::fio::ParseEnv for NullEnv {
    fn read_job_file(&mut self, _: &str) -> Result<String, String> {
        Ok(self.0.clone())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn is_directory(&self, _: &str) -> Result<bool, String> {
        Ok(true)
    }

    fn open_output(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn page_size(&self) -> u64 {
        4096
    }

    fn processors(&self) -> u64 {
        2
    }

    fn memory_mib(&self) -> u64 {
        1024
    }
}

impl Disk for NullEnv {
    fn find(&self, _: &str) -> Option<PathFacts> {
        Some(PathFacts {
            kind: PathKind::Device,
            size: 1 << 30,
        })
    }

    fn read(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone().into_bytes())
    }

    fn list_files_below(&self, _: &str) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    fn trace(&self, path: &str) -> Result<TraceFile, String> {
        Ok(TraceFile {
            path: path.to_owned(),
            bytes: Box::new(std::io::empty()),
        })
    }

    fn device(&self, _: u32, _: u32) -> Option<String> {
        None
    }
}

impl dialects::diskspd::ParseEnv for NullEnv {
    fn processors(&self) -> Processors {
        Processors {
            online: vec![0, 1],
            possible: 2,
        }
    }

    fn milliseconds_since_boot(&self) -> u64 {
        7
    }

    fn read_profile(&mut self, _: &str) -> Result<String, String> {
        Ok(self.0.clone())
    }

    fn open_event(&mut self, _: EventRole, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn signal_event(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }
}
