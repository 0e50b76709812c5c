//! A directory of the user's named documents. Each is a file that is written atomically.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::saved::failed_to;
use crate::{ArchiveError, write_whole};

const EXTENSION: &str = "json";

/// A directory of named documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentStore {
    folder: PathBuf,
}

impl DocumentStore {
    /// A store in a directory, which need not exist yet.
    pub fn new(folder: PathBuf) -> DocumentStore {
        DocumentStore { folder }
    }

    /// True if a document name is valid: letters, digits, `-`, `_` and `.`, with a letter or digit
    /// first.
    pub fn is_valid_name(name: &str) -> bool {
        let mut bytes = name.bytes();
        let starts_alphanumeric = bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        starts_alphanumeric
            && name.len() <= 100
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    }

    /// The file of a document.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{EXTENSION}"))
    }

    /// Names of all documents, in order.
    ///
    /// # Errors
    /// The directory cannot be read; one that does not exist is empty.
    pub fn names(&self) -> Result<Vec<String>, ArchiveError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed_to("read", &self.folder)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed_to("read", &self.folder))?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            if path.extension().is_some_and(|extension| extension == EXTENSION)
                && let Some(name) = stem.filter(|name| DocumentStore::is_valid_name(name))
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Writes a document; an existing one of that name is replaced.
    ///
    /// # Errors
    /// [`ArchiveError::System`] if it cannot be written.
    pub fn put<T: Serialize>(&self, name: &str, document: &T) -> Result<(), ArchiveError> {
        let path = self.path(name);
        let failed = failed_to("write", &path);
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut bytes = serde_json::to_vec_pretty(document).map_err(|error| failed(error.into()))?;
        bytes.push(b'\n');
        write_whole(&path, &bytes).map_err(failed)
    }

    /// Reads a document.
    ///
    /// # Errors
    /// [`ArchiveError::System`] if it cannot be read, [`ArchiveError::Foreign`] if it cannot be
    /// parsed.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, ArchiveError> {
        let path = self.path(name);
        let bytes = fs::read(&path).map_err(failed_to("read", &path))?;
        serde_json::from_slice(&bytes).map_err(|error| ArchiveError::Foreign {
            path: path.clone(),
            why: error.to_string(),
        })
    }

    /// Removes a document.
    ///
    /// # Errors
    /// [`ArchiveError::System`] if it cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), ArchiveError> {
        let path = self.path(name);
        fs::remove_file(&path).map_err(failed_to("remove", &path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_back_and_names_cannot_leave_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = DocumentStore::new(folder.path().join("kept"));
        assert_eq!(store.names().expect("no folder yet"), [""; 0]);
        store.put("p30", &vec![1, 2]).expect("written");
        store.put("p30", &vec![3]).expect("replaced");
        assert_eq!(store.names().expect("one"), ["p30"]);
        assert_eq!(store.get::<Vec<u32>>("p30").expect("read"), [3]);
        assert!(matches!(store.get::<String>("p30"), Err(ArchiveError::Foreign { .. })));
        store.remove("p30").expect("gone");
        assert!(matches!(store.get::<Vec<u32>>("p30"), Err(ArchiveError::System { .. })));
        for name in ["", ".", "..", "a/b", "../a", "-a", "a b"] {
            assert!(!DocumentStore::is_valid_name(name), "{name}");
        }
        assert!(DocumentStore::is_valid_name("azure-p30_2026.v1"));
    }
}
