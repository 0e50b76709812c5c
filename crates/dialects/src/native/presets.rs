//! Presets: ready-made job files with a name, a version and a reason.
//!
//! Each is a file in `presets/` of this crate that a user can print and change. A published version
//! never changes, so all results of `oltp@1` come from the same test; a change is a new file with
//! the next version. A unit test stores the digest of every text.

use super::jobfile::read_job_file;
use super::spec::Document;
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use model::plan::PresetUse;

macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../presets/", $name, ".toml"))
    };
}

/// The texts of all presets, in the order of the list. A test checks that no file of the directory
/// is missing here.
const FILES: &[&str] = &[
    file!("general-1"),
    file!("latency-1"),
    file!("max-throughput-1"),
    file!("oltp-1"),
    file!("olap-1"),
    file!("sql-data-1"),
    file!("sql-log-1"),
    file!("sql-extent-1"),
    file!("sql-20ms-1"),
    file!("vdi-1"),
    file!("backup-stream-1"),
    file!("sync-replication-1"),
    file!("powerstore-16-1"),
    file!("azure-max-write-iops-1"),
    file!("azure-max-read-iops-cached-1"),
    file!("azure-max-read-iops-cached-2"),
    file!("azure-max-combined-throughput-1"),
    file!("azure-max-combined-throughput-2"),
    file!("filecopy-1"),
    file!("fileserver-1"),
    file!("varmail-1"),
    file!("webserver-1"),
    file!("videoserver-1"),
    file!("home-directory-1"),
    file!("nas-1"),
    file!("nas-folders-1"),
];

/// The `[preset]` table of a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetInfo {
    /// Name with which users choose the preset.
    pub id: String,
    /// Version, from 1.
    pub version: u32,
    /// A description in one line.
    pub title: String,
    /// Purpose, and the reasons for its settings.
    pub why: String,
    /// Source of its values.
    pub from: String,
    /// The question that the preset answers.
    pub objective: Option<String>,
    /// The requirement that its results are judged by.
    pub judged_by: Option<String>,
    /// Number of targets that it needs; absent: one.
    pub targets: Option<u32>,
}

impl PresetInfo {
    /// The keys of the table.
    pub const KEYS: [&str; 8] = [
        "id", "version", "title", "why", "from", "objective", "judged-by", "targets",
    ];
    pub(super) const HELP: &str =
        "id, title, why, from, objective and judged-by are strings; version and targets are integers";

    /// Name and version: `oltp@1`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.id, self.version)
    }
}

/// A preset.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Its `[preset]` table.
    pub info: PresetInfo,
    /// The job file.
    pub text: &'static str,
    document: Document,
}

impl Preset {
    /// The jobs; only their target is missing.
    pub fn document(&self) -> Document {
        Document {
            preset: Some(PresetUse {
                name: self.info.name(),
                changed: Vec::new(),
            }),
            ..self.document.clone()
        }
    }
}

/// All presets, every version.
pub fn all() -> Vec<Preset> {
    let read = |text: &&'static str| {
        let mut document = read_job_file("preset", text).expect("a test reads every preset");
        document.file = None;
        let info = document.preset_info.clone().expect("a test reads every preset");
        Preset { info, text, document }
    };
    FILES.iter().map(read).collect()
}

