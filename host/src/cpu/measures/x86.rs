//! Formulas of f32 results with the vector units of x86-64: what compilers make of a row of loops goes through memory between them, looks things up
//! one by one, and knows no exponential.
//!
//! Operation by operation they are those of [`finish`](mod@super::finish), so that the bits are the same; but for the exponential, of which only the
//! rounded result is ([`single`](super::single) says why that is enough).

use std::arch::x86_64::*;
use std::f64::consts::{LN_2, LOG2_E};

use super::tables::Tables;
use crate::cpu::log::Log;
use crate::cpu::x86::Wide;
use crate::measure::window::{Plane, Quantity};

/// Windows of a step.
const STEP: usize = 16;

/// 2^(i/16).
const ROOTS: [f64; 16] = [
    1.0,
    1.044_273_782_427_413_8,
    1.090_507_732_665_257_7,
    1.138_788_634_756_691_6,
    1.189_207_115_002_721,
    1.241_857_812_073_484,
    1.296_839_554_651_009_6,
    1.354_255_546_936_892_7,
    std::f64::consts::SQRT_2,
    1.476_826_145_939_499_3,
    1.542_210_825_407_940_7,
    1.610_490_331_949_254_3,
    1.681_792_830_507_429,
    1.756_252_160_373_299_5,
    1.834_008_086_409_342_4,
    1.915_206_561_397_147_2,
];

/// What the formulas of a row of windows share.
struct Row<'a> {
    /// Σ F(n), and how many n are not 0 (where a formula asks for that).
    sums: &'a [u32],
    classes: &'a [u32],
    /// Which bits of the difference F(N) − Σ F(n) count.
    mask: __m512i,
    whole: Whole<'a>,
    /// F by arithmetic, where there is any.
    by: Wide,
}

/// What depends on N.
enum Whole<'a> {
    /// All windows have as many cells: F(N), and what makes bits of entropy of the difference.
    Same { full: __m512i, inverse: __m512d },
    /// Each has its own number, F(N) comes by arithmetic, and a bit is so many units.
    Each { total: &'a [u32], units: __m512d },
}

/// Results of a plane, as [`finish`](super::finish::finish) has them: of the first so many windows, 0 where there is no formula for that plane or
/// these windows. All must have a cell and none too few for the tables; `alike`: all have as many.
///
/// # Panics
/// When a slice is shorter than the results. Of `classes` only where the plane needs them.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub fn finish(
    tables: &Tables,
    plane: &Plane,
    (total, alike): (&[u32], bool),
    sums: &[u32],
    classes: &[u32],
    out: &mut [f32],
) -> usize {
    if out.len() < STEP {
        return 0;
    }
    let log = tables.single.as_ref().and_then(|single| single.log.as_ref());
    let whole = if alike {
        Whole::Same {
            full: _mm512_set1_epi32(tables.entry(total[0] as usize) as i32),
            inverse: _mm512_set1_pd(1.0 / (tables.units * f64::from(total[0].cast_signed()))),
        }
    } else if log.is_some() {
        Whole::Each { total, units: _mm512_set1_pd(tables.units) }
    } else {
        return 0;
    };
    let by = Wide::of(log.unwrap_or(&Log::NOTHING));
    let row = Row { sums, classes, mask: _mm512_set1_epi32(tables.mask as i32), whole, by };
    match (plane.quantity, plane.scale) {
        (Quantity::Shannon, Some(scale)) => scaled(&row, scale, out),
        (Quantity::Shannon, None) => numbers(&row, out),
        (Quantity::Evenness, _) => match tables.evenness_of_few() {
            Some(table) => evenness_of_few(&row, table, out),
            None => evenness(&row, tables, out),
        },
        _ => return 0,
    }
    out.len() / STEP * STEP
}

