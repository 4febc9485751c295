//! How many bits distances need, and whether they had enough.
//!
//! Engines compute in whole numbers that stop at U = [`UNREACHABLE`](Distance::UNREACHABLE). Clamping numbers to U, min(U, x), preserves
//! both operations on numbers that are not negative: min(U, a + b) is min(U, min(U, a) + min(U, b)), and the same goes for the lesser of two. So a
//! cell of the result is min(U, the true distance), in any order of additions, and also where weights themselves were clamped
//! on the way to a narrower type. A cell below U is right. One that is U means no path, or one that is too long; which?
//!
//! - Where no cell is U there is nothing to decide.
//! - Otherwise let some true distance, from i to j, be U or more. Along a shortest path from i to j the distances from i grow from 0 to that, by the
//!   heaviest weight at most at a time. So the last of them below U is at least U - heaviest, and it is in the result. Where no cell below U is so
//!   large, that is where (longest + heaviest) < U, every U means that there is no path.
//!
//! The heaviest weight is the one before clamping: one of U or more makes the sum U or more.
//! - Where that leaves the risk, and no weight was clamped, the reachability of all pairs decides it.
//!
//! In 16 bits the work takes half the memory, at twice the speed. Whether they are enough is not known before: [`likely_to_fit`] predicts it, and the check
//! above proves it afterwards.

use rayon::prelude::*;

use super::{Distance, Matrix, MatrixError};

/// Distances may be too long for their type.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "distances may exceed {most}, the most in {bits} bits: the longest that fits is {longest}, the heaviest edge {heaviest}, \
     and some vertices look unreachable"
)]
pub struct OverflowRisk {
    /// The most that a distance can be.
    pub most: f64,
    /// Bits of the type.
    pub bits: usize,
    /// The longest distance that is right.
    pub longest: f64,
    /// The heaviest edge.
    pub heaviest: f64,
}

/// Whether distances are right, and then the longest. `heaviest` is the heaviest weight, before clamping.
///
/// ```
/// use halotile::apsp::{Distance, Matrix, cpu, width};
/// let chain = |edge: u16| Matrix::from_fn(4, |i, j| if i == j { 0 } else if i + 1 == j { edge } else { u16::UNREACHABLE });
/// let mut short = chain(5_000)?;
/// cpu::solve(&mut short, &())?;
/// assert_eq!(width::check(&short, 5_000.0), Ok(15_000.0));
/// let mut long = chain(12_000)?;
/// cpu::solve(&mut long, &())?;
/// assert!(width::check(&long, 12_000.0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`OverflowRisk`] where a sum may have been clamped.
pub fn check<T: Distance + Into<f64>>(distances: &Matrix<T>, heaviest: f64) -> Result<f64, OverflowRisk> {
    let of_row = |row: &[T]| {
        row.iter().fold((T::ZERO, false), |(longest, cut), &cell| {
            if cell == T::UNREACHABLE { (longest, true) } else { (if cell > longest { cell } else { longest }, cut) }
        })
    };
    let both = |a: (T, bool), b: (T, bool)| (if b.0 > a.0 { b.0 } else { a.0 }, a.1 | b.1);
    let (longest, cut) = distances.par_rows().map(of_row).reduce(|| (T::ZERO, false), both);
    // Floating-point numbers go on to infinity; beyond the last of them nothing can be proved.
    let (longest, limit): (f64, f64) = (longest.into(), T::UNREACHABLE.into().min(f32::MAX.into()));
    if cut && longest + heaviest >= limit {
        return Err(OverflowRisk { most: limit - 1.0, bits: 8 * size_of::<T>(), longest, heaviest });
    }
    Ok(longest)
}

/// Decides a risk that [`check`] found, by reachability: returns the longest distance where nothing overflowed. It takes V³ / 64 steps.
///
/// # Errors
/// The risk again, where it cannot be excluded.
pub fn resolve<T: Distance>(distances: &Matrix<T>, risk: OverflowRisk) -> Result<f64, OverflowRisk> {
    if risk.heaviest <= risk.most && only_unreachable(distances) { Ok(risk.longest) } else { Err(risk) }
}

/// Whether every cell that is clamped means no path. All edges are lighter than the clamp, so that they are in the result: reachability over unclamped cells
/// (Warshall 1962) is reachability.
fn only_unreachable<T: Distance>(distances: &Matrix<T>) -> bool {
    let words = distances.vertices().div_ceil(64);
    let bits = |row: &[T]| {
        let word = |cells: &[T]| {
            cells.iter().enumerate().fold(0, |word, (i, &cell)| word | u64::from(cell != T::UNREACHABLE) << i)
        };
        row.chunks(64).map(word).collect::<Vec<u64>>()
    };
    let rows: Vec<Vec<u64>> = distances.par_rows().map(bits).collect();
    let mut reached: Vec<u64> = rows.concat();
    for k in 0..distances.vertices() {
        let via = reached[k * words..][..words].to_vec();
        reached.par_chunks_mut(words).filter(|row| row[k / 64] >> (k % 64) & 1 == 1).for_each(|row| {
            row.iter_mut().zip(&via).for_each(|(reached, via)| *reached |= via);
        });
    }
    reached.par_chunks(words).zip(&rows).all(|(reached, row)| reached == row.as_slice())
}

