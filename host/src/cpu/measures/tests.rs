//! The engine against the oracle, over the table of cases; and against itself, cut and shared in every way.

use super::*;
use crate::grid::{Grid, GridView};
use crate::measure::cases::{Case, cases, large};
use crate::measure::window::Scales;
use crate::measure::{Base, Edge, Footprint, Measure};

fn task<'a>(case: &Case, cells: GridView<'a, u8>) -> Task<'a> {
    Task { levels: case.levels, nodata: case.nodata, ..Task::whole(cells, 1) }
}

/// The ways to compute: what the plan chooses, the histogram, and planes on every instruction set where the window's measures come from them.
fn ways(window: &Window) -> Vec<Force> {
    let mut ways = vec![Force::default(), Force { engine: Some(Engine::Histogram), isa: None }];
    if plan::by_planes(window) {
        ways.extend(Isa::available().into_iter().map(|isa| Force { engine: Some(Engine::Planes), isa: Some(isa) }));
    }
    ways
}

/// All planes of a task, in every way.
fn compute<T: Real + PartialEq>(task: &Task<'_>, window: &Window) -> Vec<Grid<T>> {
    let mut first: Option<Vec<Grid<T>>> = None;
    for way in ways(window) {
        let got = compute_by(task, window, way);
        let bytes = |planes: &[Grid<T>]| -> Vec<Vec<u8>> {
            planes.iter().map(|plane| bytemuck::cast_slice(plane.as_slice()).to_vec()).collect()
        };
        let first = first.get_or_insert_with(|| got.clone());
        assert!(bytes(first) == bytes(&got), "not bit for bit the same: {way:?}, {:?}, {task:?}", window.planes);
    }
    first.unwrap()
}

/// All planes of a task; cells between the rows of an output must stay as they were.
fn compute_by<T: Real + PartialEq>(task: &Task<'_>, window: &Window, way: Force) -> Vec<Grid<T>> {
    let (rows, cols) = (task.rows.len(), task.cols.len());
    let stride = cols + 3;
    let untouched = T::from_f64(-7.0);
    let mut memory = vec![vec![untouched; rows * stride]; window.planes.len()];
    let outs = memory.iter_mut().map(|out| GridViewMut::with_stride(out, rows, cols, stride).unwrap()).collect();
    run_forced(task, window, T::planes(outs), &(), way).unwrap();
    let plane = |memory: Vec<T>| {
        assert!(
            memory.chunks(stride).all(|row| row[cols..].iter().all(|&cell| cell == untouched)),
            "a gap was written"
        );
        Grid::from_fn(rows, cols, |r, c| memory[r * stride + c]).unwrap()
    };
    memory.into_iter().map(plane).collect()
}

fn bits(planes: &[Grid<f64>]) -> Vec<Vec<u64>> {
    planes.iter().map(|plane| plane.as_slice().iter().map(|h| h.to_bits()).collect()).collect()
}

#[test]
fn every_case_agrees_with_the_oracle() {
    for case in cases() {
        let (window, expected) = (case.window(), case.expected());
        let task = task(&case, case.cells.view());
        let (double, single) = (compute::<f64>(&task, &window), compute::<f32>(&task, &window));
        for m in 0..case.measures.len() {
            case.compare(m, double[m].view(), &expected[m]);
            case.compare(m, single[m].view(), &expected[m]);
        }
        // Without those whose counts are gone through one by one: by planes too.
        let (case, chosen) = by_planes(&case);
        let window = case.window();
        assert!(plan::by_planes(&window));
        let (planes, planes_single) = (compute::<f64>(&task, &window), compute::<f32>(&task, &window));
        for (i, &m) in chosen.iter().enumerate() {
            case.compare(i, planes[i].view(), &expected[m]);
            assert!(bits(&planes[i..=i]) == bits(&double[m..=m]), "{}, {}", case.measures[i], case.name);
            let same = planes_single[i].as_slice().iter().zip(single[m].as_slice());
            assert!(same.into_iter().all(|(a, b)| a.to_bits() == b.to_bits()), "{}, {}", case.measures[i], case.name);
        }
    }
}

#[test]
fn large_windows_agree_with_the_oracle() {
    for case in large() {
        // All measures go by the histogram, which takes its time where the grid is large too.
        let (formulas, _) = by_planes(&case);
        let case = if case.cells.rows() > 300 { formulas.clone() } else { case };
        for case in [case, formulas] {
            let (task, window) = (task(&case, case.cells.view()), case.window());
            case.compare_some(&compute::<f64>(&task, &window));
            case.compare_some(&compute::<f32>(&task, &window));
        }
    }
}

/// The case with the measures that planes of counts are enough for, and which those were.
fn by_planes(case: &Case) -> (Case, Vec<usize>) {
    let formulas = case.window().planes;
    let chosen: Vec<usize> = (0..formulas.len()).filter(|&m| !finish::needs_counts(formulas[m].quantity)).collect();
    let measures = chosen.iter().map(|&m| case.measures[m]).collect();
    (Case { measures, ..remade(case) }, chosen)
}

/// Asked for alone a measure has the loop that keeps what it needs and nothing else: the same bits as among all others.
#[test]
fn a_measure_is_the_same_alone_and_among_others() {
    for case in cases().into_iter().step_by(13) {
        let task = task(&case, case.cells.view());
        let together = bits(&compute::<f64>(&task, &case.window()));
        for (m, &measure) in case.measures.iter().enumerate() {
            let alone = Case { measures: vec![measure], ..remade(&case) };
            assert!(bits(&compute::<f64>(&task, &alone.window()))[0] == together[m], "{measure}, {}", case.name);
        }
        let pair = Case { measures: vec![case.measures[3], case.measures[1]], ..remade(&case) };
        let pair = bits(&compute::<f64>(&task, &pair.window()));
        assert!(pair[0] == together[3] && pair[1] == together[1], "{}", case.name);
    }
}

