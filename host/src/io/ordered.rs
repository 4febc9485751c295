//! A file made in parts by all threads and written in order: for what goes to a pipe, or whose parts have no length before they are made.

use std::io::{Error, Result, Write};

use rayon::prelude::*;

use crate::observe::{Cancelled, Observer};

use super::{FormatError, write_failed};

/// Parts that are made before the first of them is written.
const HELD: usize = 32;

/// Writes `parts` parts. `make` fills a buffer, which is empty, with one and says how much the observer is to be notified of.
pub(crate) fn write_parts(
    out: &mut dyn Write,
    parts: usize,
    observer: &dyn Observer,
    make: impl Fn(usize, &mut Vec<u8>) -> u64 + Sync,
) -> Result<()> {
    let mut held = vec![Vec::new(); HELD.min(parts)];
    (0..parts).step_by(HELD).try_for_each(|first| {
        let held = &mut held[..HELD.min(parts - first)];
        let made = held.par_iter_mut().enumerate().map(|(i, bytes)| {
            bytes.clear();
            if observer.cancelled() { Err(Error::other(Cancelled)) } else { Ok(make(first + i, bytes)) }
        });
        let done = made.try_reduce(|| 0, |a, b| Ok(a + b))?;
        held.iter().try_for_each(|bytes| out.write_all(bytes))?;
        observer.advance(done);
        Ok(())
    })
}

/// What to say when writing ends early.
pub(crate) fn ended(name: &str, error: Error) -> FormatError {
    match error.get_ref().is_some_and(|e| e.is::<Cancelled>()) {
        true => FormatError::cancelled(name),
        false => write_failed(name, error),
    }
}
