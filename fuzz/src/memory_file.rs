//! Files in memory, for readers that want a path.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

/// A file that is written again for every input. On Linux it lies in memory, has no name of its own and is opened by way of `/proc`, so that
/// a program which is killed leaves nothing.
pub struct MemoryFile {
    file: File,
    path: PathBuf,
    /// Removes the file where it has a name.
    _named: Option<TempPath>,
}

impl MemoryFile {
    /// An empty file.
    pub fn new() -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            let shared = Path::new("/dev/shm");
            let folder = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
            let file = tempfile::tempfile_in(folder)?;
            let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
            Ok(Self { file, path, _named: None })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let (file, path) = tempfile::NamedTempFile::new()?.into_parts();
            Ok(Self { file, path: path.to_path_buf(), _named: Some(path) })
        }
    }

    /// Gives the file these bytes and no others.
    pub fn set(&mut self, bytes: &[u8]) -> io::Result<&Path> {
        self.file.rewind()?;
        self.file.write_all(bytes)?;
        self.file.set_len(bytes.len() as u64)?;
        Ok(&self.path)
    }
}

/// Runs `body` with the path of a file of these bytes.
pub fn with<T>(bytes: &[u8], body: impl FnOnce(&Path) -> T) -> T {
    thread_local! {
        static FILE: std::cell::RefCell<Option<MemoryFile>> = const { std::cell::RefCell::new(None) };
    }
    FILE.with_borrow_mut(|file| {
        let file = file.get_or_insert_with(|| MemoryFile::new().expect("there is a place for temporary files"));
        body(file.set(bytes).expect("there is memory for a small file"))
    })
}
