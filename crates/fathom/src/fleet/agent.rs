//! Runs this process as an agent.

use std::time::Duration;

use run::hosts::{Duplex, LocalHost, Role, StreamComm};

use super::acceptor::Acceptor;
use super::link::Listener;
use super::{local_host, run_as_agent};
use crate::exit::Exit;
use crate::process::Process;

/// Pause after an error of the listener, such as too many open files.
const ERROR_PAUSE: Duration = Duration::from_millis(20);

/// Serves coordinators in sequence until a stop request; with `once` only the first.
pub fn serve_listener(process: &Process, listener: &Listener, token: &str, once: bool) -> Exit {
    listener.set_nonblocking();
    engine::sys::signals::set_examining(false);
    loop {
        let Some((from, duplex)) = await_coordinator(process, listener, token) else {
            return Exit::interrupted();
        };
        crate::screen::note(&format!("{from} is the coordinator"));
        let exit = serve_duplex(process, duplex, None);
        crate::screen::note(&format!("{from} has disconnected"));
        if once {
            return exit;
        }
    }
}

/// Waits for the next coordinator with the right token; `None` on a stop request.
fn await_coordinator(process: &Process, listener: &Listener, token: &str) -> Option<(String, Duplex)> {
    let mut acceptor = Acceptor::new(Role::Agent, token, 1);
    while !process.is_interrupted() {
        match acceptor.poll(listener) {
            Ok(Some((from, Ok(duplex)))) => return Some((from, duplex)),
            Ok(Some((from, Err(error)))) => crate::screen::note(&format!("rejected {from}: {error}")),
            Ok(None) => {}
            Err(_) => std::thread::sleep(ERROR_PAUSE),
        }
    }
    None
}

/// Serves a coordinator over a stream. `assigned_rank` is the rank assigned to this process.
pub fn serve_duplex(process: &Process, duplex: Duplex, assigned_rank: Option<u32>) -> Exit {
    let comm = StreamComm::new(1, 2, vec![duplex], "a stream");
    let local = LocalHost {
        assigned_rank,
        ..local_host(process, None)
    };
    run_as_agent(&comm, &local)
}
