//! Masks: which cells they mask, and whether a mask lies where its raster lies.
//!
//! A mask of the same shape may be of another region, and every cell of the result would be silently about the wrong place. So corners are
//! compared, in cells of the raster, and codes of coordinate reference systems. What cannot be compared (one of the two says
//! nothing, or spells its system out) is said, not refused: masks are drawn in programs that keep no georeference.

use std::ops::Range;

use super::cell::{Cell, each};
use super::{Georeference, Origins, Raster, Values};
use crate::io::{FormatError, Nodata, Place};
use crate::numbers::ValueType;

/// Corners may differ by this part of a cell: programs write coordinates with a few digits, and resample with a few more.
const TOLERANCE: f64 = 0.01;

/// Why a mask cannot be put on a raster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MaskError {
    /// The mask has another shape than the raster.
    #[error(
        "{mask}: the mask has {mask_rows} rows and {mask_cols} columns, and {name} has {rows} and {cols}; \
         crop or resample one of them"
    )]
    Shape {
        /// The mask.
        mask: String,
        /// Its rows.
        mask_rows: usize,
        /// Its columns.
        mask_cols: usize,
        /// The raster.
        name: String,
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
    },
    /// The mask is of another place than the raster.
    #[error(
        "{mask}: the mask lies elsewhere: its {what} is {mask_place}, and that of {name} is {place}; \
         give a mask of the same place, as with gdalwarp"
    )]
    Elsewhere {
        /// The mask.
        mask: String,
        /// The raster.
        name: String,
        /// What differs: a corner, or the coordinate reference system.
        what: String,
        /// What the mask has.
        mask_place: String,
        /// What the raster has.
        place: String,
    },
}

/// Checks that `mask` can be put on `raster`; what could not be compared, if that is worth knowing.
///
/// # Errors
/// [`MaskError::Shape`] and [`MaskError::Elsewhere`].
pub fn check_mask(raster: &dyn Raster, mask: &dyn Raster) -> Result<Option<String>, MaskError> {
    let (rows, cols) = (raster.rows(), raster.cols());
    if (mask.rows(), mask.cols()) != (rows, cols) {
        return Err(MaskError::Shape {
            mask: mask.name().to_owned(),
            mask_rows: mask.rows(),
            mask_cols: mask.cols(),
            name: raster.name().to_owned(),
            rows,
            cols,
        });
    }
    let elsewhere = |what: &str, its: String, ours: String| MaskError::Elsewhere {
        mask: mask.name().to_owned(),
        name: raster.name().to_owned(),
        what: what.to_owned(),
        mask_place: its,
        place: ours,
    };
    let (ours, its) = match (raster.georeference(), mask.georeference()) {
        (Some(ours), Some(its)) => (ours, its),
        (Some(_), None) => {
            return Ok(Some(format!(
                "{}: the mask does not say where it lies; its cells are taken for those of {}",
                mask.name(),
                raster.name()
            )));
        }
        (None, _) => return Ok(None),
    };
    let crs = (ours.epsg(), its.epsg());
    if let (Some(ours), Some(its)) = crs
        && ours != its
    {
        return Err(elsewhere("coordinate reference system", format!("EPSG:{its}"), format!("EPSG:{ours}")));
    }
    if let (Some(our_place), Some(its_place)) = (ours.geotransform(), its.geotransform()) {
        for (name, col, row) in CORNERS {
            let corner = (col * cols as f64, row * rows as f64);
            let (here, there) = (at(our_place, corner), at(its_place, corner));
            let offset = in_cells(our_place, (there.0 - here.0, there.1 - here.1));
            // Also where they are so far apart that the difference is no number.
            if !(offset.0.abs() <= TOLERANCE && offset.1.abs() <= TOLERANCE) {
                let show = |(x, y): (f64, f64)| format!("({x}, {y})");
                return Err(elsewhere(&format!("{name} corner"), show(there), show(here)));
            }
        }
    } else if ours.is_placed() != its.is_placed() {
        let silent = if ours.is_placed() { mask } else { raster };
        return Ok(Some(format!(
            "{}: the file does not say where its cells lie; the mask's place cannot be compared",
            silent.name()
        )));
    }
    // Both the same in other words, as files of one program have it.
    let same_words = |a: &Georeference, b: &Georeference| {
        (&a.key_directory, &a.key_doubles, &a.key_text) == (&b.key_directory, &b.key_doubles, &b.key_text)
    };
    let unknown = matches!(crs, (None, _) | (_, None)) && !same_words(ours, its);
    Ok(unknown.then(|| {
        let of = |code: Option<u16>| code.map_or("one without a code".to_owned(), |code| format!("EPSG:{code}"));
        format!(
            "{}: the mask's coordinate reference system ({}) cannot be compared with that of {} ({})",
            mask.name(),
            of(its.epsg()),
            raster.name(),
            of(ours.epsg())
        )
    }))
}

