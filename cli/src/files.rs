//! What a command does to each file that it is given: no output may be an input, nor two outputs one file.
//!
//! Files are compared, not names: `./a`, `../d/a`, symbolic links and hard links all lead to the file `a`. What exists is compared by device
//! and inode where there are such; what does not exist yet, by the place where it will be, with the links that lead there followed.
//! The dash is the file that the standard stream was redirected to, if it is one. Devices (`/dev/null`), pipes and sockets keep nothing that could be
//! lost, so any number of roles may share one.
//!
//! The comparison comes before any work and before `--overwrite` is looked at: a result written over its own input is a mistake in every case.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use halotile::io::destination;

use crate::outcome::Usage;
use crate::sink;
use crate::source::{self, is_dash};

/// The files of a command, each under the name of its role: "the input", "the mask", "the output".
#[derive(Default)]
pub struct Roles<'a> {
    inputs: Vec<(String, &'a Path)>,
    outputs: Vec<(String, &'a Path)>,
}

impl<'a> Roles<'a> {
    /// Files that are read, none or more.
    pub fn read(mut self, role: &str, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        self.inputs.extend(paths.into_iter().map(|path| (role.to_owned(), path)));
        self
    }

    /// Files that are written, none or more.
    pub fn written(mut self, role: &str, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        self.outputs.extend(paths.into_iter().map(|path| (role.to_owned(), path)));
        self
    }

    /// Refuses two roles of one file, unless both read it.
    pub fn check(&self) -> Result<(), Usage> {
        let inputs = self.inputs.iter().map(|(role, path)| (role, *path, identity(path, Stream::Input)));
        let mut known: Vec<_> = inputs.collect();
        for (role, path) in &self.outputs {
            let file = identity(path, Stream::Output);
            if let Some(i) = known.iter().position(|(.., other)| is_one(other, &file)) {
                let (other, other_path, _) = &known[i];
                let is_input = i < self.inputs.len();
                // The dash and a name that is the same say nothing more.
                let other = match (is_input, is_dash(other_path)) {
                    (true, true) => source::name_of(other_path),
                    (false, true) => sink::name_of(other_path),
                    _ if other_path == path => other.to_string(),
                    _ => format!("{other} {}", other_path.display()),
                };
                let advice = if is_input { format!("choose another name for {role}") } else { "name two".to_owned() };
                let name = sink::name_of(path);
                return Err(Usage(format!("{name}: {role} and {other} are one file; {advice}")));
            }
            known.push((role, path, file));
        }
        Ok(())
    }
}

/// The standard stream that a dash stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Input,
    Output,
}

/// What two names of one file have in common.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// Device and inode.
    #[cfg(unix)]
    Inode(u64, u64),
    /// A directory and a name in it.
    Place(PathBuf, OsString),
    /// Standard output, where it is no file: two results would be mixed in it.
    Stdout,
}

/// None for what is no file of its own: a device, a pipe, a place that cannot be. The dash is the stream.
fn identity(path: &Path, stream: Stream) -> Option<Identity> {
    if is_dash(path) {
        let file = redirected(stream).ok().and_then(|metadata| of_metadata(&metadata));
        return file.or((stream == Stream::Output).then_some(Identity::Stdout));
    }
    match std::fs::metadata(path) {
        Ok(metadata) if keeps(&metadata) => of_metadata(&metadata).or_else(|| place(path)),
        Ok(_) => None,
        Err(_) => place(path),
    }
}

/// True for what has contents that could be lost.
fn keeps(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        metadata.is_file() || metadata.is_dir() || metadata.file_type().is_block_device()
    }
    #[cfg(not(unix))]
    {
        metadata.is_file() || metadata.is_dir()
    }
}

#[cfg(unix)]
fn of_metadata(metadata: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    keeps(metadata).then(|| Identity::Inode(metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn of_metadata(_: &Metadata) -> Option<Identity> {
    None
}

/// What a standard stream leads to.
#[cfg(unix)]
fn redirected(stream: Stream) -> io::Result<Metadata> {
    use std::os::fd::AsFd;
    let descriptor = match stream {
        Stream::Input => io::stdin().as_fd().try_clone_to_owned(),
        Stream::Output => io::stdout().as_fd().try_clone_to_owned(),
    };
    std::fs::File::from(descriptor?).metadata()
}

#[cfg(not(unix))]
fn redirected(_: Stream) -> io::Result<Metadata> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Where a file will be that is not there yet.
fn place(path: &Path) -> Option<Identity> {
    let path = destination(path).ok()?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(Identity::Place(std::fs::canonicalize(directory).ok()?, path.file_name()?.to_owned()))
}

fn is_one(a: &Option<Identity>, b: &Option<Identity>) -> bool {
    match (a, b) {
        (Some(Identity::Place(a, name)), Some(Identity::Place(b, other))) if a == b && name != other => {
            // Two files that are not there yet: whether they are one, where case alone tells their names apart, the file system decides.
            name.to_string_lossy().to_lowercase() == other.to_string_lossy().to_lowercase() && ignores_case(a)
        }
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// True where a file made under one name answers to the same name in other letters. What cannot be tried is no reason to refuse.
fn ignores_case(directory: &Path) -> bool {
    let Ok(probe) = tempfile::Builder::new().prefix(".halotile-").suffix(".tmp").tempfile_in(directory) else {
        return false;
    };
    let name = probe.path().file_name().map(|name| name.to_string_lossy().to_uppercase());
    name.is_some_and(|name| directory.join(name).exists())
}