impl Row<'_> {
    /// Bits of entropy of the windows from `x` on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn bits(&self, x: usize) -> [__m512d; 2] {
        let sums: &[u32; STEP] = self.sums[x..].first_chunk().expect("sums of a step");
        // SAFETY: 64 readable bytes.
        let sums = unsafe { _mm512_loadu_si512(sums.as_ptr().cast()) };
        let (full, inverses) = match self.whole {
            Whole::Same { full, inverse } => (full, [inverse; 2]),
            Whole::Each { total, units } => {
                let total: &[u32; STEP] = total[x..].first_chunk().expect("totals of a step");
                // SAFETY: as above.
                let total = unsafe { _mm512_loadu_si512(total.as_ptr().cast()) };
                let mut by = self.by;
                by.add(total);
                let [left, right] = halves(total);
                let inverse =
                    |half: __m256i| _mm512_div_pd(_mm512_set1_pd(1.0), _mm512_mul_pd(units, _mm512_cvtepi32_pd(half)));
                (by.sums(), [inverse(left), inverse(right)])
            }
        };
        // The mask has at most 31 bits: signed numbers are as good.
        let [left, right] = halves(_mm512_and_si512(_mm512_sub_epi32(full, sums), self.mask));
        [_mm512_mul_pd(_mm512_cvtepi32_pd(left), inverses[0]), _mm512_mul_pd(_mm512_cvtepi32_pd(right), inverses[1])]
    }
}

/// The lower and the upper 32 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn halves(register: __m512i) -> [__m256i; 2] {
    [_mm512_castsi512_si256(register), _mm512_extracti64x4_epi64::<1>(register)]
}

/// Rounds the results of a step.
#[inline]
#[target_feature(enable = "avx512f,avx")]
fn put(out: &mut [f32; STEP], values: [__m512d; 2]) {
    for (out, value) in out.chunks_exact_mut(8).zip(values) {
        // SAFETY: 32 writable bytes.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), _mm512_cvtpd_ps(value)) };
    }
}

/// The steps of a row, each with its first window.
#[inline(always)]
fn steps(out: &mut [f32]) -> impl Iterator<Item = (usize, &mut [f32; STEP])> {
    out.as_chunks_mut::<STEP>().0.iter_mut().enumerate().map(|(i, out)| (i * STEP, out))
}

/// Entropies in other units than bits.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn scaled(row: &Row<'_>, scale: f64, out: &mut [f32]) {
    let scale = _mm512_set1_pd(scale);
    for (x, out) in steps(out) {
        let [left, right] = row.bits(x);
        put(out, [_mm512_mul_pd(left, scale), _mm512_mul_pd(right, scale)]);
    }
}

/// Evenness where 16 classes are most: what the entropies are multiplied by lies in two registers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn evenness_of_few(row: &Row<'_>, table: &[f64; 16], out: &mut [f32]) {
    // SAFETY: 16 readable numbers.
    let (lower, upper) = unsafe { (_mm512_loadu_pd(table.as_ptr()), _mm512_loadu_pd(table.as_ptr().add(8))) };
    for (x, out) in steps(out) {
        let classes: &[u32; STEP] = row.classes[x..].first_chunk().expect("classes of a step");
        // SAFETY: 64 readable bytes.
        let classes = unsafe { _mm512_loadu_si512(classes.as_ptr().cast()) };
        // The table begins with one class.
        let [left, right] = halves(_mm512_sub_epi32(classes, _mm512_set1_epi32(1)));
        let each = |half: __m256i| _mm512_permutex2var_pd(lower, _mm512_cvtepi32_epi64(half), upper);
        put(out, at_most_one(row.bits(x), [each(left), each(right)]));
    }
}

/// Evenness of any number of classes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn evenness(row: &Row<'_>, tables: &Tables, out: &mut [f32]) {
    for (x, out) in steps(out) {
        let mut each = [0.0; STEP];
        tables.evenness(&row.classes[x..][..STEP], &mut each);
        // SAFETY: 16 readable numbers.
        let each = unsafe { [_mm512_loadu_pd(each.as_ptr()), _mm512_loadu_pd(each.as_ptr().add(8))] };
        put(out, at_most_one(row.bits(x), each));
    }
}

/// Products, 1 where they are more: sums of 32 bits may be off to either side.
#[inline]
#[target_feature(enable = "avx512f")]
fn at_most_one([left, right]: [__m512d; 2], [by_left, by_right]: [__m512d; 2]) -> [__m512d; 2] {
    let one = _mm512_set1_pd(1.0);
    [_mm512_min_pd(_mm512_mul_pd(left, by_left), one), _mm512_min_pd(_mm512_mul_pd(right, by_right), one)]
}

