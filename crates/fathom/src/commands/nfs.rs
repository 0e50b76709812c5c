//! `fathom nfs`.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::value_parser;
use engine::probe::{self, MalformedLine, MountStats, System, parse_mountstats, read_mountstats};
use model::Nanos;
use model::network_mount::NetworkMount;
use report::network;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::screen;
use crate::session::Session;
use crate::user_file;

/// Why there is nothing to show for an SMB mount.
const SMB_HELP: &str = "fathom does not read the counters of SMB clients, because they do not divide the time of a \
    request between client, network and server; compare copies of /proc/fs/cifs/Stats from before and after a test";

const MOUNTS_HELP: &str = "`findmnt -t nfs,nfs4` lists NFS mounts";

/// Show what an NFS client does: calls, times, retransmissions
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  fathom nfs                          every NFS mount, second by \
        second\n  fathom nfs /mnt/data --interval 10s\n  cat /proc/self/mountstats > before.txt; ./my-test; cat \
        /proc/self/mountstats > after.txt\n  fathom nfs before.txt after.txt     changes between the two copies"
)]
pub struct Args {
    /// A path on the mount; or two saved copies of /proc/self/mountstats, the earlier one first
    #[arg(value_name = "MOUNT|FILE", num_args = 0..=2)]
    place: Vec<String>,
    /// Time between two readings
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: String,
    /// Stop after N intervals [default: at Ctrl-C]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print one JSON document per interval
    #[arg(long)]
    json: bool,
}

/// Prints the counters of NFS mounts.
///
/// # Errors
/// There is no such mount, or a file cannot be read.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    if let [before, after] = &args.place[..] {
        return compare_files(before, after, args.json);
    }
    let place = args.place.first().map(String::as_str);
    let interval = parse_interval(&args.interval)?;
    note_malformed(&read_mountstats(&System::live()), "/proc/self/mountstats");
    let mut before = read_mounts(place)?;
    engine::sys::signals::set_examining(false);
    let mut left = args.count;
    while left != Some(0) && !session.process.is_interrupted() {
        let start = Instant::now();
        while start.elapsed() < interval && !session.process.is_interrupted() {
            std::thread::sleep((interval - start.elapsed().min(interval)).min(Duration::from_millis(100)));
        }
        let after = read_mounts(place)?;
        let length = Nanos(start.elapsed().as_nanos() as u64);
        print_mounts(&subtract_readings(&before, &after, Some(length)), args.json)?;
        before = after;
        left = left.map(|left| left - 1);
    }
    Ok(Exit::Done)
}

fn parse_interval(text: &str) -> Result<Duration, Faults> {
    let why = match text.parse::<Nanos>() {
        Ok(length) if length >= Nanos::millis(100) => return Ok(Duration::from_nanos(length.0)),
        Ok(_) => "the interval must be at least 100 ms".to_owned(),
        Err(why) => why.to_string(),
    };
    Err(Faults::usage(Fault::new(why).at(format!("--interval {text}"))))
}

/// Lists the NFS mounts of this machine, or the one that holds a path.
fn read_mounts(place: Option<&str>) -> Result<Vec<NetworkMount>, Faults> {
    let mut mounts = read_mountstats(&System::live()).mounts;
    if let Some(place) = place {
        let path = std::fs::canonicalize(place)
            .map_err(|error| Faults::usage(Fault::new(format!("cannot find {place}: {error}"))))?;
        let nearest = mounts
            .iter()
            .filter(|mount| path.starts_with(Path::new(&mount.mount_point)));
        let nearest = nearest.max_by_key(|mount| mount.mount_point.len()).cloned();
        mounts = nearest.into_iter().collect();
    }
    if mounts.is_empty() {
        let message = match place {
            Some(place) => format!("{place} is not on an NFS mount"),
            None => "no NFS file system is mounted here".into(),
        };
        let file_system = place.and_then(|place| probe::file_system(&System::live(), Path::new(place)));
        let help = match file_system {
            Some(mounted) if matches!(&*mounted.kind, "cifs" | "smb3") => SMB_HELP.to_owned(),
            Some(_) => MOUNTS_HELP.to_owned(),
            None => format!("{MOUNTS_HELP}; {SMB_HELP}"),
        };
        return Err(Fault::new(message).into_usage(help));
    }
    Ok(mounts)
}

/// Prints the lines whose counters are left out because they cannot be read.
fn note_malformed(stats: &MountStats, file: &str) {
    for MalformedLine { line, key, mount_point } in &stats.malformed {
        screen::note(&format!(
            "{file}, line {line}: the counters of {key} ({mount_point}) cannot be read, so they are left out"
        ));
    }
}

