//! Compresses the published schemas, a megabyte of text, for `fathom schema`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;

const FOLDER: &str = "../../docs/schema";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets it"));
    for entry in fs::read_dir(FOLDER)? {
        let entry = entry?;
        let name = format!("{}.gz", entry.file_name().display());
        let mut packed = GzEncoder::new(File::create(out.join(name))?, Compression::best());
        packed.write_all(&fs::read(entry.path())?)?;
        packed.finish()?;
    }
    Ok(())
}
