use std::io::{PipeReader, PipeWriter};
use std::thread;

use super::*;

const TOKEN: &str = "0123456789abcdef";

/// One end of a connection.
struct End(PipeReader, PipeWriter);

impl Read for End {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn connection() -> (End, End) {
    let ((read_a, write_b), (read_b, write_a)) = (io::pipe().unwrap(), io::pipe().unwrap());
    (End(read_a, write_a), End(read_b, write_b))
}

type Outcome = Result<Session, HandshakeError>;

/// Connects a coordinator that has this token to an agent that accepts connections.
fn perform_handshake(token: &'static str, has_seat: bool) -> (Outcome, Outcome) {
    let (mut local, mut remote) = connection();
    let connecting = thread::spawn(move || connect_session(&mut local, Role::Coordinator, token));
    let accepted = accept_session(&mut remote, Role::Agent, TOKEN, || has_seat);
    (connecting.join().unwrap(), accepted)
}

fn tag(key: &Hmac<Sha256>) -> Vec<u8> {
    key.clone().finalize().into_bytes().to_vec()
}

#[test]
fn both_sides_derive_the_same_keys_and_no_two_are_equal() {
    let (Ok(Session(connected)), Ok(Session(accepted))) = perform_handshake(TOKEN, true) else {
        panic!("they know the same token");
    };
    assert_eq!(tag(&connected.sending), tag(&accepted.receiving));
    assert_eq!(tag(&connected.receiving), tag(&accepted.sending));
    assert_ne!(tag(&connected.sending), tag(&connected.receiving));
    let (Ok(Session(again)), Ok(_)) = perform_handshake(TOKEN, true) else {
        panic!("they know the same token");
    };
    assert_ne!(
        tag(&connected.sending),
        tag(&again.sending),
        "each connection has its own"
    );
}

#[test]
fn a_wrong_token_is_named_on_both_sides() {
    let (connected, accepted) = perform_handshake("another-token-of-16", true);
    assert!(matches!(connected, Err(HandshakeError::WrongToken)), "{connected:?}");
    assert!(matches!(accepted, Err(HandshakeError::WrongToken)), "{accepted:?}");
}

#[test]
fn a_late_process_is_refused_for_its_lateness_and_not_its_token() {
    let (connected, accepted) = perform_handshake(TOKEN, false);
    assert!(matches!(connected, Err(HandshakeError::Busy)), "{connected:?}");
    assert!(matches!(accepted, Err(HandshakeError::Busy)), "{accepted:?}");
    let (mut local, mut remote) = connection();
    let late = thread::spawn(move || connect_session(&mut local, Role::Agent, TOKEN));
    let accepted = accept_session(&mut remote, Role::Coordinator, TOKEN, || false);
    assert!(matches!(accepted, Err(HandshakeError::Full)), "{accepted:?}");
    let late = late.join().unwrap();
    assert!(matches!(late, Err(HandshakeError::Full)), "{late:?}");
}

#[test]
fn a_connection_that_ends_early_is_not_reported_as_a_wrong_token() {
    // The other side leaves before its verdict.
    let (mut local, mut remote) = connection();
    let leaving = thread::spawn(move || {
        remote.write_all(&GREETING).unwrap();
        remote.write_all(&[7; NONCE_BYTES]).unwrap();
        remote
            .read_exact(&mut [0; GREETING.len() + NONCE_BYTES + PROOF_BYTES])
            .unwrap();
    });
    let outcome = connect_session(&mut local, Role::Agent, TOKEN);
    assert!(matches!(outcome, Err(HandshakeError::Interrupted)), "{outcome:?}");
    leaving.join().unwrap();
    // The other side leaves before its greeting.
    let (mut local, End(_reader, writer)) = connection();
    drop(writer);
    let outcome = connect_session(&mut local, Role::Agent, TOKEN);
    assert!(matches!(outcome, Err(HandshakeError::HungUp)), "{outcome:?}");
}

/// A peer may send back our own bytes, or the greeting of an older version.
#[test]
fn reflections_and_other_versions_are_refused() {
    let (mut local, mut remote) = connection();
    let mirror = thread::spawn(move || {
        let mut bytes = [0; GREETING.len() + NONCE_BYTES];
        remote.read_exact(&mut bytes).unwrap();
        remote.write_all(&bytes).unwrap();
        let mut proof = [0; PROOF_BYTES];
        remote.read_exact(&mut proof).unwrap();
        remote.write_all(&[WELCOME]).unwrap();
        remote.write_all(&proof).unwrap();
    });
    let outcome = connect_session(&mut local, Role::Coordinator, TOKEN);
    assert!(matches!(outcome, Err(HandshakeError::WrongToken)), "{outcome:?}");
    mirror.join().unwrap();
    let check = |greeting: &[u8; 8], is_other_version: bool| {
        let (mut local, mut remote) = connection();
        remote.write_all(greeting).unwrap();
        match connect_session(&mut local, Role::Coordinator, TOKEN) {
            Err(HandshakeError::OtherVersion) => assert!(is_other_version),
            Err(HandshakeError::NotFathom) => assert!(!is_other_version),
            outcome => panic!("{outcome:?}"),
        }
    };
    check(b"fathom\x00\x01", true);
    check(b"SSH-2.0-", false);
}
