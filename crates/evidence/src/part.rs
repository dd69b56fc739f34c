//! A bundle that arrives block by block, over any number of lost connections.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::BundleError;
use crate::draw::{Sample, Seed};

/// Bytes of the longest block.
const MAX_BLOCK: u64 = 1_200_000;

/// The beginning of a bundle, in the file beside it with `.part` at the end of its name. It stays there if the process
/// ends, and is taken up again.
#[derive(Debug)]
pub struct Part {
    bundle: PathBuf,
    path: PathBuf,
    file: File,
    length: u64,
}

impl Part {
    /// The beginning of the new file `bundle`, with what is there already.
    ///
    /// # Errors
    ///
    /// [`io::Error`] if the bundle exists already, or if the file cannot be written.
    pub fn open(bundle: &Path) -> io::Result<Part> {
        if bundle.exists() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let mut path = bundle.as_os_str().to_owned();
        path.push(".part");
        let path = PathBuf::from(path);
        let mut options = OpenOptions::new();
        let mut file = options.create(true).truncate(false).read(true).write(true).open(&path)?;
        let length = file.seek(SeekFrom::End(0))?;
        Ok(Part { bundle: bundle.to_path_buf(), path, file, length })
    }

    /// The first line without its line feed; empty if it is not there yet.
    ///
    /// # Errors
    ///
    /// [`io::Error`] if the file cannot be read.
    pub fn header(&self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        BufReader::new(File::open(&self.path)?).read_until(b'\n', &mut line)?;
        Ok(if line.pop() == Some(b'\n') { line } else { Vec::new() })
    }

    /// How many bytes are there.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether nothing is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds a block of `length` bytes of text, compressed by zstd, that begins at `offset`: where the file ends, or at its
    /// beginning, which throws away what is there.
    ///
    /// # Errors
    ///
    /// [`io::Error`] if it begins elsewhere, is not such a block, or cannot be written.
    pub fn add(&mut self, offset: u64, length: u64, block: &[u8]) -> io::Result<()> {
        if offset == 0 {
            self.file.set_len(0)?;
            self.length = 0;
        }
        let wrong = |what| io::Error::new(ErrorKind::InvalidData, what);
        if offset != self.length || length > MAX_BLOCK {
            return Err(wrong("the coordinator sent a block that does not belong there"));
        }
        let text = zstd::bulk::decompress(block, length as usize)?;
        if text.len() as u64 != length {
            return Err(wrong("the coordinator sent a block that is too short"));
        }
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.write_all(&text)?;
        self.length += length;
        Ok(())
    }

    /// Leaves the file for another time, or removes it if nothing has arrived.
    pub fn leave(self) {
        if self.is_empty() {
            // An empty file does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Makes the bundle of it, once everything has arrived: compressed, if its name ends in `.zst`.
    ///
    /// # Errors
    ///
    /// [`PartError::Bundle`] if it does not hold; it is removed then. [`PartError::Output`] if it cannot be written.
    pub fn finish(self) -> Result<crate::Checked, PartError> {
        self.file.sync_all()?;
        let sample = Sample { draws: 0, seed: Seed::Number(0), all: false };
        let checked = match crate::check(&self.path, sample) {
            Ok(checked) => checked,
            Err(error) => {
                fs::remove_file(&self.path)?;
                return Err(error.into());
            }
        };
        if self.bundle.extension().is_some_and(|end| end == "zst") {
            let folder = self.bundle.parent().filter(|folder| *folder != Path::new(""));
            let folder = folder.unwrap_or(Path::new("."));
            let file = tempfile::NamedTempFile::new_in(folder)?;
            zstd::stream::copy_encode(File::open(&self.path)?, file.as_file(), 3)?;
            file.as_file().sync_all()?;
            file.persist_noclobber(&self.bundle).map_err(|error| error.error)?;
            fs::remove_file(&self.path)?;
        } else {
            // A link fails if the name is taken, which a renaming would not.
            fs::hard_link(&self.path, &self.bundle)?;
            fs::remove_file(&self.path)?;
        }
        Ok(checked)
    }
}

/// Why what has arrived is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// It does not hold.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// It cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Vec<u8> {
        zstd::bulk::compress(text.as_bytes(), 1).expect("it can be compressed")
    }

    #[test]
    fn blocks_follow_each_other_or_begin_anew() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let bundle = folder.path().join("bundle");
        let mut part = Part::open(&bundle).expect("it is new");
        part.add(0, 9, &block("{}\nsecond")).expect("it is the first");
        assert_eq!(part.header().expect("it can be read"), b"{}");
        for (offset, length, text) in
            [(8, 4, "more"), (10, 4, "more"), (9, 3, "more"), (9, 5, "more")]
        {
            part.add(offset, length, &block(text)).expect_err("it does not belong there");
        }
        part.add(9, 1_300_000, &block(&"a".repeat(1_300_000))).expect_err("it is too long");
        part.add(9, 4, b"no frame of zstd").expect_err("it is no block");
        drop(part);
        let mut part = Part::open(&bundle).expect("it is taken up");
        assert_eq!((part.len(), part.is_empty()), (9, false));
        part.add(9, 4, &block("more")).expect("it follows");
        part.add(0, 2, &block("{}")).expect("it begins anew");
        assert_eq!((part.len(), part.header().expect("it can be read")), (2, Vec::new()));
        part.finish().expect_err("it is no bundle");
        let part = Part::open(&bundle).expect("it is new");
        assert!(!bundle.exists() && part.is_empty());
        part.leave();
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0, "nothing is left");
    }
}
