//! Files of every kind, made by `tiff-writer` and by hand, read window by window; what the sinks write, read back; and damaged files.

mod damaged;
mod large;
mod odd;
mod sinks;

use std::io::Cursor;
use std::sync::Arc;

use tiff_core::{ByteOrder, Compression, PlanarConfiguration, Predictor, Tag, TagValue};
use tiff_reader::TiffFile;
use tiff_reader::source::BytesSource;
use tiff_writer::{ImageBuilder, TiffVariant, TiffWriteSample, TiffWriter, WriteOptions};

use self::sinks::sink;
use super::*;
use crate::grid::{Grid, GridView};
use crate::io::{FormatError, Nodata, OutputFile};
use crate::numbers::ValueType;
use crate::raster::{Georeference, Raster, ResultSink, Values};

/// How a test file is stored.
#[derive(Clone, Copy, Debug)]
struct Kind {
    order: ByteOrder,
    variant: TiffVariant,
    compression: Compression,
    predictor: Predictor,
    planar: bool,
    /// Rows and columns of tiles; rows of strips.
    block: (u32, Option<u32>),
}

const PLAIN: Kind = Kind {
    order: ByteOrder::LittleEndian,
    variant: TiffVariant::Classic,
    compression: Compression::None,
    predictor: Predictor::None,
    planar: false,
    block: (7, None),
};

/// A file of `bands` bands with `value(band, row, column)`; blocks for which `value` is none are left out.
fn file<T: TiffWriteSample + Default>(
    kind: Kind,
    (rows, cols, bands): (usize, usize, usize),
    tags: &[Tag],
    value: impl Fn(usize, usize, usize) -> Option<T>,
) -> Vec<u8> {
    let options = WriteOptions { byte_order: kind.order, variant: kind.variant };
    let mut writer = TiffWriter::new(Cursor::new(Vec::new()), options).unwrap();
    let mut builder = ImageBuilder::new(cols as u32, rows as u32)
        .sample_type::<T>()
        .samples_per_pixel(bands as u16)
        .compression(kind.compression)
        .predictor(kind.predictor);
    if kind.planar {
        builder = builder.planar_configuration(PlanarConfiguration::Planar);
    }
    builder = match kind.block {
        (height, Some(width)) => builder.tiles(width, height),
        (height, None) => builder.strips(height),
    };
    builder = tags.iter().cloned().fold(builder, ImageBuilder::tag);
    let image = writer.add_image(builder).unwrap();
    let (height, width) = (kind.block.0 as usize, kind.block.1.map_or(cols, |w| w as usize));
    let across = cols.div_ceil(width);
    let planes: Vec<Vec<usize>> =
        if kind.planar { (0..bands).map(|b| vec![b]).collect() } else { vec![(0..bands).collect()] };
    let mut index = 0;
    for plane in planes {
        for block in 0..across * rows.div_ceil(height) {
            let (top, left) = (block / across * height, block % across * width);
            let bottom = if kind.block.1.is_some() { top + height } else { rows.min(top + height) };
            let cells = (top..bottom).flat_map(|r| (left..left + width).map(move |c| (r, c)));
            let samples: Vec<Option<T>> =
                cells.flat_map(|(r, c)| plane.iter().map(|&b| value(b, r, c)).collect::<Vec<_>>()).collect();
            if samples.iter().all(Option::is_none) {
                writer.write_block_sparse(&image, index).unwrap();
            } else {
                let samples: Vec<T> = samples.into_iter().map(Option::unwrap_or_default).collect();
                writer.write_block(&image, index, &samples).unwrap();
            }
            index += 1;
        }
    }
    writer.finish().unwrap().into_inner()
}

fn open(bytes: &[u8], band: usize) -> Result<GeoTiff, FormatError> {
    GeoTiff::from_source(Arc::new(BytesSource::new(bytes.to_vec())), "f.tif".to_owned(), band)
}

