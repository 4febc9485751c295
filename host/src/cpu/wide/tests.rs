//! Maps of many classes against the oracle, against the engines for bytes, and against themselves, cut and shared in every arrangement.

use super::*;
use crate::cpu::run_codes;
use crate::grid::{Grid, GridView};
use crate::measure::window::Scales;
use crate::measure::{Base, Edge, Footprint, Measure};
use crate::reference::{self, Windows};

/// A number that looks random, the same for the same place.
fn mix(r: usize, c: usize) -> usize {
    (r.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ c.wrapping_mul(0xC2B2_AE3D_27D4_EB4F)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
        >> 33
}

/// Any of `classes` scattered codes in any cell.
fn random(rows: usize, cols: usize, classes: usize) -> Grid<u16> {
    Grid::from_fn(rows, cols, |r, c| (mix(r, c) % classes * 64_063 % 65_521) as u16).unwrap()
}

/// Patches of `side` cells, each with a few of all classes.
fn patches(rows: usize, cols: usize, classes: usize, side: usize, few: usize) -> Grid<u16> {
    let class = |r: usize, c: usize| (mix(r / side, c / side + 7) * 31 + mix(r / 3, c / 3) % few) % classes;
    Grid::from_fn(rows, cols, |r, c| (class(r, c) * 64_063 % 65_521) as u16).unwrap()
}

fn distinct(cells: GridView<'_, u16>) -> usize {
    let mut all: Vec<u16> = (0..cells.rows()).flat_map(|r| cells.row(r).to_vec()).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// All planes of a task.
fn compute<T: Real>(task: &Task<'_, u16>, window: Option<&Window>) -> Vec<Grid<T>> {
    let planes = window.map_or(1, |window| window.planes.len());
    let mut outs: Vec<Grid<T>> = (0..planes).map(|_| Grid::zeros(task.rows.len(), task.cols.len()).unwrap()).collect();
    run_codes(task, window, outs.iter_mut().map(Grid::view_mut).collect(), &()).unwrap();
    outs
}

fn bits<T: Real>(planes: &[Grid<T>]) -> Vec<Vec<u8>> {
    planes.iter().map(|plane| bytemuck::cast_slice(plane.as_slice()).to_vec()).collect()
}

/// Panics unless results are within `error` of what is expected, of measures above 1 times that.
fn compare<T: Real + Into<f64>>(got: &Grid<T>, expected: &Grid<f64>, error: f64, what: &str) {
    for (i, (&got, &expected)) in got.as_slice().iter().zip(expected.as_slice()).enumerate() {
        let got: f64 = got.into();
        let fine = (got - expected).abs() <= error * expected.max(1.0) || got.is_nan() && expected.is_nan();
        assert!(fine, "{what}: cell {i}: {got}, not {expected}");
    }
}

#[test]
fn squares_agree_with_the_oracle() {
    for (cells, sizes) in [
        // More than 256 classes in a window; in a tile and not in a window; in the map and not in a tile.
        (random(40, 37, 40_000), &[1, 3, 21, 63][..]),
        (random(90, 70, 300), &[5, 31]),
        (patches(70, 150, 5000, 12, 9), &[5, 21]),
        (random(1, 700, 65_000), &[5]),
        (random(300, 2, 65_000), &[5]),
    ] {
        let levels = distinct(cells.view());
        assert!(levels > 256);
        for &size in sizes {
            for nodata in [None, Some(cells.row(0)[1])] {
                let task = Task { levels, nodata, ..Task::whole(cells.view(), size) };
                let what = format!("{cells:?}, {levels} classes, {size}, {nodata:?}");
                let expected = reference::entropy(cells.view(), size, nodata);
                compare(&compute::<f32>(&task, None)[0], &expected, 2e-6, &what);
                compare(&compute::<f64>(&task, None)[0], &expected, 1e-12, &what);
            }
        }
    }
}

/// The sums' unit goes by the largest window: for few valid cells it is too coarse, in tiles of bytes and of words.
#[test]
fn windows_of_few_valid_cells_agree_with_the_oracle() {
    let thinned = |cells: Grid<u16>, one_in: usize| {
        let valid = |r: usize, c: usize| mix(r + 5, c + 3).is_multiple_of(one_in);
        Grid::from_fn(cells.rows(), cells.cols(), |r, c| if valid(r, c) { cells.row(r)[c] } else { 65_535 }).unwrap()
    };
    for (cells, size) in [
        (thinned(patches(130, 300, 5000, 12, 3), 25), 35),
        (thinned(random(90, 420, 3000), 12), 35),
        (thinned(random(40, 330, 900), 20), 31),
    ] {
        let levels = distinct(cells.view());
        assert!(levels > 256 && is_single_enough(levels, size * size), "{levels} classes");
        let task = Task { levels, nodata: Some(65_535), ..Task::whole(cells.view(), size) };
        let expected = reference::entropy(cells.view(), size, task.nodata);
        let whole = compute::<f32>(&task, None);
        compare(&whole[0], &expected, 2e-6, &format!("{cells:?}, {levels} classes, {size}"));
        // Other tiles and other ways give the same bits.
        for rows in [0..1, 7..33, 39..40] {
            let part = compute::<f32>(&Task { rows: rows.clone(), cols: 100..170, ..task.clone() }, None);
            let same = rows.enumerate().all(|(i, y)| {
                whole[0].row(y)[100..170].iter().zip(part[0].row(i)).all(|(a, b)| a.to_bits() == b.to_bits())
            });
            assert!(same, "{cells:?}, {levels} classes, {size}");
        }
    }
}

/// Where 32 bits are too few for so many levels in windows of this size.
#[test]
fn large_windows_of_many_classes_are_as_exact_as_small_ones() {
    let cells = random(75, 80, 3000);
    let task = Task { levels: 3000, ..Task::whole(cells.view(), 73) };
    assert!(!is_single_enough(3000, 73 * 73) && is_single_enough(3000, 37 * 37) && is_single_enough(256, 65_025));
    let expected = reference::entropy(cells.view(), 73, None);
    compare(&compute::<f32>(&task, None)[0], &expected, 2e-6, "73 x 73");
}

/// A window in a message; all its cells take longer to print than their results to compute.
fn named(window: &Footprint) -> String {
    format!("{} of {} x {} cells", window.count(), window.rows(), window.cols())
}

/// Panics unless some results, of corners, edges and the middle, are within 1e-12 and 2e-6 of the definition. The oracle counts each window
/// anew, which takes too long for all cells of large windows.
fn check_some(
    cells: &Grid<u16>,
    footprint: &Footprint,
    nodata: Option<u16>,
    measures: &[Measure],
    window: Option<&Window>,
) {
    let (rows, cols, levels) = (cells.rows(), cells.cols(), distinct(cells.view()));
    let task = Task { levels, nodata, ..Task::whole(cells.view(), footprint.cols()) };
    let (double, single) = (compute::<f64>(&task, window), compute::<f32>(&task, window));
    let windows = Windows { nodata, ..Windows::of(footprint) };
    for (r, c) in [0, rows / 3, rows / 2, rows - 1].into_iter().flat_map(|r| [0, cols / 2, cols - 1].map(|c| (r, c))) {
        let expected = reference::measures_at(cells.view(), &windows, measures, r, c);
        for (m, measure) in measures.iter().enumerate() {
            let window = named(footprint);
            let what = format!("{measure} at ({r}, {c}), {cells:?}, {levels} classes, {window}, {nodata:?}");
            let one = |value: f64| Grid::from_fn(1, 1, |_, _| value).unwrap();
            compare(&one(double[m].row(r)[c]), &one(expected[m]), 1e-12, &what);
            compare(&one(f64::from(single[m].row(r)[c])), &one(expected[m]), 2e-6, &what);
        }
    }
}

/// Windows of more than 255 rows, in tiles of bytes and of words, clipped and whole.
#[test]
fn the_largest_windows_agree_with_the_oracle() {
    for (cells, sizes) in [
        // On grids that the window covers; where windows are whole; a map of few classes in each place.
        (random(24, 30, 400), &[257, 4095][..]),
        (random(303, 302, 700), &[301]),
        (patches(262, 300, 900, 20, 2), &[257]),
        (patches(20, 2500, 900, 20, 4), &[257]),
        (random(2, 700, 1200), &[301]),
    ] {
        assert!(distinct(cells.view()) > 256, "{cells:?}");
        for &size in sizes {
            for nodata in [None, Some(cells.row(0)[1])] {
                check_some(&cells, &Footprint::square(size).unwrap(), nodata, &[Measure::Shannon], None);
            }
        }
    }
}

/// Sums that go through the counts have terms of more cells than there is a table for, and squares have more than 32 bits.
#[test]
fn all_measures_in_the_largest_windows_agree_with_the_oracle() {
    // Most cells have one class, so that its count has more than 16 bits.
    let class = |r, c| if mix(r, c).is_multiple_of(20) { (mix(c, r) % 700) as u16 } else { 9_000 };
    let mostly = Grid::from_fn(290, 300, class).unwrap();
    let (square, disk) = (|size| Footprint::square(size).unwrap(), |size| Footprint::disk(size).unwrap());
    for (footprint, cells) in [
        (square(301), &mostly),
        (disk(301), &mostly),
        (square(257), &random(30, 40, 800)),
        (disk(257), &random(30, 40, 800)),
        (square(1001), &mostly),
    ] {
        // Without logarithms there is no table of them.
        for measures in [all_measures(), vec![Measure::Simpson, Measure::Hill(0.5)]] {
            for nodata in [None, Some(cells.row(3)[3])] {
                let window = Window::new(footprint.clone(), &measures, Edge::Shrink, 0.0, Scales::new(Base::E, None));
                check_some(cells, &footprint, nodata, &measures, Some(&window));
            }
        }
    }
}

/// A window that has every code there is, one more than 16 bits count.
#[test]
fn all_codes_are_counted_in_one_window() {
    let cells = Grid::from_fn(257, 257, |r, c| ((r * 257 + c) % 65_536) as u16).unwrap();
    let scales = Scales::new(Base::E, None);
    let measures = [Measure::Richness, Measure::Renyi(0.0), Measure::Evenness];
    let window = Window::new(Footprint::square(513).unwrap(), &measures, Edge::Shrink, 0.0, scales);
    let task = Task { rows: 100..102, cols: 128..130, ..Task::whole(cells.view(), 513) };
    let results = compute::<f64>(&task, Some(&window));
    assert!(results[0].as_slice().iter().all(|&richness| richness == 65_536.0));
    assert!(results[1].as_slice().iter().all(|&order_0| (order_0 - 65_536f64.ln()).abs() < 1e-12));
    assert!(results[2].as_slice().iter().all(|&evenness| 0.99 < evenness && evenness < 1.0));
}

/// Parts and threads of large windows, whose tiles are wider: in bytes, halved and as words.
#[test]
fn large_windows_have_the_same_bits_in_all_tiles() {
    let cells = patches(300, 2300, 20_000, 260, 30);
    let levels = distinct(cells.view());
    let task = Task { levels, ..Task::whole(cells.view(), 257) };
    let whole = compute::<f32>(&task, None);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert!(pool.install(|| bits(&compute::<f32>(&task, None))) == bits(&whole));
    let part = Task { rows: 100..110, cols: 1500..2300, ..task };
    let cut = Grid::from_fn(10, 800, |r, c| whole[0].row(100 + r)[1500 + c]).unwrap();
    assert!(bits(&compute::<f32>(&part, None)) == bits(&[cut]));
}

fn all_measures() -> Vec<Measure> {
    use Measure::*;
    vec![Shannon, Simpson, Richness, Evenness, Renyi(0.0), Renyi(2.0), Renyi(f64::INFINITY), Hill(1.0), Hill(1.05)]
        .into_iter()
        .chain([Renyi(3.5), Hill(0.5), Renyi(300.0)])
        .collect()
}

#[test]
fn all_measures_in_all_shapes_agree_with_the_oracle() {
    let ring = Footprint::new(5, 7, "###..#.#...###.....#####..#.....###".chars().map(|c| c == '#').collect()).unwrap();
    for footprint in [Footprint::disk(9).unwrap(), ring, Footprint::square(25).unwrap()] {
        for cells in [random(34, 41, 60_000), patches(40, 70, 3000, 12, 5)] {
            for (nodata, fill, min_valid, edge) in [
                (None, false, 0.0, Edge::Shrink),
                (Some(cells.row(3)[3]), true, 0.7, Edge::Shrink),
                (Some(cells.row(9)[9]), false, 0.0, Edge::Nodata),
            ] {
                let windows = Windows { edge, nodata, fill, min_valid, ..Windows::of(&footprint) };
                let expected = reference::measures(cells.view(), &windows, &all_measures());
                let levels = distinct(cells.view());
                let scales = Scales::new(Base::E, None);
                let task = Task { levels, nodata, ..Task::whole(cells.view(), 1) };
                let window =
                    |measures: &[Measure]| Window::new(footprint.clone(), measures, edge, min_valid, scales).fill(fill);
                let together = compute::<f64>(&task, Some(&window(&all_measures())));
                let single = compute::<f32>(&task, Some(&window(&all_measures())));
                for (m, measure) in all_measures().into_iter().enumerate() {
                    let window = named(&footprint);
                    let what = format!("{measure}, {cells:?}, {window}, {nodata:?}, {edge}");
                    compare(&together[m], &expected[m], 1e-12, &what);
                    compare(&single[m], &expected[m], 2e-6, &what);
                }
                // Alone most go by bytes where there are few.
                let chosen = [Measure::Shannon, Measure::Simpson, Measure::Evenness];
                let alone = compute::<f64>(&task, Some(&window(&chosen)));
                assert!(bits(&alone) == bits(&[together[0].clone(), together[1].clone(), together[3].clone()]));
            }
        }
    }
}

/// A part of a map, whose tiles lie elsewhere and have other classes, has the bits of the whole; on any number of threads.
#[test]
fn neither_tiles_nor_threads_change_a_bit() {
    let cells = patches(330, 420, 20_000, 60, 40);
    let levels = distinct(cells.view());
    let nodata = Some(cells.row(100)[100]);
    let measures = [Measure::Shannon, Measure::Hill(0.5), Measure::Renyi(f64::INFINITY)];
    let window = |measures: &[Measure]| {
        Window::new(Footprint::square(11).unwrap(), measures, Edge::Shrink, 0.0, Scales::new(Base::E, None))
    };
    let windows = [None, Some(window(&measures)), Some(window(&measures[..1]))];
    for window in windows.iter().map(Option::as_ref) {
        let task = Task { levels, nodata, ..Task::whole(cells.view(), 11) };
        let (double, single) = (compute::<f64>(&task, window), compute::<f32>(&task, window));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert!(pool.install(|| bits(&compute::<f64>(&task, window))) == bits(&double));
        for (rows, cols) in [(17..300, 33..400), (0..1, 0..420), (200..330, 419..420), (129..140, 250..300)] {
            let seen =
                |range: &std::ops::Range<usize>, all: usize| range.start.saturating_sub(5)..all.min(range.end + 5);
            let (seen_rows, seen_cols) = (seen(&rows, 330), seen(&cols, 420));
            let inner = |range: &std::ops::Range<usize>, seen: &std::ops::Range<usize>| {
                range.start - seen.start..range.end - seen.start
            };
            let part = Task {
                cells: cells.view().rect(seen_rows.clone(), seen_cols.clone()),
                rows: inner(&rows, &seen_rows),
                cols: inner(&cols, &seen_cols),
                ..task.clone()
            };
            let cut = |whole: &Grid<f64>| {
                Grid::from_fn(rows.len(), cols.len(), |r, c| whole.row(rows.start + r)[cols.start + c]).unwrap()
            };
            let expected: Vec<Grid<f64>> = double.iter().map(cut).collect();
            assert!(bits(&compute::<f64>(&part, window)) == bits(&expected), "{rows:?} {cols:?}");
            let cut = |whole: &Grid<f32>| {
                Grid::from_fn(rows.len(), cols.len(), |r, c| whole.row(rows.start + r)[cols.start + c]).unwrap()
            };
            let expected: Vec<Grid<f32>> = single.iter().map(cut).collect();
            assert!(bits(&compute::<f32>(&part, window)) == bits(&expected), "{rows:?} {cols:?}");
        }
    }
}

/// Words of few classes have the results of bytes.
#[test]
fn few_classes_are_what_they_are_as_bytes() {
    for levels in [6, 200, 256] {
        let cells = Grid::from_fn(60, 530, |r, c| (mix(r, c / 2) % levels) as u8).unwrap();
        let words = Grid::from_fn(60, 530, |r, c| u16::from(cells.row(r)[c])).unwrap();
        for size in [5, 41] {
            let task = Task { levels, nodata: Some(3u8), ..Task::whole(cells.view(), size) };
            let mut expected = Grid::<f32>::zeros(60, 530).unwrap();
            run_codes(&task, None, vec![expected.view_mut()], &()).unwrap();
            let task = Task { levels, nodata: Some(3u16), ..Task::whole(words.view(), size) };
            assert!(bits(&compute::<f32>(&task, None)) == bits(&[expected]), "{levels} levels, {size}");
        }
    }
}

#[test]
fn work_stops_when_it_is_asked_to() {
    struct Stop;
    impl Observer for Stop {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let cells = random(20, 20, 60_000);
    let mut out = Grid::<f32>::zeros(20, 20).unwrap();
    let stopped = run_codes(&Task::whole(cells.view(), 5), None, vec![out.view_mut()], &Stop);
    assert!(stopped.is_err());
}
