//! Options for the target of a test.

use super::{Group, NativeOption, ROW};
use crate::assign;
use crate::native::{parse_name, parse_path, values};

const TARGET: NativeOption = NativeOption {
    group: Group::Target,
    ..ROW
};

pub(super) const OPTIONS: &[NativeOption] = &[
    NativeOption {
        name: "target",
        value: "PATH",
        help: "File, directory or block device to test; may be repeated.",
        detail: "In a directory fathom creates a file, fills it with random data, and removes it at the end. A missing \
        file is created if `size` is set, and stays. `null` tests only the tool itself.",
        example: "target = \"/mnt/data\"",
        other_tools: "fio filename, directory; DiskSpd target",
        synonyms: &["file", "device"],
        set: |job, text| {
            if text.trim().is_empty() {
                return Err("a path is missing".into());
            }
            job.targets.push(text.to_owned());
            Ok(())
        },
        ..TARGET
    },
    NativeOption {
        name: "size",
        value: "SIZE",
        help: "Bytes of each target to use, or to create.",
        detail: "Default: all of a device or an existing file; of a file created in a directory, the smaller of 1 GiB \
        and 5 % of the free space.",
        example: "size = \"10GiB\"",
        other_tools: "fio size; DiskSpd -c, -f",
        set: |job, text| assign(&mut job.size, values::parse_block(text).map(Some)),
        ..TARGET
    },
    NativeOption {
        name: "offset",
        value: "SIZE",
        help: "Bytes to skip at the start of each target.",
        detail: "Default: 0.",
        example: "offset = \"1GiB\"",
        other_tools: "fio offset; DiskSpd -B",
        set: |job, text| assign(&mut job.offset, values::parse_size(text)),
        ..TARGET
    },
    NativeOption {
        name: "keep",
        help: "Keep the file that was created in a directory.",
        detail: "The file is marked as filled with random data, so a later run that names it reuses it.",
        example: "keep = true",
        other_tools: "fio unlink=0",
        set: |job, text| assign(&mut job.keep, values::parse_flag(text)),
        ..TARGET
    },
    NativeOption {
        name: "path",
        value: "cached|uncached",
        help: "Path through the virtual machine's host: cached or uncached.",
        detail: "This does not change the I/O: it only decides which limits of a machine, for cached or uncached \
        operations, apply to the job. Default: uncached. For the page cache of this system, see `cache`.",
        example: "path = \"cached\"",
        set: |job, text| assign(&mut job.storage.cache, parse_path(text).map(Some)),
        ..TARGET
    },
    NativeOption {
        name: "role",
        value: "NAME",
        help: "Role of the data (data, log, …): limits for that role apply.",
        detail: "This does not change the I/O: a limit with role=NAME applies to the jobs with this role.",
        example: "role = \"log\"",
        set: |job, text| assign(&mut job.storage.role, parse_name(text).map(Some)),
        ..TARGET
    },
    NativeOption {
        name: "replicas",
        value: "NUMBER",
        help: "Number of copies of each block in the storage below.",
        detail: "This does not change the I/O: each write counts once per copy against the limits of disks. Default: 1.",
        example: "replicas = 3",
        set: |job, text| {
            assign(
                &mut job.storage.replicas,
                values::parse_count_u32(text, 1, 100).map(Some),
            )
        },
        ..TARGET
    },
    NativeOption {
        name: "hops",
        value: "NUMBER",
        help: "Network hops between this machine and the disk.",
        detail: "This does not change the I/O: reports show it in the path of an operation.",
        example: "hops = 2",
        set: |job, text| assign(&mut job.storage.hops, values::parse_count_u32(text, 0, 100).map(Some)),
        ..TARGET
    },
];