/// Finds a preset by name: `oltp` is its newest version, `oltp@1` a fixed one.
///
/// # Errors
/// No preset has that name; the help suggests one.
pub fn find(name: &str) -> Result<Preset, Diagnostic> {
    let presets = all();
    let (id, version) = match name.split_once('@') {
        Some((id, version)) => (id, Some(version)),
        None => (name, None),
    };
    let named_presets: Vec<&Preset> = presets.iter().filter(|preset| preset.info.id == id).collect();
    let Some(newest) = named_presets.iter().max_by_key(|preset| preset.info.version) else {
        let problem = Diagnostic::new(format!("unknown preset `{id}`"));
        return Err(match nearest(id, presets.iter().map(|preset| &*preset.info.id)) {
            Some(suggestion) => problem.help(format!("did you mean `{suggestion}`? `fathom presets` lists them")),
            None => problem.help("`fathom presets` lists them"),
        });
    };
    let Some(version) = version else {
        return Ok((*newest).clone());
    };
    let matching_version = named_presets
        .iter()
        .find(|preset| preset.info.version.to_string() == version);
    matching_version.map(|preset| (*preset).clone()).ok_or_else(|| {
        let problem = Diagnostic::new(format!("preset `{id}` has no version `{version}`"));
        problem.help(format!("did you mean `{}`?", newest.info.name()))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::plan::CachePath;
    use model::testing::assert_contains;

    use super::*;
    use crate::native::lower;

    /// The digests of published presets. A line never changes; a changed preset gets a new file, a
    /// new version and a new line.
    const PUBLISHED: &[(&str, u64)] = &[
        ("general@1", 0xb3c62e6e2b6ef561),
        ("latency@1", 0x4e38c3fddd3e58c2),
        ("max-throughput@1", 0xcabe6135b9e3c0bb),
        ("oltp@1", 0xa5e7ac09f367be1f),
        ("olap@1", 0xf01eb0c9d6a7ef1e),
        ("sql-data@1", 0x4b8ffb047155024b),
        ("sql-log@1", 0x6b02928ca75712a9),
        ("sql-extent@1", 0x73bb005f2541a823),
        ("sql-20ms@1", 0x3c5067550ca46a58),
        ("vdi@1", 0x96932b98798ea626),
        ("backup-stream@1", 0x862676158ec532c3),
        ("sync-replication@1", 0x83de7eaad802b621),
        ("powerstore-16@1", 0x8bf920941db00f44),
        ("azure-max-write-iops@1", 0x57eefba2db655a24),
        ("azure-max-read-iops-cached@1", 0x2ab7e2aed7be1178),
        ("azure-max-read-iops-cached@2", 0xf7c77ee3695c3a43),
        ("azure-max-combined-throughput@1", 0xed49b1599ebfcd22),
        ("azure-max-combined-throughput@2", 0xc34776b751052a06),
        ("filecopy@1", 0x0b68e9d0fcc6ad31),
        ("fileserver@1", 0xc79ba3eadaf5b3a9),
        ("varmail@1", 0xd032a076367f54b4),
        ("webserver@1", 0x561309683d515be3),
        ("videoserver@1", 0xae6586d3e4019379),
        ("home-directory@1", 0xa3cf634abf24f9dd),
        ("nas@1", 0x9c827c8e731396fc),
        ("nas-folders@1", 0x9d973b4b0998ac7e),
    ];

    /// FNV-1a, 64 bits: detects changed texts without a library.
    fn digest(text: &str) -> u64 {
        let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
    }

    #[test]
    fn published_presets_do_not_change() {
        let found: Vec<(String, u64)> = all()
            .iter()
            .map(|preset| (preset.info.name(), digest(preset.text)))
            .collect();
        let wanted: Vec<(String, u64)> = PUBLISHED.iter().map(|(name, sum)| ((*name).into(), *sum)).collect();
        let lines: Vec<String> = found
            .iter()
            .map(|(name, sum)| format!("(\"{name}\", {sum:#018x}),"))
            .collect();
        assert!(
            found == wanted,
            "the text of a published preset has changed: restore it, and create a file for the next version.\n{}",
            lines.join("\n")
        );
    }

    #[test]
    fn every_file_of_the_folder_is_a_complete_preset() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/presets");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let presets = all();
        let names = presets
            .iter()
            .map(|preset| format!("{}-{}.toml", preset.info.id, preset.info.version));
        assert_eq!(names.collect::<BTreeSet<_>>(), files);
        assert_eq!(presets.len(), files.len(), "two have one name");
        for Preset { info, document, .. } in &presets {
            let texts = [&info.id, &info.title, &info.why, &info.from];
            assert!(texts.iter().all(|text| !text.is_empty()), "{info:?}");
            assert!(info.version > 0 && info.objective.is_some(), "{info:?}");
            assert_eq!(document.name.as_deref(), Some(&*info.id));
            assert!(
                document.jobs.iter().all(|job| job.targets.is_empty()),
                "the user names the target"
            );
        }
    }

    #[test]
    fn every_preset_becomes_a_plan_with_its_targets() {
        for preset in all() {
            let mut document = preset.document();
            let targets = preset.info.targets.unwrap_or(1);
            for job in &mut document.jobs {
                job.targets = (1..=targets).map(|number| format!("/data/{number}.dat")).collect();
            }
            let plan = lower(&document).unwrap();
            plan.check().unwrap();
            assert_eq!(plan.origin.preset, document.preset);
            assert_eq!(plan.origin.objective, preset.info.objective);
            assert_eq!(plan.targets.len() as u32, targets);
        }
    }

    #[test]
    fn names_are_found_with_and_without_version() {
        assert_eq!(find("oltp").unwrap(), find("oltp@1").unwrap());
        let message = |name: &str| find(name).unwrap_err().to_string();
        assert_contains(&message("oltpp"), "did you mean `oltp`?");
        assert!(message("oltp@7").contains("no version `7`") && message("oltp@7").contains("`oltp@1`"));
        assert!(message("oltp@").contains("no version ``"));
        assert!(message("colours").contains("`fathom presets` lists them"));
        assert_eq!(find("powerstore-16").unwrap().info.targets, Some(16));
    }

    /// The quoted text of the sources.
    #[test]
    fn presets_match_their_published_source() {
        let job = |name: &str| find(name).unwrap().document().jobs[0].clone();
        let azure = job("azure-max-write-iops");
        assert_eq!(
            (azure.workers, azure.depth, azure.part.read_percent),
            (4, Some(128), 0.0)
        );
        assert_eq!(azure.size, Some(model::Bytes::gib(200)));
        assert_eq!(
            (azure.warm_up, azure.time),
            (Some(model::Nanos::secs(30)), Some(model::Nanos::secs(30)))
        );
        let cached = job("azure-max-read-iops-cached");
        assert_eq!(cached.warm_up, Some(model::Nanos::secs(7200)));
        let paths = |name: &str| {
            find(name)
                .unwrap()
                .document()
                .jobs
                .into_iter()
                .map(|job| job.storage.cache)
        };
        let (cached, uncached) = (Some(CachePath::Cached), Some(CachePath::Uncached));
        assert!(paths("azure-max-read-iops-cached").eq([cached]));
        assert!(paths("azure-max-combined-throughput").eq([cached, uncached]));
        let extent = job("sql-extent");
        assert_eq!(
            (extent.workers, extent.depth, extent.part.read_percent),
            (8, Some(8), 80.0)
        );
        assert_eq!(find("sql-20ms").unwrap().info.judged_by.as_deref(), Some("mean<=20ms"));
        let limited = crate::native::JobSpec {
            line: extent.line,
            ..job("sql-20ms")
        };
        assert_eq!(limited, extent, "the same load");
        // Sequential lengths that differ advance by the shortest, so the writes would overlap.
        for preset in all() {
            for job in &preset.document.jobs {
                let sequential = matches!(job.part.access, model::access::Access::Sequential(_));
                assert!(
                    !sequential || job.part.sizes.min() == job.part.sizes.max(),
                    "{:?}",
                    preset.info.id
                );
            }
        }
    }
}
