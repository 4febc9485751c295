//! How a caller watches and stops long work: the engines call an [`Observer`] as they go.

/// Watches a computation. All methods may be called from any thread, many times a second.
///
/// The unit type watches nothing: `&()` is the observer of someone who does not care.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// struct Count(AtomicU64);
/// impl halotile::observe::Observer for Count {
///     fn advance(&self, cells: u64) {
///         self.0.fetch_add(cells, Ordering::Relaxed);
///     }
/// }
/// ```
pub trait Observer: Sync {
    /// A stage of the work begins, of so many cells (or whatever [`advance`](Self::advance) counts). Work of one stage does not call it.
    fn begin(&self, stage: &str, cells: u64) {
        let _ = (stage, cells);
    }

    /// `cells` more output cells are finished.
    fn advance(&self, cells: u64) {
        let _ = cells;
    }

    /// True when the work should stop soon; the engine then returns [`Cancelled`].
    fn cancelled(&self) -> bool {
        false
    }
}

impl Observer for () {}

/// The observer asked the work to stop before it was done. The output is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped before the work was done")]
pub struct Cancelled;
