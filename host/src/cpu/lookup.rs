//! From counts to sums: for a row of cells, S(x) += Σ F(count of level l at x) over a group of levels.
//!
//! This is where most of the time goes, so every instruction set may have its own version; all add
//! the same integers. Counts of 32 bits lie too far apart for lookups in registers, and have arithmetic alone there. The portable
//! ones: with windows of at most 63 cells two levels share one
//! lookup (a 64 × 64 table of pair sums, 16 or 32 KiB of which a 5 × 5 window touches 5 or 10);
//! larger windows take one lookup a level.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::lanes;
use super::table::{Fixed, Tables};
#[cfg(target_arch = "x86_64")]
use super::x86;
use crate::isa::{Isa, Kind};

/// Cells that are looked up together; rows of counts are padded to a multiple of it.
pub const BLOCK: usize = 64;

/// Most levels of a group.
pub const GROUP: usize = 16;

/// Entries of a stretch of the table that follow each other, which instruction sets that permute look up for 32 cells at a time.
pub const STRETCH: usize = 64;

/// The two of 32 cells whose counts a stretch lies around.
pub const ANCHORS: [usize; 2] = [3, 28];

/// Where the counts of a quarter of the levels spread too far for a stretch, how many times 32 cells go without a look: a branch that is not
/// predicted costs as much as what is done without the stretch.
pub const ROUGH: usize = 15;

/// Where the stretch around two counts starts. `short`: the table has no more than one.
#[inline(always)]
pub fn stretch_around(left: u16, right: u16, short: bool) -> usize {
    let middle = (usize::from(left) + usize::from(right)) / 2;
    if short { 0 } else { middle.saturating_sub(STRETCH / 2) }
}

