//! Connections of strangers, and relays that change messages.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use run::hosts::connect_session;

use super::*;

/// Bytes of the greeting, the nonce and the proof of the connecting side.
const OPENING: usize = 40 + 32;
/// Shorter than a run that waits for the timeout of a handshake.
const SOON: Duration = Duration::from_secs(8);

fn connect(port: u16) -> TcpStream {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(error) => assert!(begun.elapsed() < WATCHDOG, "nothing listens: {error}"),
        }
        sleep(Duration::from_millis(20));
    }
}

/// A listening agent on this machine. Dropping it ends the process.
struct Agent {
    port: u16,
    child: Option<Child>,
}

impl Agent {
    fn new(workspace: &Workspace, token: &str) -> Agent {
        let port = free_port();
        let child = workspace
            .command(PROGRAM)
            .args(["agent", "--once", "--listen", &port.to_string()])
            .env("FATHOM_TOKEN", token)
            .spawn()
            .unwrap();
        // It sends its greeting once it listens.
        connect(port).read_exact(&mut [0; 40]).unwrap();
        let child = Some(child);
        Agent { port, child }
    }

    fn end(mut self) -> Ran {
        end(self.child.take().unwrap())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn lead(workspace: &Workspace, port: u16) -> Ran {
    end(workspace.with_hosts(None, &format!("tcp://127.0.0.1:{port}"), "saved"))
}

fn open_silent_connections(port: u16, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| connect(port)).collect()
}

#[test]
fn silent_connections_delay_no_fleet() {
    let workspace = need!(simulated());
    for count in [1, 64, 100] {
        let agent = Agent::new(&workspace, TOKEN);
        let _silent = open_silent_connections(agent.port, count);
        let ran = lead(&workspace, agent.port);
        ran.expect(0, &["by TCP"]);
        assert!(ran.took < SOON, "{count}: {:?}", ran.took);
        agent.end().expect(0, &[]);
        // The same if the coordinator listens.
        let port = free_port();
        let running = workspace.with_hosts(None, &format!("listen://127.0.0.1:{port}*1"), "saved");
        let _silent = open_silent_connections(port, count);
        let connecting = workspace.connecting_agent(&format!("127.0.0.1:{port}")).spawn();
        let ran = end(running);
        ran.expect(0, &["by TCP"]);
        assert!(ran.took < SOON, "{count}: {:?}", ran.took);
        end(connecting.unwrap()).expect(0, &[]);
    }
}

/// A complete handshake has 3 s, regardless of the pauses between its bytes.
#[test]
fn a_handshake_byte_by_byte_is_ended_in_time() {
    let workspace = need!(simulated());
    let agent = Agent::new(&workspace, TOKEN);
    let mut slow = connect(agent.port);
    let begun = Instant::now();
    slow.read_exact(&mut [0; 40]).unwrap();
    slow.set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    let opening = [&b"fathom\x00\x02"[..], &[7; 64]].concat();
    let is_closed = opening.iter().any(|byte| {
        let _ = slow.write_all(&[*byte]);
        match slow.read(&mut [0; 1]) {
            Ok(count) => count == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    });
    assert!(is_closed);
    let took = begun.elapsed();
    assert!(
        (Duration::from_millis(2500)..Duration::from_secs(6)).contains(&took),
        "{took:?}"
    );
    // It still serves.
    lead(&workspace, agent.port).expect(0, &["by TCP"]);
    agent.end().expect(0, &["not complete within 3 s"]);
}

/// A handshake without a verdict is not reported as a wrong token. A wrong proof is.
#[test]
fn only_a_wrong_token_is_reported_as_a_wrong_token() {
    let workspace = need!(simulated());
    let agent = Agent::new(&workspace, "another-token-of-16");
    lead(&workspace, agent.port).expect(3, &["the same token", "help: set FATHOM_TOKEN"]);
    // A peer that hangs up instead of sending its verdict.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let hanging_up = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&[&b"fathom\x00\x02"[..], &[7; 32]].concat()).unwrap();
        stream.read_exact(&mut [0; OPENING]).unwrap();
    });
    let ran = lead(&workspace, port);
    ran.expect(3, &["ended the connection before the handshake was complete"]);
    assert!(!ran.err.contains("token"), "{}", ran.err);
    hanging_up.join().unwrap();
}

/// Relays one connection to an agent. Passes the data of the coordinator through `change`, piece by
/// piece.
fn relay(to: u16, mut change: impl FnMut(Vec<u8>) -> Vec<u8> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut coordinator, _) = listener.accept().unwrap();
        let mut agent = connect(to);
        let (mut back, mut forth) = (agent.try_clone().unwrap(), coordinator.try_clone().unwrap());
        thread::spawn(move || {
            let _ = std::io::copy(&mut back, &mut forth);
            let _ = forth.shutdown(std::net::Shutdown::Both);
        });
        let mut piece = vec![0; 1 << 20];
        while let Ok(count @ 1..) = coordinator.read(&mut piece) {
            if agent.write_all(&change(piece[..count].to_vec())).is_err() {
                break;
            }
        }
        let _ = agent.shutdown(std::net::Shutdown::Both);
    });
    port
}

