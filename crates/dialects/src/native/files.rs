//! Jobs on trees of files: their options and the resulting plan.

use model::block_size::BlockSizes;
use model::plan::{
    EngineKind, Existence, FileGroup, FileOperationKind, FileTree, FileWork, Job, Plan, Prepare, Target, TargetId,
    TargetKind, WorkloadPart,
};
use model::{Bytes, access::Access};

use super::spec::JobSpec;
use super::values::{self, unknown_word_error};

with_defaults! {
    /// A tree and the operations on it, as written in a job.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FileSpec {
        /// Levels of directories.
        pub depth: u32 = 1,
        /// Directories in each directory.
        pub width: u32 = 10,
        /// Files in each directory of the last level.
        pub files: u32 = 100,
        /// Their sizes.
        pub sizes: BlockSizes = BlockSizes::Fixed { size: Bytes::kib(16) },
        /// Percent of the files that exist at the start.
        pub prefill: Option<u8>,
        /// True if all hosts of a fleet use one tree.
        pub is_shared: bool,
        /// Groups of operations.
        pub groups: Vec<FileGroup>,
        /// True if groups run in sequence instead of at random.
        pub in_sequence: bool,
        /// True if files are used in order instead of at random.
        pub in_order: bool,
    }
}

/// Options that have no effect in jobs on files.
const BLOCK_OPTIONS: [&str; 24] = [
    "size", "offset", "keep", "access", "read", "write", "trim", "exact-mix", "align", "flush-every", "flush",
    "flush-at-end", "depth", "depth-per", "bytes", "passes", "latency-target", "cache", "engine", "batch", "log",
    "poll", "submission-thread", "divide",
];
/// Options that only jobs on files have.
const FILE_OPTIONS: [&str; 4] = ["tree", "mix", "sequence", "order"];
/// Maximum buffer size for whole files. A larger `block` needs a larger buffer.
const MAX_BUFFER_SIZE: Bytes = Bytes::mib(1);

/// Keys of a tree.
const TREE_KEYS: [&str; 6] = ["depth", "width", "files", "sizes", "prefill", "shared"];

/// Reads `depth=2,width=10,files=100,sizes=16KiB,prefill=80`, in any order.
pub(super) fn set_tree(files: &mut FileSpec, text: &str) -> Result<(), String> {
    let mut entries: Vec<(String, String)> = Vec::new();
    for setting in text.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
        match (setting.split_once('='), entries.last_mut()) {
            (Some((key, value)), _) => entries.push((key.trim().to_owned(), value.trim().to_owned())),
            // A list of sizes with shares has commas too.
            (None, Some((key, value))) if key == "sizes" => *value += &format!(",{setting}"),
            (None, _) => return Err(format!("`{setting}` is not written as KEY=VALUE")),
        }
    }
    let count = |value: &str, min: u64, max: u64| values::parse_count(value, min, max).map(|count| count as u32);
    for (key, value) in entries {
        let result = match key.as_str() {
            "depth" => count(&value, 0, 32).map(|depth| files.depth = depth),
            "width" => count(&value, 1, 1_000_000).map(|width| files.width = width),
            "files" => count(&value, 1, FileTree::MAX_FILES).map(|count| files.files = count),
            "prefill" => count(value.trim_end_matches('%'), 0, 100).map(|share| files.prefill = Some(share as u8)),
            "shared" => values::parse_flag(&value).map(|shared| files.is_shared = shared),
            "sizes" if value == "0" => {
                files.sizes = BlockSizes::Fixed { size: Bytes(0) };
                Ok(())
            }
            "sizes" => values::parse_block_sizes(&value).map(|sizes| files.sizes = sizes),
            other => return Err(unknown_word_error(other, &TREE_KEYS)),
        };
        result.map_err(|why| format!("`{key}`: {why}"))?;
    }
    Ok(())
}

