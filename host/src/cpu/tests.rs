//! One table of cases, one runner, every path: both engines, every instruction set, both precisions,
//! several thread counts, against the oracle.

use super::plan::{Engine, Force};
use super::*;
use crate::grid::Grid;
use crate::isa::Isa;
use crate::part::{BAND, STRIP};
use crate::reference;

/// What the cells of a case look like.
#[derive(Debug, Clone, Copy)]
enum Pattern {
    /// Every level equally likely.
    Random,
    /// Patches of some 9 × 9 cells.
    Clustered,
    /// One level.
    Constant,
    /// A level to the left, another to the right, the others in the last rows.
    Halves,
    /// Neighbours differ; with 256 levels a 16 × 16 block holds each once.
    Different,
}

/// Which cells of a case are nodata.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Hole {
    None,
    /// This value wherever the pattern has it.
    Value(u8),
    /// A tenth of the cells are this value.
    Scattered(u8),
    /// All cells but one in some forty are this value.
    Most(u8),
    /// All cells are this value.
    All(u8),
    /// The cell in the middle is this value.
    Centre(u8),
}

#[derive(Debug, Clone, Copy)]
struct Case {
    shape: (usize, usize),
    size: usize,
    levels: usize,
    pattern: Pattern,
    hole: Hole,
}

/// A small generator of our own (xorshift), so that cases never change.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }
}

fn cells(case: &Case) -> Grid<u8> {
    let Case { shape: (rows, cols), levels, pattern, hole, .. } = *case;
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (rows * 1000 + cols) as u64);
    let levels64 = levels as u64;
    let mut grid = Grid::from_fn(rows, cols, |y, x| match pattern {
        Pattern::Random => (random.next() % levels64) as u8,
        Pattern::Clustered => {
            let patch = (y / 9 * 131 + x / 9) as u64;
            if random.next().is_multiple_of(20) {
                (random.next() % levels64) as u8
            } else {
                (patch.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8 % levels64.min(255) as u8
            }
        }
        Pattern::Constant => (levels - 1) as u8,
        Pattern::Halves if y + 9 > rows => (random.next() % levels64) as u8,
        Pattern::Halves => u8::from(x > cols / 2),
        Pattern::Different => ((x + 16 * y) % levels) as u8,
    })
    .unwrap();
    let middle = rows / 2 * cols + cols / 2;
    for (i, cell) in grid.as_mut_slice().iter_mut().enumerate() {
        match hole {
            Hole::Scattered(value) if random.next().is_multiple_of(10) => *cell = value,
            Hole::Most(value) if !random.next().is_multiple_of(40) => *cell = value,
            Hole::All(value) => *cell = value,
            Hole::Centre(value) if i == middle => *cell = value,
            _ => {}
        }
    }
    grid
}

fn cases() -> Vec<Case> {
    use Pattern::*;
    let mut cases = Vec::new();
    let mut add = |shape, size, levels, pattern, hole| cases.push(Case { shape, size, levels, pattern, hole });
    for shape in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (5, 5), (1, 300), (300, 1), (7, 64), (4, 513)] {
        for size in [1, 3, 5, 7, 21, 101, 255] {
            add(shape, size, 16, Random, Hole::None);
            add(shape, size, 200, Random, Hole::Scattered(7));
        }
    }
    for cols in [15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 511, 512, 513] {
        for size in [5, 21] {
            add((23, cols), size, 16, Random, Hole::None);
            add((9, cols), size, 40, Clustered, Hole::Value(3));
        }
    }
    for levels in [1, 2, 3, 8, 9, 15, 16, 17, 32, 33, 47, 48, 49, 64, 255, 256] {
        for pattern in [Random, Clustered, Constant, Different] {
            for size in [1, 3, 5, 7, 9, 15, 17, 21] {
                add((20, 71), size, levels, pattern, Hole::None);
            }
        }
    }
    for hole in
        [Hole::Value(0), Hole::Value(15), Hole::Scattered(255), Hole::Scattered(4), Hole::All(9), Hole::Centre(200)]
    {
        for (size, levels) in [(1, 16), (3, 16), (5, 16), (5, 256), (7, 30), (21, 16), (21, 256), (101, 60)] {
            add((31, 41), size, levels, Random, hole);
            add((31, 41), size, levels, Constant, hole);
        }
    }
    // Counts that slide: groups of levels, with and without one of nodata's own, over several rows, from the top to the bottom.
    for (size, levels) in [(9, 16), (11, 17), (13, 32), (127, 16), (129, 33), (255, 16), (255, 65)] {
        for hole in [Hole::None, Hole::Value(0), Hole::Value(16), Hole::Scattered(255)] {
            add((70, 150), size, levels, Clustered, hole);
            add((19, 530), size, levels, Random, hole);
        }
    }
    // Few valid cells in a window, and in some tiles none.
    for (shape, size, levels) in
        [((50, 600), 21, 16), ((110, 530), 101, 30), ((257, 262), 255, 3), ((140, 150), 127, 256)]
    {
        add(shape, size, levels, Random, Hole::Most(200));
        add(shape, size, levels, Halves, Hole::Most(0));
    }
    // Counts so steep that none of them lie in one stretch of the table.
    for (size, levels) in [(63, 2), (101, 16), (255, 5)] {
        add((130, 200), size, levels, Halves, Hole::None);
        add((130, 200), size, levels, Halves, Hole::Scattered(1));
    }
    for (size, levels, shape) in
        [(31, 16, (70, 140)), (101, 16, (60, 150)), (101, 256, (110, 120)), (255, 3, (40, 300)), (255, 256, (150, 131))]
    {
        for pattern in [Random, Clustered, Constant, Different] {
            add(shape, size, levels, pattern, Hole::None);
        }
    }
    cases
}

