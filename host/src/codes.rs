//! The types that codes of classes have: bytes for maps of up to 256 classes, 16-bit words for maps of more.
//!
//! Most maps have few classes, and engines count bytes fastest. So words are only what a map with many classes is read and kept in; where
//! windows are counted, pieces of it are numbered anew and mostly have few (`cpu::wide`). No data takes a code too where it occurs, so
//! bytes do for 256 classes or 255 and no data, words for 65,536 or 65,535 and no data.
//!
//! ```
//! use halotile::codes::width;
//! assert_eq!((width(256, None), width(256, Some(256)), width(900, None)), (1, 2, 2));
//! ```

use crate::grid::{Grid, GridView, GridViewMut};

/// The most levels: all values of 16 bits.
pub const MAX_LEVELS: usize = 1 << 16;

/// The most levels that bytes, ladders and all kernels of devices know.
pub const BYTE_LEVELS: usize = 1 << 8;

/// The bytes that codes take: 1, or 2 where the last of `levels` codes, or the one of no data, is beyond 255.
pub fn width(levels: usize, nodata: Option<u16>) -> usize {
    if levels <= <u8 as Code>::LEVELS && nodata.is_none_or(|code| code <= 255) { 1 } else { 2 }
}

/// A type of codes: `u8` or `u16`. Sealed: the engines know no other.
pub trait Code: Sealed {
    /// The most levels that it has codes for: 256 or 65,536.
    const LEVELS: usize;

    /// The code as a number.
    fn get(self) -> u16;

    /// The code that is this number, if there is one.
    fn of(number: u16) -> Option<Self>;
}

/// What the library needs to know of a type of codes.
pub trait Sealed: bytemuck::Pod + Ord + Default + Send + Sync + std::fmt::Debug {
    /// The low bits of a number.
    fn low(number: u32) -> Self;
    /// A grid as what it is one of.
    fn view(cells: GridView<'_, Self>) -> CodesView<'_>;
    /// A grid to be written, likewise.
    fn view_mut(cells: GridViewMut<'_, Self>) -> CodesMut<'_>;
}

/// A grid of codes of either type.
#[derive(Debug, Clone, Copy)]
pub enum CodesView<'a> {
    /// Of up to 256 classes.
    Bytes(GridView<'a, u8>),
    /// Of more.
    Words(GridView<'a, u16>),
}

/// A grid of codes of either type, to be written.
///
/// ```
/// use halotile::codes::CodesMut;
/// use halotile::grid::GridViewMut;
/// let mut codes = [0u16; 6];
/// let place: CodesMut<'_> = GridViewMut::new(&mut codes, 2, 3)?.into();
/// assert_eq!((place.rows(), place.cols()), (2, 3));
/// # Ok::<(), halotile::grid::ShapeError>(())
/// ```
#[derive(Debug)]
pub enum CodesMut<'a> {
    /// Of up to 256 classes.
    Bytes(GridViewMut<'a, u8>),
    /// Of more.
    Words(GridViewMut<'a, u16>),
}

/// An owned grid of cells of either type, as a file has them: bytes, or words where some are beyond 255.
///
/// ```
/// use halotile::codes::CodesGrid;
/// use halotile::grid::Grid;
/// let cells = CodesGrid::from(Grid::from_vec(vec![1u16, 300], 1, 2)?);
/// assert_eq!((cells.cols(), cells.bytes(), cells.get(0, 1)), (2, None, 300));
/// # Ok::<(), halotile::grid::ShapeError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum CodesGrid {
    /// All are below 256.
    Bytes(Grid<u8>),
    /// Some may be beyond.
    Words(Grid<u16>),
}

impl CodesGrid {
    /// Number of rows, at least 1.
    pub fn rows(&self) -> usize {
        self.view().rows()
    }

    /// Number of columns, at least 1.
    pub fn cols(&self) -> usize {
        self.view().cols()
    }

    /// A cell. Panics outside the grid.
    pub fn get(&self, row: usize, col: usize) -> u16 {
        match self {
            Self::Bytes(grid) => grid.row(row)[col].into(),
            Self::Words(grid) => grid.row(row)[col],
        }
    }

    /// Borrows the grid.
    pub fn view(&self) -> CodesView<'_> {
        match self {
            Self::Bytes(grid) => CodesView::Bytes(grid.view()),
            Self::Words(grid) => CodesView::Words(grid.view()),
        }
    }

    /// The grid, where it is one of bytes.
    pub fn bytes(&self) -> Option<&Grid<u8>> {
        match self {
            Self::Bytes(grid) => Some(grid),
            Self::Words(_) => None,
        }
    }
}

impl From<Grid<u8>> for CodesGrid {
    fn from(grid: Grid<u8>) -> Self {
        Self::Bytes(grid)
    }
}

impl From<Grid<u16>> for CodesGrid {
    fn from(grid: Grid<u16>) -> Self {
        Self::Words(grid)
    }
}

impl CodesView<'_> {
    /// Number of rows, at least 1.
    pub fn rows(&self) -> usize {
        match self {
            Self::Bytes(grid) => grid.rows(),
            Self::Words(grid) => grid.rows(),
        }
    }

    /// Number of columns, at least 1.
    pub fn cols(&self) -> usize {
        match self {
            Self::Bytes(grid) => grid.cols(),
            Self::Words(grid) => grid.cols(),
        }
    }
}

impl CodesMut<'_> {
    /// Number of rows, at least 1.
    pub fn rows(&self) -> usize {
        match self {
            Self::Bytes(grid) => grid.rows(),
            Self::Words(grid) => grid.rows(),
        }
    }

    /// Number of columns, at least 1.
    pub fn cols(&self) -> usize {
        match self {
            Self::Bytes(grid) => grid.cols(),
            Self::Words(grid) => grid.cols(),
        }
    }
}

impl<'a, C: Code> From<GridView<'a, C>> for CodesView<'a> {
    fn from(grid: GridView<'a, C>) -> Self {
        C::view(grid)
    }
}

impl<'a, C: Code> From<GridViewMut<'a, C>> for CodesMut<'a> {
    fn from(grid: GridViewMut<'a, C>) -> Self {
        C::view_mut(grid)
    }
}

impl Code for u8 {
    const LEVELS: usize = 256;

    #[inline(always)]
    fn get(self) -> u16 {
        u16::from(self)
    }

    fn of(number: u16) -> Option<Self> {
        number.try_into().ok()
    }
}

impl Sealed for u8 {
    #[inline(always)]
    fn low(number: u32) -> Self {
        number as Self
    }

    fn view(cells: GridView<'_, Self>) -> CodesView<'_> {
        CodesView::Bytes(cells)
    }

    fn view_mut(cells: GridViewMut<'_, Self>) -> CodesMut<'_> {
        CodesMut::Bytes(cells)
    }
}

impl Code for u16 {
    const LEVELS: usize = 1 << 16;

    #[inline(always)]
    fn get(self) -> u16 {
        self
    }

    fn of(number: u16) -> Option<Self> {
        Some(number)
    }
}

impl Sealed for u16 {
    #[inline(always)]
    fn low(number: u32) -> Self {
        number as Self
    }

    fn view(cells: GridView<'_, Self>) -> CodesView<'_> {
        CodesView::Words(cells)
    }

    fn view_mut(cells: GridViewMut<'_, Self>) -> CodesMut<'_> {
        CodesMut::Words(cells)
    }
}
