//! Arrays in a device's memory, of every type and in every arrangement, against the same numbers in the host's memory on the same device:
//! results are bit-identical, and errors must name the same cell.

use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, ensure};
use halotile::classes::CodedRaster;
use halotile::classes::{BinRule, Classes, ClassesError};
use halotile::entropy::{Base, Engine, Entropy, Kernel};
use halotile::exec::Device;
use halotile::grid::{Grid, GridView};
use halotile::io::{FormatError, Nodata};
use halotile::measure::{Edge, Footprint, Measure};
use halotile::numbers::Real;
use halotile::numbers::ValueType;
use halotile::raster::{Cells as _, MaskedRaster, Raster, ResultSink};

mod device;
mod numbers;

pub use device::{Arrangement, DeviceArray};
pub use numbers::{Numbers, TYPES};

use crate::cases::SplitMix64;
use crate::runner::{Checked, compare, tolerance};

/// Results kept in grids, one a plane.
struct CollectSink<'a, T>(&'a Mutex<Vec<Grid<T>>>);

impl<T: Real> ResultSink<T> for CollectSink<'_, T> {
    fn block(&self) -> (usize, usize) {
        (1, 1)
    }
    fn whole_rows(&self) -> bool {
        false
    }
    fn write(&mut self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError> {
        let mut kept = self.0.lock().expect("no writer panics");
        for (grid, plane) in kept.iter_mut().zip(planes) {
            let mut view = grid.view_mut().rect(top..top + plane.rows(), left..left + plane.cols());
            (0..plane.rows()).for_each(|r| view.row_mut(r).copy_from_slice(plane.row(r)));
        }
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<(), FormatError> {
        Ok(())
    }
}

/// What is asked, in one way and the other.
pub struct Case<'a> {
    pub device: &'a Arc<dyn Device>,
    pub entropy: &'a Entropy,
    pub planes: usize,
    pub numbers: &'a Numbers,
    pub mask: Option<&'a Numbers>,
}

/// Bits of all results, or what the error says.
type Answer = Result<Vec<Vec<u8>>, String>;

fn bits<T: Real>(grids: &[Grid<T>]) -> Vec<Vec<u8>> {
    grids.iter().map(|grid| bytemuck::cast_slice(grid.as_slice()).to_vec()).collect()
}

