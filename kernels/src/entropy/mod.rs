//! Moving-window entropy, one kernel a file, from the simplest to the fastest.
//!
//! | kernel | window | levels | idea |
//! |---|---|---|---|
//! | [`entropy_naive`](fn@entropy_naive) | any | 256 | one thread a cell, straight from the definition |
//! | [`entropy_tiled`](fn@entropy_tiled) | any | 256 | the same from a tile with its halo in shared memory |
//! | [`entropy_histogram`](fn@entropy_histogram) | any | 256 | one thread for two columns slides their histograms down the rows |
//! | [`entropy_histogram_wide`](fn@entropy_histogram_wide) | any | 256 | the same with sums of 64 bits |
//! | [`entropy_histogram_f64`](fn@entropy_histogram_f64) | any | 256 | the same with f64 results |
//! | [`entropy_columns`](fn@entropy_columns) | up to 255 | 16 | how windows change along a row, and sums of that over a warp |
//! | [`entropy_columns_many`](fn@entropy_columns_many) | up to 255 | 65,536 | the same, 16 classes of those that a tile has at a time |
//! | [`entropy_columns_groups`](fn@entropy_columns_groups) | up to 255 | 64 | the same, 16 classes of the map at a time |
//! | [`entropy_columns_recode`](fn@entropy_columns_recode) | | 256 | input of those for many levels: the classes of each tile, numbered |
//! | [`entropy_columns_recode_words`](fn@entropy_columns_recode_words) | | 65,536 | the same for cells of 16 bits |
//! | [`entropy_columns_large`](fn@entropy_columns_large) | up to 255 | 16 | the first with logarithms in place of tables |
//! | [`entropy_columns_evenness`](fn@entropy_columns_evenness) | up to 255 | 16 | evenness by logarithms |
//! | [`entropy_columns_wide`](fn@entropy_columns_wide) | up to 1,023 | 16 | the same with sums of 32 bits |
//! | [`entropy_columns_wide_many`](fn@entropy_columns_wide_many) | up to 1,023 | 256 | that for many levels with logarithms and sums of 32 bits |
//! | [`entropy_columns_heads`](fn@entropy_columns_heads) | | 16 | input of those for large windows: row histograms at every 128th column |
//! | [`entropy_columns_heads_groups`](fn@entropy_columns_heads_groups) | | 64 | the same, 16 classes at a time |
//! | [`entropy_columns_parts`](fn@entropy_columns_parts) | up to 255 | 64 | sums that measures come from, 16 classes of the map at a time |
//! | [`entropy_columns_parts_many`](fn@entropy_columns_parts_many) | up to 255 | 256 | the same, 16 classes of those that a tile has at a time |
//! | [`entropy_columns_results`](fn@entropy_columns_results), [`entropy_columns_results_f64`](fn@entropy_columns_results_f64) | | | measures from these sums |
//! | [`entropy_columns_measures`](fn@entropy_columns_measures) | up to 255 | 16 | the first for all measures that come from sums over counts |
//! | [`entropy_columns_measures_f64`](fn@entropy_columns_measures_f64) | up to 255 | 16 | the same with f64 results |
//! | [`entropy_columns_quotients`](fn@entropy_columns_quotients) | up to 255 | 16 | one of these measures alone, a quotient of whole numbers |
//! | [`entropy_columns_quotients_f64`](fn@entropy_columns_quotients_f64) | up to 255 | 16 | the same with f64 results |
//! | [`entropy_columns_entropies`](fn@entropy_columns_entropies) | up to 255 | 16 | Shannon's entropy or evenness alone |
//! | [`entropy_columns_entropies_f64`](fn@entropy_columns_entropies_f64) | up to 255 | 16 | the same with f64 results |
//! | [`entropy_band`](fn@entropy_band) | up to 31 | 16 | tensor cores add up the columns and give table addresses, a level each |
//! | [`entropy_band_counted`](fn@entropy_band_counted) | up to 31 | 16 | the same with nodata |
//! | [`entropy_band_measures`](fn@entropy_band_measures), [`entropy_band_measures_counted`](fn@entropy_band_measures_counted) | up to 31 | 16 | both for other measures that come from one sum |
//! | [`entropy_band_f64`](fn@entropy_band_f64), [`entropy_band_f64_counted`](fn@entropy_band_f64_counted) | up to 31 | 16 | the same with 64-bit sums and f64 results |
//! | [`entropy_band_many`](fn@entropy_band_many) | up to 31 | 112 | the first, 16 classes at a time |
//! | [`entropy_band_many_counted`](fn@entropy_band_many_counted) | up to 31 | 112 | the same with nodata |
//! | [`entropy_band_many_measures`](fn@entropy_band_many_measures), [`entropy_band_many_measures_counted`](fn@entropy_band_many_measures_counted) | up to 31 | 48 | both for other measures that come from one sum |
//! | [`entropy_band_many_f64`](fn@entropy_band_many_f64), [`entropy_band_many_f64_counted`](fn@entropy_band_many_f64_counted) | up to 31 | 112 | those with 64-bit sums and f64 results |
//! | [`entropy_band_codes`](fn@entropy_band_codes), [`entropy_band_codes_counted`](fn@entropy_band_codes_counted) | up to 31 | 112 | those over numbers that classes have in tiles |
//! | [`entropy_footprint_7`](fn@entropy_footprint_7) | any shape, up to 25 | 112 | tensor cores count bits: a bit a cell and class, and one of the window |
//! | [`entropy_footprint_15`](fn@entropy_footprint_15), [`entropy_footprint_23`](fn@entropy_footprint_23), [`entropy_footprint_31`](fn@entropy_footprint_31) | any shape, up to 31 × 25 | 112 | the same for more rows |
//! | [`entropy_footprint_wide_65`](fn@entropy_footprint_wide_65), [`entropy_footprint_wide_129`](fn@entropy_footprint_wide_129), [`entropy_footprint_wide_193`](fn@entropy_footprint_wide_193) | any shape, up to 193 | 112 | the same with bits in shared memory |
//! | [`entropy_sliding`](fn@entropy_sliding) | 5 × 5 | 16 | everything in registers, tables without bank conflicts |
//! | [`entropy_sliding_narrow`](fn@entropy_sliding_narrow) | 5 × 5 | 16 | the same with half the table, for 64 KiB of shared memory |
//! | [`entropy_tensor`](fn@entropy_tensor) | 5 × 5 | 16 | tensor cores add up the columns and give table addresses |
//! | [`entropy_tensor_counted`](fn@entropy_tensor_counted) | 5 × 5 | 16 | the same with nodata |
//! | [`entropy_tensor_3`](fn@entropy_tensor_3), [`entropy_tensor_3_counted`](fn@entropy_tensor_3_counted) | 3 × 3 | 16 | both for smaller windows |
//! | [`entropy_tensor_measures`](fn@entropy_tensor_measures), [`entropy_tensor_3_measures`](fn@entropy_tensor_3_measures) | 5 × 5, 3 × 3 | 16 | those for other measures that come from one sum |
//! | [`entropy_tensor_measures_counted`](fn@entropy_tensor_measures_counted), [`entropy_tensor_3_measures_counted`](fn@entropy_tensor_3_measures_counted) | 5 × 5, 3 × 3 | 16 | the same with nodata |
//! | [`entropy_tensor_many`](fn@entropy_tensor_many), [`entropy_tensor_3_many`](fn@entropy_tensor_3_many) | 5 × 5, 3 × 3 | 32 | those for more levels |
//! | [`entropy_tensor_many_counted`](fn@entropy_tensor_many_counted), [`entropy_tensor_3_many_counted`](fn@entropy_tensor_3_many_counted) | 5 × 5, 3 × 3 | 32 | the same with nodata |
//! | [`entropy_tensor_many_measures`](fn@entropy_tensor_many_measures), [`entropy_tensor_3_many_measures`](fn@entropy_tensor_3_many_measures) | 5 × 5, 3 × 3 | 32 | those for other measures that come from one sum |
//! | [`entropy_tensor_many_measures_counted`](fn@entropy_tensor_many_measures_counted), [`entropy_tensor_3_many_measures_counted`](fn@entropy_tensor_3_many_measures_counted) | 5 × 5, 3 × 3 | 32 | the same with nodata |
//! | [`entropy_tensor_f64`](fn@entropy_tensor_f64), [`entropy_tensor_f64_counted`](fn@entropy_tensor_f64_counted) | 5 × 5 | 16 | the first two with 64-bit sums and f64 results |
//! | [`entropy_tensor_3_f64`](fn@entropy_tensor_3_f64), [`entropy_tensor_3_f64_counted`](fn@entropy_tensor_3_f64_counted) | 3 × 3 | 16 | both for smaller windows |
//! | [`entropy_measures`](fn@entropy_measures) | any shape | 256 | a histogram slides; Shannon's entropy and all other measures |
//! | [`entropy_measures_f64`](fn@entropy_measures_f64) | any shape | 256 | the same with f64 results |
//!
//! With n_i = how often level i occurs in the window and N = Σ n_i,
//!
//! ```text
//! H = ln N − (1/N)·Σ n_i·ln n_i = (F(N) − Σ F(n_i)) / N      with F(n) = n·ln n
//! ```
//!
//! Apart from the first two the kernels take F as a table in fixed point: `f[n] = round(n·ln n·S)`,
//! S chosen by the host so that F(largest N) fits. Integer sums do not depend on their order and do not drift when a
//! window slides, and a window of one level gives F(N) − F(N) = exactly 0.
//!
//! # What all kernels take
//! `cells` holds `rows` × `cols` cells of one byte, row r at byte `r * stride`; a band of a larger
//! grid comes with its halo rows. The kernel computes the `count` rows from `first` on and writes row `first + i` at
//! element `i * out_stride`. Windows are clipped to the `rows` × `cols` cells. Cells equal to `nodata`
//! (above 255: none) are not counted and give NaN. The result is multiplied by a `scale`.

