//! One entry: the facts and figures of a result for lists and trends.

use std::path::{Path, PathBuf};

use analysis::compare::{self, Fact, Figure};
use json::Json;
use model::JsonSchema;
use model::observation::Observation;
use model::plan::{Origin, Phases, Plan, TargetCleanup, lasting_path};
use model::results::Results;
use model::study::Study;
use rusqlite::types::Type;
use rusqlite::{Connection, Row, ToSql, Transaction, params, params_from_iter};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::filter::Filter;

/// The command that created an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// `fathom run`.
    Run,
    /// `fathom quick`.
    Quick,
    /// `fathom verify`.
    Verify,
    /// One workload of `fathom suite`.
    Suite,
    /// The last judged round of `fathom precondition`.
    Precondition,
    /// `fathom sweep`, with all its runs.
    Sweep,
    /// `fathom ab`, with all its runs.
    Ab,
    /// Run in place of fio.
    Fio,
    /// Run in place of DiskSpd.
    Diskspd,
    /// Run in place of Iometer.
    Iometer,
    /// Run in place of Vdbench.
    Vdbench,
}

impl EntryKind {
    /// All kinds.
    pub const ALL: [EntryKind; 11] = [
        EntryKind::Run,
        EntryKind::Quick,
        EntryKind::Verify,
        EntryKind::Suite,
        EntryKind::Precondition,
        EntryKind::Sweep,
        EntryKind::Ab,
        EntryKind::Fio,
        EntryKind::Diskspd,
        EntryKind::Iometer,
        EntryKind::Vdbench,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            EntryKind::Run => "run",
            EntryKind::Quick => "quick",
            EntryKind::Verify => "verify",
            EntryKind::Suite => "suite",
            EntryKind::Precondition => "precondition",
            EntryKind::Sweep => "sweep",
            EntryKind::Ab => "ab",
            EntryKind::Fio => "fio",
            EntryKind::Diskspd => "diskspd",
            EntryKind::Iometer => "iometer",
            EntryKind::Vdbench => "vdbench",
        }
    }

    /// Finds a kind by name.
    pub fn from_name(name: &str) -> Option<EntryKind> {
        EntryKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The complete result of an entry.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// One run.
    Run(&'a Results),
    /// Several runs.
    Study(&'a Study),
}

/// A result to add to the history.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// The complete result.
    pub subject: Subject<'a>,
    /// The command that created it.
    pub kind: EntryKind,
    /// Name, unless the plan or study has the same name.
    pub name: Option<&'a str>,
    /// The outcome of the promise or requirement.
    pub verdict: Option<&'a str>,
    /// The file in which it was also saved.
    pub file: Option<&'a Path>,
}

/// An entry without the complete result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// Its number; 0 before it is inserted.
    pub id: u64,
    /// The command that created it.
    pub kind: EntryKind,
    /// Name of the test.
    pub name: String,
    /// The user's label.
    pub label: Option<String>,
    /// Name of the first host.
    pub host: String,
    /// Start of the first run.
    pub started_unix_ns: u64,
    /// End of the last run.
    pub ended_unix_ns: u64,
    /// Version of the program that measured.
    pub version: String,
    /// Number of runs; more than one only in a study.
    pub runs: u64,
    /// It was cut short by the user or the system.
    pub interrupted: bool,
    /// The outcome of the promise or requirement.
    pub verdict: Option<String>,
    /// Digest of the plan without its origin; absent for studies.
    pub plan: Option<String>,
    /// Digest of the plan without times, seeds and names. Runs with the same digest form a trend.
    pub test: Option<String>,
    /// The file in which it was also saved.
    pub file: Option<PathBuf>,
    /// Paths of the targets.
    pub targets: Vec<String>,
    /// The devices below them.
    pub devices: Vec<EntryDevice>,
    /// All jobs with results; for studies those of all runs.
    pub jobs: Vec<EntryJob>,
}

/// A device below a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EntryDevice {
    /// The kernel's name.
    pub name: String,
    /// Its model, if known.
    pub model: Option<String>,
    /// Its size in bytes.
    pub size: u64,
}

/// The figures of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct EntryJob {
    /// Its name; in a sweep the settings of the run.
    pub name: String,
    /// Operations per second.
    pub iops: Option<f64>,
    /// Bytes per second.
    pub bytes_per_sec: Option<f64>,
    /// Mean latency; for paced jobs the response time, as in all latencies here.
    pub mean_ns: Option<f64>,
    /// Median latency.
    pub p50_ns: Option<f64>,
    /// 99th percentile; absent if fewer than ten operations are beyond it.
    pub p99_ns: Option<f64>,
    /// Facts about the measurement, for comparisons; empty for studies.
    #[serde(skip)]
    pub facts: Vec<Fact>,
}

/// Format version of a list.
const LIST_VERSION: u32 = 1;

/// A list of entries, for programs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HistoryList {
    /// Version of this format.
    pub format_version: u32,
    /// Always `history`.
    #[schemars(extend("const" = "history"))]
    pub kind: String,
    /// The entries, the latest first.
    pub entries: Vec<Entry>,
}

