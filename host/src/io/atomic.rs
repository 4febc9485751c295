//! An output file that is there when it is finished and not before.
//!
//! Everything goes to a temporary file in the directory of the target, which has no name where the system allows that (`temporary`);
//! [`OutputFile::commit`] gives it the target's, and dropping the `OutputFile` without that removes it. So a run that fails or is stopped
//! leaves nothing, and a reader never sees half a file. Of two that write one file each makes a whole one: where replacing is
//! allowed the later commit stays, and otherwise the earlier one, and the later is an error.
//!
//! The file gets the permissions of one that any program creates (0666 less the umask) or those of the file it replaces; a symbolic link
//! stays one, also when it leads to nothing yet: its target is made or replaced; and what is no regular file (`/dev/null`, a FIFO, standard
//! output) is written directly, since there is nothing to rename.
//!
//! Once a commit has returned, all programs see the file. It is not made sure that it outlasts a power failure: that would be `fsync`, seconds of
//! waiting for large files, and is left to the system, as other programs that write rasters do.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::{FormatError, Place, Problem};
use super::temporary::Temporary;

/// A file being written; see the module.
///
/// ```
/// use std::io::Write;
/// use halotile::io::OutputFile;
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("result.txt");
/// let mut file = OutputFile::create(&path, false)?;
/// file.write_all(b"42\n")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert!(path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OutputFile {
    target: Target,
    name: String,
}

#[derive(Debug)]
enum Target {
    Temporary { file: Temporary, path: PathBuf, overwrite: bool },
    Direct(File),
    Stdout(io::Stdout),
}

impl OutputFile {
    /// A file that will be `path`. An existing one is refused unless `overwrite`; it stays as it is until the commit.
    ///
    /// # Errors
    /// [`FormatError`] where the file exists and may not be overwritten, or its folder cannot be written to.
    pub fn create(path: &Path, overwrite: bool) -> Result<Self, FormatError> {
        let name = path.display().to_string();
        let fail = |e: io::Error| create_failed(&name, path, e);
        // Follows links: what counts is what is at the other end.
        let existing = match std::fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(fail(e)),
        };
        if existing.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(Problem::new("this is a directory", "name a file in it").at(&name, Place::FILE));
        }
        if existing.as_ref().is_some_and(|m| !m.is_file()) {
            let file = OpenOptions::new().write(true).open(path).map_err(fail)?;
            return Ok(Self { target: Target::Direct(file), name });
        }
        if existing.is_some() && !overwrite {
            return Err(exists(&name));
        }
        if path.file_name().is_none() {
            return Err(Problem::new("this is not the name of a file", "name a file").at(&name, Place::FILE));
        }
        let path = match existing {
            Some(_) => std::fs::canonicalize(path),
            None => destination(path),
        };
        let path = path.map_err(fail)?;
        let fail = |e: io::Error| create_failed(&name, &path, e);
        let file = Temporary::beside(&path).map_err(fail)?;
        if let Some(metadata) = existing {
            file.file().set_permissions(metadata.permissions()).map_err(fail)?;
        }
        Ok(Self { target: Target::Temporary { file, path, overwrite }, name })
    }

    /// Standard output in the same clothes: written directly.
    pub fn stdout() -> Self {
        Self { target: Target::Stdout(io::stdout()), name: "-".to_owned() }
    }

    /// The file's name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the temporary file, where it has one: for a program that may have to end without dropping this.
    pub fn temporary(&self) -> Option<&Path> {
        match &self.target {
            Target::Temporary { file, .. } => file.name(),
            Target::Direct(_) | Target::Stdout(_) => None,
        }
    }

    /// The directory that the file comes to lie in: one on the same file system. None where it is written directly.
    pub fn directory(&self) -> Option<&Path> {
        match &self.target {
            Target::Temporary { path, .. } => Some(directory_of(path)),
            Target::Direct(_) | Target::Stdout(_) => None,
        }
    }

    /// The file to be written by position, from several threads; none where there are no positions (a pipe, a device).
    pub(crate) fn by_position(&self) -> Option<&File> {
        match &self.target {
            Target::Temporary { file, .. } => Some(file.file()),
            Target::Direct(_) | Target::Stdout(_) => None,
        }
    }

    /// Finishes the file: it appears under its name.
    ///
    /// # Errors
    /// [`FormatError`] where what was written cannot be flushed, or the file not renamed; the temporary file is gone then.
    pub fn commit(mut self) -> Result<(), FormatError> {
        self.flush().map_err(|e| write_failed(&self.name, e))?;
        let Self { target: Target::Temporary { file, path, overwrite }, name } = self else {
            return Ok(());
        };
        match file.appear(&path, overwrite) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(exists(&name)),
            Err(e) => Err(write_failed(&name, e)),
        }
    }
}

