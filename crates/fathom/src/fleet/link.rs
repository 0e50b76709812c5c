//! Connections to other processes: TCP, and Unix sockets where available.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use run::hosts::{Duplex, HANDSHAKE_TIMEOUT, HandshakeError, Role, Session, accept_session, connect_session};

/// Maximum time until an address answers.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause between two attempts to connect.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// How often a handshake checks whether it is cancelled.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);

/// The reading and the writing half of a connection.
pub type ConnectionHalves = (Box<dyn Read + Send>, Box<dyn Write + Send>);

/// A bidirectional connection.
pub trait Link: Read + Write + Send + std::fmt::Debug {
    /// Makes reads block for at most `timeout`; `None` for no limit.
    ///
    /// # Errors
    /// The system refuses the timeout.
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;

    /// Splits the connection into its two directions.
    ///
    /// # Errors
    /// The descriptor cannot be duplicated.
    fn split(&self) -> io::Result<ConnectionHalves>;
}

impl Link for TcpStream {
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_nodelay(true)?;
        self.set_read_timeout(timeout)
    }

    fn split(&self) -> io::Result<ConnectionHalves> {
        Ok((Box::new(self.try_clone()?), Box::new(self.try_clone()?)))
    }
}

#[cfg(unix)]
impl Link for std::os::unix::net::UnixStream {
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_read_timeout(timeout)
    }

    fn split(&self) -> io::Result<ConnectionHalves> {
        Ok((Box::new(self.try_clone()?), Box::new(self.try_clone()?)))
    }
}

impl Link for Box<dyn Link> {
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        (**self).set_timeout(timeout)
    }

    fn split(&self) -> io::Result<ConnectionHalves> {
        (**self).split()
    }
}

/// A connection during its handshake, with one deadline for all reads.
struct DeadlineLink<'a, L> {
    link: &'a mut L,
    deadline: Instant,
    cancelled: &'a AtomicBool,
}

impl<'a, L: Link> DeadlineLink<'a, L> {
    fn new(link: &'a mut L, cancelled: &'a AtomicBool) -> DeadlineLink<'a, L> {
        DeadlineLink {
            link,
            deadline: Instant::now() + HANDSHAKE_TIMEOUT,
            cancelled,
        }
    }
}

impl<L: Link> Read for DeadlineLink<'_, L> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.cancelled.load(Ordering::Relaxed) {
                let why = "the peer was silent while too many connections waited";
                return Err(io::Error::new(io::ErrorKind::ConnectionAborted, why));
            }
            let time_left = self.deadline.saturating_duration_since(Instant::now());
            if time_left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.link.set_timeout(Some(time_left.min(CANCEL_INTERVAL)))?;
            match self.link.read(bytes) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                outcome => return outcome,
            }
        }
    }
}

impl<L: Link> Write for DeadlineLink<'_, L> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A whole handshake fits into the socket buffer, so writes do not block.
        self.link.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.link.flush()
    }
}

/// Performs the handshake of an accepted connection. `claim_seat` reserves a seat for a side that
/// knows the token.
///
/// # Errors
/// [`HandshakeError`].
pub fn accept_handshake(
    link: &mut impl Link,
    (role, token): (Role, &str),
    cancelled: &AtomicBool,
    claim_seat: impl FnOnce() -> bool,
) -> Result<Duplex, HandshakeError> {
    let session = accept_session(&mut DeadlineLink::new(link, cancelled), role, token, claim_seat)?;
    seal(link, session)
}

fn seal(link: &impl Link, session: Session) -> Result<Duplex, HandshakeError> {
    link.set_timeout(None)?;
    let (reader, writer) = link.split()?;
    Ok(Duplex::sealed(reader, writer, session))
}

/// Reason for a failed connection.
#[derive(Debug)]
pub enum ConnectError {
    /// Nothing answers at the address.
    Unreachable(io::Error),
    /// The other side does not accept this process.
    Handshake(HandshakeError),
}

/// Settings of an outgoing connection.
#[derive(Clone, Copy, Debug)]
pub struct Connector<'a> {
    pub role: Role,
    pub token: &'a str,
    /// The time limit for retries.
    pub timeout: Duration,
    /// The listener might start later than this process.
    pub awaits_listener: bool,
    pub interrupt: &'a AtomicBool,
}

