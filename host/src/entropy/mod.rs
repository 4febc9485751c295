//! Moving-window Shannon entropy of a grid of classes.
//!
//! For every cell, H = −Σ p_i·ln p_i over the levels i in the square window centred on it, p_i being a
//! level's share of the window's cells. The window is clipped at the border: only cells inside the grid count, nothing
//! is padded, mirrored or wrapped. Nodata cells are not counted, and where the centre is nodata the result is
//! NaN. A window of one level gives exactly 0. [Other shapes](Entropy::footprint), [other measures](Entropy::measures) and
//! [other edges](Entropy::edge) can be asked for; their definitions are in [`measure`](crate::measure).
//!
//! A grid in memory is computed by [`Entropy::compute`], or with a choice of the engine by [`Entropy::compute_into`]; a raster that need
//! not fit in memory by [`Entropy::stream`].
//!
//! Sources: C. E. Shannon, A Mathematical Theory of Communication (1948), section 6; in landscape ecology the same
//! is Shannon's diversity index SHDI (McGarigal and Marks, FRAGSTATS, 1995), in image analysis local entropy.
//!
//! ```
//! use halotile::entropy::Entropy;
//! use halotile::grid::GridView;
//!
//! let cells = [1u8, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 4, 5, 6, 7];
//! let h = Entropy::new().size(5).compute::<f64>(GridView::new(&cells, 4, 4)?)?;
//! assert_eq!(format!("{:.5}", h.row(0)[1]), "1.70455");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

mod algorithm;
pub(crate) mod census;
mod choice;
mod frame;
mod kernel;
mod kernels;
mod launch;
mod program;
mod resident;
mod stream;

pub use crate::numbers::Planes;
pub use algorithm::{Algorithm, Custom, Launcher, Task};
use census::{Coding, WordCoding};
pub use frame::Frame;
#[doc(hidden)]
pub use frame::{allocate, pitch};
pub use kernel::{Kernel, Place};
pub use resident::Resident;

use crate::classes::ClassesError;
use crate::codes::{self, Code, CodesView};
pub use crate::codes::{BYTE_LEVELS, MAX_LEVELS};
use crate::cpu;
pub use crate::engine::Engine;
use crate::exec::{Device, DeviceError};
use crate::grid::{Grid, GridView, GridViewMut, ShapeError};
use crate::io::FormatError;
use crate::machine;
use crate::measure::window::{Scales, Window};
pub use crate::measure::{Base, MAX_SIZE};
use crate::measure::{Edge, Footprint, Measure};
pub use crate::numbers::Real;
use crate::observe::{Cancelled, Observer};

/// F(n) = n·ln n in fixed point for counts of 0 to `size`², and units of 1, for windows of which the largest has `largest` cells: what the
/// library's kernels for few classes have.
#[doc(hidden)]
pub fn fixed_table(size: usize, largest: usize) -> (Vec<u32>, f64) {
    crate::measure::fixed::table_u32(size * size + 1, largest)
}

/// The most measures at a time.
pub const MAX_MEASURES: usize = 64;