/// Windows of more than 255 rows and columns: beyond the grid and within it, of fewer cells than 16 bits count and of more.
fn large() -> Vec<Case> {
    use Pattern::*;
    let mut cases = Vec::new();
    let mut add = |shape, size, levels, pattern, hole| cases.push(Case { shape, size, levels, pattern, hole });
    for size in [257, 301, 1001, 4095] {
        for shape in [(1, 1), (1, 300), (300, 1), (7, 64), (2, 1100)] {
            add(shape, size, 16, Random, Hole::None);
            add(shape, size, 200, Random, Hole::Scattered(7));
        }
        add((40, 150), size, 70, Clustered, Hole::Value(16));
        add((20, 71), size, 256, Different, Hole::Centre(3));
    }
    for (levels, pattern, hole) in [
        (16, Random, Hole::None),
        (5, Halves, Hole::Scattered(1)),
        (2, Constant, Hole::None),
        (17, Clustered, Hole::Value(0)),
        (256, Random, Hole::Scattered(255)),
        (3, Random, Hole::All(1)),
    ] {
        add((262, 300), 257, levels, pattern, hole);
    }
    cases
}

/// The ways to compute: every engine on every instruction set, and what the plan chooses.
fn ways() -> Vec<Force> {
    let mut ways = vec![Force::default()];
    for engine in [Engine::Planes, Engine::Histogram] {
        ways.extend(Isa::available().into_iter().map(|isa| Force { engine: Some(engine), isa: Some(isa) }));
    }
    ways
}

fn task<'a>(cells: GridView<'a, u8>, case: &Case) -> Task<'a> {
    let nodata = match case.hole {
        Hole::None => None,
        Hole::Value(v) | Hole::Scattered(v) | Hole::Most(v) | Hole::All(v) | Hole::Centre(v) => Some(v),
    };
    Task { levels: case.levels, nodata, ..Task::whole(cells, case.size) }
}

fn compute<T: Real>(task: &Task<'_>, force: Force) -> Vec<T> {
    let mut out = vec![T::from_f64(-1.0); task.rows.len() * task.cells.cols()];
    let view = GridViewMut::new(&mut out, task.rows.len(), task.cells.cols()).unwrap();
    run_forced(task, T::planes(vec![view]), &(), force).unwrap();
    out
}

/// What the oracle says of all cells, or of as many as a moment is enough for.
fn truth(grid: &Grid<u8>, case: &Case, nodata: Option<u8>) -> Vec<(usize, f64)> {
    let (rows, cols) = case.shape;
    let work = rows * cols * case.size.min(rows) * case.size.min(cols);
    // No divisor of the columns, so that samples lie all over the grid.
    let each = (1 + work / 50_000_000..).find(|each| *each == 1 || !cols.is_multiple_of(*each)).unwrap();
    let at = |i: usize| reference::entropy_at(grid.view(), case.size, nodata, i / cols, i % cols);
    (0..rows * cols).step_by(each).chain([rows * cols - 1]).map(|i| (i, at(i))).collect()
}

fn agree<T: Real + Into<f64>>(got: &[T], truth: &[(usize, f64)], within: f64, what: &dyn Fn() -> String) {
    for &(i, truth) in truth {
        let got: f64 = got[i].into();
        let fine = if truth.is_nan() {
            got.is_nan()
        } else {
            // A window of one level: exactly +0.
            (got - truth).abs() <= within && !got.is_sign_negative() && (truth != 0.0 || got.to_bits() == 0)
        };
        assert!(fine, "cell {i}: got {got}, want {truth}; {}", what());
    }
}

