//! The kernels for measures against the oracle, in the emulator, over the table of cases.

use crate::entropy::Launcher as _;
use std::sync::Arc;

use super::*;
use crate::entropy::Kernel;
use crate::entropy::census::Coding;
use crate::entropy::choice::misfit;
use crate::entropy::kernels::{Question, Work};
use crate::entropy::launch::{Prepared, at_once};
use crate::exec::Device;
use crate::exec::emulator::{EmulatedDevice, Order};
use crate::grid::Grid;
use crate::measure::cases::{Case, cases};
use crate::measure::{Edge, Footprint, Measure};
use crate::numbers::Real;

/// All planes of the rows from `first` on, `count` of them, in one launch. Cells are taken as they are; a nodata value that is no
/// code of the kernel's is made one, as a census would.
fn launch<T: Real>(device: &Arc<dyn Device>, case: &Case, first: usize, count: usize) -> Vec<Grid<T>> {
    let kernel = if size_of::<T>() == 8 { Kernel::MeasuresF64 } else { Kernel::Measures };
    launch_of(kernel, device, case, first, count).expect("it does every case")
}

/// The same by the kernel that takes squares of few classes; `None` where it does not.
fn launch_columns<T: Real>(device: &Arc<dyn Device>, case: &Case, first: usize, count: usize) -> Option<Vec<Grid<T>>> {
    let kernel = if size_of::<T>() == 8 { Kernel::ColumnsMeasuresF64 } else { Kernel::ColumnsMeasures };
    launch_of(kernel, device, case, first, count)
}

/// The same of the measures that come from sums, by the kernel for those; `None` where the window is no square.
fn launch_sums<T: Real>(device: &Arc<dyn Device>, case: &Case) -> Option<(Case, Vec<Grid<T>>)> {
    let kernel = if size_of::<T>() == 8 { Kernel::ColumnsSumsF64 } else { Kernel::ColumnsSums };
    let from_sums = |measure: &Measure| Case { measures: vec![*measure], ..case.clone() }.window().comes_from_sums();
    let case = Case { measures: case.measures.iter().copied().filter(from_sums).collect(), ..case.clone() };
    let planes = launch_of(kernel, device, &case, 0, case.cells.rows())?;
    Some((case, planes))
}

fn launch_of<T: Real>(
    kernel: Kernel,
    device: &Arc<dyn Device>,
    case: &Case,
    first: usize,
    count: usize,
) -> Option<Vec<Grid<T>>> {
    let (rows, cols, window) = (case.cells.rows(), case.cells.cols(), case.window());
    let code = case.nodata.map(|value| if usize::from(value) < case.levels { value } else { case.levels as u8 });
    let coding = Coding { levels: case.levels, nodata: code, codes: None };
    let work = Work::of_window::<T>((case.cells.rows(), case.cells.cols()), &coding, &window);
    let own = kernel.own().expect("a kernel of the library");
    if misfit(own, &work, &device.limits()).is_some() {
        return None;
    }
    let question = Question { device, work, nodata: code.map(u16::from), scale: 1.0, window: Some(&window) };
    let prepared = Prepared::new(own, &question, &mut at_once(device)).unwrap();
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
    let scratch = prepared.scratch(rows, cols).unwrap();
    let frame = Frame {
        cells: &cells,
        out: &out,
        scratch: scratch.as_ref(),
        rows: rows as u32,
        cols: cols as u32,
        stride: pitch as u32,
        first: first as u32,
        count: count as u32,
        out_stride: pitch as u32,
    };
    // SAFETY: the buffers were made for the frame.
    unsafe { prepared.launch(&frame) }.unwrap();
    let mut results = vec![T::default(); elements];
    out.read(0, bytemuck::cast_slice_mut(&mut results)).unwrap();
    let plane = |results: &[T]| Grid::from_fn(count, cols, |r, c| results[r * pitch + c]).unwrap();
    Some(results.chunks(count * pitch).map(plane).collect())
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
    let mut squares = 0;
    for case in small().into_iter().step_by(step) {
        let rows = case.cells.rows();
        let (by_runs, by_columns) =
            (launch::<T>(&device, &case, 0, rows), launch_columns::<T>(&device, &case, 0, rows));
        let expected = case.expected();
        squares += usize::from(by_columns.is_some());
        for got in [Some(by_runs), by_columns].into_iter().flatten() {
            for m in 0..case.measures.len() {
                case.compare(m, got[m].view(), &expected[m]);
            }
        }
        if let Some((case, got)) = launch_sums::<T>(&device, &case) {
            for (m, expected) in case.expected().iter().enumerate() {
                case.compare(m, got[m].view(), expected);
            }
        }
    }
    assert!(squares > 3, "{squares}");
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
        let limit = counters + kernels::MEASURES_STATIC + 8;
        let little = EmulatedDevice::new(0, None).with_shared_per_block(limit);
        let little: Arc<dyn Device> = Arc::new(little);
        assert_eq!(Near::of(case.footprint.count() as u32 + 1, counters / 256, limit).entries, 0);
        assert!(bits(&launch::<f64>(&little, &case, 0, rows)) == whole, "little shared memory: {}", case.name);
        far += 1;
        for m in [0, 1, 2, 3, case.measures.len() - 1] {
            let alone = Case { measures: vec![case.measures[m]], ..remade(&case) };
            assert!(bits(&launch::<f64>(&device, &alone, 0, rows))[0] == whole[m], "alone: {}", case.name);
        }
    }
    assert!(far > 5, "{far}");
}

