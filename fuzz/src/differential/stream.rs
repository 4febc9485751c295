//! Entropy of a raster that is read in pieces beside that of the same grid in memory: bit for bit.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use halotile::classes::Classes;
use halotile::classes::CodedRaster;
use halotile::entropy::{Codes, Engine};
use halotile::grid::{Grid, GridView};
use halotile::io::{FormatError, Nodata};
use halotile::measure::Footprint;
use halotile::numbers::Real;
use halotile::numbers::ValueType;
use halotile::raster::{Georeference, GridRaster, Raster, ResultSink, Values};

use super::POOL;
use super::entropy::Question;
use crate::case::Case;

/// Streams a grid from blocks of one shape to blocks of another, within a limit to memory.
pub fn stream(input: &[u8]) {
    let mut case = Case::new(input);
    let double = case.flip();
    let blocks = (case.number(1, 40), case.number(1, 40));
    let out_blocks = (case.number(1, 40), case.number(1, 40));
    let whole_rows = case.flip();
    let memory = case.one(&[None, Some(1 << 20), Some(16 << 20), Some(100 << 20), Some(128 << 20), Some(1 << 30)]);
    let plain = case.flip();
    let mut question = Question::draw(&mut case, (70, 90), 15, plain);
    if case.seldom(8) {
        // Pieces with halos that are larger than they are.
        question.footprint = Footprint::square(257 + 2 * case.number(0, 60)).expect("the side of a window is odd");
    }
    let run = || match double {
        true => streamed::<f64>(&question, blocks, (out_blocks, whole_rows), memory),
        false => streamed::<f32>(&question, blocks, (out_blocks, whole_rows), memory),
    };
    POOL.run(run);
}

fn streamed<T: Real>(
    question: &Question,
    block: (usize, usize),
    (out_block, whole_rows): ((usize, usize), bool),
    memory: Option<usize>,
) {
    let (rows, cols, planes) = (question.cells.rows(), question.cells.cols(), question.measures.len());
    let nodata = question.nodata.map(|nodata| Nodata::Whole(nodata.into()));
    // The same codes as in memory, where levels and nodata are codes.
    let classes = Classes::identity(question.levels, nodata);
    let Ok(classes) = classes else { return };
    let raster = Blocks { grid: GridRaster::new("f", question.cells.clone(), question.nodata.map(u16::from)), block };
    let Ok(cells) = CodedRaster::new(Box::new(raster), classes, None) else { return };
    let results: Vec<Grid<T>> = (0..planes).map(|_| Grid::zeros(rows, cols).expect("a shape")).collect();
    let results = Arc::new(Mutex::new((results, 0)));
    let out_block = if whole_rows { (out_block.0, cols) } else { out_block };
    let sink = Collect { results: Arc::clone(&results), block: out_block, whole_rows };
    // What results are normalised by, where the question says no number, is not the raster's.
    let entropy = question.entropy().nodata(None).levels(question.levels);
    match entropy.stream::<T>(&Engine::Cpu, &cells, Box::new(sink), memory, &()) {
        Ok(_) => {}
        Err(halotile::entropy::Error::Memory { .. }) if memory.is_some() => return,
        Err(error) => panic!("{error}: {question:?}"),
    }
    let (results, written) = &*results.lock().expect("no thread has panicked");
    assert_eq!(*written, rows * cols, "cells that were written; {question:?}");
    let mut codes = Grid::<u16>::zeros(rows, cols).expect("a shape");
    halotile::raster::Cells::read_into(&cells, 0..rows, 0..cols, codes.view_mut().into()).expect("all cells are codes");
    let coded = Codes { cells: codes.view(), levels: question.levels, nodata: cells.classes().nodata_code() };
    let mut expected: Vec<Grid<T>> = (0..planes).map(|_| Grid::zeros(rows, cols).expect("a shape")).collect();
    let outs = expected.iter_mut().map(Grid::view_mut).collect();
    entropy.measure_codes_into(&Engine::Cpu, coded, outs, &()).expect("it was streamed before");
    for (m, (got, expected)) in results.iter().zip(&expected).enumerate() {
        let same = bytemuck::cast_slice::<T, u8>(got.as_slice()) == bytemuck::cast_slice::<T, u8>(expected.as_slice());
        assert!(same, "measure {m} of a stream differs from that in memory; {question:?}");
    }
}

/// A grid in blocks of any shape.
struct Blocks {
    grid: GridRaster,
    block: (usize, usize),
}

impl Raster for Blocks {
    fn name(&self) -> &str {
        self.grid.name()
    }

    fn rows(&self) -> usize {
        self.grid.rows()
    }

    fn cols(&self) -> usize {
        self.grid.cols()
    }

    fn value_type(&self) -> ValueType {
        self.grid.value_type()
    }

    fn block(&self) -> (usize, usize) {
        self.block
    }

    fn nodata(&self) -> Option<Nodata> {
        self.grid.nodata()
    }

    fn georeference(&self) -> Option<&Georeference> {
        None
    }

    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        self.grid.read(rows, cols)
    }
}

/// Keeps results, and checks that they come as a sink is promised they do.
struct Collect<T> {
    /// The planes, and the cells that have come.
    results: Arc<Mutex<(Vec<Grid<T>>, usize)>>,
    block: (usize, usize),
    whole_rows: bool,
}

impl<T: Real> ResultSink<T> for Collect<T> {
    fn block(&self) -> (usize, usize) {
        self.block
    }

    fn whole_rows(&self) -> bool {
        self.whole_rows
    }

    fn write(&mut self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError> {
        let (results, written) = &mut *self.results.lock().expect("no thread has panicked");
        let (rows, cols) = (results[0].rows(), results[0].cols());
        let (high, wide) = (planes[0].rows(), planes[0].cols());
        let is_edge = |at: usize, block: usize, end: usize| at.is_multiple_of(block) || at == end;
        let begins = top.is_multiple_of(self.block.0) && left.is_multiple_of(self.block.1);
        let ends = is_edge(top + high, self.block.0, rows) && is_edge(left + wide, self.block.1, cols);
        assert!(begins && ends, "a rectangle at ({top}, {left}) of {high} x {wide} cuts blocks");
        assert!(!self.whole_rows || wide == cols, "rows are not whole");
        assert_eq!(planes.len(), results.len());
        for (result, plane) in results.iter_mut().zip(planes) {
            let mut rect = result.view_mut().rect(top..top + high, left..left + wide);
            (0..high).for_each(|row| rect.row_mut(row).copy_from_slice(plane.row(row)));
        }
        *written += high * wide;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), FormatError> {
        Ok(())
    }
}
