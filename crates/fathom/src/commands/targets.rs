//! `fathom targets`.

use ::run::targets::guard::{Contents, Listing, ListingKind, WriteAccess, list};
use engine::probe::System;
use model::environment::FileSystem;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::fault::Faults;
use crate::screen;
use crate::session::Session;

/// List disks and file systems, and what may be tested
#[derive(clap::Args)]
pub struct Args {
    /// One JSON document for programs
    #[arg(long)]
    json: bool,
}

/// Lists the disks and file systems that can be tested.
pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let list = list(&System::live());
    if args.json {
        let value: Vec<Value> = list.iter().map(to_json).collect();
        return screen::put_json(&value);
    }
    let mut text = String::new();
    let (devices, file_systems): (Vec<&Listing>, Vec<&Listing>) = list
        .iter()
        .partition(|listing| matches!(listing.kind, ListingKind::Device(_)));
    text += "Disks and partitions\n";
    devices.iter().for_each(|device| text += &describe(device));
    if devices.is_empty() {
        text += "  none visible to this user\n";
    }
    text += "\nFile systems (fathom creates a file there and removes it)\n";
    file_systems
        .iter()
        .for_each(|file_system| text += &describe(file_system));
    screen::put(&text)
}

fn describe(listing: &Listing) -> String {
    let mut text = format!("  {}  {}, {}", listing.path, listing.size(), describe_kind(listing));
    if let (ListingKind::Device(_), [first, ..]) = (&listing.kind, &listing.mounted_at[..]) {
        text += &format!(", mounted at {first}");
        if listing.mounted_at.len() > 1 {
            text += &format!(" and {} more", listing.mounted_at.len() - 1);
        }
    }
    text += "\n";
    let (may, reasons) = describe_permissions(listing);
    text += &format!("      {may}\n");
    for reason in reasons {
        text += &format!("        {reason}\n");
    }
    text
}

fn describe_kind(listing: &Listing) -> String {
    match &listing.kind {
        ListingKind::Device(device) => {
            let mut words = vec![device.kind.clone()];
            words.extend(device.model.clone());
            words.extend(device.detail.clone());
            if device.rotational && device.kind == "disk" {
                words.push("rotational".into());
            }
            if let Contents::Known(contents) = &listing.contents {
                words.extend(contents.iter().map(|signature| format!("holds {signature}")));
            }
            words.retain(|word| !word.is_empty());
            words.join(", ")
        }
        ListingKind::FileSystem(file_system) => {
            let size_max = listing.max_file_size().unwrap_or_default();
            let FileSystem { kind, available, .. } = file_system;
            format!("{kind}, {available} available, test files of up to {size_max}")
        }
    }
}

/// Describes the permitted tests, and the reasons against the others.
fn describe_permissions(listing: &Listing) -> (String, Vec<String>) {
    let read = match &listing.read_error {
        None => "may be read".to_owned(),
        Some(why) => {
            let why = why.split(" (os error").next().unwrap_or(why);
            format!("cannot be read ({})", why.to_lowercase())
        }
    };
    match &listing.write {
        WriteAccess::Yes => (format!("{read} and written"), Vec::new()),
        WriteAccess::IfNamed(refusal) => (
            format!("{read}; writing needs --allow-destroy {}", listing.path),
            refusal.reasons.iter().map(ToString::to_string).collect(),
        ),
        WriteAccess::No(refusal) => (
            format!("{read}; writing is refused"),
            refusal.reasons.iter().map(ToString::to_string).collect(),
        ),
    }
}

fn to_json(listing: &Listing) -> Value {
    let (write, reasons, help) = match &listing.write {
        WriteAccess::Yes => ("yes", Vec::new(), None),
        WriteAccess::IfNamed(refusal) => ("if named", refusal.reasons.clone(), Some(refusal.help.clone())),
        WriteAccess::No(refusal) => ("no", refusal.reasons.clone(), Some(refusal.help.clone())),
    };
    let what = match &listing.kind {
        ListingKind::Device(device) => json!({ "device": device }),
        ListingKind::FileSystem(file_system) => json!({ "file_system": file_system }),
    };
    let contents = match &listing.contents {
        Contents::Known(known_contents) => known_contents.iter().map(ToString::to_string).collect(),
        Contents::Unknown { why } => vec![format!("unknown: {why}")],
    };
    let mut value = json!({
        "path": listing.path,
        "size": listing.size(),
        "mounted_at": listing.mounted_at,
        "max_file_size": listing.max_file_size(),
        "contents": contents,
        "read": listing.read_error.is_none(),
        "write": write,
        "why_not": reasons.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "help": help,
    });
    if let (Value::Object(value), Value::Object(what)) = (&mut value, what) {
        value.extend(what);
    }
    value
}
