//! Which accesses are ordered, beyond those of one thread and those that a barrier parts.
//!
//! Inside a warp, `sync_warp` orders: each lane keeps a vector clock over the lanes of its warp, joined
//! with those of the other lanes in the mask. (One counter for the warp would call lanes ordered that were
//! not in the mask.)
//!
//! Between blocks, a fence and an atomic order, as in single-pass reductions:
//!
//! ```text
//! write; device_fence; [barrier;] atomic     releases the block's writes up to there
//! atomic; [barrier;] read                    acquires what blocks released before
//! ```
//!
//! Whether the two atomics are on one word is not checked, and a write after the fence, in the same phase, counts as
//! released: the detector may miss a race that way, and reports no false one.

use std::cell::{Cell, RefCell};

use super::shadow::{LAST_EPOCH, Stamp};

/// The vector clocks of the warps of a block.
pub(super) struct WarpClocks {
    /// Epoch of lane `b` that lane `a` of warp `w` has seen, at `(w * 32 + a) * 32 + b`.
    seen: Vec<Cell<u32>>,
    /// Warps whose clocks are not all zero, as bits.
    used: Cell<u32>,
}

impl WarpClocks {
    pub fn new(warps: u32) -> Self {
        Self { seen: vec![Cell::new(0); warps as usize * 1024], used: Cell::new(0) }
    }

    #[inline(always)]
    pub fn epoch(&self, thread: u32) -> u32 {
        self.seen[(thread * 32 + thread % 32) as usize].get()
    }

    /// Whether `thread` has synchronised with the lane of `stamp`, of the same warp and phase, since then.
    #[inline(always)]
    pub fn has_synchronised(&self, thread: u32, stamp: Stamp) -> bool {
        self.seen[(thread * 32 + stamp.thread() % 32) as usize].get() > stamp.epoch()
    }

    /// The lanes of `mask` synchronise. False when the clocks are at their end: then only a new phase helps.
    pub fn join(&self, warp: u32, mask: u32) -> bool {
        self.used.set(self.used.get() | 1 << warp);
        let rows = &self.seen[warp as usize * 1024..][..1024];
        let lanes = || (0..32).filter(|lane| mask >> lane & 1 != 0);
        let mut joined = [0; 32];
        for lane in lanes() {
            for (high, seen) in joined.iter_mut().zip(&rows[lane * 32..][..32]) {
                *high = seen.get().max(*high);
            }
        }
        for lane in lanes() {
            joined[lane] += 1;
        }
        for lane in lanes() {
            for (seen, high) in rows[lane * 32..][..32].iter().zip(joined) {
                seen.set(high);
            }
        }
        joined.iter().all(|&epoch| epoch < LAST_EPOCH)
    }

    /// A new phase begins: epochs count from zero again.
    pub fn reset(&self) {
        let mut used = self.used.replace(0);
        while used != 0 {
            let warp = used.trailing_zeros() as usize;
            self.seen[warp * 1024..][..1024].iter().for_each(|seen| seen.set(0));
            used &= used - 1;
        }
    }
}

/// What a block that has run released: everything of phases before `phase`, and of `phase` what the
/// threads of the bitmap did.
struct Release {
    first_phase: u64,
    phase: u64,
    threads: [u32; 32],
}

/// The fences and atomics of a launch.
#[derive(Default)]
pub(super) struct Fences {
    /// Threads of the running block that have fenced, by warp.
    fenced: Cell<[u32; 32]>,
    /// The first phase of the running block with a fence.
    first_fence: Cell<Option<u64>>,
    /// The first phase of the running block with an atomic, and the warps that made one.
    first_atomic: Cell<Option<u64>>,
    acquired: Cell<u32>,
    releases: RefCell<Vec<Release>>,
}

impl Fences {
    pub fn begin_block(&self) {
        self.fenced.set([0; 32]);
        self.first_fence.set(None);
        self.first_atomic.set(None);
        self.acquired.set(0);
    }

    pub fn fence(&self, now: Stamp) {
        let mut fenced = self.fenced.get();
        fenced[now.thread() as usize / 32] |= 1 << (now.thread() % 32);
        self.fenced.set(fenced);
        self.first_fence.set(self.first_fence.get().or(Some(now.phase())));
    }

    /// An atomic on global memory by a thread of the block that began with `first_phase`.
    #[inline]
    pub fn atomic(&self, now: Stamp, first_phase: u64) {
        let warp = now.thread() as usize / 32;
        self.first_atomic.set(self.first_atomic.get().or(Some(now.phase())));
        self.acquired.set(self.acquired.get() | 1 << warp);
        if self.first_fence.get().is_some() {
            self.release(now, first_phase, warp);
        }
    }

    fn release(&self, now: Stamp, first_phase: u64, warp: usize) {
        let own = 1 << (now.thread() % 32);
        let fenced = self.fenced.get()[warp];
        if fenced & own == 0 && self.first_fence.get().is_none_or(|phase| phase >= now.phase()) {
            return;
        }
        let mut releases = self.releases.borrow_mut();
        if releases.last().is_none_or(|last| last.first_phase != first_phase) {
            releases.push(Release { first_phase, phase: now.phase(), threads: [0; 32] });
        }
        if let Some(last) = releases.last_mut() {
            if last.phase != now.phase() {
                (last.phase, last.threads) = (now.phase(), [0; 32]);
            }
            last.threads[warp] |= fenced | own;
        }
    }

    /// Whether an earlier block's access at `stamp` was released and this thread has acquired it.
    #[cold]
    pub fn ordered(&self, stamp: Stamp, now: Stamp) -> bool {
        let acquired = self.acquired.get() >> (now.thread() / 32) & 1 != 0
            || self.first_atomic.get().is_some_and(|phase| phase < now.phase());
        if !acquired {
            return false;
        }
        let releases = self.releases.borrow();
        let after = releases.partition_point(|release| release.first_phase <= stamp.phase());
        // Of the block that the stamp is from, or of one before it that released nothing later.
        after.checked_sub(1).is_some_and(|at| {
            let release = &releases[at];
            let (warp, lane) = (stamp.thread() as usize / 32, stamp.thread() % 32);
            stamp.phase() < release.phase || stamp.phase() == release.phase && release.threads[warp] >> lane & 1 != 0
        })
    }
}
