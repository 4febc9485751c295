//! Classes of a raster that is never seen whole: what was found in its parts, put together.
//!
//! A caller that has a raster in pieces on several machines surveys each piece, takes the union, and makes of it the classes that a survey
//! of the whole would have made. The same goes for bins of equal width, which lie between the least and the largest number of all
//! pieces.

use std::collections::BTreeSet;

use super::bins::{self, Edges};
use super::{Classes, ClassesError, Members, Origin, Others, Rule, check};
use crate::codes::MAX_LEVELS;
use crate::io::Nodata;
use crate::observe::Observer;
use crate::raster::Raster;

/// What bins of equal width have to know of a part of a raster.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Extent {
    /// The least and the largest finite number, if there is one.
    pub finite: Option<(f64, f64)>,
    /// There are infinite numbers.
    pub infinite: bool,
    /// There are cells without data.
    pub nodata: bool,
}

impl Extent {
    /// Reads all of the raster, once, in parallel and in bounded memory.
    ///
    /// # Errors
    /// [`ClassesError`]: the raster cannot be read, or the observer asked to stop.
    pub fn of(raster: &dyn Raster, nodata: Option<Nodata>, observer: &dyn Observer) -> Result<Self, ClassesError> {
        bins::extent(&bins::RasterPasses { raster, nodata, observer })
    }

    /// That of both parts.
    pub fn and(self, other: Self) -> Self {
        let finite = match (self.finite, other.finite) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (one, None) | (None, one) => one,
        };
        Self { finite, infinite: self.infinite | other.infinite, nodata: self.nodata | other.nodata }
    }
}

impl Classes {
    /// These values are the classes, in ascending order: what [`survey`](Self::survey) finds in a raster of which they are all that
    /// occurs. `nodata` is the value that is no data, and `occurs` says whether some cell has none.
    ///
    /// ```
    /// use halotile::classes::Classes;
    /// let parts = [vec![11, 21], vec![95, 11]];
    /// let classes = Classes::of_values(parts.concat(), None, true)?;
    /// assert_eq!((classes.levels(), classes.nodata_code()), (3, Some(3)));
    /// assert_eq!(classes.values(), Some(vec![11, 21, 95]));
    /// # Ok::<(), halotile::classes::ClassesError>(())
    /// ```
    ///
    /// # Errors
    /// More than 65,536 values, or 65,535 and no data.
    pub fn of_values(
        values: impl IntoIterator<Item = i128>,
        nodata: Option<Nodata>,
        occurs: bool,
    ) -> Result<Self, ClassesError> {
        let mut values: BTreeSet<i128> = values.into_iter().collect();
        if let Some(Nodata::Whole(value)) = nodata {
            values.remove(&value);
        }
        if values.len() > MAX_LEVELS - usize::from(occurs) {
            return Err(ClassesError::TooMany {
                name: "the parts together".to_owned(),
                seen: values.len(),
                more: false,
                nodata: occurs,
                most: MAX_LEVELS,
            });
        }
        let codes: std::collections::BTreeMap<_, _> = values.into_iter().zip((0..=u16::MAX).map(Some)).collect();
        let levels = codes.len().max(1);
        let rule = Rule::Listed { codes, others: Others::Error, names: vec![None; levels] };
        let mut classes = Self::new(rule, levels, nodata, Origin::Survey);
        classes.surveyed = true;
        if occurs {
            classes.reserve()?;
        }
        Ok(classes)
    }

    /// `bins` bins of equal width (1 to 65,536, or 65,535 where no data occurs) over an extent: what [`bins`](Self::bins) makes of a raster
    /// that has it.
    ///
    /// ```
    /// use halotile::classes::{Classes, Extent};
    /// let parts = [(0.0, 3.0), (-1.0, 2.0)].map(|finite| Extent { finite: Some(finite), ..Extent::default() });
    /// let classes = Classes::of_extent(parts[0].and(parts[1]), 4, None)?;
    /// assert_eq!(classes.edges(), Some(vec![0.0, 1.0, 2.0]));
    /// # Ok::<(), halotile::classes::ClassesError>(())
    /// ```
    ///
    /// # Errors
    /// [`ClassesError`]: a number of bins that there cannot be, or infinite numbers only.
    pub fn of_extent(extent: Extent, bins: usize, nodata: Option<Nodata>) -> Result<Self, ClassesError> {
        check("bins", bins)?;
        let edges = match extent.finite {
            Some((low, high)) => Edges::equal(low, high, bins),
            None if extent.infinite => return Err(ClassesError::Infinite { name: "the parts together".to_owned() }),
            None => Edges::nothing(extent.nodata),
        };
        let mut classes = Self::of_found(edges, true, nodata);
        if extent.nodata {
            classes.reserve()?;
        }
        Ok(classes)
    }

