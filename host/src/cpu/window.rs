//! Counts of one level: from rows of cells to column counts, from column counts to window counts.
//!
//! A *column count* is how often the level occurs among the `size` cells of a column around the
//! current row; going down a row adds one cell and removes one. A *window count* is the sum of `size`
//! neighbouring column counts. Deviation from the obvious running sum along the row, which no vector
//! unit can do: sums of 2, 5, 10, 21 neighbours and so on, following the binary digits of the window
//! size; each step adds two shifted copies of the row of the step before (and a third one, of
//! the column counts, where the digit is 1). Steps whose sums fit a byte work on bytes.
//!
//! All loops are plain; callers compile them for better instruction sets by inlining.

/// Adds a row to the column counts of the level `value` and removes another.
#[inline(always)]
pub fn slide(columns: &mut [u8], value: u8, entering: Option<&[u8]>, leaving: Option<&[u8]>) {
    match (entering, leaving) {
        (Some(entering), Some(leaving)) => {
            for ((n, &new), &old) in columns.iter_mut().zip(entering).zip(leaving) {
                *n = n.wrapping_add(u8::from(new == value)).wrapping_sub(u8::from(old == value));
            }
        }
        (Some(entering), None) => {
            for (n, &new) in columns.iter_mut().zip(entering) {
                *n = n.wrapping_add(u8::from(new == value));
            }
        }
        (None, Some(leaving)) => {
            for (n, &old) in columns.iter_mut().zip(leaving) {
                *n = n.wrapping_sub(u8::from(old == value));
            }
        }
        (None, None) => {}
    }
}

/// The steps from 1 to a window size: after each, the sum covers twice as many columns, plus one
/// where the step says so.
#[derive(Debug, Clone)]
pub struct Steps {
    size: usize,
    plus_one: Vec<bool>,
    /// How many of the steps stay within a byte.
    bytes: usize,
}

impl Steps {
    /// Steps for windows `size` wide and at most `height` high.
    pub fn new(size: usize, height: usize) -> Self {
        let plus_one: Vec<bool> = (0..size.ilog2()).rev().map(|bit| size >> bit & 1 == 1).collect();
        let bytes = (0..=plus_one.len()).rev().find(|&steps| height * (size >> (plus_one.len() - steps)) <= 255);
        Self { size, bytes: bytes.expect("a column fits a byte"), plus_one }
    }

    /// Number of steps.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.plus_one.len()
    }
}

/// Memory for the rows between the steps.
#[derive(Debug, Default)]
pub struct Between {
    bytes: [Vec<u8>; 2],
    words: [Vec<u16>; 2],
}

impl Between {
    /// Memory for rows of `len` column counts ([`room`]).
    pub fn new(len: usize) -> Self {
        Self { bytes: [vec![0; len], vec![0; len]], words: [vec![0; len], vec![0; len]] }
    }
}

/// A count that can be added without a check: behind the needed counts anything may be added.
trait Wrap: Copy {
    fn wrap(self, other: Self) -> Self;
}
impl Wrap for u8 {
    #[inline(always)]
    fn wrap(self, other: u8) -> u8 {
        self.wrapping_add(other)
    }
}
impl Wrap for u16 {
    #[inline(always)]
    fn wrap(self, other: u16) -> u16 {
        self.wrapping_add(other)
    }
}

/// A count that a wider one can hold.
trait Narrow<D>: Copy {
    fn widen(self) -> D;
}
impl Narrow<u8> for u8 {
    #[inline(always)]
    fn widen(self) -> u8 {
        self
    }
}
impl Narrow<u16> for u8 {
    #[inline(always)]
    fn widen(self) -> u16 {
        u16::from(self)
    }
}
impl Narrow<u16> for u16 {
    #[inline(always)]
    fn widen(self) -> u16 {
        self
    }
}

/// One step: sums of `len` columns become sums of 2·len, or of 2·len + 1.
#[inline(always)]
fn step<A, D>(sums: &mut [D], before: &[A], columns: &[u8], len: usize, plus_one: bool)
where
    A: Narrow<D>,
    D: Wrap,
    u8: Narrow<D>,
{
    let n = sums.len();
    let (left, right) = (&before[..n], &before[len..][..n]);
    if plus_one {
        let last = &columns[2 * len..][..n];
        for i in 0..n {
            sums[i] = left[i].widen().wrap(right[i].widen()).wrap(last[i].widen());
        }
    } else {
        for i in 0..n {
            sums[i] = left[i].widen().wrap(right[i].widen());
        }
    }
}

/// How many sums a step makes, and how many of a row's column counts a row of `n` windows reads: what
/// is needed, rounded up so that no vector loop has a rest. What lies behind the needed ones is
/// computed from whatever lies there, and is not read.
pub fn reach(n: usize, size: usize, len: usize) -> usize {
    (n + size - len).next_multiple_of(64)
}

