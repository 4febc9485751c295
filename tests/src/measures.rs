//! Every measure, in windows of several shapes, with every edge, through the library's own door: one runner for every engine.

use std::cell::LazyCell;

use anyhow::{Context as _, Result, ensure};
use halotile::entropy::{Base, Engine, Entropy, Error, Kernel};
use halotile::grid::{Grid, GridView};
use halotile::measure::{Edge, Footprint, Measure};
use halotile::numbers::Real;
use halotile::reference::{Windows, measures_at};
use halotile_lab::generate::{Generator, Pattern};

/// All measures, orders in every branch of their formulas among them.
pub fn all() -> Vec<Measure> {
    use Measure::{Evenness, Hill, Renyi, Richness, Shannon, Simpson};
    let mut all = vec![Shannon, Simpson, Richness, Evenness];
    for order in [0.0, 0.5, 0.999, 1.0, 2.0, 3.5, 500.0, f64::INFINITY] {
        all.extend([Renyi(order), Hill(order)]);
    }
    all
}

/// Those that kernels on the tensor cores compute, each in a launch of its own.
fn of_one_sum() -> Vec<Measure> {
    use Measure::{Evenness, Hill, Renyi, Richness, Shannon, Simpson};
    vec![Simpson, Evenness, Richness, Hill(2.0), Hill(1.0), Shannon, Renyi(1.0)]
}

/// Windows: squares, a disk, a wide one, one with a hole where the centre is.
fn footprints() -> Vec<Footprint> {
    let matrix = |rows: usize, picture: &str| {
        Footprint::new(rows, picture.len() / rows, picture.chars().map(|c| c == '#').collect()).expect("a window")
    };
    vec![
        Footprint::square(1).expect("a window"),
        Footprint::square(5).expect("a window"),
        Footprint::square(33).expect("a window"),
        Footprint::disk(9).expect("a window"),
        matrix(1, "#######"),
        matrix(3, "#.####.#.###.##"),
    ]
}

/// How many results of a run were compared, and the largest difference (of Hill's numbers: by the number).
pub type Compared = (usize, f64);

/// An engine, the kernel to run there if it is not to choose, and how much work a case may be.
pub type Run<'a> = (&'a Engine, Option<Kernel>, usize);

