//! Hosts: `hd=`, `host=` of other definitions, `$host`, and the ranks among which work is divided.

use super::VdbenchEnv;
use super::blocks::Block;
use super::commands::Commands;
use super::definitions::{Parameters, Sd, Wd};
use super::runs::Run;
use super::scan::{Item, Value};
use super::table::Section;
use super::workloads::matches_name;
use crate::Diagnostic;

/// The label of this machine if a file has no `hd=`.
const LOCAL: &str = "localhost";
/// Maximum number of hosts from one `clients=`.
const MAX_CLIENTS: f64 = 1000.0;

/// A host definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its label, which names it in other definitions and in reports.
    pub label: String,
    /// Its name or address.
    pub system: String,
    /// `user=`, for ssh.
    pub user: Option<String>,
    /// `shell=vdbench`: it is reached over TCP instead of ssh.
    pub has_agent: bool,
    /// It is this machine.
    pub is_local: bool,
}

/// The hosts of a definition: one, or those that `clients=` makes from it.
pub(super) fn parse_hosts(block: &Block, env: &dyn VdbenchEnv) -> Result<Vec<Host>, Diagnostic> {
    if block.name == "default" {
        return Ok(Vec::new());
    }
    let system = block.item("system").map_or(block.name.clone(), Item::single_value);
    let user = block.item("user").map(Item::single_value);
    let shell = block.item("shell").map(Item::single_value);
    let is_local = env.is_local(&system);
    if !is_local {
        for (field, name) in [("system", Some(&system)), ("user", user.as_ref())] {
            if let Some(name) = name.filter(|name| !is_host_name(name)) {
                return Err(block
                    .error(format!("hd={}: invalid {field}={name}", block.name))
                    .help("specify a host name or address"));
            }
        }
        if let Some(shell) = shell.as_ref().filter(|shell| !SHELLS.contains(&&***shell)) {
            return Err(block
                .error(format!("hd={}: invalid shell={shell}", block.name))
                .help(format!("it can be {}", SHELLS.join(", "))));
        }
    }
    let host = |label: String| Host {
        label,
        system: system.clone(),
        user: user.clone(),
        has_agent: shell.as_deref() == Some(SHELLS[2]),
        is_local,
    };
    Ok(expand_client_labels(block)?.into_iter().map(host).collect())
}

const SHELLS: [&str; 3] = ["rsh", "ssh", "vdbench"];

/// True if no command can mistake a name or address for something else.
fn is_host_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
    !name.is_empty() && name != "local" && !name.starts_with('-') && name.chars().all(is_plain)
}

fn expand_client_labels(block: &Block) -> Result<Vec<String>, Diagnostic> {
    match block.number("clients")? {
        None => Ok(vec![block.name.clone()]),
        Some(count) if (1.0..=MAX_CLIENTS).contains(&count) => Ok((0..count as u64)
            .map(|number| format!("{}_cl{number}", block.name))
            .collect()),
        Some(count) => Err(block.invalid("clients", count).help(format!("use 1 to {MAX_CLIENTS}"))),
    }
}

/// The labels that `host=` of a definition selects: all without it.
pub(super) fn parse_selected_labels(block: &Block, parameters: &Parameters) -> Result<Vec<String>, Diagnostic> {
    let labels = parameters.labels();
    let wanted = block.expanded_values("host");
    let is_wanted = |wanted: &String, label: &String| matches_name(wanted, label);
    if let Some(missing) = wanted
        .iter()
        .find(|wanted| !labels.iter().any(|label| is_wanted(wanted, label)))
    {
        let message = format!("Could not find hd={missing}, which {} names", block.name);
        return Err(block
            .error(message)
            .help(format!("the hosts are {}", labels.join(", "))));
    }
    let is_selected = |label: &String| wanted.is_empty() || wanted.iter().any(|wanted| is_wanted(wanted, label));
    Ok(labels.into_iter().filter(is_selected).collect())
}

/// Repeats each definition that mentions the host, for every host. `$host` is its label, `#host`
/// its number, and `#hosts` the number of hosts.
pub(super) fn repeat_for_hosts(blocks: Vec<Block>) -> Result<Vec<Block>, Diagnostic> {
    let is_host = |block: &&Block| block.section == Section::Host && block.name != "default";
    let mut labels: Vec<String> = Vec::new();
    for block in blocks.iter().filter(is_host) {
        labels.extend(expand_client_labels(block)?);
    }
    if labels.is_empty() {
        labels.push(LOCAL.to_owned());
    }
    let mut repeated = Vec::new();
    for block in blocks {
        let is_repeated = [Section::Sd, Section::Fsd, Section::Wd, Section::Fwd].contains(&block.section);
        let values = block.params.iter().flat_map(|(_, item)| &item.values);
        let mentions = has_host_word(&block.name) || { values }.any(|value| has_host_word(&value.text));
        if !is_repeated || !mentions || block.name == "default" {
            repeated.push(block);
            continue;
        }
        for (number, label) in labels.iter().enumerate() {
            let text = |text: &str| {
                [("#hosts", labels.len().to_string()), ("#host", number.to_string())]
                    .into_iter()
                    .chain(["$host", "!host"].map(|word| (word, label.clone())))
                    .fold(text.to_owned(), |text, (word, value)| text.replace(word, &value))
            };
            let mut copy = block.clone();
            copy.name = text(&copy.name);
            let values = copy.params.iter_mut().flat_map(|(_, item)| &mut item.values);
            values.for_each(|value: &mut Value| value.text = text(&value.text));
            repeated.push(copy);
        }
    }
    Ok(repeated)
}