impl Connector<'_> {
    /// Connects and performs the handshake; retries temporary failures.
    ///
    /// # Errors
    /// The last handshake error, or the reason why nothing answers.
    pub fn connect<L: Link>(&self, connect: impl Fn() -> io::Result<L>) -> Result<Duplex, ConnectError> {
        let begun = Instant::now();
        let mut answered = None;
        loop {
            let unreachable = match connect() {
                Ok(mut link) => match self.handshake(&mut link) {
                    Ok(duplex) => return Ok(duplex),
                    Err(error) if error.is_temporary() => {
                        answered = Some(error);
                        None
                    }
                    Err(error) => return Err(ConnectError::Handshake(error)),
                },
                Err(error) => Some(error),
            };
            let is_over = begun.elapsed() + RETRY_PAUSE > self.timeout || self.interrupt.load(Ordering::Relaxed);
            match (answered.take(), unreachable) {
                (Some(error), _) if is_over => return Err(ConnectError::Handshake(error)),
                (None, Some(error)) if is_over || !self.awaits_listener => {
                    return Err(ConnectError::Unreachable(error));
                }
                (before, _) => answered = before,
            }
            std::thread::sleep(RETRY_PAUSE);
        }
    }

    fn handshake(&self, link: &mut impl Link) -> Result<Duplex, HandshakeError> {
        let session = connect_session(&mut DeadlineLink::new(link, self.interrupt), self.role, self.token)?;
        seal(link, session)
    }
}

/// Connects to the first of these addresses that answers.
///
/// # Errors
/// The error of the last address.
pub fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut why = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// A listener for incoming connections.
#[derive(Debug)]
pub enum Listener {
    /// An address.
    Network(TcpListener),
    /// A Unix socket, whose file is removed on drop.
    #[cfg(unix)]
    Socket(std::os::unix::net::UnixListener, PathBuf),
}

impl Listener {
    /// Accepts a connection and returns its origin.
    ///
    /// # Errors
    /// `WouldBlock` if no connection waits, or another I/O error.
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

    /// Makes [`Listener::accept`] return immediately if no connection waits.
    pub fn set_nonblocking(&self) {
        let _ = match self {
            Listener::Network(listener) => listener.set_nonblocking(true),
            #[cfg(unix)]
            Listener::Socket(listener, _) => listener.set_nonblocking(true),
        };
    }

    /// Returns a function that checks whether any process listens at this address.
    ///
    /// # Errors
    /// The local address cannot be read.
    pub fn probe(&self) -> io::Result<Box<dyn Fn() -> bool>> {
        Ok(match self {
            Listener::Network(listener) => {
                let mut address = listener.local_addr()?;
                if address.ip().is_unspecified() {
                    address.set_ip(match address {
                        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
                    });
                }
                Box::new(move || TcpStream::connect(address).is_ok())
            }
            #[cfg(unix)]
            Listener::Socket(_, path) => {
                let path = path.clone();
                Box::new(move || connect_at(&path).is_ok())
            }
        })
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

/// Listens on a Unix socket that only this user can access.
///
/// # Errors
/// The path is a file of another kind, another process listens at it, or an I/O error.
#[cfg(unix)]
pub fn listen_at(path: &Path) -> io::Result<Listener> {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    if let Ok(meta) = std::fs::symlink_metadata(path) {
        if !meta.file_type().is_socket() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the path is a file that is not a socket",
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
    // Bind in a private directory, so that no other user can connect before the permissions are
    // set.
    let hidden = tempfile::tempdir_in(folder.unwrap_or(Path::new(".")))?;
    let socket_path = hidden.path().join("socket");
    let listener = UnixListener::bind(&socket_path)?;
    std::fs::set_permissions(&socket_path, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&socket_path, path)?;
    Ok(Listener::Socket(listener, path.to_owned()))
}

/// Fails: this system has no Unix sockets.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn listen_at(_: &Path) -> io::Result<Listener> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this system has no Unix sockets; use an address",
    ))
}

/// Connects to a Unix socket.
///
/// # Errors
/// No process accepts the connection.
#[cfg(unix)]
pub fn connect_at(path: &Path) -> io::Result<Box<dyn Link>> {
    Ok(Box::new(std::os::unix::net::UnixStream::connect(path)?))
}

/// Fails: this system has no Unix sockets.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn connect_at(_: &Path) -> io::Result<Box<dyn Link>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this system has no Unix sockets; use an address",
    ))
}
