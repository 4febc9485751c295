//! The kernels of this family: by the window's side, whether there is nodata, sixteens of classes, and what is computed.

use simt::global::{In, Out};
use simt::kernel;

use super::super::measure::{Double, Single};
use super::super::one_sum::OneSum;
use super::norms::PER_CELL;
use super::{COUNTED, INSIDE, tensor};

/// A measure in f32, whose scale is for the reciprocal of N · `PER_CELL`.
#[inline(always)]
fn single<const GROUPS: usize, const SHANNON: bool>(formula: u32, scale: f32) -> Single<SHANNON, false> {
    let sum = if GROUPS > 1 { OneSum::grouped(formula, scale).0 } else { OneSum::new(formula, scale) };
    Single::of_sum(OneSum { scale: sum.scale * PER_CELL, ..sum })
}

macro_rules! tensors {
    ($(
        $(#[$doc:meta])*
        $name:ident, threads $threads:literal, side $side:literal, $mode:ident, groups $groups:literal, $result:ty, $entry:ty,
        |$formula:ident, $scale:ident: $real:ty| $measure:expr;
    )*) => {$(
        $(#[$doc])*
        #[kernel(threads = $threads, blocks = 1, arch = 80)]
        pub unsafe fn $name(
            cells: In<u8>,
            out: Out<$result>,
            table: In<$entry>,
            rows: u32,
            cols: u32,
            stride: u32,
            first: u32,
            count: u32,
            out_stride: u32,
            nodata: u32,
            rows_each: u32,
            $formula: u32,
            $scale: $real,
            found: In<u32>,
            records: u32,
        ) {
            let (frame, kept, scan) = ((rows, cols, stride), (first, count, out_stride), (found, records));
            tensor::<$side, $mode, $groups, _>(cells, out, table, frame, kept, nodata, rows_each, ($measure), scan);
        }
    )*};
}

tensors! {
    /// Entropy of 5 × 5 windows of up to 16 levels without nodata, in blocks of [`TENSOR_THREADS`](super::TENSOR_THREADS) threads, on the tensor cores.
    ///
    /// Any number of blocks works; as many as run at once is best. `table` holds F(n) for n = 0..=25 in units of 1/S, and `scale` multiplies by
    /// what is wanted over S. `formula` is not read. Dynamic shared memory: [`tensor_rows`](super::tensor_rows) · [`TENSOR_ROW`](super::TENSOR_ROW) bytes.
    ///
    /// Of bytes that the host has not seen yet a scan ([`arrays_present`](fn@crate::arrays::arrays_present)) has left `records` records in `found`, and unless all
    /// of them are levels nothing is done. So the host need not wait for the scan, which would take as long again. With 0 records all is as it should be.
    ///
    /// # Safety
    /// As [`entropy_sliding`](fn@super::super::entropy_sliding), with the block size and the shared memory above; `nodata` is above 255; `found` has so many records.
    /// Cells that are no levels give meaningless results, and do no other harm.
    entropy_tensor, threads 768, side 5, INSIDE, groups 1, f32, u32,
        |formula, scale: f32| single::<1, true>(formula, scale);

    /// [`entropy_tensor`](fn@entropy_tensor) for grids with cells that are nodata, which is any byte.
    ///
    /// # Safety
    /// As [`entropy_tensor`](fn@entropy_tensor); `nodata` may be anything.
    entropy_tensor_counted, threads 768, side 5, COUNTED, groups 1, f32, u32,
        |formula, scale: f32| single::<1, true>(formula, scale);

    /// [`entropy_tensor`](fn@entropy_tensor) for windows of 3 × 3; `table` has F(n) for n = 0..=9.
    ///
    /// # Safety
    /// As [`entropy_tensor`](fn@entropy_tensor).
    entropy_tensor_3, threads 768, side 3, INSIDE, groups 1, f32, u32,
        |formula, scale: f32| single::<1, true>(formula, scale);

    /// [`entropy_tensor_3`](fn@entropy_tensor_3) for grids with cells that are nodata, which is any byte.
    ///
    /// # Safety
    /// As [`entropy_tensor_counted`](fn@entropy_tensor_counted).
    entropy_tensor_3_counted, threads 768, side 3, COUNTED, groups 1, f32, u32,
        |formula, scale: f32| single::<1, true>(formula, scale);

    /// [`entropy_tensor`](fn@entropy_tensor) for another measure: `formula`, one of the numbers `ONE_SUM_…`, says what `table` and `scale` are for.
    ///
    /// # Safety
    /// As [`entropy_tensor`](fn@entropy_tensor).
    entropy_tensor_measures, threads 768, side 5, INSIDE, groups 1, f32, u32,
        |formula, scale: f32| single::<1, false>(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_tensor_counted`](fn@entropy_tensor_counted).
    entropy_tensor_measures_counted, threads 768, side 5, COUNTED, groups 1, f32, u32,
        |formula, scale: f32| single::<1, false>(formula, scale);

    /// [`entropy_tensor_measures`](fn@entropy_tensor_measures) for windows of 3 × 3.
    ///
    /// # Safety
    /// As [`entropy_tensor`](fn@entropy_tensor).
    entropy_tensor_3_measures, threads 768, side 3, INSIDE, groups 1, f32, u32,
        |formula, scale: f32| single::<1, false>(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_tensor_counted`](fn@entropy_tensor_counted).
    entropy_tensor_3_measures_counted, threads 768, side 3, COUNTED, groups 1, f32, u32,
        |formula, scale: f32| single::<1, false>(formula, scale);

    /// [`entropy_tensor`](fn@entropy_tensor) of up to 32 levels, in blocks of [`TENSOR_MANY_THREADS`](super::TENSOR_MANY_THREADS) threads.
    ///
    /// # Safety
    /// As [`entropy_tensor`](fn@entropy_tensor).
    entropy_tensor_many, threads 512, side 5, INSIDE, groups 2, f32, u32,
        |formula, scale: f32| single::<2, true>(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_tensor_counted`](fn@entropy_tensor_counted).
    entropy_tensor_many_counted, threads 512, side 5, COUNTED, groups 2, f32, u32,
        |formula, scale: f32| single::<2, true>(formula, scale);

    /// [`entropy_tensor_many`](fn@entropy_tensor_many) for windows of 3 × 3.
    ///
    /// # Safety
    /// As [`entropy_tensor`](fn@entropy_tensor).
    entropy_tensor_3_many, threads 512, side 3, INSIDE, groups 2, f32, u32,
        |formula, scale: f32| single::<2, true>(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_tensor_counted`](fn@entropy_tensor_counted).
    entropy_tensor_3_many_counted, threads 512, side 3, COUNTED, groups 2, f32, u32,
        |formula, scale: f32| single::<2, true>(formula, scale);

    /// [`entropy_tensor_measures`](fn@entropy_tensor_measures) of up to 32 levels, in blocks of [`TENSOR_MANY_THREADS`](super::TENSOR_MANY_THREADS) threads. `formula` has the number of groups, 2,
    /// from bit [`ONE_SUM_GROUPS`](super::super::ONE_SUM_GROUPS) on.
    ///
    /// # Safety
    /// As [`entropy_tensor`](fn@entropy_tensor).
    entropy_tensor_many_measures, threads 512, side 5, INSIDE, groups 2, f32, u32,
        |formula, scale: f32| single::<2, false>(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_tensor_counted`](fn@entropy_tensor_counted).
    entropy_tensor_many_measures_counted, threads 512, side 5, COUNTED, groups 2, f32, u32,
        |formula, scale: f32| single::<2, false>(formula, scale);

    /// [`entropy_tensor_many_measures`](fn@entropy_tensor_many_measures) for windows of 3 × 3.
    ///
    /// # Safety
    /// As [`entropy_tensor`](fn@entropy_tensor).
    entropy_tensor_3_many_measures, threads 512, side 3, INSIDE, groups 2, f32, u32,
        |formula, scale: f32| single::<2, false>(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_tensor_counted`](fn@entropy_tensor_counted).
    entropy_tensor_3_many_measures_counted, threads 512, side 3, COUNTED, groups 2, f32, u32,
        |formula, scale: f32| single::<2, false>(formula, scale);

    /// [`entropy_tensor`](fn@entropy_tensor) in f64, in blocks of [`TENSOR_F64_THREADS`](super::TENSOR_F64_THREADS) threads: `table` has entries of 64 bits.
    ///
    /// # Safety
    /// As [`entropy_tensor`](fn@entropy_tensor).
    entropy_tensor_f64, threads 640, side 5, INSIDE, groups 1, f64, u64,
        |formula, scale: f64| Double::<false>::new(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_tensor_counted`](fn@entropy_tensor_counted).
    entropy_tensor_f64_counted, threads 640, side 5, COUNTED, groups 1, f64, u64,
        |formula, scale: f64| Double::<false>::new(formula, scale);

    /// [`entropy_tensor_f64`](fn@entropy_tensor_f64) for windows of 3 × 3.
    ///
    /// # Safety
    /// As [`entropy_tensor`](fn@entropy_tensor).
    entropy_tensor_3_f64, threads 640, side 3, INSIDE, groups 1, f64, u64,
        |formula, scale: f64| Double::<false>::new(formula, scale);

    /// The same for grids with nodata.
    ///
    /// # Safety
    /// As [`entropy_tensor_counted`](fn@entropy_tensor_counted).
    entropy_tensor_3_f64_counted, threads 640, side 3, COUNTED, groups 1, f64, u64,
        |formula, scale: f64| Double::<false>::new(formula, scale);
}