/// Replaces a name in some bytes by another one of the same length.
fn replace_name(bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes;
    while let Some(at) = bytes.windows(from.len()).position(|part| part == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn a_relay_that_changes_a_target_is_disconnected_before_anything_is_opened() {
    let workspace = need!(Workspace::new(""));
    let (own_file, foreign) = (workspace.path("own-file.dat"), workspace.path("foe-file.dat"));
    workspace.write_job("[[job]]\nname = \"w\"\ntarget = \"DIR/own-file.dat\"\nwrite = 100\noperations = 200\n");
    let bytes = |value: u8| vec![value; 1 << 20];
    fs::write(&own_file, bytes(1)).unwrap();
    fs::write(&foreign, bytes(2)).unwrap();
    let overwrite = |port: u16| {
        run(workspace
            .command(PROGRAM)
            .args(workspace.run_args("saved"))
            .args(["--hosts", &format!("tcp://127.0.0.1:{port}"), "--allow-overwrite"])
            .arg(&own_file))
    };
    let agent = Agent::new(&workspace, TOKEN);
    let ran = overwrite(relay(agent.port, |piece| replace_name(piece, b"own-file", b"foe-file")));
    assert!(
        fs::read(&foreign).unwrap() == bytes(2),
        "the foreign file was written to"
    );
    assert!(fs::read(&own_file).unwrap() == bytes(1), "something was measured");
    let why = "was changed, repeated, dropped or inserted in transit: connect directly or through ssh";
    ran.expect(3, &[why]);
    assert_eq!(ran.err.matches(why).count(), 1, "it is reported once: {}", ran.err);
    agent.end().expect(6, &[why]);
    // A relay that changes nothing does no harm.
    let agent = Agent::new(&workspace, TOKEN);
    overwrite(relay(agent.port, |piece| piece)).expect(0, &["by TCP"]);
    assert!(fs::read(&own_file).unwrap() != bytes(1));
}

/// Splits the data of the coordinator into its opening and its sealed frames.
#[derive(Default)]
struct Frames {
    opened: bool,
    bytes: Vec<u8>,
}

impl Frames {
    fn take(&mut self, piece: &[u8]) -> Vec<Vec<u8>> {
        self.bytes.extend(piece);
        let mut whole = Vec::new();
        loop {
            let length = match (self.opened, self.bytes.len()) {
                (false, _) => OPENING,
                (true, ..4) => return whole,
                (true, _) => {
                    let head = u32::from_le_bytes(self.bytes[..4].try_into().unwrap());
                    4 + 32 + head as usize + 32
                }
            };
            if self.bytes.len() < length {
                return whole;
            }
            self.opened = true;
            let rest = self.bytes.split_off(length);
            whole.push(std::mem::replace(&mut self.bytes, rest));
        }
    }
}

#[test]
fn a_relay_that_repeats_or_drops_a_frame_is_disconnected() {
    let workspace = need!(simulated());
    for copies in [2, 0] {
        let agent = Agent::new(&workspace, TOKEN);
        let mut frames = Frames::default();
        let port = relay(agent.port, move |piece| {
            let whole = frames.take(&piece);
            let copies = |frame: &Vec<u8>| match frame.windows(9).any(|part| part == b"\"Execute\"") {
                true => frame.repeat(copies),
                false => frame.clone(),
            };
            whole.iter().flat_map(copies).collect()
        });
        let ran = lead(&workspace, port);
        let parts = ["was changed, repeated, dropped or inserted in transit"];
        assert_ne!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.err.contains(parts[0]), "{copies}: {}", ran.err);
        agent.end().expect(6, &parts);
    }
}

#[test]
fn a_run_id_cannot_leave_the_journal_folder() {
    let workspace = need!(simulated());
    // An order as a coordinator sends it.
    let agent = Agent::new(&workspace, TOKEN);
    let (orders, mut frames) = (Arc::new(Mutex::new(Vec::new())), Frames::default());
    let seen = Arc::clone(&orders);
    let port = relay(agent.port, move |piece| {
        let whole = frames.take(&piece);
        let is_order = |frame: &&Vec<u8>| frame.windows(9).any(|part| part == b"\"Execute\"");
        seen.lock().unwrap().extend(whole.iter().filter(is_order).cloned());
        whole.concat()
    });
    lead(&workspace, port).expect(0, &[]);
    agent.end().expect(0, &[]);
    let order = orders.lock().unwrap()[0].clone();
    let order = String::from_utf8(order[36..order.len() - 32].to_vec()).unwrap();
    // The same order with a run of another name.
    let (before, rest) = order.split_once("\"run\":\"").unwrap();
    let (_, after) = rest.split_once('"').unwrap();
    let agent = Agent::new(&workspace, TOKEN);
    let mut stream = connect(agent.port);
    let session = connect_session(&mut stream, Role::Coordinator, TOKEN).unwrap();
    let reader = Box::new(stream.try_clone().unwrap());
    let comm = StreamComm::new(0, 2, vec![Duplex::sealed(reader, Box::new(stream), session)], "TCP");
    comm.send(1, format!("{before}\"run\":\"../../escaped\"{after}").as_bytes());
    agent.end().expect(6, &["`../../escaped` is not the name of a run"]);
    assert!(!workspace.path("escaped").exists() && !workspace.folder.path().parent().unwrap().join("escaped").exists());
}
