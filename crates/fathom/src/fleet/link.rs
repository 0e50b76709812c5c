//! Connections to other processes: TCP, and sockets in the file system where the system has these.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;
use std::time::Duration;

use run::hosts::{Duplex, Role, introduce};

/// How long an address, or the other side of a connection, may take to answer.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A connection.
pub trait Link: Read + Write + Send {
    /// How long is waited for what is read; `None` for as long as it takes.
    ///
    /// # Errors
    /// Those of the system.
    fn wait(&self, at_most: Option<Duration>) -> io::Result<()>;

    /// Its two directions.
    ///
    /// # Errors
    /// Those of the system.
    fn halves(&self) -> io::Result<Duplex>;
}

impl Link for TcpStream {
    fn wait(&self, at_most: Option<Duration>) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_nodelay(true)?;
        self.set_read_timeout(at_most)
    }

    fn halves(&self) -> io::Result<Duplex> {
        Ok(Duplex {
            reader: Box::new(self.try_clone()?),
            writer: Box::new(self.try_clone()?),
        })
    }
}

#[cfg(unix)]
impl Link for std::os::unix::net::UnixStream {
    fn wait(&self, at_most: Option<Duration>) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_read_timeout(at_most)
    }

    fn halves(&self) -> io::Result<Duplex> {
        Ok(Duplex {
            reader: Box::new(self.try_clone()?),
            writer: Box::new(self.try_clone()?),
        })
    }
}

impl Link for Box<dyn Link> {
    fn wait(&self, at_most: Option<Duration>) -> io::Result<()> {
        (**self).wait(at_most)
    }

    fn halves(&self) -> io::Result<Duplex> {
        (**self).halves()
    }
}

/// Makes a connection ready for messages, once both sides have shown that they may.
///
/// # Errors
/// Those of the connection, and of a side that may not.
pub fn ready(link: &mut impl Link, role: Role, token: &str) -> io::Result<Duplex> {
    link.wait(Some(PATIENCE))?;
    introduce(link, role, token)?;
    link.wait(None)?;
    link.halves()
}

/// Connects to the first of these addresses that answers.
///
/// # Errors
/// Why the last does not.
pub fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut why = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Where others are waited for.
#[derive(Debug)]
pub enum Listener {
    /// An address.
    Network(TcpListener),
    /// A socket in the file system, which goes with this.
    #[cfg(unix)]
    Socket(std::os::unix::net::UnixListener, PathBuf),
}

impl Listener {
    /// The next that has come, and from where.
    ///
    /// # Errors
    /// Nobody has, or one of the system's.
    pub fn accept(&self) -> io::Result<(Box<dyn Link>, String)> {
        match self {
            Listener::Network(listener) => {
                let (stream, from) = listener.accept()?;
                Ok((Box::new(stream), from.to_string()))
            }
            #[cfg(unix)]
            Listener::Socket(listener, path) => {
                let (stream, _) = listener.accept()?;
                Ok((Box::new(stream), path.display().to_string()))
            }
        }
    }

    /// From now on nobody waits in [`Listener::accept`].
    pub fn set_nonblocking(&self) {
        let _ = match self {
            Listener::Network(listener) => listener.set_nonblocking(true),
            #[cfg(unix)]
            Listener::Socket(listener, _) => listener.set_nonblocking(true),
        };
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Listener::Socket(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Listens on a socket in the file system that only this user reaches.
///
/// # Errors
/// Something else is there, somebody listens there already, or one of the system's.
#[cfg(unix)]
pub fn listen_at(path: &Path) -> io::Result<Listener> {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    if let Ok(meta) = std::fs::symlink_metadata(path) {
        if !meta.file_type().is_socket() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "there is a file that is no socket",
            ));
        }
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "another process listens there",
            ));
        }
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // Nobody else comes into this folder, so that there is no moment at which they could connect.
    let hidden = tempfile::tempdir_in(folder.unwrap_or(Path::new(".")))?;
    let there = hidden.path().join("socket");
    let listener = UnixListener::bind(&there)?;
    std::fs::set_permissions(&there, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&there, path)?;
    Ok(Listener::Socket(listener, path.to_owned()))
}

/// Listens on a socket in the file system: not on this system.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn listen_at(_: &Path) -> io::Result<Listener> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "sockets in the file system are for Unix; name an address",
    ))
}

/// Connects to a socket in the file system.
///
/// # Errors
/// Those of the system.
#[cfg(unix)]
pub fn connect_at(path: &Path) -> io::Result<Box<dyn Link>> {
    Ok(Box::new(std::os::unix::net::UnixStream::connect(path)?))
}

/// Connects to a socket in the file system: not on this system.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn connect_at(_: &Path) -> io::Result<Box<dyn Link>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "sockets in the file system are for Unix; name an address",
    ))
}
