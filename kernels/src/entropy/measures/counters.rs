//! What a thread of the measures kernel keeps of its window: counters in shared memory, and sums that follow them.

use simt::global::In;
use simt::math::byte_permute;
use simt::shared::Shared;

use super::MEASURES_THREADS;
use crate::entropy::formula::Counts;

/// The counters of one thread and the sums over them.
#[derive(Clone, Copy)]
pub(super) struct Histogram {
    pub counters: Shared<u16>,
    /// The thread's counter of level 0; the next level's is `MEASURES_THREADS` further.
    pub column: u32,
    /// F(n) at `n`, then F(n + 1) − F(n) at `entries + n`.
    pub table: In<u64>,
    pub entries: u32,
    /// The differences again, in shared memory.
    pub steps: Shared<u64>,
    /// The level that is no data, or above 255.
    pub nodata: u32,
    pub levels: u32,
    /// Σ F(n), and what is not in it yet: to be added, to be taken away.
    pub logs: u64,
    pub pending: [u64; 2],
    /// Σ n², less twice what is in `doubled`.
    pub squares: u32,
    pub doubled: u32,
    /// How many n are not 0.
    pub classes: u32,
    /// N.
    pub total: u32,
}

impl Histogram {
    /// The count of a level; none of nodata.
    #[inline(always)]
    pub fn of(&self, level: u32) -> u32 {
        let count = u32::from(self.counters.load(level * MEASURES_THREADS + self.column));
        if level == self.nodata { 0 } else { count }
    }

    /// F(n + 1) − F(n).
    #[inline(always)]
    pub fn step<const LOGS: bool, const NEAR: bool>(&self, n: u32) -> u64 {
        match (LOGS, NEAR) {
            (false, _) => 0,
            (true, true) => self.steps.load(n),
            (true, false) => self.table.load((self.entries + n) as usize),
        }
    }

    /// Counts one cell of `level` more, or (`LEAVES`) one less; nothing where the cell is not `inside` the grid, but
    /// by the same instructions.
    #[inline(always)]
    pub fn count<const LEAVES: bool, const LOGS: bool, const NEAR: bool>(&mut self, level: u32, inside: bool) {
        let at = level * MEASURES_THREADS + self.column;
        let n = self.counters.load(at);
        let one = u16::from(inside);
        // The smaller of the two counts, before and after.
        let (after, lower) = if LEAVES {
            let after = n.wrapping_sub(one);
            (after, u32::from(after))
        } else {
            (n.wrapping_add(one), u32::from(n))
        };
        self.counters.store(at, after);
        let (squares, classes) = (2 * lower + 1, u32::from(lower == 0));
        let (squares, classes) = if inside { (squares, classes) } else { (0, 0) };
        let logs = self.step::<LOGS, NEAR>(lower);
        let logs = if inside { logs } else { 0 };
        if LEAVES {
            self.logs = self.logs.wrapping_sub(logs);
            self.squares = self.squares.wrapping_sub(squares);
            self.classes = self.classes.wrapping_sub(classes);
            self.total = self.total.wrapping_sub(u32::from(one));
        } else {
            self.logs = self.logs.wrapping_add(logs);
            self.squares = self.squares.wrapping_add(squares);
            self.classes = self.classes.wrapping_add(classes);
            self.total = self.total.wrapping_add(u32::from(one));
        }
    }

    /// Adds the differences of F of the last update.
    #[inline(always)]
    pub fn add_up(&mut self) {
        let [brought, took] = self.pending;
        self.logs = self.logs.wrapping_add(brought).wrapping_sub(took);
    }

    /// Counts a cell of level `old` less and one of level `new` more. Both counters are loaded before either is stored: of one level, neither changes anything.
    #[inline(always)]
    pub fn exchange<const LOGS: bool, const NEAR: bool>(&mut self, old: u32, new: u32) {
        // A level has 256 bytes: byte 1 of an offset is the level, byte 0 the thread.
        let offset = |level: u32| byte_permute(level, 2 * self.column, 0x5504);
        let (from, to) = (offset(old), offset(new));
        let (leaving, entering) = (self.counters.load_at(from), self.counters.load_at(to));
        let one = u16::from(from != to);
        self.add_up();
        let after = leaving.wrapping_sub(one);
        self.counters.store_at(from, after);
        self.counters.store_at(to, entering.wrapping_add(one));
        let (after, entering) = (u32::from(after), u32::from(entering));
        self.doubled = self.doubled.wrapping_add(entering).wrapping_sub(after);
        self.classes = self.classes.wrapping_add(u32::from(entering == 0)).wrapping_sub(u32::from(after == 0));
        self.pending = [self.step::<LOGS, NEAR>(entering), self.step::<LOGS, NEAR>(after)];
    }

    /// The sums without nodata, which is counted like a level. The counts are not changed.
    #[inline(always)]
    pub fn valid(mut self) -> Self {
        self.add_up();
        self.squares = self.squares.wrapping_add(self.doubled.wrapping_mul(2));
        if self.nodata <= 255 {
            let hidden = u32::from(self.counters.load(self.nodata * MEASURES_THREADS + self.column));
            self.logs = self.logs.wrapping_sub(if self.entries > 1 { self.table.load(hidden as usize) } else { 0 });
            self.squares = self.squares.wrapping_sub(hidden.wrapping_mul(hidden));
            self.classes = self.classes.wrapping_sub(u32::from(hidden > 0));
            self.total = self.total.wrapping_sub(hidden);
        }
        self
    }
}

impl Counts for Histogram {
    #[inline(always)]
    fn most(&self) -> u32 {
        let (mut most, mut level) = (0, 0);
        while level < self.levels {
            most = most.max(self.of(level));
            level += 1;
        }
        most
    }

    #[inline(always)]
    fn sum(&self, f: impl Fn(u32) -> f64) -> f64 {
        let (mut sum, mut level) = (0.0, 0);
        while level < self.levels {
            sum += f(self.of(level));
            level += 1;
        }
        sum
    }
}
