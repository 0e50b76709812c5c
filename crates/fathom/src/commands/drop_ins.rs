//! The help of `fathom fio` and `fathom diskspd`. Their arguments are parsed by the dialect, not by clap.

use clap::{Arg, Command};

fn drop_in(name: &'static str, about: &'static str, long_about: &'static str, words: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .long_about(long_about)
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

/// `fathom diskspd`.
pub fn diskspd() -> Command {
    drop_in(
        "diskspd",
        "Run a DiskSpd command line or XML profile unchanged",
        "Runs a command line or XML profile of DiskSpd 2.2 unchanged, prints its report as text (or XML with -Rxml) and \
         ends with its exit codes. The program does the same without this word where it is called `diskspd`, by a copy \
         or a link.\n\n\
         `fathom diskspd -?` lists the switches; docs/diskspd.md tells what each does here. FATHOM_NOTES=1 shows notes \
         where stderr is not a terminal, FATHOM_RESULT=FILE saves the native result too, FATHOM_HISTORY=on keeps it in the history, FATHOM_ALLOW_DESTROY=DEVICE \
         names a device again that the guard would not give away, FATHOM_DISKSPD_TEXT=2.0 prints the report in its \
         older form.",
        "Switches and targets, as for DiskSpd",
    )
}

/// `fathom fio`.
pub fn fio() -> Command {
    drop_in(
        "fio",
        "Run a fio command line or job file unchanged",
        "Runs a command line or job files of fio 3.42 unchanged, prints its report (normal, terse, JSON or JSON+) and ends \
         with its exit codes. The program does the same without this word where it is called `fio`, by a copy or a \
         link.\n\n\
         `fathom fio --help` lists the options, `fathom fio --cmdhelp` those of jobs; docs/fio.md tells what each does here. \
         FATHOM_NOTES=1 shows notes where stderr is not a terminal, FATHOM_RESULT=FILE saves the native result too, FATHOM_HISTORY=on keeps \
         it in the history, FATHOM_ALLOW_DESTROY=DEVICE names a device again that the guard would not give away, FATHOM_ALLOW_EXEC=1 \
         permits commands of the shell in jobs.",
        "Options and job files, as for fio",
    )
}
