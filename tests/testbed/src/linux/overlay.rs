//! Overlays of two directories.

use std::fs;
use std::path::{Path, PathBuf};

use super::ground::Directory;
use super::tools::cannot;
use crate::Unavailable;

/// A mounted overlay, removed with its layers when dropped.
#[derive(Debug)]
pub struct Overlay {
    file: PathBuf,
    /// Declared first, so that it is unmounted before its layers are removed.
    _merged: Directory,
    _layers: Directory,
}

impl Overlay {
    /// An overlay whose lower layer has one file, named `file`.
    ///
    /// # Errors
    /// [`Unavailable`] without root or where mounting is forbidden.
    pub fn with_file(content: &[u8]) -> Result<Overlay, Unavailable> {
        let (mut merged, layers) = (Directory::new()?, Directory::on_disk()?);
        let layer = |name: &str| layers.path().join(name);
        for name in ["lower", "upper", "work"] {
            fs::create_dir(layer(name)).map_err(cannot("cannot create a layer"))?;
        }
        fs::write(layer("lower").join("file"), content).map_err(cannot("cannot write to a layer"))?;
        let part = |option: &str, name: &str| format!("{option}dir={}", layer(name).display());
        let options = [part("lower", "lower"), part("upper", "upper"), part("work", "work")];
        merged.mount("overlay", &options.join(","))?;
        Ok(Overlay {
            file: merged.path().join("file"),
            _merged: merged,
            _layers: layers,
        })
    }

    /// The file, through the overlay.
    pub fn file(&self) -> &Path {
        &self.file
    }
}