/// The case again.
fn remade(case: &Case) -> Case {
    Case {
        name: case.name.clone(),
        cells: case.cells.clone(),
        footprint: case.footprint.clone(),
        measures: case.measures.clone(),
        ..*case
    }
}

/// Any part of a grid, with all that its windows see and no more, on any number of threads: the bits of the whole.
#[test]
fn parts_and_threads_change_no_bit() {
    let pools = [1, 3].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    let mut parts = 0;
    for case in cases().into_iter().filter(|case| case.cells.rows() >= 7 && case.footprint.count() < 500).step_by(3) {
        let case = if parts % 2 == 0 { by_planes(&case).0 } else { case };
        let (window, view) = (case.window(), case.cells.view());
        let (rows, cols) = (view.rows(), view.cols());
        let whole = bits(&pools[0].install(|| compute::<f64>(&task(&case, view), &window)));
        let (r, c) = (case.footprint.rows() / 2, case.footprint.cols() / 2);
        for (top, bottom, left, right) in [
            (0, rows, 0, cols),
            (0, 1, 0, cols),
            (rows / 3, rows - 2, 0, cols),
            (rows / 2, rows, cols / 3, cols),
            (2, 3, cols / 2, cols / 2 + 1),
        ] {
            // What the windows reach, clipped at the grid's own edge.
            let above = top.saturating_sub(r);
            let before = left.saturating_sub(c);
            let seen = view.rect(above..rows.min(bottom + r), before..cols.min(right + c));
            let part =
                Task { rows: top - above..bottom - above, cols: left - before..right - before, ..task(&case, seen) };
            for pool in &pools {
                let got = bits(&pool.install(|| compute::<f64>(&part, &window)));
                for (got, whole) in got.iter().zip(&whole) {
                    let expected = (top..bottom).flat_map(|row| &whole[row * cols + left..row * cols + right]);
                    assert!(got.iter().eq(expected), "rows {top}..{bottom}, columns {left}..{right}; {}", case.name);
                    parts += 1;
                }
            }
        }
    }
    assert!(parts > 1000, "{parts}");
}

#[test]
fn values_that_break_the_promise_do_no_harm() {
    for case in cases().into_iter().filter(|case| case.levels == 256).step_by(4) {
        let task = Task { levels: 2, ..task(&case, case.cells.view()) };
        for way in ways(&by_planes(&case).0.window()) {
            compute_by::<f32>(&task, &by_planes(&case).0.window(), way);
        }
        compute_by::<f32>(&task, &case.window(), Force::default());
    }
}

/// What stops and what is heard of is one cell of the grid, however many results it has.
#[test]
fn progress_counts_cells_and_a_stop_is_heeded() {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    struct Stop(AtomicU64, u64);
    impl Observer for Stop {
        fn advance(&self, cells: u64) {
            self.0.fetch_add(cells, Relaxed);
        }
        fn cancelled(&self) -> bool {
            self.0.load(Relaxed) >= self.1
        }
    }
    let case = &cases()[20];
    let cells = Grid::from_fn(300, 520, |r, c| ((r * c) % 7) as u8).unwrap();
    let go = |after| {
        let stop = Stop(AtomicU64::new(0), after);
        let mut memory = vec![Grid::<f32>::zeros(300, 520).unwrap(); case.measures.len()];
        let outs = memory.iter_mut().map(Grid::view_mut).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        (pool.install(|| run(&task(case, cells.view()), &case.window(), outs, &stop)), stop.0.into_inner())
    };
    assert_eq!(go(u64::MAX), (Ok(()), 300 * 520));
    assert_eq!(go(0), (Err(Cancelled), 0));
    assert_eq!(go(1).0, Err(Cancelled));
}

/// What the plan chooses on this machine for a grid of random cells.
fn engine_of(shape: (usize, usize), footprint: Footprint, levels: usize) -> Engine {
    let cells = Grid::from_fn(shape.0, shape.1, |r, c| ((r * 31 + c * 17) % levels) as u8).unwrap();
    let window = Window::new(footprint, &[Measure::Simpson], Edge::Shrink, 0.0, Scales::new(Base::E, None));
    let task = Task { levels, ..Task::whole(cells.view(), window.footprint().cols()) };
    let rect = TileRect { top: 0, left: 0, height: shape.0.min(256), width: shape.1.min(512) };
    let shared = Shared::new(&window, task.grid, levels, Precision::Single);
    plan::engine(&Job::new(&task, &window, &shared, &shared.tables, &()), rect, Isa::best())
}

#[test]
fn few_levels_and_large_windows_go_by_planes() {
    let (square, disk) = (|size| Footprint::square(size).unwrap(), |size| Footprint::disk(size).unwrap());
    for size in [5, 21, 101, 255] {
        assert_eq!(engine_of((300, 600), square(size), 16), Engine::Planes, "square {size}");
    }
    for size in [21, 101, 255] {
        assert_eq!(engine_of((300, 600), disk(size), 16), Engine::Planes, "disk {size}");
    }
    assert_eq!(engine_of((1000, 1), square(21), 200), Engine::Histogram);
    assert_eq!(engine_of((1000, 4), disk(21), 200), Engine::Histogram);
    assert_eq!(engine_of((300, 600), disk(5), 256), Engine::Histogram);
    // More memory than a thread may take.
    assert_eq!(engine_of((300, 600), disk(255), 256), Engine::Histogram);
}
