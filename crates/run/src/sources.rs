//! Source buffers of writes, created once per step and shared by its workers.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::sys::file::open_without_waiting;
use engine::{EngineError, probe};
use model::Bytes;
use model::content::{self, Content, Source};
use model::plan::Step;

use crate::error::{RunError, WorkerFault};
use crate::setup_error::SetupError;

/// The source of each kind of content that has one.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<(Content, Source)>);

impl Sources {
    /// Creates the sources that the streams of a step need.
    ///
    /// # Errors
    /// The job and the worker whose source cannot be created, and why, or the interruption.
    pub(crate) fn from_step(step: &Step, interrupt: &AtomicBool) -> Result<Sources, RunError> {
        let mut sources = Sources::default();
        for (job, of_job) in step.jobs.iter().enumerate() {
            for (worker, of_worker) in of_job.workers.iter().enumerate() {
                for stream in &of_worker.streams {
                    let Content::Source { size, file } = &stream.content else {
                        continue;
                    };
                    if sources.find(&stream.content).is_none() {
                        let source = create(&stream.content, *size, file.as_deref(), interrupt)
                            .map_err(|why| RunError::Setup(vec![WorkerFault { job, worker, why }]))?;
                        let source = source.ok_or(RunError::Interrupted)?;
                        sources.0.push((stream.content.clone(), source));
                    }
                }
            }
        }
        Ok(sources)
    }

    /// The source of a content; empty for contents that have none.
    pub(crate) fn source(&self, content: &Content) -> Source {
        self.find(content).unwrap_or_default()
    }

    fn find(&self, content: &Content) -> Option<Source> {
        let entry = self.0.iter().find(|(entry_content, _)| entry_content == content);
        entry.map(|(_, source)| Arc::clone(source))
    }
}

/// Creates a source; `None` if interrupted.
fn create(
    content: &Content,
    size: Bytes,
    file: Option<&str>,
    interrupt: &AtomicBool,
) -> Result<Option<Source>, SetupError> {
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
        &|| interrupt.load(Ordering::Relaxed),
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
        let running = AtomicBool::new(false);
        let source = create(
            &Content::Source {
                size: Bytes(8),
                file: None,
            },
            Bytes(8),
            Some(&path),
            &running,
        );
        assert_eq!(**source.unwrap().unwrap(), *b"abcabcab");
        let content = Content::Source {
            size: Bytes(u64::MAX),
            file: None,
        };
        let too_much = create(&content, Bytes(u64::MAX), None, &running).unwrap_err();
        assert!(
            matches!(too_much, SetupError::Engine(EngineError::Memory { .. })),
            "{too_much}"
        );
        assert!(matches!(read("/nowhere", Bytes(1)), Err(SetupError::Content { .. })));
    }
}
