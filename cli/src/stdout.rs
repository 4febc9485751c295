//! Standard output, for data; and whether there is one.
//!
//! A program started with its standard output closed (`halotile ... >&-`) would write its results to nowhere and end well: before `main`, Rust opens
//! `/dev/null` in place of every standard stream that is closed, so that no other file takes its number. From then on it looks like one that was
//! redirected there, which is what callers do who want the exit code alone (`subprocess.DEVNULL` even opens it the same way, for reading and
//! writing). So the descriptor is looked at before Rust does: a constructor, which the system's loader runs first, asks for its flags.

use std::io::{Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use halotile::io::write_failed;

static CLOSED: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
ctor::declarative::ctor! {
    // The word is the crate's, for what runs before `main`: nothing of the standard library's that `main` would have to prepare. This is one system
    // call and one store.
    #[ctor(unsafe)]
    fn look() {
        CLOSED.store(rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err(), Relaxed);
    }
}

/// There is no standard output.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed, and the results would go there; redirect it to a file, or to /dev/null")]
pub struct Closed;

/// Standard output; an error where it was closed when the program started.
pub fn open() -> Result<Stdout, Closed> {
    if CLOSED.load(Relaxed) { Err(Closed) } else { Ok(std::io::stdout()) }
}

/// Prints all of it.
pub fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = open()?;
    Ok(out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| write_failed("standard output", e))?)
}