    /// Bins with these inner edges, one fewer than there are bins: bin k holds the numbers from edge k − 1 up to edge k, the latter not
    /// included, as NumPy's `digitize` has it. `occurs` says whether some cell has no data.
    ///
    /// ```
    /// use halotile::classes::{Classes, ClassesError};
    /// let classes = Classes::of_edges(vec![200.0, 500.0, 1000.0], None, false)?;
    /// assert_eq!(classes.levels(), 4);
    /// assert!(matches!(Classes::of_edges(vec![3.0, 1.0], None, false), Err(ClassesError::Bounds { .. })));
    /// # Ok::<(), ClassesError>(())
    /// ```
    ///
    /// # Errors
    /// Edges that are not finite, or not ascending; more bins than there are codes.
    pub fn of_edges(inner: Vec<f64>, nodata: Option<Nodata>, occurs: bool) -> Result<Self, ClassesError> {
        check("bins", inner.len() + 1)?;
        if let Some(edge) = inner.iter().find(|edge| !edge.is_finite()) {
            return Err(ClassesError::Bounds { low: *edge, high: *edge });
        }
        if let Some(pair) = inner.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(ClassesError::Bounds { low: pair[0], high: pair[1] });
        }
        let (low, high) = (inner.first().copied().unwrap_or(f64::NAN), inner.last().copied().unwrap_or(f64::NAN));
        let mut classes = Self::of_found(Edges { inner, low, high, nodata: occurs }, false, nodata);
        if occurs {
            classes.reserve()?;
        }
        Ok(classes)
    }

    /// The values of classes each of which is one value, in the order of their codes; `None` for others. There are none where a survey has
    /// found no value: its one class has no value.
    pub fn values(&self) -> Option<Vec<i128>> {
        if let Rule::Listed { codes, others: Others::Error, .. } = &self.rule
            && codes.is_empty()
        {
            return Some(Vec::new());
        }
        let one = |members| match members {
            Members::Values(values) => <[i128; 1]>::try_from(values).ok().map(|[value]| value),
            Members::OthersAnd(_) | Members::Between(..) => None,
        };
        self.describe().into_iter().map(|class| one(class.members)).collect()
    }

    /// The inner edges of bins, one fewer than there are bins; `None` for other classes.
    pub fn edges(&self) -> Option<Vec<f64>> {
        match &self.rule {
            Rule::Bins { edges, .. } => Some(edges.inner.clone()),
            Rule::Listed { .. } => None,
        }
    }

    /// Whether bytes need no encoding, because they are codes: `Some` with the byte that is no data, if one is; `None` where some byte has
    /// a code that is another number.
    ///
    /// ```
    /// use halotile::classes::Classes;
    /// use halotile::io::Nodata;
    /// let classes = Classes::of_values([0, 1, 2], Some(Nodata::Whole(255)), true)?;
    /// assert_eq!((classes.bytes_are_codes(), classes.nodata_code()), (Some(Some(255)), Some(3)));
    /// assert_eq!(Classes::of_values([1, 2], None, false)?.bytes_are_codes(), None);
    /// # Ok::<(), halotile::classes::ClassesError>(())
    /// ```
    pub fn bytes_are_codes(&self) -> Option<Option<u8>> {
        let Rule::Listed { codes, others: Others::Error, .. } = &self.rule else { return None };
        let same = codes.iter().all(|(&value, &code)| code.is_some_and(|code| i128::from(code) == value));
        let nodata = match self.nodata {
            Some(Nodata::Whole(value)) => u8::try_from(value).ok(),
            _ => None,
        };
        // A list may say of this value that it is a class.
        let nodata = nodata.filter(|&value| !codes.contains_key(&i128::from(value)));
        same.then_some(nodata)
    }

    fn of_found(edges: Edges, equal: bool, nodata: Option<Nodata>) -> Self {
        let mut classes = Self::laid_out(edges, equal, nodata);
        classes.surveyed = true;
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Numbers, of_type};
    use super::super::{BinRule, Survey};
    use super::*;
    use crate::numbers::ValueType;
    use crate::raster::Values;

    /// Classes that were put together of parts give every number the code that the classes of the whole give it.
    #[test]
    fn parts_together_are_the_whole() {
        let numbers: Vec<i128> = (0..600).map(|i| [11, 21, -7, 95, 1000, 42][(i * i + i / 7) % 6]).collect();
        for values in [ValueType::I16, ValueType::I64, ValueType::F32, ValueType::F64] {
            let nodata = Some(Nodata::Whole(42));
            let raster = |numbers: &[i128]| Numbers::line(of_type(values, numbers).unwrap());
            let encode = |classes: &Classes| {
                let mut codes = vec![0u8; numbers.len()];
                classes.encode(&of_type(values, &numbers).unwrap(), &mut codes).unwrap();
                (codes, classes.levels(), classes.nodata_code())
            };
            let parts: Vec<_> = numbers.chunks(77).map(raster).collect();
            let (whole, _) = Classes::survey(&raster(&numbers), nodata, &()).unwrap();
            let found: Vec<(Classes, Survey)> =
                parts.iter().map(|part| Classes::survey(part, nodata, &()).unwrap()).collect();
            let values_of = found.iter().flat_map(|(classes, _)| classes.values().unwrap());
            let together =
                Classes::of_values(values_of, nodata, found.iter().any(|(_, seen)| seen.nodata > 0)).unwrap();
            assert_eq!(encode(&together), encode(&whole));

            let whole = Classes::bins(&raster(&numbers), 7, BinRule::EqualWidth, nodata, &()).unwrap();
            let extents = parts.iter().map(|part| Extent::of(part, nodata, &()).unwrap());
            let together = Classes::of_extent(extents.fold(Extent::default(), Extent::and), 7, nodata).unwrap();
            assert_eq!(encode(&together), encode(&whole));
            let known = Classes::of_edges(whole.edges().unwrap(), nodata, true).unwrap();
            assert_eq!(encode(&known), encode(&whole));
        }
    }

    /// Where nothing has a value, and where there is nothing at all.
    #[test]
    fn classes_of_nothing() {
        let (nan, none) = (Numbers::line(Values::F64(vec![f64::NAN; 3])), Numbers::new(0, 5, Values::F64(Vec::new())));
        for (raster, occurs) in [(&nan, true), (&none, false)] {
            let (classes, survey) = Classes::survey(raster, None, &()).unwrap();
            assert_eq!((classes.values(), classes.levels()), (Some(Vec::new()), 1));
            assert_eq!((survey.cells, classes.nodata_code()), (Vec::new(), occurs.then_some(1)));
            for rule in [BinRule::EqualWidth, BinRule::Quantile] {
                let bins = Classes::bins(raster, 4, rule, None, &()).unwrap();
                assert_eq!((bins.edges(), bins.nodata_code()), (Some(Vec::new()), occurs.then_some(1)));
            }
            let extent = Extent::of(raster, None, &()).unwrap();
            assert_eq!(extent, Extent { finite: None, infinite: false, nodata: occurs });
        }
        assert_eq!(Classes::of_values([], None, false).unwrap().values(), Some(Vec::new()));
        for values in [Values::U8(Vec::new()), Values::I16(Vec::new())] {
            let bins = Classes::bins(&Numbers::new(5, 0, values), 4, BinRule::Quantile, None, &()).unwrap();
            assert_eq!(bins.levels(), 1);
        }
    }

    #[test]
    fn extents_of_nothing_and_of_the_infinite() {
        let extent = |values: Vec<f64>| Extent::of(&Numbers::line(Values::F64(values)), None, &()).unwrap();
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let nothing = extent(vec![nan, nan]);
        assert_eq!(nothing, Extent { finite: None, infinite: false, nodata: true });
        assert_eq!(extent(vec![-inf, inf]), Extent { finite: None, infinite: true, nodata: false });
        assert_eq!(extent(vec![2.0, -inf, 1.0]), Extent { finite: Some((1.0, 2.0)), infinite: true, nodata: false });
        assert_eq!(extent(vec![2.0, 1.0]), Extent { finite: Some((1.0, 2.0)), infinite: false, nodata: false });
        assert_eq!(nothing.and(extent(vec![3.0])).finite, Some((3.0, 3.0)));
        assert_eq!(Classes::of_extent(nothing, 4, None).unwrap().levels(), 1);
        assert!(matches!(Classes::of_extent(extent(vec![inf]), 4, None), Err(ClassesError::Infinite { .. })));
    }

    #[test]
    fn bytes_are_codes_where_no_other_number_is_meant() {
        let of = |classes: Result<Classes, ClassesError>| classes.unwrap().bytes_are_codes();
        assert_eq!(of(Classes::of_values(0..256, None, false)), Some(None));
        assert_eq!(of(Classes::of_values([0, 2], None, false)), None);
        assert_eq!(of(Classes::identity(16, Some(Nodata::Whole(255)))), Some(Some(255)));
        assert_eq!(of(Classes::identity(256, Some(Nodata::Whole(7)))), Some(Some(7)));
        assert_eq!(of(Classes::identity(16, Some(Nodata::Whole(-1)))), Some(None));
        assert_eq!(of(Classes::parse("0\n1\n*,nodata", "list", None)), None);
        assert_eq!(of(Classes::parse("0\n1\n2,nodata", "list", None)), None);
        assert_eq!(of(Classes::of_edges(vec![1.0], None, false)), None);
    }
}
