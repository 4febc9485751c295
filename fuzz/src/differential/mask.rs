//! A raster of any type with a mask of any type, by NPY files in memory: classes found and codes given, beside a cell at a time.

use std::collections::BTreeSet;

use halotile::classes::Classes;
use halotile::classes::CodedRaster;
use halotile::grid::Grid;
use halotile::io::{InputFormat, Nodata};
use halotile::raster::{Cells, MaskedRaster, Raster, Rasters, StoredRaster, whole};

use crate::MemoryFile;
use crate::case::Case;
use crate::check::value;

/// Types by their names in NPY, with the bytes of a number.
const TYPES: [(&str, usize); 11] = [
    ("|u1", 1),
    ("|i1", 1),
    ("|b1", 1),
    ("<u2", 2),
    (">i2", 2),
    ("<i4", 4),
    (">u4", 4),
    ("<i8", 8),
    ("<u8", 8),
    ("<f4", 4),
    (">f8", 8),
];

fn raster(case: &mut Case<'_>, file: &mut MemoryFile, rows: usize, cols: usize) -> StoredRaster {
    let (descr, size) = case.one(&TYPES);
    let mut data = case.bytes(rows * cols * size);
    // Most bytes make large numbers: small ones are wanted as well.
    if case.flip() && !descr.contains('f') {
        let low = if descr.starts_with('>') { size - 1 } else { 0 };
        data.iter_mut().enumerate().filter(|(i, _)| i % size != low).for_each(|(_, byte)| *byte = 0);
    }
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {cols}), }}\n");
    let length = (header.len() as u16).to_le_bytes();
    let bytes = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &data].concat();
    let path = file.set(&bytes).expect("there is memory for a small file");
    let rasters = Rasters::open(path, InputFormat::Npy, &()).expect("it is there");
    rasters.expect("it has positions").next().expect("NPY is one raster").expect("it is an array")
}

/// Finds classes and gives codes, with a mask.
pub fn mask(input: &[u8]) {
    thread_local! {
        static FILES: std::cell::RefCell<Option<[MemoryFile; 2]>> = const { std::cell::RefCell::new(None) };
    }
    FILES.with_borrow_mut(|files| {
        let file = || MemoryFile::new().expect("there is a place for temporary files");
        let [first, second] = files.get_or_insert_with(|| [file(), file()]);
        let mut case = Case::new(input);
        let (rows, cols) = (case.number(1, 9), case.number(1, 14));
        let nodata = case.one(&[None, Some(Nodata::Whole(0)), Some(Nodata::Whole(7)), Some(Nodata::Nan)]);
        let map = raster(&mut case, first, rows, cols);
        let same = !case.seldom(8);
        let mask = raster(&mut case, second, if same { rows } else { rows + 1 }, cols);
        let nodata = nodata.filter(|&nodata| map.value_type().can_be(nodata));
        check(map, mask, nodata);
    });
}

fn check(map: StoredRaster, mask: StoredRaster, nodata: Option<Nodata>) {
    let (rows, cols) = (map.rows(), map.cols());
    let Some(masked_raster) = MaskedRaster::new(&map, &mask) else {
        let classes = Classes::identity(4, None).expect("four levels");
        assert!(value(CodedRaster::new(Box::new(map), classes, Some(Box::new(mask)))).is_none());
        return;
    };
    let (values, covers) = (whole(&map).expect("it is small"), whole(&mask).expect("it is small"));
    let Some((classes, survey)) = value(Classes::survey(&masked_raster, nodata, &())) else { return };
    let is_nodata = |value: f64| match nodata {
        Some(Nodata::Whole(nodata)) => value == nodata as f64,
        Some(Nodata::Nan) => value.is_nan(),
        _ => false,
    };
    // What is NaN in a floating-point raster is no data in any case.
    let seen = |r: usize, c: usize| {
        let (value, cover) = (values.row(r)[c], covers.row(r)[c]);
        let valid = cover != 0.0 && !cover.is_nan() && !value.is_nan() && !is_nodata(value);
        // -0 is 0.
        valid.then_some(value + 0.0)
    };
    // Integers beyond 2^53 are rounded in f64: such a map has no classes that can be told apart here.
    if values.as_slice().iter().any(|value| value.abs() > 9e15) {
        return;
    }
    let order = |value: f64| value as i64;
    let found: BTreeSet<i64> = (0..rows * cols).filter_map(|i| seen(i / cols, i % cols)).map(order).collect();
    assert_eq!(classes.levels(), found.len().max(1), "classes of {found:?}");
    let coded = CodedRaster::new(Box::new(map), classes, Some(Box::new(mask)));
    let Some(coded) = value(coded) else {
        assert_eq!(found.len(), 65_536, "only that many classes leave no code for cells without data");
        return;
    };
    let mut codes = Grid::<u16>::zeros(rows, cols).expect("a shape");
    coded.read_into(0..rows, 0..cols, codes.view_mut().into()).expect("every value has a class");
    let mut valid = 0;
    for (r, c) in (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))) {
        let expected =
            seen(r, c).map(|value| found.iter().position(|&class| class == order(value)).expect("it was found") as u16);
        valid += u64::from(expected.is_some());
        assert_eq!(Some(codes.row(r)[c]), expected.or(coded.nodata_code()), "({r}, {c}) of {found:?}");
    }
    assert_eq!(survey.cells.iter().sum::<u64>(), valid);
}
