//! Times, what measured them, and their median: the only one of the workspace.

use serde::{Deserialize, Serialize};

/// What measured a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Events on the device (in the emulator: how long it took to emulate).
    Device,
    /// The wall clock.
    Wall,
}

/// Times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// What measured them.
    pub clock: Clock,
    /// The middle one, or the mean of the middle two.
    pub median: f64,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// All of them, in order.
    pub raw: Vec<f64>,
}

impl Times {
    /// Of at least one time.
    pub fn new(clock: Clock, raw: Vec<f64>) -> Self {
        let min = raw.iter().copied().fold(f64::INFINITY, f64::min);
        let max = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { clock, median: median(&raw), min, max, raw }
    }
}

/// The middle one of some numbers, or the mean of the middle two; NaN of none.
///
/// ```
/// use halotile_lab::bench::median;
/// assert_eq!((median(&[4.0, 1.0, 3.0, 9.0]), median(&[2.0, 1.0, 5.0])), (3.5, 2.0));
/// assert!(median(&[]).is_nan());
/// ```
pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match (sorted.get(half), sorted.len().is_multiple_of(2)) {
        (Some(upper), true) => (sorted[half - 1] + upper) / 2.0,
        (Some(middle), false) => *middle,
        (None, _) => f64::NAN,
    }
}