/// True if a value depends on the host.
pub(super) fn has_host_word(text: &str) -> bool {
    ["$host", "!host", "#host"].iter().any(|word| text.contains(word))
}

impl Parameters {
    /// The labels of all hosts, at least one.
    pub fn labels(&self) -> Vec<String> {
        match &self.hosts[..] {
            [] => vec![LOCAL.to_owned()],
            hosts => hosts.iter().map(|host| host.label.clone()).collect(),
        }
    }

    /// True if other machines take part. Then each host is a rank of a fleet; otherwise this
    /// process does the work of all labels.
    pub fn uses_fleet(&self) -> bool {
        self.hosts.iter().any(|host| !host.is_local)
    }

    /// The rank of each of these labels.
    pub(super) fn ranks(&self, labels: &[String]) -> Vec<usize> {
        let is_named = |rank: &usize| labels.is_empty() || labels.contains(&self.hosts[*rank].label);
        match self.uses_fleet() {
            true => (0..self.hosts.len()).filter(is_named).collect(),
            false => Vec::new(),
        }
    }

    /// True if a workload uses an SD on a host; `None` is this process. As in Vdbench, sequential
    /// work has one position for each SD, so only one host does it.
    pub(super) fn runs_on(&self, wd: &Wd, sd: &Sd, rank: Option<usize>) -> bool {
        let has = |labels: &[String], rank: usize| labels.is_empty() || labels.contains(&self.hosts[rank].label);
        let has_both = |rank: usize| has(&wd.hosts, rank) && has(&sd.hosts, rank);
        let is_sequential = wd.seekpct <= 0 && wd.streams.is_none();
        let has_rank = |rank: usize| has_both(rank) && !(is_sequential && (0..rank).any(has_both));
        rank.is_none_or(has_rank) && wd.sds.contains(&sd.name)
    }

    /// The hosts on which a run uses an SD, each with one thread or more; `None` is this process.
    pub(super) fn places(&self, run: &Run, sd: &Sd) -> Vec<Option<usize>> {
        let uses = |rank: &Option<usize>| run.workloads.iter().any(|(wd, _)| self.runs_on(wd, sd, *rank));
        match self.uses_fleet() {
            true => (0..self.hosts.len())
                .map(Some)
                .filter(uses)
                .take(sd.threads as usize)
                .collect(),
            false => vec![None],
        }
    }

    /// Settings of the whole file that a fleet does not support.
    pub(super) fn refuse_fleet_settings(&mut self) {
        let refused = [
            (
                self.validation.is_some(),
                "data validation",
                "leave it out, or run the file on one host",
            ),
            (
                self.general.concatenates,
                "`concatenatesds=yes`",
                "leave it out, or run the file on one host",
            ),
            (
                self.general.format == Some(true),
                "`formatsds=yes`",
                "remove the files, and leave it out: missing files are created",
            ),
        ];
        let of_rds = self.rds.iter().map(|rd| &rd.commands);
        let mut commands = std::iter::once(&self.general.commands)
            .chain(of_rds)
            .flat_map(Commands::named);
        let on_hosts = commands.any(|(_, command)| !command.on_master);
        let refused = refused.into_iter().chain([(
            on_hosts,
            "a command without `master`",
            "give it as `startcmd=(\"command\",master)`: it runs on this machine",
        )]);
        let uses_fleet = self.uses_fleet();
        for (_, what, help) in refused.filter(|(is_set, ..)| *is_set && uses_fleet) {
            let message = format!("{what} is not supported on other hosts");
            self.refusals.push(Diagnostic::new(message).help(help));
        }
    }

    /// Refuses work on an SD that several hosts cannot share.
    pub(super) fn check_places(&self, run: &Run, sd: &Sd, places: &[Option<usize>]) -> Result<(), Diagnostic> {
        let wds_on_sd = || {
            run.workloads
                .iter()
                .map(|(wd, _)| wd)
                .filter(|wd| wd.sds.contains(&sd.name))
        };
        let count = |wd: &&Wd| places.iter().filter(|rank| self.runs_on(wd, sd, **rank)).count();
        if let Some(wd) = wds_on_sd().find(|wd| count(wd) == 0) {
            // A host without a thread has no part of the SD.
            if (0..self.hosts.len()).any(|rank| self.runs_on(wd, sd, Some(rank))) {
                let message = format!(
                    "sd={} has fewer threads than hosts, so wd={} has none",
                    sd.name, wd.name
                );
                return Err(
                    Diagnostic::new(message).help(format!("set `threads={}` or more in the SD", self.hosts.len()))
                );
            }
            let message = format!(
                "Could not find sd={} for wd={},host={}",
                sd.name,
                wd.name,
                wd.hosts.join(",")
            );
            return Err(Diagnostic::new(message).help(format!("rd={}: use a `host=` that both share", run.name)));
        }
        let is_ordered = |wd: &&Wd| wd.stride.is_some() || wd.streams.is_some();
        if let Some(wd) = wds_on_sd().find(|wd| count(wd) > 1 && is_ordered(wd)) {
            return Err(run.unsupported(
                &format!(
                    "`stride=` or `streams=` of wd={} on sd={} from several hosts",
                    wd.name, sd.name
                ),
                "set a single `host=` in the WD or SD; for all hosts, define an SD for each: \
                 `sd=sd_$host,host=$host,lun=…`",
            ));
        }
        Ok(())
    }
}

impl Sd {
    /// The part of one of several hosts: each has a share of the threads.
    pub(super) fn part(&self, index: usize, count: usize) -> Sd {
        let (index, count) = (index as u32, count as u32);
        Sd {
            threads: self.threads / count + u32::from(index < self.threads % count),
            ..self.clone()
        }
    }
}
