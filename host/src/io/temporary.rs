//! The file that an output is written to until it is finished: one without a name where there is such a thing, otherwise one with a name of
//! its own beside the output.
//!
//! ```text
//! Linux   open(directory, O_TMPFILE)     a file without a name: however the process ends, by SIGKILL or for want of memory too,
//!                                        the kernel takes it back
//!         linkat(/proc/self/fd/N, path)  it has its name, all of it at once; fails where the name is taken
//!         linkat(.., .halotile-*.tmp),   the same where a file is to be replaced, which linkat does not do: a process that is killed
//!         rename(.., path)               between the two calls leaves a second name of the finished file
//! else    .halotile-*.tmp, renamed at the end, and removed by whatever ends the process in an ordinary way
//! ```
//!
//! The second way is also taken on file systems without such files (NFS, FAT, some in user space) and where `/proc` is not mounted: to link a
//! file by its descriptor alone takes a capability. Where linking fails though the file could be made, the data is copied to a named file.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use super::atomic::directory_of;

/// See the module.
#[derive(Debug)]
pub(super) enum Temporary {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(NamedTempFile),
}

impl Temporary {
    /// One from which `path` can be made.
    pub(super) fn beside(path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed::create(directory_of(path)) {
            return Ok(Self::Unnamed(file));
        }
        Self::named(path)
    }

    fn named(path: &Path) -> io::Result<Self> {
        Ok(Self::Named(builder().tempfile_in(directory_of(path))?))
    }

    pub(super) fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    pub(super) fn name(&self) -> Option<&Path> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(_) => None,
            Self::Named(file) => Some(file.path()),
        }
    }

    /// Gives the file its name. One that has the name already is replaced or, unless `overwrite`, an error of the kind `AlreadyExists`.
    pub(super) fn appear(self, path: &Path, overwrite: bool) -> io::Result<()> {
        match self {
            Self::Named(file) => persist(file, path, overwrite),
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => match unnamed::link(&file, path) {
                Ok(()) => Ok(()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if !overwrite {
                        return Err(error);
                    }
                    let linked = builder().make_in(directory_of(path), |name| unnamed::link(&file, name));
                    linked.or_else(|_| copied(&file, path)).and_then(|linked| persist(linked, path, overwrite))
                }
                Err(_) => persist(copied(&file, path)?, path, overwrite),
            },
        }
    }
}

fn persist<F>(file: NamedTempFile<F>, path: &Path, overwrite: bool) -> io::Result<()> {
    let renamed = if overwrite { file.persist(path) } else { file.persist_noclobber(path) };
    renamed.map(drop).map_err(|failed| failed.error)
}

/// How named files are made.
fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".halotile-").suffix(".tmp");
    #[cfg(unix)]
    {
        // The umask takes its part off this, as for any file that is created.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}

#[cfg(target_os = "linux")]
mod unnamed {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

    /// A file in no directory that can be linked into this one; none where that is not possible, for whatever reason.
    pub(super) fn create(directory: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(open(directory, flags, Mode::from_raw_mode(0o666)).ok()?);
        let (ours, there) = (file.metadata().ok()?, std::fs::metadata(name_in_proc(&file)).ok()?);
        ((ours.dev(), ours.ino()) == (there.dev(), there.ino())).then_some(file)
    }

    pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, name_in_proc(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn name_in_proc(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }
}

/// A named copy.
#[cfg(target_os = "linux")]
fn copied(mut file: &File, path: &Path) -> io::Result<NamedTempFile<()>> {
    use std::io::Seek;
    let mut copy = builder().tempfile_in(directory_of(path))?;
    file.rewind()?;
    io::copy(&mut file, copy.as_file_mut())?;
    copy.as_file().set_permissions(file.metadata()?.permissions())?;
    let (_, name) = copy.into_parts();
    Ok(NamedTempFile::from_parts((), name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    /// Every kind of temporary file, and every way to its name.
    #[test]
    fn names_are_given_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        let made: [fn(&Path) -> io::Result<Temporary>; 2] = [Temporary::beside, Temporary::named];
        for make in made {
            let new = |text: &str| {
                let temporary = make(&path).unwrap();
                temporary.file().write_all(text.as_bytes()).unwrap();
                temporary
            };
            let (first, second, third) = (new("first"), new("second"), new("third"));
            first.appear(&path, false).unwrap();
            assert_eq!(second.appear(&path, false).unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).unwrap(), b"first");
            third.appear(&path, true).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"third");
            fs::remove_file(&path).unwrap();
            new("again").appear(&path, true).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"again");
            // Nothing else is left.
            assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
            fs::remove_file(&path).unwrap();
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_cannot_be_linked_is_copied() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        // One that has lost its last name cannot get another.
        let (mut file, name) = builder().tempfile_in(&dir).unwrap().into_parts();
        name.close().unwrap();
        file.write_all(b"data").unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o640)).unwrap();
        Temporary::Unnamed(file).appear(&path, false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"data");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }
}
