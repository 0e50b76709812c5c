//! This process as the agent of a coordinator that connects to it, or that it connects to.

use std::time::Duration;

use run::hosts::{Duplex, LocalHost, Role, StreamComm};

use super::link::{Listener, ready};
use super::{place, served};
use crate::exit::Exit;
use crate::process::Process;

/// Serves those that come, one after the other, until it is told to stop; or the first alone.
pub fn serve_listener(process: &Process, listener: &Listener, token: &str, once: bool) -> Exit {
    listener.set_nonblocking();
    loop {
        if process.is_interrupted() {
            return Exit::Interrupted(engine::sys::signals::stop_signal().unwrap_or(2));
        }
        match listener.accept() {
            Ok((mut link, from)) => match ready(&mut link, Role::Agent, token) {
                Ok(duplex) => {
                    drop(link);
                    eprintln!("{from} leads");
                    let exit = serve_duplex(process, duplex, None);
                    eprintln!("{from} has left");
                    if once {
                        return exit;
                    }
                }
                Err(error) => eprintln!("{from} is not let in: {error}"),
            },
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Serves over a stream, as the number that this process was told among those that come.
pub fn serve_duplex(process: &Process, duplex: Duplex, announced: Option<u32>) -> Exit {
    let comm = StreamComm::new(1, 2, vec![duplex], "a stream");
    let place = LocalHost {
        announced,
        ..place(process, None)
    };
    served(&comm, &place)
}