/// Pairs the mounts of two readings by mount point; several mounts of one mount point pair in
/// order.
fn pair_readings<'a>(
    before: &'a [NetworkMount],
    after: &'a [NetworkMount],
) -> impl Iterator<Item = (Option<&'a NetworkMount>, &'a NetworkMount)> {
    let mut earlier: HashMap<&str, VecDeque<&NetworkMount>> = HashMap::new();
    for mount in before {
        earlier.entry(&mount.mount_point).or_default().push_back(mount);
    }
    after.iter().map(move |mount| {
        let earlier_mount = earlier.get_mut(&*mount.mount_point);
        (earlier_mount.and_then(VecDeque::pop_front), mount)
    })
}

/// Subtracts two readings of each mount; a remounted one has its counts since the mount.
fn subtract_readings(before: &[NetworkMount], after: &[NetworkMount], length: Option<Nanos>) -> Vec<NetworkMount> {
    let since = |(before, mount): (Option<&NetworkMount>, &NetworkMount)| {
        let difference = before.and_then(|before| mount.since(before));
        difference.map_or_else(
            || mount.clone(),
            |difference| NetworkMount {
                covers_ns: length.unwrap_or(difference.covers_ns),
                ..difference
            },
        )
    };
    pair_readings(before, after).map(since).collect()
}

/// Lists the mounts whose counters are lower than in the reading before.
fn list_reset_mounts<'a>(
    before: &'a [NetworkMount],
    after: &'a [NetworkMount],
) -> impl Iterator<Item = &'a NetworkMount> {
    let reset_mount = |(before, mount): (Option<&NetworkMount>, &'a NetworkMount)| {
        before
            .is_some_and(|before| mount.since(before).is_none())
            .then_some(mount)
    };
    pair_readings(before, after).filter_map(reset_mount)
}

fn compare_files(before: &str, after: &str, json: bool) -> Result<Exit, Faults> {
    let read = |path: &str| {
        let text = user_file::read_text(Path::new(path), user_file::MAX_TEXT);
        let text = text.map_err(|error| Faults::usage(Fault::for_file("read", Path::new(path), &error)))?;
        let stats = parse_mountstats(&text);
        note_malformed(&stats, path);
        match stats.mounts.is_empty() {
            true => Err(
                Fault::new(format!("{path} has no counters of an NFS mount")).into_usage(
                    "save a copy of /proc/self/mountstats on the NFS client; counters of SMB clients are not read",
                ),
            ),
            false => Ok(stats),
        }
    };
    let files = (before, after);
    let (before, mut after) = (read(before)?, read(after)?.mounts);
    // Without an earlier count, the later one would look like the difference.
    for MalformedLine { key, mount_point, .. } in &before.malformed {
        for mount in after.iter_mut().filter(|mount| mount.mount_point == *mount_point) {
            mount.operations.retain(|operation| operation.name != *key);
        }
    }
    let before = before.mounts;
    for mount in list_reset_mounts(&before, &after) {
        screen::note(&format!(
            "{}: the counters in {} are lower than in {}: it was mounted again in between, or the earlier copy is not \
             the first file; the output shows the counts since it was mounted",
            mount.mount_point, files.1, files.0
        ));
    }
    print_mounts(&subtract_readings(&before, &after, None), json)?;
    Ok(Exit::Done)
}

fn print_mounts(mounts: &[NetworkMount], json: bool) -> Result<(), Faults> {
    let mut out = Vec::new();
    if json {
        let _ = serde_json::to_writer(&mut out, mounts);
        out.push(b'\n');
    } else {
        for mount in mounts {
            let _ = network::write(mount, "", &mut out);
            let _ = writeln!(out);
        }
    }
    screen::put(&String::from_utf8_lossy(&out)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(source: &str, seconds: u64) -> NetworkMount {
        NetworkMount {
            source: source.into(),
            mount_point: "/mnt".into(),
            covers_ns: Nanos::secs(seconds),
            ..NetworkMount::default()
        }
    }

    #[test]
    fn mounts_of_one_mount_point_are_paired_in_their_order() {
        let before = [mount("a", 10), mount("b", 20)];
        let after = [mount("a", 15), mount("b", 27), mount("c", 1)];
        let lengths = subtract_readings(&before, &after, None);
        let lengths: Vec<u64> = lengths.iter().map(|mount| mount.covers_ns.0 / 1_000_000_000).collect();
        assert_eq!(lengths, [5, 7, 1]);
        assert_eq!(list_reset_mounts(&before, &after).count(), 0);
        assert_eq!(list_reset_mounts(&after, &before).count(), 2);
    }
}
