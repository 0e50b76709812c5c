//! Files that fathom once created and that now contain the user's own data. No command changes them
//! without permission.

use testbed::{LoopFs, TmpFs};

use crate::prelude::*;

const MIB: u64 = 1 << 20;

/// Ways in which a user's own data gets into a file of fathom. They are shell commands, where `$M`
/// is that file, `$P` is the user's data (the output of `seq 1 1000000`), `$Q` is the user's data
/// with the size of `$M`, and `$D` is their folder.
const WAYS: &[(&str, &str)] = &[
    ("cat", "cat $P > $M"),
    ("cat of the same size", "cat $Q > $M"),
    ("cp", "cp $P $M"),
    ("cp -a", "cp -a $Q $M"),
    (
        "cp -a of the marked file, changed and put in its place",
        "cp -a $M $D/copy && cat $Q > $D/copy && mv $D/copy $M",
    ),
    (
        "cp -a of the marked file, changed in a part, with its old time",
        "cp -a $M $D/copy && dd if=$P of=$D/copy bs=4k seek=700 count=1 conv=notrunc && touch -r $M $D/copy && mv $D/copy $M",
    ),
    (
        "tar",
        "mkdir $D/in && cp $Q $D/in/m.dat && tar -C $D/in -cf $D/a.tar m.dat && tar -C $D -xf $D/a.tar",
    ),
    (
        "tar --overwrite",
        "mkdir $D/in && cp $Q $D/in/m.dat && tar -C $D/in -cf $D/a.tar m.dat && tar -C $D --overwrite -xf $D/a.tar",
    ),
    ("dd conv=notrunc", "dd if=$P of=$M conv=notrunc"),
    (
        "dd conv=notrunc of a few bytes",
        "printf precious | dd of=$M bs=1 seek=3456789 conv=notrunc",
    ),
    (
        "dd oflag=direct",
        "dd if=$Q of=$M bs=4k count=1 seek=1234 oflag=direct conv=notrunc || dd if=$Q of=$M bs=4k conv=notrunc",
    ),
    (
        "a few bytes, with the old time",
        "touch -r $M $D/time && printf precious | dd of=$M bs=1 seek=3456789 conv=notrunc && touch -r $D/time $M",
    ),
    ("rsync --inplace", "rsync --inplace $P $M"),
    ("rsync --inplace --times", "rsync --inplace --times $Q $M"),
    ("rsync", "rsync $Q $M"),
    (
        "rsync -X of a changed copy",
        "cp -a $M $D/copy && cat $Q > $D/copy && touch -d 2020-01-01 $D/copy && rsync --times -X $D/copy $M",
    ),
    ("mv", "mv $Q $M"),
    (
        "restored backup",
        "cat $Q > $M && cp -a $M $D/backup && rm $M && cp -a $D/backup $M",
    ),
    ("longer", "cat $P >> $M"),
    ("shorter", "cat $P > $M && truncate -s 5000000 $M"),
    (
        "re-extended sparse",
        "truncate -s 0 $M && truncate -s 8M $M && printf precious | dd of=$M bs=1 seek=1234567 conv=notrunc",
    ),
    (
        "a map of memory",
        "python3 -c 'import mmap, sys; f = open(sys.argv[1], \"r+b\"); m = mmap.mmap(f.fileno(), 0); m[0:8] = b\"precious\"' $M",
    ),
];

/// Every command that could write to a file. `{m}` is the file, `{d}` a folder, `{c}` a cache mode
/// that its file system knows, `_` a blank within an argument.
const COMMANDS: &[(&str, &str)] = &[
    (
        "run",
        "run --cache {c} --target {m} --write 100 --time 200ms --warm-up 0",
    ),
    (
        "run of a part",
        "run --cache {c} --target {m} --size 4M --write 100 --time 200ms --warm-up 0",
    ),
    (
        "run that makes it larger",
        "run --cache {c} --target {m} --size 16M --time 200ms --warm-up 0",
    ),
    ("run of a job file", "run {d}/job.toml"),
    (
        "a trim",
        "run --cache {c} --target {m} --trim 100 --time 200ms --warm-up 0",
    ),
    (
        "sweep",
        "sweep --cache {c} {m} --over depth=1,2 --write 100 --time 100ms --warm-up 0 --grid-only -q",
    ),
    (
        "ab",
        "ab --cache {c} --target_{m}_--depth_1 --target_{m}_--depth_2 --write 100 --time 50ms --warm-up 0 -q",
    ),
    (
        "verify",
        "verify {m} --require iops>=1 --read 0 --time 1s --warm-up 0 -q",
    ),
    (
        "precondition",
        "precondition --cache {c} {m} --passes 1 --round 50ms --rounds 5 -q",
    ),
    ("suite", "suite {d}/suite.toml -q"),
];

