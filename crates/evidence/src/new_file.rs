//! A file that is written completely or not at all, compressed if its name ends in `.gz`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use crate::Checked;
use crate::draw::{Sample, Seed};

/// A file that gets its name once it is complete.
pub struct NewFile {
    path: PathBuf,
    file: NamedTempFile,
    out: Output,
}

enum Output {
    Plain(BufWriter<File>),
    Compressed(GzEncoder<BufWriter<File>>),
}

impl NewFile {
    /// Begins the file at `path`. It is compressed by gzip if the name ends in `.gz`. It fails if
    /// the file exists already, or if its folder does not exist or cannot be written to.
    pub fn begin(path: &Path) -> io::Result<NewFile> {
        if path.symlink_metadata().is_ok() {
            let text = "it is there already, and a bundle replaces no file: choose another name";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        // The text of the error would name the temporary file.
        let file = NamedTempFile::new_in(folder).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(error.kind(), "its folder is not there"),
            _ => error.raw_os_error().map_or(error.kind().into(), io::Error::from_raw_os_error),
        })?;
        let bytes = BufWriter::new(file.as_file().try_clone()?);
        let out = if path.extension().is_some_and(|end| end == "gz") {
            Output::Compressed(GzEncoder::new(bytes, Compression::default()))
        } else {
            Output::Plain(bytes)
        };
        Ok(NewFile { path: path.to_path_buf(), file, out })
    }

    fn out(&mut self) -> &mut dyn Write {
        match &mut self.out {
            Output::Plain(out) => out,
            Output::Compressed(out) => out,
        }
    }

    /// Ends the file, and returns once all of it is on the disk.
    pub fn complete(self) -> io::Result<WrittenFile> {
        let mut bytes = match self.out {
            Output::Plain(bytes) => bytes,
            Output::Compressed(encoder) => encoder.finish()?,
        };
        bytes.flush()?;
        self.file.as_file().sync_all()?;
        Ok(WrittenFile { path: self.path, file: self.file })
    }
}

/// A complete file that has no name yet. It is removed if it does not get one.
pub struct WrittenFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl WrittenFile {
    /// Checks that it is a bundle that does not contradict itself.
    pub fn check(&self) -> anyhow::Result<Checked> {
        crate::check(self.file.path(), Sample { draws: 0, seed: Seed::Number(0), all: false })
    }

    /// Gives the file its name. It fails if another file has got that name since
    /// [`NewFile::begin`].
    pub fn keep(self) -> io::Result<()> {
        self.file.persist_noclobber(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_bundle_leaves_no_file() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut file = NewFile::begin(&folder.path().join("bundle")).expect("it is new");
        file.write_all(b"{}\nmore").expect("it is written");
        let file = file.complete().expect("it is written");
        file.check().expect_err("it is no bundle");
        drop(file);
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0, "nothing is left");
    }
}
