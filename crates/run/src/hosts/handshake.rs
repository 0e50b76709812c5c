//! The handshake of a connection. Both sides prove that they know the token, and derive the keys
//! for the frames. The connecting side proves itself first, so that a stranger learns nothing that
//! depends on the token. The caller chooses which side listens, and enforces the timeout.

use std::io::{self, Read, Write};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

/// How long one handshake may take, from the first byte to the last.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(3);

/// The role of a process in the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It divides the plan and merges the results.
    Coordinator,
    /// It executes what the coordinator sends.
    Agent,
}

/// Why a handshake failed.
#[derive(Debug, Error)]
pub enum HandshakeError {
    /// The proof was made with another token.
    #[error("the two sides do not have the same token")]
    WrongToken,
    /// Another program sent the greeting.
    #[error("the program at this address is not fathom")]
    NotFathom,
    /// Another version sent the greeting.
    #[error("another version of fathom answers there; install the same version on all hosts")]
    OtherVersion,
    /// No greeting came.
    #[error("it does not respond: it is running another test, or is not fathom")]
    Silent,
    /// The connection ended before a greeting.
    #[error("it closed the connection without a greeting: it is not fathom, or is exiting")]
    HungUp,
    /// The connection ended within the handshake.
    #[error("it ended the connection before the handshake was complete")]
    Interrupted,
    /// The handshake took too long.
    #[error("its handshake was not complete within {} s", HANDSHAKE_TIMEOUT.as_secs())]
    Slow,
    /// The agent already has a coordinator.
    #[error("the agent is running another test; wait until that ends")]
    Busy,
    /// The coordinator already has all its agents.
    #[error("it connected too late: the coordinator already has all its processes")]
    Full,
    /// The connection failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl HandshakeError {
    /// True if a later attempt may succeed.
    pub fn is_temporary(&self) -> bool {
        use HandshakeError::{Busy, Full, HungUp, Interrupted, Io, NotFathom, OtherVersion, Silent, Slow, WrongToken};
        match self {
            Silent | HungUp | Interrupted | Slow | Busy | Io(_) => true,
            WrongToken | NotFathom | OtherVersion | Full => false,
        }
    }

    /// Converts the error of a read after the greeting.
    fn from_read(error: io::Error) -> HandshakeError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => HandshakeError::Slow,
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => HandshakeError::Interrupted,
            _ => HandshakeError::Io(error),
        }
    }
}

/// Keys that seal the messages of one connection, one for each direction.
pub(super) struct SessionKeys {
    /// Seals what this side sends.
    pub(super) sending: Hmac<Sha256>,
    /// Seals what this side receives.
    pub(super) receiving: Hmac<Sha256>,
}

/// The keys of a successful handshake. `Debug` hides them.
pub struct Session(pub(super) SessionKeys);

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session(…)")
    }
}

const PROOF_BYTES: usize = 32;
const NONCE_BYTES: usize = 32;
/// The program, and the version of the handshake and of the frames after it.
const GREETING: [u8; 8] = *b"fathom\x00\x02";
const PROGRAM_NAME_BYTES: usize = GREETING.len() - 1;

/// The accepting side's response to the connecting side's proof.
const WELCOME: u8 = 1;
const WRONG_TOKEN: u8 = 2;
const NO_FREE_SEAT: u8 = 3;

/// The handshake of the side that connects.
///
/// # Errors
/// [`HandshakeError`].
pub fn connect_session(stream: &mut (impl Read + Write), role: Role, token: &str) -> Result<Session, HandshakeError> {
    let own_greeting = greet(stream)?;
    read_greeting(stream)?;
    let peer_nonce: [u8; NONCE_BYTES] = read(stream)?;
    let nonces = Nonces::new(role, own_greeting, peer_nonce);
    stream.write_all(&nonces.proof(token, role).finalize().into_bytes())?;
    stream.flush()?;
    let [verdict] = read(stream)?;
    match (verdict, role) {
        (WELCOME, _) => {}
        (WRONG_TOKEN, _) => return Err(HandshakeError::WrongToken),
        (NO_FREE_SEAT, Role::Coordinator) => return Err(HandshakeError::Busy),
        (NO_FREE_SEAT, Role::Agent) => return Err(HandshakeError::Full),
        _ => return Err(HandshakeError::NotFathom),
    }
    let proof: [u8; PROOF_BYTES] = read(stream)?;
    let expected = nonces.proof(token, role.other());
    expected.verify_slice(&proof).map_err(|_| HandshakeError::WrongToken)?;
    Ok(nonces.session(token, role))
}

