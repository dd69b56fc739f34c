//! A file that is written completely or not at all, compressed if its name ends in `.gz`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::{GzDecoder, GzEncoder};
use tempfile::NamedTempFile;

use crate::Checked;
use crate::draw::{Sample, Seed};

/// A file that gets its name once it is complete.
pub struct NewFile {
    path: PathBuf,
    file: NamedTempFile,
    out: Output,
}

/// Compresses a bundle into `out`. The default level takes five times as long and makes a file that
/// is 10% smaller.
pub fn gzip<W: Write>(out: W) -> GzEncoder<W> {
    GzEncoder::new(out, Compression::fast())
}

/// What becomes of the bytes that are written.
enum Output {
    Plain(BufWriter<File>),
    Compressed(GzEncoder<BufWriter<File>>),
    Decompressed(GzDecoder<BufWriter<File>>),
    /// They are kept as they come. The decoder only finds out whether they are in gzip format.
    KeptCompressed(BufWriter<File>, GzDecoder<io::Sink>),
}

impl NewFile {
    /// Begins the file at `path`, to which text will be written. The file is compressed by gzip if
    /// the name ends in `.gz`. It fails if the file exists already, or if its folder does not exist
    /// or cannot be written to.
    pub fn begin(path: &Path) -> io::Result<NewFile> {
        NewFile::begin_as(path, |file, is_compressed| match is_compressed {
            true => Output::Compressed(gzip(file)),
            false => Output::Plain(file),
        })
    }

    /// Begins the file at `path` like [`NewFile::begin`], but bytes in gzip format will be written
    /// to it. They are kept as they come if the name ends in `.gz`, and decompressed otherwise.
    /// Writing other bytes is an [`io::ErrorKind::InvalidData`] or
    /// [`io::ErrorKind::InvalidInput`].
    pub fn begin_from_gzip(path: &Path) -> io::Result<NewFile> {
        NewFile::begin_as(path, |file, is_compressed| match is_compressed {
            true => Output::KeptCompressed(file, GzDecoder::new(io::sink())),
            false => Output::Decompressed(GzDecoder::new(file)),
        })
    }

    fn begin_as(
        path: &Path,
        output: impl FnOnce(BufWriter<File>, bool) -> Output,
    ) -> io::Result<NewFile> {
        if path.symlink_metadata().is_ok() {
            let text = "it is there already, and a bundle replaces no file: choose another name";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let file = NamedTempFile::new_in(folder).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(error.kind(), "its folder is not there"),
            kind => {
                let text = error.to_string();
                // The text goes on with the name of the temporary file.
                io::Error::new(kind, text.split(" at path ").next().unwrap_or_default())
            }
        })?;
        let bytes = BufWriter::new(file.as_file().try_clone()?);
        let out = output(bytes, path.extension().is_some_and(|end| end == "gz"));
        Ok(NewFile { path: path.to_path_buf(), file, out })
    }

    /// Ends the file, and returns once all of it is on the disk.
    pub fn complete(self) -> io::Result<WrittenFile> {
        let mut bytes = match self.out {
            Output::Plain(bytes) => bytes,
            Output::Compressed(encoder) => encoder.finish()?,
            Output::Decompressed(decoder) => decoder.finish()?,
            Output::KeptCompressed(bytes, decoder) => decoder.finish().map(|_| bytes)?,
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
        match &mut self.out {
            Output::Plain(out) => out.write(bytes),
            Output::Compressed(out) => out.write(bytes),
            Output::Decompressed(out) => out.write(bytes),
            Output::KeptCompressed(out, decoder) => {
                let taken = decoder.write(bytes)?;
                out.write_all(&bytes[..taken])?;
                Ok(taken)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Output::Plain(out) | Output::KeptCompressed(out, _) => out.flush(),
            Output::Compressed(out) => out.flush(),
            Output::Decompressed(out) => out.flush(),
        }
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

    /// Writes bytes in small pieces to a new file of this name in `folder`.
    fn received(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<WrittenFile> {
        let mut file = NewFile::begin_from_gzip(&folder.join(name))?;
        bytes.chunks(7).try_for_each(|piece| file.write_all(piece))?;
        file.complete()
    }

    fn compressed(text: &[u8], level: Compression) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), level);
        encoder.write_all(text).expect("it is written to memory");
        encoder.finish().expect("it is written to memory")
    }

    #[test]
    fn compressed_bytes_are_kept_as_they_come_or_are_decompressed() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let text = b"a line of text\n".repeat(1000);
        // No level at which this program compresses has the same bytes.
        let compressed = compressed(&text, Compression::none());
        for (name, expected) in [("kept.gz", &compressed), ("text", &text)] {
            let file = received(folder.path(), name, &compressed).expect("it is in gzip format");
            file.keep().expect("nothing is in its place");
            let path = folder.path().join(name);
            assert_eq!(&std::fs::read(&path).expect("it is there"), expected, "{name}");
            let again = NewFile::begin_from_gzip(&path).err().expect("it is there already");
            assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        }
    }

    #[test]
    fn bytes_that_are_not_whole_in_gzip_format_leave_no_file() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let compressed = compressed(b"text", Compression::default());
        let mut altered = compressed.clone();
        // The checksum of the text precedes its length of four bytes.
        let at = altered.len() - 5;
        altered[at] ^= 1;
        let cut = &compressed[..compressed.len() - 1];
        let longer = [&compressed, &b"more"[..]].concat();
        for name in ["kept.gz", "text"] {
            for bytes in [&b"this is plain text"[..], cut, &altered, &longer, b""] {
                let failed = received(folder.path(), name, bytes).err();
                assert!(failed.is_some(), "{name}: {bytes:?}");
            }
        }
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0, "nothing is left");
    }
}
