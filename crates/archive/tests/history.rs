//! Entries of a history are found again, and faults of its file are reported without damage.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use archive::history::{
    Entry, EntryKind, Filter, HISTORY_VERSION, History, HistoryError, Recording, Retention, Subject,
};
use archive::{Saved, load, save};
use flate2::Compression;
use flate2::read::GzEncoder;
use model::finding::{Finding, Severity};
use model::results::Results;
use rusqlite::Connection;

fn example(name: &str) -> Results {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/results");
    load(&examples.join(name)).unwrap()
}

struct TestHistory {
    folder: tempfile::TempDir,
}

impl TestHistory {
    fn new() -> TestHistory {
        TestHistory {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("new folder/sub/history.sqlite")
    }

    fn open(&self) -> History {
        History::open(&self.file()).unwrap()
    }

    /// The file, as another program opens it.
    fn connect(&self) -> Connection {
        Connection::open(self.file()).unwrap()
    }
}

fn add(history: &mut History, results: &Results) -> u64 {
    history.add(&recording(results)).unwrap()
}

fn recording(results: &Results) -> Recording<'_> {
    Recording {
        subject: Subject::Run(results),
        kind: EntryKind::Run,
        name: None,
        verdict: None,
        file: None,
    }
}

fn ids(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.id).collect()
}

#[test]
fn an_entry_has_the_listed_facts_and_the_exact_result() {
    let (place, mixed) = (TestHistory::new(), example("mixed.json"));
    let mut history = place.open();
    let saved = place.folder.path().join("mixed.fathom");
    save(&mixed, &saved).unwrap();
    let judged = Recording {
        verdict: Some("PASS"),
        file: Some(&saved),
        kind: EntryKind::Verify,
        ..recording(&mixed)
    };
    let id = history.add(&judged).unwrap();
    assert_eq!((id, history.last().unwrap()), (1, Some(1)));
    let entry = history.get(id).unwrap();
    assert_eq!(entry.kind, EntryKind::Verify);
    assert_eq!(entry.name, mixed.plan.name);
    assert_eq!(entry.verdict.as_deref(), Some("PASS"));
    assert_eq!(entry.file.as_deref(), Some(&*saved));
    assert_eq!(entry.started_unix_ns, mixed.hosts[0].started_unix_ns);
    let [job] = &entry.jobs[..] else { panic!("{entry:#?}") };
    let whole = mixed.steps[0].jobs[0].total();
    let seconds = mixed.steps[0].jobs[0].measured().as_secs();
    assert!((job.iops.unwrap() - whole.operations as f64 / seconds).abs() < 1e-6);
    assert!((job.bytes_per_sec.unwrap() - whole.bytes.0 as f64 / seconds).abs() < 1e-3);
    assert_eq!(job.p50_ns, Some(whole.latency().quantile(0.5) as f64));
    assert!(job.facts.iter().any(|fact| fact.name == "kernel"));
    assert_eq!(history.read_document(id).unwrap(), fs::read(&saved).unwrap());
    assert_eq!(history.read_saved(id).unwrap(), Saved::Run(Box::new(mixed)));
}

/// Saved files above a megabyte are compressed, so exported results are too.
#[test]
fn a_large_result_is_exported_like_a_saved_file() {
    let (place, mut large) = (TestHistory::new(), example("mixed.json"));
    let long = Finding::new("LONG", Severity::Note, "a sentence of some length ".repeat(50));
    large.findings = vec![long; 1000];
    let saved = place.folder.path().join("large.fathom");
    save(&large, &saved).unwrap();
    let mut history = place.open();
    let id = add(&mut history, &large);
    let bytes = history.read_document(id).unwrap();
    assert_eq!(bytes[..2], [0x1f, 0x8b], "the magic number of gzip");
    assert!(bytes == fs::read(&saved).unwrap());
}

