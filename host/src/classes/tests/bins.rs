//! Equal and quantile bins of every type against a search over their edges.

use super::*;

/// The bin that the definition gives: inner edges at or below the value.
fn bin(edges: &[f64], value: f64) -> u16 {
    edges.iter().filter(|&&edge| edge <= value).count() as u16
}

fn inner_edges(classes: &Classes) -> Vec<f64> {
    let from = |class: &Class| match class.members {
        Members::Between(from, _) => from,
        _ => unreachable!("bins"),
    };
    classes.describe().iter().skip(1).map(from).collect()
}

#[test]
fn equal_bins_are_closed_at_the_top_and_clamp_what_is_outside() {
    let classes = Classes::with_range(0.0, 10.0, 5, Some(Nodata::Whole(4))).unwrap();
    assert_eq!((classes.levels(), classes.nodata_code()), (5, Some(5)));
    for kind in TYPES {
        let values = of_type(kind, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 99]).unwrap();
        assert_eq!(codes(&classes, &values).unwrap(), [0, 0, 1, 1, 5, 2, 3, 3, 4, 4, 4, 4, 4], "{}", kind.name());
    }
    let values = Values::F64(vec![-1e300, f64::NEG_INFINITY, f64::INFINITY, f64::NAN, 1.9999999999999998, 2.0]);
    assert_eq!(codes(&classes, &values).unwrap(), [0, 0, 4, 5, 0, 1]);
    assert_eq!(codes(&classes, &Values::I8(vec![-128, 127])).unwrap(), [0, 4]);
    // NaN with no code left for it.
    let full = Classes::with_range(0.0, 1.0, 65_536, None).unwrap();
    assert_eq!(codes(&full, &Values::F32(vec![0.0, f32::NAN])).unwrap_err().value, "NaN");
    for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        assert!(matches!(Classes::with_range(low, high, 4, None), Err(ClassesError::Bounds { .. })));
    }
    assert!(matches!(Classes::with_range(0.0, 1.0, 0, None), Err(ClassesError::Count { .. })));
    assert!(matches!(Classes::with_range(0.0, 1.0, 65_536, Some(Nodata::Nan)), Err(ClassesError::NoRoom)));
    // The width overflows, and the bins do not.
    let wide = Classes::with_range(f64::MIN, f64::MAX, 4, None).unwrap();
    assert_eq!(codes(&wide, &Values::F64(vec![f64::MIN, -1e307, 1e307, f64::MAX])).unwrap(), [0, 1, 2, 3]);
}

#[test]
fn bins_of_a_raster_reach_from_its_smallest_value_to_its_largest() {
    let equal = |values: Values, bins, nodata| {
        let raster = Numbers::line(values.clone());
        Classes::bins(&raster, bins, BinRule::EqualWidth, nodata, &()).map(|classes| {
            let codes = codes(&classes, &values).unwrap();
            (codes, classes.levels(), classes.nodata_code())
        })
    };
    let got = equal(Values::I16(vec![-100, 0, 100, -9999, 49, 50]), 4, Some(Nodata::Whole(-9999))).unwrap();
    assert_eq!(got, (vec![0, 2, 3, 4, 2, 3], 4, Some(4)));
    let got = equal(Values::F32(vec![0.0, f32::NAN, 1.0, f32::INFINITY, f32::NEG_INFINITY, 0.5]), 2, None).unwrap();
    assert_eq!(got, (vec![0, 2, 1, 1, 0, 1], 2, Some(2)));
    assert_eq!(equal(Values::U32(vec![5; 4]), 32, None).unwrap(), (vec![0; 4], 1, None));
    assert_eq!(equal(Values::F64(vec![f64::NAN; 2]), 32, None).unwrap(), (vec![1; 2], 1, Some(1)));
    assert_eq!(equal(Values::U8(vec![0, 255, 254]), 256, None).unwrap(), (vec![0, 255, 254], 256, None));
    assert!(matches!(equal(Values::F64(vec![f64::NAN, 0.0, 1.0]), 65_536, None), Err(ClassesError::NoRoom)));
    let error = equal(Values::F64(vec![f64::INFINITY, f64::NAN]), 8, None).unwrap_err().to_string();
    assert!(error.starts_with("numbers: all values that are not no data are infinite"), "{error}");
}

#[test]
fn equal_bins_of_random_numbers_follow_the_edges() {
    let mut random = Random(7);
    for bins in [1, 2, 3, 7, 10, 100, 256, 4000] {
        let values: Vec<f64> = (0..20_000).map(|_| random.below(5_001) as f64 / 500.0 - 3.0).collect();
        let raster = Numbers::new(100, 200, Values::F64(values.clone()));
        let classes = Classes::bins(&raster, bins, BinRule::EqualWidth, None, &()).unwrap();
        let edges = inner_edges(&classes);
        assert_eq!((edges.len() + 1, classes.levels()), (bins, bins));
        for (k, edge) in edges.iter().enumerate() {
            assert!((edge - (10.0 * (k + 1) as f64 / bins as f64 - 3.0)).abs() < 1e-12);
        }
        let expected: Vec<u16> = values.iter().map(|&value| bin(&edges, value)).collect();
        assert!(codes(&classes, &raster.values).unwrap() == expected, "{bins}");
    }
}

