//! Lists runs in progress that have a server (`--metrics`). Each has a small file next to the
//! history, so that `fathom serve` can find it.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::history;

/// How long a run may take to accept a connection.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(200);

/// A run in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Address of its server.
    pub address: SocketAddr,
    /// Name of the running test.
    pub name: String,
    pub started_unix_ns: u64,
}

/// The file of a run, removed at its end.
#[derive(Debug)]
pub struct Notice(PathBuf);

impl Drop for Notice {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Finds the directory next to the history.
fn folder() -> Option<PathBuf> {
    let history = history::path().ok()?;
    Some(history.with_extension("running"))
}

/// Announces this run and its address. If that fails, the list lacks this run, which is harmless.
pub fn announce(address: SocketAddr, name: &str) -> Option<Notice> {
    let folder = folder()?;
    fs::create_dir_all(&folder).ok()?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    // A server on all networks is reached through loopback on this machine.
    let reached = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let run = Running {
        address: SocketAddr::new(reached, address.port()),
        name: name.to_owned(),
        started_unix_ns: since.as_nanos() as u64,
    };
    let path = folder.join(format!("{}.json", std::process::id()));
    let text = serde_json::to_vec(&run).ok()?;
    archive::write_whole(&path, &text).ok()?;
    Some(Notice(path))
}

/// Lists the runs that accept connections, the earliest first.
pub fn list() -> Vec<Running> {
    let Some(entries) = folder().and_then(|folder| fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
    let mut runs: Vec<Running> = entries.flatten().filter_map(|entry| read(&entry.path())).collect();
    runs.sort_by_key(|run| run.started_unix_ns);
    runs
}

/// Reads the file of a run. Removes it if the run does not answer: a crash left it behind.
fn read(path: &Path) -> Option<Running> {
    let run: Running = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    match TcpStream::connect_timeout(&run.address, ANSWER_TIMEOUT) {
        Ok(_) => Some(run),
        Err(_) => {
            let _ = fs::remove_file(path);
            None
        }
    }
}
