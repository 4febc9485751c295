//! Maps of more than 256 classes on a device: against the oracle, in every way that they come there.
//!
//! A tile of such a map may have few classes, more than a plane of codes, or more than there is memory for at a time; codes may be scattered, and
//! no data may be far above them.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use halotile::classes::Classes;
use halotile::entropy::{Codes, Engine, Entropy, Kernel};
use halotile::exec::Device;
use halotile::grid::Grid;
use halotile::io::Nodata;
use halotile::measure::{Edge, Measure};
use halotile::numbers::ValueType;
use halotile::reference;

use crate::arrays::{Arrangement, DeviceArray, Numbers};
use crate::runner::{compare, tolerance};

/// A map by the class of each cell.
struct Map {
    name: &'static str,
    rows: usize,
    cols: usize,
    class: fn(usize, usize) -> usize,
}

const MAPS: [Map; 7] = [
    // A few classes in each region, others in the next.
    Map { name: "regions", rows: 80, cols: 300, class: |r, c| (r / 20 * 15 + c / 20) * 41 % 891 + (r * r + c * 7) % 9 },
    Map { name: "noise of 900", rows: 50, cols: 200, class: |r, c| (r * 7919 + c * c * 104_729 + r * c) % 900 },
    // More planes of codes than are in memory at a time.
    Map { name: "all different", rows: 30, cols: 150, class: |r, c| r * 150 + c },
    // The same rounding for every class of a window.
    Map { name: "pairs", rows: 40, cols: 140, class: |r, c| r * 70 + c / 2 },
    Map { name: "scattered", rows: 40, cols: 200, class: |r, c| (r / 4 * 31 + c / 3 * 17) % 331 * 197 % 65_521 },
    Map { name: "flat", rows: 3, cols: 700, class: |r, c| r * 160 + c % 160 },
    Map { name: "narrow", rows: 300, cols: 3, class: |r, c| (r + 300 * c) % 700 },
];

/// Compares every `step`-th case from the `first` on, on a device, with the oracle: how many cases, and the largest difference.
pub fn check(device: &Arc<dyn Device>, first: usize, step: usize) -> Result<(usize, f64)> {
    let sizes = [3, 5, 21, 51, 101, 255];
    let (mut cases, mut worst) = (0, 0.0f64);
    let all = MAPS.iter().flat_map(|map| sizes.map(|size| (map, size)));
    let all = all.flat_map(|(map, size)| [None, Some(5u16), Some(u16::MAX)].map(|nodata| (map, size, nodata)));
    for (map, size, nodata) in all.skip(first).step_by(step) {
        let what = || format!("{}, {size} x {size}, nodata {nodata:?}", map.name);
        worst = worst.max(check_map(device, map, size, nodata).with_context(what)?);
        worst = worst.max(check_sums(device, map, size, nodata).with_context(what)?);
        cases += 1;
    }
    Ok((cases, worst))
}

impl Map {
    /// Its cells, a fifth of which are nodata where that is no class.
    fn cells(&self, nodata: Option<u16>) -> Result<Grid<u16>> {
        Ok(Grid::from_fn(self.rows, self.cols, |r, c| match nodata {
            Some(u16::MAX) if (r * 5 + c * 3) % 19 < 4 => u16::MAX,
            _ => (self.class)(r, c) as u16,
        })?)
    }
}

/// Measures of one case in f32, and entropy in f64: against the CPU engine in f64, which has been compared with the oracle.
fn check_sums(device: &Arc<dyn Device>, map: &Map, size: usize, nodata: Option<u16>) -> Result<f64> {
    let (rows, cols, cells) = (map.rows, map.cols, map.cells(nodata)?);
    let list = [Measure::Simpson, Measure::Evenness, Measure::Richness, Measure::Hill(2.0), Measure::Shannon];
    let entropy = Entropy::new().size(size).nodata(nodata).measures(list).min_valid(0.3).fill(rows > 45);
    let engine = Engine::Devices(vec![Arc::clone(device)]);
    let zeros = || list.iter().map(|_| Grid::<f64>::zeros(rows, cols)).collect::<Result<Vec<_>, _>>();
    let (mut expected, mut doubles) = (zeros()?, zeros()?);
    let mut singles = list.iter().map(|_| Grid::<f32>::zeros(rows, cols)).collect::<Result<Vec<_>, _>>()?;
    entropy.measure_into(&Engine::Cpu, cells.view(), expected.iter_mut().map(Grid::view_mut).collect(), &())?;
    let report = entropy.measure_into(&engine, cells.view(), doubles.iter_mut().map(Grid::view_mut).collect(), &())?;
    ensure!(report.kernel == Some(Kernel::ColumnsSumsF64), "{report:?}");
    let report = entropy.measure_into(&engine, cells.view(), singles.iter_mut().map(Grid::view_mut).collect(), &())?;
    ensure!(report.kernel == Some(Kernel::ColumnsSums), "{report:?}");
    let mut worst = 0.0f64;
    for (i, measure) in list.iter().enumerate() {
        for (n, &expected) in expected[i].as_slice().iter().enumerate() {
            let of_one = |got: f64, within: f64| -> Result<f64> {
                let off = (got - expected).abs() / expected.max(1.0);
                let fine = if expected.is_nan() { got.is_nan() } else { off <= within };
                ensure!(fine, "{measure} at row {}, column {}: {got}, not {expected}", n / cols, n % cols);
                Ok(off)
            };
            of_one(doubles[i].as_slice()[n], 1e-12)?;
            worst = worst.max(of_one(singles[i].as_slice()[n].into(), 2e-6)?);
        }
    }
    Ok(worst)
}