/// Whichever kernel does a square, where the formula takes nothing but sums of integers; and part of the rows alone, by the one that
/// marches by columns.
#[test]
fn both_kernels_give_the_same_bits() {
    use crate::measure::window::Quantity::{Classes, Evenness, Most, Shannon, Simpson, Squares};
    let device = emulated();
    let mut compared = 0;
    for case in small().into_iter().filter(|case| case.cells.rows() > 8) {
        let rows = case.cells.rows();
        let Some(by_columns) = launch_columns::<f64>(&device, &case, 0, rows) else { continue };
        let (by_columns, by_runs) = (bits(&by_columns), bits(&launch::<f64>(&device, &case, 0, rows)));
        for (m, plane) in case.window().planes.iter().enumerate() {
            if matches!(plane.quantity, Classes | Evenness | Most | Shannon | Simpson | Squares) {
                assert!(by_columns[m] == by_runs[m], "{}: measure {m}", case.name);
                compared += 1;
            }
        }
        let part = bits(&launch_columns::<f64>(&device, &case, 3, rows - 5).unwrap());
        let cols = case.cells.cols();
        for (part, whole) in part.iter().zip(&by_columns) {
            assert!(part[..] == whole[3 * cols..(rows - 2) * cols], "{}", case.name);
        }
    }
    assert!(compared > 20, "{compared}");
}

/// The tensor cores' kernels, for results that are correctly rounded: the bits of the formulas in f64.
#[test]
fn one_sum_gives_the_same_bits() {
    use Measure::{Hill, Richness, Simpson};
    let device = emulated();
    let mut compared = 0;
    let bits = |planes: &[Grid<f32>]| -> Vec<Vec<u32>> {
        // What is not a number may be so in several ways.
        let bits = |h: &f32| if h.is_nan() { u32::MAX } else { h.to_bits() };
        planes.iter().map(|plane| plane.as_slice().iter().map(bits).collect()).collect()
    };
    for case in small() {
        let measures = vec![Simpson, Richness, Hill(2.0)];
        let case = Case { measures, fill: false, min_valid: 0.0, edge: Edge::Shrink, ..remade(&case) };
        let rows = case.cells.rows();
        let mut expected = None;
        for kernel in [Kernel::Band, Kernel::BandCounted, Kernel::Tensor, Kernel::TensorCounted] {
            let Some(planes) = launch_of::<f32>(kernel, &device, &case, 0, rows) else { continue };
            let expected = expected.get_or_insert_with(|| bits(&launch::<f32>(&device, &case, 0, rows)));
            assert!(bits(&planes) == *expected, "{kernel}: {}", case.name);
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared}");
}

/// The results of each measure alone are those of all at once: by kernels of their own where the formula is short. Returns how many were compared.
fn alone_as_together<T: Real + Into<f64>>(device: &Arc<dyn Device>, case: &Case) -> usize {
    let rows = case.cells.rows();
    let bytes = |grid: &Grid<T>| bytemuck::cast_slice::<T, u8>(grid.as_slice()).to_vec();
    let Some(whole) = launch_columns::<T>(device, case, 0, rows) else { return 0 };
    for (m, together) in whole.iter().enumerate() {
        let measure = case.measures[m];
        let alone = Case { measures: vec![measure], ..remade(case) };
        let first = &launch_columns::<T>(device, &alone, 0, rows).expect("it did them together")[0];
        // Evenness alone in f32 is by logarithms, which are approximations.
        let by_logarithms = size_of::<T>() == 4 && measure == Measure::Evenness && alone.window().is_unconditional();
        if by_logarithms {
            alone.compare(0, first.view(), &alone.expected()[0]);
        } else {
            assert!(bytes(first) == bytes(together), "{measure} alone: {}", case.name);
        }
        let (from, count) = (rows / 2, rows - rows / 2);
        let part = &launch_columns::<T>(device, &alone, from, count).expect("it did all rows")[0];
        assert!(bytes(first).ends_with(&bytes(part)), "{measure} alone, from row {from}: {}", case.name);
    }
    whole.len()
}

#[test]
fn one_measure_alone_has_the_same_bits() {
    // Room for no table beyond 45 x 45.
    let little: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None).with_shared_per_block(34 * 1024));
    let device = emulated();
    let (mut compared, mut far) = (0, 0);
    for (i, case) in small().into_iter().enumerate() {
        compared += alone_as_together::<f64>(&device, &case);
        if i % 3 == 0 {
            compared += alone_as_together::<f32>(&device, &case);
        }
        if i % 16 == 0 {
            let case = Case { footprint: Footprint::square(51).unwrap(), ..remade(&case) };
            far += alone_as_together::<f64>(&little, &case);
            compared += alone_as_together::<f32>(&device, &case);
        }
    }
    assert!(compared > 200 && far > 5, "{compared}, {far} of them with a far table");
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