/// The counts of a group of levels: level g of cell x at g · stride + x.
#[derive(Clone, Copy)]
pub enum Counts<'a> {
    /// Windows of at most [`super::table::SMALL`] cells.
    Small(&'a [u8]),
    /// Windows of fewer than [`super::table::ALL`] cells.
    Large(&'a [u16]),
    /// Any window.
    Wide(&'a [u32]),
}

/// A group of levels whose counts are to be looked up.
#[derive(Clone, Copy)]
pub struct Group<'a> {
    /// The counts.
    pub counts: Counts<'a>,
    /// Cells between the counts of neighbouring levels, at least the cells of a row.
    pub stride: usize,
    /// How many levels, 1..=[`GROUP`].
    pub levels: usize,
    /// Whether the sums start at zero instead of what they hold.
    pub first: bool,
}

/// Sums that can be looked up.
pub trait Lookup: Fixed {
    /// Adds the group's table entries to the sums of a row, whose length is a multiple of [`BLOCK`].
    fn add_group(isa: Isa, group: Group<'_>, tables: &Tables<Self>, sums: &mut [Self]) {
        let needed = needed(group, sums.len());
        match group.counts {
            Counts::Small(counts) => {
                assert!(counts.len() >= needed && tables.pairs.is_some());
                Self::add_small(isa, counts, group, tables, sums);
            }
            Counts::Large(counts) => {
                assert!(counts.len() >= needed);
                Self::add_large(isa, counts, group, tables, sums);
            }
            Counts::Wide(counts) => {
                assert!(counts.len() >= needed);
                Self::add_wide(isa, counts, group, tables, sums);
            }
        }
    }

    /// [`Lookup::add_group`] for byte-sized counts, its arguments checked.
    fn add_small(isa: Isa, counts: &[u8], group: Group<'_>, tables: &Tables<Self>, sums: &mut [Self]);
    /// [`Lookup::add_group`] for 16-bit counts, its arguments checked.
    fn add_large(isa: Isa, counts: &[u16], group: Group<'_>, tables: &Tables<Self>, sums: &mut [Self]);
    /// [`Lookup::add_group`] for 32-bit counts, its arguments checked.
    fn add_wide(_: Isa, counts: &[u32], group: Group<'_>, tables: &Tables<Self>, sums: &mut [Self]) {
        let f = tables.entries();
        one_by_one(counts, group, |n| f[n as usize], sums);
    }
}

impl Lookup for u32 {
    fn add_small(isa: Isa, counts: &[u8], group: Group<'_>, tables: &Tables<u32>, sums: &mut [u32]) {
        match isa.kind() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Isa` of this kind exists only on machines that have the features, and
            // `add_group` checked the lengths.
            Kind::Avx512 => unsafe { x86::small_avx512(counts, group, tables, sums, None) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            // SAFETY: as above; counts of windows of at most 63 cells are below 64.
            Kind::Avx2 | Kind::Neon => unsafe { lanes::small(counts, group, tables, sums) },
            _ => small(counts, group, tables, sums),
        }
    }

    fn add_large(isa: Isa, counts: &[u16], group: Group<'_>, tables: &Tables<u32>, sums: &mut [u32]) {
        match isa.kind() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Isa` of this kind exists only on machines that have the features, and
            // `add_group` checked the lengths.
            Kind::Avx512 => unsafe { x86::large_avx512(counts, group, tables, sums, None) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            // SAFETY: as above.
            Kind::Avx2 | Kind::Neon => unsafe { lanes::large(counts, group, tables, sums) },
            _ => large(counts, group, tables, sums),
        }
    }

    fn add_wide(isa: Isa, counts: &[u32], group: Group<'_>, tables: &Tables<u32>, sums: &mut [u32]) {
        match isa.kind() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Isa` of this kind exists only on machines that have the features, and
            // `add_group` checked the lengths.
            Kind::Avx512 => unsafe { x86::wide_avx512(counts, group, tables, sums, None) },
            _ => {
                let f = tables.entries();
                one_by_one(counts, group, |n| f[n as usize], sums);
            }
        }
    }
}

impl Lookup for u64 {
    fn add_small(isa: Isa, counts: &[u8], group: Group<'_>, tables: &Tables<u64>, sums: &mut [u64]) {
        match isa.kind() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Isa` of this kind exists only on machines that have the features, and
            // `add_group` checked the lengths.
            Kind::Avx512 => unsafe { x86::small64_avx512(counts, group, tables, sums) },
            _ => small(counts, group, tables, sums),
        }
    }

    fn add_large(_: Isa, counts: &[u16], group: Group<'_>, tables: &Tables<u64>, sums: &mut [u64]) {
        large(counts, group, tables, sums);
    }
}

/// How many counts a group has for so many sums.
fn needed(group: Group<'_>, sums: usize) -> usize {
    assert!(sums <= group.stride && sums.is_multiple_of(BLOCK));
    assert!((1..=GROUP).contains(&group.levels));
    (group.levels - 1) * group.stride + sums
}

/// [`Lookup::add_group`] that also adds to `classes`, as long as `sums`, how many of the group's counts are not 0, in one loop: a second one would
/// load all counts again. False, and nothing done, where there is no such loop.
pub fn add_group_and_classes(
    isa: Isa,
    group: Group<'_>,
    tables: &Tables<u32>,
    sums: &mut [u32],
    classes: &mut [u32],
) -> bool {
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => {
            let needed = needed(group, sums.len());
            assert!(classes.len() == sums.len());
            match group.counts {
                Counts::Small(counts) => {
                    assert!(counts.len() >= needed);
                    // SAFETY: an `Isa` of this kind exists only on machines that have the features, and the lengths were checked.
                    unsafe { x86::small_avx512(counts, group, tables, sums, Some(classes)) };
                }
                Counts::Large(counts) => {
                    assert!(counts.len() >= needed);
                    // SAFETY: as above.
                    unsafe { x86::large_avx512(counts, group, tables, sums, Some(classes)) };
                }
                Counts::Wide(counts) => {
                    assert!(counts.len() >= needed);
                    // SAFETY: as above.
                    unsafe { x86::wide_avx512(counts, group, tables, sums, Some(classes)) };
                }
            }
            true
        }
        _ => {
            let _ = (group, tables, sums, classes);
            false
        }
    }
}

/// Pairs of levels, one lookup each.
fn small<S: Fixed>(counts: &[u8], group: Group<'_>, tables: &Tables<S>, sums: &mut [S]) {
    let pairs = tables.pairs.as_ref().expect("byte-sized counts come with a pair table");
    let level = |g: usize, x: usize| -> &[u8; BLOCK] {
        counts[g * group.stride + x..][..BLOCK].try_into().expect("a block is BLOCK long")
    };
    let mut index = [[0u16; BLOCK]; GROUP / 2];
    for (b, sums) in sums.chunks_exact_mut(BLOCK).enumerate() {
        let x = b * BLOCK;
        for (p, index) in index.iter_mut().enumerate().take(group.levels.div_ceil(2)) {
            let upper = level(2 * p, x);
            if 2 * p + 1 < group.levels {
                let lower = level(2 * p + 1, x);
                for i in 0..BLOCK {
                    index[i] = u16::from(upper[i]) << 6 | u16::from(lower[i]);
                }
            } else {
                for i in 0..BLOCK {
                    index[i] = u16::from(upper[i]);
                }
            }
        }
        if group.first {
            sums.fill(S::default());
        }
        match group.levels.div_ceil(2) {
            1 => add_pairs::<S, 1>(&index, pairs, sums),
            2 => add_pairs::<S, 2>(&index, pairs, sums),
            3 => add_pairs::<S, 3>(&index, pairs, sums),
            4 => add_pairs::<S, 4>(&index, pairs, sums),
            5 => add_pairs::<S, 5>(&index, pairs, sums),
            6 => add_pairs::<S, 6>(&index, pairs, sums),
            7 => add_pairs::<S, 7>(&index, pairs, sums),
            _ => add_pairs::<S, 8>(&index, pairs, sums),
        }
    }
}

#[inline(always)]
fn add_pairs<S: Fixed, const PAIRS: usize>(index: &[[u16; BLOCK]; GROUP / 2], pairs: &[S; 64 * 64], sums: &mut [S]) {
    for (i, sum) in sums.iter_mut().enumerate().take(BLOCK) {
        let mut total = *sum;
        for index in index.iter().take(PAIRS) {
            // The mask changes no index; it tells the compiler that none is out of bounds.
            total = total.plus(pairs[usize::from(index[i]) & (64 * 64 - 1)]);
        }
        *sum = total;
    }
}

/// One lookup a level. The table of wide counts is as long as the largest window; what a row of windows has of it lies close together,
/// since neighbours have neighbouring counts.
#[inline(always)]
fn one_by_one<C: Copy, S: Fixed>(counts: &[C], group: Group<'_>, f: impl Fn(C) -> S, sums: &mut [S]) {
    for (b, sums) in sums.chunks_exact_mut(BLOCK).enumerate() {
        let level = |g: usize| -> &[C; BLOCK] {
            counts[g * group.stride + b * BLOCK..][..BLOCK].try_into().expect("a block is BLOCK long")
        };
        if group.first {
            sums.fill(S::default());
        }
        let mut g = 0;
        while g + 4 <= group.levels {
            let (n0, n1, n2, n3) = (level(g), level(g + 1), level(g + 2), level(g + 3));
            for i in 0..BLOCK {
                let one = f(n0[i]).plus(f(n1[i]));
                let two = f(n2[i]).plus(f(n3[i]));
                sums[i] = sums[i].plus(one.plus(two));
            }
            g += 4;
        }
        for g in g..group.levels {
            for (sum, &n) in sums.iter_mut().zip(level(g)) {
                *sum = sum.plus(f(n));
            }
        }
    }
}

/// [`one_by_one`] from a table of all 16-bit counts, which needs no check of an index.
fn large<S: Fixed>(counts: &[u16], group: Group<'_>, tables: &Tables<S>, sums: &mut [S]) {
    let f = &*tables.f;
    one_by_one(counts, group, |n| f[usize::from(n)], sums);
}
