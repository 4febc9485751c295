//! Synthetic grids, and [graphs](graph): the same for a seed on every platform, whatever the number of threads and whichever window
//! is asked for.
//!
//! A cell is a pure function of (seed, row, column, levels). That is what makes windows and bands of a grid of
//! any size come out without the rest of it, in any order. All randomness is SplitMix64's mixing function
//! (Steele, Lea and Flood, 2014) applied to coordinates; all arithmetic is integers and f64 additions,
//! multiplications and comparisons, which IEEE 754 fixes to the bit (no sine, no power, no fused multiply-add).
//!
//! - **random**: every level equally likely, cells independent.
//! - **clustered**: looks like a land-cover map. Patches are the cells of a jittered Voronoi diagram, seen
//!   through coordinates that several octaves of value noise have bent, so that borders are ragged at every
//!   scale. A slow field parts the land into zones, each with three classes of its own from which its patches
//!   choose, so that neighbours often merge into larger, odder shapes; a few patches choose freely. Low classes
//!   are common, high ones rare. A second, finer diagram puts small patches of other classes in some places,
//!   and where another slow field crosses its middle runs a river of class 0.
//! - **regional**: regions of 2,048 × 2,048 cells, each with up to eight levels of its own, which are consecutive numbers; equally likely,
//!   cells independent. A map of many classes that has few in one place, without any other structure.
//! - **constant**: every cell is `seed` modulo `levels`.

pub mod graph;

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use rayon::prelude::*;

use halotile::codes::Code;
use halotile::grid::{Grid, ShapeError};

/// SplitMix64 as a sequence: a counter, mixed. Cells take the mixing function by itself; tests want numbers in a row.
#[cfg(test)]
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(u64);

/// 2^64 divided by the golden ratio, the step of SplitMix64's counter.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's mixing function: every bit of the result depends on every bit of `x`.
#[inline]
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
}

/// A kind of synthetic grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Independent cells, all levels equally likely.
    Random,
    /// Patches with ragged borders at several scales, like a land-cover map.
    Clustered,
    /// Independent cells, all equally likely of the few levels that each large region has of its own.
    Regional,
    /// One value everywhere.
    Constant,
}

impl Pattern {
    /// Every pattern, in the order messages list them.
    pub const ALL: [Pattern; 4] = [Self::Random, Self::Clustered, Self::Regional, Self::Constant];

    /// The pattern's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Clustered => "clustered",
            Self::Regional => "regional",
            Self::Constant => "constant",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Pattern {
    type Err = GenerateError;
    fn from_str(name: &str) -> Result<Self, GenerateError> {
        let found = Self::ALL.into_iter().find(|p| p.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| GenerateError::Pattern(name.to_owned()))
    }
}

/// What cannot be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// Not a number of levels.
    #[error("a grid has 1 to {most} levels, not {levels}")]
    Levels {
        /// How many were asked for.
        levels: usize,
        /// How many its codes can tell apart.
        most: usize,
    },
    /// Not the name of a pattern.
    #[error("no pattern is called {0:?}; the patterns are random, clustered, regional, constant")]
    Pattern(String),
}

/// Makes cells of a synthetic grid: bytes, or words for more than 256 levels.
///
/// ```
/// use halotile_lab::generate::{Generator, Pattern};
/// let map = Generator::<u8>::new(Pattern::Clustered, 42, 16)?;
/// let grid = map.grid(100, 200)?;
/// // Any part of it is the same by itself.
/// let mut part = [0; 20];
/// map.fill_row(99, 180, &mut part);
/// assert_eq!(part, grid.row(99)[180..]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Generator<C = u8> {
    pattern: Pattern,
    seed: u64,
    levels: usize,
    landscape: Landscape,
    codes: PhantomData<C>,
}

