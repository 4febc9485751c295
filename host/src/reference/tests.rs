//! The oracle against numbers that were not computed by it: by hand, by other programs, by identities.

use super::*;

use Measure::*;

const INFINITY: f64 = f64::INFINITY;

/// One row of cells, seen whole from each of them.
fn of(cells: &[u8], measure: Measure) -> f64 {
    let footprint = Footprint::new(1, 2 * cells.len() - 1, vec![true; 2 * cells.len() - 1]).unwrap();
    let view = GridView::new(cells, 1, cells.len()).unwrap();
    measures_at(view, &Windows::of(&footprint), &[measure], 0, 0)[0]
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{got}, not {expected}");
}

#[test]
fn measures_are_those_computed_by_hand() {
    // Shares 1/2, 1/4, 1/4: powers of two, so that most results are exact.
    let cells = [3u8, 3, 3, 3, 200, 200, 0, 0];
    let ln2 = std::f64::consts::LN_2;
    for (measure, expected) in [
        (Shannon, 1.5 * ln2),
        (Simpson, 1.0 - 3.0 / 8.0),
        (Richness, 3.0),
        (Evenness, 1.5 * ln2 / 3f64.ln()),
        (Renyi(0.0), 3f64.ln()),
        (Renyi(0.5), 2.0 * (0.5f64.sqrt() + 1.0).ln()),
        (Renyi(1.0), 1.5 * ln2),
        (Renyi(2.0), (8f64 / 3.0).ln()),
        // 1/8 + 1/64 + 1/64 = 5/32.
        (Renyi(3.0), (32f64 / 5.0).ln() / 2.0),
        (Renyi(INFINITY), ln2),
        (Hill(0.0), 3.0),
        (Hill(0.5), (0.5f64.sqrt() + 1.0).powi(2)),
        (Hill(1.0), 8f64.sqrt()),
        (Hill(2.0), 8.0 / 3.0),
        (Hill(3.0), (32f64 / 5.0).sqrt()),
        (Hill(INFINITY), 2.0),
    ] {
        close(of(&cells, measure), expected);
    }
}

#[test]
fn one_class_is_exactly_0_and_never_minus_0() {
    for cells in [&[7u8][..], &[7; 3], &[7; 7], &[255; 49]] {
        for order in [0.0, 1e-9, 0.3, 0.9999, 1.0, 1.0000001, 1.6, 2.0, 7.7, 1e9, 1e300, INFINITY] {
            assert_eq!(of(cells, Renyi(order)).to_bits(), 0, "renyi:{order}");
            assert_eq!(of(cells, Hill(order)), 1.0, "hill:{order}");
        }
        for measure in [Shannon, Simpson, Evenness] {
            assert_eq!(of(cells, measure).to_bits(), 0, "{measure}");
        }
        assert_eq!(of(cells, Richness), 1.0);
    }
}

/// Equal shares: every measure of order α is the same too.
#[test]
fn equal_shares_have_the_same_entropy_of_all_orders() {
    for classes in [2u8, 3, 10, 60] {
        let cells: Vec<u8> = (0..classes).flat_map(|class| [class; 2]).collect();
        for order in
            [0.0, 1e-12, 0.25, 0.5, 0.50001, 1.0 - 1e-12, 1.0, 1.0 + 1e-15, 1.4, 1.5, 2.0, 33.0, 1e7, 1e308, INFINITY]
        {
            close(of(&cells, Renyi(order)), f64::from(classes).ln());
            close(of(&cells, Hill(order)) / f64::from(classes), 1.0);
        }
        close(of(&cells, Evenness), 1.0);
    }
}

/// Rényi's entropy falls with its order, without a step where the formula changes, and towards its limits.
#[test]
fn orders_go_over_into_one_another() {
    let cells: Vec<u8> = (0u8..7).flat_map(|class| vec![class; 1 + usize::from(class * class)]).collect();
    let of = |order| of(&cells, Renyi(order));
    let orders: Vec<f64> = (0..4000).map(|i| f64::from(i) / 1000.0).collect();
    for pair in orders.windows(2) {
        let step = of(pair[0]) - of(pair[1]);
        assert!(step > 0.0 && step < 1.1e-3, "from order {} to {}: {step}", pair[0], pair[1]);
    }
    for (near, order) in [(1e-9, 0.0), (1.0 + 1e-9, 1.0), (1.0 - 1e-9, 1.0), (0.5 - 1e-9, 0.5), (1.5 + 1e-9, 1.5)] {
        assert!((of(near) - of(order)).abs() < 1e-8, "{near}");
    }
    assert!((of(1e6) - of(INFINITY)).abs() < 1e-5 && of(1e6) > of(INFINITY));
}

/// A 30 × 30 map of three classes of 184, 234 and 482 cells: the only counts of 900 cells that give these three figures.
///
/// The figures, SHDI 1.0092, SHEI 0.9186 and SIDI 0.6038, are FRAGSTATS' for the map `landscape` that the R package
/// landscapemetrics ships, with the results of the original program, to check itself. The map here is our own: where its
/// cells lie does not matter when the window sees all of them.
#[test]
fn a_map_of_three_classes_has_the_figures_that_fragstats_gives() {
    let map = Grid::from_fn(30, 30, |r, c| match (r * 30 + c) * 7 % 900 {
        0..184 => 1u8,
        184..418 => 2,
        _ => 3,
    })
    .unwrap();
    let count = |class| map.as_slice().iter().filter(|&&cell| cell == class).count();
    assert_eq!([1, 2, 3].map(count), [184, 234, 482]);
    let footprint = Footprint::square(61).unwrap();
    let found = measures(map.view(), &Windows::of(&footprint), &[Shannon, Evenness, Simpson, Richness]);
    for (grid, expected) in found.iter().zip(["1.0092", "0.9186", "0.6038", "3.0000"]) {
        for (row, col) in [(0, 0), (15, 14), (29, 29)] {
            assert_eq!(format!("{:.4}", grid.row(row)[col]), expected, "at ({row}, {col})");
        }
    }
}

