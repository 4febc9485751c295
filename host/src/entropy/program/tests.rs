//! The kernels for measures against the oracle, in the emulator, over the table of cases.

use std::sync::Arc;

use super::*;
use crate::cpu::Real;
use crate::entropy::Kernel;
use crate::entropy::census::Coding;
use crate::entropy::launch::{Prepared, Work, at_once};
use crate::exec::Device;
use crate::exec::emulator::{EmulatedDevice, Order};
use crate::grid::Grid;
use crate::measure::cases::{Case, cases};

/// All planes of the rows from `first` on, `count` of them, in one launch. Cells are taken as they are; a nodata value that is no
/// code of the kernel's is made one, as a census would.
fn launch<T: Real>(device: &Arc<dyn Device>, case: &Case, first: usize, count: usize) -> Vec<Grid<T>> {
    let (rows, cols, window) = (case.cells.rows(), case.cells.cols(), case.window());
    let code = case.nodata.map(|value| if usize::from(value) < case.levels { value } else { case.levels as u8 });
    let coding = Coding { levels: case.levels, nodata: code, codes: None };
    let work = Work::of_window::<T>((case.cells.rows(), case.cells.cols()), &coding, &window);
    let kernel = if size_of::<T>() == 8 { Kernel::MeasuresF64 } else { Kernel::Measures };
    assert_eq!(Kernel::choose(&work, &device.limits()), Ok(kernel));
    let prepared = Prepared::of_window(kernel, device, work, code, &window, &mut at_once(device)).unwrap();
    let pitch = prepared.pitch(cols);
    let mut bytes = vec![0u8; rows * pitch];
    for (row, bytes) in bytes.chunks_mut(pitch).enumerate() {
        for (&value, byte) in case.cells.row(row).iter().zip(bytes) {
            *byte = if Some(value) == case.nodata { code.unwrap_or(0) } else { value };
        }
    }
    let cells = Buffer::from_slice(device, &bytes).unwrap();
    let elements = window.planes.len() * count * pitch;
    let out = Buffer::from_slice(device, &vec![T::from_f64(-7.0); elements]).unwrap();
    let frame = Frame {
        cells: &cells,
        out: &out,
        rows: rows as u32,
        cols: cols as u32,
        stride: pitch as u32,
        first: first as u32,
        count: count as u32,
        out_stride: pitch as u32,
    };
    prepared.launch(&frame).unwrap();
    let mut results = vec![T::default(); elements];
    let width = elements * size_of::<T>();
    device.download(&out, 0, width, bytemuck::cast_slice_mut(&mut results), width, width, 1).unwrap();
    let plane = |results: &[T]| Grid::from_fn(count, cols, |r, c| results[r * pitch + c]).unwrap();
    results.chunks(count * pitch).map(plane).collect()
}

fn emulated() -> Arc<dyn Device> {
    Arc::new(EmulatedDevice::new(0, None))
}

/// Cases that the emulator does in moments.
fn small() -> Vec<Case> {
    cases().into_iter().filter(|case| case.updates() < 120_000).collect()
}

fn agree<T: Real + Into<f64>>(step: usize) {
    let device = emulated();
    for case in small().into_iter().step_by(step) {
        let (got, expected) = (launch::<T>(&device, &case, 0, case.cells.rows()), case.expected());
        for m in 0..case.measures.len() {
            case.compare(m, got[m].view(), &expected[m]);
        }
    }
}

#[test]
fn every_case_agrees_with_the_oracle_in_f64() {
    agree::<f64>(1);
}

#[test]
fn cases_agree_with_the_oracle_in_f32() {
    agree::<f32>(5);
}

fn bits(planes: &[Grid<f64>]) -> Vec<Vec<u64>> {
    planes.iter().map(|plane| plane.as_slice().iter().map(|h| h.to_bits()).collect()).collect()
}

/// Rows in the middle alone, lanes and blocks in another order, the table in global memory, one measure without the others: not
/// a bit may differ.
#[test]
fn how_it_is_launched_changes_no_bit() {
    let device = emulated();
    let backwards: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_order(Order::Reverse));
    let mut far = 0;
    for case in small().into_iter().filter(|case| case.cells.rows() > 8).step_by(7) {
        let (rows, cols) = (case.cells.rows(), case.cells.cols());
        let whole = bits(&launch::<f64>(&device, &case, 0, rows));
        assert!(bits(&launch::<f64>(&backwards, &case, 0, rows)) == whole, "backwards: {}", case.name);
        for (first, count) in [(0, 1), (3, rows - 5), (rows - 2, 2)] {
            let part = bits(&launch::<f64>(&device, &case, first, count));
            for (part, whole) in part.iter().zip(&whole) {
                assert!(part[..] == whole[first * cols..(first + count) * cols], "{count} from {first}: {}", case.name);
            }
        }
        // Room for the counters, and not for a table of more than one entry.
        let counters = counter_bytes((case.levels + usize::from(case.nodata.is_some())) as u32);
        let little = EmulatedDevice::new(0, None).with_shared_per_block(counters + 8);
        let little: Arc<dyn Device> = Arc::new(little);
        assert_eq!(Near::of(case.footprint.count() as u32 + 1, counters / 256, counters + 8).entries, 0);
        assert!(bits(&launch::<f64>(&little, &case, 0, rows)) == whole, "little shared memory: {}", case.name);
        far += 1;
        for m in [0, 1, 2, 3, case.measures.len() - 1] {
            let alone = Case { measures: vec![case.measures[m]], ..remade(&case) };
            assert!(bits(&launch::<f64>(&device, &alone, 0, rows))[0] == whole[m], "alone: {}", case.name);
        }
    }
    assert!(far > 5, "{far}");
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

#[test]
fn tables_lie_in_shared_memory_where_they_cost_no_blocks() {
    let of = |entries, counters, shared| {
        let Near { entries, bytes } = Near::of(entries, counters, shared);
        (entries, bytes)
    };
    assert_eq!(of(26, 16, 99 * 1024), (26, 16 * 256 + 26 * 8));
    assert_eq!(of(0, 16, 99 * 1024), (0, 16 * 256));
    assert_eq!(of(65_026, 256, 227 * 1024), (0, 65_536));
    assert_eq!(of(26, 16, 16 * 256 + 26 * 8 - 1), (0, 16 * 256));
}
