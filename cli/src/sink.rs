//! The files that results go to: made before any work is done, there only when all of it is.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use halotile::io::OutputFile;

use crate::interrupt;
use crate::source::is_dash;
use crate::stdout;

/// A file that will be there when it is committed.
pub struct Sink {
    file: OutputFile,
    path: PathBuf,
    /// There was nothing under its name.
    new: bool,
}

/// An output as messages show it.
pub fn name_of(path: &Path) -> String {
    if is_dash(path) { "standard output".to_owned() } else { path.display().to_string() }
}

impl Sink {
    /// Makes sure that `path` can be written and makes a temporary file beside it.
    pub fn create(path: &Path, overwrite: bool) -> anyhow::Result<Self> {
        if is_dash(path) {
            stdout::open()?;
            return Ok(Self { file: OutputFile::stdout(), path: path.to_owned(), new: false });
        }
        // The library refuses as well, and does not know what our option is called.
        if !overwrite && path.is_file() {
            bail!("{}: the file exists already; choose another name or give --overwrite", path.display());
        }
        let new = !path.exists();
        let file = OutputFile::create(path, overwrite)?;
        if let Some(temporary) = file.temporary() {
            interrupt::remove_at_the_end(temporary.to_owned());
        }
        Ok(Self { file, path: path.to_owned(), new })
    }

    /// The file itself, for who writes it by position.
    pub fn file(&mut self) -> &mut OutputFile {
        &mut self.file
    }

    /// The directory that it comes to lie in, if it is a file that is made.
    pub fn directory(&self) -> Option<&Path> {
        self.file.directory()
    }

    /// Its name for messages.
    pub fn name(&self) -> String {
        name_of(&self.path)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Sink {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
    }
}

/// Commits all of them or, if one fails, leaves none of those that are new.
pub fn commit(sinks: impl IntoIterator<Item = Sink>) -> anyhow::Result<()> {
    let mut made = Vec::new();
    for Sink { file, path, new } in sinks {
        if let Err(error) = file.commit() {
            for path in made {
                // A link that led to nothing before stays, and leads to nothing again. The first failure is the one to tell.
                let _ = std::fs::canonicalize(path).and_then(std::fs::remove_file);
            }
            return Err(error.into());
        }
        if new {
            made.push(path);
        }
    }
    Ok(())
}
