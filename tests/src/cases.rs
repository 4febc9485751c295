//! The table of cases: small grids with something about each of them.
//!
//! Shapes lie around every edge that a kernel has (the 124 and 128 columns of a warp's strip, the 128 of a histogram block,
//! the 1024 of a block of column histograms, the 32 × 8 of a tile, the window itself); values are constant, all different,
//! random, clustered, striped, at the maximum of levels, or codes far apart; nodata is nowhere, scattered, everywhere, or everywhere but
//! in one cell.

use halotile::grid::Grid;
use halotile_lab::generate::{Generator, Pattern};

/// A grid and what is asked of it.
pub struct Case {
    /// What is special about it.
    pub name: String,
    pub cells: Grid<u8>,
    pub size: usize,
    pub nodata: Option<u8>,
    /// True where every result must be exactly 0 (or NaN).
    pub flat: bool,
}

impl Case {
    fn new(name: impl Into<String>, cells: Grid<u8>, size: usize) -> Self {
        let name = format!("{}, {} x {}, window {size}", name.into(), cells.rows(), cells.cols());
        Self { name, cells, size, nodata: None, flat: false }
    }

    fn nodata(mut self, code: u8) -> Self {
        self.name += &format!(", nodata {code}");
        self.nodata = Some(code);
        self
    }

    fn flat(mut self) -> Self {
        self.flat = true;
        self
    }
}

fn grid(rows: usize, cols: usize, value: impl FnMut(usize, usize) -> u8) -> Grid<u8> {
    Grid::from_fn(rows, cols, value).expect("cases are not empty")
}

/// Cells below `levels`, drawn by SplitMix64 from a seed that the shape decides.
fn random(rows: usize, cols: usize, levels: usize) -> Grid<u8> {
    let mut numbers = SplitMix64((rows * 1_000_003 + cols * 97 + levels) as u64);
    grid(rows, cols, |_, _| (numbers.next() % levels as u64) as u8)
}

/// SplitMix64: numbers that depend on the seed alone.
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    #[allow(clippy::should_implement_trait, reason = "it never ends, so that an iterator would only be in the way")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}

fn clustered(rows: usize, cols: usize, levels: usize) -> Grid<u8> {
    let generator = Generator::new(Pattern::Clustered, 7, levels).expect("a number of levels");
    generator.grid(rows, cols).expect("a shape")
}

/// All cases.
pub fn all() -> Vec<Case> {
    let mut cases = shapes();
    cases.extend(patterns());
    cases.extend(nodata());
    cases.extend(groups());
    cases.extend(windows());
    cases
}

fn shapes() -> Vec<Case> {
    let shapes = [
        (1, 1),
        (1, 2),
        (2, 1),
        (1, 5),
        (5, 1),
        (1, 131),
        (131, 1),
        (1, 1100),
        (2, 2),
        (3, 3),
        (4, 4),
        (5, 5),
        (5, 6),
        (6, 5),
        (7, 31),
        (8, 32),
        (9, 33),
        (17, 64),
        (12, 121),
        (12, 122),
        (9, 123),
        (9, 124),
        (9, 125),
        (9, 126),
        (7, 127),
        (7, 128),
        (11, 129),
        (6, 246),
        (6, 247),
        (6, 248),
        (6, 249),
        (40, 130),
        (3, 1015),
        (3, 1016),
        (3, 1017),
        (3, 1024),
        (3, 1025),
    ];
    shapes.into_iter().map(|(rows, cols)| Case::new("random 16", random(rows, cols, 16), 5)).collect()
}

