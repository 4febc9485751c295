//! From counts by way of sums to entropies: the window sizes of a row of cells, and the division by N.

use super::aligned::Aligned;
use super::consumer::{Consumer, prefetch};
use super::few::entropy_or_mark;
use super::lookup::{Group, Lookup};
use super::table::Fixed;
use super::{Job, Summed, Tile};
use crate::isa::Isa;

/// Shannon's entropy of a tile's windows: Σ F(n) by table ([`Lookup`]), then [`Finish`].
pub struct Entropies<'a, 'b, T: Summed> {
    job: &'a Job<'a, T>,
    tile: &'a mut Tile<'b, T>,
    /// A row a slot.
    sums: &'a mut Aligned<T::Sum>,
    padded: usize,
    finish: Finish<T>,
}

impl<'a, 'b, T: Summed> Entropies<'a, 'b, T> {
    /// For a tile; the memory is used again.
    pub fn new(job: &'a Job<'a, T>, tile: &'a mut Tile<'b, T>, sums: &'a mut Aligned<T::Sum>) -> Self {
        let finish = Finish::new(job, tile.left, tile.width());
        Self { job, tile, sums, padded: 0, finish }
    }
}

impl<T: Summed> Consumer for Entropies<'_, '_, T> {
    #[inline(always)]
    fn reserve(&mut self, slots: usize, padded: usize) {
        self.sums.resize(slots * padded);
        self.padded = padded;
    }

    #[inline(always)]
    fn prefetch(&self, isa: Isa, i: usize) {
        prefetch(isa, &*self.tile.rows[i]);
    }

    #[inline(always)]
    fn add(&mut self, isa: Isa, slot: usize, group: Group<'_>) {
        T::Sum::add_group(isa, group, self.job.tables, &mut self.sums[slot * self.padded..][..self.padded]);
    }

    #[inline(always)]
    fn add_empty(&mut self, slot: usize) {
        self.sums[slot * self.padded..][..self.padded].fill(T::Sum::default());
    }

    #[inline(always)]
    fn finish(&mut self, slot: usize, i: usize, nodata: Option<&[u32]>) {
        let sums = &self.sums[slot * self.padded..][..self.padded];
        let (y, out) = (self.tile.top + i, &mut *self.tile.rows[i]);
        if let (Some(nodata), Some(value)) = (nodata, self.job.layout.task.nodata) {
            let centre = &self.job.layout.task.cells.row(y)[self.tile.left..][..out.len()];
            self.finish.masked(self.job, y, sums, nodata, centre, value, out);
        } else {
            self.finish.plain(self.job, y, sums, out);
        }
    }
}

/// Window sizes of the cells of a tile, and what depends on them, for the rows of one height.
pub struct Finish<T: Summed> {
    /// Columns of each cell's window that lie inside the grid.
    widths: Vec<u16>,
    /// Rows that the two arrays below are for.
    height: usize,
    full: Vec<T::Sum>,
    factor: Vec<T>,
}

/// Cells of a window along one axis: centre `at`, clipped to `len`.
pub fn extent(at: usize, radius: usize, len: usize) -> usize {
    len.min(at + radius + 1) - at.saturating_sub(radius)
}

impl<T: Summed> Finish<T> {
    /// For the `width` cells from column `left`.
    pub fn new(job: &Job<'_, T>, left: usize, width: usize) -> Self {
        let (radius, cols) = (job.layout.task.size / 2, job.layout.task.cells.cols());
        Self {
            widths: (left..left + width).map(|x| extent(x, radius, cols) as u16).collect(),
            height: 0,
            full: vec![T::Sum::default(); width],
            factor: vec![T::NAN; width],
        }
    }

    /// A row without nodata.
    #[inline(always)]
    pub fn plain(&mut self, job: &Job<'_, T>, y: usize, sums: &[T::Sum], out: &mut [T]) {
        let height = extent(y, job.layout.task.size / 2, job.layout.task.cells.rows());
        if height != self.height {
            self.height = height;
            for (x, &width) in self.widths.iter().enumerate() {
                let n = height * usize::from(width);
                self.full[x] = job.tables.f[n];
                self.factor[x] = T::from_f64(job.tables.factor[n]);
            }
        }
        let mask = job.tables.mask;
        for (((out, &sum), &full), &factor) in out.iter_mut().zip(sums).zip(&self.full).zip(&self.factor) {
            *out = T::entropy(full, sum, mask, factor);
        }
    }

    /// A row where `nodata[x]` cells of the window of x do not count, and cells that are `value` get
    /// no entropy.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub fn masked(
        &self,
        job: &Job<'_, T>,
        y: usize,
        sums: &[T::Sum],
        nodata: &[u32],
        centre: &[u8],
        value: u8,
        out: &mut [T],
    ) {
        let height = extent(y, job.layout.task.size / 2, job.layout.task.cells.rows());
        for (x, out) in out.iter_mut().enumerate() {
            let n = (height * usize::from(self.widths[x])).wrapping_sub(nodata[x] as usize);
            *out = if centre[x] == value { T::NAN } else { entropy_or_mark(job.tables, n, sums[x]) };
        }
    }
}

/// The sum without the cells of a level that occurs `n` times.
#[inline(always)]
pub fn without<T: Summed>(job: &Job<'_, T>, sum: T::Sum, n: u16) -> T::Sum {
    sum.minus(job.tables.f[usize::from(n)])
}
