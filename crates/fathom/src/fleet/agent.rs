//! This process as the agent of a coordinator that connects to it, or that it connects to.

use std::time::Duration;

use run::hosts::{Duplex, LocalHost, Role, StreamComm};

use super::acceptor::Acceptor;
use super::link::Listener;
use super::{place, served};
use crate::exit::Exit;
use crate::process::Process;

/// Pause after an error of the listener, such as too many open files.
const ERROR_PAUSE: Duration = Duration::from_millis(20);

/// Serves those that come, one after the other, until it is asked to stop; or the first alone.
pub fn serve_listener(process: &Process, listener: &Listener, token: &str, once: bool) -> Exit {
    listener.set_nonblocking();
    loop {
        let Some((from, duplex)) = await_coordinator(process, listener, token) else {
            return Exit::Interrupted(engine::sys::signals::stop_signal().unwrap_or(2));
        };
        crate::screen::note(&format!("{from} leads"));
        let exit = serve_duplex(process, duplex, None);
        crate::screen::note(&format!("{from} has left"));
        if once {
            return exit;
        }
    }
}

/// The next coordinator that knows the token; `None` where this process is asked to stop.
fn await_coordinator(process: &Process, listener: &Listener, token: &str) -> Option<(String, Duplex)> {
    let mut acceptor = Acceptor::new(Role::Agent, token, 1);
    while !process.is_interrupted() {
        match acceptor.poll(listener) {
            Ok(Some((from, Ok(duplex)))) => return Some((from, duplex)),
            Ok(Some((from, Err(error)))) => crate::screen::note(&format!("{from} is not let in: {error}")),
            Ok(None) => {}
            Err(_) => std::thread::sleep(ERROR_PAUSE),
        }
    }
    None
}

/// Serves over a stream, as the number that was assigned to this process.
pub fn serve_duplex(process: &Process, duplex: Duplex, announced: Option<u32>) -> Exit {
    let comm = StreamComm::new(1, 2, vec![duplex], "a stream");
    let place = LocalHost {
        announced,
        ..place(process, None)
    };
    served(&comm, &place)
}
