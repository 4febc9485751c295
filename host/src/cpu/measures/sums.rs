//! The measures as a consumer of planes of counts: whole rows at a time, Σ n², Σ F(n), the number of n that are not 0 and the largest,
//! as far as the window's measures need them.
//!
//! All of them are integers, the same that [`slide`](super::slide) keeps up to date; the formulas are the same too
//! ([`finish`](super::finish)). So neither a tile nor an instruction set that goes the other way changes a bit. The loops are plain;
//! they are compiled for each instruction set with the engine that they are inlined into.

use super::Job;
use super::areas::{Areas, Row};
use super::finish::{Counted, Logs, Precision, finish};
#[cfg(target_arch = "x86_64")]
use super::x86;
use crate::cpu::TileRect;
use crate::cpu::aligned::Aligned;
use crate::cpu::consumer::{Consumer, prefetch};
use crate::cpu::lookup::{BLOCK, Counts, Group, Lookup, add_group_and_classes};
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::isa::Kind;
use crate::measure::window::{Plane, Quantity};
use crate::numbers::Real;
use crate::part::Tiles;

/// Memory that a thread needs for a tile: what is kept of each window, a row a slot.
#[derive(Debug)]
pub struct Memory {
    logs: Aligned<u64>,
    /// Σ F(n) in 32 bits instead.
    short: Aligned<u32>,
    squares: Aligned<u64>,
    classes: Aligned<u32>,
    most: Aligned<u32>,
    /// Of the row that is finished: N, whether there are results, and those of a measure.
    total: Aligned<u32>,
    there: Aligned<bool>,
    values: Aligned<f64>,
}

impl Memory {
    /// Nothing yet: it grows when the first tile comes.
    pub fn new() -> Self {
        Self {
            logs: Aligned::new(),
            short: Aligned::new(),
            squares: Aligned::new(),
            classes: Aligned::new(),
            most: Aligned::new(),
            total: Aligned::new(),
            there: Aligned::new(),
            values: Aligned::new(),
        }
    }
}

/// The results of a tile.
pub struct Sums<'a, 'b, T> {
    job: &'a Job<'a>,
    tile: &'a mut Tiles<'b, T>,
    memory: &'a mut Memory,
    areas: Areas<'a>,
    padded: usize,
    isa: Isa,
}

impl<'a, 'b, T: Real> Sums<'a, 'b, T> {
    /// For a tile; the memory is used again.
    pub fn new(job: &'a Job<'a>, tile: &'a mut Tiles<'b, T>, memory: &'a mut Memory, isa: Isa) -> Self {
        let rect = TileRect { top: tile.top, left: tile.left, height: tile.height(), width: tile.width() };
        let areas = Areas::new(job.window, job.layout.task.cells, rect);
        Self { job, tile, memory, areas, padded: 0, isa }
    }
}

/// The counts of a level in a block of windows.
#[inline(always)]
fn block<'a, C>(counts: &'a [C], group: Group<'_>, level: usize, block: usize) -> &'a [C; BLOCK] {
    counts[level * group.stride + block * BLOCK..][..BLOCK].try_into().expect("a block is BLOCK long")
}

/// Reduces a group level by level with `step`, and combines the result with that of the groups before; `A` is wide enough for a
/// group, and `V` for all.
#[inline(always)]
fn reduce_group<C: Copy, A: Copy + Default, V: Copy + Default>(
    counts: &[C],
    group: Group<'_>,
    total: &mut [V],
    step: impl Fn(A, C) -> A,
    combine: impl Fn(V, A) -> V,
) {
    for (b, total) in total.chunks_exact_mut(BLOCK).enumerate() {
        let mut all = [A::default(); BLOCK];
        for level in 0..group.levels {
            let n = block(counts, group, level, b);
            for i in 0..BLOCK {
                all[i] = step(all[i], n[i]);
            }
        }
        for (total, all) in total.iter_mut().zip(all) {
            *total = combine(if group.first { V::default() } else { *total }, all);
        }
    }
}

/// What has the counts of a window, where none are.
type Histogram = super::slide::Counts<u16>;

