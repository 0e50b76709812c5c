//! `cargo xtask screenshots`: the pictures of the README and the docs, made from the program
//! itself. Not part of `check`: figures differ from run to run.

mod terminal;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::command::{cannot, fathom, read, root, run, select, write};
use terminal::Terminal;

type Picture = (&'static str, fn(&Path) -> Result<Vec<u8>, String>);

/// Files in `docs/pictures`, with what draws them by the program at a path.
const PICTURES: [Picture; 13] = [
    ("live.svg", live),
    ("report.png", report),
    ("sweep.png", sweep),
    ("run.png", |program| run_page(program, &Shot::new(1280, 800))),
    ("run-800.png", |program| run_page(program, &Shot::new(800, 800))),
    ("run-420.png", |program| run_page(program, &Shot::new(420, 1400))),
    ("run-print.png", |program| {
        run_page(program, &Shot::new(0, 0).on(Medium::Paper))
    }),
    ("run-no-script.png", |program| {
        run_page(program, &Shot::new(1280, 800).on(Medium::NoScript))
    }),
    ("compare.png", compare),
    ("suite.png", suite),
    ("serve.png", |program| history(program, &Shot::new(1280, 480))),
    ("serve-800.png", |program| history(program, &Shot::new(800, 500))),
    ("serve-420.png", |program| history(program, &Shot::new(420, 700))),
];

/// Builds the program, unless one is given with `--program PATH`, and makes the named pictures, or
/// all.
pub(crate) fn screenshots(words: &[String]) -> Result<(), String> {
    let (given, only) = match words {
        [flag, path, rest @ ..] if flag == "--program" => (Some(path), rest),
        _ => (None, words),
    };
    let pictures = select(&PICTURES, only, "picture")?;
    let program = fathom(given.map(Path::new), "release")?;
    for (name, draw) in pictures {
        let path: PathBuf = root().join("docs/pictures").join(name);
        std::fs::write(&path, draw(&program)?).map_err(cannot("write", &path))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// The live view of a load on two files, several seconds into its measured window.
fn live(program: &Path) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir_in(root().join("target")).map_err(|error| error.to_string())?;
    let place = folder.path();
    let terminal = Terminal::open(88, 31, place)?;
    // By a relative name, so that the picture shows no folders of this machine.
    std::os::unix::fs::symlink(program, place.join("fathom")).map_err(|error| error.to_string())?;
    terminal.types(
        "clear; ./fathom run --target orders.dat --target journal.dat --size 256m --block 8k --read 70 --depth 16 --time 60s",
    )?;
    std::thread::sleep(Duration::from_secs(30));
    let picture = terminal.picture()?;
    terminal.types("q")?;
    // It removes what it created.
    std::thread::sleep(Duration::from_secs(3));
    Ok(picture.into_bytes())
}

/// How to take a picture of a page.
struct Shot {
    width: u32,
    height: u32,
    medium: Medium,
}

#[derive(Clone, Copy, PartialEq)]
enum Medium {
    Screen,
    /// A screen whose browser runs no scripts.
    NoScript,
    /// The first sheet.
    Paper,
}

impl Shot {
    fn new(width: u32, height: u32) -> Shot {
        Shot {
            width,
            height,
            medium: Medium::Screen,
        }
    }

    fn on(self, medium: Medium) -> Shot {
        Shot { medium, ..self }
    }
}

/// The first screen of the page of a broken promise, on the simulated device of the examples.
fn report(program: &Path) -> Result<Vec<u8>, String> {
    let example = root().join("examples/simulated.toml");
    let job = read(&example)?;
    let line = [
        "verify", "disk.toml", "--require", "iops>=100000,p99<=3ms", "--cap", "disk:iops=80000", "--quick", "--report",
        "page.html",
    ];
    page(program, &job, &[&line], &Shot::new(1280, 900))
}

/// A device of 16 servers.
const SERVERS: &str = "name = \"orders database\"\n[[job]]\ntarget = \"simulated:disk\"\nblock = \"8KiB\"\nread = 70\n\
    time = \"2s\"\nwarm-up = \"0s\"\n[simulated.disk]\nsize = \"100GiB\"\nservers = 16\nservice = \"lognormal 400us 0.5\"\n";

/// The first screen of the page of a sweep.
fn sweep(program: &Path) -> Result<Vec<u8>, String> {
    let line = ["sweep", "disk.toml", "--over", "depth=1..64", "--report", "page.html"];
    page(program, SERVERS, &[&line], &Shot::new(1280, 820))
}

/// The page of a run on a file of this machine.
fn run_page(program: &Path, shot: &Shot) -> Result<Vec<u8>, String> {
    let line = [
        "run", "--target", "orders.dat", "--size", "256m", "--block", "8k", "--read", "70", "--depth", "16", "--time",
        "30s", "--save", "orders.fathom", "--report", "page.html",
    ];
    page(program, "", &[&line], shot)
}

/// The page of three results.
fn compare(program: &Path) -> Result<Vec<u8>, String> {
    let run = |saved| {
        [
            "run", "--target", "orders.dat", "--size", "256m", "--block", "8k", "--keep", "--time", "10s", "--save",
            saved,
        ]
    };
    let names = ["monday.fathom", "tuesday.fathom", "today.fathom"];
    let [first, second, third] = names.map(run);
    let compare = [&["compare"][..], &names[..], &["--report", "page.html"][..]].concat();
    page(program, "", &[&first, &second, &third, &compare], &Shot::new(1280, 800))
}

/// A suite of two loads, one of which breaks its promise.
const SUITE: &str = "name = \"acceptance\"\n[defaults]\ntarget = \"simulated:disk\"\nwarm-up = \"1s\"\ntime = \"20s\"\n\
    [[workload]]\nname = \"orders\"\nblock = \"8KiB\"\nread = 70\nrequire = \"iops>=1000,mean<=4ms\"\n\
    [[workload]]\nname = \"reports\"\nblock = \"64KiB\"\nrequire = \"iops>=1000,p90<=3ms\"\n\
    [simulated.disk]\nsize = \"100GiB\"\nservers = 8\nservice = \"exponential 2ms\"\n";

fn suite(program: &Path) -> Result<Vec<u8>, String> {
    let line = ["suite", "disk.toml", "--report", "page.html"];
    page(program, SUITE, &[&line], &Shot::new(1280, 820))
}

/// The list of `fathom serve`.
fn history(program: &Path, shot: &Shot) -> Result<Vec<u8>, String> {
    let folder = folder()?;
    let place = folder.path();
    write(&place.join("disk.toml"), SERVERS)?;
    let verify = |promise| ["verify", "disk.toml", "--require", promise, "--quick"];
    let deep = ["run", "disk.toml", "--depth", "16", "--name", "orders, 16 in flight"];
    let [kept, missed] = ["iops>=1500,p99<=3ms", "iops>=1500,p99<=1ms"].map(verify);
    measure(
        program,
        place,
        "h.sqlite",
        &[&["run", "disk.toml"], &deep, &kept, &missed],
    )?;
    let mut server = Command::new(program)
        .args(["serve", "--listen", "0"])
        .env("FATHOM_HISTORY", place.join("h.sqlite"))
        .stdout(Stdio::piped())
        .spawn()
        .map_err(cannot("start", program))?;
    let list = read_list(&mut server);
    let ended = server.kill().and_then(|()| server.wait());
    ended.map_err(|error| format!("fathom serve: {error}"))?;
    let list = list.map_err(|error| format!("fathom serve: {error}"))?;
    write(&place.join("page.html"), &list)?;
    take_screenshot(place, shot)
}

/// The list, from the address that the server prints first.
fn read_list(server: &mut Child) -> std::io::Result<String> {
    let mut address = String::new();
    BufReader::new(server.stdout.take().expect("it is piped")).read_line(&mut address)?;
    let host = address.trim().trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET / HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    Ok(body.to_owned())
}

/// A folder whose name reveals nothing about this machine: pages show where their target is.
fn folder() -> Result<TempDir, String> {
    let folder = tempfile::Builder::new()
        .prefix("data")
        .rand_bytes(0)
        .tempdir_in("/var/tmp");
    folder.map_err(|error| format!("/var/tmp/data: {error}"))
}

/// The upper part of `page.html`, which the last of these commands writes for `disk.toml`.
fn page(program: &Path, job: &str, lines: &[&[&str]], shot: &Shot) -> Result<Vec<u8>, String> {
    let folder = folder()?;
    let place = folder.path();
    write(&place.join("disk.toml"), job)?;
    let complaints = measure(program, place, "off", lines)?;
    if !place.join("page.html").exists() {
        return Err(format!("no page was written: {complaints}"));
    }
    take_screenshot(place, shot)
}

/// Runs commands in a folder, with a history; returns their complaints.
fn measure(program: &Path, place: &Path, history: &str, lines: &[&[&str]]) -> Result<String, String> {
    let mut complaints = String::new();
    for words in lines {
        // By a relative name, so that the picture shows no folders of this machine.
        let mut measure = Command::new(program);
        measure.arg0("fathom").current_dir(place).env("FATHOM_HISTORY", history);
        // A broken promise is not a failure of the program.
        let ended = measure.args(*words).output().map_err(cannot("start", program))?;
        complaints += &String::from_utf8_lossy(&ended.stderr);
    }
    Ok(complaints)
}

/// A picture of `page.html` in a folder.
fn take_screenshot(place: &Path, shot: &Shot) -> Result<Vec<u8>, String> {
    let picture = place.join("page.png");
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-lcd-text",
    ]);
    if shot.medium == Medium::Paper {
        let sheet = place.join("page.pdf");
        browser
            .arg(format!("--print-to-pdf={}", sheet.display()))
            .arg("--no-pdf-header-footer");
        run(browser.arg(format!("file://{}/page.html", place.display())))?;
        let mut sheets = Command::new("pdftoppm");
        run(sheets
            .args(["-png", "-r", "72", "-singlefile"])
            .arg(sheet)
            .arg(place.join("page")))?;
    } else {
        if shot.medium == Medium::NoScript {
            forbid_scripts(&place.join("page.html")).map_err(|error| error.to_string())?;
        }
        // No window is narrower than 500 pixels, so a page is framed.
        let Shot { width, height, .. } = shot;
        let frame = format!(
            "<body style='margin:0'><iframe src='page.html' style='border:0;width:{width}px;height:{height}px'></iframe>"
        );
        let file = place.join("frame.html");
        write(&file, &frame)?;
        browser.args([
            // Small enough for a page: below 120 KB.
            "--force-device-scale-factor=0.75",
            "--allow-file-access-from-files",
            "--virtual-time-budget=15000",
            &format!("--window-size={width},{height}"),
            &format!("--screenshot={}", picture.display()),
        ]);
        run(browser.arg(format!("file://{}", file.display())))?;
    }
    std::fs::read(&picture).map_err(cannot("read", &picture))
}

/// Forbids scripts in the security policy of a page.
fn forbid_scripts(page: &Path) -> std::io::Result<()> {
    const SCRIPTS: &str = "script-src ";
    let mut text = std::fs::read_to_string(page)?;
    if let Some(at) = text.find(SCRIPTS).map(|at| at + SCRIPTS.len()) {
        let end = at + text[at..].find(';').unwrap_or(0);
        text.replace_range(at..end, "'none'");
    }
    std::fs::write(page, text)
}
