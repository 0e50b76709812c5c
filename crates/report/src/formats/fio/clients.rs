//! Reports of jobs that other hosts ran (`--client`). Each host has a report of its own; the entry
//! `All clients` sums them if there is more than one.
//!
//! Hosts are listed in the order of the command line. Entries have no ETA, and the sum has no job
//! options, as in fio.

use std::io::{self, Write};

use model::results::Results;

use super::clock::End;
use super::disks::collect_disks;
use super::entries::{Entry, collect_entries, combine_clients};
use super::groups::groups;
use super::json::{Form, disk_object, options_to_object};
use super::markup::{Object, Value};
use super::settings::Settings;

/// Name of the entry for all hosts together.
const ALL: &str = "All clients";

/// The results of one host.
#[derive(Clone, Debug)]
pub struct Client {
    /// The host as named on the command line.
    pub hostname: String,
    /// TCP port; 0 if the connection used none.
    pub port: u16,
    /// The client's own host name.
    pub name: String,
    /// Results, with the plan of its jobs.
    pub results: Results,
}

fn sum_entry(clients: &[Client]) -> Option<Entry<'_>> {
    let results: Vec<&Results> = clients.iter().map(|client| &client.results).collect();
    let count: usize = results.iter().map(|results| collect_entries(results).len()).sum();
    combine_clients(ALL, &results).filter(|_| count > 1)
}

/// Writes the JSON report.
///
/// # Errors
/// `out` cannot be written to.
pub fn json(clients: &[Client], with_bins: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(last) = clients.iter().max_by_key(|client| end_time(client)) else {
        return Ok(());
    };
    let settings = Settings::from_plan(&last.results.plan);
    let end = End::from_results(&last.results, &settings);
    let mut document = Object::new();
    document.text("fio version", settings.version);
    document.integer("timestamp", end.unix_ms / 1000);
    document.text("time", end.text);
    document.put("global options", global_options(clients));
    let entries_of_clients: Vec<_> = clients.iter().map(|client| collect_entries(&client.results)).collect();
    let totals: Vec<_> = entries_of_clients.iter().map(|entries| groups(entries)).collect();
    let mut jobs = Vec::new();
    let mut each_disk = Vec::new();
    let all_disks: Vec<_> = clients
        .iter()
        .map(|client| collect_disks(&client.results, &Settings::from_plan(&client.results.plan)))
        .collect();
    for (place, client) in clients.iter().enumerate() {
        for entry in &entries_of_clients[place] {
            let group = totals[place].iter().find(|group| group.number == entry.group);
            let form = Form {
                entry,
                group,
                with_bins,
            };
            jobs.push(client_entry(form.job(None), client));
        }
        for disk in all_disks[place]
            .iter()
            .flat_map(|disk| std::iter::once(disk).chain(&disk.members))
        {
            each_disk.push(client_entry(disk_object(disk), client));
        }
    }
    let sum = sum_entry(clients);
    let sums = groups(sum.as_slice());
    if let (Some(entry), Some(client)) = (&sum, clients.last()) {
        let form = Form {
            entry,
            group: sums.first(),
            with_bins,
        };
        jobs.push(client_entry(form.job(None), client));
    }
    document.put("client_stats", Value::Array(jobs));
    document.put("disk_util", Value::Array(each_disk));
    document.write(out)
}

/// An object for a single host. For several hosts an array, with an object for each host that has
/// global options.
fn global_options(clients: &[Client]) -> Value<'_> {
    let entries = clients
        .iter()
        .map(|client| (client, &client.results.plan.origin.global_options));
    match clients {
        [alone] => Value::Object(options_to_object(&alone.results.plan.origin.global_options)),
        _ => {
            let with_options = entries.filter(|(_, global)| !global.is_empty());
            Value::Array(
                with_options
                    .map(|(client, global)| client_entry(options_to_object(global), client))
                    .collect(),
            )
        }
    }
}

fn client_entry<'a>(mut object: Object<'a>, client: &'a Client) -> Value<'a> {
    object.text("hostname", client.hostname.as_str());
    object.integer("port", client.port.into());
    Value::Object(object)
}

fn end_time(client: &Client) -> u64 {
    client
        .results
        .hosts
        .iter()
        .map(|host| host.ended_unix_ns)
        .max()
        .unwrap_or(0)
}

/// Writes the normal report, including the empty lines that separate it from earlier output.
///
/// # Errors
/// `out` cannot be written to.
pub fn normal(clients: &[Client], out: &mut dyn Write) -> io::Result<()> {
    for client in clients {
        write!(out, "<{}> ", client.name)?;
        super::normal::write(&client.results, out)?;
    }
    let (Some(entry), Some(last)) = (sum_entry(clients), clients.last()) else {
        return Ok(());
    };
    let mut settings = Settings::from_plan(&last.results.plan);
    // The sum belongs to no process.
    settings.pid = 0;
    let end = End::from_results(&last.results, &settings);
    let sums = groups(std::slice::from_ref(&entry));
    match entry.is_idle() {
        true => Ok(()),
        false => super::normal::write_entry(out, &entry, sums.first(), (&settings, &end)),
    }
}

/// Writes the terse report: the lines of each host.
///
/// # Errors
/// `out` cannot be written to.
pub fn terse(clients: &[Client], out: &mut dyn Write) -> io::Result<()> {
    clients.iter().try_for_each(|client| {
        let version = Settings::from_plan(&client.results.plan).terse_version;
        super::terse::write(&client.results, version, out)
    })
}
