//! What a window's counts are made of: entries of a table that are added up, and a result of their sum, of 32 bits or of 64.

use simt::global::Out;
use simt::math::{fused_multiply_add_f64, reciprocal_fast};
use simt::scalar::Scalar;
use simt::shared::Shared;

use super::lane_table::ROW;
use super::one_sum::{ONE_SUM_GROUPS, OneSum};
use super::store_doubles;

/// A measure that comes from one sum over a window's counts, R = Q(N) − Σ Q(n).
pub trait Measure: Copy {
    /// Q(n), modulo a power of two.
    type Entry: Scalar;
    type Result: Scalar;

    const NAN: Self::Result;
    /// Bytes between the lanes' words in a row of the table, which begins again where it ends.
    const STEP: u32;

    /// Whether classes are taken sixteen at a time. Then there are [groups](Self::groups) of them, and sums wait in the results until the last.
    const GROUPED: bool;

    /// The groups, and the one that is counted.
    fn groups(self) -> Groups;

    /// The same for another one of them.
    fn of_groups(self, groups: Groups) -> Self;

    /// The sums of the groups before, if there are any.
    fn waiting(self, out: Out<Self::Result>, is_inside: bool, at: usize) -> Option<[Self::Entry; 4]>;

    /// Has sums wait for the next group; false for the last.
    fn wait(self, out: Out<Self::Result>, is_inside: bool, at: usize, sums: [Self::Entry; 4]) -> bool;

    /// 16 bytes of the row of the table for −`entry`.
    fn row(entry: Self::Entry) -> [u32; 4];

    fn negated(entry: Self::Entry) -> Self::Entry;

    fn add(a: Self::Entry, b: Self::Entry) -> Self::Entry;

    /// What a result is made of besides R: by Q(N) and N · [`ROW`]. Without a valid cell the result is not a number.
    fn norm(self, all: Self::Entry, cells: u32) -> Self::Result;

    fn results(self, sums: [Self::Entry; 4], norms: [Self::Result; 4]) -> [Self::Result; 4];

    /// Writes four results to element `at`, a multiple of 4, if `condition` holds.
    fn store(out: Out<Self::Result>, condition: bool, at: usize, results: [Self::Result; 4]);
}

/// Groups of sixteen classes, one of which is counted.
#[derive(Clone, Copy)]
pub struct Groups {
    pub count: u32,
    pub current: u32,
}

impl Groups {
    /// The first of so many.
    #[inline(always)]
    pub fn new(count: u32) -> Self {
        Self { count, current: 0 }
    }

    /// The first class of the one that is counted, in each byte of a word.
    #[inline(always)]
    pub fn first_class(self) -> u32 {
        self.current * 0x1010_1010
    }

    #[inline(always)]
    fn are_before(self) -> bool {
        self.current > 0
    }

    #[inline(always)]
    fn are_left(self) -> bool {
        self.current + 1 < self.count
    }
}

/// An [`OneSum`], whose scale is for 1 / (N · [`ROW`]). With `SHANNON` that is known to be its formula; with `GROUPED` there are more than 16 classes.
#[derive(Clone, Copy)]
pub struct Single<const SHANNON: bool, const GROUPED: bool> {
    sum: OneSum,
    groups: Groups,
}

impl<const SHANNON: bool, const GROUPED: bool> Single<SHANNON, GROUPED> {
    /// The measure of a formula, with how many groups there are where classes are grouped, and what 1/N is multiplied by.
    #[inline(always)]
    pub fn new(formula: u32, scale: f32) -> Self {
        let scale = scale * ROW as f32;
        let (sum, groups) = if GROUPED { OneSum::grouped(formula, scale) } else { (OneSum::new(formula, scale), 1) };
        Self { sum, groups: Groups::new(groups) }
    }

    /// The same of so many groups.
    #[inline(always)]
    pub fn with_groups(self, count: u32) -> Self {
        Self { groups: Groups::new(count), ..self }
    }

    /// The measure of one group, whose norms a kernel finds by itself.
    #[inline(always)]
    pub fn of_sum(sum: OneSum) -> Self {
        Self { sum, groups: Groups::new(1) }
    }

    #[inline(always)]
    pub fn sum(self) -> OneSum {
        self.sum
    }
}

impl<const SHANNON: bool, const GROUPED: bool> Measure for Single<SHANNON, GROUPED> {
    type Entry = u32;
    type Result = f32;

    const NAN: f32 = f32::NAN;
    const STEP: u32 = 4;
    const GROUPED: bool = GROUPED;

    #[inline(always)]
    fn groups(self) -> Groups {
        self.groups
    }

    #[inline(always)]
    fn of_groups(self, groups: Groups) -> Self {
        Self { groups, ..self }
    }

    #[inline(always)]
    fn waiting(self, out: Out<f32>, is_inside: bool, at: usize) -> Option<[u32; 4]> {
        if !GROUPED || !self.groups.are_before() {
            return None;
        }
        Some(if is_inside { out.cast::<u32>().load4(at) } else { [0; 4] })
    }

