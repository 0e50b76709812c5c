//! `--client`: other hosts run the jobs, each with `fathom fio --server`; one report covers all of
//! them.
//!
//! Each host examines its own files; this process knows only their names.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use ::run::RunError;
use ::run::hosts::{Duplex, HandshakeError, Role};
use archive::history::EntryKind;
use dialects::fio::{self, Address, Disk, HostArgs, Jobs, ParseOutcome, PathFacts, PathKind, TraceFile};
use model::environment::Host;
use model::event::Event;
use model::finding::Severity;
use model::host_plans::HostPlans;
use model::plan::Plan;
use model::results::Results;
use report::formats::fio as reports;
use report::formats::fio::clients::Client;

use super::local_env::{self, LocalEnv, RealDisk};
use super::output::Output;
use super::server::{TOKEN_HELP, resolve_addresses, token_from_env};
use super::status::Status;
use super::{FAILED, Files, banner, exit_code, failures, finish, logs, print_parse_messages};
use crate::drop_in::{can_save_result, note, print_stderr, record_results};
use crate::fleet;
use crate::fleet::link::{self, ConnectError, Connector};
use crate::permissions;
use crate::screen;
use crate::session::Session;
use crate::user_file;

/// A host that runs jobs.
struct ClientHost<'a> {
    hostname: String,
    port: u16,
    address: Address,
    /// The jobs in its part of the command line.
    jobs: &'a Jobs,
}

/// The messages and hints of a refused run.
#[derive(Default)]
struct Refused {
    lines: Vec<String>,
    hints: Vec<String>,
}

impl From<String> for Refused {
    fn from(line: String) -> Refused {
        let hints = match line.contains("token") {
            true => vec![TOKEN_HELP.to_owned()],
            false => Vec::new(),
        };
        Refused {
            lines: vec![line],
            hints,
        }
    }
}

/// Runs a command line with `--client`.
pub(super) fn execute(session: &Session, program: &str, parts: &[HostArgs]) -> ExitCode {
    let mut file = None;
    let mut inputs = Vec::new();
    let mut readings = Vec::new();
    for part in parts {
        let mut env = LocalEnv::default();
        readings.push(fio::read(program, &part.arguments, &mut env));
        file = env.output().or(file);
        inputs.append(&mut env.inputs);
    }
    let files = Files {
        output: file.as_deref(),
        inputs: &inputs,
    };
    // The targets are on other hosts.
    if let Err(line) = files.check(&Plan::default(), &[]) {
        print_stderr(&[line]);
        return ExitCode::from(FAILED);
    }
    let mut output = Output::new(file, false, session.process.interrupt_flag());
    if let Err(error) = output.open() {
        print_stderr(&[format!("fio: output file open error: {error}")]);
        return ExitCode::from(FAILED);
    }
    let mut code = None;
    let mut all = Vec::new();
    for reading in &readings {
        match reading {
            ParseOutcome::Run(jobs) => all.push(jobs),
            ParseOutcome::End(end) if end.read.flags.server.is_some() => {
                output.print_problem("fio: can't be both client and server");
                code = Some(FAILED);
                break;
            }
            ParseOutcome::End(end) => {
                print_parse_messages(&mut output, &end.read, &[]);
                code = Some(end.code.max(code.unwrap_or(0)));
            }
        }
    }
    let code = match code {
        Some(code) => code,
        None if !can_save_result() => FAILED,
        None => run(session, parts, &all, &mut output).unwrap_or_else(|refused| {
            refused.lines.iter().for_each(|line| output.print_problem(line));
            refused.hints.iter().for_each(|hint| output.print_hint(hint));
            FAILED
        }),
    };
    finish(output, code)
}

