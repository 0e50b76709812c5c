//! The browser: installed once for all runs of the tests, driven by `browser.py`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Value, json};

/// What drives the browser, in the version that was tried.
const DRIVER: &str = "playwright==1.65.2";
/// Names under which Debian and others install it.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A series of a chart.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Trace {
    pub name: Option<String>,
    /// Horizontal values.
    pub x: Vec<Value>,
    /// Vertical values.
    pub y: Vec<Value>,
    /// Values of a heat map.
    pub values: Option<Vec<Vec<Value>>>,
}

/// What a reader finds on a page.
#[derive(Clone, Debug, Deserialize)]
pub struct Seen {
    pub errors: Vec<String>,
    pub requests: Vec<String>,
    pub ready_secs: f64,
    pub state: String,
    pub title: String,
    pub answer: String,
    pub evil: Option<String>,
    pub charts: BTreeMap<String, Vec<Trace>>,
    /// Charts that are not drawn where their figures are.
    pub misplaced: Vec<String>,
    /// Rows of charts that leave a part of the page's width empty.
    pub unfilled: Vec<String>,
    /// Texts of drawings that overlap, on a wide screen or on a phone.
    pub overlapping: Vec<String>,
    /// Tables that scroll sideways without a sign of it.
    pub uncued: Vec<String>,
    /// Charts that are drawn without a script, and those of them on a first screen of 1280 by 800.
    pub drawn_without_script: [usize; 2],
    pub hovered: Option<String>,
    pub toggled: Option<[Vec<bool>; 3]>,
    pub zoomed: Option<[[f64; 2]; 2]>,
    pub downloads: BTreeMap<String, String>,
    pub dark: String,
    pub phone_width: u32,
    pub printed_bytes: u64,
    pub printed_pages: u64,
}

impl Seen {
    /// A series of a chart.
    pub fn trace(&self, chart: &str, name: &str) -> &Trace {
        let traces = self
            .charts
            .get(chart)
            .unwrap_or_else(|| panic!("no chart {chart}: {:?}", self.charts.keys()));
        // The edges of bands have no name.
        traces
            .iter()
            .find(|trace| trace.name.as_deref() == Some(name))
            .unwrap_or_else(|| panic!("{chart} has no series {name}"))
    }
}

fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&folders).flat_map(|folder| BROWSERS.map(|name| folder.join(name)));
    found.into_iter().find(|path| path.is_file())
}

/// The interpreter with the driver.
fn interpreter() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser-driver");
        testbed::need(testbed::python_packages(&folder, &[DRIVER]))?;
        Some(folder.join("bin/python"))
    };
    FOUND.get_or_init(install).as_deref()
}

/// What a reader finds on the pages of `fathom serve`.
#[derive(Clone, Debug, Deserialize)]
pub struct Walked {
    pub errors: Vec<String>,
    pub elsewhere: Vec<String>,
    pub rows: u32,
    /// State of the page, charts on it, text of the first screen.
    pub entry: (String, u32, String),
    pub compared: String,
}

/// Opens pages, one after the other; `None` where there is no browser.
pub fn open_pages(pages: &[&Path]) -> Option<Vec<Seen>> {
    let output = driven(json!({ "pages": pages }))?;
    let mut seen: BTreeMap<PathBuf, Seen> = serde_json::from_slice(&output).unwrap();
    Some(
        pages
            .iter()
            .map(|page| seen.remove(*page).expect("each page was looked at"))
            .collect(),
    )
}

/// Goes through the pages of a server; `None` where there is no browser.
pub fn walk(address: &str) -> Option<Walked> {
    let output = driven(json!({ "site": address }))?;
    Some(serde_json::from_slice(&output).unwrap())
}

fn driven(mut asked: Value) -> Option<Vec<u8>> {
    let Some(browser) = browser() else {
        testbed::skip(format!("no browser is installed: one of {}", BROWSERS.join(", ")));
        return None;
    };
    let python = interpreter()?;
    let artefacts = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&artefacts).unwrap();
    asked["browser"] = json!(browser);
    asked["artefacts"] = json!(artefacts);
    let mut child = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/browser.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(asked.to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// A report of fio among the data of the tests.
pub fn example(data: &Path) -> PathBuf {
    let folder = data.join("fio");
    let mut pending = vec![folder];
    let mut found = Vec::new();
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => pending.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    let is_report = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "json")
            && std::fs::read_to_string(path)
                .is_ok_and(|text| text.contains("\"fio version\"") && text.contains("\"jobs\""))
    };
    found.into_iter().find(is_report).expect("there is a report of fio")
}