/// Why an entropy was not computed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The window's size is even, 0 or too large.
    #[error("a window's size is an odd number from 1 to {MAX_SIZE}, not {0}")]
    Size(usize),
    /// The number of levels is 0 or too large.
    #[error("the number of levels is from 1 to {MAX_LEVELS}, not {0}")]
    Levels(usize),
    /// More levels than there are codes of a byte.
    #[error("{0} levels are too many for codes that are bytes, which are 256 at most; give codes of 16 bits")]
    LevelsOfBytes(usize),
    /// There is nothing to measure, or too much.
    #[error("there are from 1 to {MAX_MEASURES} measures at a time, not {0}")]
    Measures(usize),
    /// More than Shannon's entropy of squares clipped at the edge is asked of one launch.
    #[error("a resident grid has Shannon's entropy of squares that are clipped at the edge, and nothing else")]
    NotResident,
    /// A measure's order is negative or no number.
    #[error("{0}: the order of a measure is a number from 0 up")]
    Order(Measure),
    /// The share of valid cells is none.
    #[error("the least share of valid cells is from 0 to 1, not {0}")]
    MinValid(f64),
    /// Normalising needs to know the number of levels.
    #[error("to normalize, the number of levels must be given: the entropy is divided by its logarithm")]
    NormalizeWithoutLevels,
    /// A cell's value is no level.
    #[error("row {row}, column {col}: value {value} is not below the number of levels, {levels}")]
    Value {
        /// Row of the cell, from 0.
        row: usize,
        /// Column of the cell, from 0.
        col: usize,
        /// Its value.
        value: u16,
        /// The number of levels.
        levels: usize,
    },
    /// The output has another shape than the input.
    #[error("the output is {got_rows} x {got_cols} and the grid {rows} x {cols}")]
    OutputShape {
        /// Rows of the grid.
        rows: usize,
        /// Columns of the grid.
        cols: usize,
        /// Rows of the output.
        got_rows: usize,
        /// Columns of the output.
        got_cols: usize,
    },
    /// A part is larger than the grid that it is a part of.
    #[error("{rows} x {cols} cells are no part of a grid of {whole_rows} x {whole_cols}")]
    Whole {
        /// Rows of the part.
        rows: usize,
        /// Columns of the part.
        cols: usize,
        /// Rows of the whole grid.
        whole_rows: usize,
        /// Columns of the whole grid.
        whole_cols: usize,
    },
    /// The grid is too wide for the kernels' 32-bit indices.
    #[error("a device takes grids of up to {max} columns, not {cols}; the CPU engine takes any")]
    TooWide {
        /// Columns of the grid.
        cols: usize,
        /// Columns that a device takes.
        max: usize,
    },
    /// A kernel was asked for and cannot do the work.
    #[error("kernel {kernel} cannot do this: {reason}")]
    KernelMisfit {
        /// The kernel.
        kernel: &'static str,
        /// Why not.
        reason: String,
    },
    /// A kernel was asked for, and the CPU engine has none.
    #[error("kernel {0} runs on a device (cuda, emulator), not in the CPU engine")]
    KernelOnCpu(&'static str),
    /// A rung of a ladder that is a function on the CPU was asked for, and devices are to do the work.
    #[error("kernel {0} is a function on the CPU; choose the CPU engine")]
    KernelOnDevice(&'static str),
    /// No kernel can do the work on this device.
    #[error("{device} has no kernel that can do this: {reason}")]
    NoKernel {
        /// The device.
        device: String,
        /// Why the last one tried cannot.
        reason: String,
    },
    /// The list of devices is empty.
    #[error("there is no device in the list of devices")]
    NoDevices,
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The observer asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The result does not fit in memory.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A mask, or numbers that are no bytes, in a device's memory, and no classes were given.
    #[error("an array that is not of bytes, or has a mask, needs classes")]
    NoClasses,
    /// Classes have no code for no data, or a mask has another shape.
    #[error(transparent)]
    Classes(Arc<ClassesError>),
    /// A file could not be read or written.
    #[error(transparent)]
    File(Arc<FormatError>),
    /// The operating system starts no more threads.
    #[error("no more threads can be started: {0}")]
    Threads(String),
    /// Even the smallest pieces take more memory than there may be.
    #[error("this takes {} of memory at least, and {} are allowed", machine::needed(*.needed as u128), machine::available(*.allowed as u128))]
    Memory {
        /// Bytes that the smallest pieces take.
        needed: usize,
        /// Bytes allowed.
        allowed: usize,
    },
}

impl From<FormatError> for Error {
    fn from(error: FormatError) -> Self {
        Self::File(Arc::new(error))
    }
}

impl From<ClassesError> for Error {
    fn from(error: ClassesError) -> Self {
        match error {
            ClassesError::Device(error) => Self::Device(error),
            ClassesError::Cancelled(error) => Self::Cancelled(error),
            error => Self::Classes(Arc::new(error)),
        }
    }
}

impl Error {
    /// True where devices cannot do the work and the CPU engine can: no kernel takes the task, or a device failed.
    pub fn is_for_cpu(&self) -> bool {
        matches!(self, Self::NoKernel { .. } | Self::TooWide { .. } | Self::Device(_))
    }

    /// True where the observer asked to stop.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }
}

/// A grid in memory whose values are codes of classes, as [`Cells`](crate::raster::Cells) reads them of a raster: bytes, or 16-bit
/// words where there are more than 256.
#[derive(Debug, Clone, Copy)]
pub struct Codes<'a, C = u8> {
    /// The codes.
    pub cells: GridView<'a, C>,
    /// Codes are below this, 1 to [`Code::LEVELS`], or the one for nodata.
    pub levels: usize,
    /// The code of cells without data, if there may be any. It may be below `levels`.
    pub nodata: Option<C>,
}