impl<C: Code> Generator<C> {
    /// A grid of `levels` (1..=[`Code::LEVELS`]) levels.
    pub fn new(pattern: Pattern, seed: u64, levels: usize) -> Result<Self, GenerateError> {
        let most = C::LEVELS;
        if !(1..=most).contains(&levels) {
            return Err(GenerateError::Levels { levels, most });
        }
        Ok(Self { pattern, seed, levels, landscape: Landscape::new(seed, levels), codes: PhantomData })
    }

    /// Fills `cells` with the cells of row `row` from column `col` on.
    pub fn fill_row(&self, row: u64, col: u64, cells: &mut [C]) {
        // Beyond the last column that a u64 can count the first ones come again.
        let columns = (0..).map(|i| col.wrapping_add(i));
        match self.pattern {
            // `new` allows no more levels than there are codes, so that all of these fit.
            Pattern::Constant => cells.fill(C::low((self.seed % self.levels as u64) as u32)),
            Pattern::Random => {
                for (cell, c) in cells.iter_mut().zip(columns) {
                    *cell = C::low(self.any(row, c, self.levels) as u32);
                }
            }
            Pattern::Regional => {
                for (cell, c) in cells.iter_mut().zip(columns) {
                    let (side, levels) = if self.levels > 256 { MANY_REGIONS } else { REGIONS };
                    let region = at_lattice(self.seed, (row / side) as i64, (c / side) as i64);
                    let first = (region % self.levels as u64) as usize;
                    let level = (first + self.any(row, c, self.levels.min(levels))) % self.levels;
                    *cell = C::low(level as u32);
                }
            }
            Pattern::Clustered => {
                for (cell, c) in cells.iter_mut().zip(columns) {
                    *cell = C::low(self.landscape.class(row, c));
                }
            }
        }
    }

    /// One of `levels` numbers, all equally likely.
    #[inline]
    fn any(&self, row: u64, col: u64, levels: usize) -> usize {
        let key = mix(mix(self.seed.wrapping_add(GOLDEN)) ^ row.wrapping_mul(0xd134_2543_de82_ef95));
        let bits = mix(key.wrapping_add(col.wrapping_mul(GOLDEN)));
        // The upper half of a product maps 64 random bits to 0..levels, evenly to one part in 2^56.
        ((u128::from(bits) * levels as u128) >> 64) as usize
    }

    /// A whole grid, made on all of rayon's threads.
    pub fn grid(&self, rows: usize, cols: usize) -> Result<Grid<C>, ShapeError> {
        let mut grid = Grid::zeros(rows, cols)?;
        // Short enough tasks for a single long row to be shared out as well.
        const TASK: usize = 1 << 14;
        grid.as_mut_slice().par_chunks_mut(cols).enumerate().for_each(|(row, cells)| {
            cells.par_chunks_mut(TASK).enumerate().for_each(|(i, part)| {
                self.fill_row(row as u64, (i * TASK) as u64, part);
            });
        });
        Ok(grid)
    }
}

/// Side of the regions of the regional pattern, and the levels of each.
const REGIONS: (u64, usize) = (2048, 8);
/// The same of more than 256 levels: so small that most of them occur somewhere.
const MANY_REGIONS: (u64, usize) = (512, 4);

/// The clustered pattern. Lengths are in cells.
#[derive(Debug, Clone)]
struct Landscape {
    levels: f64,
    has_river: bool,
    /// One seed a use, so that nothing is correlated with anything else.
    keys: [u64; 8],
}

/// Side of the large patches.
const PATCH: f64 = 34.0;
/// Side of the small patches, and how many of them are there.
const SPOT: f64 = 9.0;
const SPOTS: f64 = 0.07;
/// Extent of the zones, how many kinds of them there are, and the shares (cumulated) of a zone's own classes.
const REGION: f64 = 300.0;
const ZONES: f64 = 7.0;
const SHARES: [f64; 3] = [0.55, 0.82, 1.0];
/// Share of the patches that do not depend on their zone.
const STRAYS: f64 = 0.08;
/// Extent of a river's bends, and half its width in units of the field it follows.
const RIVER: f64 = 260.0;
const RIVER_WIDTH: f64 = 0.0085;