/// A folder with a file of fathom and data of a user.
struct Workspace<'a> {
    folder: &'a Path,
    marked: PathBuf,
    cache: &'static str,
}

impl<'a> Workspace<'a> {
    fn new_in(parent: &'a Path, cache: &'static str) -> Workspace<'a> {
        let workspace = Workspace {
            folder: parent,
            marked: parent.join("m.dat"),
            cache,
        };
        workspace
            .shell("seq 1 1000000 > $P && seq 5000000 7000000 | head -c 8388608 > $Q && touch -d 2020-01-01 $P $Q");
        let job = format!(
            "[[job]]\ntarget = \"{}\"\nread = 0\ncache = \"{cache}\"\ntime = \"200ms\"\nwarm-up = \"0s\"\n",
            text(&workspace.marked)
        );
        fs::write(parent.join("job.toml"), job).unwrap();
        let suite = format!(
            "name = \"trial\"\nobjective = \"nothing is lost\"\n[defaults]\ntarget = \"{}\"\nread = 0\ncache = \"{cache}\"\ntime = \"1s\"\nwarm-up = \"0s\"\n\
             [[workload]]\nname = \"writes\"\nrequire = \"iops>=1\"\n",
            text(&workspace.marked)
        );
        fs::write(parent.join("suite.toml"), suite).unwrap();
        workspace
    }

    fn fathom(&self, line: &str) -> Ran {
        let at = |word: &str| {
            word.replace('_', " ")
                .replace("{m}", text(&self.marked))
                .replace("{d}", text(self.folder))
                .replace("{c}", self.cache)
        };
        let words: Vec<String> = line.split_whitespace().map(at).collect();
        // Marks are kept in this folder if the file system has no attributes.
        finish(command(&words).env("XDG_STATE_HOME", self.folder.join("state")))
    }

    fn make(&self) {
        let _ = fs::remove_file(&self.marked);
        self.fathom("run --target {m} --cache {c} --size 8M --write 100 --time 200ms --warm-up 0")
            .expect(0, &["8 MiB of random data"]);
    }

    fn shell(&self, commands: &str) {
        let output = Command::new("sh")
            .args(["-ec", commands])
            .env("M", &self.marked)
            .env("P", self.folder.join("prec.txt"))
            .env("Q", self.folder.join("same-size.txt"))
            .env("D", self.folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{commands}: {output:?}");
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.marked).unwrap()
    }

    /// Starts a run that writes to the marked file for a minute. Returns once the run writes.
    fn start_writing(&self) -> Child {
        let file = text(&self.marked);
        let line = format!("run --target {file} --write 100 --time 60s --warm-up 0 -q");
        let child = command(&split_words(&line)).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        child
    }
}

/// Tries every way with every command, and returns what was lost.
fn find_losses(folder: &Path, cache: &'static str, ways: &[(&str, &str)], commands: &[(&str, &str)]) -> Vec<String> {
    let mut lost = Vec::new();
    for (number, (way, how)) in ways.iter().enumerate() {
        let folder = folder.join(number.to_string());
        fs::create_dir(&folder).unwrap();
        let workspace = Workspace::new_in(&folder, cache);
        workspace.make();
        workspace.shell(how);
        let mut before = workspace.bytes();
        for (name, line) in commands {
            let ran = workspace.fathom(line);
            assert!(!ran.err.contains("panicked"), "{way}, {name}: {ran:#?}");
            let after = workspace.bytes();
            if after != before {
                lost.push(format!("{way}: {name}: {}", ran.err));
                before = after;
            } else if ran.code == Some(0) {
                lost.push(format!("{way}: {name} was run"));
            }
        }
        fs::remove_dir_all(&folder).unwrap();
    }
    lost
}