/// Shannon's entropy of one case, in all ways that cells come to a device.
fn check_map(device: &Arc<dyn Device>, map: &Map, size: usize, nodata: Option<u16>) -> Result<f64> {
    let (rows, cols, cells) = (map.rows, map.cols, map.cells(nodata)?);
    let engine = Engine::Devices(vec![Arc::clone(device)]);
    let entropy = Entropy::new().size(size).nodata(nodata);
    let run = |entropy: &Entropy| {
        let mut out = Grid::<f32>::zeros(rows, cols)?;
        entropy.compute_into(&engine, cells.view(), out.view_mut(), &()).map(|report| (out, report))
    };
    let (got, report) = run(&entropy)?;
    // In large windows sums of 32 bits are too coarse for so many classes.
    let kernel =
        if size > 51 && report.kernel == Some(Kernel::ColumnsSums) { Kernel::ColumnsSums } else { Kernel::Columns };
    ensure!(report.kernel == Some(kernel) && report.cpu_cells == 0, "{report:?}");
    // The oracle takes minutes for large windows; the CPU engine in f64 has been compared with it.
    let expected =
        if size <= 21 { reference::entropy(cells.view(), size, nodata) } else { entropy.compute(cells.view())? };
    let worst = compare(&got, &expected, false, tolerance::<f32>(Some(Kernel::Columns)))?;
    let bits = |grid: &Grid<f32>| grid.as_slice().iter().map(|h| h.to_bits()).collect::<Vec<_>>();

    // As codes, and the whole as a part of itself: the same bits.
    let mut out = Grid::<f32>::zeros(rows, cols)?;
    let levels = 1 + cells.as_slice().iter().copied().filter(|&cell| Some(cell) != nodata).max().unwrap_or(0) as usize;
    if levels == report.levels {
        let codes = Codes { cells: cells.view(), levels, nodata };
        entropy.measure_codes_into(&engine, codes, vec![out.view_mut()], &())?;
        ensure!(bits(&out) == bits(&got), "codes have other bits");
    }
    if size <= 21 {
        let reflected = entropy.clone().edge(Edge::Reflect);
        compare(
            &run(&reflected)?.0,
            &reflected.compute(cells.view())?,
            false,
            tolerance::<f32>(Some(Kernel::Columns)),
        )?;
    }

    // An array in the device's memory, its numbers as they are and scattered.
    for (values, scale, arrangement) in
        [(ValueType::U16, 1.0, Arrangement::Rows), (ValueType::I32, -30_000.0, Arrangement::Strided)]
    {
        let numbers = Numbers::new(values, (rows, cols), |r, c| f64::from(cells.row(r)[c]) * scale);
        let there = DeviceArray::of(device, &numbers, arrangement)?;
        let mut room = DeviceArray::room(device, (rows, cols), size_of::<f32>(), arrangement, 0x7E)?;
        let nodata = nodata.map(|nodata| Nodata::Whole(i128::from(nodata) * scale as i128));
        let classes = Classes::survey_on(&there.grid(&numbers)?, None, nodata)?;
        let outs = vec![room.grid_mut::<f32>((rows, cols))?];
        let by_classes = Entropy::new().size(size);
        let report = by_classes.measure_on_device(&there.grid(&numbers)?, Some(&classes), None, outs, &())?;
        ensure!(report.kernel == Some(kernel), "{report:?}");
        let of_array = room.results::<f32>((rows, cols), 0x7E)?;
        ensure!(bits(&of_array) == bits(&got), "an array of {values:?} has other bits");
    }
    Ok(worst)
}
