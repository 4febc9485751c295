//! The tables that all tiles of a task share.

use crate::cpu::table;
use crate::measure::window::Window;

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
        let logs = table::Tables::of(largest, |n| window.logs.get(n).copied().unwrap_or(0));
        let most = levels.min(largest).max(1);
        Self { logs, ln: (0..=most).map(|classes| (classes as f64).ln()).collect() }
    }

    /// ln of a number of classes; anything for a number that there cannot be.
    #[inline(always)]
    pub fn ln(&self, classes: u16) -> f64 {
        self.ln[usize::from(classes).min(self.ln.len() - 1)]
    }
}
