//! The tables that all tiles of a task share.

use crate::cpu::count::{Count, is_wide};
use crate::cpu::table::{self, ALL};
use crate::measure::logs;
use crate::measure::window::{TABULATED, Window};

/// The tables of a window.
pub struct Tables {
    /// F(n) and its steps, where the window's measures need them, else 0.
    pub logs: table::Tables<u64>,
    /// The natural logarithms of numbers of classes.
    ln: Vec<f64>,
}

impl Tables {
    /// For windows of at most `largest` cells in maps of so many levels.
    pub fn new(window: &Window, largest: usize, levels: usize) -> Self {
        let count = window.footprint().count();
        let logs = if window.needs.logs && count > TABULATED {
            let entries = logs::table(largest + 1, count);
            if is_wide(largest) { table::Tables::wide(entries) } else { table::Tables::of(largest, |n| entries[n]) }
        } else {
            table::Tables::of(largest.min(ALL - 1), |n| window.logs.get(n).copied().unwrap_or(0))
        };
        let most = levels.min(largest).max(1);
        Self { logs, ln: (0..=most).map(|classes| (classes as f64).ln()).collect() }
    }

    /// ln of a number of classes; anything for a number that there cannot be.
    #[inline(always)]
    pub fn ln(&self, classes: u32) -> f64 {
        self.ln[(classes as usize).min(self.ln.len() - 1)]
    }
}

/// Counts that slide: how far F is from one to the next.
pub trait Steps: Count {
    /// Where that is looked up.
    type Table: ?Sized;
    /// The table of a task.
    fn table(tables: &Tables) -> &Self::Table;
    /// F(n + 1) − F(n).
    fn step(table: &Self::Table, n: Self) -> u64;
}

impl Steps for u16 {
    type Table = [u64; ALL];
    fn table(tables: &Tables) -> &[u64; ALL] {
        &tables.logs.step
    }
    #[inline(always)]
    fn step(table: &[u64; ALL], n: u16) -> u64 {
        table[usize::from(n)]
    }
}

/// Without a table of differences, which would be as long as the other.
impl Steps for u32 {
    type Table = [u64];
    fn table(tables: &Tables) -> &[u64] {
        tables.logs.entries()
    }
    #[inline(always)]
    fn step(table: &[u64], n: u32) -> u64 {
        table[n as usize + 1].wrapping_sub(table[n as usize])
    }
}
