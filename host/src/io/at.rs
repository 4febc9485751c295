//! Reading and writing a file by position, from several threads at once.
//!
//! The alternative is a mapping of the file. It saves a copy out of the page cache, which is several times as fast as any disk, and
//! costs an `unsafe`; a file that somebody cuts short, or a disk that is full, is then a signal that ends the program, where here it is an
//! error that has a name.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};

/// Fills `bytes` from what is in the file at `at`.
pub(crate) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> Result<()> {
    while !bytes.is_empty() {
        match system::read(file, bytes, at) {
            Ok(0) => return Err(Error::new(ErrorKind::UnexpectedEof, "the file has become shorter")),
            Ok(n) => {
                bytes = &mut bytes[n..];
                at += n as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
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

    // These move the file's own position as well, which nobody here looks at.
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
}
