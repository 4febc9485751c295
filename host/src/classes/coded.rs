//! A raster seen as the codes of its classes, with a mask laid over it: what the engines stream.
//!
//! Numbers may be eight times as wide as codes, so a rectangle is not read at once: it comes in pieces of whole rows of blocks, each of
//! which becomes codes, by all threads, before the next one is read.

use std::ops::Range;

use rayon::prelude::*;

use super::{Classes, ClassesError, MASKED, UnknownValue};
use crate::codes::{Code, CodesMut};
use crate::grid::GridViewMut;
use crate::io::FormatError;
use crate::raster::mask::masked_by;
use crate::raster::{Cells, Georeference, Origins, Raster, check_mask};

/// Cells of a piece, unless a row of blocks has more.
const PIECE: usize = 1 << 22;

/// A raster, the classes of its numbers, and a mask.
///
/// ```
/// use halotile::classes::{Classes, CodedRaster};
/// use halotile::grid::{Grid, GridViewMut};
/// use halotile::raster::{Cells, GridRaster};
///
/// let map = GridRaster::new("map", Grid::from_vec(vec![11u8, 95, 21, 95], 2, 2)?, None);
/// let mask = GridRaster::new("mask", Grid::from_vec(vec![1u8, 1, 0, 1], 2, 2)?, None);
/// let (classes, _) = Classes::survey(&map, None, &())?;
/// let coded = CodedRaster::new(Box::new(map), classes, Some(Box::new(mask)))?;
/// let mut codes = [0u8; 4];
/// coded.read_into(0..2, 0..2, GridViewMut::new(&mut codes, 2, 2)?.into())?;
/// assert_eq!((codes, coded.nodata_code()), ([0, 2, 3, 2], Some(3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CodedRaster {
    raster: Box<dyn Raster>,
    classes: Classes,
    mask: Option<Box<dyn Raster>>,
}

impl std::fmt::Debug for CodedRaster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CodedRaster({}, {} x {}, {} levels)", self.name(), self.rows(), self.cols(), self.levels())
    }
}

impl CodedRaster {
    /// `raster` as `classes` has it. Cells where `mask` is 0 or has no data have none, and so have those that a mask in the raster's own
    /// file hides; `mask` has as many rows and columns as the raster, lies in the same place as far as both say where, and makes a
    /// code for no data necessary.
    ///
    /// # Errors
    /// Those of [`check_mask`]; classes that leave no code for no data.
    pub fn new(
        raster: Box<dyn Raster>,
        mut classes: Classes,
        mask: Option<Box<dyn Raster>>,
    ) -> Result<Self, ClassesError> {
        if let Some(mask) = &mask {
            check_mask(raster.as_ref(), mask.as_ref())?;
            classes.reserve()?;
        }
        if raster.has_mask() {
            // Without room a cell that the file's own mask hides is an error where it is met: masks that hide nothing are common.
            let _ = classes.reserve();
        }
        classes.reserve_for(raster.value_type());
        Ok(Self { raster, classes, mask })
    }

    /// What its meaning comes from.
    pub fn origins(&self) -> Origins {
        self.raster.origins()
    }

    /// The classes.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// Where it lies, if the file says so.
    pub fn georeference(&self) -> Option<&Georeference> {
        self.raster.georeference()
    }