const CORNERS: [(&str, f64, f64); 4] =
    [("upper left", 0.0, 0.0), ("upper right", 1.0, 0.0), ("lower left", 0.0, 1.0), ("lower right", 1.0, 1.0)];

pub(super) fn at(t: [f64; 6], (col, row): (f64, f64)) -> (f64, f64) {
    (t[0] + col * t[1] + row * t[2], t[3] + col * t[4] + row * t[5])
}

/// A distance in columns and rows.
pub(super) fn in_cells(t: [f64; 6], (x, y): (f64, f64)) -> (f64, f64) {
    let determinant = t[1] * t[5] - t[2] * t[4];
    ((x * t[5] - y * t[2]) / determinant, (y * t[1] - x * t[4]) / determinant)
}

/// Gives a raster and the mask that will be laid over it their shares of the memory, as [`Raster::set_cache_bytes`] does for one.
///
/// # Errors
/// As for [`Raster::set_cache_bytes`].
pub fn set_cache_bytes(
    raster: &mut dyn Raster,
    mask: Option<&mut dyn Raster>,
    bytes: usize,
) -> Result<(), FormatError> {
    let Some(mask) = mask else { return raster.set_cache_bytes(bytes) };
    // By what a cell takes in each.
    let (ours, masks) = (raster.value_type().bytes(), mask.value_type().bytes());
    let share = bytes / (ours + masks) * ours;
    raster.set_cache_bytes(share)?;
    mask.set_cache_bytes(bytes - share)
}

/// A raster some cells of which are masked, for finding its classes
/// ([`Classes::survey`](crate::classes::Classes::survey), [`Classes::bins`](crate::classes::Classes::bins)): what is masked counts for nothing there either.
pub struct MaskedRaster<'a> {
    raster: &'a dyn Raster,
    mask: &'a dyn Raster,
}

impl<'a> MaskedRaster<'a> {
    /// `raster` without the cells at which `mask` is 0, no data or NaN; `None` unless both have one shape.
    pub fn new(raster: &'a dyn Raster, mask: &'a dyn Raster) -> Option<Self> {
        ((raster.rows(), raster.cols()) == (mask.rows(), mask.cols())).then_some(Self { raster, mask })
    }
}

