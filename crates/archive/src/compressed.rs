//! fio's compressed logs: zlib streams of text lines; appending to a log adds a stream.
//!
//! fio compresses its in-memory records, which other versions of fio may not be able to read. We
//! compress the text of the log, so that any program with zlib can read it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::ArchiveError;
use crate::saved::failed_to;

/// Writes the lines of a log, compressed or not. As with fio, a log without lines is an empty file.
#[derive(Debug)]
pub(crate) enum LogWriter<'a> {
    Plain(BufWriter<&'a mut File>),
    /// The encoder is created with the first line.
    Compressed(Option<ZlibEncoder<BufWriter<&'a mut File>>>, Option<&'a mut File>),
}

impl<'a> LogWriter<'a> {
    pub(crate) fn new(file: &'a mut File, compressed: bool) -> LogWriter<'a> {
        match compressed {
            true => LogWriter::Compressed(None, Some(file)),
            false => LogWriter::Plain(BufWriter::new(file)),
        }
    }

    /// Flushes buffered data and ends the stream.
    ///
    /// # Errors
    /// The rest of the log cannot be written.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            LogWriter::Plain(mut out) => out.flush(),
            LogWriter::Compressed(None, _) => Ok(()),
            LogWriter::Compressed(Some(encoder), _) => encoder.finish()?.flush(),
        }
    }
}

impl Write for LogWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            LogWriter::Plain(out) => out.write(bytes),
            LogWriter::Compressed(encoder, file) => {
                if let Some(file) = file.take() {
                    *encoder = Some(ZlibEncoder::new(BufWriter::new(file), Compression::default()));
                }
                match encoder {
                    Some(encoder) => encoder.write(bytes),
                    None => Err(io::ErrorKind::BrokenPipe.into()),
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            LogWriter::Plain(out) => out.flush(),
            LogWriter::Compressed(Some(encoder), _) => encoder.flush(),
            LogWriter::Compressed(None, _) => Ok(()),
        }
    }
}

/// Writes the lines of a compressed log to `out`.
///
/// # Errors
/// [`ArchiveError::System`] if reading or writing fails; its source is of kind `InvalidData` if the
/// file is not zlib-compressed text.
pub fn inflate_fio_log(path: &Path, out: &mut dyn Write) -> Result<(), ArchiveError> {
    let failed = failed_to("inflate", path);
    inflate(BufReader::new(File::open(path).map_err(failed)?), out).map_err(failed)
}

fn inflate(mut compressed: impl BufRead, out: &mut dyn Write) -> io::Result<()> {
    let foreign = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut piece = [0; 1 << 16];
    while !compressed.fill_buf()?.is_empty() {
        let mut stream = ZlibDecoder::new(&mut compressed);
        loop {
            let length = match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(foreign(&format!("it is not a zlib stream: {error}"))),
            };
            if piece[..length].contains(&0) {
                return Err(foreign("it holds fio's in-memory records, not lines of text"));
            }
            out.write_all(&piece[..length])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(compressed: bool, lines: &[&str]) -> Vec<u8> {
        let mut file = tempfile::tempfile().unwrap();
        let mut out = LogWriter::new(&mut file, compressed);
        lines.iter().for_each(|line| out.write_all(line.as_bytes()).unwrap());
        out.finish().unwrap();
        io::Seek::rewind(&mut file).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn inflated(bytes: &[u8]) -> io::Result<String> {
        let mut lines = Vec::new();
        inflate(bytes, &mut lines).map(|()| String::from_utf8(lines).unwrap())
    }

    #[test]
    fn lines_of_all_streams_are_read_back() {
        let single = written(true, &["1, 2, 0, 4096, 0\n", "2, 3, 0, 4096, 0\n"]);
        let other = written(true, &["3, 4, 1, 8192, 0\n"]);
        assert_eq!(single[0], 0x78);
        let concatenated = [single, other].concat();
        assert_eq!(
            inflated(&concatenated).unwrap(),
            "1, 2, 0, 4096, 0\n2, 3, 0, 4096, 0\n3, 4, 1, 8192, 0\n"
        );
    }

    #[test]
    fn logs_without_lines_are_empty() {
        assert_eq!(written(true, &[]), b"");
        assert_eq!(inflated(b"").unwrap(), "");
        assert_eq!(written(false, &["1\n"]), b"1\n");
    }

    #[test]
    fn other_files_are_refused() {
        let check = |bytes: &[u8], expected: &str| {
            let error = inflated(bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().starts_with(expected), "{error}");
        };
        check(b"500, 3, 0, 0, 0\n", "it is not a zlib stream");
        let complete = written(true, &["1, 2, 0, 4096, 0\n"; 100]);
        check(&complete[..complete.len() - 5], "it is not a zlib stream");
        check(
            &written(true, &["\0\0\0\0\0\0\0\0records"]),
            "it holds fio's in-memory records",
        );
    }
}
