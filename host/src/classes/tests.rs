//! Classes of every kind and type against definitions written down plainly.

mod bins;
mod numbers;

pub(crate) use numbers::{Numbers, of_type};

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::io::FormatError;
use crate::raster::Georeference;

const TYPES: [ValueType; 10] = [
    ValueType::U8,
    ValueType::I8,
    ValueType::U16,
    ValueType::I16,
    ValueType::U32,
    ValueType::I32,
    ValueType::U64,
    ValueType::I64,
    ValueType::F32,
    ValueType::F64,
];

/// A generator that repeats itself nowhere near: xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 32) as usize % n
    }
}

fn codes(classes: &Classes, values: &Values) -> Result<Vec<u16>, UnknownValue> {
    let mut out = vec![77; values.len()];
    classes.encode(values, &mut out)?;
    if classes.width() == 1 {
        let mut bytes = vec![77u8; values.len()];
        classes.encode(values, &mut bytes)?;
        assert!(bytes.into_iter().map(u16::from).eq(out.iter().copied()), "bytes are other codes than words");
    }
    Ok(out)
}

#[test]
fn codes_ascend_with_the_values_that_occur() {
    for (numbers, nodata, expected, levels, code) in [
        (&[11, 95, 21, 11][..], None, &[0, 2, 1, 0][..], 3, None),
        (&[-3, 40_000, 0, -3], None, &[0, 2, 1, 0], 3, None),
        (&[-128, 127, -1, 0], Some(-1), &[0, 2, 3, 1], 3, Some(3)),
        (&[7, 7, 7], Some(9), &[0, 0, 0], 1, None),
        (&[9, 9], Some(9), &[1, 1], 1, Some(1)),
        (&[-9999, 255, 0], Some(-9999), &[2, 1, 0], 2, Some(2)),
        (&[1 << 40, -1 << 40, 5, 1 << 40], Some(5), &[1, 0, 2, 1], 2, Some(2)),
        (&[i128::from(u64::MAX), 0], None, &[1, 0], 2, None),
        (&[i128::from(i64::MIN), i128::from(i64::MAX)], None, &[0, 1], 2, None),
        (&[1 << 90, 0, -(1 << 90)], Some(0), &[1, 2, 0], 2, Some(2)),
    ] {
        let mut tried = 0;
        for kind in TYPES {
            let Some(values) = of_type(kind, numbers) else { continue };
            tried += 1;
            let raster = Numbers::line(values.clone());
            let (classes, survey) = Classes::survey(&raster, nodata.map(Nodata::Whole), &()).unwrap();
            let case = format!("{} {numbers:?}", kind.name());
            assert_eq!(codes(&classes, &values).unwrap(), expected, "{case}");
            assert_eq!((classes.levels(), classes.nodata_code()), (levels, code), "{case}");
            for (code, &cells) in survey.cells.iter().enumerate() {
                assert_eq!(cells, expected.iter().filter(|&&e| usize::from(e) == code).count() as u64, "{case}");
            }
            assert_eq!(survey.nodata, expected.iter().filter(|&&e| Some(e) == code).count() as u64, "{case}");
        }
        assert!(tried >= 1, "{numbers:?}");
    }
}