/// A number for each cell that no shift by rows, columns or bands leaves the same.
fn pattern(band: usize, row: usize, col: usize) -> u64 {
    (row as u64 * 1009 + col as u64 * 31 + band as u64 * 7919).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

/// Windows within one block, across edges, at the corners, and the whole.
const WINDOWS: [[usize; 4]; 7] = [
    [0, 1, 0, 1],
    [0, 40, 0, 53],
    [15, 17, 31, 33],
    [7, 14, 0, 53],
    [39, 40, 52, 53],
    [3, 33, 5, 50],
    [16, 32, 16, 32],
];

macro_rules! of_every_kind {
    ($($name:ident: $t:ty, $variant:ident, $predictors:expr, $lerc:expr;)*) => {$(
        #[test]
        fn $name() {
            let value = |b, r, c| (pattern(b, r, c) as i64 - (1 << 42)) as $t;
            let codecs = [Compression::None, Compression::Deflate, Compression::DeflateOld, Compression::Lzw, Compression::Zstd];
            let codecs = codecs.iter().chain($lerc.then_some(&Compression::Lerc));
            for (i, &compression) in codecs.enumerate() {
                for (j, block) in [(7, None), (16, Some(32)), (64, Some(64)), (1, None)].into_iter().enumerate() {
                    let predictor = if matches!(compression, Compression::None | Compression::Lerc) {
                        Predictor::None
                    } else {
                        $predictors[(i + j) % $predictors.len()]
                    };
                    let order = if (i + j) % 2 == 0 { ByteOrder::BigEndian } else { ByteOrder::LittleEndian };
                    let variant = if (i + j) % 3 == 0 { TiffVariant::BigTiff } else { TiffVariant::Classic };
                    let planar = (i ^ j) % 2 == 0;
                    let kind = Kind { order, variant, compression, predictor, planar, block };
                    let bands = 1 + j % 3;
                    let bytes = file(kind, (40, 53, bands), &[], |b, r, c| Some(value(b, r, c)));
                    for band in 0..bands {
                        let mut tiff = open(&bytes, band + 1).unwrap();
                        assert_eq!((tiff.rows(), tiff.cols(), tiff.bands()), (40, 53, bands));
                        assert_eq!(tiff.value_type(), ValueType::$variant);
                        assert_eq!(tiff.block(), (block.0 as usize, block.1.map_or(53, |w| w as usize)));
                        assert_eq!((tiff.nodata(), tiff.georeference()), (None, None));
                        for kept in [1 << 20, 0] {
                            tiff.set_cache_bytes(kept).unwrap();
                            for [top, bottom, left, right] in WINDOWS {
                                let cells = (top..bottom).flat_map(|r| (left..right).map(move |c| value(band, r, c)));
                                let got = tiff.read(top..bottom, left..right).unwrap();
                                assert_eq!(got, Values::$variant(cells.collect()), "{kind:?} {top} {left}");
                            }
                        }
                    }
                }
            }
        }
    )*};
}

const WHOLE: [Predictor; 2] = [Predictor::Horizontal, Predictor::None];
const REAL: [Predictor; 2] = [Predictor::FloatingPoint, Predictor::None];

of_every_kind! {
    u8_of_every_kind: u8, U8, WHOLE, true;
    i8_of_every_kind: i8, I8, WHOLE, true;
    u16_of_every_kind: u16, U16, WHOLE, true;
    i16_of_every_kind: i16, I16, WHOLE, true;
    u32_of_every_kind: u32, U32, WHOLE, true;
    i32_of_every_kind: i32, I32, WHOLE, true;
    u64_of_every_kind: u64, U64, WHOLE, false;
    i64_of_every_kind: i64, I64, WHOLE, false;
    f32_of_every_kind: f32, F32, REAL, true;
    f64_of_every_kind: f64, F64, REAL, true;
}

fn nodata_tag(text: &str) -> Tag {
    Tag::new(42113, TagValue::Ascii(text.to_owned()))
}

#[test]
fn nodata_is_what_the_tag_says() {
    fn of<T: TiffWriteSample + Default>(text: &str) -> Option<Nodata> {
        open(&file(PLAIN, (1, 1, 1), &[nodata_tag(text)], |_, _, _| Some(T::default())), 1).unwrap().nodata()
    }
    assert_eq!(of::<u8>("255"), Some(Nodata::Whole(255)));
    assert_eq!(of::<u8>(" 255.0 "), Some(Nodata::Whole(255)));
    assert_eq!(of::<i8>("-128"), Some(Nodata::Whole(-128)));
    assert_eq!(of::<u64>("18446744073709551615"), Some(Nodata::Whole(u64::MAX.into())));
    for nan in ["nan", "NaN", "-nan", "-1.#IND", "1.#QNAN"] {
        assert_eq!(of::<f32>(nan), Some(Nodata::Nan), "{nan}");
    }
    // GDAL prints more digits than an f32 has.
    assert_eq!(of::<f32>("-3.4028234663852886e+38"), Some(Nodata::Fraction(f32::MIN.into())));
    assert_eq!(of::<f32>("-3.40282347e+38"), Some(Nodata::Fraction(f32::MIN.into())));
    assert_eq!(of::<f32>("0.1"), Some(Nodata::Fraction(0.1f32.into())));
    assert_eq!(of::<f64>("-1.7976931348623157e+308"), Some(Nodata::Fraction(f64::MIN)));
    assert_eq!(of::<f64>("inf"), Some(Nodata::Fraction(f64::INFINITY)));
    assert_eq!((of::<u8>("none"), of::<u8>("")), (None, None));
}

#[test]
fn results_are_what_numbers_stand_for() {
    let results = |items: &str, band| {
        let xml = Tag::new(42112, TagValue::Ascii(format!("<GDALMetadata>{items}</GDALMetadata>")));
        let bytes = file(PLAIN, (1, 3, 2), &[nodata_tag("7"), xml], |b, _, c| Some((10 * b + 5 + c) as u8));
        let results = open(&bytes, band).unwrap().results().unwrap();
        results.into_vec().into_iter().map(|number| (!number.is_nan()).then_some(number)).collect::<Vec<_>>()
    };
    let item = |band: usize, role: &str, value: &str| {
        format!("<Item name=\"X\" sample=\"{band}\" role=\"{role}\">{value}</Item>")
    };
    // Nothing said, or only of another band: as they are stored, no data too.
    assert_eq!(results("", 1), [Some(5.0), Some(6.0), Some(7.0)]);
    assert_eq!(results(&item(1, "scale", "2"), 1), [Some(5.0), Some(6.0), Some(7.0)]);
    let both = item(0, "scale", "0.5") + &item(1, "scale", "3") + &item(1, "offset", "-1") + &item(0, "unittype", "9");
    assert_eq!(results(&both, 1), [Some(2.5), Some(3.0), None]);
    assert_eq!(results(&both, 2), [Some(44.0), Some(47.0), Some(50.0)]);
    assert_eq!(results(&item(0, "offset", "100"), 1), [Some(105.0), Some(106.0), None]);
    // The last one counts, and one that is no number does not.
    assert_eq!(results(&(item(0, "scale", "9") + &item(0, "scale", "2")), 1), [Some(10.0), Some(12.0), None]);
    assert_eq!(results(&item(0, "scale", "inf"), 1), [Some(5.0), Some(6.0), Some(7.0)]);
    assert_eq!(results("<Item", 1), [Some(5.0), Some(6.0), Some(7.0)]);
}

#[test]
#[should_panic(expected = "one no data")]
fn bands_of_one_file_have_one_no_data() {
    let bands = [Stored::counts(StoredType::U8, 9).unwrap(), Stored::from_one(StoredType::U8, 9).unwrap()];
    let _ = Description::of(&["a", "b"]).stored(&bands);
}

#[test]
fn blocks_that_were_left_out_hold_nodata() {
    fn of<T: TiffWriteSample + Default>(kind: Kind, nodata: Option<&str>, value: T) -> Values {
        let tags: Vec<Tag> = nodata.map(nodata_tag).into_iter().collect();
        // Of two bands, the second one's blocks on the left of 48 rows and 40 columns.
        let bytes = file(kind, (48, 40, 2), &tags, |b, r, c| (b == 0 || c >= 32 || r >= 32).then_some(value));
        let tiff = open(&bytes, 2).unwrap();
        assert!(open(&bytes, 1).unwrap().read(0..48, 0..40).unwrap() != tiff.read(0..48, 0..40).unwrap());
        tiff.read(30..33, 31..33).unwrap()
    }
    let kind = Kind { planar: true, block: (16, Some(32)), ..PLAIN };
    assert_eq!(of(kind, Some("255"), 7u8), Values::U8(vec![255, 7, 255, 7, 7, 7]));
    assert_eq!(of(kind, Some("-9999"), 7u8), Values::U8(vec![0, 7, 0, 7, 7, 7]));
    assert_eq!(of(kind, None, 7u8), Values::U8(vec![0, 7, 0, 7, 7, 7]));
    assert_eq!(of(kind, Some("-128"), 7i8), Values::I8(vec![-128, 7, -128, 7, 7, 7]));
    assert_eq!(of(kind, Some("65535"), 7u16), Values::U16(vec![65535, 7, 65535, 7, 7, 7]));
    assert_eq!(of(kind, Some("nan"), 7i32), Values::I32(vec![0, 7, 0, 7, 7, 7]));
    assert_eq!(of(kind, Some("2.5"), 7i64), Values::I64(vec![3, 7, 3, 7, 7, 7]));
    let low = f32::MIN;
    assert_eq!(of(kind, Some("-3.4028234663852886e+38"), 7f32), Values::F32(vec![low, 7.0, low, 7.0, 7.0, 7.0]));
    let Values::F64(nan) = of(Kind { compression: Compression::Lzw, ..kind }, Some("nan"), 7f64) else { panic!() };
    assert!(nan[0].is_nan() && nan[2].is_nan() && nan[1] == 7.0);
    // A strip: whole rows of it.
    let bytes = file(PLAIN, (20, 3, 1), &[nodata_tag("9")], |_, r, _| (r >= 14).then_some(1u8));
    assert_eq!(open(&bytes, 1).unwrap().read(13..15, 1..3).unwrap(), Values::U8(vec![9, 9, 1, 1]));
}

#[test]
fn georeferences_come_as_they_are_and_go_as_they_came() {
    let full = Georeference {
        pixel_scale: Some(vec![30.0, 30.0, 0.0]),
        tiepoints: Some(vec![0.0, 0.0, 0.0, 4_321_000.5, 3_210_000.25, 0.0]),
        transformation: Some((0..16).map(|i| f64::from(i) / 3.0).collect()),
        key_directory: Some(vec![1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, 2]),
        key_doubles: Some(vec![6_378_137.0, 298.257_222_101]),
        key_text: Some("ETRS89 / LAEA Europe|ETRS89|".to_owned()),
        rpc: Some((0..92).map(f64::from).collect()),
    };
    let some = Georeference { transformation: None, key_doubles: None, rpc: None, ..full.clone() };
    for georeference in [full, some] {
        let mut out = Cursor::new(Vec::new());
        let mut sink = sink::<f32, _>(&mut out, (3, 4), &["h"], Some(&georeference), &[]).unwrap();
        sink.write(0, 0, &[GridView::new(&[0.5; 12], 3, 4).unwrap()]).unwrap();
        Box::new(sink).finish().unwrap();
        let tiff = open(out.get_ref(), 1).unwrap();
        assert_eq!(tiff.georeference(), Some(&georeference));
        assert_eq!(tiff.nodata(), Some(Nodata::Nan));
    }
    // A name in Latin-1 keeps its length.
    let mut bytes =
        file(PLAIN, (1, 1, 1), &[Tag::new(34737, TagValue::Ascii("Lambert-Wxrzburg|x|".to_owned()))], |_, _, _| {
            Some(0u8)
        });
    let at = bytes.windows(2).position(|w| w == b"Wx").unwrap();
    bytes[at + 1] = 0xfc;
    let text = open(&bytes, 1).unwrap().georeference().unwrap().key_text.clone();
    assert_eq!(text.as_deref(), Some("Lambert-W?rzburg|x|"));
}