/// Parses `stat/60, read/30, create+fsync/10`; a sequence has no shares.
pub(super) fn parse_groups(text: &str, in_sequence: bool) -> Result<Vec<FileGroup>, String> {
    let mut groups = Vec::new();
    for group_text in text.split(',').map(str::trim) {
        let (names, share) = match group_text.split_once('/') {
            Some(_) if in_sequence => {
                return Err(format!("`{group_text}`: shares are not allowed in a sequence"));
            }
            Some((names, share)) => (names, values::parse_count(share, 0, 1_000_000)? as u32),
            None => (group_text, 1),
        };
        let mut allowed_kinds = FileOperationKind::ALL.to_vec();
        allowed_kinds.retain(|(_, kind)| *kind != FileOperationKind::Close && !kind.needs_destination());
        let operations = names.split('+').map(|name| values::parse_keyword(name, &allowed_kinds));
        let group = FileGroup {
            operations: operations.collect::<Result<_, _>>()?,
            share,
        };
        check_group(&group).map_err(|why| format!("`{names}`: {why}"))?;
        groups.push(group);
    }
    match groups.iter().all(|group| group.share == 0) {
        true => Err("none of the operations has a share above 0".into()),
        false => Ok(groups),
    }
}

/// Refuses groups in which an operation needs a file that an earlier one has deleted, or creates
/// one that exists.
fn check_group(group: &FileGroup) -> Result<(), String> {
    let mut exists: Option<bool> = None;
    let on_directory = group.operations[0].is_on_directory();
    for kind in &group.operations {
        let (needs, leaves) = match kind.existence() {
            Existence::Created => (false, true),
            Existence::Removed => (true, false),
            Existence::Unchanged => (true, true),
        };
        let name = kind.name();
        if kind.is_on_directory() != on_directory {
            return Err(format!(
                "{} and {name} cannot be joined: one works on directories, the other on files",
                group.operations[0].name()
            ));
        }
        match exists {
            Some(true) if !needs => {
                return Err(format!(
                    "{name} needs a name that does not exist, but it exists after the previous operation"
                ));
            }
            Some(false) if needs => {
                return Err(format!(
                    "{name} needs an existing name, but the previous operation removes it"
                ));
            }
            _ => exists = Some(leaves),
        }
    }
    Ok(())
}

