//! Connections of strangers, and relays that change what passes them.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use run::hosts::connect_session;

use super::*;

/// Greeting and nonce, and the proof of the side that connects.
const OPENING: usize = 40 + 32;
/// Before any of these tests' runs would end by a timeout of a handshake.
const SOON: Duration = Duration::from_secs(8);

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn connect(port: u16) -> TcpStream {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(error) => assert!(begun.elapsed() < WATCHDOG, "nothing listens: {error}"),
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// An agent of this machine that listens, and ends with the test.
struct Agent {
    port: u16,
    child: Option<Child>,
}

impl Agent {
    fn new(ground: &Ground, token: &str) -> Agent {
        let port = free_port();
        let mut command = Command::new(PROGRAM);
        let child = own(&mut command, &ground.journal())
            .args(["agent", "--once", "--listen", &port.to_string()])
            .env("FATHOM_TOKEN", token)
            .spawn()
            .unwrap();
        // It greets once it listens.
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

fn lead(ground: &Ground, port: u16) -> Ran {
    end(ground.with_hosts(None, &format!("tcp://127.0.0.1:{port}"), "saved"))
}

/// Connections that say nothing.
fn silent(port: u16, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| connect(port)).collect()
}

#[test]
fn silent_connections_delay_no_fleet() {
    let Some(ground) = Ground::new(SIMULATED) else { return };
    for count in [1, 64, 100] {
        let agent = Agent::new(&ground, TOKEN);
        let _silent = silent(agent.port, count);
        let ran = lead(&ground, agent.port);
        ran.expect(0, &["by TCP"]);
        assert!(ran.took < SOON, "{count}: {:?}", ran.took);
        agent.end().expect(0, &[]);
        // The same where the coordinator listens.
        let port = free_port();
        let running = ground.with_hosts(None, &format!("listen://127.0.0.1:{port}*1"), "saved");
        let _silent = silent(port, count);
        let mut command = Command::new(PROGRAM);
        let connecting = own(&mut command, &ground.journal())
            .args(["agent", "--connect", &format!("127.0.0.1:{port}")])
            .spawn()
            .unwrap();
        let ran = end(running);
        ran.expect(0, &["by TCP"]);
        assert!(ran.took < SOON, "{count}: {:?}", ran.took);
        end(connecting).expect(0, &[]);
    }
}

/// A handshake has 3 s as a whole, however its bytes are spread.
#[test]
fn a_handshake_byte_by_byte_is_ended_in_time() {
    let Some(ground) = Ground::new(SIMULATED) else { return };
    let agent = Agent::new(&ground, TOKEN);
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
    lead(&ground, agent.port).expect(0, &["by TCP"]);
    agent.end().expect(0, &["not complete within 3 s"]);
}

/// What was not answered in time is no wrong token, and what was answered wrongly is.
#[test]
fn a_wrong_token_is_said_of_a_wrong_token_only() {
    let Some(ground) = Ground::new(SIMULATED) else { return };
    let agent = Agent::new(&ground, "another-token-of-16");
    lead(&ground, agent.port).expect(3, &["the same token", "help: set FATHOM_TOKEN"]);
    // One that hangs up where its verdict is due, as one does whose seats are taken.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let hanging_up = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&[&b"fathom\x00\x02"[..], &[7; 32]].concat()).unwrap();
        stream.read_exact(&mut [0; OPENING]).unwrap();
    });
    let ran = lead(&ground, port);
    ran.expect(3, &["ended the connection before the handshake was complete"]);
    assert!(!ran.err.contains("token"), "{}", ran.err);
    hanging_up.join().unwrap();
}

/// Passes one connection on to an agent, and what the coordinator sends through `change`, piece by
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