/// The same in 16 bits: what does not fit is clamped.
///
/// # Errors
/// [`MatrixError`] where there is no memory for the matrix.
pub fn narrow(wide: &Matrix<i32>) -> Result<Matrix<u16>, MatrixError> {
    let mut narrow = Matrix::unreachable(wide.vertices())?;
    narrow.par_rows_mut().zip(wide.par_rows()).for_each(|(narrow, wide)| {
        let cells = narrow.iter_mut().zip(wide);
        cells.for_each(|(narrow, &wide)| *narrow = wide.min(i32::from(u16::UNREACHABLE)) as u16);
    });
    Ok(narrow)
}

/// The same in 32 bits, where unreachable is another number.
pub fn widen(narrow: &Matrix<u16>, wide: &mut Matrix<i32>) {
    assert_eq!(narrow.vertices(), wide.vertices(), "a matrix has room for another of its size");
    wide.par_rows_mut().zip(narrow.par_rows()).for_each(|(wide, narrow)| {
        for (wide, &narrow) in wide.iter_mut().zip(narrow) {
            *wide = if narrow == u16::UNREACHABLE { i32::UNREACHABLE } else { i32::from(narrow) };
        }
    });
}

/// Vertices below which 16 bits gain nothing: there is little to do.
const FEWEST: usize = 1024;
/// Vertices from which the prediction searches.
const SOURCES: usize = 2;

/// Neighbours over which a bound is computed.
const NEIGHBOURS: usize = 64;

/// Whether 16 bits are likely to be enough, and worth a try. `heaviest` is the heaviest weight. Where the number of vertices and
/// the heaviest weight do not prove it, an upper bound from a few vertices over their neighbours may; and where it does not, a search
/// (Dijkstra 1959) finds how long distances are. The longest of all pairs may be a third longer.
pub fn likely_to_fit(weights: &Matrix<i32>, heaviest: f64) -> bool {
    let limit = f64::from(u16::UNREACHABLE);
    let vertices = weights.vertices();
    if vertices < FEWEST {
        return false;
    }
    if heaviest * vertices as f64 <= limit {
        return true;
    }
    (0..SOURCES).into_par_iter().all(|i| {
        let source = i * vertices / SOURCES;
        let most = upper_bound(weights, source);
        if most < i32::UNREACHABLE && f64::from(most) * (4.0 / 3.0) < limit {
            return true;
        }
        let (longest, everywhere) = eccentricity(weights, source, u16::UNREACHABLE.into());
        f64::from(longest) * (4.0 / 3.0) + if everywhere { 0.0 } else { heaviest } < limit
    })
}

/// An upper bound of the longest distance from a vertex: over paths with none or one of its neighbours between. It reads a few
/// rows; in dense graphs that is enough to see that distances are short.
fn upper_bound(weights: &Matrix<i32>, source: usize) -> i32 {
    let direct = weights.row(source);
    let mut neighbours: Vec<usize> = (0..direct.len()).collect();
    if neighbours.len() > NEIGHBOURS {
        neighbours.select_nth_unstable_by_key(NEIGHBOURS, |&vertex| direct[vertex]);
        neighbours.truncate(NEIGHBOURS);
    }
    let mut bounds = direct.to_vec();
    for via in neighbours {
        let first = direct[via];
        bounds.iter_mut().zip(weights.row(via)).for_each(|(bound, &on)| *bound = (*bound).min(first + on));
    }
    bounds.into_iter().max().unwrap_or(0)
}

