//! The tables that all tiles of a task share.

use std::f64::consts::LN_2;

use super::finish::Precision;
use crate::cpu::count::{Count, is_wide};
use crate::cpu::table::{self, ALL, is_single_enough};
use crate::measure::logs;
use crate::measure::window::{TABULATED, Window};

/// More classes than bytes have, and a power of two.
const FEW_CLASSES: usize = 512;

/// The tables of a window.
pub struct Tables {
    /// F(n) and its steps, where the window's measures need them, else 0. Nothing where `single` has them for counts of 32 bits.
    pub logs: table::Tables<u64>,
    /// The same entries for sums of 32 bits, where those are enough.
    pub single: Option<table::Tables<u32>>,
    /// The bits of F(N) − Σ F(n) that count.
    pub mask: u64,
    /// What F(n) in bits was multiplied by.
    pub units: f64,
    /// Windows of fewer valid cells ask for finer units ([`few`](crate::cpu::few)); 0 where none do.
    pub few: usize,
    /// The natural logarithms of numbers of classes.
    ln: Vec<f64>,
    /// What a bit of entropy is of the largest that so many classes can have; 0 for one class and none.
    evenness: Vec<f64>,
}

impl Tables {
    /// For windows of at most `largest` cells in maps of so many levels, and results that are rounded so.
    pub fn new(window: &Window, largest: usize, levels: usize, precision: Precision) -> Self {
        let count = window.footprint().count();
        let most = levels.min(largest).max(1);
        let ln: Vec<f64> = (0..=most).map(|classes| (classes as f64).ln()).collect();
        let mut evenness: Vec<f64> =
            ln.iter().enumerate().map(|(classes, ln)| if classes > 1 { LN_2 / ln } else { 0.0 }).collect();
        evenness.resize(evenness.len().max(FEW_CLASSES), 0.0);
        if window.needs.logs && precision == Precision::Single && is_single_enough(levels, largest) {
            let (single, logs) = if is_wide(largest) {
                (table::Tables::wide_of_log(largest, levels), table::Tables::of(0, |_| 0))
            } else {
                let single = table::Tables::<u32>::new(largest, levels, 1.0);
                let logs = table::Tables::of(largest, |n| u64::from(single.f[n]));
                (single, logs)
            };
            let (mask, units, few) = (u64::from(single.mask), LN_2 / single.unit, single.few);
            return Self { logs, single: Some(single), mask, units, few, ln, evenness };
        }
        let logs = if window.needs.logs && count > TABULATED {
            let entries = logs::table(largest + 1, count);
            if is_wide(largest) { table::Tables::wide(entries) } else { table::Tables::of(largest, |n| entries[n]) }
        } else {
            table::Tables::of(largest.min(ALL - 1), |n| window.logs.get(n).copied().unwrap_or(0))
        };
        Self { logs, single: None, mask: u64::MAX, units: window.units, few: 0, ln, evenness }
    }

    /// F(n); 0 for a number that there cannot be.
    #[inline(always)]
    pub fn entry(&self, n: usize) -> u64 {
        match self.single.as_ref().and_then(table::Tables::wide_entries) {
            Some(entries) => u64::from(entries.get(n).copied().unwrap_or_default()),
            None => self.logs.entries().get(n).copied().unwrap_or_default(),
        }
    }

    /// ln of a number of classes; anything for a number that there cannot be.
    #[inline(always)]
    pub fn ln(&self, classes: u32) -> f64 {
        self.ln[(classes as usize).min(self.ln.len() - 1)]
    }

    /// What entropies in bits are multiplied by for the evenness of 1 to 16 classes, where no window has more.
    pub fn evenness_of_few(&self) -> Option<&[f64; 16]> {
        if self.ln.len() <= 17 { self.evenness[1..].first_chunk() } else { None }
    }

    /// What entropies in bits are multiplied by for the evenness of numbers of classes.
    #[inline(always)]
    pub fn evenness(&self, classes: &[u32], to: &mut [f64]) {
        // A table of this length needs no check of an index.
        if let Ok(table) = <&[f64; FEW_CLASSES]>::try_from(&*self.evenness) {
            to.iter_mut().zip(classes).for_each(|(to, &classes)| *to = table[classes as usize % FEW_CLASSES]);
        } else {
            let last = self.evenness.len() - 1;
            to.iter_mut().zip(classes).for_each(|(to, &classes)| *to = self.evenness[(classes as usize).min(last)]);
        }
    }
}

/// Counts that slide: how far F is from one to the next.
pub trait Steps: Count {
    /// Where that is looked up.
    type Table<'a>: Copy;
    /// The table of a task.
    fn table(tables: &Tables) -> Self::Table<'_>;
    /// F(n + 1) − F(n).
    fn step(table: Self::Table<'_>, n: Self) -> u64;
}

impl Steps for u16 {
    type Table<'a> = &'a [u64; ALL];
    fn table(tables: &Tables) -> &[u64; ALL] {
        &tables.logs.step
    }
    #[inline(always)]
    fn step(table: &[u64; ALL], n: u16) -> u64 {
        table[usize::from(n)]
    }
}

/// F(n) of either width, where counts have 32 bits.
#[derive(Clone, Copy)]
pub enum Entries<'a> {
    /// For sums of 32 bits.
    Single(&'a [u32]),
    /// For sums of 64 bits.
    Double(&'a [u64]),
}

/// Without a table of differences, which would be as long as the other.
impl Steps for u32 {
    type Table<'a> = Entries<'a>;
    fn table(tables: &Tables) -> Entries<'_> {
        match tables.single.as_ref().and_then(table::Tables::wide_entries) {
            Some(entries) => Entries::Single(entries),
            None => Entries::Double(tables.logs.entries()),
        }
    }
    #[inline(always)]
    fn step(table: Entries<'_>, n: u32) -> u64 {
        let n = n as usize;
        match table {
            // Modulo 2^64, so that steps add up to entries.
            Entries::Single(f) => u64::from(f[n + 1]).wrapping_sub(u64::from(f[n])),
            Entries::Double(f) => f[n + 1].wrapping_sub(f[n]),
        }
    }
}
