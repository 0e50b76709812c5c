//! The help of the drop-in modes. The dialect parses their arguments, not clap.

use clap::{Arg, Command};

const FILES: &str = "Files are used as that tool uses them: without asking, the job overwrites, extends, truncates or \
    removes existing files that it names.";

fn drop_in(name: &'static str, about: &'static str, long_about: &'static str, words: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .long_about(format!("{long_about}\n\n{FILES}"))
        .disable_help_flag(true)
        .arg(
            Arg::new("arguments")
                .value_name("ARGUMENTS")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help(words),
        )
}

/// Builds the help of `fathom diskspd`.
pub fn diskspd() -> Command {
    drop_in(
        "diskspd",
        "Run a DiskSpd command line or XML profile unchanged",
        "Runs a command line or XML profile of DiskSpd 2.2 unchanged, prints its report as text (or XML with -Rxml) \
         and ends with its exit codes. The program does the same when it is called as `diskspd`, through a copy or a \
         link.\n\n`fathom diskspd -?` lists the switches; docs/diskspd.md describes what each does here. \
         FATHOM_NOTES=1 shows notes even if stderr is not a terminal, FATHOM_RESULT=FILE also saves the native \
         result, --report FILE (or FATHOM_REPORT=FILE) writes an HTML page with charts, FATHOM_HISTORY=on keeps the \
         result in the history, FATHOM_ALLOW_DESTROY=DEVICE permits a device that the guard would refuse, FATHOM_DISKSPD_TEXT=2.0 prints the report in its older form.",
        "Switches and targets, as for DiskSpd",
    )
}

/// Builds the help of `fathom vdbench`.
pub fn vdbench() -> Command {
    drop_in(
        "vdbench",
        "Run Vdbench parameter files unchanged",
        "Runs parameter files of Vdbench 5.04.07 unchanged, with raw workloads (SD, WD, RD) and on file systems \
         (FSD, FWD, RD), prints its console, writes its output directory and ends with its exit codes (0, 157). \
         The program does the same when it is called as `vdbench`, through a copy or a link.\n\ndocs/vdbench.md lists the options and the effect of each \
         parameter. FATHOM_VDBENCH_LAYOUT=5.04.06 writes the columns of that release, FATHOM_VDBENCH_SEED=N makes \
         random addresses repeatable, FATHOM_NOTES=1 shows notes even if stderr is not a terminal, \
         FATHOM_RESULT=FILE also saves the native result of each run, --report FILE (or FATHOM_REPORT=FILE) \
         writes an HTML page with charts, FATHOM_HISTORY=on keeps the result in the history, \
         FATHOM_ALLOW_DESTROY=DEVICE permits a device that the guard would refuse, FATHOM_ALLOW_EXEC=1 permits \
         `startcmd=` and `endcmd=`.",
        "Options and variables, as for Vdbench",
    )
}

/// Builds the help of `fathom fio`.
pub fn fio() -> Command {
    drop_in(
        "fio",
        "Run a fio command line or job file unchanged",
        "Runs a command line or job files of fio 3.42 unchanged, prints its report (normal, terse, JSON or JSON+) \
         and ends with its exit codes. The program does the same when it is called as `fio`, through a copy or a \
         link.\n\n`fathom fio --help` lists the options, `fathom fio --cmdhelp` the job options; docs/fio.md \
         describes what each does here. FATHOM_NOTES=1 shows notes even if stderr is not a terminal, \
         FATHOM_RESULT=FILE also saves the native result, --report FILE (or FATHOM_REPORT=FILE) writes \
         an HTML page with charts, FATHOM_HISTORY=on keeps the result in the history, \
         FATHOM_ALLOW_DESTROY=DEVICE permits a device that the guard would refuse, FATHOM_ALLOW_EXEC=1 permits shell \
         commands in jobs.",
        "Options and job files, as for fio",
    )
}

/// Builds the help of `fathom iometer`.
pub fn iometer() -> Command {
    drop_in(
        "iometer",
        "Run an Iometer configuration file unchanged",
        "Runs a configuration file of Iometer (.icf, 1998 to 1.1.0) unchanged in batch mode: `fathom iometer x.icf \
         results.csv` or `/c x.icf /r results.csv`. Appends the results in Iometer's form and ends with 0, or with 1 \
         where something failed or was refused. The program does the same when it is called as `iometer`, through a \
         copy or a link.\n\n`fathom iometer /?` lists the switches; docs/iometer.md describes what each key does \
         here. --map translates targets of other systems: \"D:=/mnt/data\". FATHOM_NOTES=1 shows notes even if \
         stderr is not a terminal, FATHOM_RESULT=FILE also saves the native result, --report FILE (or \
         FATHOM_REPORT=FILE) writes an HTML page with charts, FATHOM_HISTORY=on keeps the result \
         in the history, FATHOM_ALLOW_DESTROY=DEVICE permits a device that the guard would refuse.",
        "Switches and files, as for Iometer",
    )
}