impl Raster for MaskedRaster<'_> {
    fn name(&self) -> &str {
        self.raster.name()
    }

    fn rows(&self) -> usize {
        self.raster.rows()
    }

    fn cols(&self) -> usize {
        self.raster.cols()
    }

    fn value_type(&self) -> ValueType {
        self.raster.value_type()
    }

    fn block(&self) -> (usize, usize) {
        self.raster.block()
    }

    fn in_order(&self) -> bool {
        self.raster.in_order() || self.mask.in_order()
    }

    fn nodata(&self) -> Option<Nodata> {
        self.raster.nodata()
    }

    fn georeference(&self) -> Option<&Georeference> {
        self.raster.georeference()
    }

    fn items(&self) -> &[(String, String)] {
        self.raster.items()
    }

    fn place(&self, row: usize, col: usize) -> Place {
        self.raster.place(row, col)
    }

    fn has_mask(&self) -> bool {
        true
    }

    fn origins(&self) -> Origins {
        self.raster.origins()
    }

    fn read(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Values, FormatError> {
        self.raster.read(rows, cols)
    }

    fn masked(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Option<Vec<bool>>, FormatError> {
        masked_by(self.raster, self.mask, rows, cols).map(Some)
    }
}

/// Where the raster's own mask hides a cell, or `mask` does, which may have one of its own too.
pub(crate) fn masked_by(
    raster: &dyn Raster,
    mask: &dyn Raster,
    rows: Range<usize>,
    cols: Range<usize>,
) -> Result<Vec<bool>, FormatError> {
    let nodata = mask.nodata();
    let values = mask.read(rows.clone(), cols.clone())?;
    let mut masked: Vec<bool> =
        each!(&values, values => values.iter().map(|&value| is_masked(value, nodata)).collect());
    for own in [raster.masked(rows.clone(), cols.clone())?, mask.masked(rows, cols)?].into_iter().flatten() {
        masked.iter_mut().zip(own).for_each(|(masked, own)| *masked |= own);
    }
    Ok(masked)
}

/// True where the mask's value masks the cell.
fn is_masked<T: Cell>(value: T, nodata: Option<Nodata>) -> bool {
    value.is_nan() || T::exact(0) == Some(value) || nodata.is_some_and(|nodata| T::nodata(nodata) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::tests::Numbers;
    use crate::raster::georeference::CrsKind;

    fn placed(code: u16, t: [f64; 6]) -> Georeference {
        let mut place = Georeference::default();
        if code > 0 {
            place.set_epsg(CrsKind::Projected, code);
        }
        place.set_geotransform(t);
        place
    }

    fn check(ours: Option<Georeference>, its: Option<Georeference>) -> Result<Option<String>, String> {
        let raster = |name: &'static str, place| {
            let mut raster = Numbers::new(20, 10, Values::U8(vec![1; 200])).named(name);
            raster.place = place;
            raster
        };
        check_mask(&raster("map", ours), &raster("mask", its)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_mask_lies_where_the_raster_lies() {
        let t = [5e5, 30.0, 0.0, 4e6, 0.0, -30.0];
        let here = || Some(placed(32633, t));
        assert_eq!(check(None, None), Ok(None));
        assert_eq!(check(None, here()), Ok(None));
        assert_eq!(check(here(), here()), Ok(None));
        let moved = |x: f64, y: f64| Some(placed(32633, [t[0] + x, t[1], 0.0, t[3] + y, 0.0, t[5]]));
        assert_eq!(check(here(), moved(0.29, -0.29)), Ok(None));
        assert_eq!(
            check(here(), moved(0.0, 0.31)),
            Err("mask: the mask lies elsewhere: its upper left corner is (500000, 4000000.31), and that of map is (500000, 4000000); \
                 give a mask of the same place, as with gdalwarp"
                .to_owned())
        );
        assert!(check(here(), moved(1e5, 0.0)).is_err());
        // Cells of another size have one corner in common.
        let wider = Some(placed(32633, [t[0], 30.1, 0.0, t[3], 0.0, t[5]]));
        assert!(check(here(), wider).unwrap_err().contains("upper right corner"));
        assert_eq!(
            check(here(), Some(placed(3035, t))),
            Err("mask: the mask lies elsewhere: its coordinate reference system is EPSG:3035, and that of map is EPSG:32633; \
                 give a mask of the same place, as with gdalwarp"
                .to_owned())
        );
        assert!(check(here(), moved(f64::MAX, f64::MAX)).is_err());
    }

    #[test]
    fn what_cannot_be_compared_is_said() {
        let t = [5e5, 30.0, 0.0, 4e6, 0.0, -30.0];
        let said = |ours, its| check(ours, its).unwrap().unwrap_or_default();
        assert!(said(Some(placed(32633, t)), None).contains("does not say where it lies"));
        assert_eq!(
            said(Some(placed(32633, t)), Some(placed(0, t))),
            "mask: the mask's coordinate reference system (one without a code) cannot be compared with that of map (EPSG:32633)"
        );
        // Both spelled out, in the same words and in others.
        let spelled = |text: &str| {
            let mut place = placed(0, t);
            place.key_text = Some(text.to_owned());
            Some(place)
        };
        assert_eq!(said(spelled("a"), spelled("a")), "");
        assert!(said(spelled("a"), spelled("b")).contains("cannot be compared"));
        let unplaced = Georeference { pixel_scale: None, tiepoints: None, ..placed(32633, t) };
        assert!(said(Some(placed(32633, t)), Some(unplaced)).starts_with("mask: the file does not say where"));
    }

    /// What a mask hides is no class, counts in no bin and need be no whole number.
    #[test]
    fn what_is_hidden_is_not_looked_at() {
        use crate::classes::{BinRule, Classes, ClassesError};
        let mask = Numbers::new(2, 3, Values::U8(vec![1, 1, 0, 1, 1, 0]));
        let raster = Numbers::new(2, 3, Values::F64(vec![0.0, 10.0, 1000.5, 20.0, 30.0, -7.5]));
        let seen = MaskedRaster::new(&raster, &mask).unwrap();
        let (classes, survey) = Classes::survey(&seen, None, &()).unwrap();
        assert_eq!((classes.levels(), survey.cells), (4, vec![1, 1, 1, 1]));
        assert!(matches!(
            Classes::survey(&raster, None, &()),
            Err(ClassesError::Fraction { place, .. }) if *place == Place::cell(0, 2)
        ));
        for rule in [BinRule::EqualWidth, BinRule::Quantile] {
            let classes = Classes::bins(&seen, 4, rule, None, &()).unwrap();
            let mut codes = [9u8; 6];
            classes.encode(&Values::F64(vec![0.0, 10.0, 20.0, 30.0, 0.0, 0.0]), &mut codes).unwrap();
            assert_eq!(codes[..4], [0, 1, 2, 3], "{rule:?}");
        }
        // The place of what is wrong is that in the raster.
        let raster = Numbers::new(2, 3, Values::F64(vec![0.0, 10.0, 1000.5, 20.0, 30.25, -7.5]));
        let seen = MaskedRaster::new(&raster, &mask).unwrap();
        assert!(matches!(
            Classes::survey(&seen, None, &()),
            Err(ClassesError::Fraction { place, .. }) if *place == Place::cell(1, 1)
        ));
        assert!(MaskedRaster::new(&raster, &Numbers::new(3, 2, Values::U8(vec![1; 6]))).is_none());
    }
}
