//! What there is to compute, and its checks.

use super::{Base, Error, Kernel, MAX_LEVELS, MAX_MEASURES, MAX_SIZE, Place};
use crate::codes::Code;
use crate::grid::{GridView, GridViewMut};
use crate::measure::window::{Scales, Window};
use crate::measure::{Edge, Footprint, Measure};

/// What to compute: window, levels, unit, nodata. Made by [`Entropy::new`] and changed by its methods.
#[derive(Debug, Clone, PartialEq)]
pub struct Entropy {
    pub(super) size: usize,
    pub(super) levels: Option<usize>,
    pub(super) base: Base,
    pub(super) normalize: bool,
    pub(super) nodata: Option<u16>,
    pub(super) kernel: Option<Kernel>,
    pub(super) edge: Edge,
    /// `None` for the square of `size`.
    pub(super) footprint: Option<Footprint>,
    pub(super) measures: Vec<Measure>,
    pub(super) min_valid: f64,
    pub(super) fill: bool,
    /// The grid that the cells are a part of.
    pub(super) whole: Option<(usize, usize)>,
}

impl Default for Entropy {
    fn default() -> Self {
        Self::new()
    }
}

impl Entropy {
    /// A 5 × 5 window, any levels, in nats, no nodata.
    pub fn new() -> Self {
        Self {
            size: 5,
            levels: None,
            base: Base::E,
            normalize: false,
            nodata: None,
            kernel: None,
            edge: Edge::Shrink,
            footprint: None,
            measures: vec![Measure::Shannon],
            min_valid: 0.0,
            fill: false,
            whole: None,
        }
    }

    /// The window is `size` × `size` cells: an odd number from 1 to [`MAX_SIZE`]. It may exceed the grid.
    pub fn size(mut self, size: usize) -> Self {
        (self.size, self.footprint) = (size, None);
        self
    }