/// The command line and the process ID change neither digest. Times and seeds change the digest of
/// the plan, but not the digest of the test.
#[test]
fn runs_of_the_same_test_have_the_same_digest() {
    let (place, mixed) = (TestHistory::new(), example("mixed.json"));
    let mut history = place.open();
    let mut add_changed = |change: &dyn Fn(&mut Results)| {
        let mut results = mixed.clone();
        change(&mut results);
        let entry = add(&mut history, &results);
        let entry = history.get(entry).unwrap();
        (entry.plan.unwrap(), entry.test.unwrap())
    };
    let (plan, test) = add_changed(&|_| {});
    let other_process = add_changed(&|results| results.plan.origin.presentation.other.push(("pid".into(), "7".into())));
    assert_eq!(other_process, (plan.clone(), test.clone()));
    let seed = add_changed(&|results| {
        results.plan.seed += 1;
        results.plan.steps[0].jobs[0].workers[0].draws = model::draws::GeneratorChoice::Native { seed: 77 };
    });
    let longer = add_changed(&|results| results.plan.steps[0].jobs[0].stop.after_ns = Some(model::Nanos::secs(77)));
    assert!(seed.0 != plan && longer.0 != plan && seed.1 == test && longer.1 == test);
    let deeper = add_changed(&|results| results.plan.steps[0].jobs[0].workers[0].streams[0].depth += 1);
    let elsewhere = add_changed(&|results| results.plan.targets[0].path.push('2'));
    assert!(deeper.1 != test && elsewhere.1 != test && deeper.1 != elsewhere.1);
    // A study creates a file of another name each time.
    let in_folder = |name: &'static str| move |results: &mut Results| results.plan.targets[0].path = name.into();
    let study = add_changed(&in_folder("/data/fathom-3766-379532527-0.dat"));
    let folder = add_changed(&in_folder("/data"));
    assert!(study.1 == folder.1 && study.1 != test);
    let of_test = Filter {
        test: Some(test),
        ..Filter::default()
    };
    assert_eq!(ids(&history.list(&of_test).unwrap()), [4, 3, 2, 1]);
    assert_eq!(history.get(7).unwrap().targets[0], "/data");
}

/// The tables and rows of a file of the first format version.
const FIRST_FORMAT: &str = "
    PRAGMA application_id = 1718904941;
    CREATE TABLE entry (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, name TEXT NOT NULL, label TEXT, host TEXT NOT NULL,
        started_unix_ns INTEGER NOT NULL, ended_unix_ns INTEGER NOT NULL, version TEXT NOT NULL, runs INTEGER NOT NULL,
        interrupted INTEGER NOT NULL, verdict TEXT, plan TEXT, file TEXT) STRICT;
    CREATE INDEX entry_started ON entry (started_unix_ns);
    CREATE TABLE target (entry INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE, path TEXT NOT NULL) STRICT;
    CREATE INDEX target_entry ON target (entry);
    CREATE TABLE device (entry INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE, name TEXT NOT NULL, model TEXT, size INTEGER NOT NULL) STRICT;
    CREATE INDEX device_entry ON device (entry);
    CREATE TABLE job (entry INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE, number INTEGER NOT NULL, name TEXT NOT NULL, iops REAL,
        bytes_per_sec REAL, mean_ns REAL, p50_ns REAL, p99_ns REAL, facts TEXT NOT NULL, PRIMARY KEY (entry, number)) STRICT;
    CREATE TABLE document (entry INTEGER PRIMARY KEY REFERENCES entry ON DELETE CASCADE, bytes BLOB NOT NULL) STRICT;
    INSERT INTO entry VALUES (3, 'run', 'old', 'kept', 'h', 5, 6, '0.1.0', 1, 0, NULL, 'x', NULL);
    INSERT INTO entry VALUES (4, 'run', 'unreadable', NULL, 'h', 7, 8, '0.1.0', 1, 0, NULL, 'y', NULL);
    INSERT INTO target VALUES (3, '/data');
    INSERT INTO job VALUES (3, 0, 'reads', 100.5, NULL, NULL, NULL, 9.0, '[{\"kind\":\"place\",\"name\":\"kernel\",\"value\":\"6.1\"}]');
    PRAGMA user_version = 1;";

#[test]
fn a_file_of_the_first_format_is_migrated_without_loss() {
    let (place, mixed) = (TestHistory::new(), example("mixed.json"));
    fs::create_dir_all(place.file().parent().unwrap()).unwrap();
    let old = place.connect();
    old.execute_batch(FIRST_FORMAT).unwrap();
    let text = serde_json::to_vec(&mixed).unwrap();
    let mut packed = Vec::new();
    let mut encoder = GzEncoder::new(&*text, Compression::fast());
    encoder.read_to_end(&mut packed).unwrap();
    for (id, bytes) in [(3, packed), (4, b"no result".to_vec())] {
        old.execute("INSERT INTO document VALUES (?1, ?2)", (id, bytes))
            .unwrap();
    }
    drop(old);
    let mut history = place.open();
    let now = add(&mut history, &mixed);
    assert_eq!(now, 5);
    let (old, new) = (history.get(3).unwrap(), history.get(now).unwrap());
    assert_eq!((&*old.name, old.label.as_deref()), ("old", Some("kept")));
    assert_eq!(old.jobs[0].iops, Some(100.5));
    assert_eq!(old.jobs[0].facts[0].value, "6.1");
    assert!(old.test.is_some() && (old.test, old.plan) == (new.test, new.plan));
    assert_eq!(history.read_saved(3).unwrap(), Saved::Run(Box::new(mixed)));
    assert_eq!(history.get(4).unwrap().test, None);
    let version = place
        .connect()
        .pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    assert_eq!(version.unwrap(), HISTORY_VERSION);
}

