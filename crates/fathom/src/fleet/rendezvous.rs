//! Processes that a launcher has started without MPI, or whose MPI is not there: they meet over TCP
//! at the first of them.

use std::net::{Ipv4Addr, SocketAddr};

use run::hosts::{LocalHost, Rendezvous, StreamComm};

use super::link::ConnectError;
use super::transport::{self, with_token_help};
use super::waiting::interrupted;
use super::{Part, goes_on, leading, place, served};
use crate::address;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::process::Process;

/// What said where to meet.
const HEAD: &str = "FATHOM_HEAD";

/// The first leads, and the others come to it.
pub(super) fn meet(process: &Process, rendezvous: &Rendezvous) -> Result<Part, Faults> {
    let token = transport::token()?;
    let interrupt = process.interrupt_flag();
    let widened_from = engine::sys::thread::unbind_cpus();
    if rendezvous.number == 0 {
        let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, rendezvous.port));
        let (listener, bound) = address::bind(HEAD, everywhere)?;
        let others = transport::Awaited {
            named: HEAD,
            count: rendezvous.size as usize - 1,
            help: "start all with the same FATHOM_HEAD",
        };
        let streams = others.at((listener, bound), &token, interrupt)?;
        let comm = StreamComm::new(0, rendezvous.size, streams, "TCP");
        return leading(Box::new(comm), &place(process, widened_from), goes_on(false)?);
    }
    let address = format!("{}:{}", rendezvous.host, rendezvous.port);
    let fault = |what: String| Fault::new(what).at(HEAD);
    let duplex = transport::arrive(&address, &token, interrupt, process.is_quiet()).map_err(|error| {
        if let Some(faults) = interrupted(interrupt) {
            return faults;
        }
        let fault = match error {
            ConnectError::Unreachable(error) => fault(format!("{address} cannot be reached: {error}"))
                .help("it is where process 0 waits: look at its name, whether it runs, and at its firewall"),
            ConnectError::Handshake(error) => {
                with_token_help(fault(format!("{address} does not take this process: {error}")), &error)
            }
        };
        Faults::one(fault, Exit::Refused)
    })?;
    let comm = StreamComm::new(1, 2, vec![duplex], "a stream");
    let place = LocalHost {
        announced: Some(rendezvous.number),
        ..place(process, widened_from)
    };
    Ok(Part::Done(served(&comm, &place).code()))
}