impl HistoryList {
    /// A list of these entries.
    pub fn from_entries(entries: Vec<Entry>) -> HistoryList {
        HistoryList {
            format_version: LIST_VERSION,
            kind: "history".into(),
            entries,
        }
    }
}

impl Entry {
    /// Extracts the entry from a result.
    pub(super) fn from_recording(recording: &Recording<'_>) -> Entry {
        let runs: Vec<&Results> = match recording.subject {
            Subject::Run(results) => vec![results],
            Subject::Study(study) => study.runs.iter().map(|run| &run.results).collect(),
        };
        let hosts = || runs.iter().filter_map(|run| run.hosts.first());
        let (name, interrupted, version, plan) = match recording.subject {
            Subject::Run(one) => (&one.plan.name, one.interrupted, &one.tool.version, Some(&one.plan)),
            Subject::Study(study) => (&study.name, study.interrupted, &study.tool.version, None),
        };
        Entry {
            id: 0,
            kind: recording.kind,
            name: recording.name.map_or_else(|| name.clone(), str::to_owned),
            label: None,
            host: hosts()
                .next()
                .map_or_else(String::new, |host| host.environment.host.name.clone()),
            started_unix_ns: hosts().map(|host| host.started_unix_ns).min().unwrap_or(0),
            ended_unix_ns: hosts().map(|host| host.ended_unix_ns).max().unwrap_or(0),
            version: version.clone(),
            runs: runs.len() as u64,
            interrupted,
            verdict: recording.verdict.map(str::to_owned),
            plan: plan.map(plan_digest),
            test: plan.map(test_digest),
            file: recording.file.map(Path::to_owned),
            targets: without_duplicates(
                runs.iter()
                    .flat_map(|run| &run.plan.targets)
                    .map(|target| lasting_path(&target.path).to_owned()),
            ),
            devices: without_duplicates(
                hosts()
                    .flat_map(|host| &host.environment.targets)
                    .flat_map(|target| &target.devices)
                    .map(|device| EntryDevice {
                        name: device.name.clone(),
                        model: device.model.clone(),
                        size: device.size.0,
                    }),
            ),
            jobs: match recording.subject {
                Subject::Run(results) => entry_jobs(results, None, true),
                Subject::Study(study) => study
                    .runs
                    .iter()
                    .flat_map(|run| {
                        let settings = run
                            .settings
                            .iter()
                            .map(|setting| format!("{}={}", setting.name, setting.value));
                        entry_jobs(&run.results, Some(settings.collect::<Vec<_>>().join(", ")), false)
                    })
                    .collect(),
            },
        }
    }

    /// Inserts the entry into all tables and returns its number.
    pub(super) fn insert(&self, transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
        let file = self.file.as_ref().map(|file| file.to_string_lossy().into_owned());
        transaction.execute(
            "INSERT INTO entry (kind, name, label, host, started_unix_ns, ended_unix_ns, version, runs, interrupted, verdict, plan, test, file)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                self.kind.name(),
                self.name,
                self.label,
                self.host,
                self.started_unix_ns.cast_signed(),
                self.ended_unix_ns.cast_signed(),
                self.version,
                self.runs.cast_signed(),
                self.interrupted,
                self.verdict,
                self.plan,
                self.test,
                file,
            ],
        )?;
        let id = transaction.last_insert_rowid();
        for path in &self.targets {
            transaction.execute("INSERT INTO target (entry, path) VALUES (?1, ?2)", params![id, path])?;
        }
        for device in &self.devices {
            transaction.execute(
                "INSERT INTO device (entry, name, model, size) VALUES (?1, ?2, ?3, ?4)",
                params![id, device.name, device.model, device.size.cast_signed()],
            )?;
        }
        for (number, job) in self.jobs.iter().enumerate() {
            let facts = serde_json::to_string(&job.facts).expect("facts are plain values");
            transaction.execute(
                "INSERT INTO job (entry, number, name, iops, bytes_per_sec, mean_ns, p50_ns, p99_ns, facts)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    id, number as i64, job.name, job.iops, job.bytes_per_sec, job.mean_ns, job.p50_ns, job.p99_ns,
                    facts
                ],
            )?;
        }
        Ok(id)
    }
}

/// Removes duplicates and preserves the order.
fn without_duplicates<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique: Vec<T> = Vec::new();
    for item in items {
        if !unique.contains(&item) {
            unique.push(item);
        }
    }
    unique
}

fn entry_jobs(results: &Results, name: Option<String>, with_facts: bool) -> Vec<EntryJob> {
    let jobs = results.steps.iter().enumerate();
    let jobs = jobs.flat_map(|(step, found)| (0..found.jobs.len()).map(move |job| (step, job)));
    jobs.filter_map(|(step, job)| {
        let observation = Observation::from_results(results, step, job)?;
        let facts = with_facts
            .then(|| compare::facts_of_results(results, step, job))
            .flatten();
        Some(EntryJob {
            name: name.clone().unwrap_or_else(|| observation.name.clone()),
            iops: Figure::Iops.value_in(&observation),
            bytes_per_sec: observation.total.bytes_per_sec,
            mean_ns: Figure::Mean.value_in(&observation),
            p50_ns: Figure::Quantile(0.5).value_in(&observation),
            p99_ns: Figure::Quantile(0.99).value_in(&observation),
            facts: facts.unwrap_or_default(),
        })
    })
    .collect()
}