#[test]
fn every_condition_narrows_the_list() {
    let place = TestHistory::new();
    let mut history = place.open();
    let (mixed, mut steps) = (example("mixed.json"), example("steps.json"));
    steps.plan.targets[0].path = "/dev/NVMe3n1".into();
    let environment = &mut steps.hosts[0].environment;
    environment.host.name = "other".into();
    environment.targets = vec![model::environment::TargetFacts {
        devices: vec![model::environment::Device {
            name: "nvme3n1".into(),
            model: Some("Acme P5 100%".into()),
            ..Default::default()
        }],
        ..Default::default()
    }];
    steps.hosts[0].started_unix_ns = mixed.hosts[0].started_unix_ns + 10;
    add(&mut history, &mixed);
    let quick = Recording {
        kind: EntryKind::Quick,
        verdict: Some("FAIL"),
        ..recording(&steps)
    };
    history.add(&quick).unwrap();
    add(&mut history, &mixed);
    history.set_label(1, "Before the Update").unwrap();
    let check = |narrow: &dyn Fn(&mut Filter), expected: &[u64]| {
        let mut filter = Filter::default();
        narrow(&mut filter);
        assert_eq!(ids(&history.list(&filter).unwrap()), expected, "{filter:?}");
    };
    let some = |text: &str| Some(text.to_owned());
    let start = mixed.hosts[0].started_unix_ns;
    check(&|filter| filter.verdict = some("fail"), &[2]);
    check(&|filter| filter.verdict = some("PASS"), &[]);
    check(&|_| {}, &[3, 2, 1]);
    check(&|filter| filter.target = some("nvme3"), &[2]);
    check(&|filter| filter.device = some("acme p5"), &[2]);
    // Characters that are special in SQL patterns match literally.
    check(&|filter| filter.device = some("p5 100%"), &[2]);
    check(&|filter| filter.device = some("%"), &[2]);
    check(&|filter| filter.host = some("OTHER"), &[2]);
    check(&|filter| filter.host = some("othe"), &[]);
    check(&|filter| filter.label = some("the update"), &[1]);
    check(&|filter| filter.label = some(&steps.plan.name), &[2]);
    check(&|filter| filter.kind = Some(EntryKind::Quick), &[2]);
    check(&|filter| filter.since_unix_ns = Some(start + 1), &[2]);
    check(&|filter| filter.until_unix_ns = Some(start + 1), &[3, 1]);
    check(&|filter| filter.limit = Some(2), &[3, 2]);
    check(&|filter| (filter.before, filter.limit) = (Some(3), Some(1)), &[2]);
    let updates = |kind| move |filter: &mut Filter| (filter.kind, filter.label) = (Some(kind), Some("update".into()));
    check(&updates(EntryKind::Run), &[1]);
    check(&updates(EntryKind::Quick), &[]);
    history.set_label(1, "").unwrap();
    assert_eq!(history.get(1).unwrap().label, None);
}

