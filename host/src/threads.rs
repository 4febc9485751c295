//! Threads of one's own, for callers that do not want the work done by all cores, or not by rayon's global pool.
//!
//! The engines take the current rayon pool. The streaming plan has threads besides, which read and write, and shortest paths have some for each of
//! several devices: these have the pool do what can be done in parallel. Rayon has no way for them to ask which pool that was, so [`Threads::run`] leaves it
//! where they find it; and what has started them waits by `wait_until`, since it may be on the pool's only thread.
//!
//! A pool of one's own matters most after a `fork`: the child has none of its parent's threads, and would wait for the global pool for
//! ever.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

thread_local! {
    /// The pool of the work that this thread is doing, where it is none of rayon's own choice.
    static CURRENT: RefCell<Option<Arc<ThreadPool>>> = const { RefCell::new(None) };
}

/// Threads that wait for work.
///
/// ```
/// use halotile::entropy::Entropy;
/// use halotile::grid::GridView;
/// use halotile::threads::Threads;
///
/// let cells = [1u8, 2, 3, 4];
/// let h = Threads::new(1)?.run(|| Entropy::new().compute::<f64>(GridView::new(&cells, 2, 2)?))?;
/// assert!((h.row(0)[0] - 4f64.ln()).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Threads(Arc<ThreadPool>);

/// The operating system starts no threads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no {0} threads can be started: {1}")]
pub struct ThreadsError(usize, String);

impl Threads {
    /// Starts `count` threads, at least 1.
    ///
    /// # Errors
    /// [`ThreadsError`] where the operating system starts no more threads.
    pub fn new(count: usize) -> Result<Self, ThreadsError> {
        let count = count.max(1);
        let pool = ThreadPoolBuilder::new().num_threads(count).thread_name(|i| format!("halotile-{i}")).build();
        pool.map(|pool| Self(Arc::new(pool))).map_err(|error| ThreadsError(count, error.to_string()))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Has these threads do all the work of `work`.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let pool = Arc::clone(&self.0);
        self.0.install(move || {
            let before = CURRENT.replace(Some(pool));
            let result = work();
            CURRENT.set(before);
            result
        })
    }
}

/// The pool of the caller's work, for a thread that the caller starts.
#[derive(Clone)]
pub(crate) struct Inherited(Option<Arc<ThreadPool>>);

impl Inherited {
    /// That of the current work.
    pub fn here() -> Self {
        Self(CURRENT.with_borrow(Clone::clone))
    }

    /// Does `work`, what is parallel of it in that pool.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// Waits for a condition that nothing notifies of. One of rayon's threads runs other jobs meanwhile.
pub(crate) fn wait_until(mut so: impl FnMut() -> bool) {
    let mut turns = Turns::default();
    while !so() {
        turns.wait();
    }
}

/// Turns of waiting for what nothing notifies of.
#[derive(Default)]
pub(crate) struct Turns {
    since: Option<Instant>,
}

impl Turns {
    /// A turn: another job, on one of rayon's threads where there is one, or a short sleep. It is the longer, up to a millisecond, the longer the
    /// waiting has taken, and what is waited for is noticed a sixteenth later at most: waking up takes time from those who work.
    pub fn wait(&mut self) {
        if rayon::current_thread_index().is_some() && rayon::yield_now() == Some(rayon::Yield::Executed) {
            return;
        }
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        std::thread::sleep((waited / 16).clamp(Duration::from_micros(50), Duration::from_millis(1)));
    }
}

/// Something that another thread will have done, and that the thread waits for that has made this.
pub(crate) struct Done {
    is_set: AtomicBool,
    waiting: Thread,
}

impl Done {
    /// Not done yet; the calling thread is the one to wait.
    pub fn awaited_here() -> Self {
        Self { is_set: AtomicBool::new(false), waiting: std::thread::current() }
    }

    /// It is done. What was written before is seen by the thread that waits.
    pub fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        self.waiting.unpark();
    }

    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Waits for it. One of rayon's threads runs other jobs meanwhile, any other sleeps.
    pub fn wait(&self) {
        if rayon::current_thread_index().is_some() || std::thread::current().id() != self.waiting.id() {
            return wait_until(|| self.is_set());
        }
        while !self.is_set() {
            std::thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_elsewhere_is_waited_for() {
        let mut all = vec![0; 100];
        for (i, place) in all.iter_mut().enumerate() {
            let done = Arc::new(Done::awaited_here());
            let (number, theirs) = (Arc::new(std::sync::atomic::AtomicUsize::new(0)), done.clone());
            let to = number.clone();
            let work = move || {
                to.store(i + 1, Ordering::Relaxed);
                theirs.set();
            };
            // By a thread that may be ready before, and, on a pool's only thread, by the one that waits.
            if i % 2 == 0 {
                rayon::spawn(work);
                done.wait();
            } else {
                Threads::new(1).unwrap().run(|| {
                    rayon::spawn(work);
                    done.wait();
                });
            }
            *place = number.load(Ordering::Relaxed);
        }
        assert!(all.into_iter().eq(1..=100));
    }

    /// What the streaming plan does: a thread of its own, which has the pool of its caller work.
    #[test]
    fn threads_that_are_started_on_the_way_find_the_pool() {
        let names = |threads: &Threads| {
            threads.run(|| {
                let inherited = Inherited::here();
                let name = || std::thread::current().name().map(str::to_owned);
                let theirs = std::thread::scope(|scope| scope.spawn(|| inherited.run(name)).join().unwrap());
                (rayon::current_num_threads(), theirs)
            })
        };
        let threads = Threads::new(3).unwrap();
        let (count, name) = names(&threads);
        assert_eq!((threads.count(), count), (3, 3));
        assert!(name.is_some_and(|name| name.starts_with("halotile-")));
        assert!(Inherited::here().0.is_none());
        assert_eq!(Threads::new(0).unwrap().count(), 1);
    }
}
