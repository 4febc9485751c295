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
use halotile::measure::Edge;
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

/// Compares every `step`-th case on a device with the oracle: how many cases, and the largest difference.
pub fn check(device: &Arc<dyn Device>, step: usize) -> Result<(usize, f64)> {
    let sizes = [3, 5, 21, 51, 101, 255];
    let (mut cases, mut worst) = (0, 0.0f64);
    let all = MAPS.iter().flat_map(|map| sizes.map(|size| (map, size)));
    let all = all.flat_map(|(map, size)| [None, Some(5u16), Some(u16::MAX)].map(|nodata| (map, size, nodata)));
    for (map, size, nodata) in all.step_by(step) {
        let what = || format!("{}, {size} x {size}, nodata {nodata:?}", map.name);
        if let Some(difference) = check_map(device, map, size, nodata).with_context(what)? {
            worst = worst.max(difference);
            cases += 1;
        }
    }
    Ok((cases, worst))
}

/// One case; `None` where no kernel of devices is exact enough.
fn check_map(device: &Arc<dyn Device>, map: &Map, size: usize, nodata: Option<u16>) -> Result<Option<f64>> {
    let (rows, cols) = (map.rows, map.cols);
    let engine = Engine::Devices(vec![Arc::clone(device)]);
    let cells = Grid::from_fn(rows, cols, |r, c| match nodata {
        Some(u16::MAX) if (r * 5 + c * 3) % 19 < 4 => u16::MAX,
        _ => (map.class)(r, c) as u16,
    })?;
    let entropy = Entropy::new().size(size).nodata(nodata);
    let run = |entropy: &Entropy| {
        let mut out = Grid::<f32>::zeros(rows, cols)?;
        entropy.compute_into(&engine, cells.view(), out.view_mut(), &()).map(|report| (out, report))
    };
    let (got, report) = match run(&entropy) {
        Ok(result) => result,
        Err(error) => {
            let is_coarse = error.is_for_cpu() && error.to_string().contains("too coarse");
            ensure!(is_coarse && size > 51, "{error}");
            return Ok(None);
        }
    };
    ensure!(report.kernel == Some(Kernel::Columns) && report.cpu_cells == 0, "{report:?}");
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
        ensure!(report.kernel == Some(Kernel::Columns), "{report:?}");
        let of_array = room.results::<f32>((rows, cols), 0x7E)?;
        ensure!(bits(&of_array) == bits(&got), "an array of {values:?} has other bits");
    }
    Ok(Some(worst))
}