/// Runs engines over grids of several shapes, each with the kernel if there is one, where it does this kind of work.
pub fn check<T: Real + Into<f64>>(runs: &[Run<'_>]) -> Result<Vec<Compared>> {
    let grids = [(1, 1, 3), (1, 300, 16), (300, 1, 200), (40, 150, 16), (37, 61, 256)];
    over::<T>(&grids, &footprints(), &all(), (SHARES, 1), runs)
}

/// The same of measures that come from one sum, in squares of up to 31 × 31 and other shapes with any number of valid cells, over grids some of which
/// have `wide` columns. Kernels march over strips of 128 columns: of 420 two strips are away from the border, and the last is not full.
/// One case in `step` is run: 2 leaves every window with every kind of nodata, and with two or three of the edges.
pub fn check_one_sum(wide: usize, step: usize, runs: &[Run<'_>]) -> Result<Vec<Compared>> {
    let grids = [(1, 1, 3), (9, 1, 16), (40, 150, 16), (35, wide, 16), (40, 150, 17), (35, wide, 31), (37, 300, 48)];
    let squares = [1, 3, 5, 7, 13, 15, 31].map(Footprint::square);
    let mut windows = squares.into_iter().chain([5, 9, 17, 25].map(Footprint::disk)).collect::<Result<Vec<_>, _>>()?;
    // A row and a column, and one that its own centre does not belong to.
    windows.extend([Footprint::new(1, 25, vec![true; 25])?, Footprint::new(23, 1, vec![true; 23])?]);
    windows.push(Footprint::new(13, 21, (0..13 * 21).map(|cell| cell % 7 != 3 && cell % 5 != 1).collect())?);
    over::<f32>(&grids, &windows, &of_one_sum(), ([0.0; 2], step), runs)
}

/// The same of measures that come from Σ n·log n, Σ n² and how many classes there are, in squares, of few classes and of many.
pub fn check_sums<T: Real + Into<f64>>(runs: &[Run<'_>]) -> Result<Vec<Compared>> {
    use Measure::{Hill, Renyi};
    let grids = [(1, 1, 3), (9, 1, 17), (40, 150, 16), (40, 270, 33), (41, 150, 64), (37, 133, 200)];
    let squares = [1, 3, 21, 51, 129].map(Footprint::square).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut list = of_one_sum();
    list.extend([Renyi(0.0), Renyi(2.0), Hill(0.0)]);
    over::<T>(&grids, &squares, &list, (SHARES, 1), runs)
}

/// The same with windows of more than 255 rows and columns, in the CPU engine.
pub fn check_large<T: Real + Into<f64>>() -> Result<usize> {
    let windows = [Footprint::square(257)?, Footprint::disk(301)?, Footprint::square(1001)?];
    let grids = [(1, 1, 3), (5, 7, 16), (1, 20, 200)];
    Ok(over::<T>(&grids, &windows, &all(), (SHARES, 1), &[(&Engine::Cpu, None, usize::MAX)])?[0].0)
}

/// Shares of a window's cells that have to be valid, one and the other in turn.
const SHARES: [f64; 2] = [0.0, 0.5];

/// Runs every window over every grid, of so many rows, columns and levels, on every engine; of the cases one in `step`. Returns for each engine how many
/// results were compared and the largest difference. A case's definition takes longer than most engines: it is computed once for all of them, and only
/// where one of them does the case.
fn over<T: Real + Into<f64>>(
    grids: &[(usize, usize, usize)],
    footprints: &[Footprint],
    list: &[Measure],
    (shares, step): ([f64; 2], usize),
    runs: &[Run<'_>],
) -> Result<Vec<Compared>> {
    let mut done = vec![(0, 0f64); runs.len()];
    let mut number = 0;
    for &(rows, cols, levels) in grids {
        let pattern = if levels > 16 { Pattern::Random } else { Pattern::Clustered };
        let cells = Generator::<u8>::new(pattern, 7, levels)?.grid(rows, cols)?;
        for footprint in footprints {
            for &edge in Edge::ALL {
                number += 1;
                if number % step != 0 {
                    continue;
                }
                let nodata = [None, Some(1), Some(0)][number % 3];
                let (min_valid, base) = (shares[number % 2], [Base::E, Base::Two, Base::Ten][number % 3]);
                let windows = Windows { edge, nodata, min_valid, base, ..Windows::of(footprint) };
                let expected = LazyCell::new(|| definition(cells.view(), &windows, list));
                for (&(engine, kernel, updates), (compared, worst)) in runs.iter().zip(&mut done) {
                    if rows * cols * (footprint.count() + list.len()) > updates {
                        continue;
                    }
                    let what = || {
                        let case =
                            format!("{rows} x {cols}, {levels} levels, {footprint:?}, {edge:?}, nodata {nodata:?}");
                        format!("{}, {case}", kernel.map_or("chosen", Kernel::name))
                    };
                    let mut outs: Vec<Grid<T>> =
                        list.iter().map(|_| Grid::zeros(rows, cols)).collect::<Result<_, _>>()?;
                    let entropy = Entropy::new().footprint(footprint.clone()).measures(list.to_vec()).edge(edge);
                    let entropy = entropy.nodata(nodata.map(u16::from)).min_valid(min_valid).base(base);
                    let views = outs.iter_mut().map(Grid::view_mut).collect();
                    match entropy.kernel(kernel).measure_into(engine, cells.view(), views, &()) {
                        Err(Error::KernelMisfit { .. }) if kernel.is_some() => continue,
                        done => done.with_context(what)?,
                    };
                    *worst = worst.max(compare(&outs, &expected, list).with_context(what)?);
                    *compared += list.len() * rows * cols;
                }
            }
        }
    }
    Ok(done)
}

/// What the definition says, row by row on all threads.
fn definition(cells: GridView<'_, u8>, windows: &Windows<'_>, list: &[Measure]) -> Vec<Grid<f64>> {
    use rayon::prelude::*;
    let (rows, cols) = (cells.rows(), cells.cols());
    let at = |cell: usize| measures_at(cells, windows, list, cell / cols, cell % cols);
    let all: Vec<Vec<f64>> = (0..rows * cols).into_par_iter().map(at).collect();
    let one =
        |m: usize| Grid::from_fn(rows, cols, |row, col| all[row * cols + col][m]).expect("the shape of the cells");
    (0..list.len()).map(one).collect()
}

/// The largest difference of results (of Hill's numbers: by the number), or an error that names the first cell that is too far off.
fn compare<T: Real + Into<f64>>(outs: &[Grid<T>], expected: &[Grid<f64>], list: &[Measure]) -> Result<f64> {
    let within = if size_of::<T>() == 8 { 1e-12 } else { 2e-6 };
    let mut worst = 0f64;
    for ((out, expected), measure) in outs.iter().zip(expected).zip(list) {
        for (i, (&got, &expected)) in out.as_slice().iter().zip(expected.as_slice()).enumerate() {
            let got: f64 = got.into();
            let scale = if matches!(measure, Measure::Hill(_)) { expected.max(1.0) } else { 1.0 };
            let off = (got - expected).abs() / scale;
            let fine = if expected.is_nan() { got.is_nan() } else { off <= within };
            let (row, col) = (i / out.cols(), i % out.cols());
            ensure!(fine, "{measure} at row {row}, column {col}: {got}, not {expected}");
            worst = if off > worst { off } else { worst };
        }
    }
    Ok(worst)
}
