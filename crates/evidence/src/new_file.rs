//! A file that is written completely or not at all, compressed if its name says so.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that gets its name once it is complete.
pub(super) struct NewFile {
    path: PathBuf,
    file: NamedTempFile,
    out: Output,
}

enum Output {
    Plain(BufWriter<File>),
    Compressed(BufWriter<zstd::Encoder<'static, File>>),
}

impl NewFile {
    /// Begins a file, which is compressed by zstd if the name ends in `.zst`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`], and any other reason why it cannot be written there.
    pub(super) fn begin(path: &Path) -> io::Result<NewFile> {
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let file = NamedTempFile::new_in(folder)?;
        let bytes = file.as_file().try_clone()?;
        let out = match path.extension().is_some_and(|end| end == "zst") {
            false => Output::Plain(BufWriter::new(bytes)),
            true => Output::Compressed(BufWriter::new(zstd::Encoder::new(bytes, 3)?)),
        };
        Ok(NewFile { path: path.to_path_buf(), file, out })
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.out {
            Output::Plain(out) => out.write_all(bytes),
            Output::Compressed(out) => out.write_all(bytes),
        }
    }

    /// Gives the file its name, after all of it is on the disk.
    pub(super) fn finish(self) -> io::Result<()> {
        match self.out {
            Output::Plain(mut out) => out.flush()?,
            Output::Compressed(out) => {
                out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
            }
        }
        self.file.as_file().sync_all()?;
        self.file.persist_noclobber(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}
