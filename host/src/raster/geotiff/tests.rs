//! Files of every kind, made by `tiff-writer` and by hand, read window by window; what the sinks write, read back; and damaged files.

mod large;
mod odd;

use std::io::{Cursor, Seek, SeekFrom, Write};
use std::sync::Arc;

use tiff_core::{ByteOrder, Compression, PlanarConfiguration, Predictor, Tag, TagValue};
use tiff_reader::TiffFile;
use tiff_reader::source::BytesSource;
use tiff_writer::{ImageBuilder, TiffVariant, TiffWriteSample, TiffWriter, WriteOptions};

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
    };
    let some = Georeference { transformation: None, key_doubles: None, ..full.clone() };
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

fn sink<T: crate::io::Number, W: Write + Seek>(
    out: W,
    shape: (usize, usize),
    descriptions: &[&str],
    georeference: Option<&Georeference>,
    options: &[&str],
) -> Result<GeoTiffSink<T, W>, FormatError> {
    let options = CreationOptions::parse(options).unwrap();
    GeoTiffSink::new(out, "h.tif", shape, descriptions, georeference, &options)
}

/// Values with NaN here and there, and all of them in some places.
fn result(rows: usize, cols: usize, band: usize) -> Grid<f64> {
    let value = |r: usize, c: usize| match pattern(band, r, c) % 7 {
        0 => f64::NAN,
        _ if r < 30 || r < 64 && c < 40 => f64::NAN,
        n => n as f64 / (1 + r + c) as f64,
    };
    Grid::from_fn(rows, cols, value).unwrap()
}

#[test]
fn sinks_write_what_readers_read() {
    let (rows, cols) = (75, 100);
    let planes: Vec<Grid<f64>> = (0..3).map(|band| result(rows, cols, band)).collect();
    for options in [
        &[][..],
        &["COMPRESS=NONE"],
        &["COMPRESS=LZW", "PREDICTOR=1", "BLOCKXSIZE=16", "BLOCKYSIZE=32"],
        &["COMPRESS=ZSTD", "BIGTIFF=YES", "BLOCKXSIZE=32", "BLOCKYSIZE=16", "SPARSE_OK=YES"],
        &["ZLEVEL=1", "TILED=NO", "BIGTIFF=NO", "BLOCKYSIZE=7"],
        &["TILED=NO", "SPARSE_OK=TRUE", "BLOCKYSIZE=30"],
        &["TILED=NO", "COMPRESS=NONE"],
    ] {
        let mut out = Cursor::new(Vec::new());
        let mut sink = sink::<f64, _>(&mut out, (rows, cols), &["a", "b", "c"], None, options).unwrap();
        let (height, width) = ResultSink::<f64>::block(&sink);
        assert_eq!(ResultSink::<f64>::whole_rows(&sink), options.contains(&"TILED=NO"));
        // Rectangles of two blocks by three.
        for top in (0..rows).step_by(2 * height) {
            for left in (0..cols).step_by(3 * width) {
                let (r, c) = (top..rows.min(top + 2 * height), left..cols.min(left + 3 * width));
                let views: Vec<_> = planes.iter().map(|plane| plane.view().rect(r.clone(), c.clone())).collect();
                sink.write(top, left, &views).unwrap();
            }
        }
        Box::new(sink).finish().unwrap();
        let bytes = out.into_inner();
        let file = TiffFile::from_bytes(bytes.clone()).unwrap();
        assert_eq!(file.is_bigtiff(), options.contains(&"BIGTIFF=YES"));
        let lengths = [file.ifd(0).unwrap().tile_byte_counts(), file.ifd(0).unwrap().strip_byte_counts()];
        let left_out = lengths.iter().flatten().flatten().any(|&n| n == 0);
        assert_eq!(left_out, options.iter().any(|o| o.starts_with("SPARSE")), "{options:?}");
        for (band, plane) in planes.iter().enumerate() {
            let tiff = open(&bytes, band + 1).unwrap();
            assert_eq!((tiff.block(), tiff.bands()), ((height.min(tiff.block().0), width), 3));
            let Values::F64(values) = tiff.read(0..rows, 0..cols).unwrap() else { panic!("{options:?}") };
            let same = values.iter().zip(plane.as_slice()).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
            assert!(same, "{options:?}, band {band}");
        }
    }
}