fn run(session: &Session, parts: &[HostArgs], all: &[&Jobs], output: &mut Output) -> Result<u8, Refused> {
    if session.has_fleet() {
        return Err("fio: cannot use --client together with FATHOM_HOSTS or an MPI launcher"
            .to_owned()
            .into());
    }
    let mut hosts = Vec::new();
    for (part, jobs) in parts.iter().zip(all) {
        for named in &part.hosts {
            hosts.extend(parse_hosts(named, jobs)?);
        }
    }
    let mut seen = HashSet::new();
    if let Some(duplicate) = hosts
        .iter()
        .find(|host| !seen.insert((host.hostname.clone(), host.port)))
    {
        let (hostname, port) = (&duplicate.hostname, duplicate.port);
        return Err(format!("fio: {hostname},{port} occurs twice; a host runs one job list at a time").into());
    }
    let mut lowered = Vec::new();
    let mut requests = Vec::new();
    for host in &hosts {
        refuse_local_options(host.jobs)?;
        let mut client_plan = lower(host, &session.process.arguments)?;
        client_plan.plan.origin.profile = banner::format_lines(host.jobs).concat();
        let wanted = logs::Logs::from_jobs(host.jobs, &mut client_plan.plan).map_err(Refused::from)?;
        if client_plan.plan.jobs().any(|(_, job)| job.operation_log.is_some()) {
            return Err(
                "fio: logs with --client need log_avg_msec: hosts do not send single operations"
                    .to_owned()
                    .into(),
            );
        }
        requests.push(wanted);
        lowered.push(client_plan);
    }
    let host_plans = HostPlans::new(lowered.iter().map(|client_plan| client_plan.plan.clone()).collect());
    let plan = host_plans.merge();
    let flags = &all[0].flags;
    if flags.formats.is_json_only() {
        output.suppress_information();
    }
    let names = connect(session, &hosts)?;
    for (place, host) in hosts.iter().enumerate() {
        if flags.formats.normal {
            output.print_line(&host_line(&names[place]));
        }
        print_host_start(
            &names[place].name,
            host.jobs,
            &lowered[place],
            host_plans.plans(),
            place,
            output,
        );
    }
    let results = execute_jobs(session, all[0], plan, output)?;
    Ok(conclude(
        session,
        (&hosts, &names),
        (&host_plans, &requests),
        results,
        output,
    ))
}

/// Parses an argument of `--client`: a host, or a file that lists hosts.
fn parse_hosts<'a>(named: &str, jobs: &'a Jobs) -> Result<Vec<ClientHost<'a>>, String> {
    let parse_host = |text: &str| -> Result<ClientHost<'a>, String> {
        let address = Address::parse(text)?;
        let (hostname, port) = match &address {
            Address::Socket(path) => (path.clone(), 0),
            Address::Network { host, port, .. } => (host.clone().unwrap_or_else(|| "localhost".into()), *port),
        };
        Ok(ClientHost {
            hostname,
            port,
            address,
            jobs,
        })
    };
    if !Path::new(named).is_file() {
        return Ok(vec![parse_host(named)?]);
    }
    let text = user_file::read_text(Path::new(named), user_file::MAX_TEXT)
        .map_err(|error| format!("fio: could not open client list file {named} for read: {error}"))?;
    let hosts = text.split_whitespace().map(parse_host).collect::<Result<Vec<_>, _>>()?;
    match hosts.is_empty() {
        true => Err(format!("fio: the client list file {named} is empty")),
        false => Ok(hosts),
    }
}

/// Refuses options that work on this host only.
fn refuse_local_options(jobs: &Jobs) -> Result<(), String> {
    let flags = &jobs.flags;
    let with_flag = [
        ("--idle-prof", flags.idle_profile.is_some()),
        ("--status-interval", flags.status_interval_us > 0),
        ("--trigger-file", flags.trigger_file.is_some()),
        ("--trigger-timeout", flags.trigger_timeout_us > 0),
        ("--bandwidth-log", flags.bandwidth_log.is_some()),
        ("--aux-path", flags.aux_path.is_some()),
    ];
    let has_job = |wanted: fn(&fio::Job) -> bool| jobs.jobs.iter().any(wanted);
    let with_option = [
        ("exec_prerun", has_job(|job| job.options.job.exec_prerun.is_some())),
        ("exec_postrun", has_job(|job| job.options.job.exec_postrun.is_some())),
        ("read_iolog", has_job(|job| job.options.replay.read_iolog.is_some())),
        ("write_iolog", has_job(|job| job.options.replay.write_iolog.is_some())),
        ("opendir", has_job(|job| job.options.files.opendir.is_some())),
        ("file_append", has_job(|job| job.options.files.file_append)),
    ];
    match with_flag.iter().chain(&with_option).find(|(_, is_used)| *is_used) {
        Some((name, _)) => Err(format!("fio: {name} is not supported with --client")),
        None => Ok(()),
    }
}

/// Files of another host. A file without a size is assumed to exist, and a device is recognised by
/// its name.
pub(super) struct RemoteFs<'a> {
    pub(super) jobs: &'a Jobs,
}

impl Disk for RemoteFs<'_> {
    fn find(&self, path: &str) -> Option<PathFacts> {
        if path.starts_with("/dev/") || path.starts_with(r"\\.\") {
            return Some(PathFacts {
                kind: PathKind::Device,
                size: 0,
            });
        }
        let is_named = |job: &fio::Job| {
            let names = &job.options.files.filename;
            let ends = |name: &String| {
                path == name || path.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('/'))
            };
            job.options.queue.ioengine != "null" && names.iter().any(ends)
        };
        self.jobs.jobs.iter().any(is_named).then_some(PathFacts {
            kind: PathKind::File,
            size: u64::MAX >> 1,
        })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        RealDisk.read(path)
    }

    fn list_files_below(&self, _: &str) -> Result<Vec<String>, String> {
        Err("it is on another host".into())
    }

    fn trace(&self, _: &str) -> Result<TraceFile, String> {
        Err("it is on another host".into())
    }

    fn device(&self, _: u32, _: u32) -> Option<String> {
        None
    }
}

