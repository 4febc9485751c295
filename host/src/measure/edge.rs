//! What a window sees beyond the edge of the grid.

use std::fmt;
use std::str::FromStr;

/// What a window sees beyond the edge of the grid.
///
/// ```text
///                  beyond  | grid    | beyond
/// shrink               . . | a b c d | . .      (nothing: the window is clipped)
/// symmetric            b a | a b c d | d c      (MATLAB's and Octave's entropyfilt)
/// reflect              c b | a b c d | c b      (the edge is not repeated)
/// replicate            a a | a b c d | d d      (GDAL's raster neighbors)
/// nodata               no result where the window reaches beyond the edge (GRASS)
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Edge {
    /// The window is clipped: only cells inside the grid count.
    #[default]
    Shrink,
    /// Cells whose window reaches beyond the edge have no result.
    Nodata,
    /// The grid goes on mirrored, its edge cells twice.
    Symmetric,
    /// The grid goes on mirrored, its edge cells once.
    Reflect,
    /// The edge cells go on.
    Replicate,
}

impl Edge {
    /// Every way, in the order messages list them.
    pub const ALL: &'static [Edge] = &[Self::Shrink, Self::Nodata, Self::Symmetric, Self::Reflect, Self::Replicate];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shrink => "shrink",
            Self::Nodata => "nodata",
            Self::Symmetric => "symmetric",
            Self::Reflect => "reflect",
            Self::Replicate => "replicate",
        }
    }

    /// True where the grid goes on beyond its edge.
    pub fn extends(self) -> bool {
        matches!(self, Self::Symmetric | Self::Reflect | Self::Replicate)
    }

    /// The row (or column) of the grid that is seen at `at`, which may lie beyond its edge, along `len` cells; `None` where
    /// there is nothing. However far beyond: a mirrored grid is mirrored again.
    ///
    /// ```
    /// use halotile::measure::Edge;
    /// let seen = |edge: Edge| (-3..7).map(|at| edge.seen(at, 4)).collect::<Option<Vec<_>>>();
    /// assert_eq!(seen(Edge::Symmetric), Some(vec![2, 1, 0, 0, 1, 2, 3, 3, 2, 1]));
    /// assert_eq!(seen(Edge::Reflect), Some(vec![3, 2, 1, 0, 1, 2, 3, 2, 1, 0]));
    /// assert_eq!(seen(Edge::Replicate), Some(vec![0, 0, 0, 0, 1, 2, 3, 3, 3, 3]));
    /// assert_eq!(Edge::Shrink.seen(-1, 4), None);
    /// assert_eq!(Edge::Reflect.seen(-5, 1), Some(0));
    /// ```
    #[inline]
    pub fn seen(self, at: isize, len: usize) -> Option<usize> {
        let n = len as isize;
        if (0..n).contains(&at) {
            return Some(at as usize);
        }
        match self {
            Self::Shrink | Self::Nodata => None,
            Self::Replicate => Some(at.clamp(0, n - 1) as usize),
            Self::Symmetric => {
                let phase = at.rem_euclid(2 * n);
                Some(phase.min(2 * n - 1 - phase) as usize)
            }
            Self::Reflect if n == 1 => Some(0),
            Self::Reflect => {
                let phase = at.rem_euclid(2 * n - 2);
                Some(phase.min(2 * n - 2 - phase) as usize)
            }
        }
    }
}

/// A text that names no way to treat the edge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no way to treat the edge; the ways are shrink, nodata, symmetric, reflect, replicate")]
pub struct UnknownEdge(pub String);

/// By its name.
///
/// ```
/// use halotile::measure::Edge;
/// assert_eq!("reflect".parse(), Ok(Edge::Reflect));
/// let error = "wrap".parse::<Edge>().unwrap_err().to_string();
/// assert!(error.starts_with(r#""wrap" is no way to treat the edge; the ways are shrink, "#));
/// ```
impl FromStr for Edge {
    type Err = UnknownEdge;

    fn from_str(text: &str) -> Result<Self, UnknownEdge> {
        Self::ALL.iter().copied().find(|edge| edge.name() == text).ok_or_else(|| UnknownEdge(text.to_owned()))
    }
}

/// As it is parsed.
impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_back_and_messages_list_them_all() {
        let message = UnknownEdge(String::new()).to_string();
        for &edge in Edge::ALL {
            assert_eq!(edge.to_string().parse(), Ok(edge));
            assert!(message.contains(edge.name()), "{message}");
        }
        for wrong in ["", "Shrink", " shrink", "constant"] {
            assert_eq!(wrong.parse::<Edge>(), Err(UnknownEdge(wrong.to_owned())));
        }
    }

    /// Step by step, from the cell next to the edge outwards, against the formulas.
    #[test]
    fn however_far_beyond_the_edge_a_cell_of_the_grid_is_seen() {
        for len in 1..6 {
            let walk = |edge: Edge, at: isize| {
                let (mut cell, mut step) = (0isize, 1isize);
                for _ in 0..at.unsigned_abs() {
                    let next = cell + step;
                    if (0..len).contains(&next) {
                        cell = next;
                    } else {
                        step = -step;
                        if edge == Edge::Reflect && len > 1 {
                            cell += step;
                        }
                    }
                }
                cell as usize
            };
            for at in 0..4 * len {
                for edge in [Edge::Symmetric, Edge::Reflect] {
                    assert_eq!(edge.seen(at, len as usize), Some(walk(edge, at)), "{edge}, {at} of {len}");
                    let mirrored = if edge == Edge::Symmetric { -1 - at } else { -at };
                    assert_eq!(edge.seen(mirrored, len as usize), Some(walk(edge, at)), "{edge}, {mirrored} of {len}");
                }
                assert_eq!(Edge::Replicate.seen(at, len as usize), Some(at.min(len - 1) as usize));
                assert_eq!(Edge::Replicate.seen(-at, len as usize), Some(0));
                for edge in [Edge::Shrink, Edge::Nodata] {
                    assert_eq!(edge.seen(at, len as usize), (at < len).then_some(at as usize));
                    assert_eq!(edge.seen(-1 - at, len as usize), None);
                }
            }
        }
    }
}
