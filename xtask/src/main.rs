//! Development commands: `cargo xtask VERB`.

#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod arm64;
#[cfg(target_os = "linux")]
mod bench;
mod check;
mod command;
mod conformance;
#[cfg(target_os = "linux")]
mod dist;
mod docs;
#[cfg(target_os = "linux")]
mod faults;
mod fuzz;
mod mutate;
#[cfg(target_os = "linux")]
mod screenshots;
mod verdicts;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "Wine is for other systems than Windows")
)]
mod windows;
#[cfg(target_os = "linux")]
mod wine;
#[cfg(target_os = "linux")]
mod zig;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask VERB

  check [STEP…]   everything that must hold before a change is merged; or only fmt, words, clippy, docs, tests, windows, …;
                  --no-run wine arm64 only compiles these two
  test [--all]    the default tests; with --all also fleets, the fio and DiskSpd drop-ins, throttled devices and browser pages
  bench [OPTION]… compare with fio, and record in bench/runs; --smoke, --only ROW, --pairs N, --seconds S, --dir DIR
  wine -- ARG…    fathom.exe, built and run under Wine; `wine test ARG…` runs the Windows tests with `cargo test ARG…`
  dist [NAME]…    build the release archives in target/dist: linux-gnu, linux-musl, linux-arm64, windows, deb; all of them if none is named
  conformance --fio-source DIR [--suite NAME]… [--program PATH] [--python PATH]  fio's own tests with this program as fio
  faults [--scenario NAME]… [--seconds N] [--program PATH]  each system call of short commands fails; needs strace, takes half an hour
  docs            check links and command lines of the documents; with mdbook, build the book in target/book
  fuzz [--seconds N] [--target NAME]… [--seed N]  mutated inputs for each parser; 60 seconds each by default
  mutate fio      remove each fio option where it is read, and see whether its test notices; takes minutes, not part of check
  screenshots [--program PATH] [FILE]…  the pictures in docs/pictures, from runs of the program; needs tmux, chromium and pdftoppm
  verdicts [--seeds N]  verdicts on simulated devices of known truth, into docs/verdict-accuracy.md; 100 seeds take 20 minutes
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((verb, rest)) = arguments.split_first() else {
        eprint!("{USAGE}");
        return ExitCode::from(4);
    };
    let ended = match verb.as_str() {
        "check" => check::check(rest),
        "test" => test(rest),
        "docs" => docs::docs(rest),
        "fuzz" => fuzz::fuzz(rest),
        "mutate" => mutate::mutate(rest),
        "conformance" => conformance::conformance(rest),
        "verdicts" => verdicts::verdicts(rest),
        #[cfg(target_os = "linux")]
        "bench" => bench::bench(rest),
        // `bench` starts it.
        #[cfg(target_os = "linux")]
        "measured" => bench::measured(rest),
        #[cfg(target_os = "linux")]
        "dist" => dist::dist(rest),
        #[cfg(target_os = "linux")]
        "faults" => faults::faults(rest),
        #[cfg(target_os = "linux")]
        "screenshots" => screenshots::screenshots(rest),
        #[cfg(target_os = "linux")]
        "wine" => wine::wine(rest),
        #[cfg(not(target_os = "linux"))]
        "bench" | "dist" | "faults" | "screenshots" | "wine" => Err(format!("`{verb}` needs Linux")),
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

fn test(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => command::run(command::cargo().args(["test", "--workspace"])),
        [all] if all == "--all" => check::tests(),
        _ => Err("usage: cargo xtask test [--all]".to_owned()),
    }
}
