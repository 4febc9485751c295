//! Calls on arrays in a device's memory, by the wall clock, from call to return: what there is beside the kernels.
//!
//! | name | numbers | their classes |
//! |---|---|---|
//! | auto | bytes that are codes | known: below the number of levels; of words, found before |
//! | occurring | bytes that are codes | all bytes that occur: a scan within the call |
//! | known-u8, known-u32 | u8, u32 | given |
//! | survey-u8, survey-u32 | u8, u32 | the values that occur: a survey within the call |
//! | bins-u32 | u32 | as many bins of equal width as there are levels, found within the call |
//!
//! Bins as many as levels are narrower than the step between two of these, so that none has two of them and results are those of the cells: one
//! oracle does for all. The kernels' own seconds stand beside, in the record's readings.

use std::sync::Arc;
use std::time::Instant;

use super::{AUTO, Running, Subject, SubjectFacts, UNWRITTEN, Values, bytes};
use crate::bench::case::{Details, Way};
use crate::bench::entropy::Plan;
use crate::bench::target::Target;
use crate::bench::verify::tolerance;
use crate::primer::Reading;
use halotile::classes::{BinRule, Classes};
use halotile::codes::{Code, CodesView};
use halotile::entropy::{Entropy, Error, Kernel, Place};
use halotile::exec::{ArrayError, Buffer, Device, DeviceGrid, DeviceGridMut};
use halotile::grid::{Grid, GridView};
use halotile::numbers::{Real, ValueType};
use halotile::observe::Observer;

/// A call, and what it is called.
pub(super) struct Call {
    pub name: &'static str,
    idea: &'static str,
    numbers: ValueType,
    found: Found,
}

/// Where the classes of an array are from.
#[derive(Debug, Clone, Copy)]
enum Found {
    /// Its bytes are codes.
    Codes,
    /// They were known before the call.
    Before,
    Survey,
    Bins,
}

const fn call(name: &'static str, idea: &'static str, numbers: ValueType, found: Found) -> Call {
    Call { name, idea, numbers, found }
}

pub(super) static CALLS: [Call; 6] = [
    call("occurring", "an array of bytes, levels as they occur", ValueType::U8, Found::Codes),
    call("known-u8", "an array of bytes and its classes", ValueType::U8, Found::Before),
    call("known-u32", "an array of u32 and its classes", ValueType::U32, Found::Before),
    call("survey-u8", "an array of bytes, its classes found", ValueType::U8, Found::Survey),
    call("survey-u32", "an array of u32, its classes found", ValueType::U32, Found::Survey),
    call("bins-u32", "an array of u32 in bins of equal width, which are found", ValueType::U32, Found::Bins),
];

/// A call, to be timed as a plan says.
pub(super) struct OfCall {
    call: &'static Call,
    entropy: Entropy,
    levels: usize,
    target: Target,
}

impl OfCall {
    pub fn new(call: &'static Call, plan: &Plan, target: &Target) -> Self {
        Self { call, entropy: Entropy::new().size(plan.size), levels: plan.levels, target: target.clone() }
    }
}

impl Subject for OfCall {
    fn name(&self) -> &str {
        self.call.name
    }

    fn facts(&self) -> SubjectFacts {
        SubjectFacts {
            place: Place::Device,
            before: Some(AUTO.to_owned()),
            idea: Some(self.call.idea.to_owned()),
            tolerance: tolerance(None, false),
            f64: false,
            usage: None,
            ways: &[Way::DeviceToDevice],
            over_bus: false,
        }
    }

    fn start<'a>(&'a self, _: Way, cells: CodesView<'a>) -> Result<Box<dyn Running + 'a>, Error> {
        let Call { name, numbers, found, .. } = *self.call;
        let device = self.target.devices().into_iter().next().ok_or(Error::KernelOnCpu(name))?;
        let cells = if numbers == ValueType::U8 { CodesView::Bytes(bytes(name, cells)?) } else { cells };
        let known = match found {
            Found::Before => Some(Classes::identity(self.levels, None)?),
            Found::Codes | Found::Survey | Found::Bins => None,
        };
        let array = array(&device, cells, numbers)?;
        Ok(Box::new(OnDevice::<f32>::new(&self.entropy, array, found, known, self.levels)?))
    }
}

/// Numbers in a device's memory, row behind row, as most arrays are.
struct Array {
    numbers: ValueType,
    memory: Buffer,
    rows: usize,
    cols: usize,
}