impl Landscape {
    fn new(seed: u64, levels: usize) -> Self {
        let base = mix(seed.wrapping_add(GOLDEN));
        let keys = std::array::from_fn(|i| mix(base.wrapping_add((i as u64 + 1).wrapping_mul(GOLDEN))));
        Self { levels: levels as f64, has_river: levels >= 4, keys }
    }

    fn class(&self, row: u64, col: u64) -> u32 {
        // Exact up to 2^53, far beyond any grid.
        let (y, x) = (row as f64, col as f64);
        let [warp_y, warp_x, patches, region, luck, spots, spot_luck, river] = self.keys;
        // Bent coordinates: displacements of up to ±20 cells, in octaves of 48, 22, 10, 4 and 2 cells.
        let bend = |key| 40.0 * octaves(key, y, x, 48.0, 5, 0.62);
        let (by, bx) = (y + bend(warp_y), x + bend(warp_x));
        if self.has_river {
            let field = octaves(river, by * 0.5 + y * 0.5, bx * 0.5 + x * 0.5, RIVER, 3, 0.45);
            if field.abs() < RIVER_WIDTH {
                return 0;
            }
        }
        let (site, ..) = nearest_site(spots, by, bx, SPOT);
        if unit(mix(site ^ spot_luck)) < SPOTS {
            return self.rank(unit(mix(site.wrapping_add(spot_luck))));
        }
        let (site, sy, sx) = nearest_site(patches, by, bx, PATCH);
        let luck = unit(mix(site ^ luck));
        if luck < STRAYS {
            return self.rank(luck / STRAYS);
        }
        // The zone at the patch's site, so that a patch is of one class throughout. Noise crowds around 0; stretch it.
        let zone = ((0.5 + 1.6 * octaves(region, sy, sx, REGION, 2, 0.45)).clamp(0.0, 1.0) * ZONES) as u64;
        let choice = SHARES.iter().position(|&share| luck < share).unwrap_or(0) as u64;
        self.rank(unit(mix(region.wrapping_add((zone * SHARES.len() as u64 + choice).wrapping_mul(GOLDEN)))))
    }

    /// A class from 0 ≤ u < 1, low ones more often. Where there are rivers, class 0 is theirs.
    fn rank(&self, u: f64) -> u32 {
        let first = if self.has_river { 1.0 } else { 0.0 };
        // `as` truncates and saturates; the product stays below the number of classes left.
        (first + u * (0.35 + 0.65 * u) * (self.levels - first)) as u32
    }
}

/// 0 ≤ u < 1 from 53 of the bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Random bits of a place.
#[inline]
pub(crate) fn at_lattice(key: u64, y: i64, x: i64) -> u64 {
    mix(key ^ (y as u64).wrapping_mul(0xd134_2543_de82_ef95) ^ (x as u64).wrapping_mul(0xaf25_1af3_b0f0_25b5))
}

/// Floor and fraction. `f64::floor` is exact on every platform.
fn split(v: f64) -> (i64, f64) {
    let floor = v.floor();
    (floor as i64, v - floor)
}

/// Value noise: random values at the points of a lattice of side 1, −½..½, with a smooth surface through them.
fn noise(key: u64, y: f64, x: f64) -> f64 {
    let ((iy, fy), (ix, fx)) = (split(y), split(x));
    let smooth = |t: f64| t * t * (3.0 - 2.0 * t);
    let (wy, wx) = (smooth(fy), smooth(fx));
    let value = |dy, dx| unit(at_lattice(key, iy.wrapping_add(dy), ix.wrapping_add(dx))) - 0.5;
    let top = value(0, 0) + wx * (value(0, 1) - value(0, 0));
    let bottom = value(1, 0) + wx * (value(1, 1) - value(1, 0));
    top + wy * (bottom - top)
}

