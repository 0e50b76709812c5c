//! Puts the chart library of HTML reports, compressed, where `src/html/library.rs` includes it.

use std::io::Write;
use std::path::PathBuf;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;
use plotly::Plot;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let scripts = Plot::offline_js_sources();
    let script = first_script(&scripts).expect("the chart library comes in a script element");
    assert!(script.contains("plotly.js v"), "the first script is the chart library");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    fs::write(folder.join("plotly.js.gz"), compressed(script.as_bytes())).expect("OUT_DIR can be written");
}

/// The text of the first script element: the library itself. The second typesets formulas, which no report has.
fn first_script(html: &str) -> Option<&str> {
    let begin = html.find('>')? + 1;
    let end = html.find("</script>\n")?;
    html.get(begin..end)
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("writing to memory does not fail");
    encoder.finish().expect("writing to memory does not fail")
}