/// Exponentials of entropies in nats.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn numbers(row: &Row<'_>, out: &mut [f32]) {
    for (x, out) in steps(out) {
        let nats = row.bits(x).map(
            #[inline(always)]
            |bits| _mm512_mul_pd(bits, _mm512_set1_pd(LN_2)),
        );
        let (left, left_doubt) = exponentials(nats[0]);
        let (right, right_doubt) = exponentials(nats[1]);
        put(out, [left, right]);
        let doubt = u32::from(left_doubt) | u32::from(right_doubt) << 8;
        if doubt != 0 {
            let mut arguments = [0.0; STEP];
            // SAFETY: 16 writable numbers.
            unsafe {
                _mm512_storeu_pd(arguments.as_mut_ptr(), nats[0]);
                _mm512_storeu_pd(arguments.as_mut_ptr().add(8), nats[1]);
            }
            for (i, out) in out.iter_mut().enumerate().filter(|(i, _)| doubt >> i & 1 == 1) {
                *out = arguments[i].exp() as f32;
            }
        }
    }
}

/// exp x for numbers from 0 to 700, good to 1e-14, and which of them may be so close to halfway between two f32 that the standard library's
/// could be rounded to the other one.
///
/// exp x = 2^(k/16) · exp r, r = x − k·(ln 2)/16 with |r| ≤ (ln 2)/32, by Taylor's series.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn exponentials(x: __m512d) -> (__m512d, __mmask8) {
    // A small integer as an f64 without a conversion: the lowest bits of 2^52 + 2^51 + k.
    let shift = _mm512_set1_pd(6_755_399_441_055_744.0);
    let shifted = _mm512_fmadd_pd(x, _mm512_set1_pd(16.0 * LOG2_E), shift);
    let k = _mm512_sub_pd(shifted, shift);
    let r = _mm512_fnmadd_pd(k, _mm512_set1_pd(LN_2 / 16.0), x);
    let series = [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    let mut sum = _mm512_set1_pd(1.0 / 720.0);
    for c in series {
        sum = _mm512_fmadd_pd(sum, r, _mm512_set1_pd(c));
    }
    let k = _mm512_castpd_si512(shifted);
    // SAFETY: 16 readable numbers.
    let (lower, upper) = unsafe { (_mm512_loadu_pd(ROOTS.as_ptr()), _mm512_loadu_pd(ROOTS.as_ptr().add(8))) };
    let value = _mm512_mul_pd(sum, _mm512_permutex2var_pd(lower, k, upper));
    // The other bits of k go to the exponent.
    let exponent = _mm512_slli_epi64::<52>(_mm512_srli_epi64::<4>(k));
    let bits = _mm512_add_epi64(_mm512_castpd_si512(value), exponent);
    // Of the 29 bits that an f32 has not, halfway is the first alone. 2^15 of the last are 3.6e-12 to 7.3e-12 of a number that is at least 1.
    const NEAR: i64 = 1 << 15;
    let beyond = _mm512_add_epi64(bits, _mm512_set1_epi64(NEAR - (1 << 28)));
    let beyond = _mm512_and_si512(beyond, _mm512_set1_epi64((1 << 29) - 1));
    (_mm512_castsi512_pd(bits), _mm512_cmple_epu64_mask(beyond, _mm512_set1_epi64(2 * NEAR)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Isa, Kind};

    #[test]
    fn rounded_exponentials_are_the_standard_library_s() {
        if Isa::best().kind() != Kind::Avx512 {
            return;
        }
        for i in 0..200_000 {
            let x: [f64; 8] = std::array::from_fn(|j| f64::from(8 * i + j as i32) * 7.1e-6);
            let mut got = [0.0; 8];
            // SAFETY: the machine has the features, and 8 numbers lie there.
            let doubt = unsafe {
                let (value, doubt) = exponentials(_mm512_loadu_pd(x.as_ptr()));
                _mm512_storeu_pd(got.as_mut_ptr(), value);
                doubt
            };
            for (j, (&x, &got)) in x.iter().zip(&got).enumerate() {
                assert!((got / x.exp() - 1.0).abs() < 1e-14, "exp {x}");
                assert!(doubt >> j & 1 == 1 || (got as f32).to_bits() == (x.exp() as f32).to_bits(), "exp {x}");
            }
            assert!(i > 0 || got[0] == 1.0 && doubt & 1 == 0);
        }
        for (i, root) in ROOTS.into_iter().enumerate() {
            assert!((root - (i as f64 / 16.0).exp2()).abs() < 3e-16, "2^({i}/16)");
        }
    }
}
