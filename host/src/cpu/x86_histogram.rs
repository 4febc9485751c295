//! The sliding histograms of 32 neighbouring windows at a time, with AVX-512.
//!
//! Neighbouring windows see nearly the same cells: of a row that enters, 32 windows of 21 columns see 52 cells and not 672. So the counts of a
//! level in all 32 windows are one register, and a cell that enters adds 1 to those of the windows that have its column; what F gains
//! is looked up for all of them together:
//!
//! ```text
//! for each column of the row that enters and of the one that leaves, a and b being its cells (nothing if a = b):
//!     windows with this column:   n[b] −= 1,  out += F(n[b] + 1) − F(n[b])
//!                                 in += F(n[a] + 1) − F(n[a]),  n[a] += 1
//! S += in − out
//! ```
//!
//! Steps of F are looked up in registers where all counts are below 64. A level with larger ones is put aside the first time it comes in a
//! row, with its counts, and F is looked up when the row is done, of those counts and of the new ones ([`Far`] and the stretches of
//! [`super::x86`]): where windows are large or a level is frequent, the same few levels come again and again.

use std::arch::x86_64::*;

use super::table::Tables;
use super::x86::{Far, Stretches, Words};

/// Windows that slide together.
pub const WINDOWS: usize = 32;

/// How often a level is in each of the windows.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Counts([u16; WINDOWS]);

impl Counts {
    const NONE: Self = Self([0; WINDOWS]);

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn load(&self) -> __m512i {
        // SAFETY: 64 bytes lie there, aligned to 64.
        unsafe { _mm512_load_si512(self.0.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn store(&mut self, counts: __m512i) {
        // SAFETY: 64 bytes lie there, aligned to 64.
        unsafe { _mm512_store_si512(self.0.as_mut_ptr().cast(), counts) };
    }
}

/// The counts of neighbouring windows and their Σ F(n), whatever is nodata among them.
pub struct Strip {
    counts: Box<[Counts; 256]>,
    /// Σ F(n), as far as the tables' mask goes.
    pub sums: [u32; WINDOWS],
    /// The levels whose F is looked up when the row is done, and the counts that they had before.
    aside: [u8; 256],
    asides: usize,
    is_aside: [bool; 256],
    before: Box<[Counts; 256]>,
}

impl Strip {
    /// Of empty windows.
    pub fn new() -> Self {
        Self {
            counts: Box::new([Counts::NONE; 256]),
            sums: [0; WINDOWS],
            aside: [0; 256],
            asides: 0,
            is_aside: [false; 256],
            before: Box::new([Counts::NONE; 256]),
        }
    }

    /// How often a value is in each window.
    pub fn counts(&self, value: u8) -> &[u16; WINDOWS] {
        &self.counts[usize::from(value)].0
    }

    /// Slides the windows down: some columns' cells of the row that leaves and of the one that enters, either of which may be empty, and for
    /// each column the windows that have it, a bit each.
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn slide(&mut self, leaving: &[u8], entering: &[u8], columns: &[u32], tables: &Tables<u32>) {
        match tables.low_bits {
            12 => self.slide_words::<12>(leaving, entering, columns, tables),
            13 => self.slide_words::<13>(leaving, entering, columns, tables),
            14 => self.slide_words::<14>(leaving, entering, columns, tables),
            15 => self.slide_words::<15>(leaving, entering, columns, tables),
            bits => unreachable!("{bits} low bits"),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn slide_words<const LOW: u32>(&mut self, leaving: &[u8], entering: &[u8], columns: &[u32], tables: &Tables<u32>) {
        let (steps, stretches) = (Steps::new(tables), Stretches::of(tables));
        let (mut gained, mut lost) = (Words::zero(), Words::zero());
        for (column, &windows) in columns.iter().enumerate() {
            // So many words' low parts 16 bits can add.
            if column % ((1 << (16 - LOW)) - 1) == 0 {
                gained.carry::<LOW>();
                lost.carry::<LOW>();
            }
            let (old, new) = (leaving.get(column), entering.get(column));
            if old == new {
                continue;
            }
            if let Some(&old) = old {
                self.change::<false>(old, windows, &steps, &mut lost);
            }
            if let Some(&new) = new {
                self.change::<true>(new, windows, &steps, &mut gained);
            }
        }
        gained.carry::<LOW>();
        lost.carry::<LOW>();
        let (mut far_gained, mut far_lost) = (steps.far, steps.far);
        for &level in &self.aside[..self.asides] {
            let level = usize::from(level);
            self.is_aside[level] = false;
            for (counts, words, far) in
                [(&self.counts[level], &mut gained, &mut far_gained), (&self.before[level], &mut lost, &mut far_lost)]
            {
                let n = counts.load();
                match stretches.look_up(n, counts.0[3], counts.0[28]) {
                    Some((low, high)) => {
                        words.add(low, high);
                        words.carry::<LOW>();
                    }
                    None => far.add(n),
                }
            }
        }
        self.asides = 0;
        let (gained, lost) = (gained.sums::<LOW>(), lost.sums::<LOW>());
        let (far_gained, far_lost) = (far_gained.sums(), far_lost.sums());
        for (half, sums) in self.sums.chunks_exact_mut(WINDOWS / 2).enumerate() {
            let near = _mm512_sub_epi32(gained[half], lost[half]);
            let all = _mm512_add_epi32(near, _mm512_sub_epi32(far_gained[half], far_lost[half]));
            let at = sums.as_mut_ptr().cast::<__m512i>();
            // SAFETY: 16 sums lie there.
            unsafe { _mm512_storeu_si512(at, _mm512_add_epi32(_mm512_loadu_si512(at), all)) };
        }
    }

    /// A cell comes to some windows, or goes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn change<const ENTERS: bool>(&mut self, level: u8, windows: u32, steps: &Steps, sums: &mut Words) {
        let level = usize::from(level);
        let one = _mm512_set1_epi16(1);
        let before = self.counts[level].load();
        let after = if ENTERS {
            _mm512_mask_add_epi16(before, windows, before, one)
        } else {
            _mm512_mask_sub_epi16(before, windows, before, one)
        };
        self.counts[level].store(after);
        let less = if ENTERS { before } else { after };
        let small = _mm512_mask_cmpge_epu16_mask(windows, less, _mm512_set1_epi16(64)) == 0;
        if small & !self.is_aside[level] {
            sums.add(
                _mm512_maskz_permutex2var_epi16(windows, steps.low[0], less, steps.low[1]),
                _mm512_maskz_permutex2var_epi16(windows, steps.high[0], less, steps.high[1]),
            );
        } else if !self.is_aside[level] {
            self.is_aside[level] = true;
            self.before[level].store(before);
            self.aside[self.asides % 256] = level as u8;
            self.asides += 1;
        }
    }
}

/// The words of F(n + 1) − F(n) for n = 0..64, and nothing for larger ones.
struct Steps {
    low: [__m512i; 2],
    high: [__m512i; 2],
    far: Far,
}

impl Steps {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(tables: &Tables<u32>) -> Self {
        let load = |words: &[u16]| {
            let words: &[u16; 64] = words[..64].try_into().expect("64 words");
            // SAFETY: `words` is 128 readable bytes.
            unsafe { [_mm512_loadu_si512(words.as_ptr().cast()), _mm512_loadu_si512(words.as_ptr().add(32).cast())] }
        };
        Self { low: load(&tables.step_low), high: load(&tables.step_high), far: Far::of(tables) }
    }
}