use simt::global::{In, Out};
use simt::thread;

use crate::arrays::PRESENT_RECORD;

mod band;
mod columns;
mod footprint;
mod formula;
mod histogram;
mod lane_table;
mod measure;
mod measures;
mod naive;
mod one_sum;
mod selectors;
mod sliding;
mod tensor;
mod tiled;
mod units;

pub use band::*;
pub use columns::*;
pub use footprint::*;
pub use formula::{
    MEASURES_CLASSES, MEASURES_COMPLETE, MEASURES_EVENNESS, MEASURES_FILL, MEASURES_MOST, MEASURES_NEAR,
    MEASURES_NUMBER, MEASURES_POWER, MEASURES_SHANNON, MEASURES_SIMPSON, MEASURES_SQUARES, MEASURES_STEEP,
    MEASURES_WORDS,
};
pub use histogram::*;
pub use measures::*;
pub use naive::*;
pub use one_sum::{
    ONE_SUM_CLASSES, ONE_SUM_EVENNESS, ONE_SUM_EXPONENTIAL, ONE_SUM_GROUPS, ONE_SUM_MANY_CLASSES, ONE_SUM_RICHNESS,
    ONE_SUM_SHANNON, ONE_SUM_SIMPSON, ONE_SUM_SQUARES,
};
pub use sliding::*;
pub use tensor::*;
pub use tiled::*;
pub use units::UNIT_COLS;