#[test]
fn removed_entries_are_gone_and_their_numbers_are_not_reused() {
    let (place, mixed) = (TestHistory::new(), example("mixed.json"));
    let mut history = place.open();
    for _ in 0..12 {
        add(&mut history, &mixed);
    }
    let before = fs::metadata(place.file()).unwrap().len();
    let out = history.entries_to_prune(Retention::Latest(3)).unwrap();
    assert_eq!(ids(&out), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
    // Listing does not change anything.
    assert_eq!(history.list(&Filter::default()).unwrap().len(), 12);
    history.prune(&out).unwrap();
    assert_eq!(ids(&history.list(&Filter::default()).unwrap()), [12, 11, 10]);
    let after = fs::metadata(place.file()).unwrap().len();
    // Nine of twelve are gone.
    assert!(after < before / 2, "{before} bytes before, {after} after");
    history.remove(12).unwrap();
    let gone = history.read_document(12);
    assert!(matches!(gone, Err(HistoryError::NoEntry { id: 12, .. })));
    assert!(matches!(history.get(12), Err(HistoryError::NoEntry { .. })));
    assert!(matches!(history.remove(12), Err(HistoryError::NoEntry { .. })));
    assert!(matches!(history.set_label(12, "x"), Err(HistoryError::NoEntry { .. })));
    assert_eq!(add(&mut history, &mixed), 13);
    let start = mixed.hosts[0].started_unix_ns;
    assert_eq!(history.entries_to_prune(Retention::Since(start)).unwrap(), []);
    let earlier = history.entries_to_prune(Retention::Since(start + 1)).unwrap();
    assert_eq!(ids(&earlier), [13, 11, 10]);
    // Three entries have a job, a target and a document each.
    for table in ["job", "target", "document"] {
        let count = format!("SELECT count(*) FROM {table}");
        let left = place.connect().query_row(&count, [], |row| row.get::<_, i64>(0));
        assert_eq!(left.unwrap(), 3, "{table}");
    }
}

#[test]
fn several_threads_can_add_at_the_same_time() {
    let (place, mixed) = (TestHistory::new(), example("mixed.json"));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            // The threads also race to create the file.
            scope.spawn(|| (0..5).for_each(|_| assert!(add(&mut place.open(), &mixed) > 0)));
        }
    });
    let all = place.open().list(&Filter::default()).unwrap();
    assert_eq!(ids(&all), (1..=30).rev().collect::<Vec<u64>>());
}

#[test]
fn open_existing_does_not_create_a_history() {
    let place = TestHistory::new();
    let error = History::open_existing(&place.file()).unwrap_err();
    assert!(matches!(error, HistoryError::Missing { .. }), "{error:?}");
    assert!(!place.file().exists());
}

#[test]
fn other_files_are_refused_and_left_unchanged() {
    let place = TestHistory::new();
    drop(place.open());
    let mut text = fs::read(place.file()).unwrap();
    let check = |expected: &str| {
        let before = fs::read(place.file()).unwrap();
        let message = History::open(&place.file()).unwrap_err().to_string();
        let message = message.replace(&place.file().display().to_string(), "FILE");
        assert!(message.starts_with(expected), "{message}");
        assert!(fs::read(place.file()).unwrap() == before, "{message}: it was changed");
    };
    // The file has the header of a database, but its first page is damaged.
    text[100..200].fill(0xff);
    fs::write(place.file(), &text).unwrap();
    check("the history FILE is damaged: ");
    fs::write(place.file(), "not a database, ".repeat(100)).unwrap();
    check("the history FILE is damaged: ");
    fs::write(place.file(), &text[..text.len() / 2 + 7]).unwrap();
    check("the history FILE is damaged: ");
    fs::remove_file(place.file()).unwrap();
    let other = place.connect();
    other.execute_batch("CREATE TABLE bookmarks (name TEXT)").unwrap();
    drop(other);
    check("FILE is a database of another program");
    fs::remove_file(place.file()).unwrap();
    drop(place.open());
    let newer = place.connect();
    newer.pragma_update(None, "user_version", HISTORY_VERSION + 1).unwrap();
    newer.execute_batch("DROP TABLE job").unwrap();
    drop(newer);
    check(&format!(
        "the history FILE has format {}, and this version of fathom knows formats up to {HISTORY_VERSION}",
        HISTORY_VERSION + 1
    ));
}

/// SQLite would treat a device as an empty database.
#[cfg(unix)]
#[test]
fn devices_and_folders_are_refused() {
    for path in ["/dev/null", "/tmp"] {
        let error = History::open(Path::new(path)).unwrap_err();
        assert!(matches!(error, HistoryError::NotRegularFile { .. }), "{error:?}");
    }
}

/// Adding waits for the other program for some seconds, then fails.
#[test]
fn a_locked_history_is_reported_and_usable_afterwards() {
    let (place, mixed) = (TestHistory::new(), example("mixed.json"));
    let mut history = place.open();
    let other = place.connect();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = history.add(&recording(&mixed)).unwrap_err();
    assert!(matches!(error, HistoryError::Locked { .. }), "{error:?}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(add(&mut history, &mixed), 1);
}