/// What was done, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Report {
    /// Levels: those given; or, where values are small, one more than the largest; or as many as occur.
    pub levels: usize,
    /// The kernel, where devices did the work, or the rung asked for by name. `None` for the CPU engine.
    pub kernel: Option<Kernel>,
    /// Bands that devices took, in all.
    pub bands: usize,
    /// Cells that the CPU computed: all, none, or its share where it works beside devices.
    pub cpu_cells: usize,
    /// Seconds that kernels ran, copies not counted; of the slowest device. 0 where no device took part.
    pub kernel_seconds: f64,
}

/// What to compute: window, levels, unit, nodata. Made by [`Entropy::new`] and changed by its methods.
#[derive(Debug, Clone, PartialEq)]
pub struct Entropy {
    size: usize,
    levels: Option<usize>,
    base: Base,
    normalize: bool,
    nodata: Option<u16>,
    kernel: Option<Kernel>,
    edge: Edge,
    /// `None` for the square of `size`.
    footprint: Option<Footprint>,
    measures: Vec<Measure>,
    min_valid: f64,
    fill: bool,
    /// The grid that the cells are a part of.
    whole: Option<(usize, usize)>,
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
    /// smaller of the levels and the window's cells. [`Report::levels`] is their number.
    ///
    /// ```
    /// use halotile::entropy::{Base, Entropy};
    /// assert_eq!(Entropy::new().base(Base::Two).max_value(16), 4.0);
    /// ```
    pub fn max_value(&self, levels: usize) -> f64 {
        (levels.clamp(1, self.size * self.size) as f64).ln() * self.scale()
    }

    /// Checks what can be checked without a grid.
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

    /// True for what the fastest engines compute: Shannon's entropy of a square in which any valid cell is enough, around valid ones.
    /// True where Shannon's entropy of squares is all that is asked for: what most kernels of devices compute, and the only measure that they compute of more
    /// than 256 classes.
    pub fn is_plain(&self) -> bool {
        self.footprint.is_none() && self.measures == [Measure::Shannon] && self.min_valid == 0.0 && !self.fill
    }

    /// The window, where it or its measures are more than the fastest engines compute.
    fn window(&self) -> Option<Window> {
        if self.is_plain() {
            return None;
        }
        let square = || Footprint::square(self.size).expect("the size has been checked");
        let footprint = self.footprint.clone().unwrap_or_else(square);
        let scales = Scales::new(self.base, self.levels.filter(|_| self.normalize));
        Some(Window::new(footprint, &self.measures, self.edge, self.min_valid, scales).fill(self.fill))
    }

    /// Checks that a part is no larger than what it is a part of.
    fn check_whole(&self, (rows, cols): (usize, usize)) -> Result<(), Error> {
        match self.whole {
            Some((whole_rows, whole_cols)) if rows > whole_rows || cols > whole_cols => {
                Err(Error::Whole { rows, cols, whole_rows, whole_cols })
            }
            _ => Ok(()),
        }
    }