/// Results in f32 by what an instruction set has for a formula: of how many of some windows, from the first on. They are those of [`finish`], bit by
/// bit, where no window has too few cells for the tables. `alike`: all have as many.
#[inline(always)]
fn quickly<T: Real>(
    isa: Isa,
    job: &Job<'_>,
    plane: &Plane,
    counted: &Counted<'_>,
    alike: bool,
    out: &mut [T],
) -> usize {
    match (isa.kind(), counted.logs, out_of(out)) {
        #[cfg(target_arch = "x86_64")]
        (Kind::Avx512, Logs::Single(sums), Some(out)) => {
            // SAFETY: an `Isa` of this kind exists only on machines that have the features.
            unsafe { x86::finish(job.tables, plane, (counted.total, alike), sums, counted.classes, out) }
        }
        _ => {
            let _ = (job, plane, alike);
            0
        }
    }
}

/// Results of 32 bits as such.
fn out_of<T: Real>(out: &mut [T]) -> Option<&mut [f32]> {
    if size_of::<T>() == 4 { bytemuck::try_cast_slice_mut(out).ok() } else { None }
}

impl<T: Real> Consumer for Sums<'_, '_, T> {
    #[inline(always)]
    fn reserve(&mut self, slots: usize, padded: usize) {
        let needs = self.job.window.needs;
        let Memory { logs, short, squares, classes, most, total, there, values } = self.memory;
        total.resize(padded);
        there.resize(padded);
        values.resize(padded);
        let len = |needed: bool| if needed { slots * padded } else { 0 };
        let single = self.job.tables.single.is_some();
        logs.resize(len(needs.logs && !single));
        short.resize(len(single));
        squares.resize(len(needs.squares));
        classes.resize(len(needs.classes));
        most.resize(len(needs.most));
        self.padded = padded;
    }

    #[inline(always)]
    fn prefetch(&self, isa: Isa, i: usize) {
        for rows in &self.tile.planes {
            prefetch(isa, &*rows[i]);
        }
    }

    #[inline(always)]
    fn add(&mut self, isa: Isa, slot: usize, group: Group<'_>) {
        let needs = self.job.window.needs;
        let Memory { logs, short, squares, classes, most, .. } = self.memory;
        let here = slot * self.padded..(slot + 1) * self.padded;
        let mut counted = false;
        if let Some(single) = &self.job.tables.single {
            let sums = &mut short[here.clone()];
            counted = needs.classes && add_group_and_classes(isa, group, single, sums, &mut classes[here.clone()]);
            if !counted {
                u32::add_group(isa, group, single, sums);
            }
        } else if needs.logs {
            u64::add_group(isa, group, &self.job.tables.logs, &mut logs[here.clone()]);
        }
        match group.counts {
            Counts::Small(counts) => {
                if needs.squares {
                    // At most 63².
                    let square = |sum: u16, n: u8| sum + u16::from(n) * u16::from(n);
                    reduce_group(counts, group, &mut squares[here.clone()], square, |total, sum| {
                        total + u64::from(sum)
                    });
                }
                if needs.classes && !counted {
                    let one = |sum: u8, n: u8| sum + u8::from(n != 0);
                    reduce_group(counts, group, &mut classes[here.clone()], one, |total, sum| total + u32::from(sum));
                }
                if needs.most {
                    reduce_group(counts, group, &mut most[here], u8::max, |total, most| total.max(u32::from(most)));
                }
            }
            Counts::Large(counts) => {
                if needs.squares {
                    // At most the square of their sum.
                    let square = |sum: u32, n: u16| sum.wrapping_add(u32::from(n) * u32::from(n));
                    reduce_group(counts, group, &mut squares[here.clone()], square, |total, sum| {
                        total + u64::from(sum)
                    });
                }
                if needs.classes && !counted {
                    let one = |sum: u16, n: u16| sum + u16::from(n != 0);
                    reduce_group(counts, group, &mut classes[here.clone()], one, |total, sum| total + u32::from(sum));
                }
                if needs.most {
                    reduce_group(counts, group, &mut most[here], u16::max, |total, most| total.max(u32::from(most)));
                }
            }
            Counts::Wide(counts) => {
                if needs.squares {
                    let square = |sum: u64, n: u32| sum.wrapping_add(u64::from(n) * u64::from(n));
                    reduce_group(counts, group, &mut squares[here.clone()], square, u64::wrapping_add);
                }
                if needs.classes && !counted {
                    let one = |sum: u16, n: u32| sum + u16::from(n != 0);
                    reduce_group(counts, group, &mut classes[here.clone()], one, |total, sum| total + u32::from(sum));
                }
                if needs.most {
                    reduce_group(counts, group, &mut most[here], u32::max, u32::max);
                }
            }
        }
    }