#[test]
fn every_path_agrees_with_the_oracle() {
    for case in cases().into_iter().chain(large()) {
        let grid = cells(&case);
        let task = task(grid.view(), &case);
        let truth = truth(&grid, &case, task.nodata);
        let mut bits: Option<(Vec<u32>, Vec<u64>)> = None;
        for way in ways() {
            let what = || format!("{case:?}, {way:?}");
            let single: Vec<f32> = compute(&task, way);
            agree(&single, &truth, 2e-6, &what);
            let double: Vec<f64> = compute(&task, way);
            agree(&double, &truth, 1e-12, &what);
            let these =
                (single.iter().map(|h| h.to_bits()).collect(), double.iter().map(|h| h.to_bits()).collect::<Vec<_>>());
            let expected = bits.get_or_insert_with(|| these.clone());
            assert!(*expected == these, "not bit for bit the same: {}", what());
        }
    }
}

#[test]
fn bands_strides_and_threads_change_nothing() {
    let (rows, cols, stride) = (90, 1100, 1111);
    for (size, levels, nodata, valid) in
        [(5, 16, None, 1), (21, 200, Some(3), 1), (101, 16, Some(3), 40), (1001, 16, Some(3), 1)]
    {
        let mut random = Random(42);
        let mut cell = || if random.next().is_multiple_of(valid) { (random.next() % levels as u64) as u8 } else { 3 };
        let memory: Vec<u8> = (0..rows * stride).map(|_| cell()).collect();
        let view = GridView::with_stride(&memory, rows, cols, stride).unwrap();
        let task = Task { levels, nodata, scale: 1.5, ..Task::whole(view, size) };
        for way in ways() {
            let whole: Vec<f32> = compute(&task, way);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                for part in [0..1, 0..90, 13..50, 89..90] {
                    let mut out = vec![-1.0f32; part.len() * stride];
                    let band = Task { rows: part.clone(), ..task.clone() };
                    let out_view = GridViewMut::with_stride(&mut out, part.len(), cols, stride).unwrap();
                    pool.install(|| run_forced(&band, Planes::F32(vec![out_view]), &(), way)).unwrap();
                    for (i, y) in part.enumerate() {
                        let (got, gap) = out[i * stride..][..stride].split_at(cols);
                        let same = got.iter().zip(&whole[y * cols..]).all(|(a, b)| a.to_bits() == b.to_bits());
                        assert!(same, "row {y} of a band; size {size}, {threads} threads, {way:?}");
                        assert!(gap.iter().all(|&h| h == -1.0), "the gap between rows was written");
                    }
                }
            }
        }
    }
}

/// All ways to write `n` as a sum of at most `parts` positive numbers, none above `max`.
fn partitions(n: usize, parts: usize, max: usize, prefix: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
    if n == 0 {
        all.push(prefix.clone());
    } else if parts > 0 {
        for part in (1..=max.min(n)).rev() {
            prefix.push(part);
            partitions(n - part, parts - 1, part, prefix, all);
            prefix.pop();
        }
    }
}

#[test]
fn five_decimals_are_right_for_every_pattern_of_counts() {
    let mut all = Vec::new();
    for n in 1..=25 {
        partitions(n, 16, n, &mut Vec::new(), &mut all);
    }
    assert_eq!(all.len(), 9108);
    // One 5 × 5 block a pattern, the rest of the block nodata, the cell in the middle always counted.
    let mut row_of_blocks = vec![255u8; 5 * 5 * all.len()];
    let cols = 5 * all.len();
    for (p, pattern) in all.iter().enumerate() {
        let mut values = pattern.iter().enumerate().flat_map(|(level, &n)| std::iter::repeat_n(level as u8, n));
        // The middle first.
        let places = std::iter::once(12).chain((0..25).filter(|&i| i != 12));
        for (place, value) in places.zip(&mut values) {
            row_of_blocks[place / 5 * cols + 5 * p + place % 5] = value;
        }
    }
    let cells = GridView::new(&row_of_blocks, 5, cols).unwrap();
    for way in ways() {
        let task = Task { rows: 2..3, levels: 16, nodata: Some(255), ..Task::whole(cells, 5) };
        let got: Vec<f64> = compute(&task, way);
        for (p, pattern) in all.iter().enumerate() {
            let h = got[5 * p + 2];
            let n = pattern.iter().sum::<usize>() as f64;
            // Terms ln N − ln n are never negative, so this sum cancels nothing: good to 1e-15.
            let truth: f64 = pattern.iter().map(|&c| c as f64 / n * (n / c as f64).ln()).sum();
            let scaled = truth * 1e5;
            let distance = ((scaled - scaled.floor()) - 0.5).abs() / 1e5;
            assert!(distance > 2e-9, "{pattern:?} lies {distance} from a rounding boundary");
            assert!((h - truth).abs() < 1e-13, "{pattern:?}: {h} for {truth}");
            assert_eq!(format!("{h:.5}"), format!("{truth:.5}"), "{pattern:?}, {way:?}");
            assert_ne!(format!("{h:.5}"), "-0.00000");
        }
    }
}

