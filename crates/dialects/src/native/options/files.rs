//! Trees of files, and the operations on them.

use super::{Group, NativeOption, ROW};
use crate::assign;
use crate::native::files::{parse_groups, set_tree};
use crate::native::values;

const FILES: NativeOption = NativeOption {
    group: Group::Files,
    ..ROW
};

pub(super) const KIND: NativeOption = NativeOption {
    name: "kind",
    value: "KIND",
    help: "What operations are on: blocks or files.",
    detail: "Default: blocks of the target. With `files`, a tree of directories and files is made in the target, a \
             directory, and removed afterwards.",
    example: "kind = \"files\"",
    other_tools: "fio ioengine=filecreate, filestat, filedelete",
    set: |job, text| {
        assign(
            &mut job.on_files,
            values::word(text, &[("blocks", false), ("files", true)]),
        )
    },
    ..FILES
};

pub(super) const TREE: NativeOption = NativeOption {
    name: "tree",
    value: "SPEC",
    help: "The tree of a job on files.",
    detail: "KEY=VALUE with commas between them: `depth` is the number of levels of directories (default 1), `width` that \
             of directories in each (10), `files` that of files in each directory of the last level (100), `sizes` what \
             `block` takes, or 0 (16KiB), `prefill` the percentage of files that exist at first (100; 80 where the mix \
             creates files too; 0 where it does nothing else). In a job file also a table `[job.tree]`.",
    example: "tree = \"depth=2,width=10,files=50,sizes=4KiB-64KiB,prefill=80\"",
    other_tools: "mdtest -z, -b, -I, -w; Vdbench depth, width, files, sizes",
    set: |job, text| set_tree(&mut job.files, text),
    ..FILES
};

pub(super) const MIX: NativeOption = NativeOption {
    name: "mix",
    value: "LIST",
    help: "Operations on files, drawn by their shares.",
    detail: "`create`, `open`, `read`, `read-block`, `write`, `write-block`, `append`, `fsync`, `stat`, `access`, \
             `set-times`, `readdir`, `rename`, `delete`, `mkdir`, `rmdir`, each with `/SHARE`. Those joined by `+` follow \
             one another on the same file.",
    example: "mix = \"stat/60, read/30, create+fsync/5, delete/5\"",
    set: |job, text| {
        job.files.groups = parse_groups(text, false)?;
        job.files.in_sequence = false;
        Ok(())
    },
    ..FILES
};

pub(super) const SEQUENCE: NativeOption = NativeOption {
    name: "sequence",
    value: "LIST",
    help: "Operations on files that each worker does in turn.",
    detail: "As `mix`, without shares. Each takes another file, except those joined by `+`.",
    example: "sequence = \"delete, create+append+fsync, read\"",
    other_tools: "filebench flowops",
    set: |job, text| {
        job.files.groups = parse_groups(text, true)?;
        job.files.in_sequence = true;
        Ok(())
    },
    ..FILES
};

pub(super) const ORDER: NativeOption = NativeOption {
    name: "order",
    value: "ORDER",
    help: "Which file is next: random or sequential.",
    detail: "Default: random. With `sequential` each worker takes files of its own in the order of their numbers.",
    example: "order = \"sequential\"",
    set: |job, text| {
        assign(
            &mut job.files.in_order,
            values::word(text, &[("random", false), ("sequential", true)]),
        )
    },
    ..FILES
};