/// The same bytes with another name of the same length in the place of one.
fn renamed(bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes;
    while let Some(at) = bytes.windows(from.len()).position(|part| part == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn a_relay_that_changes_a_target_is_cut_off_before_anything_is_opened() {
    let Some(ground) = Ground::new("") else { return };
    let (own_file, foreign) = (ground.path("own-file.dat"), ground.path("foe-file.dat"));
    let job = format!(
        "[[job]]\nname = \"w\"\ntarget = \"{}\"\nwrite = 100\noperations = 200\n",
        own_file.display()
    );
    fs::write(ground.path("job.toml"), job).unwrap();
    let bytes = |value: u8| vec![value; 1 << 20];
    fs::write(&own_file, bytes(1)).unwrap();
    fs::write(&foreign, bytes(2)).unwrap();
    let overwrite = |port: u16| {
        let mut command = Command::new(PROGRAM);
        let child = own(&mut command, &ground.journal())
            .args(ground.words("saved"))
            .args(["--hosts", &format!("tcp://127.0.0.1:{port}"), "--allow-overwrite"])
            .arg(&own_file)
            .spawn()
            .unwrap();
        end(child)
    };
    let agent = Agent::new(&ground, TOKEN);
    let ran = overwrite(relay(agent.port, |piece| renamed(piece, b"own-file", b"foe-file")));
    assert!(
        fs::read(&foreign).unwrap() == bytes(2),
        "the foreign file was written to"
    );
    assert!(fs::read(&own_file).unwrap() == bytes(1), "something was measured");
    let why = "was changed, repeated, dropped or inserted in transit: connect directly or through ssh";
    ran.expect(3, &[why]);
    assert_eq!(ran.err.matches(why).count(), 1, "it is said once: {}", ran.err);
    agent.end().expect(6, &[why]);
    // The same relay does no harm where it changes nothing.
    let agent = Agent::new(&ground, TOKEN);
    overwrite(relay(agent.port, |piece| piece)).expect(0, &["by TCP"]);
    assert!(fs::read(&own_file).unwrap() != bytes(1));
}

/// Cuts what the coordinator sends into its opening and its sealed frames.
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
fn a_relay_that_repeats_or_drops_a_frame_is_cut_off() {
    let Some(ground) = Ground::new(SIMULATED) else { return };
    for copies in [2, 0] {
        let agent = Agent::new(&ground, TOKEN);
        let mut frames = Frames::default();
        let port = relay(agent.port, move |piece| {
            let whole = frames.take(&piece);
            let copies = |frame: &Vec<u8>| match frame.windows(9).any(|part| part == b"\"Execute\"") {
                true => frame.repeat(copies),
                false => frame.clone(),
            };
            whole.iter().flat_map(copies).collect()
        });
        let ran = lead(&ground, port);
        let parts = ["was changed, repeated, dropped or inserted in transit"];
        assert_ne!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.err.contains(parts[0]), "{copies}: {}", ran.err);
        agent.end().expect(6, &parts);
    }
}

#[test]
fn a_run_id_leads_out_of_no_folder() {
    let Some(ground) = Ground::new(SIMULATED) else { return };
    // An order as a coordinator sends it.
    let agent = Agent::new(&ground, TOKEN);
    let (orders, mut frames) = (Arc::new(Mutex::new(Vec::new())), Frames::default());
    let seen = Arc::clone(&orders);
    let port = relay(agent.port, move |piece| {
        let whole = frames.take(&piece);
        let is_order = |frame: &&Vec<u8>| frame.windows(9).any(|part| part == b"\"Execute\"");
        seen.lock().unwrap().extend(whole.iter().filter(is_order).cloned());
        whole.concat()
    });
    lead(&ground, port).expect(0, &[]);
    agent.end().expect(0, &[]);
    let order = orders.lock().unwrap()[0].clone();
    let order = String::from_utf8(order[36..order.len() - 32].to_vec()).unwrap();
    // The same order with a run of another name.
    let (before, rest) = order.split_once("\"run\":\"").unwrap();
    let (_, after) = rest.split_once('"').unwrap();
    let agent = Agent::new(&ground, TOKEN);
    let mut stream = connect(agent.port);
    let session = connect_session(&mut stream, Role::Coordinator, TOKEN).unwrap();
    let reader = Box::new(stream.try_clone().unwrap());
    let comm = StreamComm::new(0, 2, vec![Duplex::sealed(reader, Box::new(stream), session)], "TCP");
    comm.send(1, format!("{before}\"run\":\"../../escaped\"{after}").as_bytes());
    agent.end().expect(6, &["`../../escaped` does not name a run"]);
    assert!(!ground.path("escaped").exists() && !ground.folder.path().parent().unwrap().join("escaped").exists());
}