    #[inline(always)]
    fn wait(self, out: Out<f32>, is_inside: bool, at: usize, sums: [u32; 4]) -> bool {
        let waits = GROUPED && self.groups.are_left();
        if waits {
            out.cast::<u32>().store4_if(is_inside, at, sums);
        }
        waits
    }

    #[inline(always)]
    fn row(entry: u32) -> [u32; 4] {
        [entry.wrapping_neg(); 4]
    }

    #[inline(always)]
    fn negated(entry: u32) -> u32 {
        entry.wrapping_neg()
    }

    #[inline(always)]
    fn add(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn norm(self, all: u32, cells: u32) -> f32 {
        // 128 changes nothing but the exponent.
        self.sum.norm::<SHANNON>(all, reciprocal_fast(cells as f32))
    }

    #[inline(always)]
    fn results(self, sums: [u32; 4], norms: [f32; 4]) -> [f32; 4] {
        self.sum.results::<SHANNON>(sums, norms)
    }

    #[inline(always)]
    fn store(out: Out<f32>, condition: bool, at: usize, results: [f32; 4]) {
        out.store4_if(condition, at, results);
    }
}

/// Shannon's entropy in f64. Two lanes share an entry of 8 bytes: those are served half a warp at a time.
#[derive(Clone, Copy)]
pub struct Double<const GROUPED: bool> {
    /// What 1 / (N · [`ROW`]) is multiplied by.
    scale: f64,
    groups: Groups,
}

impl<const GROUPED: bool> Double<GROUPED> {
    /// By how many groups there are, as [`Single`] is given them, and what 1/N is multiplied by.
    #[inline(always)]
    pub fn new(formula: u32, scale: f64) -> Self {
        let groups = Groups::new(if GROUPED { formula >> ONE_SUM_GROUPS } else { 1 });
        Self { scale: scale * f64::from(ROW), groups }
    }
}

impl<const GROUPED: bool> Measure for Double<GROUPED> {
    type Entry = u64;
    type Result = f64;

    const NAN: f64 = f64::NAN;
    const STEP: u32 = 8;
    const GROUPED: bool = GROUPED;

    #[inline(always)]
    fn groups(self) -> Groups {
        self.groups
    }

    #[inline(always)]
    fn of_groups(self, groups: Groups) -> Self {
        Self { groups, ..self }
    }

    #[inline(always)]
    fn waiting(self, out: Out<f64>, is_inside: bool, at: usize) -> Option<[u64; 4]> {
        if !GROUPED || !self.groups.are_before() {
            return None;
        }
        let words = out.cast::<u32>();
        let [[a, b, c, d], [e, f, g, h]] =
            if is_inside { [words.load4(2 * at), words.load4(2 * at + 4)] } else { [[0; 4]; 2] };
        let whole = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        Some([whole(a, b), whole(c, d), whole(e, f), whole(g, h)])
    }

    #[inline(always)]
    fn wait(self, out: Out<f64>, is_inside: bool, at: usize, sums: [u64; 4]) -> bool {
        let waits = GROUPED && self.groups.are_left();
        if waits {
            store_doubles(out, is_inside, at, sums.map(f64::from_bits));
        }
        waits
    }

    #[inline(always)]
    fn row(entry: u64) -> [u32; 4] {
        let entry = entry.wrapping_neg();
        let (low, high) = (entry as u32, (entry >> 32) as u32);
        [low, high, low, high]
    }

    #[inline(always)]
    fn negated(entry: u64) -> u64 {
        entry.wrapping_neg()
    }

    #[inline(always)]
    fn add(a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn norm(self, _all: u64, cells: u32) -> f64 {
        // A reciprocal to 24 bits, and twice as many by each step; of 0 not a number.
        let n = f64::from(cells);
        let near = f64::from(reciprocal_fast(cells as f32));
        let near = fused_multiply_add_f64(fused_multiply_add_f64(-n, near, 1.0), near, near);
        fused_multiply_add_f64(fused_multiply_add_f64(-n, near, 1.0), near, near) * self.scale
    }

    #[inline(always)]
    fn results(self, [a, b, c, d]: [u64; 4], [e, f, g, h]: [f64; 4]) -> [f64; 4] {
        [a as f64 * e, b as f64 * f, c as f64 * g, d as f64 * h]
    }

    #[inline(always)]
    fn store(out: Out<f64>, condition: bool, at: usize, results: [f64; 4]) {
        store_doubles(out, condition, at, results);
    }
}

/// The address of a lane's word in the first row of a table.
#[inline(always)]
pub fn lane_address<M: Measure>(table: Shared<M::Entry>, lane: u32) -> u32 {
    // As many bits of the lane as tell words apart.
    table.address() + M::STEP * if M::STEP == 4 { lane } else { lane % (ROW / M::STEP) }
}