fn patterns() -> Vec<Case> {
    let (rows, cols) = (23, 137);
    let mut cases = vec![
        Case::new("constant 0", grid(rows, cols, |_, _| 0), 5).flat(),
        Case::new("constant 15", grid(rows, cols, |_, _| 15), 5).flat(),
        Case::new("constant 255", grid(rows, cols, |_, _| 255), 21).flat(),
        Case::new("all different", grid(16, 16, |r, c| (16 * r + c) as u8), 5),
        Case::new("all different", grid(16, 16, |r, c| (16 * r + c) as u8), 21),
        Case::new("4 x 4 of the sources", grid(4, 4, |r, c| (r + c + 1) as u8), 5),
        Case::new("stripes", grid(rows, cols, |r, _| (r % 2) as u8), 5),
        Case::new("chequered", grid(rows, cols, |r, c| ((r + c) % 16) as u8), 5),
        Case::new("halves", grid(rows, cols, |_, c| if c < 70 { 3 } else { 12 }), 5),
        Case::new("one odd cell", grid(rows, cols, |r, c| u8::from((r, c) == (11, 63))), 5),
        Case::new("land-cover codes", grid(rows, cols, |r, c| [11, 21, 31, 41, 52, 71, 82, 95][r * c % 8]), 5),
        Case::new("clustered 16", clustered(rows, cols, 16), 5),
        Case::new("clustered 16", clustered(rows, cols, 16), 21),
        Case::new("clustered 256", clustered(rows, cols, 256), 9),
    ];
    for levels in [1, 2, 3, 15, 16, 17, 33, 255, 256] {
        cases.push(Case::new(format!("random {levels}"), random(rows, cols, levels), 5));
        cases.push(Case::new(format!("random {levels}"), random(rows, cols, levels), 11));
    }
    cases
}

/// Random cells of 16 levels, a third of which are nodata.
fn holes(rows: usize, cols: usize, code: u8) -> Grid<u8> {
    holes_among(16, rows, cols, code)
}

/// The same of so many levels.
fn holes_among(levels: usize, rows: usize, cols: usize, code: u8) -> Grid<u8> {
    let (mask, cells) = (random(rows, cols, 3), random(rows, cols, levels));
    grid(rows, cols, |r, c| if mask.row(r)[c] == 0 { code } else { cells.row(r)[c] })
}

fn nodata() -> Vec<Case> {
    let (rows, cols) = (19, 133);
    let holes = |code: u8| holes(rows, cols, code);
    // Sums whose unit goes by the largest window are too coarse for the few cells of these.
    let three = |r: usize, c: usize| if r == 100 && [98, 100, 101].contains(&c) { u8::from(c > 98) } else { 9 };
    let sparse = |r: usize, c: usize| if (r * 131 + c * 37).is_multiple_of(40) { (r * c % 11) as u8 } else { 200 };
    let mut cases = Vec::new();
    for size in [1, 3, 5, 21, 61] {
        for code in [0, 7, 16, 255] {
            cases.push(Case::new("holes", holes(code), size).nodata(code));
        }
    }
    // The codes next to those at which kernels tell nodata from levels in another way.
    for size in [3, 5] {
        for code in [15, 127, 128] {
            cases.push(Case::new("holes", holes(code), size).nodata(code));
        }
    }
    cases.extend([
        Case::new("nothing but nodata", grid(9, 140, |_, _| 9), 5).nodata(9).flat(),
        Case::new("nothing but nodata", grid(9, 40, |_, _| 200), 21).nodata(200).flat(),
        Case::new("one valid cell", grid(9, 140, |r, c| if (r, c) == (4, 77) { 3 } else { 9 }), 5).nodata(9).flat(),
        Case::new("two valid cells", grid(90, 90, |r, c| if r == 40 && c > 87 { c as u8 } else { 0 }), 101).nodata(0),
        Case::new("three valid cells", grid(128, 128, three), 21).nodata(9),
        Case::new("three valid cells", grid(128, 128, three), 101).nodata(9),
        Case::new("three valid cells", grid(260, 260, three), 255).nodata(9),
        Case::new("a valid cell in forty", grid(130, 130, sparse), 101).nodata(200),
        Case::new("a nodata value that no cell has", random(9, 40, 16), 5).nodata(99),
        Case::new("255 levels and nodata", random(rows, cols, 256), 21).nodata(131),
        Case::new(
            "nodata around an island",
            grid(9, 40, |r, c| if r < 2 || c > 30 { 0 } else { (r * c % 15) as u8 + 1 }),
            7,
        )
        .nodata(0),
    ]);
    cases
}

