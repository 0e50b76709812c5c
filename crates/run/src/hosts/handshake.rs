//! The handshake of a connection: both sides prove that they know the token.

use std::io::{self, Read, Write};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Which side of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It leads.
    Coordinator,
    /// It carries out what it is told.
    Agent,
}

const NONCE: usize = 32;
const GREETING: &[u8; 8] = b"fathom\x00\x01";

/// Both sides show that they know the token, without telling it: each answers a question that the other has just made up (HMAC,
/// RFC 2104, with SHA-256). What follows is neither secret nor sealed: across a network that is not yours, go through ssh.
///
/// # Errors
/// `PermissionDenied` if the other side does not know the token, `InvalidData` if it is no fathom, and those of the connection.
pub fn introduce(stream: &mut (impl Read + Write), role: Role, token: &str) -> io::Result<()> {
    let mut question = [0; NONCE];
    getrandom::fill(&mut question).map_err(|error| io::Error::other(error.to_string()))?;
    stream.write_all(GREETING)?;
    stream.write_all(&question)?;
    stream.flush()?;
    let mut greeting = [0; GREETING.len()];
    stream.read_exact(&mut greeting).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::new(
            io::ErrorKind::TimedOut,
            "it says nothing: it serves another one, or is no fathom",
        ),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => io::Error::new(
            io::ErrorKind::InvalidData,
            "it ends the connection without a greeting: it is no fathom",
        ),
        _ => error,
    })?;
    if greeting != *GREETING {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "what answers there is no fathom of this form",
        ));
    }
    let mut asked = [0; NONCE];
    stream.read_exact(&mut asked)?;
    let other = match role {
        Role::Coordinator => Role::Agent,
        Role::Agent => Role::Coordinator,
    };
    stream.write_all(&answer(token, role, &asked, &question).finalize().into_bytes())?;
    stream.flush()?;
    let mut answered = [0; NONCE];
    let refused = || {
        io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the two sides do not have the same token",
        )
    };
    // Whoever is not answered has given a wrong answer itself.
    stream.read_exact(&mut answered).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => refused(),
        _ => error,
    })?;
    answer(token, other, &question, &asked)
        .verify_slice(&answered)
        .map_err(|_| refused())
}

/// What the side `of` answers to a question, having asked another.
fn answer(token: &str, of: Role, asked: &[u8], own: &[u8]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(token.as_bytes()).expect("any key will do");
    mac.update(match of {
        Role::Coordinator => b"head",
        Role::Agent => b"rank",
    });
    mac.update(asked);
    mac.update(own);
    mac
}
