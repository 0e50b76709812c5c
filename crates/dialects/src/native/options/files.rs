//! Trees of files, and the operations on them.

use super::{Group, NativeOption, ROW};
use crate::assign;
use crate::native::files::{parse_groups, set_tree};
use crate::native::values;

const FILES: NativeOption = NativeOption {
    group: Group::Files,
    ..ROW
};

pub(super) const OPTIONS: &[NativeOption] = &[
    NativeOption {
        name: "kind",
        value: "KIND",
        help: "What operations work on: blocks or files.",
        detail: "Default: blocks of the target. `files` creates a tree of directories and files in the target, which \
        must be a directory, and removes it afterwards.",
        example: "kind = \"files\"",
        other_tools: "fio ioengine=filecreate, filestat, filedelete",
        set: |job, text| {
            let words = [("blocks", false), ("files", true)];
            assign(&mut job.on_files, values::parse_keyword(text, &words))
        },
        ..FILES
    },
    NativeOption {
        name: "tree",
        value: "SPEC",
        help: "Directory tree of a job on files.",
        detail: "KEY=VALUE pairs with commas between them: `depth` is the number of directory levels (default 1), \
        `width` the directories in each directory (10), `files` the files in each directory of the last level (100), \
        `sizes` their sizes, written as for `block`, or 0 (16KiB), `prefill` the percentage of files that exist at \
        the start (100; 80 if the mix also creates files; 0 if it only creates files). With `shared=true`, all hosts \
        of a fleet use one tree, each its own files (default: a tree for each host). A job file may also have a table \
        `[job.tree]`.",
        example: "tree = \"depth=2,width=10,files=50,sizes=4KiB-64KiB,prefill=80\"",
        other_tools: "mdtest -z, -b, -I, -w; Vdbench depth, width, files, sizes",
        set: |job, text| set_tree(&mut job.files, text),
        ..FILES
    },
    NativeOption {
        name: "mix",
        value: "LIST",
        help: "Random mix of file operations, with their shares.",
        detail: "`create`, `open`, `read`, `read-block`, `write`, `write-block`, `append`, `fsync`, `stat`, `access`, \
        `set-times`, `readdir`, `rename`, `delete`, `mkdir`, `rmdir`, each with `/SHARE`. `+` joins operations that \
        run one after the other on the same file.",
        example: "mix = \"stat/60, read/30, create+fsync/5, delete/5\"",
        set: |job, text| {
            job.files.groups = parse_groups(text, false)?;
            job.files.in_sequence = false;
            Ok(())
        },
        ..FILES
    },
    NativeOption {
        name: "sequence",
        value: "LIST",
        help: "Operations on files that each worker runs in order.",
        detail: "Written as `mix`, without shares. Each uses another file, except those joined by `+`.",
        example: "sequence = \"delete, create+append+fsync, read\"",
        other_tools: "filebench flowops",
        set: |job, text| {
            job.files.groups = parse_groups(text, true)?;
            job.files.in_sequence = true;
            Ok(())
        },
        ..FILES
    },
    NativeOption {
        name: "order",
        value: "ORDER",
        help: "Order in which files are used: random or sequential.",
        detail: "Default: random. With `sequential` each worker uses its own files in the order of their numbers.",
        example: "order = \"sequential\"",
        set: |job, text| {
            let words = [("random", false), ("sequential", true)];
            assign(&mut job.files.in_order, values::parse_keyword(text, &words))
        },
        ..FILES
    },
];