    /// The window is of any shape.
    ///
    /// ```
    /// use halotile::entropy::Entropy;
    /// use halotile::grid::GridView;
    /// use halotile::measure::Footprint;
    ///
    /// // The cell itself and the four beside it.
    /// let cells = GridView::new(&[1u8, 2, 3, 4, 5, 6, 7, 8, 9], 3, 3)?;
    /// let h = Entropy::new().footprint(Footprint::disk(3)?).compute::<f64>(cells)?;
    /// assert!((h.row(1)[1] - 5f64.ln()).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn footprint(mut self, footprint: Footprint) -> Self {
        (self.size, self.footprint) = match footprint.as_square() {
            Some(size) => (size, None),
            None => (footprint.rows().max(footprint.cols()), Some(footprint)),
        };
        self
    }

    /// What is measured; by default Shannon's entropy. Of several, [`measure_into`](Self::measure_into) and
    /// [`stream`](Self::stream) give a plane each.
    pub fn measures(mut self, measures: impl Into<Vec<Measure>>) -> Self {
        self.measures = measures.into();
        self
    }

    /// Windows of which less than this share, 0 to 1, is valid have no result: cells beyond the grid's edge count as missing,
    /// like those without data. 0 by default: one valid cell is enough.
    pub fn min_valid(mut self, share: f64) -> Self {
        self.min_valid = share;
        self
    }

    /// Cells without data have results too, those of the valid cells in their windows; by default they have none, and are NaN. As in
    /// scikit-image, where a mask hides pixels from neighbourhoods but every pixel has one.
    ///
    /// ```
    /// use halotile::entropy::Entropy;
    /// use halotile::grid::GridView;
    /// let cells = GridView::new(&[1u8, 1, 9, 2, 2], 1, 5)?;
    /// let h = Entropy::new().nodata(9).fill(true).compute::<f64>(cells)?;
    /// assert!((h.row(0)[2] - 2f64.ln()).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill(mut self, fill: bool) -> Self {
        self.fill = fill;
        self
    }

    /// The cells are a part of a grid of so many rows and columns, at least as many as theirs. A part that has the halo of its inner cells
    /// gives them results bit-identical to the whole's: the unit of the sums and the choice of the kernel depend on the whole.
    /// What an [edge](Self::edge) adds to the whole is for the caller to count.
    ///
    /// ```
    /// use halotile::entropy::Entropy;
    /// use halotile::grid::GridView;
    /// let cells = [0u8, 1, 1, 0, 2, 2, 1, 1, 0, 2];
    /// let whole = Entropy::new().levels(3).compute::<f32>(GridView::new(&cells, 1, 10)?)?;
    /// // The last four cells with the halo of the last two of them.
    /// let part = Entropy::new().levels(3).part_of((1, 10)).compute::<f32>(GridView::new(&cells[6..], 1, 4)?)?;
    /// assert_eq!(part.row(0)[2..], whole.row(0)[8..]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn part_of(mut self, whole: impl Into<Option<(usize, usize)>>) -> Self {
        self.whole = whole.into();
        self
    }

    /// Every cell must be below `levels` (1..=[`MAX_LEVELS`]) or nodata. Without this any value is taken.
    pub fn levels(mut self, levels: impl Into<Option<usize>>) -> Self {
        self.levels = levels.into();
        self
    }

    /// The unit of the result.
    pub fn base(mut self, base: Base) -> Self {
        self.base = base;
        self
    }

    /// Divides by the logarithm of the number of levels, so that results are from 0 to 1 in any base. Needs
    /// [`levels`](Self::levels); with one level the result is 0.
    pub fn normalize(mut self, normalize: bool) -> Self {
        self.normalize = normalize;
        self
    }

    /// Cells of this value are not counted, and give NaN.
    pub fn nodata(mut self, nodata: impl Into<Option<u16>>) -> Self {
        self.nodata = nodata.into();
        self
    }

    /// What windows see beyond the edge of the grid; by default nothing.
    pub fn edge(mut self, edge: Edge) -> Self {
        self.edge = edge;
        self
    }

    /// Uses this kernel and no other; an error where it does not fit, or [runs elsewhere](Kernel::place).
    pub fn kernel(mut self, kernel: impl Into<Option<Kernel>>) -> Self {
        self.kernel = kernel.into();
        self
    }

    /// The largest value that a result can have with so many levels, for scales and legends: the logarithm of the
    /// smaller of the levels and the window's cells. [`Report::levels`](super::Report::levels) is their number.
    ///
    /// ```
    /// use halotile::entropy::{Base, Entropy};
    /// assert_eq!(Entropy::new().base(Base::Two).max_value(16), 4.0);
    /// ```
    pub fn max_value(&self, levels: usize) -> f64 {
        (levels.clamp(1, self.size * self.size) as f64).ln() * self.scale()
    }

    /// Checks what can be checked without a grid.
    ///
    /// # Errors
    /// [`Error`] for the first option that is out of its range.
    pub fn validate(&self) -> Result<(), Error> {
        if self.size.is_multiple_of(2) || self.size > MAX_SIZE {
            return Err(Error::Size(self.size));
        }
        if let Some(levels) = self.levels
            && !(1..=MAX_LEVELS).contains(&levels)
        {
            return Err(Error::Levels(levels));
        }
        if self.normalize && self.levels.is_none() {
            return Err(Error::NormalizeWithoutLevels);
        }
        if self.measures.is_empty() || self.measures.len() > MAX_MEASURES {
            return Err(Error::Measures(self.measures.len()));
        }
        if let Some(measure) = self.measures.iter().find(|measure| !measure.is_defined()) {
            return Err(Error::Order(*measure));
        }
        if !(0.0..=1.0).contains(&self.min_valid) {
            return Err(Error::MinValid(self.min_valid));
        }
        Ok(())
    }

    /// True where measures come from Σ n·log n, Σ n² and how many classes there are (all but Hill's and Rényi's of other orders than 0, 1 and 2), in squares:
    /// what devices compute of more than 256 classes.
    pub fn comes_from_sums(&self) -> bool {
        self.window().is_none_or(|window| window.footprint().as_square().is_some() && window.comes_from_sums())
    }

    /// True where Shannon's entropy of squares, in which any valid cell is enough, around valid ones, is all that is asked for: what most kernels of devices
    /// compute.
    pub fn is_plain(&self) -> bool {
        self.footprint.is_none() && self.measures == [Measure::Shannon] && self.min_valid == 0.0 && !self.fill
    }

    /// The window, where it or its measures are more than the fastest engines compute.
    pub(super) fn window(&self) -> Option<Window> {
        if self.is_plain() {
            return None;
        }
        let square = || Footprint::square(self.size).expect("the size has been checked");
        let footprint = self.footprint.clone().unwrap_or_else(square);
        let scales = Scales::new(self.base, self.levels.filter(|_| self.normalize));
        Some(Window::new(footprint, &self.measures, self.edge, self.min_valid, scales).fill(self.fill))
    }

    /// Checks that a part is no larger than what it is a part of.
    pub(super) fn check_whole(&self, (rows, cols): (usize, usize)) -> Result<(), Error> {
        match self.whole {
            Some((whole_rows, whole_cols)) if rows > whole_rows || cols > whole_cols => {
                Err(Error::Whole { rows, cols, whole_rows, whole_cols })
            }
            _ => Ok(()),
        }
    }

    /// Checks the shapes.
    pub(super) fn check<T>(
        &self,
        (rows, cols): (usize, usize),
        out: (usize, usize),
        on_device: bool,
    ) -> Result<(), Error> {
        if out != (rows, cols) {
            return Err(Error::OutputShape { rows, cols, got_rows: out.0, got_cols: out.1 });
        }
        self.check_whole((rows, cols))?;
        // A row of results is at most what one copy moves, and a strip of a kernel may reach beyond the last column.
        let max = (1 << 31) / size_of::<T>() - 4096;
        if on_device && cols > max {
            return Err(Error::TooWide { cols, max });
        }
        Ok(())
    }

    /// Checks what is asked for against the grid and the outputs.
    pub(super) fn check_outs<T, C>(
        &self,
        cells: GridView<'_, C>,
        outs: &[GridViewMut<'_, T>],
        on_device: bool,
    ) -> Result<(), Error> {
        self.validate()?;
        for out in outs {
            self.check::<T>((cells.rows(), cells.cols()), (out.rows(), out.cols()), on_device)?;
        }
        if outs.len() != self.measures.len() {
            return Err(Error::Measures(outs.len()));
        }
        self.check_place(on_device)?;
        if let Some(kernel @ Kernel::Custom(_)) = self.kernel
            && !(self.is_plain() && self.edge == Edge::Shrink)
        {
            let reason = "it knows Shannon's entropy of squares that are clipped at the edge, and nothing else".into();
            return Err(Error::KernelMisfit { kernel: kernel.name(), reason });
        }
        Ok(())
    }

    /// Checks that the kernel asked for runs where the work is to be done.
    pub(super) fn check_place(&self, on_device: bool) -> Result<(), Error> {
        match self.kernel.map(|kernel| (kernel.place(), kernel.name())) {
            Some((Place::Device, name)) if !on_device => Err(Error::KernelOnCpu(name)),
            Some((Place::Cpu, name)) if on_device => Err(Error::KernelOnDevice(name)),
            _ => Ok(()),
        }
    }

    /// The value without data of bytes: one beyond 255 does not occur.
    pub(super) fn nodata_byte(&self) -> Option<u8> {
        self.nodata.and_then(u8::of)
    }

    /// What the entropy in nats is multiplied by.
    pub(super) fn scale(&self) -> f64 {
        match self.levels {
            // The logarithm of 1 level is 0, and so is every entropy.
            Some(levels) if self.normalize => 1.0 / (levels.max(2) as f64).ln(),
            _ => 1.0 / self.base.ln(),
        }
    }
}
