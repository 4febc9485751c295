//! Codes as a step function of the keys of numbers: what devices encode by.
//!
//! Whatever the rule, a code changes at few keys only: where a listed number begins and ends, at the edges of bins, at the number that is no
//! data, and where NaNs end and begin. There the rule is asked; in between nothing changes.

use halotile_kernels::arrays as kernels;

use super::{Classes, Rule};
use crate::numbers::ValueType;
use crate::raster::cell::{Cell, of_type};

/// What is no class: what kernels know as such.
const NO_CODE: u32 = kernels::ENCODE_MISFIT;

/// Every key has the code of the last start that is not larger, or [`NO_CODE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Ascending, from 0 on.
    pub starts: Vec<u64>,
    pub codes: Vec<u32>,
}

impl Steps {
    /// The codes of bytes.
    pub fn of_bytes(code: impl Fn(u8) -> Option<u8>) -> Self {
        let code = |byte: u8| code(byte).map_or(NO_CODE, u32::from);
        Self::of_codes((0..=255u8).map(|byte| (u64::from(byte), code(byte))))
    }

    /// Codes at ascending keys, the first of which is 0.
    fn of_codes(codes: impl Iterator<Item = (u64, u32)>) -> Self {
        let (mut starts, mut kept) = (Vec::new(), Vec::new());
        for (key, code) in codes {
            if kept.last() != Some(&code) {
                starts.push(key);
                kept.push(code);
            }
        }
        Self { starts, codes: kept }
    }

    /// The code of a key; `None` where it has none.
    pub fn code(&self, key: u64) -> Option<u16> {
        let code = self.codes[self.starts.partition_point(|&start| start <= key) - 1];
        (code != NO_CODE).then_some(code as u16)
    }
}

impl Classes {
    /// The codes of all numbers of a type.
    pub(crate) fn steps(&self, values: ValueType) -> Steps {
        of_type!(values, T => self.steps_of::<T>())
    }

    fn steps_of<T: Cell>(&self) -> Steps {
        let (lowest, highest) = (T::BOUNDS.0.key(), T::BOUNDS.1.key());
        let mut keys = vec![0, lowest];
        let mut alone = |number: T| keys.extend([number.key(), number.key().saturating_add(1)]);
        alone(T::BOUNDS.1);
        if let Some(nodata) = self.nodata.and_then(T::nodata) {
            alone(nodata);
        }
        match &self.rule {
            Rule::Listed { codes, .. } => codes.keys().filter_map(|&number| T::exact(number)).for_each(alone),
            Rule::Bins { edges, .. } => {
                // Numbers of equal keys are equal, and keys sort as numbers do.
                let reaches = |edge: f64| first_key(lowest, highest, |key| T::of_key(key).to_f64() >= edge);
                keys.extend(edges.inner.iter().filter_map(|&edge| reaches(edge)));
            }
        }
        let largest = u64::MAX >> (64 - T::WIDTH);
        keys.retain(|&key| key <= largest);
        keys.sort_unstable();
        keys.dedup();
        Steps::of_codes(keys.into_iter().map(|key| (key, self.code_of(T::of_key(key)).min(NO_CODE))))
    }
}

/// The first key from `low` to `high` from which on `holds`, which no longer changes when it does.
pub(super) fn first_key(low: u64, high: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (low, high);
    if !holds(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}