/// Digest of a plan without its origin: half a SHA-256 of its JSON form.
pub(super) fn plan_digest(plan: &Plan) -> String {
    let plan = Plan {
        origin: Origin::default(),
        ..plan.clone()
    };
    digest(plan.to_json().expect("a plan is plain data").get().as_bytes())
}

/// Digest of a plan without names, times, seeds, and settings that only affect logs and display.
pub(super) fn test_digest(plan: &Plan) -> String {
    let mut plan = Plan {
        name: String::new(),
        groups: Vec::new(),
        grids: Vec::new(),
        ..plan.clone()
    };
    for target in &mut plan.targets {
        target.at_end = TargetCleanup::default();
        target.path = lasting_path(&target.path).to_owned();
    }
    for job in plan.steps.iter_mut().flat_map(|step| &mut step.jobs) {
        (job.name, job.description, job.operation_log) = Default::default();
        job.phases = Phases::default();
        job.stop.after_ns = None;
        job.windows.clear();
    }
    plan.origin = Origin::default();
    let mut value = serde_json::to_value(&plan).expect("a plan is plain data");
    remove_seeds(&mut value);
    digest(value.to_string().as_bytes())
}

/// Removes the seeds of the plan and of all workers.
fn remove_seeds(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("seed");
            fields.values_mut().for_each(remove_seeds);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_seeds),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the entries that match a filter, the latest first.
pub(super) fn read(connection: &Connection, filter: &Filter) -> rusqlite::Result<Vec<Entry>> {
    let condition = filter.to_condition();
    let limit = filter.limit.map_or(-1, |limit| limit as i64);
    let mut select = connection.prepare(&format!(
        "SELECT id, kind, name, label, host, started_unix_ns, ended_unix_ns, version, runs, interrupted, verdict, plan, test, file
         FROM entry WHERE {} ORDER BY id DESC LIMIT {limit}",
        condition.sql
    ))?;
    let values: Vec<&dyn ToSql> = condition.values.iter().map(AsRef::as_ref).collect();
    let rows = select.query_map(params_from_iter(values), entry_from_row)?;
    let mut entries = rows.collect::<rusqlite::Result<Vec<Entry>>>()?;
    let mut targets = connection.prepare("SELECT path FROM target WHERE entry = ?1 ORDER BY rowid")?;
    let mut devices = connection.prepare("SELECT name, model, size FROM device WHERE entry = ?1 ORDER BY rowid")?;
    let mut jobs = connection.prepare(
        "SELECT name, iops, bytes_per_sec, mean_ns, p50_ns, p99_ns, facts FROM job WHERE entry = ?1 ORDER BY number",
    )?;
    for entry in &mut entries {
        let id = entry.id.cast_signed();
        entry.targets = targets
            .query_map([id], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        entry.devices = devices
            .query_map([id], device_from_row)?
            .collect::<rusqlite::Result<_>>()?;
        entry.jobs = jobs.query_map([id], job_from_row)?.collect::<rusqlite::Result<_>>()?;
    }
    Ok(entries)
}

fn entry_from_row(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let number = |index: usize| row.get::<_, i64>(index).map(i64::cast_unsigned);
    let kind: String = row.get(1)?;
    let unknown =
        || rusqlite::Error::FromSqlConversionFailure(1, Type::Text, format!("there is no kind {kind}").into());
    Ok(Entry {
        id: number(0)?,
        kind: EntryKind::from_name(&kind).ok_or_else(unknown)?,
        name: row.get(2)?,
        label: row.get(3)?,
        host: row.get(4)?,
        started_unix_ns: number(5)?,
        ended_unix_ns: number(6)?,
        version: row.get(7)?,
        runs: number(8)?,
        interrupted: row.get(9)?,
        verdict: row.get(10)?,
        plan: row.get(11)?,
        test: row.get(12)?,
        file: row.get::<_, Option<String>>(13)?.map(PathBuf::from),
        targets: Vec::new(),
        devices: Vec::new(),
        jobs: Vec::new(),
    })
}

fn device_from_row(row: &Row<'_>) -> rusqlite::Result<EntryDevice> {
    Ok(EntryDevice {
        name: row.get(0)?,
        model: row.get(1)?,
        size: row.get::<_, i64>(2)?.cast_unsigned(),
    })
}

fn job_from_row(row: &Row<'_>) -> rusqlite::Result<EntryJob> {
    let facts: String = row.get(6)?;
    let facts = serde_json::from_str(&facts);
    Ok(EntryJob {
        name: row.get(0)?,
        iops: row.get(1)?,
        bytes_per_sec: row.get(2)?,
        mean_ns: row.get(3)?,
        p50_ns: row.get(4)?,
        p99_ns: row.get(5)?,
        facts: facts.map_err(|error| rusqlite::Error::FromSqlConversionFailure(6, Type::Text, error.into()))?,
    })
}