    /// Which cells have no data whatever their values, by the file's own mask or by the one laid over it.
    fn masked(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Option<Vec<bool>>, FormatError> {
        match &self.mask {
            Some(mask) => Ok(Some(masked_by(self.raster.as_ref(), mask.as_ref(), rows, cols)?)),
            None => self.raster.masked(rows, cols),
        }
    }

    fn read_piece<C: Code>(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        out: GridViewMut<'_, C>,
    ) -> Result<(), FormatError> {
        let width = cols.len();
        let values = self.raster.read(rows.clone(), cols.clone())?;
        let masked = self.masked(rows.clone(), cols.clone())?;
        let no_room = |i: usize| UnknownValue { index: i, value: MASKED.to_owned() };
        let row = |(r, out): (usize, &mut [C])| {
            let part = r * width..(r + 1) * width;
            let Some(masked) = masked.as_ref().map(|masked| &masked[part.clone()]) else {
                return self.classes.encode_part(&values, part, out).map_err(|unknown| (r, unknown));
            };
            let encoded = match self.classes.encode_part(&values, part.clone(), out) {
                // What a mask hides need be no class: seldom enough to be looked at cell by cell.
                Err(_) => (0..width).filter(|&i| !masked[i]).try_for_each(|i| {
                    let cell = part.start + i..part.start + i + 1;
                    let encoded = self.classes.encode_part(&values, cell, &mut out[i..=i]);
                    encoded.map_err(|unknown| (r, UnknownValue { index: i, ..unknown }))
                }),
                Ok(()) => Ok(()),
            };
            let mut masked = (0..width).filter(|&i| masked[i]);
            match self.nodata_code() {
                Some(code) => masked.for_each(|i| out[i] = C::low(code.into())),
                None => masked.next().map_or(Ok(()), |i| Err((r, no_room(i))))?,
            }
            encoded
        };
        let rows_of_out: Vec<_> = out.into_rows().enumerate().collect();
        // The first in reading order, in whatever order rows are done.
        let failed = rows_of_out.into_par_iter().map(row).find_map_first(Result::err);
        match failed {
            None => Ok(()),
            Some((r, unknown)) => {
                let place = self.raster.place(rows.start + r, cols.start + unknown.index);
                Err(self.classes.problem(&unknown).at(self.name(), place))
            }
        }
    }
}

impl Cells for CodedRaster {
    fn name(&self) -> &str {
        self.raster.name()
    }

    fn rows(&self) -> usize {
        self.raster.rows()
    }

    fn cols(&self) -> usize {
        self.raster.cols()
    }

    fn block(&self) -> (usize, usize) {
        self.raster.block()
    }

    fn in_order(&self) -> bool {
        self.raster.in_order() || self.mask.as_ref().is_some_and(|mask| mask.in_order())
    }

    fn bytes_per_cell(&self) -> usize {
        let own = usize::from(self.raster.has_mask());
        // A mask's numbers, and the flags that are made of them.
        self.raster.value_type().bytes() + own + self.mask.as_ref().map_or(0, |mask| mask.value_type().bytes() + 1)
    }

    fn levels(&self) -> usize {
        self.classes.levels()
    }

    fn nodata_code(&self) -> Option<u16> {
        self.classes.nodata_code()
    }

