//! The table of parameters.

use super::table::Kind::{Numbers as N, Words as W};
use super::table::Section::{Fsd, Fwd, General as G, Host as H, Rd, Replay, Sd, Wd};
use super::table::{Row, row};

const REPLAY: &str = "replaying Swat traces is not supported; fio's `read_iolog` replays blktrace";
const DEDUP: &str = "duplicates are equally likely and do not change; set `dedupratio=`, `dedupunit=` and `dedupsets=` before the first SD";
const CLASS: &str = "it loads Java user code";
const COMMANDS: &str = "commands named in parameter files are not run; run them before and after";
const NO_NEED: &str = "not needed in fathom";
const FLEET: &str = "hosts are connected as a [fleet](fleet.md)";

/// All parameters, those of a section in the order in which abbreviations are resolved.
pub const ROWS: &[Row] = &[
    row(
        G,
        N,
        "abort_failed_skew",
        "off",
        "fail where a workload's share differs by more percent",
    )
    .refused("skew is enforced by weights"),
    row(G, W, "auxreport", "", "user code for reports").refused(CLASS),
    row(G, N, "compratio", "none", "compression ratio of written data"),
    row(
        G,
        N,
        "compression",
        "none",
        "the same, as the percentage of the data that remains",
    )
    .refused("set `compratio=`"),
    row(G, W, "compressionseed", "", "seed of the data").without_effect("the run's seed is used"),
    row(
        G,
        W,
        "concatenatesds",
        "no",
        "the SDs of a WD are one long SD, whose files must exist; each WD, or the RD, needs `threads=`; only with \
         `seekpct=100`, 0 or `eof`, and on one host",
    ),
    row(G, W, "create_anchors", "no", "also create missing parents of anchors"),
    row(
        G,
        W,
        "data_errors",
        "50",
        "number of errors on all SDs that ends a run: wrong key blocks, and failed reads and writes; a command \
         and `remove_device` are refused",
    ),
    row(
        G,
        N,
        "dedupratio",
        "none",
        "ratio of all data to distinct data; whole transfers repeat",
    ),
    row(
        G,
        N,
        "dedupunit",
        "",
        "bytes of a duplicate; must divide every transfer size",
    ),
    row(
        G,
        N,
        "dedupsets",
        "5%",
        "number of distinct blocks that duplicates repeat, or a percentage of the duplicates",
    ),
    row(G, W, "deduphotsets", "", "sets of duplicates used more often").refused(DEDUP),
    row(G, W, "dedupflipflop", "no", "duplicates that change over time").refused(DEDUP),
    row(G, W, "dedupacross", "no", "sets of all SDs"),
    row(
        G,
        W,
        "formatsds",
        "where needed",
        "`yes`: lay out every SD before the first run; `no`: never",
    ),
    row(G, N, "formatxfersize", "128k", "block size of the lay-out"),
    row(
        G,
        W,
        "histogram",
        "27 buckets",
        "limits of the buckets: `(default,1m,10m)`; `suppress` is accepted",
    ),
    row(G, W, "include", "", "insert the lines of a file"),
    row(
        G,
        W,
        "journal",
        "no",
        "as `-j`: `yes` `no` `recover` `noflush` `maponly` `only` `skip_read_all` `ignore_pending`",
    ),
    row(G, W, "loop", "1", "repeat all RDs n times, or for a time (`30m`)"),
    row(G, W, "messagescan", "", "watch the system log").without_effect("system logs are not read"),
    row(
        G,
        W,
        "monitor",
        "",
        "a file that is emptied at the start and read in each interval: the first line `end_rd` or `shutdown` ends \
         the run, `end_vdbench` or `terminate` the test",
    ),
    row(
        G,
        W,
        "pattern",
        "",
        "a file of up to 64k with the data to write, repeated from the start of each transfer",
    ),
    row(G, N, "port", "5570", "TCP port").without_effect(FLEET),
    row(G, W, "report", "", "more or fewer report files").without_effect("the default files are written"),
    row(G, W, "report_run_totals", "no", "additional file of totals").without_effect("`totals.html` has them"),
    row(
        G,
        W,
        "startcmd",
        "",
        "`(\"command\",log)`: shell command before the first RD, its output in `log`, `sum` or `cons`; `$output` \
         is the output directory; needs `FATHOM_ALLOW_EXEC=1`",
    )
    .exact(),
    row(G, W, "start_cmd", "", "the same").exact().as_alias_of("startcmd"),
    row(G, W, "endcmd", "", "the same, after the last RD").exact(),
    row(G, W, "end_cmd", "", "the same").exact().as_alias_of("endcmd"),
    row(
        G,
        W,
        "validate",
        "no",
        "as `-v`: `yes` `no` `read_after_write` `no_preread`; `time` and `ignore_zero_reads` are refused",
    ),
    row(G, W, "debug", "", "").without_effect(NO_NEED),
    row(G, W, "misc", "", "").without_effect(NO_NEED),
    row(G, W, "psrset", "", "").without_effect(NO_NEED),
    row(G, W, "showlba", "", "log of addresses").without_effect("`fathom fio` writes them with write_iolog="),
    row(G, W, "heartbeat_error", "", "").without_effect(NO_NEED),
    row(G, W, "pattern_buffer", "", "").without_effect(NO_NEED),
    row(G, W, "unix2windows", "", "").without_effect(NO_NEED),
    row(G, W, "swat", "", "").refused("The 'swat=' parameter is no longer supported"),
    row(G, W, "host", "", "old form of `hd=`").refused("write `hd=label,system=name`"),
    row(H, W, "hd", "localhost", "label, or `default`"),
    row(H, W, "system", "the label", "name or address"),
    row(H, W, "vdbench", "", "Vdbench's directory on that host")
        .without_effect("`FATHOM_REMOTE` is the path of fathom there"),
    row(H, W, "master", "", "address of the master").without_effect(FLEET),
    row(
        H,
        W,
        "shell",
        "rsh",
        "`rsh` and `ssh`: by ssh; `vdbench`: over TCP, to `fathom agent --listen`",
    ),
    row(H, W, "user", "", "as whom, by ssh"),
    row(H, N, "jvms", "1", "slaves").without_effect("each host has one process"),
    row(H, N, "clients", "", "`n`: hosts `x_cl0`, `x_cl1`, … on the same system"),
    row(H, W, "mount", "", "mount command").refused(COMMANDS),
    row(Replay, W, "rg", "", "name of a group of SDs that replay a trace").refused(REPLAY),
    row(Replay, W, "devices", "", "devices of the trace").without_effect("it belongs to `rg=`"),
    row(Sd, W, "sd", "", "name, or `default`"),
    row(Sd, W, "lun", "required", "file or block device"),
    row(
        Sd,
        W,
        "host",
        "all",
        "hosts that use the SD; `host=` and `lun=` in pairs are refused",
    ),
    row(Sd, W, "hd", "all", "the same").as_alias_of("host"),
    row(
        Sd,
        N,
        "size",
        "that of the file or device",
        "used bytes; `(total,n)` divides a total among n",
    ),
    row(
        Sd,
        N,
        "threads",
        "8",
        "operations in flight; `(total,n)` divides a total among n",
    ),
    row(
        Sd,
        W,
        "openflags",
        "none",
        "`o_direct` `directio` `o_sync` `o_dsync` `o_rsync` `fsync`, or a number such as `0x4000`; a name below \
         `/dev/` needs `o_direct`",
    ),
    row(
        Sd,
        N,
        "range",
        "(0,100)",
        "used part of the SD: a percentage, or bytes if above 200; beyond 100 % it wraps around",
    ),
    row(Sd, N, "offset", "0", "added to every address"),
    row(Sd, N, "align", "0", "random addresses are multiples of it"),
    row(Sd, N, "hitarea", "1m", "area of hits"),
    row(Sd, N, "count", "", "`(start,n)`: n definitions"),
    row(Sd, W, "journal", "output directory", "directory of its journal"),
    row(Sd, N, "dedupratio", "", "").refused(DEDUP),
    row(Sd, W, "replay", "", "").refused(REPLAY),
    row(Sd, W, "resetlun", "", "").refused("devices are not reset"),
    row(Sd, W, "resetbus", "", "").refused("devices are not reset"),
    row(Sd, W, "kstat", "", "").without_effect(NO_NEED),
    row(Sd, W, "instance", "", "").without_effect(NO_NEED),
    row(Fsd, W, "fsd", "", "name, or `default`"),
    row(Fsd, W, "anchor", "required", "directory of the tree"),
    row(Fsd, N, "depth", "1", "levels of directories"),
    row(Fsd, N, "width", "1", "subdirectories in each directory"),
    row(Fsd, N, "files", "10", "files in each directory of the last level"),
    row(
        Fsd,
        N,
        "sizes",
        "4096",
        "sizes of files: one, `(size,percent,…)`, or `(size,0)`: between 0.5 and 1.5 times the size",
    ),
    row(
        Fsd,
        N,
        "totalsize",
        "",
        "limit of the tree's total size: it has only its first files up to these bytes; `(total,n)` divides a \
         total among n",
    ),
    row(
        Fsd,
        N,
        "workingsetsize",
        "",
        "limit of the files that a run uses: each run chooses files at random up to these bytes; `(size,n)` divides",
    ),
    row(Fsd, N, "wss", "", "the same").as_alias_of("workingsetsize"),
    row(
        Fsd,
        W,
        "distribution",
        "bottom",
        "directories that contain files: those of the last level, or `all`",
    ),
    row(
        Fsd,
        W,
        "shared",
        "no",
        "several hosts use it, each of them every n-th file",
    ),
    row(
        Fsd,
        W,
        "openflags",
        "none",
        "as for an SD; `fsync` flushes a file before it is closed",
    ),
    row(Fsd, W, "journal", "output directory", "directory of its journal"),
    row(Fsd, N, "count", "", "`(start,n)`: n definitions"),
    row(Fsd, W, "log", "", "").without_effect(NO_NEED),
    row(Fsd, W, "host", "", "").refused("No 'host=' parameter is allowed for a File System Definition (FSD)"),
    row(Wd, W, "wd", "", "name, or `default`"),
    row(Wd, W, "sd", "required", "SDs, with `*` at the end"),
    row(Wd, W, "host", "all", "hosts that run it"),
    row(Wd, W, "hd", "all", "the same").as_alias_of("host"),
    row(
        Wd,
        N,
        "xfersize",
        "4096",
        "one size; `(size,percent,…)`; `(min,max,align)`",
    ),
    row(Wd, N, "rdpct", "100", "percentage of reads"),
    row(Wd, N, "readpct", "100", "the same").as_alias_of("rdpct"),
    row(Wd, N, "wrpct", "0", "percentage of writes"),
    row(Wd, N, "writepct", "0", "the same").as_alias_of("wrpct"),
    row(
        Wd,
        W,
        "seekpct",
        "100",
        "percentage of random addresses; `seq`, `rand`, `eof`; `(poisson,midpoint)`: fewer towards the end, in \
         100 steps",
    ),
    row(
        Wd,
        N,
        "stride",
        "",
        "`(min,max)`: jumps forward over min bytes and a random multiple of the transfer size, less than max in all",
    ),
    row(Wd, N, "skew", "the rest", "percent of the operations"),
    row(
        Wd,
        N,
        "iorate",
        "",
        "a separate rate, in an RD with `iorate=max`; at most one WD may be without a rate",
    ),
    row(
        Wd,
        N,
        "priority",
        "",
        "different in each WD of such an RD; the WD without a rate must have the last",
    ),
    row(Wd, N, "rhpct", "0", "percentage of reads in the hit area"),
    row(Wd, N, "whpct", "0", "percentage of writes in the hit area"),
    row(Wd, N, "range", "that of the SD", "as for an SD"),
    row(
        Wd,
        N,
        "hotband",
        "",
        "replaces `range=` by a range whose beginning is used most, as with `poisson` and 3",
    ),
    row(Wd, W, "openflags", "those of the SD", "as for an SD"),
    row(
        Wd,
        N,
        "streams",
        "",
        "number of parallel sequential positions; with `iorate=max` and one WD, without `concatenatesds=yes`",
    ),
    row(
        Wd,
        N,
        "threads",
        "",
        "operations in flight, only with `concatenatesds=yes`",
    ),
    row(Wd, W, "user", "", "").refused(CLASS),
    row(
        Fwd,
        W,
        "fwd",
        "",
        "name, `default`, or `format` for the creation of trees (`threads=`, `xfersize=`)",
    ),
    row(Fwd, W, "fsd", "required", "FSDs, with `*` at the end"),
    row(
        Fwd,
        W,
        "operation",
        "read",
        "`read`, `write`, `mkdir`, `rmdir`, `create`, `delete`, `getattr`, `setattr`, `access`, `open`, `close`, \
         `copy`, `move`",
    ),
    row(Fwd, W, "operations", "read", "the same").as_alias_of("operation"),
    row(
        Fwd,
        N,
        "rdpct",
        "off",
        "percentage of reads among reads and writes of the same file",
    ),
    row(Fwd, N, "readpct", "off", "the same").as_alias_of("rdpct"),
    row(
        Fwd,
        W,
        "fileio",
        "sequential",
        "order in a file: `sequential`, `random`, `(random,shared)`, with which threads take the same files, or \
         `(sequential,delete)`, which removes a file before it is written again",
    )
    .exact(),
    row(
        Fwd,
        W,
        "fileselect",
        "sequential",
        "order of files: `sequential`, each thread having its own, `once`, which ends after the last file, \
         `random`, or `(poisson,midpoint)`: the first ones most",
    ),
    row(Fwd, N, "xfersizes", "4096", "one size, or `(size,percent,…)`"),
    row(
        Fwd,
        N,
        "threads",
        "1",
        "parallel operations, divided among its FSDs and operations",
    ),
    row(
        Fwd,
        W,
        "stopafter",
        "the file",
        "blocks until the next file, or a percentage of the file",
    ),
    row(Fwd, N, "skew", "the rest", "percent of the operations"),
    row(
        Fwd,
        W,
        "target",
        "",
        "destination FSD of `copy` and `move`, with the same `depth=`, `width=`, `files=` and `sizes=`",
    ),
    row(Fwd, W, "host", "all", "hosts that run it"),
    row(Fwd, W, "hd", "all", "the same").as_alias_of("host"),
    row(Fwd, W, "openflags", "those of the FSD", "as for an FSD"),
    row(Rd, W, "rd", "", "name, or `default`"),
    row(Rd, W, "wd", "", "workloads, with `*` at the end")
        .exact()
        .only_raw(),
    row(Rd, W, "fwd", "", "file system workloads").exact().only_files(),
    row(Rd, W, "sd", "those of the WDs", "other SDs; `single`: a run for each")
        .exact()
        .only_raw(),
    row(Rd, W, "fsd", "those of the FWDs", "other FSDs")
        .exact()
        .only_files(),
    row(
        Rd,
        N,
        "iorate",
        "required",
        "operations per second; `max`, `curve`, lists, `70%` of the last rate",
    )
    .only_raw(),
    row(Rd, N, "fwdrate", "", "the same for file systems").only_files(),
    row(Rd, N, "curve", "(10,50,70,80,90,100)", "points, as percentages"),
    row(Rd, N, "stopcurve", "off", "response time in ms that ends the test"),
    row(Rd, N, "elapsed", "30", "seconds"),
    row(Rd, N, "interval", "1", "seconds"),
    row(Rd, N, "warmup", "0", "seconds of warm-up, in addition to `elapsed`"),
    row(Rd, N, "pause", "0", "seconds after"),
    row(
        Rd,
        W,
        "distribution",
        "exponential",
        "arrivals: `exponential`, `uniform`, `deterministic`; `variable`: the rates of \
         `iorate=(rate,seconds,…)` one after another, exponential or as in `(variable,uniform)`; `spike`: all \
         arrivals of a second at its start",
    ),
    row(
        Rd,
        N,
        "maxdata",
        "",
        "bytes after which the run ends with the next interval; up to 100: a multiple of the size of the SDs",
    ),
    row(
        Rd,
        N,
        "maxdataread",
        "",
        "the same for runs that only read; refused together with writes",
    ),
    row(
        Rd,
        N,
        "maxdatawritten",
        "",
        "the same for runs that only write; refused together with reads",
    ),
    row(Rd, N, "xfersize", "", "loop"),
    row(Rd, N, "threads", "that of the SDs", "loop"),
    row(Rd, N, "rdpct", "", "loop"),
    row(Rd, N, "rhpct", "", "loop").only_raw(),
    row(Rd, N, "whpct", "", "loop").only_raw(),
    row(Rd, N, "seekpct", "", "loop").only_raw(),
    row(Rd, N, "hitarea", "", "loop").only_raw(),
    row(Rd, N, "compratio", "", "loop"),
    row(Rd, N, "forxfersize", "", "loop").as_alias_of("xfersize"),
    row(Rd, N, "forthreads", "", "loop").as_alias_of("threads"),
    row(Rd, N, "forrdpct", "", "loop").as_alias_of("rdpct"),
    row(Rd, N, "forrhpct", "", "loop").as_alias_of("rhpct").only_raw(),
    row(Rd, N, "forwhpct", "", "loop").as_alias_of("whpct").only_raw(),
    row(Rd, N, "forseekpct", "", "loop").as_alias_of("seekpct").only_raw(),
    row(Rd, N, "forhitarea", "", "loop").as_alias_of("hitarea").only_raw(),
    row(Rd, N, "forcompratio", "", "loop").as_alias_of("compratio"),
    row(Rd, N, "forcompression", "", "loop").refused("set `forcompratio=`"),
    row(Rd, N, "fordepth", "", "loop of FSDs")
        .as_alias_of("depth")
        .only_files(),
    row(Rd, N, "forwidth", "", "loop of FSDs")
        .as_alias_of("width")
        .only_files(),
    row(Rd, N, "forfiles", "", "loop of FSDs")
        .as_alias_of("files")
        .only_files(),
    row(Rd, N, "forsizes", "", "loop of FSDs")
        .as_alias_of("sizes")
        .only_files(),
    row(Rd, N, "fortotalsize", "", "loop of FSDs")
        .as_alias_of("totalsize")
        .only_files(),
    row(Rd, N, "forwss", "", "loop of FSDs").as_alias_of("wss").only_files(),
    row(Rd, N, "forworkingsetsize", "", "loop of FSDs")
        .as_alias_of("wss")
        .only_files(),
    row(Rd, W, "foroperations", "", "loop of operations").only_files(),
    row(
        Rd,
        W,
        "operations",
        "those of the FWDs",
        "several operations in parallel, for every FWD",
    )
    .only_files(),
    row(Rd, W, "operation", "", "the same")
        .as_alias_of("operations")
        .only_files(),
    row(Rd, W, "openflags", "", "for every SD"),
    row(
        Rd,
        W,
        "format",
        "no",
        "create the tree first: `yes` recreates it, `restart` adds what is missing, `clean` removes it, \
         `directories`, `only`, `once`; `limited`, with `only`: end after `elapsed=`",
    )
    .only_files(),
    row(Rd, W, "startcmd", "", "as the general one, before each run of this RD").exact(),
    row(Rd, W, "endcmd", "", "the same, after it").exact(),
    row(Rd, W, "mount", "", "").refused(COMMANDS),
    row(Rd, W, "replay", "", "").refused(REPLAY),
];