/// Performs the handshake of the accepting side. `claim_seat` takes a seat for a side that knows
/// the token, if one is left.
///
/// # Errors
/// [`HandshakeError`]; `Full` or `Busy` without a free seat.
pub fn accept_session(
    stream: &mut (impl Read + Write),
    role: Role,
    token: &str,
    claim_seat: impl FnOnce() -> bool,
) -> Result<Session, HandshakeError> {
    let own_greeting = greet(stream)?;
    read_greeting(stream).map_err(|error| match error {
        HandshakeError::Silent => HandshakeError::Slow,
        other => other,
    })?;
    let peer_nonce: [u8; NONCE_BYTES] = read(stream)?;
    let nonces = Nonces::new(role, own_greeting, peer_nonce);
    let proof: [u8; PROOF_BYTES] = read(stream)?;
    let expected = nonces.proof(token, role.other());
    if expected.verify_slice(&proof).is_err() {
        stream.write_all(&[WRONG_TOKEN])?;
        return Err(HandshakeError::WrongToken);
    }
    if !claim_seat() {
        stream.write_all(&[NO_FREE_SEAT])?;
        return Err(match role {
            Role::Coordinator => HandshakeError::Full,
            Role::Agent => HandshakeError::Busy,
        });
    }
    let mut answer = vec![WELCOME];
    answer.extend(nonces.proof(token, role).finalize().into_bytes());
    stream.write_all(&answer)?;
    stream.flush()?;
    Ok(nonces.session(token, role))
}

/// Sends the greeting and a new nonce.
fn greet(stream: &mut impl Write) -> io::Result<[u8; NONCE_BYTES]> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).map_err(|error| io::Error::other(error.to_string()))?;
    stream.write_all(&GREETING)?;
    stream.write_all(&nonce)?;
    stream.flush()?;
    Ok(nonce)
}

fn read_greeting(stream: &mut impl Read) -> Result<(), HandshakeError> {
    let mut greeting = [0; GREETING.len()];
    stream
        .read_exact(&mut greeting)
        .map_err(|error| match HandshakeError::from_read(error) {
            HandshakeError::Slow => HandshakeError::Silent,
            HandshakeError::Interrupted => HandshakeError::HungUp,
            other => other,
        })?;
    match (
        greeting == GREETING,
        greeting[..PROGRAM_NAME_BYTES] == GREETING[..PROGRAM_NAME_BYTES],
    ) {
        (true, _) => Ok(()),
        (false, true) => Err(HandshakeError::OtherVersion),
        (false, false) => Err(HandshakeError::NotFathom),
    }
}

fn read<const LENGTH: usize>(stream: &mut impl Read) -> Result<[u8; LENGTH], HandshakeError> {
    let mut bytes = [0; LENGTH];
    stream.read_exact(&mut bytes).map_err(HandshakeError::from_read)?;
    Ok(bytes)
}

impl Role {
    fn other(self) -> Role {
        match self {
            Role::Coordinator => Role::Agent,
            Role::Agent => Role::Coordinator,
        }
    }
}

/// The nonces of both sides, so that neither side can replay a handshake.
struct Nonces {
    coordinator: [u8; NONCE_BYTES],
    agent: [u8; NONCE_BYTES],
}

impl Nonces {
    fn new(role: Role, own: [u8; NONCE_BYTES], others: [u8; NONCE_BYTES]) -> Nonces {
        let (coordinator, agent) = match role {
            Role::Coordinator => (own, others),
            Role::Agent => (others, own),
        };
        Nonces { coordinator, agent }
    }

    /// A value that only the token yields, different for each purpose (HMAC-SHA-256, RFC 2104).
    fn derive(&self, token: &str, purpose: &str) -> Hmac<Sha256> {
        let mut mac = new_hmac(token.as_bytes());
        mac.update(&self.coordinator);
        mac.update(&self.agent);
        mac.update(purpose.as_bytes());
        mac
    }

    /// The proof of a side. It includes the role, so that it cannot be reflected to its sender.
    fn proof(&self, token: &str, role: Role) -> Hmac<Sha256> {
        self.derive(
            token,
            match role {
                Role::Coordinator => "proof of the coordinator",
                Role::Agent => "proof of the agent",
            },
        )
    }

    fn session(&self, token: &str, role: Role) -> Session {
        let key = |purpose| new_hmac(&self.derive(token, purpose).finalize().into_bytes());
        let (to_agent, to_coordinator) = (key("frames to the agent"), key("frames to the coordinator"));
        let (sending, receiving) = match role {
            Role::Coordinator => (to_agent, to_coordinator),
            Role::Agent => (to_coordinator, to_agent),
        };
        Session(SessionKeys { sending, receiving })
    }
}

fn new_hmac(key: &[u8]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    Hmac::<Sha256>::new_from_slice(key).expect("every key length is valid")
}

#[cfg(test)]
mod tests;