    fn read_into(&self, rows: Range<usize>, cols: Range<usize>, out: CodesMut<'_>) -> Result<(), FormatError> {
        match out {
            CodesMut::Bytes(out) => self.read_codes(rows, cols, out),
            CodesMut::Words(out) => self.read_codes(rows, cols, out),
        }
    }
}

impl CodedRaster {
    fn read_codes<C: Code>(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        out: GridViewMut<'_, C>,
    ) -> Result<(), FormatError> {
        assert_eq!((rows.len(), cols.len()), (out.rows(), out.cols()), "a place for every cell");
        let block = self.block().0.max(1);
        let (mut row, mut left) = (rows.start, Some(out));
        while let Some(out) = left.take() {
            let blocks = (PIECE / cols.len() / block).max(1);
            let next = (row / block + blocks).saturating_mul(block).min(rows.end);
            let (piece, rest) = if next < rows.end {
                let (piece, rest) = out.split_rows(next - row);
                (piece, Some(rest))
            } else {
                (out, None)
            };
            self.read_piece(row..next, cols.clone(), piece)?;
            (row, left) = (next, rest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::tests::{Numbers, of_type};
    use crate::grid::Grid;
    use crate::io::{Nodata, Place};
    use crate::numbers::ValueType;
    use crate::raster::Values;

    fn read(coded: &CodedRaster) -> Result<Grid<u8>, FormatError> {
        read_as(coded)
    }

    fn read_as<C: Code>(coded: &CodedRaster) -> Result<Grid<C>, FormatError> {
        let mut out = Grid::zeros(coded.rows(), coded.cols()).unwrap();
        coded.read_into(0..coded.rows(), 0..coded.cols(), out.view_mut().into())?;
        Ok(out)
    }

    #[test]
    fn rectangles_are_read_wherever_blocks_end() {
        let (rows, cols) = (1500, 4000);
        let number = |r: usize, c: usize| ((r * 31 + c * 7) % 97) as i128 * 100 - 300;
        let numbers: Vec<i128> = (0..rows * cols).map(|i| number(i / cols, i % cols)).collect();
        let raster = Numbers::new(rows, cols, of_type(ValueType::I16, &numbers).unwrap()).blocks(128, 256);
        let (classes, _) = Classes::survey(&raster, None, &()).unwrap();
        let coded = CodedRaster::new(Box::new(raster), classes, None).unwrap();
        for (rows, cols) in [(0..rows, 0..cols), (127..1409, 3..3999), (700..701, 5..6), (1..3, 0..cols)] {
            // Rows apart, and nothing between them touched.
            let mut out = vec![255; rows.len() * (cols.len() + 3)];
            let view = GridViewMut::with_stride(&mut out, rows.len(), cols.len(), cols.len() + 3).unwrap();
            coded.read_into(rows.clone(), cols.clone(), view.into()).unwrap();
            for (i, row) in rows.clone().zip(out.chunks(cols.len() + 3)) {
                let expected = cols.clone().map(|c| ((number(i, c) + 300) / 100) as u8).chain([255; 3]);
                assert!(row.iter().copied().eq(expected), "{rows:?} {cols:?}: row {i}");
            }
        }
    }

    #[test]
    fn masks_hide_cells_of_every_type() {
        let cells = Values::I32(vec![11, 21, 95, 11, 21, 95]);
        for (mask, masked) in [
            (Values::U8(vec![1, 0, 255, 0, 2, 3]), vec![1, 3]),
            (Values::I8(vec![-1, 0, 5, 9, 9, 0]), vec![1, 3, 4, 5]),
            (Values::F32(vec![f32::NAN, -0.0, 0.5, 9.0, 1.0, 1.0]), vec![0, 1, 3]),
            (Values::U64(vec![1; 6]), vec![]),
        ] {
            let raster = Numbers::new(2, 3, cells.clone());
            let (classes, _) = Classes::survey(&raster, None, &()).unwrap();
            assert_eq!(classes.nodata_code(), None);
            let mask = Numbers::new(2, 3, mask).nodata(Nodata::Whole(9));
            let coded = CodedRaster::new(Box::new(raster), classes, Some(Box::new(mask))).unwrap();
            assert_eq!((coded.levels(), coded.nodata_code()), (3, Some(3)));
            let expected: Vec<u8> = (0..6).map(|i| if masked.contains(&i) { 3 } else { i as u8 % 3 }).collect();
            assert_eq!(read(&coded).unwrap().as_slice(), expected);
        }
    }

    #[test]
    fn what_the_files_own_mask_hides_has_no_data_either() {
        let values = || Values::U8(vec![5, 6, 7, 5, 6, 200]);
        let raster = || Numbers::new(2, 3, values()).masking(&[1, 5]);
        let (classes, survey) = Classes::survey(&raster(), Some(Nodata::Whole(7)), &()).unwrap();
        assert_eq!((classes.levels(), survey.cells), (2, vec![2, 1]));
        let of = |mask: Option<Box<dyn Raster>>| {
            read(&CodedRaster::new(Box::new(raster()), classes.clone(), mask).unwrap()).unwrap().as_slice().to_vec()
        };
        // By its mask, by its value for no data.
        assert_eq!(of(None), [0, 2, 2, 0, 1, 2]);
        // A mask over it, which has a mask in its own file.
        let over = Numbers::new(2, 3, Values::U8(vec![0, 1, 1, 1, 1, 1])).masking(&[3]);
        assert_eq!(of(Some(Box::new(over))), [2, 2, 2, 2, 1, 2]);
        // 65,536 classes leave no code: a mask that hides nothing needs none.
        let all = |masked: &[usize]| {
            let raster = Numbers::new(1, 256, Values::U8((0..=255).collect())).masking(masked);
            read_as::<u16>(&CodedRaster::new(Box::new(raster), Classes::identity(65_536, None).unwrap(), None).unwrap())
        };
        assert_eq!(all(&[]).unwrap().as_slice(), (0..=255).collect::<Vec<u16>>());
        let error = all(&[17]).unwrap_err();
        assert_eq!(error.place(), Place::cell(0, 17));
        assert!(
            error.to_string().contains("own mask says that there is no data, and 65536 classes leave no code for it"),
            "{error}"
        );
    }

    #[test]
    fn misfits_are_named_unless_a_mask_hides_them() {
        let numbers = |mask: &[u8]| {
            let raster = Numbers::new(2, 3, Values::F64(vec![0.0, 1.0, 7.5, 1.0, 9.0, f64::NAN]));
            let mask = (!mask.is_empty())
                .then(|| -> Box<dyn Raster> { Box::new(Numbers::new(2, 3, Values::U8(mask.to_vec()))) });
            CodedRaster::new(Box::new(raster), Classes::identity(2, None).unwrap(), mask).unwrap()
        };
        assert_eq!(
            read(&numbers(&[])).unwrap_err().to_string(),
            "numbers: row 0, column 2 (counted from 0): the value 7.5 is no level from 0 to 1; \
             ask for more levels or for none, or name the nodata value if this is it"
        );
        let error = read(&numbers(&[1, 1, 0, 1, 1, 1])).unwrap_err();
        assert_eq!(error.place(), Place::cell(1, 1));
        // NaN has a code although none was asked for.
        assert_eq!(read(&numbers(&[0, 1, 0, 1, 0, 1])).unwrap().as_slice(), [2, 1, 2, 1, 2, 2]);
        let raster = Numbers::new(1, 2, Values::I16(vec![3, 4]));
        let classes = Classes::parse("3", "list.csv", None).unwrap();
        let coded = CodedRaster::new(Box::new(raster), classes, None).unwrap();
        assert_eq!(
            read(&coded).unwrap_err().to_string(),
            "numbers: row 0, column 1 (counted from 0): the value 4 is not listed in list.csv; \
             list it, or add a line *,nodata"
        );
    }

    /// Of many classes, and of 256 where a mask takes one code more.
    #[test]
    fn codes_are_words_where_they_are_many() {
        let values = Values::I32((0..1000).map(|i| i % 300 * 5).collect());
        let mask = || Box::new(Numbers::new(10, 100, Values::U8((0..1000).map(|i| u8::from(i != 7)).collect())));
        let raster = Numbers::new(10, 100, values);
        let (classes, _) = Classes::survey(&raster, None, &()).unwrap();
        let coded = CodedRaster::new(Box::new(raster), classes, Some(mask())).unwrap();
        assert_eq!((coded.levels(), coded.nodata_code(), coded.classes().width()), (300, Some(300), 2));
        let expected = |i: usize| if i == 7 { 300 } else { i % 300 };
        let got = read_as::<u16>(&coded).unwrap();
        assert!(got.as_slice().iter().enumerate().all(|(i, &code)| usize::from(code) == expected(i)));
        let bytes = Numbers::new(10, 100, Values::U8((0..1000).map(|i| i as u8).collect()));
        let coded = CodedRaster::new(Box::new(bytes), Classes::identity(256, None).unwrap(), Some(mask())).unwrap();
        assert_eq!((coded.nodata_code(), coded.classes().width()), (Some(256), 2));
        assert_eq!(read_as::<u16>(&coded).unwrap().row(0)[5..9], [5, 6, 256, 8]);
    }

    #[test]
    fn masks_need_the_same_shape_and_a_code() {
        let raster = || Box::new(Numbers::new(2, 3, Values::U8(vec![0; 6])));
        let mask = Box::new(Numbers::new(3, 2, Values::U8(vec![0; 6])));
        let error = CodedRaster::new(raster(), Classes::identity(4, None).unwrap(), Some(mask)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "numbers: the mask has 3 rows and 2 columns, and numbers has 2 and 3; crop or resample one of them"
        );
        let full = Classes::identity(65_536, None).unwrap();
        assert!(matches!(CodedRaster::new(raster(), full, Some(raster())), Err(ClassesError::NoRoom)));
    }
}