/// Where a file that is to be made under this name comes to lie: at the end of the symbolic links, though there is nothing yet.
///
/// ```
/// use std::path::Path;
/// assert_eq!(halotile::io::destination(Path::new("no link/h.tif"))?, Path::new("no link/h.tif"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Links that go round in a circle, or further than systems follow them.
pub fn destination(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = std::fs::read_link(&path) else { return Ok(path) };
        // A target without a root begins where the link is.
        path = directory_of(&path).join(target);
    }
    Err(io::Error::other("too many symbolic links, one after the other"))
}

/// As many as Linux follows.
const MOST_LINKS: usize = 40;

/// The directory that a name is in.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What to say when writing to `name` fails. A pipe whose reader has gone is an error like any other here; its
/// kind is in [`FormatError::io`].
pub fn write_failed(name: &str, error: io::Error) -> FormatError {
    let advice = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room or choose another disk",
        // A limit of the process (RLIMIT_FSIZE), or of a file system such as FAT.
        ErrorKind::FileTooLarge => "raise the limit on the size of files (ulimit -f), or choose another disk",
        ErrorKind::InvalidInput => "choose another format or another grid",
        _ => "check the disk or the program that reads the pipe",
    };
    FormatError::from_io(name, "writing failed", error, advice)
}

fn exists(name: &str) -> FormatError {
    Problem::new("the file exists already", "choose another name or allow it to be overwritten").at(name, Place::FILE)
}

fn create_failed(name: &str, path: &Path, error: io::Error) -> FormatError {
    let directory = directory_of(path);
    // The error as it came may tell the name of the temporary file, which means nothing to the user: the kind
    // says it all.
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory if !directory.is_dir() => {
            let what = format!("there is no directory {}", directory.display());
            Problem::new(what, "make it, or choose another place").at(name, Place::FILE)
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            let what = format!("no file can be made in the directory {}", directory.display());
            let plain = io::Error::from(error.kind());
            FormatError::from_io(name, &what, plain, "choose another place, or ask for write permission")
        }
        _ => FormatError::from_io(name, "the file cannot be made", error, "choose another name or place"),
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Temporary { file, .. } => file.file().write(bytes),
            Target::Direct(file) => file.write(bytes),
            Target::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Temporary { file, .. } => file.file().flush(),
            Target::Direct(file) => file.flush(),
            Target::Stdout(out) => out.flush(),
        }
    }
}