#[test]
fn classes_are_written_with_a_place() {
    let grid = Grid::from_fn(70, 50, |r, c| if r < 32 { 0 } else { (pattern(0, r, c) % 16) as u8 }).unwrap();
    for options in
        [&["BLOCKXSIZE=16", "BLOCKYSIZE=16", "SPARSE_OK=ON"][..], &["PREDICTOR=2", "COMPRESS=LZW"], &["TILED=NO"]]
    {
        let options = CreationOptions::parse(options).unwrap();
        let mut cells = GeoTiffCells::new(Cursor::new(Vec::new()), "g.tif", 70, 50, None, &options).unwrap();
        cells.write(0, 0, grid.view()).unwrap();
        let tiff = open(cells.finish().unwrap().get_ref(), 1).unwrap();
        assert_eq!(tiff.read(0..70, 0..50).unwrap(), Values::U8(grid.as_slice().to_vec()));
        assert_eq!(tiff.nodata(), None);
        let place = tiff.georeference().unwrap();
        assert_eq!(place.pixel_scale, Some(vec![30.0, 30.0, 0.0]));
        assert_eq!(place.tiepoints, Some(vec![0.0, 0.0, 0.0, 4_320_250.0, 3_211_050.0, 0.0]));
    }
}

#[test]
fn descriptions_are_sound_xml() {
    let mut out = Cursor::new(Vec::new());
    let mut sink = sink::<f32, _>(&mut out, (1, 1), &["a < \"b\" & c > d", "é\n2"], None, &[]).unwrap();
    let cell = GridView::new(&[1.0], 1, 1).unwrap();
    sink.write(0, 0, &[cell, cell]).unwrap();
    Box::new(sink).finish().unwrap();
    let file = TiffFile::from_bytes(out.into_inner()).unwrap();
    assert_eq!(
        file.ifd(0).unwrap().tag(42112).unwrap().value.as_str(),
        Some(
            "<GDALMetadata>\n  \
             <Item name=\"DESCRIPTION\" sample=\"0\" role=\"description\">a &amp;lt; &amp;quot;b&amp;quot; &amp;amp; c &amp;gt; d</Item>\n  \
             <Item name=\"DESCRIPTION\" sample=\"1\" role=\"description\">é 2</Item>\n\
             </GDALMetadata>\n"
        )
    );
}

#[test]
fn misuse_of_a_sink_is_an_error() {
    let message = |shape, descriptions: &[&str], options: &[&str]| {
        sink::<f32, _>(Cursor::new(Vec::new()), shape, descriptions, None, options).unwrap_err().to_string()
    };
    assert_eq!(
        message((1, 1), &["a"], &["PREDICTOR=2"]),
        "h.tif: PREDICTOR=2 is for whole numbers, and results are floating point; choose 1 or 3; change the creation options"
    );
    assert_eq!(
        message((1, 1 << 31), &["a"], &[]),
        "h.tif: a GeoTIFF has 1 to 2147483647 rows and columns, not 1 x 2147483648; choose another format or another grid"
    );
    assert!(message((0, 1), &["a"], &[]).contains("not 0 x 1"));
    assert!(message((1, 1), &[], &[]).contains("a GeoTIFF has 1 to 65535 bands, not 0"));
    assert_eq!(
        message((40_000, 40_000), &["a"], &["BIGTIFF=NO", "COMPRESS=NONE"]),
        "h.tif: the file would be longer than the 4 GiB that a classic TIFF may have; allow a BigTIFF with BIGTIFF=IF_NEEDED"
    );
    let cells = [0.0; 32 * 32];
    let view = |rows, cols| GridView::new(&cells, rows, cols).unwrap();
    let options = ["BLOCKXSIZE=16", "BLOCKYSIZE=16"];
    let mut sink = sink::<f32, _>(Cursor::new(Vec::new()), (40, 40), &["a"], None, &options).unwrap();
    for (top, left, planes) in [
        (0, 0, vec![]),
        (0, 0, vec![view(16, 16), view(16, 16)]),
        (0, 0, vec![view(15, 16)]),
        (8, 0, vec![view(16, 16)]),
        (0, 32, vec![view(16, 16)]),
        (48, 0, vec![view(16, 16)]),
        (usize::MAX - 15, 0, vec![view(16, 16)]),
    ] {
        assert!(sink.write(top, left, &planes).is_err(), "{top} {left}");
    }
    sink.write(0, 0, &[view(16, 32)]).unwrap();
    assert!(sink.write(0, 16, &[view(16, 16)]).unwrap_err().to_string().contains("already been written"));
    let e = Box::new(sink).finish().unwrap_err();
    assert!(e.to_string().contains("not all blocks were written: wrote 2 of 9"), "{e}");
}