/// The kernels of this family, for lookup by name.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[
    entropy_naive::ENTRY,
    entropy_tiled::ENTRY,
    entropy_histogram::ENTRY,
    entropy_histogram_wide::ENTRY,
    entropy_histogram_f64::ENTRY,
    entropy_columns::ENTRY,
    entropy_columns_many::ENTRY,
    entropy_columns_groups::ENTRY,
    entropy_columns_recode::ENTRY,
    entropy_columns_recode_words::ENTRY,
    entropy_columns_large::ENTRY,
    entropy_columns_wide::ENTRY,
    entropy_columns_evenness::ENTRY,
    entropy_columns_wide_many::ENTRY,
    entropy_columns_heads::ENTRY,
    entropy_columns_heads_groups::ENTRY,
    entropy_columns_parts::ENTRY,
    entropy_columns_parts_many::ENTRY,
    entropy_columns_results::ENTRY,
    entropy_columns_results_f64::ENTRY,
    entropy_columns_measures::ENTRY,
    entropy_columns_measures_f64::ENTRY,
    entropy_columns_quotients::ENTRY,
    entropy_columns_quotients_f64::ENTRY,
    entropy_columns_entropies::ENTRY,
    entropy_columns_entropies_f64::ENTRY,
    entropy_band::ENTRY,
    entropy_band_counted::ENTRY,
    entropy_band_measures::ENTRY,
    entropy_band_measures_counted::ENTRY,
    entropy_band_f64::ENTRY,
    entropy_band_f64_counted::ENTRY,
    entropy_band_many::ENTRY,
    entropy_band_many_counted::ENTRY,
    entropy_band_many_measures::ENTRY,
    entropy_band_many_measures_counted::ENTRY,
    entropy_band_many_f64::ENTRY,
    entropy_band_many_f64_counted::ENTRY,
    entropy_band_codes::ENTRY,
    entropy_band_codes_counted::ENTRY,
    entropy_footprint_7::ENTRY,
    entropy_footprint_15::ENTRY,
    entropy_footprint_23::ENTRY,
    entropy_footprint_31::ENTRY,
    entropy_footprint_wide_65::ENTRY,
    entropy_footprint_wide_129::ENTRY,
    entropy_footprint_wide_193::ENTRY,
    entropy_sliding::ENTRY,
    entropy_sliding_narrow::ENTRY,
    entropy_tensor::ENTRY,
    entropy_tensor_counted::ENTRY,
    entropy_tensor_3::ENTRY,
    entropy_tensor_3_counted::ENTRY,
    entropy_tensor_measures::ENTRY,
    entropy_tensor_measures_counted::ENTRY,
    entropy_tensor_3_measures::ENTRY,
    entropy_tensor_3_measures_counted::ENTRY,
    entropy_tensor_many::ENTRY,
    entropy_tensor_many_counted::ENTRY,
    entropy_tensor_3_many::ENTRY,
    entropy_tensor_3_many_counted::ENTRY,
    entropy_tensor_many_measures::ENTRY,
    entropy_tensor_many_measures_counted::ENTRY,
    entropy_tensor_3_many_measures::ENTRY,
    entropy_tensor_3_many_measures_counted::ENTRY,
    entropy_tensor_f64::ENTRY,
    entropy_tensor_f64_counted::ENTRY,
    entropy_tensor_3_f64::ENTRY,
    entropy_tensor_3_f64_counted::ENTRY,
    entropy_measures::ENTRY,
    entropy_measures_f64::ENTRY,
];