/// Levels that kernels for sixteen of them take in a few groups.
fn groups() -> Vec<Case> {
    let (rows, cols) = (19, 133);
    let mut cases = Vec::new();
    for size in [3, 5] {
        for levels in [18, 31, 32] {
            cases.push(Case::new(format!("random {levels}"), random(rows, cols, levels), size));
            cases.push(Case::new(format!("clustered {levels}"), clustered(rows, cols, levels), size));
        }
        for code in [0, 15, 16, 31, 32, 127, 128, 255] {
            cases.push(Case::new("holes among 32", holes_among(32, rows, cols, code), size).nodata(code));
        }
        cases.push(Case::new("constant 31", grid(rows, cols, |_, _| 31), size).flat());
    }
    // In large windows up to 64 levels are counted by their own codes, more by those of tiles.
    let (rows, cols) = (37, 261);
    for (size, levels) in [(33, 17), (51, 64), (51, 65), (101, 48), (127, 33), (129, 17), (255, 64), (255, 65)] {
        cases.push(Case::new(format!("random {levels}"), random(rows, cols, levels), size));
        cases.push(Case::new(format!("clustered {levels}"), clustered(rows, cols, levels), size));
    }
    for (size, levels, code) in [
        (33, 17, 0),
        (51, 48, 16),
        (101, 64, 64),
        (101, 33, 127),
        (127, 20, 128),
        (129, 64, 63),
        (131, 40, 127),
        (255, 17, 255),
        (255, 48, 3),
    ] {
        let cells = holes_among(levels, rows, cols, code);
        cases.push(Case::new(format!("holes among {levels}"), cells, size).nodata(code));
    }
    // Sums whose unit goes by the largest window are too coarse for these.
    let two = |r: usize, c: usize| if r == 20 && c > 256 { (c - 230) as u8 } else { 200 };
    for size in [35, 129] {
        cases.push(Case::new("a few valid cells of 31", grid(rows, cols, two), size).nodata(200));
        cases.push(Case::new("constant 50", grid(rows, cols, |_, _| 50), size).flat());
    }
    cases
}

fn windows() -> Vec<Case> {
    let mut cases = Vec::new();
    for size in [1, 3, 7, 9, 13, 21, 31] {
        cases.push(Case::new("random 16", random(37, 141, 16), size));
        cases.push(Case::new("random 200", random(37, 70, 200), size));
    }
    for (rows, cols) in [(1, 1), (3, 300), (300, 3), (40, 60), (1, 1023), (1, 1200)] {
        cases.push(Case::new("random 16", random(rows, cols, 16), 21));
    }
    // Strips and rows away from the border, which kernels compute without its checks: also where devices are given a quarter of the columns.
    for (size, rows) in [(7, 16), (21, 30)] {
        cases.push(Case::new("random 16", random(rows, 1300, 16), size));
        cases.push(Case::new("holes", holes(rows, 1300, 0), size).nodata(0));
        cases.push(Case::new("holes", holes(rows, 1300, 200), size).nodata(200));
    }
    for size in [101, 253, 255] {
        cases.push(Case::new("random 16", random(27, 31, 16), size));
        cases.push(Case::new("clustered 256", clustered(14, 29, 256), size));
        cases.push(Case::new("constant 3", grid(17, 30, |_, _| 3), size).flat());
    }
    // Counts beyond a byte, prefix sums beyond 16 bits, the coarsest tables.
    cases.push(Case::new("constant 3", grid(257, 258, |_, _| 3), 255).flat());
    cases.push(Case::new("stripes", grid(257, 258, |r, _| (r / 7 % 3) as u8), 255));
    // Errors of rounding all go one way.
    cases.push(Case::new("gradient", grid(70, 120, |_, c| c as u8), 101));
    // Wider than the window, so that every column of a block of column histograms has a right and a left.
    cases.push(Case::new("random 16", random(2, 800, 16), 255));
    cases
}

/// Windows of more than 255 rows and columns, which devices do not take: beyond the grid on all sides, on some, and within it.
pub fn large() -> Vec<Case> {
    let mut cases = Vec::new();
    for size in [257, 301, 1001, 4095] {
        cases.push(Case::new("random 16", random(27, 31, 16), size));
        cases.push(Case::new("clustered 256", clustered(14, 29, 256), size));
        cases.push(Case::new("constant 3", grid(17, 30, |_, _| 3), size).flat());
        cases.push(Case::new("random 16", random(2, 1100, 16), size).nodata(3));
        cases.push(Case::new("random 200", random(620, 5, 200), size).nodata(7));
    }
    let two = |r, c| if r == 600 && c < 2 { c as u8 } else { 9 };
    cases.push(Case::new("two valid cells", grid(602, 3, two), 1001).nodata(9));
    // More cells in a window than 16 bits count, of one class and of several.
    cases.push(Case::new("constant 3", grid(258, 259, |_, _| 3), 257).flat());
    cases.push(Case::new("gradient", grid(261, 260, |_, c| (c / 8) as u8), 257).nodata(20));
    cases
}
