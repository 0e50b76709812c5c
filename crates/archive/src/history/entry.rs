//! One entry: what a list shows of a result, and what a trend needs of it.

use std::path::{Path, PathBuf};

use analysis::compare::{self, Fact, Figure};
use model::JsonSchema;
use model::observation::Observation;
use model::plan::{AtEndOfJob, Origin, Phases, Plan};
use model::results::Results;
use model::study::Study;
use rusqlite::types::Type;
use rusqlite::{Connection, Row, ToSql, Transaction, params, params_from_iter};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::filter::Filter;

/// Which command made an entry.
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
    /// The round of `fathom precondition` that was judged last.
    Precondition,
    /// `fathom sweep`, with all its runs.
    Sweep,
    /// `fathom ab`, with all its runs.
    Ab,
    /// In the place of fio.
    Fio,
    /// In the place of DiskSpd.
    Diskspd,
    /// In the place of Iometer.
    Iometer,
    /// In the place of Vdbench.
    Vdbench,
}

impl EntryKind {
    /// All of them.
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

    /// The word of the command line.
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

    /// The kind of a name.
    pub fn named(name: &str) -> Option<EntryKind> {
        EntryKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What is kept whole.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// One run.
    Run(&'a Results),
    /// Several.
    Study(&'a Study),
}

/// Something to be added.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// The complete result.
    pub subject: Subject<'a>,
    /// Which command made it.
    pub kind: EntryKind,
    /// Its name, where it is not that of the plan or study.
    pub name: Option<&'a str>,
    /// What came of the promise or requirement it was held to.
    pub verdict: Option<&'a str>,
    /// The file in which it was saved as well.
    pub file: Option<&'a Path>,
}

/// An entry without the complete result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// Its number; 0 before it has one.
    pub id: u64,
    /// Which command made it.
    pub kind: EntryKind,
    /// Name of the test.
    pub name: String,
    /// What the user calls it.
    pub label: Option<String>,
    /// Name of the first host.
    pub host: String,
    /// Start of the first run.
    pub started_unix_ns: u64,
    /// End of the last.
    pub ended_unix_ns: u64,
    /// Version of the program that measured.
    pub version: String,
    /// How many runs it holds; more than one in a study only.
    pub runs: u64,
    /// It was cut short by the user or the system.
    pub interrupted: bool,
    /// What came of the promise or requirement it was held to.
    pub verdict: Option<String>,
    /// A digest of what a run was to do, without how it was asked for; absent for studies.
    pub plan: Option<String>,
    /// The same without times, seeds and names: runs of one test have the same, and make a trend.
    pub test: Option<String>,
    /// The file in which it was saved as well, at that time.
    pub file: Option<PathBuf>,
    /// Paths of the targets.
    pub targets: Vec<String>,
    /// The devices below them.
    pub devices: Vec<EntryDevice>,
    /// Every job that measured something; of studies those of all runs.
    pub jobs: Vec<EntryJob>,
}

/// A device below a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EntryDevice {
    /// The kernel's name.
    pub name: String,
    /// Its model, where it tells one.
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
    /// Mean latency; of paced jobs the response time, as everywhere here.
    pub mean_ns: Option<f64>,
    /// Median latency.
    pub p50_ns: Option<f64>,
    /// 99th percentile; absent where fewer than ten operations lie beyond it.
    pub p99_ns: Option<f64>,
    /// What was so when it was measured, as comparisons have it; none for studies.
    #[serde(skip)]
    pub facts: Vec<Fact>,
}

/// Version of the form of a list.
const LIST_VERSION: u32 = 1;

/// A list of entries, for programs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HistoryList {
    /// Version of this form.
    pub format_version: u32,
    /// Always `history`.
    #[schemars(extend("const" = "history"))]
    pub kind: String,
    /// The entries, the latest first.
    pub entries: Vec<Entry>,
}

impl HistoryList {
    /// These entries.
    pub fn from_entries(entries: Vec<Entry>) -> HistoryList {
        HistoryList {
            format_version: LIST_VERSION,
            kind: "history".into(),
            entries,
        }
    }
}

impl Entry {
    /// What a result comes to.
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
            plan: plan.map(digest_of_plan),
            test: plan.map(digest_of_test),
            file: recording.file.map(Path::to_owned),
            targets: different(
                runs.iter()
                    .flat_map(|run| &run.plan.targets)
                    .map(|target| target.path.clone()),
            ),
            devices: different(
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
                Subject::Run(results) => jobs(results, None, true),
                Subject::Study(study) => study
                    .runs
                    .iter()
                    .flat_map(|run| {
                        let settings = run
                            .settings
                            .iter()
                            .map(|setting| format!("{}={}", setting.name, setting.value));
                        jobs(&run.results, Some(settings.collect::<Vec<_>>().join(", ")), false)
                    })
                    .collect(),
            },
        }
    }

    /// Puts it and what belongs to it into the tables, and returns its number.
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

