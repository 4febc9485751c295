//! What all threads that read parts of a graph's file tell the observer, and whether it lets them go on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::io::FormatError;
use crate::io::source::Source;
use crate::observe::Observer;

/// Progress for the observer, and its cancellation. A file that is read twice is not counted for more than its length.
pub(super) struct Progress<'o> {
    observer: &'o dyn Observer,
    left: AtomicU64,
}

impl<'o> Progress<'o> {
    pub(super) fn new(observer: &'o dyn Observer, bytes: u64) -> Self {
        Self { observer, left: AtomicU64::new(bytes) }
    }

    /// So many more bytes are done.
    pub(super) fn advance(&self, bytes: u64) {
        let before = self.left.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(bytes)));
        let told = before.map_or(0, |left| left.min(bytes));
        if told > 0 {
            self.observer.advance(told);
        }
    }

    /// Does `each` for the parts of a file on all threads, with a buffer to use. Of what fails, the first in the file is reported.
    pub(super) fn parts<E: Send + From<FormatError>>(
        &self,
        source: &Source,
        parts: usize,
        each: impl Fn(usize, &mut Vec<u8>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let done = (0..parts).into_par_iter().map_init(Vec::new, |buffer, part| {
            if self.observer.cancelled() {
                return Err(FormatError::cancelled(&source.name).into());
            }
            each(part, buffer)
        });
        done.find_map_first(Result::err).map_or(Ok(()), Err)
    }
}