    /// Checks the shapes.
    fn check<T>(&self, (rows, cols): (usize, usize), out: (usize, usize), on_device: bool) -> Result<(), Error> {
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
    fn check_outs<T, C>(
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
    fn check_place(&self, on_device: bool) -> Result<(), Error> {
        match self.kernel.map(|kernel| (kernel.place(), kernel.name())) {
            Some((Place::Device, name)) if !on_device => Err(Error::KernelOnCpu(name)),
            Some((Place::Cpu, name)) if on_device => Err(Error::KernelOnDevice(name)),
            _ => Ok(()),
        }
    }

    /// What the entropy in nats is multiplied by.
    fn scale(&self) -> f64 {
        match self.levels {
            // The logarithm of 1 level is 0, and so is every entropy.
            Some(levels) if self.normalize => 1.0 / (levels.max(2) as f64).ln(),
            _ => 1.0 / self.base.ln(),
        }
    }

    /// The entropy of every cell, by the CPU engine on the current rayon thread pool.
    ///
    /// The result has the grid's shape. f32 results are within 2e-6 of the definition (in nats), f64
    /// results within 1e-12. Cells are `u8` or `u16` of any value.
    ///
    /// ```
    /// use halotile::entropy::Entropy;
    /// use halotile::grid::GridView;
    /// let vegetation = GridView::new(&[7292u16, 7292, 7296, 7299], 2, 2)?;
    /// let h = Entropy::new().compute::<f64>(vegetation)?;
    /// assert!((h.row(0)[0] - 1.5 * 2f64.ln()).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compute<T: Real>(&self, cells: GridView<'_, impl Code>) -> Result<Grid<T>, Error> {
        let mut out = Grid::zeros(cells.rows(), cells.cols())?;
        self.compute_into(&Engine::Cpu, cells, out.view_mut(), &())?;
        Ok(out)
    }

    /// The entropy of every cell, by `engine`, into `out`, which has the grid's shape.
    ///
    /// The observer hears of finished cells and may stop the work. After an error the contents of `out` are unspecified.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use halotile::entropy::{Engine, Entropy, Kernel};
    /// use halotile::exec::{Device, emulator::EmulatedDevice};
    /// use halotile::grid::{Grid, GridView};
    ///
    /// let cells = [7u8; 30];
    /// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    /// let mut h = Grid::<f32>::zeros(5, 6)?;
    /// let report = Entropy::new().levels(16).compute_into(
    ///     &Engine::Devices(vec![device]),
    ///     GridView::new(&cells, 5, 6)?,
    ///     h.view_mut(),
    ///     &(),
    /// )?;
    /// assert_eq!(report.kernel, Some(Kernel::Sliding));
    /// assert_eq!(h.as_slice(), [0.0; 30]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compute_into<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, impl Code>,
        out: GridViewMut<'_, T>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        self.measure_into(engine, cells, vec![out], observer)
    }