/// Each once, in their order.
fn different<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for one in all {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

fn jobs(results: &Results, name: Option<String>, with_facts: bool) -> Vec<EntryJob> {
    let places = results.steps.iter().enumerate();
    let places = places.flat_map(|(step, found)| (0..found.jobs.len()).map(move |job| (step, job)));
    places
        .filter_map(|(step, job)| {
            let seen = Observation::from_results(results, step, job)?;
            let facts = with_facts
                .then(|| compare::facts_of_results(results, step, job))
                .flatten();
            Some(EntryJob {
                name: name.clone().unwrap_or_else(|| seen.name.clone()),
                iops: Figure::Iops.value_in(&seen),
                bytes_per_sec: seen.total.bytes_per_sec,
                mean_ns: Figure::Mean.value_in(&seen),
                p50_ns: Figure::Quantile(0.5).value_in(&seen),
                p99_ns: Figure::Quantile(0.99).value_in(&seen),
                facts: facts.unwrap_or_default(),
            })
        })
        .collect()
}

/// The same plan has the same digest: half a SHA-256 of its JSON form, without what the user wrote
/// to ask for it.
pub(super) fn digest_of_plan(plan: &Plan) -> String {
    let plan = Plan {
        origin: Origin::default(),
        ..plan.clone()
    };
    digest(&serde_json::to_vec(&plan).expect("a plan is plain data"))
}

/// The digest of a plan without names, times, seed, and what is only kept of it or shown.
pub(super) fn digest_of_test(plan: &Plan) -> String {
    let mut plan = Plan {
        name: String::new(),
        groups: Vec::new(),
        grids: Vec::new(),
        ..plan.clone()
    };
    for target in &mut plan.targets {
        target.at_end = AtEndOfJob::default();
    }
    for job in plan.steps.iter_mut().flat_map(|step| &mut step.jobs) {
        (job.name, job.description, job.operation_log) = Default::default();
        job.phases = Phases::default();
        job.stop.after_ns = None;
        job.windows.clear();
    }
    plan.origin = Origin::default();
    let mut value = serde_json::to_value(&plan).expect("a plan is plain data");
    without_seeds(&mut value);
    digest(value.to_string().as_bytes())
}

/// Every worker has a seed of its own, made of that of the plan.
fn without_seeds(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("seed");
            fields.values_mut().for_each(without_seeds);
        }
        Value::Array(values) => values.iter_mut().for_each(without_seeds),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn digest(bytes: &[u8]) -> String {
    let whole = Sha256::digest(bytes);
    whole[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The entries that a filter lets through, the latest first.
pub(super) fn read(connection: &Connection, filter: &Filter) -> rusqlite::Result<Vec<Entry>> {
    let condition = filter.condition();
    let limit = filter.limit.map_or(-1, |limit| limit as i64);
    let mut select = connection.prepare(&format!(
        "SELECT id, kind, name, label, host, started_unix_ns, ended_unix_ns, version, runs, interrupted, verdict, plan, test, file
         FROM entry WHERE {} ORDER BY id DESC LIMIT {limit}",
        condition.sql
    ))?;
    let values: Vec<&dyn ToSql> = condition.values.iter().map(AsRef::as_ref).collect();
    let found = select.query_map(params_from_iter(values), entry)?;
    let mut found = found.collect::<rusqlite::Result<Vec<Entry>>>()?;
    let mut targets = connection.prepare("SELECT path FROM target WHERE entry = ?1 ORDER BY rowid")?;
    let mut devices = connection.prepare("SELECT name, model, size FROM device WHERE entry = ?1 ORDER BY rowid")?;
    let mut jobs = connection.prepare(
        "SELECT name, iops, bytes_per_sec, mean_ns, p50_ns, p99_ns, facts FROM job WHERE entry = ?1 ORDER BY number",
    )?;
    for entry in &mut found {
        let id = entry.id.cast_signed();
        entry.targets = targets
            .query_map([id], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        entry.devices = devices.query_map([id], device)?.collect::<rusqlite::Result<_>>()?;
        entry.jobs = jobs.query_map([id], job)?.collect::<rusqlite::Result<_>>()?;
    }
    Ok(found)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let number = |index: usize| row.get::<_, i64>(index).map(i64::cast_unsigned);
    let kind: String = row.get(1)?;
    let unknown =
        || rusqlite::Error::FromSqlConversionFailure(1, Type::Text, format!("no kind is called {kind}").into());
    Ok(Entry {
        id: number(0)?,
        kind: EntryKind::named(&kind).ok_or_else(unknown)?,
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

fn device(row: &Row<'_>) -> rusqlite::Result<EntryDevice> {
    Ok(EntryDevice {
        name: row.get(0)?,
        model: row.get(1)?,
        size: row.get::<_, i64>(2)?.cast_unsigned(),
    })
}

fn job(row: &Row<'_>) -> rusqlite::Result<EntryJob> {
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