    #[inline(always)]
    fn add_empty(&mut self, slot: usize) {
        let Memory { logs, short, squares, classes, most, .. } = self.memory;
        let here = slot * self.padded..(slot + 1) * self.padded;
        short.get_mut(here.clone()).unwrap_or_default().fill(0);
        logs.get_mut(here.clone()).unwrap_or_default().fill(0);
        squares.get_mut(here.clone()).unwrap_or_default().fill(0);
        classes.get_mut(here.clone()).unwrap_or_default().fill(0);
        most.get_mut(here).unwrap_or_default().fill(0);
    }

    #[inline(always)]
    fn finish(&mut self, slot: usize, i: usize, nodata: Option<&[u32]>) {
        let (window, task) = (self.job.window, self.job.layout.task);
        let (y, width, all) = (self.tile.top + i, self.tile.width(), self.areas.all);
        let Row { areas, same, least } = self.areas.of_row(y);
        let areas = &areas[..width];
        let Memory { logs, short, squares, classes, most, total, there, values } = self.memory;
        let (there, values) = (&mut there[..width], &mut values[..width]);
        let total = match nodata {
            Some(nodata) => {
                for ((total, &area), &n) in total.iter_mut().zip(areas).zip(nodata) {
                    *total = area.wrapping_sub(n);
                }
                &total[..width]
            }
            None => areas,
        };
        // Where all windows have results there is nothing to look at, cell by cell.
        let all_there = nodata.is_none() && !window.complete && least >= window.least;
        if !all_there {
            // A window that is to be complete has all of its cells inside.
            for ((there, &total), &area) in there.iter_mut().zip(total).zip(areas) {
                *there = (total >= window.least) & (!window.complete | (area == all));
            }
            if let (Some(nodata), false) = (task.nodata, window.fill) {
                for (there, &centre) in there.iter_mut().zip(&task.cells.row(y)[self.tile.left..]) {
                    *there &= centre != nodata;
                }
            }
        }
        let here = slot * self.padded..slot * self.padded + width;
        let logs = if self.job.tables.single.is_some() {
            Logs::Single(&short[here.clone()])
        } else {
            Logs::Double(logs.get(here.clone()).unwrap_or_default())
        };
        let counted = Counted {
            total,
            logs,
            squares: squares.get(here.clone()).unwrap_or_default(),
            classes: classes.get(here.clone()).unwrap_or_default(),
            most: most.get(here).unwrap_or_default(),
        };
        for (plane, rows) in window.planes.iter().zip(&mut self.tile.planes) {
            let out = &mut *rows[i];
            // An instruction set's own formulas need windows that have as many cells apart. Where some may have to be marked they are looked at one by one.
            let own = matches!(plane.quantity, Quantity::Shannon | Quantity::Evenness);
            let own = own && all_there && least as usize >= self.job.tables.few;
            let parts = if own { [0..same.start, same.clone(), same.end..width] } else { [0..width, 0..0, 0..0] };
            for windows in parts {
                let done = if own {
                    let alike = windows == same;
                    let counted = counted.part(windows.clone());
                    quickly(self.isa, self.job, plane, &counted, alike, &mut out[windows.clone()])
                } else {
                    0
                };
                let rest = windows.start + done..windows.end;
                if rest.is_empty() {
                    continue;
                }
                // No closure: it would not be compiled for the instruction set.
                let (counted, values) = (counted.part(rest.clone()), &mut values[rest.clone()]);
                let precision = Precision::of::<T>();
                finish::<Histogram, BLOCK>(plane, window, self.job.tables, &counted, &[], 0, values, precision);
                let out = out[rest.clone()].iter_mut().zip(&*values);
                if all_there {
                    out.for_each(|(out, &value)| *out = T::from_f64(value));
                    continue;
                }
                for ((out, &value), &there) in out.zip(&there[rest]) {
                    *out = if there { T::from_f64(value) } else { T::NAN };
                }
            }
        }
    }
}
