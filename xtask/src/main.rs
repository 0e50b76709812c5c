//! The project's chores: `cargo xtask VERB`.

#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod bench;
#[cfg(not(target_os = "linux"))]
#[path = "bench_elsewhere.rs"]
mod bench;
mod check;
mod command;
mod mutate;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask VERB

  check [STEP…]   everything that must hold before a change is merged; or only fmt, clippy, docs, tests, windows
  bench [OPTION]… side by side with fio, written to bench/runs; --smoke, --only ROW, --pairs N, --seconds S, --dir DIR
  mutate fio      take each option of fio away where it is read, and see whether its test notices; minutes, not part of check
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((verb, rest)) = arguments.split_first() else {
        eprint!("{USAGE}");
        return ExitCode::from(4);
    };
    let ended = match verb.as_str() {
        "check" => check::check(rest),
        "bench" => bench::bench(rest),
        "mutate" => mutate::mutate(rest),
        // By `bench` itself.
        "measured" => bench::measured(rest),
        "help" | "-h" | "--help" => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("there is no `{verb}`\n{USAGE}")),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