/// Finds a contradiction between the kind of a job and its options.
pub(super) fn find_contradiction(spec: &JobSpec) -> Option<String> {
    let written = |names: &[&'static str]| names.iter().find(|name| spec.written.contains(*name)).copied();
    if !spec.on_files {
        let name = written(&FILE_OPTIONS)?;
        return Some(format!("`{name}` is for jobs on files; add `kind = \"files\"`"));
    }
    if let Some(name) = written(&BLOCK_OPTIONS) {
        return Some(format!("`{name}` has no effect in a job of kind `files`; remove it"));
    }
    if spec.files.groups.is_empty() {
        return Some("the job has no operations; set a `mix` such as \"stat/70, read/30\", or a `sequence`".into());
    }
    let is_real_target = |name: &String| name != "null" && !name.starts_with("simulated:");
    match &spec.targets[..] {
        _ if !spec.parts.is_empty() => Some("parts are not allowed in a job of kind `files`; use `mix`".into()),
        _ if !matches!(spec.part.sizes, BlockSizes::Fixed { .. }) => {
            Some("a job of kind `files` needs a fixed block size; set a single `block`".into())
        }
        [name] if is_real_target(name) => None,
        _ => Some("a job of kind `files` needs one directory; name one as `target`".into()),
    }
}

/// Adds the tree of a job to the plan. Jobs on the same directory share a tree.
pub(super) fn add_tree(spec: &JobSpec, plan: &mut Plan) -> Result<Vec<TargetId>, String> {
    let files = &spec.files;
    let path = spec.targets[0].clone();
    let tree = FileTree {
        depth: files.depth,
        width: files.width,
        files_per_directory: files.files,
        sizes: files.sizes.clone(),
        prefill: files.prefill.unwrap_or_else(|| default_prefill(&files.groups)),
        seed: plan.seed,
        shared: files.is_shared.then_some(plan.targets.len() as u32),
        ..FileTree::default()
    };
    if let Some(position) = plan.targets.iter().position(|listed| listed.path == path) {
        let TargetKind::Tree { tree: existing_tree } = &plan.targets[position].kind else {
            return Err(format!(
                "another job uses {path} as a different kind of target; use different directories"
            ));
        };
        let same = FileTree {
            prefill: files.prefill.unwrap_or(existing_tree.prefill),
            shared: existing_tree.shared.filter(|_| files.is_shared),
            ..tree
        };
        if spec.written.contains("tree") && *existing_tree != same {
            return Err(format!(
                "another job has a different tree in {path}; remove `tree` to use that one, or name another directory"
            ));
        }
        return Ok(vec![TargetId(position as u32)]);
    }
    plan.targets.push(Target {
        path,
        kind: TargetKind::Tree { tree },
        prepare: Prepare::Existing,
        ..Target::default()
    });
    Ok(vec![TargetId(plan.targets.len() as u32 - 1)])
}

/// Default percent of files that exist at the start: all if no group creates files, none if every
/// group starts by creating, else a part.
fn default_prefill(groups: &[FileGroup]) -> u8 {
    let creates = |group: &&FileGroup| group.operations[0] == FileOperationKind::Create;
    match groups.iter().filter(creates).count() {
        0 => 100,
        count if count == groups.len() => 0,
        _ => 80,
    }
}

/// The part of the workload that a job on files needs.
pub(super) fn lower_part(spec: &JobSpec, tree: &FileTree) -> WorkloadPart {
    let size = tree.sizes.max().min(MAX_BUFFER_SIZE).max(spec.part.sizes.max());
    WorkloadPart {
        weight: 1,
        access: Access::default(),
        mix: lower_file_work(spec).mix(),
        sizes: BlockSizes::Fixed { size },
        alignment: Bytes(0),
        content: spec.part.content.clone(),
    }
}

fn lower_file_work(spec: &JobSpec) -> FileWork {
    FileWork {
        groups: spec.files.groups.clone(),
        in_sequence: spec.files.in_sequence,
        in_order: spec.files.in_order,
        shares_files: false,
        midpoint: None,
        part: None,
        destination: None,
        once: false,
        working_set: None,
        block: spec.part.sizes.max(),
        session: None,
    }
}

/// Sets the file operations of the workers.
pub(super) fn set_work(spec: &JobSpec, job: &mut Job) {
    for worker in &mut job.workers {
        worker.engine.kind = EngineKind::Files;
        for stream in &mut worker.streams {
            stream.files = Some(lower_file_work(spec));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{lower, read_job_file};

    fn plan(job: &str) -> Result<Plan, String> {
        let text = format!("[[job]]\ntarget = \"/data\"\n{job}\n");
        let lowered = read_job_file("test.toml", &text).and_then(|document| lower(&document));
        let plan = lowered.map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        plan.check().map_err(|error| error.to_string())?;
        Ok(plan)
    }

    #[test]
    fn a_job_on_files_is_a_tree_and_a_stream_for_each_worker() {
        let plan = plan(
            "kind = \"files\"\nworkers = 3\nrate = 300\nblock = \"8k\"\nmix = \"stat/60, read/30, create+fsync/5, \
             delete/5\"\n[job.tree]\ndepth = 2\nwidth = 5\nfiles = 20\nsizes = \"4k-64k\"",
        )
        .unwrap();
        let TargetKind::Tree { tree } = &plan.targets[0].kind else {
            panic!("{:?}", plan.targets)
        };
        assert_eq!((tree.file_count(), tree.directory_count(), tree.prefill), (500, 30, 80));
        let job = &plan.steps[0].jobs[0];
        assert_eq!(job.workers.len(), 3);
        for worker in &job.workers {
            let [stream] = &worker.streams[..] else {
                panic!("{worker:?}")
            };
            let work = stream.files.as_ref().unwrap();
            assert_eq!((worker.engine.kind, worker.slots()), (EngineKind::Files, 1));
            assert_eq!(work.to_string(), "stat/60, read/30, create+fsync/5, delete/5");
            // 5 of 105 operations flush, 10 create and delete.
            assert!((stream.mix.write_share() - 100.0 * 15.0 / 105.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_prefill_follows_from_the_operations() {
        for (mix, prefill) in [
            ("stat, read", 100),
            ("create", 0),
            ("create+fsync, create", 0),
            ("create, stat", 80),
        ] {
            let plan = plan(&format!("kind = \"files\"\nmix = \"{mix}\"")).unwrap();
            assert!(
                matches!(&plan.targets[0].kind, TargetKind::Tree { tree } if tree.prefill == prefill),
                "{mix}"
            );
        }
    }

    #[test]
    fn steps_on_one_directory_use_one_tree() {
        let later =
            |tree: &str| format!("\n[[job]]\ntarget = \"/data\"\nstep = 2\nkind = \"files\"\nmix = \"stat\"\n{tree}");
        let first = "kind = \"files\"\nmix = \"create\"\ntree = \"files=7,sizes=0\"";
        let combined = plan(&format!("{first}{}", later(""))).unwrap();
        assert_eq!((combined.targets.len(), combined.steps.len()), (1, 2));
        assert!(plan(&format!("{first}{}", later("tree = \"files=7,sizes=0\""))).is_ok());
        let other = plan(&format!("{first}{}", later("tree = \"files=8\""))).unwrap_err();
        assert!(other.contains("a different tree"), "{other}");
    }

    #[test]
    fn settings_without_effect_are_refused() {
        for (job, why) in [
            ("mix = \"stat\"", "add `kind = \"files\"`"),
            ("kind = \"files\"", "no operations"),
            ("kind = \"files\"\nmix = \"stat\"\ndepth = 4", "`depth` has no effect"),
            (
                "kind = \"files\"\nmix = \"stat\"\ncache = \"direct\"",
                "`cache` has no effect",
            ),
            ("kind = \"files\"\nmix = \"stat\"\nread = 70", "`read` has no effect"),
            (
                "kind = \"files\"\nmix = \"stat\"\nblock = \"4k-8k\"",
                "a single `block`",
            ),
            (
                "kind = \"files\"\nmix = \"stat\"\n[[job.part]]",
                "parts are not allowed",
            ),
            ("kind = \"files\"\nmix = \"stats\"", "did you mean `stat`?"),
            ("kind = \"files\"\nmix = \"stat/0\"", "share above 0"),
            ("kind = \"files\"\nsequence = \"stat/3\"", "shares are not allowed"),
            ("kind = \"files\"\nmix = \"delete+read\"", "read needs an existing name"),
            (
                "kind = \"files\"\nmix = \"read+create\"",
                "needs a name that does not exist",
            ),
            (
                "kind = \"files\"\nmix = \"create+mkdir\"",
                "create and mkdir cannot be joined",
            ),
            (
                "kind = \"files\"\nmix = \"stat\"\ntree = \"dept=1\"",
                "did you mean `depth`?",
            ),
            (
                "kind = \"files\"\nmix = \"stat\"\ntree = \"depth=9,width=100\"",
                "the maximum is 268435456",
            ),
            ("kind = \"file\"", "did you mean `files`?"),
        ] {
            let found = plan(job).unwrap_err();
            assert!(found.contains(why), "{job}: {found}");
        }
        let null = read_job_file("t", "[[job]]\ntarget = \"null\"\nkind = \"files\"\nmix = \"stat\"");
        assert!(
            lower(&null.unwrap()).unwrap_err()[0]
                .what
                .contains("needs one directory")
        );
    }
}