    /// All measures of every cell, by `engine`, into `outs`, one for each measure in their order, each of the grid's shape.
    ///
    /// Devices compute Shannon's entropy in squares of up to 255 × 255 of more than 256 different values, in f32, and nothing else ([`Error::NoKernel`]); nor
    /// so many classes in such windows that sums of 32 bits are not exact to 2e-6. Otherwise like [`compute_into`](Self::compute_into). f64 results are
    /// within 1e-12 of the definition, f32 results within 2e-6 (of Hill's numbers: times the number; richness is exact).
    ///
    /// ```
    /// use halotile::entropy::{Engine, Entropy};
    /// use halotile::grid::{Grid, GridView};
    /// use halotile::measure::Measure;
    ///
    /// let cells = GridView::new(&[1u8, 1, 2, 2], 2, 2)?;
    /// let (mut simpson, mut richness) = (Grid::<f32>::zeros(2, 2)?, Grid::<f32>::zeros(2, 2)?);
    /// let outs = vec![simpson.view_mut(), richness.view_mut()];
    /// let measures = [Measure::Simpson, Measure::Richness];
    /// Entropy::new().measures(measures).measure_into(&Engine::Cpu, cells, outs, &())?;
    /// assert_eq!((simpson.row(0)[0], richness.row(0)[0]), (0.5, 2.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn measure_into<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, impl Code>,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        match CodesView::from(cells) {
            CodesView::Bytes(cells) => self.measure_bytes(engine, cells, outs, observer),
            CodesView::Words(cells) => self.measure_words(engine, cells, outs, observer),
        }
    }

    fn measure_bytes<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, u8>,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let on_device = matches!(engine, Engine::Devices(_));
        self.check_outs(cells, &outs, on_device)?;
        // Devices are faster than a scan of the cells: pieces are checked on their way, where that is enough.
        let promised = match self.kernel {
            Some(Kernel::Custom(_)) => None,
            _ if on_device => Coding::promised(self.levels, self.nodata_byte()),
            _ => None,
        };
        let unseen = promised.is_some();
        let coding = promised.map_or_else(|| Coding::of(cells, self.levels, self.nodata_byte(), on_device), Ok)?;
        self.compute_coded(engine, cells, &coding, unseen, outs, observer)
    }

    /// The value without data of bytes: one beyond 255 does not occur.
    fn nodata_byte(&self) -> Option<u8> {
        self.nodata.and_then(u8::of)
    }

    /// Words are recoded to bytes where they have few values, as bytes are where their values are scattered.
    fn measure_words<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, u16>,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        self.check_outs(cells, &outs, matches!(engine, Engine::Devices(_)))?;
        let counted = census::Words::of(cells, self.levels, self.nodata)?;
        if let Some(numbers) = counted.as_bytes() {
            let coding = Coding { levels: counted.levels, nodata: numbers.nodata, codes: None };
            let bytes = numbers.of(cells)?;
            return self.compute_coded(engine, bytes.view(), &coding, false, outs, observer);
        }
        self.compute_words(engine, cells, counted.coding(), outs, observer)
    }

    /// All measures of every cell of a grid whose codes are known, into `outs`, one for each measure in their order, each of the
    /// grid's shape: what [`stream`](Self::stream) gives of the same [`Cells`](crate::raster::Cells), bit for bit.
    ///
    /// Levels and nodata are those of `codes`; [`levels`](Self::levels) only say what is [normalised](Self::normalize) by. Otherwise
    /// like [`measure_into`](Self::measure_into).
    ///
    /// ```
    /// use halotile::entropy::{Codes, Engine, Entropy};
    /// use halotile::grid::{Grid, GridView};
    ///
    /// let codes = [0u8, 1, 1, 0, 2, 2, 1, 1, 0, 2];
    /// let mut h = Grid::<f32>::zeros(1, 10)?;
    /// let codes = Codes { cells: GridView::new(&codes, 1, 10)?, levels: 3, nodata: None };
    /// Entropy::new().measure_codes_into(&Engine::Cpu, codes, vec![h.view_mut()], &())?;
    /// assert!((h.row(0)[0] - 0.636_514).abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`measure_into`](Self::measure_into); [`Error::Value`] for a cell that is no code.
    pub fn measure_codes_into<T: Real, C: Code>(
        &self,
        engine: &Engine,
        codes: Codes<'_, C>,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let Codes { cells, levels, nodata } = codes;
        let on_device = matches!(engine, Engine::Devices(_));
        self.check_outs(cells, &outs, on_device)?;
        if !(1..=MAX_LEVELS).contains(&levels) {
            return Err(Error::Levels(levels));
        }
        if levels > C::LEVELS {
            return Err(Error::LevelsOfBytes(levels));
        }
        census::check(cells, (0, 0), levels, nodata)?;
        let nodata = nodata.map(Code::get);
        match C::view(cells) {
            CodesView::Bytes(cells) => {
                let coding = Coding { levels, nodata: nodata.and_then(u8::of), codes: None };
                self.compute_coded(engine, cells, &coding, false, outs, observer)
            }
            // As `stream` has them: bytes where bytes do, which all kernels take.
            CodesView::Words(cells) if on_device && codes::width(levels, nodata) == 1 => {
                let coding = Coding { levels, nodata: nodata.and_then(u8::of), codes: None };
                let bytes = census::narrowed(cells)?;
                self.compute_coded(engine, bytes.view(), &coding, false, outs, observer)
            }
            CodesView::Words(cells) => {
                self.compute_words(engine, cells, WordCoding::below(levels, nodata), outs, observer)
            }
        }
    }

    /// Codes that are known to be valid.
    fn compute_words<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, u16>,
        codes: WordCoding,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let WordCoding { levels, nodata, .. } = codes;
        if let Some(kernel @ Kernel::Custom(_)) = self.kernel {
            let reason = format!("it counts up to {BYTE_LEVELS} codes, and there are more");
            return Err(Error::KernelMisfit { kernel: kernel.name(), reason });
        }
        let report = match (engine, self.edge.extends() || self.edge == Edge::Nodata) {
            (Engine::Devices(_), _) | (Engine::Cpu, true) => {
                stream::words_in_memory(self, engine, cells, codes, outs, observer)?
            }
            (Engine::Cpu, false) => {
                let task = cpu::Task {
                    grid: self.whole.unwrap_or((cells.rows(), cells.cols())),
                    levels,
                    nodata,
                    scale: self.scale(),
                    ..cpu::Task::whole(cells, self.size)
                };
                let window = self.window();
                cpu::run_codes(&task, window.as_ref(), outs, observer)?;
                Report { cpu_cells: cells.rows() * cells.cols(), ..Report::default() }
            }
        };
        Ok(Report { levels: self.levels.unwrap_or(levels), ..report })
    }

    /// The grid is `unseen` where it has not been checked that its cells match the coding.
    fn compute_coded<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, u8>,
        coding: &Coding,
        unseen: bool,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let report = match (engine, self.kernel, <[_; 1]>::try_from(outs)) {
            (engine, Some(kernel @ Kernel::Custom(custom)), Ok([out])) => {
                let coded = coding.coded(cells)?;
                let task = custom.task::<T>(coded.view(), coding, self.size, self.scale())?;
                if matches!(engine, Engine::Devices(devices) if devices.is_empty()) {
                    return Err(Error::NoDevices);
                }
                // SAFETY: the cells have been coded, and nothing was found against the task.
                let report = unsafe { custom.algorithm().compute(engine, &task, T::planes(vec![out]), observer) }?;
                Report { kernel: Some(kernel), ..report }
            }
            (Engine::Cpu, _, Ok([out])) if self.is_plain() && self.edge == Edge::Shrink => {
                let coded = coding.coded(cells)?;
                let task = cpu::Task {
                    grid: self.whole.unwrap_or((cells.rows(), cells.cols())),
                    levels: coding.levels,
                    nodata: coding.nodata,
                    scale: self.scale(),
                    ..cpu::Task::whole(coded.view(), self.size)
                };
                cpu::run(&task, out, observer)?;
                Report { cpu_cells: cells.rows() * cells.cols(), ..Report::default() }
            }
            (engine, _, outs) => {
                let outs = outs.map_or_else(|outs| outs, Vec::from);
                stream::in_memory(self, engine, cells, coding, unseen, outs, observer)?
            }
        };
        Ok(Report { levels: self.levels.unwrap_or(coding.levels), ..report })
    }

    /// Copies the grid and the kernel's table to the device, for benchmarks that launch it repeatedly.
    ///
    /// The device holds several copies, each with memory for its result, until together they take `spread` bytes
    /// (0: once). [`Resident::launch`] takes them in turn, so that a grid smaller than a cache of `spread / 2` bytes does not
    /// hit that cache. Grid and result must fit in the device's memory.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use halotile::entropy::Entropy;
    /// use halotile::exec::{Device, emulator::EmulatedDevice};
    /// use halotile::grid::{Grid, GridView};
    ///
    /// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    /// let mut resident = Entropy::new().resident::<f32>(&device, GridView::new(&[7; 30], 5, 6)?, 1000)?;
    /// let seconds = resident.launch()?;
    /// let mut h = Grid::<f32>::zeros(5, 6)?;
    /// resident.download(h.view_mut())?;
    /// assert!(seconds > 0.0 && h.as_slice() == [0.0; 30]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resident<T: Real>(
        &self,
        device: &Arc<dyn Device>,
        cells: GridView<'_, u8>,
        spread: usize,
    ) -> Result<Resident<T>, Error> {
        self.validate()?;
        self.check::<T>((cells.rows(), cells.cols()), (cells.rows(), cells.cols()), true)?;
        if !self.is_plain() || self.edge != Edge::Shrink {
            return Err(Error::NotResident);
        }
        self.check_place(true)?;
        if let Some(kernel) = self.kernel.filter(|kernel| kernel.place() == Place::Both) {
            let reason = "it is a plan over devices, and no single launch".into();
            return Err(Error::KernelMisfit { kernel: kernel.name(), reason });
        }
        let coding = Coding::of(cells, self.levels, self.nodata_byte(), true)?;
        Resident::new(device, self.kernel, cells, &coding, self.size, self.scale(), spread)
    }
}
