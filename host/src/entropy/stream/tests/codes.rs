//! Codes in memory, their parts, and maps of more classes than bytes: what the stream of the same codes makes of them.

use super::*;

/// Codes in memory come out as the stream of the same codes does, and so does every part of them that has its halo, on the CPU and on
/// a device: bit-identical. Parts smaller than the window are what would change the unit of the sums.
#[test]
fn codes_in_memory_and_their_parts_are_what_the_stream_makes_of_them() {
    use crate::entropy::Codes;
    use crate::measure::{Footprint, Measure};
    let entropies = [
        Entropy::new(),
        Entropy::new().size(9),
        Entropy::new().size(7).base(crate::measure::Base::Two).levels(16).normalize(true),
        Entropy::new().size(5).edge(Edge::Nodata),
        Entropy::new().footprint(Footprint::disk(7).unwrap()).min_valid(0.5),
        Entropy::new().size(3).measures([Measure::Renyi(0.5)]),
    ];
    let engines = [Engine::Cpu, Engine::Devices(emulated(1))];
    for (entropy, engine) in entropies.iter().flat_map(|entropy| engines.iter().map(move |engine| (entropy, engine))) {
        for nodata in [None, Some(16)] {
            let (rows, cols) = (23, 37);
            let cells = grid(rows, cols, if nodata.is_some() { 17 } else { 16 });
            let blocks = Blocks { nodata, ..Blocks::new(cells, (8, 8)) };
            let (result, whole) = streamed(entropy, engine, &blocks, (8, 8), None, usize::MAX);
            result.unwrap();
            let codes = |rows: Range<usize>, cols: Range<usize>, whole| {
                let mut out = Grid::<f32>::from_fn(rows.len(), cols.len(), |_, _| -1.0).unwrap();
                let cells = blocks.cells.view().rect(rows, cols);
                let codes = Codes { cells, levels: 16, nodata };
                entropy.clone().part_of(whole).measure_codes_into(engine, codes, vec![out.view_mut()], &()).unwrap();
                out
            };
            let bits = |grid: &Grid<f32>| grid.as_slice().iter().map(|h| h.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&codes(0..rows, 0..cols, None)), bits(&whole), "{entropy:?}");
            // Single rows and columns among them.
            let halo = entropy.size / 2;
            for (r, c) in [(0..1, 0..1), (0..5, 30..37), (22..23, 0..37), (9..10, 17..19), (4..20, 8..30)] {
                let seen = |own: &Range<usize>, all| own.start.saturating_sub(halo)..(own.end + halo).min(all);
                let (seen_rows, seen_cols) = (seen(&r, rows), seen(&c, cols));
                let part = codes(seen_rows.clone(), seen_cols.clone(), Some((rows, cols)));
                let part = part.view();
                for row in r {
                    let got = &part.row(row - seen_rows.start)[c.start - seen_cols.start..][..c.len()];
                    let expected = &whole.row(row)[c.clone()];
                    let same = got.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "{entropy:?}, row {row}, columns {c:?}: {got:?}, {expected:?}");
                }
            }
        }
    }
}