#[test]
fn every_byte_is_a_code_and_one_more_makes_them_words() {
    for kind in TYPES {
        let low = if matches!(kind, ValueType::I8) { -128 } else { 0 };
        let numbers: Vec<i128> = (low..low + 256).collect();
        let values = of_type(kind, &numbers).unwrap();
        let (classes, _) = Classes::survey(&Numbers::line(values.clone()), None, &()).unwrap();
        assert_eq!((classes.levels(), classes.nodata_code()), (256, None));
        assert_eq!(codes(&classes, &values).unwrap(), (0..=255).collect::<Vec<u16>>(), "{}", kind.name());
        // One of them is no data, and has the code that is left.
        let nodata = Some(Nodata::Whole(low + 3));
        let (classes, _) = Classes::survey(&Numbers::line(values.clone()), nodata, &()).unwrap();
        assert_eq!(
            (classes.levels(), classes.nodata_code(), codes(&classes, &values).unwrap()[3]),
            (255, Some(255), 255)
        );

        if kind.bytes() == 1 {
            continue;
        }
        // More values than bytes, with and without no data among them.
        let numbers: Vec<i128> = (0..300).map(|i| i * 7 % 300 * 40).collect();
        let Some(values) = of_type(kind, &numbers) else { continue };
        for (nodata, levels) in [(None, 300), (Some(Nodata::Whole(80)), 299)] {
            let (classes, survey) = Classes::survey(&Numbers::line(values.clone()), nodata, &()).unwrap();
            assert_eq!((classes.levels(), classes.width(), survey.cells.len()), (levels, 2, levels));
            assert_eq!(classes.nodata_code(), nodata.map(|_| 299));
            let expected: Vec<u16> = numbers
                .iter()
                .map(|&number| match (number, nodata) {
                    (80, Some(_)) => 299,
                    (81.., Some(_)) => (number / 40 - 1) as u16,
                    _ => (number / 40) as u16,
                })
                .collect();
            assert_eq!(codes(&classes, &values).unwrap(), expected, "{} {nodata:?}", kind.name());
        }
        // As many values as bytes, and no data: its code is no byte.
        let numbers: Vec<i128> = (0..257).collect();
        let values = of_type(kind, &numbers).unwrap();
        let (classes, _) = Classes::survey(&Numbers::line(values), Some(Nodata::Whole(0)), &()).unwrap();
        assert_eq!((classes.levels(), classes.nodata_code(), classes.width()), (256, Some(256), 2));
    }
}

