//! Ctrl-C, and the signals that ask a program to end.
//!
//! The first one sets a flag, which the work asks for as it goes ([`requested`]); then everything unwinds in the ordinary
//! way and temporary files vanish with what owns them. The second one ends the program at once, and so does the first one while
//! the flag cannot be checked, because the program waits for a pipe or a terminal ([`waiting`]). Then the
//! temporary files that were made known here ([`remove_at_the_end`]) are removed by hand; those without a name vanish with the process.

use std::path::PathBuf;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, Once, PoisonError};

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// Threads that wait.
static WAITING: AtomicUsize = AtomicUsize::new(0);
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Starts to listen.
pub fn listen() {
    let handler = || {
        if REQUESTED.swap(true, SeqCst) || WAITING.load(SeqCst) > 0 {
            for path in TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                // It may have been renamed already, or never written.
                let _ = std::fs::remove_file(path);
            }
            say();
            std::process::exit(130);
        }
    };
    // A file that grows beyond the limit of the process (`ulimit -f`) is then an error of the write that would exceed it, which has a message
    // and leaves nothing. The flag is not needed; a signal that is ignored would be so for all programs that this one starts.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    // Refused where our parent has these signals ignored (`nohup`, a script's background job): they stay ignored.
    let _ = ctrlc::try_set_handler(handler);
}

/// True when the work should stop.
pub fn requested() -> bool {
    REQUESTED.load(SeqCst)
}

/// Tells the user, once: two threads may come here at the same moment.
pub fn say() {
    static SAID: Once = Once::new();
    SAID.call_once(|| crate::console::say("interrupted"));
}

/// Does something that may block for as long as another program likes.
pub fn waiting<T>(what: impl FnOnce() -> T) -> T {
    WAITING.fetch_add(1, SeqCst);
    let result = what();
    WAITING.fetch_sub(1, SeqCst);
    result
}

/// Makes known a file to be removed if the program has to end at once.
pub fn remove_at_the_end(path: PathBuf) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path);
}

/// The error of a read or write that the flag stopped. What is printed in the end comes from the flag itself.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;