#[test]
fn quantile_bins_are_equally_full_whatever_the_type() {
    let mut random = Random(99);
    let (rows, cols) = (300, 400);
    for kind in TYPES {
        let reach = if kind.bytes() == 1 { 100 } else { 30_000 };
        // Far from evenly spread, and negative where that can be.
        let shift = if of_type(kind, &[-1]).is_some() { reach / 2 } else { 0 };
        let numbers: Vec<i128> = (0..rows * cols)
            .map(|_| {
                let (a, b) = (random.below(reach), random.below(reach));
                (a * b / reach) as i128 - shift as i128
            })
            .collect();
        let nodata = numbers[5];
        let values = match kind {
            // Fractions as well.
            ValueType::F32 => Values::F32(numbers.iter().map(|&n| n as f32 / 7.0).collect()),
            ValueType::F64 => Values::F64(numbers.iter().map(|&n| n as f64 / 7.0).collect()),
            kind => of_type(kind, &numbers).unwrap(),
        };
        let nodata = if kind.is_real() { Nodata::from(nodata as f64 / 7.0) } else { Nodata::Whole(nodata) };
        let as_f64 = |i: usize| each_f64(&values, i);
        let skip = as_f64(5);
        let raster = Numbers::new(rows, cols, values.clone()).blocks(16, 32);
        let mut sorted: Vec<f64> = (0..rows * cols).map(as_f64).filter(|&value| value != skip).collect();
        sorted.sort_by(f64::total_cmp);
        for bins in [1, 2, 5, 64, 255, 3000] {
            let classes = Classes::bins(&raster, bins, BinRule::Quantile, Some(nodata), &()).unwrap();
            let mut expected: Vec<f64> = (1..bins).map(|k| sorted[sorted.len() * k / bins]).collect();
            expected.retain(|&edge| edge > sorted[0]);
            expected.dedup();
            let edges = inner_edges(&classes);
            assert_eq!(edges.len(), expected.len(), "{} {bins}", kind.name());
            for (edge, expected) in edges.iter().zip(&expected) {
                let open = if kind == ValueType::F64 { expected.abs() * 2.0f64.powi(-32) } else { 0.0 };
                assert!(*edge <= *expected && expected - edge <= open, "{} {bins}: {edge} {expected}", kind.name());
            }
            let coded = codes(&classes, &values).unwrap();
            for (i, &code) in coded.iter().enumerate() {
                let value = as_f64(i);
                let expected = if value == skip { classes.nodata_code().unwrap() } else { bin(&edges, value) };
                assert_eq!(code, expected, "{} {bins} {value}", kind.name());
            }
            // No bin is empty, and without ties all would hold as many.
            for level in 0..classes.levels() {
                assert!(coded.contains(&(level as u16)), "{} {bins}: bin {level}", kind.name());
            }
        }
    }
}

fn each_f64(values: &Values, i: usize) -> f64 {
    crate::raster::cell::each!(values, values => crate::raster::cell::Cell::to_f64(values[i]))
}

#[test]
fn quantiles_of_the_widest_numbers_are_as_near_as_promised() {
    let mut random = Random(3);
    let wild: Vec<f64> =
        (0..50_000).map(|_| f64::from_bits(random.next())).chain([f64::NEG_INFINITY, f64::INFINITY]).collect();
    let mut sorted: Vec<f64> = wild.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    let raster = Numbers::line(Values::F64(wild));
    for bins in [255, 20_000] {
        let classes = Classes::bins(&raster, bins, BinRule::Quantile, None, &()).unwrap();
        for (k, edge) in inner_edges(&classes).into_iter().enumerate() {
            let exact = sorted[sorted.len() * (k + 1) / bins];
            assert!(edge <= exact && exact - edge <= exact.abs() * 2.0f64.powi(-32), "{k}: {edge:e} {exact:e}");
        }
    }
    // Whole numbers near each other, but far out, are exact.
    let far: Vec<i64> = (0..50_000).map(|_| (random.next() >> 20) as i64 - (1 << 43)).collect();
    let mut sorted = far.clone();
    sorted.sort_unstable();
    let classes = Classes::bins(&Numbers::line(Values::I64(far)), 100, BinRule::Quantile, None, &()).unwrap();
    let exact: Vec<f64> = (1..100).map(|k| sorted[sorted.len() * k / 100] as f64).collect();
    assert_eq!(inner_edges(&classes), exact);
    // A value that takes many bins.
    let tied = Numbers::line(Values::U32([vec![9; 900], (10..110).collect()].concat()));
    let classes = Classes::bins(&tied, 10, BinRule::Quantile, None, &()).unwrap();
    assert_eq!((classes.levels(), inner_edges(&classes)), (2, vec![10.0]));
}
