//! Reading and writing a file by position, from several threads at once.
//!
//! The alternative is a mapping of the file. It saves a copy out of the page cache, which is several times as fast as any disk, and
//! costs an `unsafe`; a file that is cut short meanwhile, or a disk that is full, is then a signal that ends the program, where here it is an
//! error that has a name.
//!
//! A file that is cut while it is read may give zeros in place of what it had: Linux first shortens the file, then clears the rest of its last
//! page, and a read in flight may see that. So the length is looked at after every read: while it has not become less, nothing was cleared.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Opens a file that is to be read by position. With it comes its length.
///
/// # Errors
/// What the system says, and that it is a directory.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    if found.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { Ok((file, found.len())) }
}

/// Fills `bytes` from what is in the file at `at`.
///
/// # Errors
/// What the system says, or that the file ends earlier, before or after the read.
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> Result<()> {
    read_by(system::read, file, bytes, at)
}

fn read_by(
    read: impl Fn(&File, &mut [u8], u64) -> Result<usize>,
    file: &File,
    mut bytes: &mut [u8],
    mut at: u64,
) -> Result<()> {
    while !bytes.is_empty() {
        match read(file, bytes, at) {
            Ok(0) => return Err(truncated()),
            Ok(n) => {
                bytes = &mut bytes[n..];
                at += n as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    check_length(file, at)
}

/// A regular file still has `length` bytes. Devices have no length, and are not checked.
fn check_length(file: &File, length: u64) -> Result<()> {
    let now = file.metadata()?;
    if now.is_file() && now.len() < length { Err(truncated()) } else { Ok(()) }
}

fn truncated() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "the file has become shorter")
}

/// A file that is read from its beginning on. That it becomes shorter meanwhile is an error, wherever the reading is.
pub(crate) struct LengthChecked {
    file: File,
    /// When it was opened.
    length: u64,
}

impl LengthChecked {
    /// A file that has this length now.
    pub(crate) fn new(file: File, length: u64) -> Self {
        Self { file, length }
    }
}

impl Read for LengthChecked {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let count = self.file.read(bytes)?;
        check_length(&self.file, self.length)?;
        Ok(count)
    }
}

/// Writes all `bytes` to the file at `at`.
pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> Result<()> {
    while !bytes.is_empty() {
        match system::write(file, bytes, at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => {
                bytes = &bytes[n..];
                at += n as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(unix)]
mod system {
    use std::fs::File;
    use std::io::Result;
    use std::os::unix::fs::FileExt;

    pub(super) fn read(file: &File, bytes: &mut [u8], at: u64) -> Result<usize> {
        file.read_at(bytes, at)
    }

    pub(super) fn write(file: &File, bytes: &[u8], at: u64) -> Result<usize> {
        file.write_at(bytes, at)
    }
}

#[cfg(windows)]
mod system {
    use std::fs::File;
    use std::io::Result;
    use std::os::windows::fs::FileExt;

    // These move the file's own position as well, which nothing here uses.
    pub(super) fn read(file: &File, bytes: &mut [u8], at: u64) -> Result<usize> {
        file.seek_read(bytes, at)
    }

    pub(super) fn write(file: &File, bytes: &[u8], at: u64) -> Result<usize> {
        file.seek_write(bytes, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_anywhere_is_read_from_there() {
        let file = tempfile::tempfile().unwrap();
        write_all_at(&file, b"world", 6).unwrap();
        write_all_at(&file, b"hello ", 0).unwrap();
        let mut bytes = [0; 5];
        read_exact_at(&file, &mut bytes, 4).unwrap();
        assert_eq!(&bytes, b"o wor");
        let e = read_exact_at(&file, &mut bytes, 8).unwrap_err();
        assert_eq!((e.kind(), e.to_string().as_str()), (ErrorKind::UnexpectedEof, "the file has become shorter"));
    }

    #[test]
    fn a_file_that_becomes_shorter_is_told_wherever_the_reading_is() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, &[7; 9000]).unwrap();
        let mut input = LengthChecked::new(file.reopen().unwrap(), 9000);
        let mut bytes = [0; 100];
        assert_eq!((input.read(&mut bytes).unwrap(), bytes), (100, [7; 100]));
        // What is asked for next is there in full; what follows is not.
        file.as_file().set_len(8999).unwrap();
        let e = input.read(&mut bytes).unwrap_err();
        assert_eq!((e.kind(), e.to_string().as_str()), (ErrorKind::UnexpectedEof, "the file has become shorter"));
    }

    #[test]
    fn zeros_of_a_file_that_is_being_cut_are_not_its_content() {
        let file = tempfile::tempfile().unwrap();
        write_all_at(&file, &[7; 5000], 0).unwrap();
        // As Linux does it where the cut comes between the beginning and the end of a read.
        let read = |file: &File, bytes: &mut [u8], at: u64| {
            let count = system::read(file, bytes, at)?;
            file.set_len(4500)?;
            bytes[4500..].fill(0);
            Ok(count)
        };
        let mut bytes = [0; 5000];
        let e = read_by(read, &file, &mut bytes, 0).unwrap_err();
        assert_eq!((e.kind(), e.to_string().as_str()), (ErrorKind::UnexpectedEof, "the file has become shorter"));
        read_exact_at(&file, &mut bytes[..4500], 0).unwrap();
        assert_eq!(bytes[..4500], [7; 4500]);
    }
}
