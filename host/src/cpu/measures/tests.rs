//! The engine against the oracle, over the table of cases; and against itself, cut and shared in every way.

use super::*;
use crate::grid::{Grid, GridView};
use crate::measure::cases::{Case, cases};

fn task<'a>(case: &Case, cells: GridView<'a, u8>) -> Task<'a> {
    Task { levels: case.levels, nodata: case.nodata, ..Task::whole(cells, 1) }
}

/// All planes of a task; cells between the rows of an output must stay as they were.
fn compute<T: Real + PartialEq>(task: &Task<'_>, window: &Window) -> Vec<Grid<T>> {
    let (rows, cols) = (task.rows.len(), task.cols.len());
    let stride = cols + 3;
    let untouched = T::from_f64(-7.0);
    let mut memory = vec![vec![untouched; rows * stride]; window.planes.len()];
    let outs = memory.iter_mut().map(|out| GridViewMut::with_stride(out, rows, cols, stride).unwrap()).collect();
    run(task, window, outs, &()).unwrap();
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
    }
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
        compute::<f32>(&task, &case.window());
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