/// The byte for cells outside the grid and nodata, in the kernels that pack cells: every shift
/// by it clamps to 0.
const NOTHING: u32 = 0xFFFF_FFFF;

/// Four neighbouring cells of row `row`, columns `col`..`col + 4` (a multiple of 4), as the bytes of
/// a word; bytes outside the grid, and nodata ones when `nodata` is at most 255, are 255. The grid's first cell is at word `origin`.
#[inline(always)]
fn load_cells(
    (cells, origin): (In<u8>, usize),
    (rows, cols): (i32, i32),
    stride: u32,
    (row, col): (i32, i32),
    nodata: u32,
) -> u32 {
    if row < 0 || row >= rows || col < 0 || col >= cols {
        return NOTHING;
    }
    let mut word = cells.cast::<u32>().load(origin.wrapping_add((row as usize * stride as usize + col as usize) / 4));
    if col + 4 > cols {
        word |= NOTHING << (8 * (cols - col));
    }
    if nodata <= 255 {
        word |= equal_bytes(word, nodata * 0x0101_0101);
    }
    word
}

/// Writes four numbers of 64 bits from element `at` on, a multiple of 4, if `condition` holds; in two accesses, to memory aligned to 16 bytes.
#[inline(always)]
fn store_doubles(out: Out<f64>, condition: bool, at: usize, [a, b, c, d]: [f64; 4]) {
    let words = out.cast::<u32>();
    words.store4_if(condition, 2 * at, words_of(a.to_bits(), b.to_bits()));
    words.store4_if(condition, 2 * at + 4, words_of(c.to_bits(), d.to_bits()));
}

/// The words of two numbers of 64 bits, in their order in memory.
#[inline(always)]
fn words_of(a: u64, b: u64) -> [u32; 4] {
    [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
}

/// 0xFF in each byte in which `a` and `b` are equal, 0 in the others.
#[inline(always)]
fn equal_bytes(a: u32, b: u32) -> u32 {
    let different = a ^ b;
    // Bit 7 of a byte: set when any bit of the byte is. No carry leaves a byte.
    let nonzero = ((different & 0x7F7F_7F7F) + 0x7F7F_7F7F) | different;
    (!nonzero >> 7 & 0x0101_0101) * 0xFF
}

/// Whether the cells may be computed: a scan of them has left `records` records in `found`, and all of the bytes are below 16 or `nodata`, if that is a byte.
/// All threads of a block call it.
#[inline(always)]
fn admits(found: In<u32>, records: u32, nodata: u32) -> bool {
    let mut large = 0;
    let mut word = thread::thread_idx_x();
    while word < records * PRESENT_RECORD {
        let mut flags = found.load(word as usize);
        if word % PRESENT_RECORD == nodata / 32 {
            flags &= !(1 << (nodata % 32));
        }
        // Of a record's first word, the lower half is of levels.
        large |= if word.is_multiple_of(PRESENT_RECORD) { flags >> 16 } else { flags };
        word += thread::block_dim_x();
    }
    thread::sync_threads_count(large != 0) == 0
}

#[cfg(test)]
mod tests {
    #[test]
    fn equal_bytes_marks_exactly_the_equal_ones() {
        assert_eq!(super::equal_bytes(0x0080_FF01, 0x0080_FE01), 0xFFFF_00FF);
        assert_eq!(super::equal_bytes(0x0100_0000, 0x0000_0000), 0x00FF_FFFF);
    }
}