/// Only a file that will be renamed has positions. Others might (a disk's device), or pretend to (`/dev/null`, whose position is always
/// 0): none of them is a place for a format that goes back in its file.
impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.target {
            Target::Temporary { file, .. } => file.file().seek(to),
            Target::Direct(_) | Target::Stdout(_) => Err(ErrorKind::NotSeekable.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_there_before_the_commit_nor_without_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        let mut file = OutputFile::create(&path, false).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        // Named where it has to be, and nothing else is there.
        assert_eq!(names(dir.path()).len(), usize::from(file.temporary().is_some()));
        drop(file);
        assert_eq!(names(dir.path()), [""; 0]);
        // Two at a time.
        let mut a = OutputFile::create(&path, false).unwrap();
        let mut b = OutputFile::create(&dir.path().join("b.png"), false).unwrap();
        a.write_all(b"A").unwrap();
        b.write_all(b"B").unwrap();
        a.commit().unwrap();
        b.commit().unwrap();
        assert_eq!(names(dir.path()), ["a.txt", "b.png"]);
        assert_eq!(fs::read(&path).unwrap(), b"A");
    }

    #[test]
    fn existing_files_are_kept_unless_overwriting_was_allowed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        let message =
            format!("{}: the file exists already; choose another name or allow it to be overwritten", path.display());
        let early = OutputFile::create(&path, false).unwrap();
        fs::write(&path, "old").unwrap();
        assert_eq!(OutputFile::create(&path, false).unwrap_err().to_string(), message);
        // One that came into being in the meantime.
        assert_eq!(early.commit().unwrap_err().to_string(), message);
        let mut file = OutputFile::create(&path, true).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.commit().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(dir.path()).len()), (b"new".to_vec(), 1));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_are_those_of_an_ordinary_file() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (plain, path) = (dir.path().join("plain"), dir.path().join("a.txt"));
        fs::write(&plain, "").unwrap();
        OutputFile::create(&path, false).unwrap().commit().unwrap();
        // With or without a name: by the umask.
        assert_eq!(mode(&path), mode(&plain));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut file = OutputFile::create(&link, true).unwrap();
        file.write_all(b"through the link").unwrap();
        file.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"through the link".to_vec(), 0o640));
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_to_nothing_stay_links() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        // A link to a link to a file that is not there, from another directory.
        symlink("d/second", dir.path().join("first")).unwrap();
        symlink("../a.txt", dir.path().join("d/second")).unwrap();
        let mut file = OutputFile::create(&dir.path().join("first"), false).unwrap();
        file.write_all(b"through both").unwrap();
        assert!(!dir.path().join("a.txt").exists());
        file.commit().unwrap();
        for link in ["first", "d/second"] {
            assert!(fs::symlink_metadata(dir.path().join(link)).unwrap().is_symlink(), "{link}");
        }
        assert_eq!(fs::read(dir.path().join("a.txt")).unwrap(), b"through both");
        // One whose target has no directory, and one that leads to itself.
        symlink("no/b.txt", dir.path().join("lost")).unwrap();
        symlink("round", dir.path().join("round")).unwrap();
        let message = |name: &str| {
            let error = OutputFile::create(&dir.path().join(name), true).unwrap_err().to_string();
            error.replace(&dir.path().display().to_string(), "D")
        };
        assert_eq!(message("lost"), "D/lost: there is no directory D/no; make it, or choose another place");
        assert_eq!(
            message("round"),
            "D/round: the file cannot be made: Too many levels of symbolic links (os error 40); choose another name or place"
        );
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_directly() {
        let mut null = OutputFile::create(Path::new("/dev/null"), false).unwrap();
        null.write_all(b"gone").unwrap();
        null.commit().unwrap();
        if Path::new("/dev/full").exists() {
            let e = OutputFile::create(Path::new("/dev/full"), false).unwrap().write_all(b"x").unwrap_err();
            assert_eq!(
                write_failed("/dev/full", e).to_string(),
                "/dev/full: writing failed: No space left on device (os error 28); make room or choose another disk"
            );
        }
    }

    #[test]
    fn places_where_no_file_can_be() {
        let dir = tempfile::tempdir().unwrap();
        let d = dir.path().display();
        let message = |path: &Path| OutputFile::create(path, false).unwrap_err().to_string();
        assert_eq!(message(dir.path()), format!("{d}: this is a directory; name a file in it"));
        let lost = dir.path().join("no/a.txt");
        assert_eq!(
            message(&lost),
            format!(
                "{d}/no/a.txt: there is no directory {d}/no; \
                 make it, or choose another place"
            )
        );
        fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(
            message(&dir.path().join("file/a.txt")),
            format!(
                "{d}/file/a.txt: there is no directory {d}/file; \
                 make it, or choose another place"
            )
        );
        assert!(message(Path::new("")).starts_with(": this is not the name of a file"), "{}", message(Path::new("")));
    }
}
