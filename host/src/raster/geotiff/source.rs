//! A TIFF file on a disk, read by position.
//!
//! The reader crate has one too. This one looks at the file's length after every read, as all reading by position here does, so that a file that
//! is cut meanwhile is an error and never cells of 0.

use std::fs::File;
use std::path::Path;

use tiff_reader::TiffError;
use tiff_reader::source::TiffSource;

use crate::io::at::{self, read_exact_at};

/// A regular file.
pub(super) struct FileSource {
    file: File,
    /// When it was opened.
    length: u64,
    path: String,
}

impl FileSource {
    /// # Errors
    /// What the system says.
    pub(super) fn open(path: &Path) -> Result<Self, TiffError> {
        let name = path.display().to_string();
        match at::open(path) {
            Ok((file, length)) => Ok(Self { file, length, path: name }),
            Err(error) => Err(TiffError::Io(error, name)),
        }
    }
}

impl TiffSource for FileSource {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&self, offset: u64, len: usize) -> Result<Vec<u8>, TiffError> {
        let (length, data_len) = (len as u64, self.length);
        if offset.checked_add(length).is_none_or(|end| end > data_len) {
            return Err(TiffError::OffsetOutOfBounds { offset, length, data_len });
        }
        let mut bytes = vec![0; len];
        read_exact_at(&self.file, &mut bytes, offset).map_err(|error| TiffError::Io(error, self.path.clone()))?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_cut_is_an_error_and_not_zeros() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 100]).unwrap();
        let source = FileSource::open(file.path()).unwrap();
        assert_eq!((source.len(), source.read_exact_at(90, 10).unwrap()), (100, vec![7; 10]));
        assert!(matches!(source.read_exact_at(90, 11), Err(TiffError::OffsetOutOfBounds { length: 11, .. })));
        assert!(matches!(source.read_exact_at(u64::MAX, 11), Err(TiffError::OffsetOutOfBounds { .. })));
        file.as_file().set_len(99).unwrap();
        assert_eq!(source.read_exact_at(80, 10).unwrap(), [7; 10]);
        let error = source.read_exact_at(90, 10).unwrap_err().to_string();
        assert!(error.contains("the file has become shorter"), "{error}");
    }
}
