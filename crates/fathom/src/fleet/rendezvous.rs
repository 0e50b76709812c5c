//! Connects processes that a launcher started without MPI. Each connects over TCP to the first.

use std::net::{Ipv4Addr, SocketAddr};

use run::hosts::{LocalHost, Rendezvous, StreamComm};

use super::transport;
use super::{FleetRole, local_host, read_continues_on_loss, run_as_agent, start_coordinator};
use crate::address;
use crate::fault::Faults;
use crate::process::Process;

/// Environment variable with the address of the first process.
const HEAD_VARIABLE: &str = "FATHOM_HEAD";

/// Joins over TCP: the first process coordinates, and the others connect to it.
pub(super) fn join_over_tcp(process: &Process, rendezvous: &Rendezvous) -> Result<FleetRole, Faults> {
    let token = transport::read_token()?;
    let interrupt = process.interrupt_flag();
    let launcher_cpu_count = engine::sys::thread::unbind_cpus();
    if rendezvous.number == 0 {
        let any_address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, rendezvous.port));
        let (listener, bound) = address::bind(HEAD_VARIABLE, any_address)?;
        let others = transport::ExpectedAgents {
            requested_by: HEAD_VARIABLE,
            count: rendezvous.size as usize - 1,
            help: "start all processes with the same FATHOM_HEAD",
        };
        let streams = others.wait_for_all((listener, bound), &token, interrupt)?;
        let comm = StreamComm::new(0, rendezvous.size, streams, "TCP");
        return start_coordinator(
            Box::new(comm),
            &local_host(process, launcher_cpu_count),
            read_continues_on_loss(false)?,
        );
    }
    let address = format!("{}:{}", rendezvous.host, rendezvous.port);
    let this = transport::ConnectingProcess {
        name: "this process",
        requested_by: HEAD_VARIABLE,
        help: "process 0 listens at this address: check the name, the process and the firewall",
    };
    let duplex = transport::connect_to_coordinator(&this, &address, &token, interrupt, process.is_quiet())?;
    let comm = StreamComm::new(1, 2, vec![duplex], "a stream");
    let local = LocalHost {
        assigned_rank: Some(rendezvous.number),
        ..local_host(process, launcher_cpu_count)
    };
    Ok(FleetRole::AgentDone(run_as_agent(&comm, &local).code()))
}