/// Column counts that must exist (not: mean anything) in a row for `n` windows.
pub fn room(n: usize, size: usize) -> usize {
    reach(n, size, 1) + 128
}

/// Window counts in bytes: `counts[x]` = Σ of `columns[x .. x + size]`. No window may have more than
/// 255 cells.
#[inline(always)]
pub fn sum_bytes(columns: &[u8], steps: &Steps, between: &mut Between, counts: &mut [u8]) {
    let n = counts.len();
    let [even, odd] = &mut between.bytes;
    // The common small windows in one go: their rows need not be stored in between.
    match steps.size {
        1 => counts.copy_from_slice(&columns[..n]),
        3 => {
            let (a, b, c) = (&columns[..n], &columns[1..][..n], &columns[2..][..n]);
            for i in 0..n {
                counts[i] = a[i].wrap(b[i]).wrap(c[i]);
            }
        }
        5 => {
            let (a, b, c) = (&columns[..n], &columns[1..][..n], &columns[2..][..n]);
            let (d, e) = (&columns[3..][..n], &columns[4..][..n]);
            for i in 0..n {
                counts[i] = a[i].wrap(b[i]).wrap(c[i].wrap(d[i])).wrap(e[i]);
            }
        }
        _ => {
            let (mut len, last) = (1, steps.plus_one.len() - 1);
            for (s, &plus_one) in steps.plus_one.iter().enumerate() {
                let longer = 2 * len + usize::from(plus_one);
                let reach = reach(n, steps.size, longer);
                match (s, s == last, s % 2) {
                    (0, false, _) => step(&mut even[..reach], columns, columns, len, plus_one),
                    (_, false, 0) => step(&mut even[..reach], odd, columns, len, plus_one),
                    (_, false, _) => step(&mut odd[..reach], even, columns, len, plus_one),
                    (_, true, 0) => step(counts, odd, columns, len, plus_one),
                    (_, true, _) => step(counts, even, columns, len, plus_one),
                }
                len = longer;
            }
        }
    }
}

/// Window counts in 16 bits: `counts[x]` = Σ of `columns[x .. x + size]`, for windows of any size from
/// 9 up.
#[inline(always)]
pub fn sum_words(columns: &[u8], steps: &Steps, between: &mut Between, counts: &mut [u16]) {
    let n = counts.len();
    let Between { bytes: [even, odd], words: [even16, odd16] } = between;
    let (mut len, last) = (1, steps.plus_one.len() - 1);
    // The last step always makes words, even where bytes would do.
    let bytes = steps.bytes.min(last);
    for (s, &plus_one) in steps.plus_one.iter().enumerate() {
        let longer = 2 * len + usize::from(plus_one);
        let reach = reach(n, steps.size, longer);
        if s < bytes {
            match (s, s % 2) {
                (0, _) => step(&mut even[..reach], columns, columns, len, plus_one),
                (_, 0) => step(&mut even[..reach], odd, columns, len, plus_one),
                (_, _) => step(&mut odd[..reach], even, columns, len, plus_one),
            }
        } else if s == bytes {
            let before: &[u8] = match (s, s % 2) {
                (0, _) => columns,
                (_, 0) => odd,
                (_, _) => even,
            };
            match (s == last, s % 2) {
                (true, _) => step(counts, before, columns, len, plus_one),
                (false, 0) => step(&mut even16[..reach], before, columns, len, plus_one),
                (false, _) => step(&mut odd16[..reach], before, columns, len, plus_one),
            }
        } else {
            match (s == last, s % 2) {
                (true, 0) => step(counts, odd16, columns, len, plus_one),
                (true, _) => step(counts, even16, columns, len, plus_one),
                (false, 0) => step(&mut even16[..reach], odd16, columns, len, plus_one),
                (false, _) => step(&mut odd16[..reach], even16, columns, len, plus_one),
            }
        }
        len = longer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_sums_equal_the_plain_ones_for_every_size() {
        for size in (1..=255).step_by(2) {
            let n = 128;
            let columns: Vec<u8> = (0..room(n, size)).map(|i| ((i * 7919) % (size + 1)) as u8).collect();
            let truth = |x: usize| columns[x..x + size].iter().map(|&c| usize::from(c)).sum::<usize>();
            let mut between = Between::new(room(n, size));
            let steps = Steps::new(size, size);
            assert_eq!(steps.len(), size.ilog2() as usize);
            if size >= 9 {
                let mut counts = vec![0u16; n];
                sum_words(&columns, &steps, &mut between, &mut counts);
                assert!((0..n).all(|x| usize::from(counts[x]) == truth(x)), "size {size}");
            }
            if size <= 15 {
                let mut counts = vec![0u8; n];
                sum_bytes(&columns, &steps, &mut between, &mut counts);
                assert!((0..n).all(|x| usize::from(counts[x]) == truth(x)), "size {size}");
            }
        }
    }
}