#[test]
fn squares_of_shannon_are_what_the_first_oracle_says() {
    let cells = Grid::from_fn(9, 11, |r, c| (r * r + 3 * c * r) as u8 % 6).unwrap();
    for size in [1, 3, 7, 21] {
        let footprint = Footprint::square(size).unwrap();
        let windows = Windows { nodata: Some(4), ..Windows::of(&footprint) };
        let (got, expected) = (&measures(cells.view(), &windows, &[Shannon])[0], entropy(cells.view(), size, Some(4)));
        for (got, expected) in got.as_slice().iter().zip(expected.as_slice()) {
            assert!((got - expected).abs() < 1e-14 || (got.is_nan() && expected.is_nan()), "{got}, not {expected}");
        }
    }
}

/// The same cells as the edge shows them, written out, seen by a window that has no edge there.
#[test]
fn beyond_the_edge_is_what_the_edge_says() {
    let (cells, pad) = (Grid::from_fn(3, 4, |r, c| (5 * r + c) as u8).unwrap(), 7usize);
    let shape = Footprint::new(5, 15, (0..75).map(|i| i % 4 != 1).collect()).unwrap();
    let kinds = [Shannon, Simpson, Richness, Renyi(0.7)];
    for edge in [Edge::Symmetric, Edge::Reflect, Edge::Replicate] {
        let at = |i: usize, len| edge.seen(i as isize - pad as isize, len).unwrap();
        let wide = Grid::from_fn(3 + 2 * pad, 4 + 2 * pad, |r, c| cells.row(at(r, 3))[at(c, 4)]).unwrap();
        let windows = Windows { edge, nodata: Some(6), min_valid: 0.8, ..Windows::of(&shape) };
        let clipped = Windows { edge: Edge::Shrink, ..windows.clone() };
        for (row, col) in (0..3).flat_map(|row| (0..4).map(move |col| (row, col))) {
            let got = measures_at(cells.view(), &windows, &kinds, row, col);
            let expected = measures_at(wide.view(), &clipped, &kinds, row + pad, col + pad);
            let same = got.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{edge}, ({row}, {col}): {got:?}, not {expected:?}");
        }
    }
}

#[test]
fn results_are_missing_where_they_should_be() {
    // A window that looks one cell up and two to the right, without its centre.
    let mut shape = vec![false; 15];
    (shape[2], shape[9]) = (true, true);
    let shape = Footprint::new(3, 5, shape).unwrap();
    let cells = GridView::new(&[1u8, 2, 3, 4, 9, 6, 7, 8, 9, 9, 3, 1], 3, 4).unwrap();
    let missing = |windows: Windows<'_>| {
        let found = measures(cells, &windows, &[Shannon, Richness]);
        let missing = |grid: &Grid<f64>| grid.as_slice().iter().map(|h| if h.is_nan() { '.' } else { '#' }).collect();
        let both: Vec<String> = found.iter().map(missing).collect();
        assert_eq!(both[0], both[1]);
        both[0].clone()
    };
    let windows = || Windows::of(&shape);
    // Above the first row, and beyond the last two columns, there is nothing.
    assert_eq!(missing(windows()), "##..########");
    assert_eq!(missing(Windows { edge: Edge::Nodata, ..windows() }), "....##..##..");
    assert_eq!(missing(Windows { min_valid: 0.5, ..windows() }), "##..########");
    assert_eq!(missing(Windows { min_valid: 0.50001, ..windows() }), "....##..##..");
    assert_eq!(missing(Windows { min_valid: 1.0, ..windows() }), "....##..##..");
    // A nodata centre has no result though the window does not see it; the three 9s are missing in others.
    assert_eq!(missing(Windows { nodata: Some(9), ..windows() }), "##...###..##");
    assert_eq!(missing(Windows { nodata: Some(9), edge: Edge::Nodata, ..windows() }), ".....#......");
    assert_eq!(missing(Windows { nodata: Some(9), min_valid: 1.0, ..windows() }), ".....#......");
    assert_eq!(missing(Windows { nodata: Some(9), edge: Edge::Replicate, ..windows() }), "####.###..##");
}

#[test]
fn units_belong_to_shannon_and_renyi_and_normalising_to_shannon_alone() {
    let shape = Footprint::square(3).unwrap();
    let cells = GridView::new(&[1u8, 2, 2, 4, 5, 6, 7, 2, 1], 3, 3).unwrap();
    let kinds = [Shannon, Renyi(2.0), Renyi(1.0), Simpson, Richness, Evenness, Hill(1.0), Hill(0.5)];
    let of = |windows: Windows<'_>| measures_at(cells, &windows, &kinds, 1, 1);
    let nats = of(Windows::of(&shape));
    for (base, normalize, shannon, renyi) in [
        (Base::Two, None, 2f64.ln(), 2f64.ln()),
        (Base::Ten, None, 10f64.ln(), 10f64.ln()),
        (Base::E, Some(8), 8f64.ln(), 1.0),
        (Base::Two, Some(8), 8f64.ln(), 2f64.ln()),
        (Base::Two, Some(1), 2f64.ln(), 2f64.ln()),
    ] {
        let by = [shannon, renyi, renyi, 1.0, 1.0, 1.0, 1.0, 1.0];
        let got = of(Windows { base, normalize, ..Windows::of(&shape) });
        for i in 0..kinds.len() {
            close(got[i], nats[i] / by[i]);
        }
    }
}
