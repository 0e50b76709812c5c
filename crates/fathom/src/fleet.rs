//! Tests on several hosts: connects their processes.
//!
//! Either a launcher has started this program on each host, or this process is the coordinator of
//! the hosts of `--hosts`. In both cases every command executes its plan on all hosts.

mod acceptor;
mod agent;
mod child;
mod journal;
pub mod link;
mod rendezvous;
mod transport;
mod waiting;

use std::process::{Child, ExitCode};
use std::time::{Duration, Instant};

use dialects::native::Document;
use engine::probe::{self, System};
use model::fleet::{Rank, expand_name};
use run::RunError;
use run::hosts::{
    Comm, Coordinator, Duplex, HostError, LocalHost, PROCESS_ENDED, StreamComm, detect_launcher, read_rendezvous,
    run_agent,
};

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::permissions;
use crate::process::Process;

use self::child::HostProcess;

pub use agent::{serve_duplex, serve_listener};
pub use journal::{JournalFolder, read as read_journal};
pub use transport::{ConnectingProcess, connect_to_coordinator, read_token, set_own_process_group};

use waiting::interrupted;

/// How long child processes may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// The other hosts of a test that this process coordinates.
#[derive(Debug)]
pub struct Fleet {
    /// Connection to the hosts; `None` once disconnected.
    pub coordinator: Option<Coordinator>,
    /// Journal of this process's share of the results.
    pub journal: JournalFolder,
    children: Vec<Child>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Dropping the coordinator disconnects the agents.
        self.coordinator = None;
        let begun = Instant::now();
        for child in &mut self.children {
            while matches!(child.try_wait(), Ok(None)) && begun.elapsed() < EXIT_TIMEOUT {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The role of this process in a fleet.
#[derive(Debug)]
pub enum FleetRole {
    /// The process runs alone.
    Alone {
        /// Number of CPUs that the launcher allowed, if the affinity was widened.
        launcher_cpu_count: Option<u32>,
    },
    /// The process is the coordinator.
    Coordinator(Box<Fleet>),
    /// The process was an agent and has finished.
    AgentDone(ExitCode),
}

fn env_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the rank that a launcher assigned to this process, if any.
pub fn assigned_rank() -> Option<u32> {
    run::hosts::assigned_rank(env_variable)
}

/// Describes the host and settings of this process.
pub fn local_host(process: &Process, launcher_cpu_count: Option<u32>) -> LocalHost<'static> {
    LocalHost {
        host: probe::host(&System::live()),
        clock: process.clock(),
        interrupt: process.interrupt_flag(),
        permissions: permissions::from_env(),
        launcher_cpu_count,
        assigned_rank: None,
    }
}

/// Joins the fleet of a launcher, if there is one: over MPI, or over TCP if `FATHOM_HEAD` is set.
/// An agent only follows its own command line.
///
/// # Errors
/// [`Faults`] if the MPI library is missing, or other processes do not join.
pub fn join(process: &Process, is_agent: bool) -> Result<FleetRole, Faults> {
    if is_agent {
        return Ok(FleetRole::Alone {
            launcher_cpu_count: None,
        });
    }
    let rendezvous =
        read_rendezvous(env_variable).map_err(|(what, help)| Fault::new(what).at("FATHOM_HEAD").into_usage(help))?;
    if let Some(rendezvous) = rendezvous.filter(|rendezvous| rendezvous.size > 1) {
        return rendezvous::join_over_tcp(process, &rendezvous);
    }
    let Some(launch) = detect_launcher(env_variable) else {
        return Ok(FleetRole::Alone {
            launcher_cpu_count: None,
        });
    };
    let launcher_cpu_count = engine::sys::thread::unbind_cpus();
    if launch.is_alone() {
        return Ok(FleetRole::Alone { launcher_cpu_count });
    }
    let comm = run::hosts::mpi(&launch).map_err(|why| {
        let message = format!("{}: cannot join its MPI", launch.describe());
        let fault = Fault::new(message).help(format!(
            "{}; to connect over TCP instead, set FATHOM_HEAD=HOST:7745 to the host of the first \
            process (docs/fleet.md); set FATHOM_MPI_LIBRARY to a library, or FATHOM_FLEET=off to \
            run every process alone",
            launch.install_advice()
        ));
        Faults::refused(Fault {
            why: vec![why],
            ..fault
        })
    })?;
    let local = local_host(process, launcher_cpu_count);
    match comm.process_number() {
        0 => start_coordinator(comm, &local, read_continues_on_loss(launch.tolerates_lost_processes)?),
        _ => Ok(FleetRole::AgentDone(run_as_agent(&*comm, &local).code())),
    }
}

/// Starts a coordinator, which also executes a share of the plan.
fn start_coordinator(comm: Box<dyn Comm>, local: &LocalHost<'_>, continues_on_loss: bool) -> Result<FleetRole, Faults> {
    let coordinator = Coordinator::new(comm, true, local, &[])
        .map_err(|list| interrupted(local.interrupt).unwrap_or_else(|| RunError::Hosts(list).into()))?;
    Ok(FleetRole::Coordinator(Box::new(Fleet {
        coordinator: Some(coordinator.with_continue_on_loss(continues_on_loss)),
        journal: JournalFolder::from_env(),
        children: Vec::new(),
    })))
}

/// Runs as an agent until the coordinator disconnects.
pub fn run_as_agent(comm: &dyn Comm, local: &LocalHost<'_>) -> Exit {
    let served = run_agent(comm, local, &JournalFolder::from_env());
    comm.close();
    match served {
        Ok(()) => Exit::Done,
        Err(why) => {
            crate::screen::note(&format!("fathom on {}: {why}", local.host.name));
            Exit::Partial
        }
    }
}

/// Expands host names and ranks in target names for a single host. Refuses jobs for other hosts. A
/// coordinator must not call it, because each host expands its own names.
///
/// # Errors
/// [`Faults`] if a job is for a host that does not take part.
pub fn expand_names_for_one_host(document: &mut Document) -> Result<(), Faults> {
    let rank = Rank {
        number: 0,
        rank_count: 1,
        host: probe::host(&System::live()).name,
    };
    for job in &mut document.jobs {
        if let Some(other) = job.hosts.iter().find(|name| **name != rank.host && *name != "0") {
            let message = format!("the job is for the host `{other}`, but only {} runs it", rank.host);
            let fault = Fault::new(message).at(job.name.as_deref().unwrap_or("for-hosts"));
            return Err(fault.into_usage("list the hosts with --hosts, or omit for-hosts"));
        }
        for target in &mut job.targets {
            *target = expand_name(target, &rank);
        }
    }
    Ok(())
}

/// Connects the hosts of the command line or of `FATHOM_HOSTS`, if any.
///
/// # Errors
/// [`Faults`] if a host cannot be reached or cannot take part.
pub fn connect_from_options(process: &Process, hosts: Option<&String>) -> Result<Option<Fleet>, Faults> {
    if hosts.is_some_and(|text| text.trim().is_empty()) {
        let fault = Fault::new("--hosts has no host").at("--hosts");
        return Err(fault.into_usage("list the hosts: --hosts db1,db2; without --hosts only this machine runs"));
    }
    let hosts = hosts
        .cloned()
        .or_else(|| std::env::var("FATHOM_HOSTS").ok())
        .filter(|text| !text.is_empty());
    hosts.map(|text| connect_host_list(process, &text)).transpose()
}

/// Refuses `--hosts` in a process that a launcher has started.
///
/// # Errors
/// [`Faults`] if hosts are named.
pub fn refuse_hosts_under_launcher(hosts: Option<&String>) -> Result<(), Faults> {
    let Some(hosts) = hosts else { return Ok(()) };
    let fault = Fault::new("cannot use --hosts in processes that a launcher has started").at(hosts.as_str());
    Err(fault.into_usage("omit --hosts to use the launcher's processes, or start fathom without the launcher"))
}

/// Refuses a fleet for commands that are about this machine only.
///
/// # Errors
/// [`Faults`] if hosts are named, or this process is a coordinator.
pub fn refuse_fleet(ranks: Option<u32>, command: &str, hosts: Option<&String>) -> Result<(), Faults> {
    let source_from_env = || {
        let hosts = std::env::var("FATHOM_HOSTS").ok().filter(|text| !text.is_empty())?;
        Some(format!("FATHOM_HOSTS={hosts}"))
    };
    let place = match ranks {
        Some(ranks) => format!("{ranks} processes of a launcher"),
        None => match hosts.map(|hosts| format!("--hosts {hosts}")).or_else(source_from_env) {
            Some(hosts) => hosts,
            None => return Ok(()),
        },
    };
    let fault = Fault::new(format!("`fathom {command}` runs only on this machine")).at(place);
    Err(fault.into_usage(
        "`fathom run --preset NAME` and `fathom sweep` measure on several hosts together, with --hosts or under the same launcher",
    ))
}

/// Connects the hosts of a list in the syntax of `--hosts`.
///
/// # Errors
/// [`Faults`] if a host cannot be reached or cannot take part.
pub fn connect_host_list(process: &Process, text: &str) -> Result<Fleet, Faults> {
    connect(process, &transport::parse_hosts(text)?)
}

/// Connects hosts, each in the syntax of `--hosts`.
///
/// # Errors
/// [`Faults`] if a host cannot be reached or cannot take part.
pub fn connect(process: &Process, hosts: &[String]) -> Result<Fleet, Faults> {
    let continues_on_loss = read_continues_on_loss(false)?;
    let interrupt = process.interrupt_flag();
    // Agents that connect to this process are announced separately.
    let contacted: Vec<&str> = hosts
        .iter()
        .map(String::as_str)
        .filter(|host| !host.starts_with("listen://"))
        .collect();
    let quiet = process.is_quiet() || contacted.is_empty();
    let notice = waiting::Notice::new(quiet, format!("waiting for {} to answer", contacted.join(", ")));
    let mut reached = transport::connect_all(hosts, interrupt)?;
    let coordinator = Coordinator::new(
        Box::new(reached.comm),
        false,
        &local_host(process, None),
        &reached.names,
    );
    drop(notice);
    let coordinator = coordinator.map_err(|list| {
        let faults = interrupted(interrupt).unwrap_or_else(|| connection_faults(list, &mut reached.children));
        reached.children.iter_mut().for_each(HostProcess::kill);
        faults
    })?;
    Ok(Fleet {
        coordinator: Some(coordinator.with_continue_on_loss(continues_on_loss)),
        journal: JournalFolder::from_env(),
        children: reached.children.into_iter().map(HostProcess::into_child).collect(),
    })
}

/// Converts faults of hosts, and adds the stderr of a failed child process.
fn connection_faults(list: Vec<HostError>, children: &mut [HostProcess]) -> Faults {
    let describe_fault = |fault: HostError| {
        let why = match fault.why.as_str() {
            PROCESS_ENDED => children.iter_mut().find_map(|child| child.failure(&fault.host)),
            _ => None,
        };
        why.unwrap_or_else(|| Fault::new(fault.why).at(fault.host))
    };
    Faults::many(list.into_iter().map(describe_fault).collect(), Exit::Refused)
}

/// Coordinates hosts that are already connected. Each continues if another is lost, and uses its
/// own working directory.
///
/// # Errors
/// Faults of the hosts that cannot take part.
pub fn coordinate_duplexes(
    process: &Process,
    duplexes: Vec<Duplex>,
    names: &[String],
) -> Result<Fleet, Vec<HostError>> {
    let size = duplexes.len() as u32 + 1;
    let comm = StreamComm::new(0, size, duplexes, "streams");
    let coordinator = Coordinator::new(Box::new(comm), false, &local_host(process, None), names)?;
    Ok(Fleet {
        coordinator: Some(coordinator.with_continue_on_loss(true).with_relative_names()),
        journal: JournalFolder::from_env(),
        children: Vec::new(),
    })
}

/// Reads `FATHOM_ON_LOSS`: whether the other hosts continue if one is lost.
fn read_continues_on_loss(default: bool) -> Result<bool, Faults> {
    match std::env::var("FATHOM_ON_LOSS").unwrap_or_default().as_str() {
        "" => Ok(default),
        "continue" => Ok(true),
        "stop" => Ok(false),
        other => {
            let fault = Fault::new(format!("invalid action `{other}` for a lost host"));
            Err(fault.at("FATHOM_ON_LOSS").into_usage("set it to `stop` or `continue`"))
        }
    }
}