impl Case<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.numbers.rows, self.numbers.cols)
    }

    /// From the host's memory.
    pub fn by_stream<T: Real>(&self, classes: &Classes) -> Result<Answer> {
        let (rows, cols) = self.shape();
        let grids = (0..self.planes).map(|_| Grid::zeros(rows, cols)).collect::<Result<Vec<Grid<T>>, _>>()?;
        let kept = Mutex::new(grids);
        let mask = self.mask.map(|mask| Box::new(mask.clone()) as Box<dyn Raster>);
        let cells = match CodedRaster::new(Box::new(self.numbers.clone()), classes.clone(), mask) {
            Ok(cells) => cells,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let engine = Engine::Devices(vec![Arc::clone(self.device)]);
        let done = self.entropy.stream(&engine, &cells, Box::new(CollectSink(&kept)), None, &());
        Ok(done.map(|_| bits(&kept.into_inner().expect("no writer panics"))).map_err(|error| error.to_string()))
    }

    /// What is wrong with the first cell, in reading order, that is no class. (Reading piece by piece meets another one first.)
    fn by_reading(&self, classes: &Classes) -> Result<Answer> {
        let mask = self.mask.map(|mask| Box::new(mask.clone()) as Box<dyn Raster>);
        let cells = CodedRaster::new(Box::new(self.numbers.clone()), classes.clone(), mask)?;
        let (rows, cols) = self.shape();
        let mut codes = Grid::<u16>::zeros(rows, cols)?;
        let read = cells.read_into(0..rows, 0..cols, codes.view_mut().into());
        Ok(read.map(|()| Vec::new()).map_err(|error| error.to_string()))
    }

    /// From the device's memory; without classes, bytes that are levels.
    pub fn on_device<T: Real>(
        &self,
        classes: Option<&Classes>,
        arrangement: Arrangement,
        masks: Arrangement,
        results: Arrangement,
    ) -> Result<Answer> {
        let numbers = DeviceArray::of(self.device, self.numbers, arrangement)?;
        let mask = self.mask.map(|mask| DeviceArray::of(self.device, mask, masks)).transpose()?;
        let mask = self.mask.zip(mask.as_ref()).map(|(numbers, there)| there.grid(numbers)).transpose()?;
        let room = |_| DeviceArray::room(self.device, self.shape(), size_of::<T>(), results, 0x7E);
        let mut rooms = (0..self.planes).map(room).collect::<Result<Vec<_>>>()?;
        let outs = rooms.iter_mut().map(|room| room.grid_mut::<T>(self.shape())).collect::<Result<Vec<_>>>()?;
        let done = self.entropy.measure_on_device(&numbers.grid(self.numbers)?, classes, mask.as_ref(), outs, &());
        let read = |_| {
            let grids = rooms.iter().map(|room| room.results::<T>(self.shape(), 0x7E)).collect::<Result<Vec<_>>>()?;
            Ok::<_, anyhow::Error>(bits(&grids))
        };
        match done {
            Ok(report) => Ok(Ok(read(report)?)),
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}

fn same(expected: &Answer, got: &Answer) -> Result<()> {
    match (expected, got) {
        (Ok(expected), Ok(got)) => {
            for (plane, (expected, got)) in expected.iter().zip(got).enumerate() {
                let at = expected.iter().zip(got).position(|(a, b)| a != b);
                ensure!(at.is_none() && expected.len() == got.len(), "plane {plane} differs at byte {at:?}");
            }
            ensure!(expected.len() == got.len(), "{} planes, not {}", got.len(), expected.len());
        }
        (Err(expected), Err(got)) => ensure!(expected == got, "the error is\n{got}\nand not\n{expected}"),
        (Ok(_), Err(error)) => anyhow::bail!("failed: {error}"),
        (Err(error), Ok(_)) => anyhow::bail!("did not fail: {error}"),
    }
    Ok(())
}

/// Questions of all kinds, by number.
fn entropy(number: usize) -> (Entropy, usize) {
    let edge = Edge::ALL[number % Edge::ALL.len()];
    let base = [Base::E, Base::Two, Base::Ten][number % 3];
    let entropy = Entropy::new().edge(edge).base(base);
    match number % 7 {
        0 | 1 => (entropy, 1),
        2 => (entropy.size(1), 1),
        3 => (entropy.size(9).min_valid(0.6), 1),
        4 => (entropy.size(21), 1),
        5 => {
            let measures = vec![Measure::Richness, Measure::Hill(2.0), Measure::Shannon];
            (entropy.measures(measures), 3)
        }
        _ => {
            let footprint = Footprint::disk(7).expect("a window");
            (entropy.footprint(footprint).measures(vec![Measure::Simpson, Measure::Evenness]).min_valid(0.3), 2)
        }
    }
}

/// Numbers of a few classes, not close together where the type has room; some are no data (12, and NaN where there is one).
fn classed(values: ValueType, shape: (usize, usize), classes: u64, seed: u64) -> Numbers {
    let mut random = SplitMix64(seed);
    Numbers::new(values, shape, |_, _| {
        let class = random.next() % classes;
        match random.next() % 11 {
            0 => 12.0,
            1 if values.is_real() => f64::NAN,
            _ if values.bytes() > 2 => class as f64 * 1000.0,
            _ => class as f64 + 5.0,
        }
    })
}

/// Which cells are hidden: 0, and NaN where there is one; -0.0 too.
fn hiding(values: ValueType, shape: (usize, usize), seed: u64) -> Numbers {
    let mut random = SplitMix64(seed);
    Numbers::new(values, shape, |_, _| match random.next() % 9 {
        0 => 0.0,
        1 if values.is_real() => f64::NAN,
        2 if values.is_real() => -0.0,
        other => other as f64,
    })
}

/// Arrays of every type in every arrangement, with and without a mask, by classes of every origin. `every`: so many questions are left
/// out for each that is asked. Returns how many there were.
pub fn check(device: &Arc<dyn Device>, every: usize) -> Result<usize> {
    let mut asked = 0;
    let mut number = 0usize;
    for shape in [(13, 37), (24, 64), (1, 40), (50, 1), (7, 300)] {
        for (kind, values) in TYPES.into_iter().enumerate() {
            for (way, arrangement) in Arrangement::ALL.into_iter().enumerate() {
                number += 1;
                if !number.is_multiple_of(every) {
                    continue;
                }
                let numbers = classed(values, shape, if number.is_multiple_of(4) { 60 } else { 9 }, number as u64);
                let mask =
                    number.is_multiple_of(3).then(|| hiding(TYPES[(kind + way) % 10], shape, 77 + number as u64));
                let nodata = (number % 5 < 3).then_some(Nodata::Whole(12));
                let (entropy, planes) = entropy(number / every);
                let case = Case { device, entropy: &entropy, planes, numbers: &numbers, mask: mask.as_ref() };
                let arrangements = [arrangement, Arrangement::ALL[number % 9], Arrangement::ALL[(number / 3) % 9]];
                let what =
                    format!("{values:?} {shape:?} {arrangements:?} {nodata:?}, mask {:?}, {entropy:?}", mask.is_some());
                one(&case, nodata, arrangements, number).context(what)?;
                asked += 1;
            }
        }
    }
    Ok(asked)
}

fn one(case: &Case<'_>, nodata: Option<Nodata>, arrangements: [Arrangement; 3], number: usize) -> Result<()> {
    let Case { device, numbers, .. } = *case;
    // Classes as they are found on the host and on the device.
    let masked = case.mask.map(|mask| MaskedRaster::new(numbers, mask).expect("one shape"));
    let raster: &dyn Raster = masked.as_ref().map_or(numbers, |masked| masked as &dyn Raster);
    let there = DeviceArray::of(device, numbers, arrangements[0])?;
    let grid = there.grid(numbers)?;
    let mask = case.mask.map(|mask| DeviceArray::of(device, mask, arrangements[1])).transpose()?;
    let mask = case.mask.zip(mask.as_ref()).map(|(numbers, there)| there.grid(numbers)).transpose()?;
    let rule = [BinRule::EqualWidth, BinRule::Quantile][number % 2];
    let bins = 2 + number % 19;
    let found = [
        (
            Classes::survey(raster, nodata, &()).map(|(classes, _)| classes),
            Classes::survey_on(&grid, mask.as_ref(), nodata),
        ),
        (Classes::bins(raster, bins, rule, nodata, &()), Classes::bins_on(&grid, mask.as_ref(), bins, rule, nodata)),
    ];
    for (i, (expected, got)) in found.into_iter().enumerate() {
        match (expected, got) {
            (Ok(expected), Ok(got)) => {
                let describe = |classes: &Classes| format!("{:?} {:?}", classes.describe(), classes.nodata_code());
                ensure!(describe(&expected) == describe(&got), "{i}: {} not {}", describe(&got), describe(&expected));
                let compare = |classes| -> Result<()> {
                    if (number + i).is_multiple_of(2) {
                        let expected = case.by_stream::<f32>(classes)?;
                        same(
                            &expected,
                            &case.on_device::<f32>(Some(classes), arrangements[0], arrangements[1], arrangements[2])?,
                        )
                    } else {
                        let expected = case.by_stream::<f64>(classes)?;
                        same(
                            &expected,
                            &case.on_device::<f64>(Some(classes), arrangements[0], arrangements[1], arrangements[2])?,
                        )
                    }
                };
                compare(&got).with_context(|| format!("{i}: {}", describe(&got)))?;
            }
            (Err(expected), Err(got)) => ensure!(expected.to_string() == got.to_string(), "{got}, not {expected}"),
            (Ok(_), Err(error)) => anyhow::bail!("{i} failed: {error}"),
            (Err(error), Ok(_)) => anyhow::bail!("{i} did not fail: {error}"),
        }
    }
    Ok(())
}

/// What is wrong is found where it is: numbers that are no class, no whole number, too many, beyond the levels.
pub fn check_errors(device: &Arc<dyn Device>) -> Result<usize> {
    let mut checked = 0;
    let entropy = Entropy::new();
    let shape = (23, 41);
    for values in TYPES {
        for arrangement in Arrangement::ALL {
            let odd = [(3, 40), (4, 0), (22, 7)];
            let numbers = Numbers::new(values, shape, |r, c| if odd.contains(&(r, c)) { 77.0 } else { (r % 4) as f64 });
            let case = Case { device, entropy: &entropy, planes: 1, numbers: &numbers, mask: None };
            for classes in [Classes::identity(4, None)?, Classes::parse("0..2,few\n3,many", "list", None)?] {
                let expected = case.by_reading(&classes)?;
                ensure!(expected.as_ref().is_err_and(|error| error.contains("row 3, column 40")), "{expected:?}");
                same(&expected, &case.on_device::<f32>(Some(&classes), arrangement, arrangement, Arrangement::Rows)?)?;
                // What a mask hides may be anything.
                let mask = Numbers::new(ValueType::U8, shape, |r, c| f64::from(u8::from((r, c) != odd[0])));
                let case = Case { mask: Some(&mask), ..case };
                let expected = case.by_reading(&classes)?;
                ensure!(expected.as_ref().is_err_and(|error| error.contains("row 4, column 0")), "{expected:?}");
                let got = case.on_device::<f32>(
                    Some(&classes),
                    arrangement,
                    Arrangement::ReversedColumns,
                    Arrangement::Rows,
                )?;
                same(&expected, &got)?;
                checked += 2;
            }
            // Of the largest numbers there are, too.
            let all = |scale: f64| Numbers::new(values, (30, 50), |r, c| ((r * 50 + c) % 300) as f64 * scale);
            let many = all(if values.bytes() > 4 {
                9007199254740992.0
            } else if values.bytes() > 2 {
                100_000.0
            } else {
                1.0
            });
            let mut kinds = vec![many];
            if values.is_real() {
                let fraction =
                    |odd: f64| Numbers::new(values, shape, move |r, c| if r * 41 + c > 100 { odd } else { 8.0 });
                kinds.extend([0.5, -1e-3, f64::INFINITY, f64::NEG_INFINITY, 3e38, -1e38, 8_388_607.5].map(fraction));
                kinds.push(fraction(-0.0));
                kinds.push(fraction(f64::NAN));
                kinds.push(fraction(8_388_608.0));
                kinds.push(Numbers::new(values, shape, |_, _| f64::INFINITY));
                kinds.push(Numbers::new(values, shape, |_, _| f64::NAN));
            }
            for numbers in &kinds {
                let there = DeviceArray::of(device, numbers, arrangement)?;
                for nodata in [None, Some(Nodata::Whole(8)), Some(Nodata::Fraction(0.5))] {
                    let describe = |classes: &Classes| format!("{:?} {:?}", classes.describe(), classes.nodata_code());
                    let text = |found: Result<Classes, ClassesError>| match found {
                        Ok(classes) => describe(&classes),
                        Err(error) => error.to_string(),
                    };
                    let expected = text(Classes::survey(numbers, nodata, &()).map(|(classes, _)| classes));
                    let got = text(Classes::survey_on(&there.grid(numbers)?, None, nodata));
                    ensure!(expected == got, "{values:?} {arrangement:?}: {got}\nnot {expected}");
                    for rule in [BinRule::EqualWidth, BinRule::Quantile] {
                        let expected = text(Classes::bins(numbers, 7, rule, nodata, &()));
                        let got = text(Classes::bins_on(&there.grid(numbers)?, None, 7, rule, nodata));
                        ensure!(expected == got, "{values:?} {arrangement:?} {rule:?}: {got}\nnot {expected}");
                    }
                    checked += 3;
                }
            }
        }
    }
    Ok(checked)
}

/// Bytes that are levels, as of the table of cases: against the oracle, and bit-identical to the host's. `None`: the
/// kernel does not do this kind of work.
pub fn check_case<T: Real + Into<f64>>(
    device: &Arc<dyn Device>,
    kernel: Option<Kernel>,
    checked: &Checked,
    arrangement: Arrangement,
) -> Result<Option<f64>> {
    let Checked { case, expected } = checked;
    let (rows, cols) = (case.cells.rows(), case.cells.cols());
    let numbers = Numbers::new(ValueType::U8, (rows, cols), |r, c| f64::from(case.cells.row(r)[c]));
    let entropy = Entropy::new().size(case.size).nodata(case.nodata.map(u16::from)).kernel(kernel);
    let there = DeviceArray::of(device, &numbers, arrangement)?;
    let mut room = DeviceArray::room(device, (rows, cols), size_of::<T>(), arrangement, 0x7E)?;
    let outs = vec![room.grid_mut::<T>((rows, cols))?];
    match entropy.measure_on_device(&there.grid(&numbers)?, None, None, outs, &()) {
        Ok(_) => {}
        Err(halotile::entropy::Error::KernelMisfit { .. }) => return Ok(None),
        Err(error) => return Err(error).with_context(|| case.name.clone()),
    }
    let got = room.results::<T>((rows, cols), 0x7E)?;
    let worst = compare(&got, expected, case.flat, tolerance::<T>(kernel)).with_context(|| case.name.clone())?;
    let mut host = Grid::<T>::zeros(rows, cols)?;
    let engine = Engine::Devices(vec![Arc::clone(device)]);
    entropy.compute_into(&engine, case.cells.view(), host.view_mut(), &())?;
    same(&Ok(bits(&[host])), &Ok(bits(&[got]))).with_context(|| format!("{}, {arrangement:?}", case.name))?;
    Ok(Some(worst))
}