#[track_caller]
fn assert_nothing_is_lost(folder: &Path, cache: &'static str, commands: &[(&str, &str)]) {
    let lost = find_losses(folder, cache, WAYS, commands);
    let all = WAYS.len() * commands.len();
    assert!(lost.is_empty(), "{} of {all}:\n{}", lost.len(), lost.join("\n"));
}

#[test]
fn user_data_in_a_file_of_fathom_is_kept_by_every_command() {
    let fs = need!(LoopFs::ext4(256 * MIB));
    assert_nothing_is_lost(fs.path(), "direct", COMMANDS);
}

/// The number of commands to try. These use the file unchanged, use a part of it, or enlarge it.
const FEW: usize = 3;

/// There, an immediate change has the same timestamp, because timestamps are whole seconds.
#[test]
fn user_data_in_a_file_of_fathom_is_kept_with_timestamps_of_whole_seconds() {
    let fs = need!(LoopFs::ext4_with_whole_seconds(256 * MIB));
    assert_nothing_is_lost(fs.path(), "direct", &COMMANDS[..FEW]);
}

#[test]
fn user_data_in_a_file_of_fathom_is_kept_on_xfs() {
    let fs = need!(LoopFs::xfs(512 * MIB));
    assert_nothing_is_lost(fs.path(), "direct", &COMMANDS[..FEW]);
}

#[test]
fn user_data_in_a_file_of_fathom_is_kept_on_btrfs() {
    let fs = need!(LoopFs::btrfs(512 * MIB));
    assert_nothing_is_lost(fs.path(), "direct", &COMMANDS[..FEW]);
}

#[test]
fn user_data_in_a_file_of_fathom_is_kept_on_tmpfs() {
    let fs = need!(TmpFs::with_size(256 * MIB));
    assert_nothing_is_lost(fs.path(), "buffered", &COMMANDS[..FEW]);
}

#[test]
fn user_data_in_a_file_of_fathom_is_kept_without_attributes() {
    let fs = need!(TmpFs::without_attributes());
    assert_nothing_is_lost(fs.path(), "buffered", &COMMANDS[..FEW]);
}

/// Without permission, a screening only reads.
#[test]
fn a_screening_keeps_user_data_in_a_file_of_fathom() {
    let fs = need!(LoopFs::ext4(64 * MIB));
    let lost = find_losses(fs.path(), "direct", &WAYS[..1], &[("quick", "quick {m} -q")]);
    assert_eq!(lost, ["cat: quick was run"], "it only reads");
}

/// Its contents are unknown: it may have been used for something else since.
#[test]
fn a_file_whose_run_was_killed_needs_permission() {
    let fs = need!(LoopFs::ext4(64 * MIB));
    let workspace = Workspace::new_in(fs.path(), "direct");
    workspace.make();
    let child = workspace.start_writing();
    kill(child);
    let again = COMMANDS[0].1;
    let left = workspace.bytes();
    workspace.fathom(again).expect(3, &["--allow-overwrite", "killed"]);
    workspace.shell("cat $Q > $M");
    for (name, line) in COMMANDS {
        assert_ne!(workspace.fathom(line).code, Some(0), "{name}");
    }
    let data = fs::read(workspace.folder.join("same-size.txt")).unwrap();
    assert_eq!(workspace.bytes(), data);
    fs::write(&workspace.marked, left).unwrap();
    let allowed = format!("{again} --allow-overwrite {{m}}");
    workspace.fathom(&allowed).expect(0, &["IOPS"]);
}

/// A run leaves a file that later runs may use, regardless of how it ends.
#[test]
fn a_file_of_fathom_can_be_reused_from_run_to_run() {
    let fs = need!(LoopFs::ext4(256 * MIB));
    let workspace = Workspace::new_in(fs.path(), "direct");
    workspace.make();
    for (name, line) in COMMANDS.iter().filter(|(name, _)| *name != "a trim") {
        let ran = workspace.fathom(line);
        assert!(ran.code != Some(3), "{name}: {ran:#?}");
    }
    // Interrupted in the middle.
    let child = workspace.start_writing();
    signal(&child, "INT");
    end(child);
    let again = workspace.fathom(COMMANDS[0].1);
    again.expect(0, &["prepared earlier with 16 MiB of random data"]);
}