/// More classes than bytes: a raster of them, read in pieces, and a grid of them in memory, with everything beyond the edges, against the
/// oracle; and both alike.
#[test]
fn many_classes_come_in_pieces_as_they_do_in_memory() {
    use crate::classes::Classes;
    use crate::classes::CodedRaster;
    use crate::classes::tests::Numbers;
    use crate::entropy::Codes;
    use crate::measure::{Footprint, Measure};
    let (rows, cols) = (61, 83);
    let value = |r: usize, c: usize| (r / 2 * 7919 + c / 3 * 104_729) % 907;
    let cells = Grid::from_fn(rows, cols, |r, c| value(r, c) as u16).unwrap();
    let disk = Footprint::disk(5).unwrap();
    let square = Footprint::square(5).unwrap();
    let devices = || Engine::Devices(emulated(2));
    for &edge in Edge::ALL {
        for (footprint, measures) in
            [(&square, vec![Measure::Shannon]), (&disk, vec![Measure::Richness, Measure::Shannon, Measure::Hill(0.5)])]
        {
            let entropy = Entropy::new().footprint(footprint.clone()).measures(measures.clone()).edge(edge).nodata(13);
            let windows = reference::Windows { edge, nodata: Some(13u16), ..reference::Windows::of(footprint) };
            let expected = reference::measures(cells.view(), &windows, &measures);
            // Devices have a kernel for the first alone.
            let engines = if measures.len() > 1 { vec![Engine::Cpu] } else { vec![Engine::Cpu, devices()] };
            for engine in engines {
                let mut outs: Vec<Grid<f32>> = measures.iter().map(|_| Grid::zeros(rows, cols).unwrap()).collect();
                let views = outs.iter_mut().map(Grid::view_mut).collect();
                let report = entropy.measure_into(&engine, cells.view(), views, &()).unwrap();
                let by_kernel = matches!(engine, Engine::Devices(_)).then_some(Kernel::Columns);
                assert!(report.levels > 500 && report.kernel == by_kernel);
                assert!(report.cpu_cells == if by_kernel.is_some() { 0 } else { rows * cols });
                for (out, expected) in outs.iter().zip(&expected) {
                    for (&got, &expected) in out.as_slice().iter().zip(expected.as_slice()) {
                        let near = (f64::from(got) - expected).abs() <= 2e-6 * expected.max(1.0);
                        assert!(near || got.is_nan() && expected.is_nan(), "{edge}, {got}, {expected}");
                    }
                }
                if measures.len() > 1 {
                    continue;
                }
                // As a raster whose numbers are scattered; the codes are other ones, and no data has its own.
                let scattered = Grid::from_fn(rows, cols, |r, c| value(r, c) as f32 * 70.0).unwrap();
                let values = crate::raster::Values::F32(scattered.as_slice().to_vec());
                let nodata = crate::io::Nodata::Whole(13 * 70);
                let raster = || Numbers::new(rows, cols, values.clone()).nodata(nodata);
                let (classes, _) = Classes::survey(&raster(), crate::raster::Raster::nodata(&raster()), &()).unwrap();
                assert_eq!((classes.levels(), classes.width()), (report.levels, 2));
                let coded = CodedRaster::new(Box::new(raster()), classes, None).unwrap();
                let kept = Mutex::new(Grid::from_fn(rows, cols, |_, _| -1.0).unwrap());
                let finished = AtomicU64::new(0);
                let sink = Keep {
                    kept: &kept,
                    block: (16, 16),
                    whole_rows: false,
                    next: 0,
                    room: usize::MAX,
                    finished: &finished,
                };
                let streamed = entropy.stream(&engine, &coded, Box::new(sink), Some(14 << 20), &()).unwrap();
                assert_eq!((streamed.levels, streamed.kernel), (report.levels, by_kernel));
                let bits = |grid: &Grid<f32>| grid.as_slice().iter().map(|h| h.to_bits()).collect::<Vec<_>>();
                assert!(bits(&kept.lock().unwrap()) == bits(&outs[0]), "{edge}");
            }
        }
    }
    // What does not come from sums devices have no counters for, and say so.
    let engine = devices();
    let mut out = Grid::<f32>::zeros(rows, cols).unwrap();
    let codes = Codes { cells: cells.view(), levels: 907, nodata: None };
    let most = Entropy::new().measures([Measure::Hill(f64::INFINITY)]);
    let error = most.measure_codes_into(&engine, codes, vec![out.view_mut()], &()).unwrap_err();
    assert!(matches!(error, Error::NoKernel { .. }) && error.is_for_cpu(), "{error}");
    // Few classes are bytes again.
    let few = Grid::from_fn(rows, cols, |r, c| (value(r, c) % 9 * 5000) as u16).unwrap();
    let report = Entropy::new().compute_into(&engine, few.view(), out.view_mut(), &()).unwrap();
    assert!(report.levels == 9 && report.kernel.is_some());
    let bytes = Grid::from_fn(rows, cols, |r, c| (value(r, c) % 9 * 20) as u8).unwrap();
    let mut expected = Grid::<f32>::zeros(rows, cols).unwrap();
    Entropy::new().compute_into(&engine, bytes.view(), expected.view_mut(), &()).unwrap();
    assert_eq!(expected, out);
    // Codes of words, of which bytes have enough: for every kernel, as bytes are.
    let words = Grid::from_fn(rows, cols, |r, c| (value(r, c) % 9) as u16).unwrap();
    let bytes = Grid::from_fn(rows, cols, |r, c| (value(r, c) % 9) as u8).unwrap();
    for measure in [Measure::Shannon, Measure::Simpson] {
        let entropy = Entropy::new().measures([measure]);
        let codes = Codes { cells: words.view(), levels: 9, nodata: Some(8) };
        entropy.measure_codes_into(&engine, codes, vec![out.view_mut()], &()).unwrap();
        let codes = Codes { cells: bytes.view(), levels: 9, nodata: Some(8) };
        entropy.measure_codes_into(&engine, codes, vec![expected.view_mut()], &()).unwrap();
        let bits = |grid: &Grid<f32>| grid.as_slice().iter().map(|h| h.to_bits()).collect::<Vec<_>>();
        assert!(bits(&expected) == bits(&out), "{measure}");
    }
}