#[test]
fn counting_is_given_up_after_65536_values() {
    let many: Vec<i32> = (0..200_000).map(|i: i32| i.wrapping_mul(0x01e3_779b)).collect();
    for n in [65_536, 65_544, 200_000] {
        for raster in [Numbers::line(Values::I32(many[..n].to_vec())), {
            let rows = many[..n].iter().map(|&v| f64::from(v)).collect();
            Numbers::new(n / 8, 8, Values::F64(rows)).blocks(4, 8)
        }] {
            let levels = Classes::survey(&raster, None, &()).map(|(classes, _)| classes.levels());
            match levels {
                Ok(levels) => assert_eq!((levels, n), (65_536, 65_536)),
                Err(error) => assert_eq!(
                    (error.to_string().as_str(), n > 65_536),
                    (
                        "numbers: more than 65536 different values occur, and 65536 can be classes; \
                         merge some, or sort the values into bins",
                        true
                    )
                ),
            }
            if n == 65_536 {
                let all = &many[..n];
                // One value more, which is no data.
                let raster = Numbers::line(Values::I32([all, &[i32::MIN][..]].concat()));
                let error = Classes::survey(&raster, Some(Nodata::Whole(i32::MIN.into())), &()).map(drop).unwrap_err();
                assert!(
                    error.to_string().starts_with(
                        "numbers: 65536 different values occur and no data besides, and 65535 can be classes; "
                    ),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn floats_are_codes_where_they_are_whole_and_nan_is_no_data() {
    let values = Values::F32(vec![3.0, f32::NAN, -0.0, 0.0, -f32::NAN, -9999.5, 3.0]);
    let raster = Numbers::line(values.clone());
    let (classes, survey) = Classes::survey(&raster, Some(Nodata::Fraction(-9999.5)), &()).unwrap();
    assert_eq!(codes(&classes, &values).unwrap(), [1, 2, 0, 0, 2, 2, 1]);
    assert_eq!(survey, Survey { cells: vec![2, 2], nodata: 3 });
    // The same value, the other type.
    let wide = Values::F64(vec![3.0, f64::NAN, -9999.5]);
    assert_eq!(codes(&classes, &wide).unwrap(), [1, 2, 2]);

    let mut cells = vec![1.0; 3 << 20];
    (cells[(2 << 20) + 5], cells[(2 << 20) + 4096]) = (0.25, 0.75);
    let raster = Numbers::new(3 << 10, 1 << 10, Values::F64(cells));
    assert_eq!(
        Classes::survey(&raster, None, &()).unwrap_err().to_string(),
        "numbers: row 2048, column 5 (counted from 0): the value 0.25 is not a whole number and so no class; \
         sort the values into bins, or name it as the value for no data if this is it"
    );
    let raster = Numbers::line(Values::F32(vec![1.0, f32::INFINITY]));
    assert!(matches!(
        Classes::survey(&raster, None, &()),
        Err(ClassesError::Fraction { place, .. }) if place.col == Some(1)
    ));
    let infinite = Some(Nodata::Fraction(f64::INFINITY));
    assert_eq!(Classes::survey(&raster, infinite, &()).unwrap().1, Survey { cells: vec![1], nodata: 1 });
}

#[test]
fn large_rasters_of_every_type_are_coded_as_a_plain_search_would() {
    let mut random = Random(42);
    for (kind, spread) in TYPES.into_iter().flat_map(|kind| [(kind, 3), (kind, 1 << 20)]) {
        let mut palette: Vec<i128> = (0..40).map(|_| random.below(120) as i128 * spread).collect();
        palette.retain(|&number| of_type(kind, &[number]).is_some());
        if palette.len() < 2 {
            continue;
        }
        // Patches, as on a map.
        let mut last = palette[0];
        let (rows, cols) = (1200, 1100);
        let numbers: Vec<i128> = (0..rows * cols)
            .map(|_| {
                if random.below(5) == 0 {
                    last = palette[random.below(palette.len())];
                }
                last
            })
            .collect();
        let nodata = palette[0];
        let raster = Numbers::new(rows, cols, of_type(kind, &numbers).unwrap()).blocks(64, 48);
        let (classes, survey) = Classes::survey(&raster, Some(Nodata::Whole(nodata)), &()).unwrap();
        palette.retain(|&number| number != nodata);
        palette.sort_unstable();
        palette.dedup();
        let expected: Vec<u16> = numbers
            .iter()
            .map(|number| palette.iter().position(|p| p == number).unwrap_or(palette.len()) as u16)
            .collect();
        assert!(codes(&classes, &raster.values).unwrap() == expected, "{} {spread}", kind.name());
        assert_eq!(survey.cells.iter().sum::<u64>() + survey.nodata, (rows * cols) as u64);
        let values = classes.describe().into_iter().map(|class| class.members);
        assert!(values.eq(palette.iter().map(|&number| Members::Values(vec![number]))));
    }
}

#[test]
fn numbers_that_are_no_class_are_named() {
    let classes = Classes::identity(16, Some(Nodata::Whole(3))).unwrap();
    assert_eq!((classes.levels(), classes.nodata_code()), (16, Some(16)));
    for kind in TYPES {
        let values = of_type(kind, &[0, 3, 15, 16, 17]).unwrap();
        let unknown = codes(&classes, &values).unwrap_err();
        assert_eq!(unknown, UnknownValue { index: 3, value: "16".to_owned() }, "{}", kind.name());
        assert_eq!(codes(&classes, &of_type(kind, &[0, 3, 15]).unwrap()).unwrap(), [0, 16, 15]);
    }
    for (values, value) in [
        (Values::I8(vec![-1]), "-1"),
        (Values::F32(vec![0.5]), "0.5"),
        (Values::F64(vec![-1e300]), "-1e300"),
        (Values::F64(vec![f64::INFINITY]), "inf"),
        (Values::U64(vec![u64::MAX]), "18446744073709551615"),
    ] {
        assert_eq!(codes(&classes, &values).unwrap_err().value, value);
    }
    // Bytes that are their own codes.
    let plain = Classes::identity(16, None).unwrap();
    assert_eq!(codes(&plain, &Values::U8(vec![15, 0, 15])).unwrap(), [15, 0, 15]);
    for (values, index) in [(vec![0, 15, 16], 2), (vec![255, 1], 0)] {
        assert_eq!(codes(&plain, &Values::U8(values)).unwrap_err().index, index);
    }
    // All codes are levels: a value for no data among them has its own, another one has none.
    let full = Classes::identity(256, Some(Nodata::Whole(7))).unwrap();
    assert_eq!((full.nodata_code(), codes(&full, &Values::U8(vec![7, 255])).unwrap()), (Some(7), vec![7, 255]));
    let full = Classes::identity(65_536, Some(Nodata::Whole(7))).unwrap();
    assert_eq!((full.nodata_code(), codes(&full, &Values::U16(vec![7, 65_535])).unwrap()), (Some(7), vec![7, 65_535]));
    let many = Classes::identity(1000, Some(Nodata::Whole(-1))).unwrap();
    assert_eq!((many.nodata_code(), codes(&many, &Values::I32(vec![-1, 999])).unwrap()), (Some(1000), vec![1000, 999]));
    assert_eq!(codes(&many, &Values::F32(vec![999.0, 1000.0])).unwrap_err().index, 1);
    assert!(matches!(Classes::identity(65_536, Some(Nodata::Nan)), Err(ClassesError::NoRoom)));
    for levels in [0, 65_537] {
        assert!(matches!(Classes::identity(levels, None), Err(ClassesError::Count { .. })));
    }
}

#[test]
fn lists_merge_values_into_classes() {
    let list =
        "\u{feff}# forests are one\r\n41..43, forest # of all kinds\r\n11\n 90 ,forest\n-3,ice\n255,NoData\n\n12.0\n";
    let classes = Classes::parse(list, "list", Some(Nodata::Whole(-9999))).unwrap();
    assert_eq!((classes.levels(), classes.nodata_code()), (4, Some(4)));
    let values = Values::I32(vec![43, 11, 90, -3, 255, 12, -9999, 41]);
    assert_eq!(codes(&classes, &values).unwrap(), [0, 1, 0, 2, 4, 3, 4, 0]);
    assert_eq!(
        codes(&classes, &Values::U8(vec![43, 44])).unwrap_err(),
        UnknownValue { index: 1, value: "44".to_owned() }
    );
    assert_eq!(
        serde_json::to_string(&classes.describe()).unwrap(),
        "[{\"code\":0,\"name\":\"forest\",\"values\":[41,42,43,90]},{\"code\":1,\"name\":\"11\",\"values\":[11]},\
         {\"code\":2,\"name\":\"ice\",\"values\":[-3]},{\"code\":3,\"name\":\"12\",\"values\":[12]}]"
    );
    // What is listed is what the list says, whatever else it may mean.
    let classes = Classes::parse("1,a\n2,b\n*,b", "list", Some(Nodata::Whole(1))).unwrap();
    assert_eq!(codes(&classes, &Values::F32(vec![1.0, 2.0, 2.5, f32::NAN, -7.0])).unwrap(), [0, 1, 1, 2, 1]);
    assert_eq!(
        serde_json::to_value(classes.describe()).unwrap()[1],
        serde_json::json!({"code": 1, "name": "b", "others_and": [2]})
    );
    for (nodata, expected) in [(9, [0, 1, 2]), (2, [0, 1, 9])] {
        let late = Classes::parse("1\n2", "list", None).unwrap();
        let late = late.with_nodata(Some(Nodata::Whole(nodata))).unwrap();
        let got = [1, 2, 9].map(|value| codes(&late, &Values::U8(vec![value])).map_or(9, |code| code[0]));
        assert_eq!(got, expected, "{nodata}");
    }
    let classes = Classes::parse("1..2,a\n*,nodata", "list", None).unwrap();
    assert_eq!(codes(&classes, &Values::I64(vec![1, 1 << 50, 0])).unwrap(), [0, 1, 1]);
}

#[test]
fn lists_say_where_they_are_wrong() {
    let full: String = (0..65_536).map(|i| format!("{i}\n")).collect();
    let long = format!("{full}*,others");
    for (text, expected) in [
        ("", "list: there is no class in the list; give lines VALUE or VALUE,CLASS"),
        ("*,nodata\n", "list: there is no class in the list; give lines VALUE or VALUE,CLASS"),
        (
            "value,class\n",
            "list: line 1: \"value\" is not a whole number; begin the line with a whole number, two as in 41..43, or *; \
             put # before what is a comment",
        ),
        ("1\n\n#\n0.5,x", "list: line 4: \"0.5\" is not a whole number; begin the line with"),
        ("nan,nodata", "list: line 1: \"nan\" is not a whole number; begin"),
        ("1,", "list: line 1: there is no class behind the comma; name it, or leave out the comma"),
        ("*", "list: line 1: there is no class for all other values; write *,nodata or *,CLASS"),
        ("1..3", "list: line 1: there is no class for the range; name it, as in 41..43,forest"),
        ("3..1,a", "list: line 1: 3 is larger than 1; write the smaller number first"),
        ("7\n1..9,a", "list: line 2: the value 7 was there before, in line 1; leave one of them"),
        ("*,a\n1\n*,b", "list: line 3: * was there before, in line 1; leave one of them"),
        ("1..65537,a", "list: line 1: there are more than 65536 values; list fewer, or sort the values into bins"),
        (
            "-170141183460469231731687303715884105728..170141183460469231731687303715884105727,a",
            "list: line 1: there are more than 65536 values",
        ),
        (&long, "list: line 65537: there are more than 65536 classes; give several values the same class"),
    ] {
        let error = Classes::parse(text, "list", None).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(Classes::parse(&full, "list", None).is_ok());
    assert!(matches!(Classes::parse(&full, "list", Some(Nodata::Whole(-1))), Err(ClassesError::NoRoom)));
    assert!(matches!(Classes::parse(&format!("{full}\n*,nodata"), "list", None), Err(ClassesError::NoRoom)));
    assert!(Classes::parse("1..65536,a", "list", None).is_ok());
    let error = Classes::from_file(Path::new("no/such/list"), None).unwrap_err().to_string();
    assert!(error.starts_with("no/such/list: the file cannot be opened: "), "{error}");
}

#[test]
fn observers_count_cells_and_stop_the_work() {
    struct Watch(AtomicU64, u64);
    impl Observer for Watch {
        fn advance(&self, cells: u64) {
            self.0.fetch_add(cells, Ordering::Relaxed);
        }
        fn cancelled(&self) -> bool {
            self.0.load(Ordering::Relaxed) >= self.1
        }
    }
    let raster = Numbers::new(4096, 4096, Values::U8(vec![1; 1 << 24]));
    let watch = Watch(AtomicU64::new(0), u64::MAX);
    Classes::survey(&raster, None, &watch).unwrap();
    assert_eq!(watch.0.into_inner(), 1 << 24);
    let watch = Watch(AtomicU64::new(0), 1);
    let error = Classes::survey(&raster, None, &watch).unwrap_err();
    assert!(matches!(error, ClassesError::Cancelled(_)), "{error}");
    for (kind, rule, passes) in [
        (ValueType::F64, BinRule::EqualWidth, 1),
        (ValueType::I16, BinRule::Quantile, 1),
        (ValueType::F32, BinRule::Quantile, 3),
    ] {
        let raster = Numbers::new(10, 20, of_type(kind, &Vec::from_iter((0..200).map(|i| i % 20 - 7))).unwrap());
        let watch = Watch(AtomicU64::new(0), u64::MAX);
        Classes::bins(&raster, 5, rule, None, &watch).unwrap();
        assert_eq!(watch.0.into_inner(), 200 * passes, "{}", kind.name());
        assert_eq!(rule.passes(kind, 5), passes as usize);
    }
}
