//! Reads saved results of fathom and reports of other tools.

use std::collections::BTreeMap;
use std::path::Path;

use analysis::caps::LimitLayer;
use analysis::compare;
use archive::Saved;
use dialects::import::{self, Form, Imported};
use model::finding::{Finding, Severity};
use model::observation::Observation;
use model::results::{IntervalHistogram, Results};
use model::study::Study;
use study::explain::Source;

use crate::exit::Exit;
use crate::fault::Faults;
use crate::history;
use crate::user_file;

/// Argument that means standard input.
pub const STDIN: &str = "-";
/// Maximum size of a report, in bytes.
pub const MAX_REPORT: u64 = 1 << 30;

/// The loads of a file, and facts about them.
#[derive(Debug)]
pub struct LoadedFile {
    /// Origin of the file.
    pub source: Source,
    /// Findings about the input.
    pub findings: Vec<Finding>,
    /// The measured loads.
    pub loads: Vec<Observation>,
    /// Limits that the test names.
    pub limits: Vec<LimitLayer>,
    /// Facts that the figures depend on, by name.
    pub fingerprint: BTreeMap<String, String>,
    /// Reason why these figures cannot prove a promise, if any.
    pub inadmissible: Option<String>,
    /// Interval histograms of each load, by its name.
    pub intervals: BTreeMap<String, Vec<IntervalHistogram>>,
}

/// Reads a file, or standard input for `-`.
pub fn read(file: &str) -> Result<LoadedFile, Faults> {
    let bytes = read_file_bytes(file)?;
    if archive::is_saved(&bytes) {
        let results = archive::load_bytes(&bytes, Path::new(&display_name(file)))?;
        return Ok(from_results(file, &results));
    }
    import_report(file, &bytes)
}

/// Reads a report of another tool; `None` for a saved result or study of fathom.
pub fn read_foreign(file: &str) -> Result<Option<LoadedFile>, Faults> {
    let bytes = read_file_bytes(file)?;
    match archive::is_saved(&bytes) {
        true => Ok(None),
        false => import_report(file, &bytes).map(Some),
    }
}

fn import_report(file: &str, bytes: &[u8]) -> Result<LoadedFile, Faults> {
    let shown = display_name(file);
    let decoded = import::decode(bytes);
    let mut imported = import::read(&shown, &decoded.text).map_err(unreadable_faults)?;
    if decoded.encoding != "UTF-8" {
        let message = format!("the text is encoded as {}", decoded.encoding);
        imported
            .findings
            .push(Finding::new("ENCODING", Severity::Note, message));
    }
    Ok(from_import(shown, imported))
}

pub fn load_results(file: &str) -> Result<Results, Faults> {
    let bytes = read_file_bytes(file)?;
    Ok(archive::load_bytes(&bytes, Path::new(&display_name(file)))?)
}

pub fn load_study(file: &str) -> Result<Study, Faults> {
    let bytes = read_file_bytes(file)?;
    Ok(archive::load_study_bytes(&bytes, Path::new(&display_name(file)))?)
}

pub fn load_saved(file: &str) -> Result<Saved, Faults> {
    let bytes = read_file_bytes(file)?;
    Ok(archive::load_any_bytes(&bytes, Path::new(&display_name(file)))?)
}

/// Reads a file, standard input for `-`, or a history entry for `history:12`.
fn read_file_bytes(file: &str) -> Result<Vec<u8>, Faults> {
    if history::is_entry(file) {
        return history::load_document(file);
    }
    let read = match file {
        STDIN => user_file::read_limited(std::io::stdin().lock(), MAX_REPORT),
        file => user_file::read_bytes(Path::new(file), MAX_REPORT),
    };
    read.map_err(|error| Faults::unreadable(Path::new(&display_name(file)), &error))
}

fn display_name(file: &str) -> String {
    if file == STDIN {
        "standard input".into()
    } else {
        file.to_owned()
    }
}

/// Reports invalid text as an unreadable input, not as a wrong command line.
fn unreadable_faults(problems: Vec<dialects::Diagnostic>) -> Faults {
    Faults::from(problems).with(Exit::Refused)
}

fn from_results(file: &str, results: &Results) -> LoadedFile {
    let host = results.hosts.first().map(|host| &host.environment);
    let mut fingerprint = BTreeMap::new();
    let mut put = |name: &str, value: String| {
        if !value.is_empty() {
            fingerprint.insert(name.to_owned(), value);
        }
    };
    put("tool", format!("{} {}", results.tool.name, results.tool.version));
    put(
        compare::INVALIDATING_FINDINGS,
        compare::format_invalidating_findings(&results.findings),
    );
    if let Some(host) = host {
        put("host", host.host.name.clone());
        put("kernel", host.host.kernel.clone());
        put("processor", host.cpu.model.clone());
        put("processors", host.cpu.logical.to_string());
        put("memory", host.memory.to_string());
        let devices = host.targets.iter().flat_map(|target| &target.devices);
        let models: Vec<String> = devices.filter_map(|device| device.model.clone()).collect();
        put("devices", models.join(", "));
    }
    LoadedFile {
        source: Source {
            file: display_name(file),
            form: "a saved result of fathom".into(),
            host: host.map(|host| host.host.name.clone()),
            started: results.hosts.first().map(|host| format_timestamp(host.started_unix_ns)),
            processors: host.map(|host| host.cpu.logical),
            commands: vec![results.plan.origin.arguments.join(" ")],
            origin: None,
            job_options: Vec::new(),
        },
        findings: results.findings.clone(),
        loads: Observation::all(results),
        limits: results.plan.limits.clone(),
        fingerprint,
        inadmissible: None,
        intervals: results
            .jobs()
            .map(|job| (job.name.clone(), job.histograms.clone()))
            .collect(),
    }
}

fn format_timestamp(unix_ns: u64) -> String {
    let seconds = i64::try_from(unix_ns / 1_000_000_000).unwrap_or(0);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| String::new(), |time| time.to_string())
}

fn from_import(file: String, imported: Imported) -> LoadedFile {
    let mut fingerprint = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            fingerprint.insert(name.to_owned(), value);
        }
    };
    let first = imported.loads.first();
    put(
        "tool",
        first.map(|load| {
            format!("{} {}", load.tool, load.version.as_deref().unwrap_or_default())
                .trim()
                .to_owned()
        }),
    );
    put("host", imported.host.clone());
    put("processors", imported.processors.map(|count| count.to_string()));
    let unread = imported.unread.iter().map(|problem| {
        let location = problem
            .at
            .as_ref()
            .map(|place| format!("{}:{}", place.file, place.line));
        let finding = Finding::new("REPORT-UNREAD", Severity::Warning, problem.what.clone()).why("the row is omitted");
        match location {
            Some(location) => finding.at(location),
            None => finding,
        }
    });
    let started_unix_ns = imported
        .started_unix_secs
        .map(|secs| secs.saturating_mul(1_000_000_000));
    let reason = "figures of CrystalDiskMark cannot prove an SLA: it cannot issue the promised load";
    LoadedFile {
        source: Source {
            file,
            form: imported.form.name().into(),
            host: imported.host,
            started: started_unix_ns.map(format_timestamp).or(imported.started),
            processors: imported.processors,
            commands: imported.commands,
            origin: imported.source,
            job_options: imported.job_options,
        },
        findings: unread.chain(imported.findings).collect(),
        loads: imported.loads,
        limits: Vec::new(),
        fingerprint,
        inadmissible: (imported.form == Form::CrystalDiskMark).then(|| reason.to_owned()),
        intervals: BTreeMap::new(),
    }
}