fn lower(host: &ClientHost<'_>, words: &[String]) -> Result<fio::Lowered, Refused> {
    let env = fio::LowerEnv {
        arguments: words,
        disk: &RemoteFs { jobs: host.jobs },
        fresh_seed: local_env::fresh_seed(),
        process: std::process::id(),
        utc_offset_s: local_env::utc_offset_s(),
        client: Some(&host.hostname),
    };
    let lowered = fio::lower(host.jobs, env).map_err(|problems| Refused {
        lines: problems.into_iter().map(|problem| problem.what).collect(),
        hints: Vec::new(),
    })?;
    match lowered.unusable.is_empty() {
        true => Ok(lowered),
        false => Err(Refused {
            lines: lowered.unusable.into_iter().map(|error| error.line).collect(),
            hints: vec!["set a size: this process cannot examine files of another host".into()],
        }),
    }
}

/// Connects to all hosts as their coordinator. Returns them in order.
fn connect(session: &Session, hosts: &[ClientHost<'_>]) -> Result<Vec<Host>, Refused> {
    let token = token_from_env()?;
    let mut duplexes = Vec::new();
    for host in hosts {
        duplexes.push(connect_host(host, token.as_deref(), session.process.interrupt_flag())?);
    }
    let named: Vec<String> = hosts.iter().map(|host| host.hostname.clone()).collect();
    let fleet = fleet::coordinate_duplexes(&session.process, duplexes, &named).map_err(|faults| Refused {
        lines: faults.iter().map(|fault| format!("fio: {fault}")).collect(),
        hints: Vec::new(),
    })?;
    let coordinator = fleet.coordinator.as_ref();
    let machines = (0..hosts.len() as u32).filter_map(|rank| Some(coordinator?.host_of_rank(rank).clone()));
    let machines = machines.collect();
    session.set_fleet(fleet);
    Ok(machines)
}

fn connect_host(host: &ClientHost<'_>, token: Option<&str>, interrupt: &AtomicBool) -> Result<Duplex, Refused> {
    let (hostname, port) = (&host.hostname, host.port);
    let unreachable = |error: io::Error| {
        // fio prints the error text without its number.
        let words = error
            .raw_os_error()
            .map_or(error.to_string(), reports::codes::error_text);
        Refused {
            lines: vec![
                format!("fio: connect: {words}"),
                format!("fio: failed to connect to {hostname}:{port}"),
            ],
            hints: vec!["start `fathom fio --server` on that host, and check its port and firewall".into()],
        }
    };
    let rejected = |error: HandshakeError| {
        let hint = match error {
            HandshakeError::WrongToken => TOKEN_HELP,
            _ => {
                "connect to `fathom fio --server` or `fathom agent --listen`: servers of fio itself use another protocol"
            }
        };
        Refused {
            lines: vec![format!("fio: {hostname},{port}: {error}")],
            hints: vec![hint.into()],
        }
    };
    let connector = Connector {
        role: Role::Coordinator,
        token: token.unwrap_or_default(),
        timeout: link::CONNECT_TIMEOUT,
        awaits_listener: false,
        interrupt,
    };
    let connected = match &host.address {
        Address::Socket(path) => connector.connect(|| link::connect_at(Path::new(path))),
        Address::Network { version_6, .. } => {
            let addresses = resolve_addresses((hostname, port, *version_6), token.is_some())?;
            connector.connect(|| link::connect(&addresses))
        }
    };
    connected.map_err(|error| match error {
        ConnectError::Unreachable(error) => unreachable(error),
        ConnectError::Handshake(error) => rejected(error),
    })
}

fn host_line(host: &Host) -> String {
    let big = ["s390", "powerpc64", "ppc64"]
        .iter()
        .any(|name| host.architecture.starts_with(name));
    let big = big && !host.architecture.ends_with("le");
    let bits = if host.architecture.contains("64") || host.architecture.starts_with("s390x") {
        64
    } else {
        32
    };
    format!(
        "hostname={}, be={}, {bits}-bit, os={}, arch={}, fio={}, flags=0",
        host.name,
        u8::from(big),
        if cfg!(windows) { "Windows" } else { "Linux" },
        host.architecture.replace('_', "-"),
        fio::VERSION,
    )
}

/// Prints fio's lines about starting jobs, with the host's name in front.
fn print_host_start(
    name: &str,
    jobs: &Jobs,
    lowered: &fio::Lowered,
    plans: &[Plan],
    place: usize,
    output: &mut Output,
) {
    let named = |text: &str| format!("<{name}> {text}");
    jobs.stdout().for_each(|line| output.print_line(&named(line)));
    jobs.stderr().for_each(|line| output.print_problem(&named(line)));
    jobs.hints.iter().for_each(|hint| output.print_hint(hint));
    lowered.notes.iter().for_each(|text| note(&named(text)));
    if jobs.flags.formats.normal {
        plans[place]
            .origin
            .profile
            .iter()
            .for_each(|line| output.print_line(&named(line)));
        let text = screen::write_to_string(|out| reports::starting(&plans[place], out));
        // The banner already contains the version.
        text.lines().skip(1).for_each(|line| output.print_line(&named(line)));
    }
    lowered.stdout.iter().for_each(|line| output.print_line(&named(line)));
    lowered
        .stderr
        .iter()
        .for_each(|line| output.print_problem(&named(line)));
}

fn execute_jobs(session: &Session, jobs: &Jobs, plan: Plan, output: &mut Output) -> Result<Results, Refused> {
    let mut status = Status::new(jobs, &plan, session.process.interrupt_flag());
    let permissions = permissions::from_env();
    let nothing = session.empty_results(plan.clone());
    let outcome = session
        .execution(plan, &permissions)
        .run(&mut |event: Event| status.handle_event(&event, output));
    status.end(output);
    match outcome {
        Ok(mut results) => {
            failures::number_as_fio(&mut results);
            Ok(results)
        }
        Err(RunError::Interrupted) => Ok(nothing),
        Err(error) => {
            let messages = failures::messages_for_error(&error, &nothing.plan, &[]);
            Err(Refused {
                lines: messages.stderr.into_iter().chain(messages.stdout).collect(),
                hints: messages.hints,
            })
        }
    }
}

fn conclude(
    session: &Session,
    (hosts, names): (&[ClientHost<'_>], &[Host]),
    (host_plans, requests): (&HostPlans, &[logs::Logs]),
    results: Results,
    output: &mut Output,
) -> u8 {
    let mut failed = 0;
    for (facts, host) in results.fleet.iter().flat_map(|fleet| &fleet.ranks).zip(hosts) {
        if let Some(why) = &facts.lost {
            failed += 1;
            output.print_problem(&format!("fio: client <{}>: {why}", host.hostname));
        }
    }
    let clients: Vec<Client> = host_plans
        .split_results(&results)
        .into_iter()
        .zip(hosts.iter().zip(names))
        .map(|(results, (host, name))| Client {
            // If the address has only a port, fio reports no name.
            hostname: match &host.address {
                Address::Network { host: None, .. } => String::new(),
                _ => host.hostname.clone(),
            },
            port: host.port,
            name: name.name.clone(),
            results,
        })
        .collect();
    for client in &clients {
        let messages = failures::messages_for_results(&client.results);
        let named = |line: &str| format!("<{}> {line}", client.name);
        messages.print(output, named);
        failed += failures::count_failed_workers(&client.results);
    }
    let mut written = true;
    for (place, client) in clients.iter().enumerate() {
        if let Err(problem) = requests[place].write_of_host(&client.results, &log_suffix(hosts, place)) {
            output.print_problem(&problem);
            written = false;
        }
    }
    let flags = &hosts[0].jobs.flags;
    if flags.formats.terse {
        output.print_report(|out| reports::clients::terse(&clients, out));
    }
    if flags.formats.json || flags.formats.json_plus {
        output.print_report(|out| reports::clients::json(&clients, flags.formats.json_plus, out));
    }
    if flags.formats.normal {
        output.print_report(|out| reports::clients::normal(&clients, out));
    }
    let is_shown = |severity: Severity, rule: &str| severity >= Severity::Note && rule != "NOT-STARTED";
    for finding in results
        .findings
        .iter()
        .filter(|finding| is_shown(finding.severity, &finding.rule))
    {
        let at = finding.at.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
        note(&format!("{at}{} [{}]", finding.what, finding.rule));
    }
    let kept = record_results(&results, EntryKind::Fio);
    exit_code(session.process.is_interrupted(), failed, kept && written)
}

/// Builds the suffix of a host's log files; with the port if the host occurs more than once.
fn log_suffix(hosts: &[ClientHost<'_>], place: usize) -> String {
    let ClientHost { hostname, port, .. } = &hosts[place];
    let word = PathBuf::from(hostname).display().to_string().replace(['/', '\\'], "_");
    match hosts.iter().filter(|host| host.hostname == *hostname).count() {
        1 => format!(".{word}"),
        _ => format!(".{word},{port}"),
    }
}
