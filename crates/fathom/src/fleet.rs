//! Tests on several hosts: who takes part, and how they are reached.
//!
//! A launcher of MPI has started this program on each of them, or `--hosts` names them and this
//! process leads. Either way the commands are the same ones: whatever carries a plan out does so on
//! all of them.

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
use model::fleet::{Rank, own_name};
use run::hosts::{
    Comm, Coordinator, Duplex, HostFault, LocalHost, PROCESS_ENDED, StreamComm, announced_rank, detect_launcher,
    rendezvous, run_agent,
};

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::permissions;
use crate::process::Process;

use self::child::HostProcess;

pub use agent::{serve_duplex, serve_listener};
pub use journal::{Journals, read as read_journal};
pub use link::ConnectError;
pub use transport::{apart, arrive, token, with_token_help};
pub use waiting::interrupted;

/// How long processes that were started here may take to end.
const ENDING: Duration = Duration::from_secs(3);

/// The others of a test, while this process leads.
#[derive(Debug)]
pub struct Fleet {
    /// Who leads them.
    pub coordinator: Option<Coordinator>,
    /// Where its own part is kept.
    pub journal: Journals,
    children: Vec<Child>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // The others leave once they are asked to.
        self.coordinator = None;
        let begun = Instant::now();
        for child in &mut self.children {
            while matches!(child.try_wait(), Ok(None)) && begun.elapsed() < ENDING {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What this process is.
#[derive(Debug)]
pub enum Part {
    /// The only one.
    Alone {
        /// Processors that a launcher had left it, where it took all that it may have.
        widened_from: Option<u32>,
    },
    /// The one that leads.
    Leading(Box<Fleet>),
    /// One that did what another asked of it, and is done.
    Done(ExitCode),
}

/// A variable of the environment.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The number that was assigned to this process.
pub fn number() -> Option<u32> {
    announced_rank(variable)
}

/// Where this process is.
pub fn place(process: &Process, widened_from: Option<u32>) -> LocalHost<'static> {
    LocalHost {
        host: probe::host(&System::live()),
        clock: process.clock(),
        interrupt: process.interrupt_flag(),
        programs: permissions::are_programs_allowed(),
        widened_from,
        announced: None,
    }
}

/// Takes part in what a launcher has started, if one has: through its MPI, or over TCP where
/// `FATHOM_HEAD` says so. An agent takes part in what its own command line says.
///
/// # Errors
/// [`Faults`] if its library is not there, or others do not come.
pub fn join(process: &Process, is_agent: bool) -> Result<Part, Faults> {
    if is_agent {
        return Ok(Part::Alone { widened_from: None });
    }
    let rendezvous = rendezvous(variable).map_err(|(what, help)| {
        let fault = Fault::new(what).at("FATHOM_HEAD");
        Faults::usage(fault.help(help))
    })?;
    if let Some(rendezvous) = rendezvous.filter(|rendezvous| rendezvous.size > 1) {
        return rendezvous::meet(process, &rendezvous);
    }
    let Some(launch) = detect_launcher(variable) else {
        return Ok(Part::Alone { widened_from: None });
    };
    let widened_from = engine::sys::thread::unbind_cpus();
    if launch.is_alone() {
        return Ok(Part::Alone { widened_from });
    }
    let comm = run::hosts::mpi(&launch).map_err(|why| {
        let what = format!("{}, and its MPI cannot be joined", launch.words());
        let fault = Fault::new(what).help(format!(
            "{}; without MPI they meet over TCP where FATHOM_HEAD=HOST:7745 names the host of the first one \
             (docs/fleet.md); FATHOM_MPI_LIBRARY names a library, FATHOM_FLEET=off lets every process run by itself",
            launch.install_words()
        ));
        Faults::one(
            Fault {
                why: vec![why],
                ..fault
            },
            Exit::Refused,
        )
    })?;
    let place = place(process, widened_from);
    match comm.rank() {
        0 => leading(comm, &place, goes_on(launch.mitigates)?),
        _ => Ok(Part::Done(served(&*comm, &place).code())),
    }
}

/// Leads the others and carries a part out.
fn leading(comm: Box<dyn Comm>, place: &LocalHost<'_>, goes_on: bool) -> Result<Part, Faults> {
    let coordinator = Coordinator::new(comm, true, place, &[])
        .map_err(|list| interrupted(place.interrupt).unwrap_or_else(|| faults(list)))?;
    Ok(Part::Leading(Box::new(Fleet {
        coordinator: Some(coordinator.with_continue_on_loss(goes_on)),
        journal: Journals::usual(),
        children: Vec::new(),
    })))
}

/// Carries out what another one says, until that has nothing more to do.
pub fn served(comm: &dyn Comm, place: &LocalHost<'_>) -> Exit {
    let served = run_agent(comm, place, &Journals::usual());
    comm.close();
    match served {
        Ok(()) => Exit::Done,
        Err(why) => {
            crate::screen::note(&format!("fathom on {}: {why}", place.host.name));
            Exit::Partial
        }
    }
}

/// What jobs say of hosts means the same where there is only one: names have its name and number in
/// them, and no job is for another one. It is not for a process that leads a fleet, where each host
/// reads its own names.
///
/// # Errors
/// [`Faults`] if a job is for a host that does not take part.
pub fn name_for_one(document: &mut Document) -> Result<(), Faults> {
    let rank = Rank {
        number: 0,
        of: 1,
        host: probe::host(&System::live()).name,
    };
    for job in &mut document.jobs {
        if let Some(other) = job.hosts.iter().find(|name| **name != rank.host && *name != "0") {
            let what = format!(
                "the job is for the host `{other}`, which does not take part: {} runs alone",
                rank.host
            );
            let fault = Fault::new(what).at(job.name.as_deref().unwrap_or("for-hosts"));
            return Err(Faults::usage(
                fault.help("name the hosts with --hosts, or leave out for-hosts"),
            ));
        }
        for target in &mut job.targets {
            *target = own_name(target, &rank);
        }
    }
    Ok(())
}

/// Reaches the hosts that the command line or `FATHOM_HOSTS` names, if any.
///
/// # Errors
/// [`Faults`] if one of them cannot be reached or take part.
pub fn of_options(process: &Process, named: Option<&String>) -> Result<Option<Fleet>, Faults> {
    if named.is_some_and(|text| text.trim().is_empty()) {
        let fault = Fault::new("--hosts names no host").at("--hosts");
        return Err(Faults::usage(
            fault.help("name them: --hosts db1,db2; without --hosts this machine runs alone"),
        ));
    }
    let named = named
        .cloned()
        .or_else(|| std::env::var("FATHOM_HOSTS").ok())
        .filter(|text| !text.is_empty());
    named.map(|text| of_list(process, &text)).transpose()
}

/// A process that a launcher started does not start others.
///
/// # Errors
/// [`Faults`] if hosts are named as well.
pub fn not_twice(named: Option<&String>) -> Result<(), Faults> {
    let Some(named) = named else { return Ok(()) };
    let fault = Fault::new("a launcher has started this process with others, and --hosts names hosts as well")
        .at(named.as_str());
    Err(Faults::usage(fault.help(
        "leave --hosts out: what the launcher has started is the test; or start fathom without the launcher",
    )))
}

/// A command that is about one machine is refused on others, and on several.
///
/// # Errors
/// [`Faults`] if hosts are named, or this process leads others.
pub fn refuse(ranks: Option<u32>, command: &str, named: Option<&String>) -> Result<(), Faults> {
    let of_environment = || {
        let named = std::env::var("FATHOM_HOSTS").ok().filter(|text| !text.is_empty())?;
        Some(format!("FATHOM_HOSTS={named}"))
    };
    let place = match ranks {
        Some(ranks) => format!("{ranks} processes that were started together"),
        None => match named.map(|named| format!("--hosts {named}")).or_else(of_environment) {
            Some(named) => named,
            None => return Ok(()),
        },
    };
    let fault = Fault::new(format!(
        "`fathom {command}` is about the one machine that it is started on"
    ))
    .at(place);
    Err(Faults::usage(fault.help(
        "`fathom run --preset NAME` and `fathom sweep` measure on several hosts together, with --hosts or under the same launcher",
    )))
}

/// Reaches the hosts of a list as `--hosts` has it.
///
/// # Errors
/// [`Faults`] if one of them cannot be reached or take part.
pub fn of_list(process: &Process, text: &str) -> Result<Fleet, Faults> {
    let goes_on = goes_on(false)?;
    let hosts = transport::named(text)?;
    let interrupt = process.interrupt_flag();
    // Those that come by themselves are reported where they are waited for.
    let answering: Vec<&str> = hosts
        .iter()
        .map(String::as_str)
        .filter(|host| !host.starts_with("listen://"))
        .collect();
    let quiet = process.is_quiet() || answering.is_empty();
    let notice = waiting::Notice::unless(quiet, format!("waiting for an answer of {}", answering.join(", ")));
    let mut reached = transport::all(&hosts, interrupt)?;
    let coordinator = Coordinator::new(Box::new(reached.comm), false, &place(process, None), &reached.names);
    drop(notice);
    let coordinator = coordinator.map_err(|list| {
        let faults = interrupted(interrupt).unwrap_or_else(|| unreached(list, &mut reached.children));
        reached.children.iter_mut().for_each(HostProcess::kill);
        faults
    })?;
    Ok(Fleet {
        coordinator: Some(coordinator.with_continue_on_loss(goes_on)),
        journal: Journals::usual(),
        children: reached.children.into_iter().map(HostProcess::into_child).collect(),
    })
}

/// What is wrong with hosts, with what those have said that should reach them.
fn unreached(list: Vec<HostFault>, children: &mut [HostProcess]) -> Faults {
    let known = |fault: HostFault| {
        let why = match fault.why.as_str() {
            PROCESS_ENDED => children.iter_mut().find_map(|child| child.failure(&fault.host)),
            _ => None,
        };
        why.unwrap_or_else(|| Fault::new(fault.why).at(fault.host))
    };
    Faults::many(list.into_iter().map(known).collect(), Exit::Refused)
}

/// Leads hosts that are reached already, each of which continues alone where another is lost and
/// knows its own directory.
///
/// # Errors
/// Those that cannot take part.
pub fn of_duplexes(process: &Process, duplexes: Vec<Duplex>, names: &[String]) -> Result<Fleet, Vec<HostFault>> {
    let size = duplexes.len() as u32 + 1;
    let comm = StreamComm::new(0, size, duplexes, "streams");
    let coordinator = Coordinator::new(Box::new(comm), false, &place(process, None), names)?;
    Ok(Fleet {
        coordinator: Some(coordinator.with_continue_on_loss(true).with_relative_names()),
        journal: Journals::usual(),
        children: Vec::new(),
    })
}

/// What the others do where one is lost: `FATHOM_ON_LOSS` says it.
fn goes_on(usually: bool) -> Result<bool, Faults> {
    match std::env::var("FATHOM_ON_LOSS").unwrap_or_default().as_str() {
        "" => Ok(usually),
        "continue" => Ok(true),
        "stop" => Ok(false),
        other => {
            let fault = Fault::new(format!("`{other}` is not what hosts can do where one of them is lost"));
            Err(Faults::usage(fault.at("FATHOM_ON_LOSS").help("`stop` or `continue`")))
        }
    }
}

fn faults(list: Vec<HostFault>) -> Faults {
    run::RunError::Hosts(list).into()
}