/// The cells as numbers of this type, which holds them.
fn array(device: &Arc<dyn Device>, cells: CodesView<'_>, numbers: ValueType) -> Result<Array, Error> {
    fn of<C: Code, N: bytemuck::Pod>(
        device: &Arc<dyn Device>,
        cells: GridView<'_, C>,
        number: fn(C) -> N,
    ) -> Result<Buffer, Error> {
        let rows = (0..cells.rows()).flat_map(|row| cells.row(row).iter().map(|&cell| number(cell)));
        Ok(Buffer::from_slice(device, &rows.collect::<Vec<N>>())?)
    }
    let memory = match (cells, numbers) {
        (CodesView::Bytes(cells), ValueType::U8) => of(device, cells, |cell| cell)?,
        (CodesView::Bytes(cells), _) => of(device, cells, u32::from)?,
        (CodesView::Words(cells), ValueType::U16) => of(device, cells, |cell| cell)?,
        (CodesView::Words(cells), _) => of(device, cells, u32::from)?,
    };
    Ok(Array { numbers, memory, rows: cells.rows(), cols: cells.cols() })
}

impl Array {
    fn grid(&self) -> Result<DeviceGrid<'_>, Error> {
        // SAFETY: nothing writes to the numbers.
        unsafe { DeviceGrid::of_buffer(&self.memory, self.numbers, self.rows, self.cols) }.map_err(no_array)
    }
}

/// An array that devices do not take, as 2^34 columns: not this work on this device.
fn no_array(error: ArrayError) -> Error {
    Error::KernelMisfit { kernel: AUTO, reason: error.to_string() }
}

/// From an array to a result in the same memory.
pub(super) struct OnDevice<'a, T> {
    entropy: &'a Entropy,
    array: Array,
    found: Found,
    /// The classes that were known before.
    known: Option<Classes>,
    /// How many [`Found::Bins`] there are.
    bins: usize,
    out: Buffer,
    /// The last result, when it has been asked for.
    fetched: Grid<T>,
    kernel: Option<Kernel>,
    /// Of the last run.
    kernel_seconds: f64,
}

impl<'a, T: Real> OnDevice<'a, T> {
    /// Of codes, whose number `entropy` has; of words the classes are found here, since only bytes can be promised.
    pub fn promised(entropy: &'a Entropy, device: &Arc<dyn Device>, cells: CodesView<'_>) -> Result<Self, Error> {
        let (numbers, words) = match cells {
            CodesView::Bytes(_) => (ValueType::U8, false),
            CodesView::Words(_) => (ValueType::U16, true),
        };
        let array = array(device, cells, numbers)?;
        let known = words.then(|| Classes::survey_on(&array.grid()?, None, None).map_err(Error::from)).transpose()?;
        Self::new(entropy, array, if words { Found::Before } else { Found::Codes }, known, 0)
    }

    fn new(
        entropy: &'a Entropy,
        array: Array,
        found: Found,
        known: Option<Classes>,
        bins: usize,
    ) -> Result<Self, Error> {
        let out = Buffer::new(array.memory.device(), array.rows * array.cols * size_of::<T>())?;
        out.device().fill(&out, UNWRITTEN)?;
        let fetched = Grid::<T>::zeros(array.rows, array.cols)?;
        Ok(Self { entropy, array, found, known, bins, out, fetched, kernel: None, kernel_seconds: 0.0 })
    }
}

impl<T: Real> Running for OnDevice<'_, T>
where
    for<'v> GridView<'v, T>: Into<Values<'v>>,
{
    fn run(&mut self, observer: &dyn Observer) -> Result<f64, Error> {
        let cells = self.array.grid()?;
        let out = DeviceGridMut::<T>::of_buffer(&mut self.out, self.array.rows, self.array.cols).map_err(no_array)?;
        let start = Instant::now();
        let made = match self.found {
            Found::Codes | Found::Before => None,
            Found::Survey => Some(Classes::survey_on(&cells, None, None)?),
            Found::Bins => Some(Classes::bins_on(&cells, None, self.bins, BinRule::EqualWidth, None)?),
        };
        let classes = made.as_ref().or(self.known.as_ref());
        let report = self.entropy.measure_on_device(&cells, classes, None, vec![out], observer)?;
        let seconds = start.elapsed().as_secs_f64();
        (self.kernel, self.kernel_seconds) = (report.kernel, report.kernel_seconds);
        Ok(seconds)
    }

    fn result(&mut self) -> Result<Values<'_>, Error> {
        self.fetched = Grid::from_vec(self.out.to_vec()?, self.fetched.rows(), self.fetched.cols())?;
        Ok(self.fetched.view().into())
    }

    fn details(&self) -> Details {
        let kernels = Reading { name: "kernels".to_owned(), value: self.kernel_seconds * 1e3, unit: "ms".to_owned() };
        let chosen = self.kernel.map(|kernel| kernel.name().to_owned());
        Details { chosen, readings: vec![kernels], ..Details::default() }
    }
}