/// A disk that is full after so many bytes.
struct Full(Cursor<Vec<u8>>, usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.get_ref().len() + bytes.len() > self.1 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.0.write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for Full {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn a_full_disk_surfaces_wherever_it_is_met() {
    let grid = result(64, 64, 0);
    let write = |room| {
        let full = Full(Cursor::new(Vec::new()), room);
        let mut sink = sink::<f64, _>(full, (64, 64), &["a"], None, &["BLOCKXSIZE=16", "COMPRESS=NONE"])?;
        sink.write(0, 0, &[grid.view()])?;
        Box::new(sink).finish()
    };
    assert!(write(1 << 20).is_ok());
    // In the header, in the blocks, in the tags.
    for room in [0, 8, 16, 100, 30_000, 33_000] {
        assert_eq!(
            write(room).unwrap_err().to_string(),
            "h.tif: writing failed: no storage space; make room or choose another disk"
        );
    }
}

#[test]
fn no_geotiff_goes_to_or_comes_from_a_pipe() {
    let e = GeoTiffCells::new(OutputFile::stdout(), "-", 1, 1, None, &CreationOptions::default()).unwrap_err();
    assert_eq!(
        e.to_string(),
        "-: a GeoTIFF cannot be written to a pipe; name a regular file, or choose another format"
    );
    let e = GeoTiff::open("-".as_ref(), 1).unwrap_err();
    assert_eq!(e.to_string(), "-: a GeoTIFF is read from a file, not from a pipe; name the file");
    #[cfg(unix)]
    {
        let null = OutputFile::create("/dev/null".as_ref(), false).unwrap();
        assert!(GeoTiffCells::new(null, "-", 1, 1, None, &CreationOptions::default()).is_err());
        assert!(GeoTiff::open("/dev/null".as_ref(), 1).unwrap_err().to_string().contains("not from a pipe"));
    }
    let dir = tempfile::tempdir().unwrap();
    assert!(GeoTiff::open(dir.path(), 1).unwrap_err().to_string().contains("name a file"));
    assert!(GeoTiff::open(&dir.path().join("no.tif"), 1).unwrap_err().to_string().contains("check the name"));
}

/// A little-endian classic file with these short tags over one strip of 4 zeros.
fn by_hand(tags: &[(u16, u32)]) -> Vec<u8> {
    let mut all = vec![(256, 2), (257, 2), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, 2), (279, 4)];
    for &(code, value) in tags {
        all.retain(|&(c, _)| c != code);
        all.push((code, value));
    }
    all.sort_unstable();
    let mut bytes = b"II\x2a\0\x0c\0\0\0\0\0\0\0".to_vec();
    bytes.extend((all.len() as u16).to_le_bytes());
    for (code, value) in all {
        bytes.extend(code.to_le_bytes());
        bytes.extend([4, 0, 1, 0, 0, 0]);
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes
}

#[test]
fn every_fault_says_what_and_what_to_do() {
    assert_eq!(open(&by_hand(&[]), 1).unwrap().read(0..2, 0..2).unwrap(), Values::U8(vec![0; 4]));
    let convert = "convert it, as with gdal_translate -co COMPRESS=DEFLATE";
    let damaged = "the file is damaged: copy or make it again";
    for (tags, expected) in [
        (&[(258, 33)][..], format!("samples of 33 bits of its kind are not read; {convert}")),
        (&[(258, 8), (339, 3)], format!("samples of 8 bits of its kind are not read; {convert}")),
        (&[(339, 7)], format!("samples of format 7 are not known; {convert}")),
        (&[(259, 8), (317, 9)], format!("predictor 9 does not go with its samples; {convert}")),
        (&[(259, 7)], format!("its blocks are compressed with JPEG (7); {convert}")),
        (&[(259, 99)], format!("its blocks are compressed with a codec that is not known (99); {convert}")),
        (&[(262, 6), (277, 3)], format!("its samples are colours (YCbCr), not classes; {convert}")),
        (&[(256, 0)], format!("invalid image layout: image dimensions must be positive, got 0x2; {damaged}")),
        (
            &[(256, u32::MAX), (257, u32::MAX)],
            "the header promises 4294967295 rows and 4294967295 columns, more than the 2^40 cells a grid may have; \
             correct the header"
                .to_owned(),
        ),
        (&[(278, 0)], format!("its blocks have 0 rows and 2 columns; {damaged}")),
        (&[(278, 1)], format!("the file has 2 blocks, and offsets of 1; {damaged}")),
    ] {
        assert_eq!(open(&by_hand(tags), 1).unwrap_err().to_string(), format!("f.tif: {expected}"), "{tags:?}");
    }
    assert_eq!(
        open(&odd::tiff((2, 2), &[], &[(273, 4, &[])]), 1).unwrap_err().to_string(),
        format!("f.tif: the file does not say where its blocks are; {damaged}")
    );
    for bytes in [&b""[..], b"II", b"GIF89a..........", b"II\x2a\0", b"MM\0\x2b\0\x04\0\0\0\0\0\0\0\0\0\x10"] {
        assert_eq!(open(bytes, 1).unwrap_err().to_string(), "f.tif: this is not a TIFF file; name a GeoTIFF");
    }
    assert_eq!(
        open(b"II\x2a\0\0\0\0\0", 1).unwrap_err().to_string(),
        format!("f.tif: the file has no image; {damaged}")
    );
    for band in [0, 2] {
        let e = open(&by_hand(&[]), band).unwrap_err();
        assert_eq!(e.to_string(), format!("f.tif: there is no band {band}: the file has 1 band; choose another band"));
    }
    // What only shows when a block is read.
    let read = |tags: &[(u16, u32)]| open(&by_hand(tags), 1).unwrap().read(0..2, 0..2).unwrap_err().to_string();
    assert_eq!(
        read(&[(273, 1000)]),
        format!(
            "f.tif: row 0, column 0 (counted from 0): 4 bytes from byte 1000 on should be there, and the file has 126; \
             {damaged}"
        )
    );
    let e = read(&[(259, 8)]);
    assert!(
        e.starts_with("f.tif: row 0, column 0 (counted from 0): the block that begins there cannot be decoded ("),
        "{e}"
    );
}

#[test]
fn a_short_file_cannot_ask_for_much_memory() {
    // Tables that would fill memory, in a BigTIFF of a few bytes.
    let mut bytes = b"II\x2b\0\x08\0\0\0\x10\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    bytes.extend(324u16.to_le_bytes());
    bytes.extend(16u16.to_le_bytes());
    bytes.extend((1u64 << 36).to_le_bytes());
    bytes.extend(16u64.to_le_bytes());
    bytes.extend([0; 8]);
    assert!(open(&bytes, 1).unwrap_err().to_string().contains("exceeds parse budget"));
    // A directory of 2^40 entries.
    bytes[16..24].copy_from_slice(&(1u64 << 40).to_le_bytes());
    assert!(open(&bytes, 1).unwrap_err().to_string().contains("exceeds parse budget"));
}

#[test]
fn damaged_files_are_errors_and_not_panics() {
    let mut random = fastrand::Rng::with_seed(20_240_817);
    let mut below = |n: usize| (random.u64(..) % n as u64) as usize;
    let tags = [nodata_tag("3"), Tag::new(33550, TagValue::Double(vec![1.0, 1.0, 0.0]))];
    let mut files = Vec::new();
    for compression in [
        Compression::None,
        Compression::Deflate,
        Compression::Lzw,
        Compression::Zstd,
        Compression::Lerc,
        // Read as PackBits below.
        Compression::PackBits,
    ] {
        for (variant, order) in
            [(TiffVariant::Classic, ByteOrder::LittleEndian), (TiffVariant::BigTiff, ByteOrder::BigEndian)]
        {
            for (planar, block) in [(false, (16, Some(32))), (true, (5, None))] {
                let packed = compression == Compression::PackBits;
                let written = if packed { Compression::None } else { compression };
                let kind = Kind { order, variant, compression: written, predictor: Predictor::None, planar, block };
                let mut bytes = file(kind, (40, 53, 2), &tags, |b, r, c| {
                    (r >= 32 || c >= 32).then(|| (pattern(b, r, c) % 9) as f32)
                });
                if packed {
                    // The value of the tag Compression (259, SHORT).
                    let wide = variant == TiffVariant::BigTiff;
                    let entry = |b: &[u8]| order.read_u16([b[0], b[1]]) == 259 && order.read_u16([b[2], b[3]]) == 3;
                    let at = bytes.windows(4).rposition(entry).unwrap() + if wide { 12 } else { 8 };
                    bytes[at..at + 2].copy_from_slice(&order.write_u16(32773));
                }
                files.push(bytes);
            }
        }
    }
    // More in a run made for it.
    let rounds = std::env::var("HALOTILE_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let (mut opened, mut read) = (0, 0);
    for original in &files {
        let length = original.len();
        for _ in 0..rounds {
            let mut bytes = original.clone();
            for _ in 0..1 + below(4) {
                let near_tags = below(2) == 0;
                let at = if near_tags { length - 1 - below(length.min(700)) } else { below(length) };
                bytes[at] = match below(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => bytes[at] ^ (1 << below(8)),
                    _ => below(256) as u8,
                };
            }
            if below(8) == 0 {
                bytes.truncate(below(length));
            }
            let Ok(tiff) = open(&bytes, 1 + below(2)) else { continue };
            opened += 1;
            let (rows, cols) = (tiff.rows().min(40), tiff.cols().min(53));
            let (top, left) = (below(rows), below(cols));
            let got = tiff.read(top..rows, left..cols);
            if let Ok(values) = got {
                read += 1;
                assert_eq!(values.len(), (rows - top) * (cols - left));
            }
        }
    }
    // Most of what is damaged can still be opened, and some of it read.
    assert!(opened > 10 * rounds && read > 5 * rounds, "{opened} opened, {read} read of {}", files.len() * rounds);
}
