//! Reads the lines of a bundle file, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use anyhow::{Result, ensure};
use blake3::{Hash, Hasher};
use flate2::bufread::MultiGzDecoder;

/// The length of the longest line that is read, in bytes. A sound bundle has no longer line.
const MAX_LINE: u64 = 128 << 10;

/// The first bytes of a file in gzip format.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Opens a regular file to be read. A pipe, a terminal or a device is refused without waiting for
/// it, because reading it may never end.
///
/// # Errors
///
/// There is no such file, it cannot be read, or it is none.
pub fn open_file(path: &Path) -> io::Result<File> {
    open_regular(path, true)
}

/// Opens a regular file to be read, as [`open_file`] does, and no link to one.
///
/// # Errors
///
/// Those of [`open_file`], and that the path is a link. Only Unix has this error.
pub fn open_file_itself(path: &Path) -> io::Result<File> {
    open_regular(path, false)
}

fn open_regular(path: &Path, follows: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        flags.set(OFlags::NOFOLLOW, !follows);
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits() as i32);
    }
    #[cfg(not(unix))]
    let _ = follows;
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        // The mode is not named, because changing the mode of these would harm others.
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// The most compressed bytes in a row that may say nothing, such as a long header of gzip, or empty
/// blocks. They would be read for nothing, however many there are.
const MOST_SILENT: u64 = 64 << 10;

/// A compressed file. It fails where too many bytes in a row say nothing.
struct Compressed(MultiGzDecoder<Counted>);

/// The bytes of a file, with the number of those since the last ones that said something.
struct Counted {
    file: BufReader<File>,
    silent: u64,
}

impl Read for Compressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        self.0.get_mut().silent = 0;
        Ok(read)
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.silent > MOST_SILENT {
            let text = "more than 65536 bytes of its compressed text say nothing";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        self.file.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.silent += bytes as u64;
        self.file.consume(bytes);
    }
}

/// A bundle has other content than before.
#[derive(Debug, thiserror::Error)]
#[error("the bundle changed while it was read")]
pub struct BundleChanged;

/// Reads lines, each of a bounded length, and hashes what it has read.
pub(super) struct Reader {
    input: Box<dyn BufRead>,
    line: Vec<u8>,
    hasher: Hasher,
    /// The number of the current line, from 1 on.
    pub(super) number: u64,
}

impl Reader {
    /// Reads an open file from its beginning. It has one reader at a time, because all of them
    /// share the place in it.
    pub(super) fn new(file: &File) -> io::Result<Reader> {
        let mut file = file.try_clone()?;
        file.rewind()?;
        let mut file = BufReader::with_capacity(1 << 16, file);
        let input: Box<dyn BufRead> = if file.fill_buf()?.starts_with(&GZIP) {
            let file = Counted { file, silent: 0 };
            Box::new(BufReader::with_capacity(1 << 16, Compressed(MultiGzDecoder::new(file))))
        } else {
            Box::new(file)
        };
        Ok(Reader { input, line: Vec::new(), hasher: Hasher::new(), number: 0 })
    }

    /// The BLAKE3 hash of the bundle's text: its name. The rest of the text is read.
    pub(super) fn name(mut self) -> io::Result<Hash> {
        self.hasher.update_reader(&mut self.input)?;
        Ok(self.hasher.finalize())
    }

    /// Reads the rest of the text, and refuses another text than that with this name.
    pub(super) fn ensure_name(self, name: Hash) -> Result<(), BundleChanged> {
        // A file that could be read before, and cannot be now, has changed as well.
        if self.name().is_ok_and(|it| it == name) { Ok(()) } else { Err(BundleChanged) }
    }

    /// The next line without its line feed; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        self.input.by_ref().take(MAX_LINE).read_until(b'\n', &mut self.line)?;
        self.hasher.update(&self.line);
        if self.line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        ensure!(
            self.line.pop() == Some(b'\n'),
            "line {} is cut off or longer than {MAX_LINE} bytes",
            self.number
        );
        Ok(Some(&self.line))
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    #[test]
    fn a_bundle_that_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("it runs").success());
        for path in [&pipe, folder.path(), "/dev/zero".as_ref()] {
            let error = super::open_file(path).expect_err("it is not read");
            assert_eq!(error.to_string(), "it is no regular file");
        }
    }
}