/// The longest distance from a vertex (its eccentricity), and whether it reaches every other, by Dijkstra's algorithm. The search ends at `limit`.
fn eccentricity(weights: &Matrix<i32>, source: usize, limit: i32) -> (i32, bool) {
    /// Of a vertex whose distance is settled.
    const SETTLED: i32 = i32::MAX;
    let mut tentative = vec![i32::UNREACHABLE; weights.vertices()];
    let (mut at, mut length) = (source, 0);
    for _ in 1..tentative.len() {
        tentative[at] = SETTLED;
        // No branch: vertices with and without edges, settled or not, take the same path.
        let mut nearest = SETTLED;
        for (tentative, &edge) in tentative.iter_mut().zip(weights.row(at)) {
            *tentative = if *tentative == SETTLED { SETTLED } else { (*tentative).min(length + edge) };
            nearest = nearest.min(*tentative);
        }
        if nearest >= i32::UNREACHABLE {
            return (length, false);
        }
        length = nearest;
        if length >= limit {
            break;
        }
        at = tentative.iter().position(|&length| length == nearest).unwrap_or(source);
    }
    (length, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apsp::{cpu, reference};

    const NONE: i32 = i32::UNREACHABLE;

    fn ring(vertices: usize, edge: i32) -> Matrix<i32> {
        let weight = |i, j| {
            if i == j {
                0
            } else if (i + 1) % vertices == j {
                edge
            } else {
                NONE
            }
        };
        Matrix::from_fn(vertices, weight).unwrap()
    }

    #[test]
    fn a_result_that_is_accepted_is_right_and_little_is_refused() {
        // All lengths around the end of the type, chains of edges that do and do not divide it, with and without an edge of more.
        let limit = u16::UNREACHABLE as i32;
        for (edge, cut) in [
            (1, false),
            (7, false),
            (1000, false),
            (limit - 1, false),
            (limit, true),
            (limit + 1, true),
            (60_000, true),
        ] {
            let fits = ((limit - 1) / edge) as usize;
            for vertices in [2, fits.min(200), fits + 1, fits + 2, fits + 3] {
                if !(2..=300).contains(&vertices) {
                    continue;
                }
                let weight = |i: usize, j: usize| {
                    if i == j {
                        0
                    } else if i + 1 == j {
                        edge
                    } else {
                        NONE
                    }
                };
                let wide = Matrix::from_fn(vertices, weight).unwrap();
                let mut distances = narrow(&wide).unwrap();
                cpu::solve(&mut distances, &()).unwrap();
                let wanted = reference::distances(vertices, |i, j| weight(i, j).to_f64());
                let right = reference::first_difference(&distances, &wanted, 0.0).is_none();
                let accepted = check(&distances, f64::from(edge)).is_ok();
                assert!(right || !accepted, "{vertices} vertices, {edge}");
                assert!(!cut || !accepted);
                // One more edge of the chain would not have fitted: only then it is at risk.
                assert_eq!(accepted, (vertices as i32) * edge < limit, "{vertices} vertices, {edge}");
                // And reachability rules that risk out.
                let resolved = check(&distances, f64::from(edge)).or_else(|risk| resolve(&distances, risk));
                assert_eq!(resolved.is_ok(), right && !cut, "{vertices} vertices, {edge}");
            }
        }
        // Where everything is reachable nothing is at risk, up to the last number.
        let mut distances = narrow(&ring(3, (limit - 1) / 2)).unwrap();
        cpu::solve(&mut distances, &()).unwrap();
        assert_eq!(check(&distances, 1e9), Ok(f64::from(limit - 1)));
        let mut distances = narrow(&ring(3, (limit + 1) / 2)).unwrap();
        cpu::solve(&mut distances, &()).unwrap();
        let risk = check(&distances, 16_384.0).unwrap_err();
        assert_eq!((risk.most, risk.bits, risk.longest), (32_766.0, 16, 16_384.0));
    }

    #[test]
    fn to_16_bits_and_back() {
        let cells = [[0, 32_766, NONE], [32_767, 0, NONE - 1], [5, 70_000, 0]];
        let wide = Matrix::from_fn(3, |i, j| cells[i][j]).unwrap();
        let narrow = narrow(&wide).unwrap();
        assert_eq!(
            [narrow.row(0), narrow.row(1), narrow.row(2)],
            [[0, 32_766, 32_767], [32_767, 0, 32_767], [5, 32_767, 0]]
        );
        let mut back = wide.clone();
        widen(&narrow, &mut back);
        assert_eq!([back.row(0), back.row(1), back.row(2)], [[0, 32_766, NONE], [NONE, 0, NONE], [5, NONE, 0]]);
    }

    #[test]
    fn guesses_follow_the_distances() {
        // From a vertex to itself round the ring: the edge before.
        assert_eq!(eccentricity(&ring(50, 3), 7, NONE), (49 * 3, true));
        assert_eq!(eccentricity(&ring(50, 3), 7, 20), (21, true));
        assert_eq!(
            eccentricity(&Matrix::from_fn(3, |i, j| if i < j { 4 } else { NONE }).unwrap(), 1, NONE),
            (4, false)
        );
        for (vertices, edge, wanted) in
            [(1023, 1, false), (1024, 31, true), (1024, 32, false), (1100, 20, true), (1500, 22, false)]
        {
            assert_eq!(likely_to_fit(&ring(vertices, edge), f64::from(edge)), wanted, "{vertices} {edge}");
        }
        // Over a neighbour at most: from 0 to 1 directly, to 2 over 1, to 3 not at all.
        let hops = [[0, 5, 90, NONE], [NONE, 0, 7, NONE], [NONE; 4], [NONE, NONE, NONE, 0]];
        assert_eq!(upper_bound(&Matrix::from_fn(3, |i, j| hops[i][j]).unwrap(), 0), 12);
        assert_eq!(upper_bound(&Matrix::from_fn(4, |i, j| hops[i][j]).unwrap(), 0), NONE);
        // Heavy edges that no shortest path takes: what counts is how long distances are.
        let both = |i: usize, j: usize| (1 + (i.abs_diff(j) % 1099) * 900) as i32;
        assert!(!likely_to_fit(&Matrix::from_fn(1100, both).unwrap(), 1e6));
        let star = |i: usize, j: usize| if i == 0 || j == 0 { 5 } else { 1_000_000 };
        assert!(likely_to_fit(&Matrix::from_fn(1100, star).unwrap(), 1e6));
    }
}
