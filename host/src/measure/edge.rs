//! What a window sees beyond the edge of the grid.

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
    pub const ALL: [Edge; 5] = [Self::Shrink, Self::Nodata, Self::Symmetric, Self::Reflect, Self::Replicate];

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
    pub fn seen(self, at: isize, len: usize) -> Option<usize> {
        let n = len as isize;
        if (0..n).contains(&at) {
            return Some(at as usize);
        }
        match self {
            Self::Shrink | Self::Nodata => None,
            Self::Replicate => Some(at.clamp(0, n - 1) as usize),
            Self::Symmetric => {
                let turn = at.rem_euclid(2 * n);
                Some(turn.min(2 * n - 1 - turn) as usize)
            }
            Self::Reflect if n == 1 => Some(0),
            Self::Reflect => {
                let turn = at.rem_euclid(2 * n - 2);
                Some(turn.min(2 * n - 2 - turn) as usize)
            }
        }
    }
}
