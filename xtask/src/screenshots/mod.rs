//! `cargo xtask screenshots`: the pictures of the README and the docs, made from the program
//! itself. Not part of `check`: figures differ from run to run.

mod terminal;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::command::{cargo, root, run};
use terminal::Terminal;

type Picture = (&'static str, fn(&Path) -> Result<Vec<u8>, String>);

/// Files in `docs/pictures`, with what draws them by the program at a path.
const PICTURES: [Picture; 3] = [("live.svg", live), ("report.png", report), ("sweep.png", sweep)];

/// Builds the program, unless one is given with `--program PATH`, and makes the named pictures, or
/// all.
pub(crate) fn screenshots(words: &[String]) -> Result<(), String> {
    let (given, only) = match words {
        [flag, path, rest @ ..] if flag == "--program" => (Some(path), rest),
        _ => (None, words),
    };
    if let Some(unknown) = only
        .iter()
        .find(|name| !PICTURES.iter().any(|(known, _)| known == name))
    {
        let known = PICTURES.map(|(name, _)| name).join(", ");
        return Err(format!("there is no picture `{unknown}`; there are {known}"));
    }
    let program = match given {
        Some(path) => std::fs::canonicalize(path).map_err(|error| format!("{path}: {error}"))?,
        None => {
            run(cargo().args(["build", "--release", "--package", "fathom"]))?;
            root().join("target/release/fathom")
        }
    };
    for (name, draw) in PICTURES
        .iter()
        .filter(|(name, _)| only.is_empty() || only.iter().any(|one| one == name))
    {
        let path: PathBuf = root().join("docs/pictures").join(name);
        std::fs::write(&path, draw(&program)?).map_err(|error| format!("{}: {error}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// The live view of a load on two files, some seconds into its measured window.
fn live(program: &Path) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir_in(root().join("target")).map_err(|error| error.to_string())?;
    let place = folder.path();
    let terminal = Terminal::open(88, 31, place)?;
    // By a name, so that the picture tells nothing of this machine's folders.
    std::os::unix::fs::symlink(program, place.join("fathom")).map_err(|error| error.to_string())?;
    terminal.types(
        "clear; ./fathom run --target orders.dat --target journal.dat --size 256m --block 8k --read 70 --depth 16 --time 60s",
    )?;
    std::thread::sleep(Duration::from_secs(30));
    let picture = terminal.picture()?;
    terminal.types("q")?;
    // It removes what it has made.
    std::thread::sleep(Duration::from_secs(3));
    Ok(picture.into_bytes())
}

/// The first screen of the page of a promise that is not kept, on the simulated device of the
/// examples.
fn report(program: &Path) -> Result<Vec<u8>, String> {
    let example = root().join("examples/simulated.toml");
    let job = std::fs::read_to_string(&example).map_err(|error| format!("{}: {error}", example.display()))?;
    page(
        program,
        &job,
        &["verify", "disk.toml", "--require", "iops>=100000,p99<=3ms", "--quick"],
        1260,
    )
}

/// A device of 16 servers.
const SERVERS: &str = "name = \"orders database\"\n[[job]]\ntarget = \"simulated:disk\"\nblock = \"8KiB\"\nread = 70\n\
    time = \"2s\"\nwarm-up = \"0s\"\n[simulated.disk]\nsize = \"100GiB\"\nservers = 16\nservice = \"lognormal 400us 0.5\"\n";

/// The first screen of the page of a sweep.
fn sweep(program: &Path) -> Result<Vec<u8>, String> {
    page(program, SERVERS, &["sweep", "disk.toml", "--over", "depth=1..64"], 820)
}

/// The upper part of the page that a command writes about `disk.toml`, of this height in pixels.
fn page(program: &Path, job: &str, words: &[&str], height: u32) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir_in(root().join("target")).map_err(|error| error.to_string())?;
    let place = folder.path();
    let (page, picture) = (place.join("page.html"), place.join("page.png"));
    std::fs::write(place.join("disk.toml"), job).map_err(|error| error.to_string())?;
    // By a name, so that the picture tells nothing of this machine's folders.
    let mut measure = Command::new(program);
    measure.arg0("fathom").current_dir(place).env("FATHOM_HISTORY", "off");
    measure.args(words).args(["--report", "page.html"]);
    // A promise that is not kept is no failure of the program.
    let ended = measure
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if !page.exists() {
        return Err(format!("no page was made: {}", String::from_utf8_lossy(&ended.stderr)));
    }
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        // Small enough for a page: below 120 KB.
        "--force-device-scale-factor=0.75",
        "--disable-lcd-text",
        &format!("--window-size=1280,{height}"),
        "--virtual-time-budget=15000",
    ]);
    browser
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display()));
    run(&mut browser)?;
    std::fs::read(&picture).map_err(|error| format!("{}: {error}", picture.display()))
}