/// A sum of noises, the first over `length` cells, each next one 0.45 times as wide and `fade` times as strong,
/// scaled to stay within −½..½.
fn octaves(key: u64, y: f64, x: f64, length: f64, count: u64, fade: f64) -> f64 {
    let (mut sum, mut weights, mut weight, mut scale) = (0.0, 0.0, 1.0, 1.0 / length);
    for octave in 0..count {
        sum += weight * noise(key.wrapping_add(octave.wrapping_mul(GOLDEN)), y * scale, x * scale);
        weights += weight;
        weight *= fade;
        scale *= 1.0 / 0.45;
    }
    sum / weights
}

/// The nearest of the sites scattered one to a square of the given side: its hash and where it is.
fn nearest_site(key: u64, y: f64, x: f64, side: f64) -> (u64, f64, f64) {
    let ((iy, _), (ix, _)) = (split(y / side), split(x / side));
    let mut best = (f64::INFINITY, 0, 0.0, 0.0);
    for qy in (-1..=1).map(|d| iy.wrapping_add(d)) {
        for qx in (-1..=1).map(|d| ix.wrapping_add(d)) {
            let site = at_lattice(key, qy, qx);
            // 32 bits each for the site's place in its square.
            let place = |bits: u64| (bits & 0xffff_ffff) as f64 * (1.0 / 4_294_967_296.0);
            let (sy, sx) = ((qy as f64 + place(site)) * side, (qx as f64 + place(site >> 32)) * side);
            let distance = (sy - y) * (sy - y) + (sx - x) * (sx - x);
            if distance < best.0 {
                best = (distance, site, sy, sx);
            }
        }
    }
    (best.1, best.2, best.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(pattern: Pattern, seed: u64, levels: usize, rows: usize, cols: usize) -> Grid<u8> {
        Generator::new(pattern, seed, levels).unwrap().grid(rows, cols).unwrap()
    }

    /// FNV-1a, to hold a grid to one number.
    fn digest(grid: &Grid<u8>) -> u64 {
        grid.as_slice().iter().fold(0xcbf2_9ce4_8422_2325, |h, &c| (h ^ u64::from(c)).wrapping_mul(0x100_0000_01b3))
    }

    #[test]
    fn splitmix_gives_the_published_sequence() {
        // The first outputs for seed 1234567, as in the generator's reference implementation.
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn grids_never_change() {
        let random = make(Pattern::Random, 1, 16, 64, 80);
        let clustered = make(Pattern::Clustered, 1, 16, 300, 300);
        assert_eq!(random.row(0)[..8], GOLDEN_ROW);
        assert_eq!(digest(&random), GOLDEN_RANDOM);
        assert_eq!(digest(&clustered), GOLDEN_CLUSTERED);
        assert!(make(Pattern::Constant, 37, 16, 3, 3).as_slice().iter().all(|&c| c == 5));
    }

    const GOLDEN_ROW: [u8; 8] = [0, 6, 6, 8, 13, 2, 2, 12];
    const GOLDEN_RANDOM: u64 = 0xdd81_a35c_96cb_905e;
    const GOLDEN_CLUSTERED: u64 = 0x2115_0de0_246f_ec87;

    #[test]
    fn threads_and_windows_make_no_difference() {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for pattern in Pattern::ALL {
            let whole = make(pattern, 9, 200, 70, 300);
            assert!(one.install(|| make(pattern, 9, 200, 70, 300)) == whole);
            let generator = Generator::new(pattern, 9, 200).unwrap();
            let mut part = vec![0u8; 123];
            generator.fill_row(69, 100, &mut part);
            assert_eq!(part, whole.row(69)[100..223]);
        }
        // Far out there is still something, and no overflow.
        let mut far = [0u8; 8];
        let generator = Generator::new(Pattern::Clustered, u64::MAX, 256).unwrap();
        generator.fill_row(u64::MAX, u64::MAX - 3, &mut far);
    }

    #[test]
    fn levels_are_kept_to_and_all_used() {
        for (levels, size) in [(1, 50), (2, 200), (3, 200), (16, 1000), (256, 2000)] {
            for pattern in [Pattern::Random, Pattern::Clustered] {
                let grid = make(pattern, 3, levels, size, size);
                let mut count = [0usize; 256];
                grid.as_slice().iter().for_each(|&c| count[usize::from(c)] += 1);
                assert!(count[levels..].iter().all(|&n| n == 0), "{pattern} {levels}");
                let used = count.iter().filter(|&&n| n > 0).count();
                assert!(used >= levels - levels / 8, "{pattern} {levels}: {used} used");
                if pattern == Pattern::Random {
                    let expected = (size * size / levels) as f64;
                    let off = count[..levels].iter().map(|&n| (n as f64 - expected).abs()).fold(0.0, f64::max);
                    assert!(off <= 5.0 * expected.sqrt() + 1.0, "{levels}: {off} of {expected}");
                }
            }
        }
    }

    /// The same levels, in the wider type; and levels that no byte has.
    #[test]
    fn words_are_as_bytes_are_and_have_more_levels() {
        for pattern in Pattern::ALL {
            let words = |levels| Generator::<u16>::new(pattern, 3, levels).unwrap().grid(300, 2100).unwrap();
            let bytes = make(pattern, 3, 200, 300, 2100);
            assert!(words(200).as_slice().iter().zip(bytes.as_slice()).all(|(&word, &byte)| word == u16::from(byte)));
            let many = words(900);
            let most = many.as_slice().iter().copied().max().unwrap();
            let expected = match pattern {
                Pattern::Constant => 3..4,
                Pattern::Regional => 0..900,
                Pattern::Random | Pattern::Clustered => 850..900,
            };
            assert!(expected.contains(&most), "{pattern}: {most}");
        }
    }

    #[test]
    fn clustered_neighbours_are_mostly_alike_and_seeds_differ() {
        let grid = make(Pattern::Clustered, 5, 16, 400, 400);
        let pairs = || (0..400).flat_map(|r| grid.row(r).windows(2));
        let alike = pairs().filter(|pair| pair[0] == pair[1]).count() as f64 / pairs().count() as f64;
        assert!((0.80..0.97).contains(&alike), "{alike}");
        for pattern in [Pattern::Random, Pattern::Clustered] {
            assert!(make(pattern, 5, 16, 99, 99) != make(pattern, 6, 16, 99, 99));
        }
    }

    #[test]
    fn what_cannot_be_made_says_so() {
        let levels = |n| Generator::<u8>::new(Pattern::Random, 0, n).unwrap_err().to_string();
        assert_eq!(levels(0), "a grid has 1 to 256 levels, not 0");
        assert_eq!(levels(257), "a grid has 1 to 256 levels, not 257");
        let words = Generator::<u16>::new(Pattern::Random, 0, 65_537).unwrap_err().to_string();
        assert_eq!(words, "a grid has 1 to 65536 levels, not 65537");
        assert_eq!(
            "stripes".parse::<Pattern>().unwrap_err().to_string(),
            "no pattern is called \"stripes\"; the patterns are random, clustered, regional, constant"
        );
        assert_eq!("Clustered".parse(), Ok(Pattern::Clustered));
    }

    /// Not a test of anything: `cargo test clustered_picture -- --ignored` makes a picture to look at.
    #[test]
    #[ignore = "makes a picture for a person to look at"]
    fn clustered_picture() {
        let grid = make(Pattern::Clustered, 42, 16, 512, 512);
        let wide = Grid::from_fn(512, 512, |r, c| grid.row(r)[c] * 17).unwrap();
        let file = std::fs::File::create(std::env::temp_dir().join("halotile-clustered.png")).unwrap();
        halotile::io::write_cells(halotile::io::InputFormat::Png, file, wide.view()).unwrap();
    }
}
