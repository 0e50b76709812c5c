//! The table of parameters.

use super::table::Kind::{Numbers as N, Words as W};
use super::table::{Row, Section, row};

const REPLAY: &str = "replaying Swat traces is not supported; fio's `read_iolog` replays blktrace";
const DEDUP: &str = "duplicates are equally likely and do not change; set `dedupratio=`, `dedupunit=` and `dedupsets=` before the first SD";
const CLASS: &str = "it loads Java user code";
const COMMANDS: &str = "commands named in parameter files are not run; run them before and after";
const NO_NEED: &str = "not needed in fathom";
const FLEET: &str = "hosts are connected as a [fleet](fleet.md)";

/// Sections with their parameters, one per line: kind, name, default, description and modifiers.
macro_rules! rows {
    ($($section:ident {
        $($kind:ident $name:literal, $default:literal, $help:literal $(, $modifier:ident($($value:expr)?))*;)*
    })*) => {
        &[$($(row(Section::$section, $kind, $name, $default, $help)$(.$modifier($($value)?))*,)*)*]
    };
}

/// All parameters, those of a section in the order in which abbreviations are resolved.
pub const ROWS: &[Row] = rows! {
    General {
        N "abort_failed_skew", "off",
            "fail where a workload's share differs by more percent", refused("skew is enforced by weights");
        W "auxreport", "", "user code for reports", refused(CLASS);
        N "compratio", "none", "compression ratio of written data";
        N "compression", "none", "the same, as the percentage of the data that remains", refused("set `compratio=`");
        W "compressionseed", "", "seed of the data", without_effect("the run's seed is used");
        W "concatenatesds", "no",
            "the SDs of a WD are one long SD, whose files must exist; each WD, or the RD, needs `threads=`; only with \
             `seekpct=100`, 0 or `eof`, and on one host";
        W "create_anchors", "no", "also create missing parents of anchors";
        W "data_errors", "50",
            "number of errors on all SDs that ends a run: wrong key blocks, and failed reads and writes; a command \
             and `remove_device` are refused";
        N "dedupratio", "none", "ratio of all data to distinct data; whole transfers repeat";
        N "dedupunit", "", "bytes of a duplicate; must divide every transfer size";
        N "dedupsets", "5%", "number of distinct blocks that duplicates repeat, or a percentage of the duplicates";
        W "deduphotsets", "", "sets of duplicates used more often", refused(DEDUP);
        W "dedupflipflop", "no", "duplicates that change over time", refused(DEDUP);
        W "dedupacross", "no", "sets of all SDs";
        W "formatsds", "where needed", "`yes`: lay out every SD before the first run; `no`: never";
        N "formatxfersize", "128k", "block size of the lay-out";
        W "histogram", "27 buckets", "limits of the buckets: `(default,1m,10m)`; `suppress` is accepted";
        W "include", "", "insert the lines of a file";
        W "journal", "no", "as `-j`: `yes` `no` `recover` `noflush` `maponly` `only` `skip_read_all` `ignore_pending`";
        W "loop", "1", "repeat all RDs n times, or for a time (`30m`)";
        W "messagescan", "", "watch the system log", without_effect("system logs are not read");
        W "monitor", "",
            "a file that is emptied at the start and read in each interval: the first line `end_rd` or `shutdown` \
             ends the run, `end_vdbench` or `terminate` the test";
        W "pattern", "", "a file of up to 64k with the data to write, repeated from the start of each transfer";
        N "port", "5570", "TCP port", without_effect(FLEET);
        W "report", "", "more or fewer report files", without_effect("the default files are written");
        W "report_run_totals", "no", "additional file of totals", without_effect("`totals.html` has them");
        W "startcmd", "",
            "`(\"command\",log)`: shell command before the first RD, its output in `log`, `sum` or `cons`; `$output` \
             is the output directory; needs `FATHOM_ALLOW_EXEC=1`", exact();
        W "start_cmd", "", "the same", exact(), as_alias_of("startcmd");
        W "endcmd", "", "the same, after the last RD", exact();
        W "end_cmd", "", "the same", exact(), as_alias_of("endcmd");
        W "validate", "no",
            "as `-v`: `yes` `no` `read_after_write` `no_preread`; `time` and `ignore_zero_reads` are refused";
        W "debug", "", "", without_effect(NO_NEED);
        W "misc", "", "", without_effect(NO_NEED);
        W "psrset", "", "", without_effect(NO_NEED);
        W "showlba", "", "log of addresses", without_effect("`fathom fio` writes them with write_iolog=");
        W "heartbeat_error", "", "", without_effect(NO_NEED);
        W "pattern_buffer", "", "", without_effect(NO_NEED);
        W "unix2windows", "", "", without_effect(NO_NEED);
        W "swat", "", "", refused("The 'swat=' parameter is no longer supported");
        W "host", "", "old form of `hd=`", refused("write `hd=label,system=name`");
    }
    Host {
        W "hd", "localhost", "label, or `default`";
        W "system", "the label", "name or address";
        W "vdbench", "",
            "Vdbench's directory on that host", without_effect("`FATHOM_REMOTE` is the path of fathom there");
        W "master", "", "address of the master", without_effect(FLEET);
        W "shell", "rsh", "`rsh` and `ssh`: by ssh; `vdbench`: over TCP, to `fathom agent --listen`";
        W "user", "", "as whom, by ssh";
        N "jvms", "1", "slaves", without_effect("each host has one process");
        N "clients", "", "`n`: hosts `x_cl0`, `x_cl1`, … on the same system";
        W "mount", "", "mount command", refused(COMMANDS);
    }
    Replay {
        W "rg", "", "name of a group of SDs that replay a trace", refused(REPLAY);
        W "devices", "", "devices of the trace", without_effect("it belongs to `rg=`");
    }
    Sd {
        W "sd", "", "name, or `default`";
        W "lun", "required", "file or block device";
        W "host", "all", "hosts that use the SD; `host=` and `lun=` in pairs are refused";
        W "hd", "all", "the same", as_alias_of("host");
        N "size", "that of the file or device", "used bytes; `(total,n)` divides a total among n";
        N "threads", "8", "operations in flight; `(total,n)` divides a total among n";
        W "openflags", "none",
            "`o_direct` `directio` `o_sync` `o_dsync` `o_rsync` `fsync`, or a number such as `0x4000`; a name below \
             `/dev/` needs `o_direct`";
        N "range", "(0,100)", "used part of the SD: a percentage, or bytes if above 200; beyond 100 % it wraps around";
        N "offset", "0", "added to every address";
        N "align", "0", "random addresses are multiples of it";
        N "hitarea", "1m", "area of hits";
        N "count", "", "`(start,n)`: n definitions";
        W "journal", "output directory", "directory of its journal";
        N "dedupratio", "", "", refused(DEDUP);
        W "replay", "", "", refused(REPLAY);
        W "resetlun", "", "", refused("devices are not reset");
        W "resetbus", "", "", refused("devices are not reset");
        W "kstat", "", "", without_effect(NO_NEED);
        W "instance", "", "", without_effect(NO_NEED);
    }
    Fsd {
        W "fsd", "", "name, or `default`";
        W "anchor", "required", "directory of the tree";
        N "depth", "1", "levels of directories";
        N "width", "1", "subdirectories in each directory";
        N "files", "10", "files in each directory of the last level";
        N "sizes", "4096", "sizes of files: one, `(size,percent,…)`, or `(size,0)`: between 0.5 and 1.5 times the size";
        N "totalsize", "",
            "limit of the tree's total size: it has only its first files up to these bytes; `(total,n)` divides a \
             total among n";
        N "workingsetsize", "",
            "limit of the files that a run uses: each run chooses files at random up to these bytes; `(size,n)` \
             divides";
        N "wss", "", "the same", as_alias_of("workingsetsize");
        W "distribution", "bottom", "directories that contain files: those of the last level, or `all`";
        W "shared", "no", "several hosts use it, each of them every n-th file";
        W "openflags", "none", "as for an SD; `fsync` flushes a file before it is closed";
        W "journal", "output directory", "directory of its journal";
        N "count", "", "`(start,n)`: n definitions";
        W "log", "", "", without_effect(NO_NEED);
        W "host", "", "", refused("No 'host=' parameter is allowed for a File System Definition (FSD)");
    }
    Wd {
        W "wd", "", "name, or `default`";
        W "sd", "required", "SDs, with `*` at the end";
        W "host", "all", "hosts that run it";
        W "hd", "all", "the same", as_alias_of("host");
        N "xfersize", "4096", "one size; `(size,percent,…)`; `(min,max,align)`";
        N "rdpct", "100", "percentage of reads";
        N "readpct", "100", "the same", as_alias_of("rdpct");
        N "wrpct", "0", "percentage of writes";
        N "writepct", "0", "the same", as_alias_of("wrpct");
        W "seekpct", "100",
            "percentage of random addresses; `seq`, `rand`, `eof`; `(poisson,midpoint)`: fewer towards the end, in \
             100 steps";
        N "stride", "",
            "`(min,max)`: jumps forward over min bytes and a random multiple of the transfer size, less than max in \
             all";
        N "skew", "the rest", "percent of the operations";
        N "iorate", "", "a separate rate, in an RD with `iorate=max`; at most one WD may be without a rate";
        N "priority", "", "different in each WD of such an RD; the WD without a rate must have the last";
        N "rhpct", "0", "percentage of reads in the hit area";
        N "whpct", "0", "percentage of writes in the hit area";
        N "range", "that of the SD", "as for an SD";
        N "hotband", "", "replaces `range=` by a range whose beginning is used most, as with `poisson` and 3";
        W "openflags", "those of the SD", "as for an SD";
        N "streams", "",
            "number of parallel sequential positions; with `iorate=max` and one WD, without `concatenatesds=yes`";
        N "threads", "", "operations in flight, only with `concatenatesds=yes`";
        W "user", "", "", refused(CLASS);
    }
    Fwd {
        W "fwd", "", "name, `default`, or `format` for the creation of trees (`threads=`, `xfersize=`)";
        W "fsd", "required", "FSDs, with `*` at the end";
        W "operation", "read",
            "`read`, `write`, `mkdir`, `rmdir`, `create`, `delete`, `getattr`, `setattr`, `access`, `open`, `close`, \
             `copy`, `move`";
        W "operations", "read", "the same", as_alias_of("operation");
        N "rdpct", "off", "percentage of reads among reads and writes of the same file";
        N "readpct", "off", "the same", as_alias_of("rdpct");
        W "fileio", "sequential",
            "order in a file: `sequential`, `random`, `(random,shared)`, with which threads take the same files, or \
             `(sequential,delete)`, which removes a file before it is written again", exact();
        W "fileselect", "sequential",
            "order of files: `sequential`, each thread having its own, `once`, which ends after the last file, \
             `random`, or `(poisson,midpoint)`: the first ones most";
        N "xfersizes", "4096", "one size, or `(size,percent,…)`";
        N "threads", "1", "parallel operations, divided among its FSDs and operations";
        W "stopafter", "the file", "blocks until the next file, or a percentage of the file";
        N "skew", "the rest", "percent of the operations";
        W "target", "", "destination FSD of `copy` and `move`, with the same `depth=`, `width=`, `files=` and `sizes=`";
        W "host", "all", "hosts that run it";
        W "hd", "all", "the same", as_alias_of("host");
        W "openflags", "those of the FSD", "as for an FSD";
    }
    Rd {
        W "rd", "", "name, or `default`";
        W "wd", "", "workloads, with `*` at the end", exact(), only_raw();
        W "fwd", "", "file system workloads", exact(), only_files();
        W "sd", "those of the WDs", "other SDs; `single`: a run for each", exact(), only_raw();
        W "fsd", "those of the FWDs", "other FSDs", exact(), only_files();
        N "iorate", "required", "operations per second; `max`, `curve`, lists, `70%` of the last rate", only_raw();
        N "fwdrate", "", "the same for file systems", only_files();
        N "curve", "(10,50,70,80,90,100)", "points, as percentages";
        N "stopcurve", "off", "response time in ms that ends the test";
        N "elapsed", "30", "seconds";
        N "interval", "1", "seconds";
        N "warmup", "0", "seconds of warm-up, in addition to `elapsed`";
        N "pause", "0", "seconds after";
        W "distribution", "exponential",
            "arrivals: `exponential`, `uniform`, `deterministic`; `variable`: the rates of `iorate=(rate,seconds,…)` \
             one after another, exponential or as in `(variable,uniform)`; `spike`: all arrivals of a second at its \
             start";
        N "maxdata", "",
            "bytes after which the run ends with the next interval; up to 100: a multiple of the size of the SDs";
        N "maxdataread", "", "the same for runs that only read; refused together with writes";
        N "maxdatawritten", "", "the same for runs that only write; refused together with reads";
        N "xfersize", "", "loop";
        N "threads", "that of the SDs", "loop";
        N "rdpct", "", "loop";
        N "rhpct", "", "loop", only_raw();
        N "whpct", "", "loop", only_raw();
        N "seekpct", "", "loop", only_raw();
        N "hitarea", "", "loop", only_raw();
        N "compratio", "", "loop";
        N "forxfersize", "", "loop", as_alias_of("xfersize");
        N "forthreads", "", "loop", as_alias_of("threads");
        N "forrdpct", "", "loop", as_alias_of("rdpct");
        N "forrhpct", "", "loop", as_alias_of("rhpct"), only_raw();
        N "forwhpct", "", "loop", as_alias_of("whpct"), only_raw();
        N "forseekpct", "", "loop", as_alias_of("seekpct"), only_raw();
        N "forhitarea", "", "loop", as_alias_of("hitarea"), only_raw();
        N "forcompratio", "", "loop", as_alias_of("compratio");
        N "forcompression", "", "loop", refused("set `forcompratio=`");
        N "fordepth", "", "loop of FSDs", as_alias_of("depth"), only_files();
        N "forwidth", "", "loop of FSDs", as_alias_of("width"), only_files();
        N "forfiles", "", "loop of FSDs", as_alias_of("files"), only_files();
        N "forsizes", "", "loop of FSDs", as_alias_of("sizes"), only_files();
        N "fortotalsize", "", "loop of FSDs", as_alias_of("totalsize"), only_files();
        N "forwss", "", "loop of FSDs", as_alias_of("wss"), only_files();
        N "forworkingsetsize", "", "loop of FSDs", as_alias_of("wss"), only_files();
        W "foroperations", "", "loop of operations", only_files();
        W "operations", "those of the FWDs", "several operations in parallel, for every FWD", only_files();
        W "operation", "", "the same", as_alias_of("operations"), only_files();
        W "openflags", "", "for every SD";
        W "format", "no",
            "create the tree first: `yes` recreates it, `restart` adds what is missing, `clean` removes it, \
             `directories`, `only`, `once`; `limited`, with `only`: end after `elapsed=`", only_files();
        W "startcmd", "", "as the general one, before each run of this RD", exact();
        W "endcmd", "", "the same, after it", exact();
        W "mount", "", "", refused(COMMANDS);
        W "replay", "", "", refused(REPLAY);
    }
};
