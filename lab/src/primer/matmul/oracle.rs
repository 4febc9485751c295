//! What a product is compared with.
//!
//! An element is a chain of k fused multiply-adds, each rounded once, so that it is within ((1 + 2^-24)^k − 1) · (|A|·|B|)(i, j) of what it should be
//! (Higham, "Accuracy and Stability of Numerical Algorithms", 3.1): [`growth`] times [`Element::magnitude`]. That is how single rows and
//! columns are checked, against sums in f64.
//!
//! As a checksum over a whole matrix the bound is of no use: summed over a row it exceeds the elements themselves. So the kernel multiplies
//! whole numbers as well, so small that nothing is rounded, and [`checksum`] compares C · x with A · (B · x), exactly (Freivalds 1977), for eight
//! x of ±1. One wrong element of a row shows in any of them; several, if they should happen to cancel out, in each with probability 1/2.

use rayon::prelude::*;

use crate::primer::random;

/// Vectors of a checksum.
const VECTORS: usize = 8;

/// What an element should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Element {
    /// The sum of products, in f64.
    pub value: f64,
    /// The sum of their magnitudes.
    pub magnitude: f64,
}

/// The most that k roundings add, as a share of the sum of magnitudes.
pub fn growth(k: usize) -> f64 {
    (k as f64 * f64::from(f32::EPSILON / 2.0).ln_1p()).exp_m1()
}

/// Row `row` of A · B, in f64.
pub fn row(a: &[f32], b: &[f32], [_, n, k]: [usize; 3], row: usize) -> Vec<Element> {
    let mut elements = vec![Element { value: 0.0, magnitude: 0.0 }; n];
    for (&of_a, of_b) in a[row * k..][..k].iter().zip(b.chunks_exact(n)) {
        for (element, &of_b) in elements.iter_mut().zip(of_b) {
            let product = f64::from(of_a) * f64::from(of_b);
            element.value += product;
            element.magnitude += product.abs();
        }
    }
    elements
}

/// Column `col` of A · B, in f64.
pub fn col(a: &[f32], b: &[f32], [_, n, k]: [usize; 3], col: usize) -> Vec<Element> {
    let column: Vec<f64> = b.iter().skip(col).step_by(n).map(|&of_b| f64::from(of_b)).collect();
    let element = |row: &[f32]| {
        let products = || row.iter().zip(&column).map(|(&of_a, of_b)| f64::from(of_a) * of_b);
        Element { value: products().sum(), magnitude: products().map(f64::abs).sum() }
    };
    a.chunks_exact(k).map(element).collect()
}

/// What is wrong with an element of C.
pub fn compare(i: usize, j: usize, got: f32, expected: Element, growth: f64) -> Result<(), String> {
    let Element { value, magnitude } = expected;
    let bound = growth * magnitude;
    // Not a number is not within anything.
    if (f64::from(got) - value).abs() <= bound {
        return Ok(());
    }
    Err(format!("C({i}, {j}) is {got:e}, not {value:e} within {bound:.1e}"))
}

/// The largest whole number whose products, k of them, f32 adds up exactly.
fn largest(k: usize) -> u64 {
    let product = (1 << 24) / k.max(1) as u64;
    product.isqrt().clamp(1, 8)
}

/// Random whole numbers: element `at` of one of two factors.
pub fn whole(seed: u64, at: usize, k: usize) -> f32 {
    let largest = largest(k);
    (random(seed, at) % (2 * largest + 1)) as f32 - largest as f32
}

/// Compares C · x with A · (B · x) for whole numbers and random x of ±1.
pub fn checksum(a: &[f32], b: &[f32], c: &[f32], [_, n, k]: [usize; 3], seed: u64) -> Result<(), String> {
    let signs = |j| {
        let bits = random(seed, j);
        std::array::from_fn(|v| if bits >> (8 + v) & 1 == 0 { 1.0 } else { -1.0 })
    };
    let x: Vec<[f64; VECTORS]> = (0..n).map(signs).collect();
    let y: Vec<_> = b.par_chunks_exact(n).map(|row| dot(row, &x)).collect();
    let wrong = a.par_chunks_exact(k).zip(c.par_chunks_exact(n)).position_first(|(a, c)| dot(a, &y) != dot(c, &x));
    match wrong {
        None => Ok(()),
        Some(i) => Err(format!("row {i} of C is wrong: of whole numbers its checksum is not that of A and B")),
    }
}

/// A row times each of the vectors.
fn dot(row: &[f32], vectors: &[[f64; VECTORS]]) -> [f64; VECTORS] {
    let mut sums = [0.0; VECTORS];
    for (&element, vector) in row.iter().zip(vectors) {
        for (sum, x) in sums.iter_mut().zip(vector) {
            *sum += f64::from(element) * x;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product in f32, term after term.
    fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
        let element = |i: usize, j: usize| (0..k).fold(0.0, |sum: f32, l| a[i * k + l].mul_add(b[l * n + j], sum));
        (0..m * n).map(|at| element(at / n, at % n)).collect()
    }

    #[test]
    fn rows_and_columns_are_those_of_the_product() {
        let (a, b) = ([1.0, -2.0, 3.0, 4.0, 5.0, -6.0], [1.0, 2.0, -3.0, 4.0, 5.0, 6.0]);
        let element = |value, magnitude| Element { value, magnitude };
        // 2 x 3 times 3 x 2.
        assert_eq!(row(&a, &b, [2, 2, 3], 0), [element(22.0, 22.0), element(12.0, 28.0)]);
        assert_eq!(col(&a, &b, [2, 2, 3], 1), [element(12.0, 28.0), element(-8.0, 64.0)]);
    }

    #[test]
    fn a_sum_may_be_as_wrong_as_its_roundings() {
        assert!((growth(1) * 2f64.powi(24) - 1.0).abs() < 1e-9);
        let k = 1000;
        // Every addition rounds half a unit away, as the bound has it.
        let (a, b) = (vec![1.0f32; k], vec![1.0 + f32::EPSILON; k]);
        let [expected] = row(&a, &b, [1, 1, k], 0)[..] else { panic!("one column") };
        let got = product(&a, &b, [1, 1, k])[0];
        assert!(f64::from(got) != expected.value, "something is rounded");
        compare(0, 0, got, expected, growth(k)).unwrap();
        let wrong = expected.value * (1.0 + 1.1 * growth(k));
        compare(0, 0, wrong as f32, expected, growth(k)).unwrap_err();
        compare(0, 0, f32::NAN, expected, growth(k)).unwrap_err();
    }

    #[test]
    fn whole_numbers_are_exact_and_a_wrong_element_shows() {
        for k in [1, 7, 262_144, 1_000_000, 1 << 24] {
            let largest = largest(k);
            assert!(largest >= 1 && largest * largest * k as u64 <= 1 << 24, "{k}");
        }
        let extents @ [m, n, k] = [9, 11, 300];
        let a: Vec<f32> = (0..m * k).map(|at| whole(1, at, k)).collect();
        let b: Vec<f32> = (0..k * n).map(|at| whole(2, at, k)).collect();
        assert!(a.contains(&8.0) && a.contains(&-8.0) && a.contains(&0.0));
        let mut c = product(&a, &b, extents);
        checksum(&a, &b, &c, extents, 3).unwrap();
        for at in 0..m * n {
            let right = c[at];
            c[at] += 1.0;
            let message = checksum(&a, &b, &c, extents, 3).unwrap_err();
            assert!(message.starts_with(&format!("row {} of C", at / n)), "{message}");
            c[at] = right;
        }
        c.swap(0, 1);
        checksum(&a, &b, &c, extents, 3).unwrap_err();
    }
}