#[test]
fn values_that_break_the_promise_do_no_harm() {
    let case = Case { shape: (40, 200), size: 5, levels: 256, pattern: Pattern::Random, hole: Hole::None };
    let grid = cells(&case);
    for way in ways() {
        for (size, levels) in [(1, 1), (5, 2), (21, 16), (21, 60), (255, 200), (257, 2), (1001, 200)] {
            let task = task(grid.view(), &Case { size, levels, ..case });
            assert!(compute::<f32>(&task, way).iter().all(|h| h.is_finite()));
            assert!(compute::<f64>(&task, way).iter().all(|h| h.is_finite()));
        }
    }
}

#[test]
fn a_scale_multiplies() {
    let case = Case { shape: (30, 90), size: 21, levels: 16, pattern: Pattern::Random, hole: Hole::None };
    let grid = cells(&case);
    let bits: Vec<(usize, f64)> =
        truth(&grid, &case, None).into_iter().map(|(i, h)| (i, h * std::f64::consts::LOG2_E)).collect();
    let task = Task { scale: std::f64::consts::LOG2_E, ..task(grid.view(), &case) };
    for way in ways() {
        agree(&compute::<f32>(&task, way), &bits, 3e-6, &|| format!("{way:?}"));
        agree(&compute::<f64>(&task, way), &bits, 2e-12, &|| format!("{way:?}"));
    }
}

mod observers {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    struct Stop {
        after: u64,
        seen: AtomicU64,
    }

    impl Observer for Stop {
        fn advance(&self, cells: u64) {
            self.seen.fetch_add(cells, Relaxed);
        }
        fn cancelled(&self) -> bool {
            self.seen.load(Relaxed) >= self.after
        }
    }

    #[test]
    fn progress_adds_up_and_a_stop_is_heeded_within_a_tile() {
        let cells = vec![1u8; 700 * 1500];
        let cells = GridView::new(&cells, 700, 1500).unwrap();
        let mut out = vec![0f32; 700 * 1500];
        let task = Task { levels: 4, ..Task::whole(cells, 5) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let mut go = |after| {
            let stop = Stop { after, seen: AtomicU64::new(0) };
            let out = GridViewMut::new(&mut out, 700, 1500).unwrap();
            (pool.install(|| run(&task, out, &stop)), stop.seen.into_inner())
        };
        assert_eq!(go(u64::MAX), (Ok(()), 700 * 1500));
        assert_eq!(go(0), (Err(Cancelled), 0));
        let (result, seen) = go(1);
        assert!(result == Err(Cancelled) && seen <= (STRIP * BAND) as u64, "{seen} cells");
    }
}

mod plans {
    use super::*;
    use crate::cpu::plan;

    fn engine_of(rows: usize, cols: usize, size: usize, levels: usize) -> Engine {
        let case = Case { shape: (rows, cols), size, levels, pattern: Pattern::Random, hole: Hole::None };
        let grid = cells(&case);
        let task = task(grid.view(), &case);
        let tables = Tables::new(size.min(rows) * size.min(cols), levels, 1.0);
        let layout = Layout::new(&task, tables.largest);
        let precise = Precise::new((rows, cols), size, levels, 1.0);
        let job = Job::<f32> { layout, tables: &tables, precise: &precise };
        let mut out = vec![0f32; rows.min(BAND) * cols.min(STRIP)];
        let tile = Tile { top: 0, left: 0, rows: out.chunks_mut(cols.min(STRIP)).collect() };
        plan::engine(&job, &tile, Isa::best())
    }

    #[test]
    fn narrow_grids_of_many_classes_take_the_histogram_and_wide_ones_of_few_the_planes() {
        assert_eq!(engine_of(1000, 1, 255, 200), Engine::Histogram);
        assert_eq!(engine_of(1000, 4, 101, 200), Engine::Histogram);
        assert_eq!(engine_of(300, 600, 101, 16), Engine::Planes);
        assert_eq!(engine_of(300, 600, 5, 16), Engine::Planes);
        assert_eq!(engine_of(1, 1000, 255, 16), Engine::Planes);
    }
}
