//! Source buffers of writes, created once per step and shared by its workers.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use engine::sys::file::open_without_waiting;
use engine::{EngineError, probe};
use model::Bytes;
use model::content::{self, Content};
use model::plan::Step;

use crate::setup_error::SetupError;

/// The source of each kind of content that has one.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<(Content, Arc<[u8]>)>);

impl Sources {
    /// Creates the sources that the streams of a step need.
    ///
    /// # Errors
    /// The numbers of the job and the worker whose source cannot be created, and why.
    pub(crate) fn from_step(step: &Step) -> Result<Sources, (usize, usize, SetupError)> {
        let mut sources = Sources::default();
        for (job, of_job) in step.jobs.iter().enumerate() {
            for (worker, of_worker) in of_job.workers.iter().enumerate() {
                for stream in &of_worker.streams {
                    let Content::Source { size, file } = &stream.content else {
                        continue;
                    };
                    if sources.find(&stream.content).is_none() {
                        let source =
                            create(&stream.content, *size, file.as_deref()).map_err(|why| (job, worker, why))?;
                        sources.0.push((stream.content.clone(), source));
                    }
                }
            }
        }
        Ok(sources)
    }

    /// The source of a content; empty for contents that have none.
    pub(crate) fn source(&self, content: &Content) -> Arc<[u8]> {
        self.find(content).unwrap_or_default()
    }

    fn find(&self, content: &Content) -> Option<Arc<[u8]>> {
        let found = self.0.iter().find(|(of, _)| of == content);
        found.map(|(_, source)| Arc::clone(source))
    }
}

fn create(content: &Content, size: Bytes, file: Option<&str>) -> Result<Arc<[u8]>, SetupError> {
    let free = probe::memory_free();
    if size > free.bytes {
        return Err(SetupError::Engine(EngineError::Memory {
            slots: 1,
            each: size,
            needed: size,
            free,
        }));
    }
    let read = file.map(|path| read(path, size)).transpose()?;
    Ok(content::source(
        content,
        read.as_deref().unwrap_or(&[]),
        engine::fill::random_fill(),
    ))
}

fn read(path: &str, size: Bytes) -> Result<Vec<u8>, SetupError> {
    let failed = |source| SetupError::Content {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = open_without_waiting(Path::new(path)).map_err(failed)?;
    file.take(size.0).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_repeats_a_short_file_and_must_fit_into_memory() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, b"abc").unwrap();
        let path = file.path().display().to_string();
        let source = create(
            &Content::Source {
                size: Bytes(8),
                file: None,
            },
            Bytes(8),
            Some(&path),
        );
        assert_eq!(&*source.unwrap(), b"abcabcab");
        let all = Content::Source {
            size: Bytes(u64::MAX),
            file: None,
        };
        let too_much = create(&all, Bytes(u64::MAX), None).unwrap_err();
        assert!(
            matches!(too_much, SetupError::Engine(EngineError::Memory { .. })),
            "{too_much}"
        );
        assert!(matches!(read("/nowhere", Bytes(1)), Err(SetupError::Content { .. })));
    }
}
