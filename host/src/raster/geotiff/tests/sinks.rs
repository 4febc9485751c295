//! What the sinks write, read back; misuse of them, full disks and pipes.

use std::io::{Cursor, Seek, SeekFrom, Write};

use super::*;
use crate::raster::cell::each;

pub fn sink<T: crate::io::Number, W: Write + Seek>(
    out: W,
    shape: (usize, usize),
    descriptions: &[&str],
    georeference: Option<&Georeference>,
    options: &[&str],
) -> Result<GeoTiffSink<T, W>, FormatError> {
    let options = CreationOptions::parse(options).unwrap();
    GeoTiffSink::new(out, "h.tif", shape, &Description::of(descriptions), georeference, &options)
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
        &["LAYOUT=COG", "BLOCKSIZE=32"],
        &["LAYOUT=COG", "BLOCKSIZE=16", "COMPRESS=NONE", "SPARSE_OK=YES", "BIGTIFF=YES"],
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
    let described = Description::of(&["a < \"b\" & c > d", "é\n2"]).unit(1, "bits").unit(2, "none");
    let described = described.item("HALOTILE_INPUT", "a&b.tif").item("\"", "1 x 1");
    let options = CreationOptions::parse(&["STATISTICS=NO"]).unwrap();
    let mut sink = GeoTiffSink::<f32, _>::new(&mut out, "h.tif", (1, 1), &described, None, &options).unwrap();
    let cell = GridView::new(&[1.0], 1, 1).unwrap();
    sink.write(0, 0, &[cell, cell]).unwrap();
    Box::new(sink).finish().unwrap();
    let file = TiffFile::from_bytes(out.into_inner()).unwrap();
    let text = |tag| file.ifd(0).unwrap().tag(tag).unwrap().value.as_str().unwrap();
    assert_eq!(
        text(42112),
        "<GDALMetadata>\n  \
         <Item name=\"HALOTILE_INPUT\">a&amp;amp;b.tif</Item>\n  \
         <Item name=\"&quot;\">1 x 1</Item>\n  \
         <Item name=\"DESCRIPTION\" sample=\"0\" role=\"description\">a &amp;lt; &amp;quot;b&amp;quot; &amp;amp; c &amp;gt; d</Item>\n  \
         <Item name=\"DESCRIPTION\" sample=\"1\" role=\"description\">é 2</Item>\n  \
         <Item name=\"UNITTYPE\" sample=\"1\" role=\"unittype\">bits</Item>\n\
         </GDALMetadata>\n"
    );
    let stored = [Stored::up_to(StoredType::U16, 65_534.0 * 0.25), Stored::counts(StoredType::U16, 9).unwrap()];
    let xml = Description::of(&["h", "s"]).stored(&stored).tags(&[])[1].value.as_str().unwrap().to_owned();
    for (band, scale) in ["0.25", "1"].iter().enumerate() {
        assert!(
            xml.contains(&format!("<Item name=\"SCALE\" sample=\"{band}\" role=\"scale\">{scale}</Item>")),
            "{xml}"
        );
        assert!(xml.contains(&format!("<Item name=\"OFFSET\" sample=\"{band}\" role=\"offset\">0</Item>")), "{xml}");
    }
    assert_eq!(text(305), concat!("halotile ", env!("CARGO_PKG_VERSION")));
}

/// Of a raster with overviews the directories, in both layouts, from pieces in rows of pieces; and what the file says its numbers are alike.
#[test]
fn overviews_follow_the_whole_in_every_layout() {
    let (rows, cols) = (700, 1100);
    let plane = result(rows, cols, 0);
    let kept = 8 * 64 * (550 + 275);
    let mut files = Vec::new();
    for options in [&["LAYOUT=COG", "BLOCKSIZE=64"][..], &["OVERVIEWS=AUTO", "BLOCKSIZE=64"], &["BLOCKSIZE=64"]] {
        for piece in [(64, 128), (192, 1100)] {
            let mut out = Cursor::new(Vec::new());
            let mut sink = sink::<f64, _>(&mut out, (rows, cols), &["h"], None, options).unwrap();
            assert_eq!(ResultSink::<f64>::kept_bytes(&sink), if options.len() > 1 { kept } else { 0 });
            for top in (0..rows).step_by(piece.0) {
                for left in (0..cols).step_by(piece.1) {
                    let (r, c) = (top..rows.min(top + piece.0), left..cols.min(left + piece.1));
                    sink.write(top, left, &[plane.view().rect(r, c)]).unwrap();
                }
            }
            Box::new(sink).finish().unwrap();
            let bytes = out.into_inner();
            let file = TiffFile::from_bytes(bytes.clone()).unwrap();
            let shapes: Vec<_> = file.ifds().iter().map(|ifd| (ifd.height(), ifd.width())).collect();
            assert_eq!(shapes, &[(700, 1100), (350, 550), (175, 275)][..if options.len() > 1 { 3 } else { 1 }]);
            let subfile = |i: usize| file.ifd(i).unwrap().tag(254).map(|tag| tag.value.as_u32().unwrap());
            assert_eq!((0..shapes.len()).map(subfile).collect::<Vec<_>>(), &[None, Some(1), Some(1)][..shapes.len()]);
            let nodata = |i: usize| file.ifd(i).unwrap().tag(42113).unwrap().value.as_str().unwrap();
            assert!((0..shapes.len()).all(|i| nodata(i) == "nan"));
            let xml = file.ifd(0).unwrap().tag(42112).unwrap().value.as_str().unwrap();
            assert!(xml.contains("<Item name=\"STATISTICS_MAXIMUM\" sample=\"0\">"), "{xml}");
            let Values::F64(values) = open(&bytes, 1).unwrap().read(0..rows, 0..cols).unwrap() else { panic!() };
            assert!(values.iter().zip(plane.as_slice()).all(|(a, b)| a == b || a.is_nan() && b.is_nan()));
            files.push(bytes);
        }
    }
    // A COG does not tell in which pieces it came; nor do others but for where blocks lie.
    assert!(files[0] == files[1]);
    let text =
        |file: &[u8]| TiffFile::from_bytes(file.to_vec()).unwrap().ifd(0).unwrap().tag(42112).unwrap().value.clone();
    assert!(files.iter().all(|file| text(file) == text(&files[0])));
}

/// Whole numbers from 1 in place of results.
fn counted(results: &Grid<f64>) -> Grid<f64> {
    let (rows, cols) = (results.rows(), results.cols());
    Grid::from_fn(rows, cols, |r, c| (100.0 * results.row(r)[c]).floor() + 1.0).unwrap()
}

/// Every type, in tiles and strips, blocks without data left out and beyond the edge: read back, and by its scale what it was.
#[test]
fn results_are_stored_in_every_type() {
    let (rows, cols) = (75, 100);
    let planes: Vec<Grid<f64>> = (0..2).map(|band| result(rows, cols, band)).collect();
    let counts: Vec<Grid<f64>> = planes.iter().map(counted).collect();
    for (&of, from_one) in StoredType::ALL.iter().flat_map(|of| [(of, false), (of, true)]) {
        let planes = if from_one { &counts } else { &planes };
        let stored = if from_one {
            [Stored::from_one(of, 41).unwrap(); 2]
        } else {
            [Stored::up_to(of, 6.0), Stored::up_to(of, 40.0)]
        };
        for options in [
            &[][..],
            &["SPARSE_OK=YES", "BLOCKXSIZE=32", "BLOCKYSIZE=16"],
            &["TILED=NO", "COMPRESS=NONE"],
            &["COMPRESS=ZSTD", "PREDICTOR=1"],
        ] {
            let mut out = Cursor::new(Vec::new());
            let described = Description::of(&["a", "b"]).stored(&stored);
            let options = CreationOptions::parse(options).unwrap();
            let mut sink = GeoTiffSink::<f64, _>::new(&mut out, "h", (rows, cols), &described, None, &options).unwrap();
            sink.write(0, 0, &[planes[0].view(), planes[1].view()]).unwrap();
            Box::new(sink).finish().unwrap();
            for (band, plane) in planes.iter().enumerate() {
                let tiff = open(out.get_ref(), band + 1).unwrap();
                let nodata = match of {
                    StoredType::F32 | StoredType::F64 => Nodata::Nan,
                    _ if from_one => Nodata::Whole(0),
                    StoredType::U8 => Nodata::Whole(255),
                    StoredType::U16 => Nodata::Whole(65_535),
                    StoredType::I16 => Nodata::Whole(-32_768),
                };
                assert_eq!((tiff.value_type().name(), tiff.nodata()), (of.name(), Some(nodata)));
                for (number, result) in tiff.results().unwrap().as_slice().iter().zip(plane.as_slice()) {
                    let within = if of.is_real() { 1e-5 } else { stored[band].scale() * 0.5 + 1e-9 };
                    assert!(
                        (number - result).abs() <= within || number.is_nan() && result.is_nan(),
                        "{number} {result}"
                    );
                }
                let read = tiff.read(0..rows, 0..cols).unwrap();
                #[expect(clippy::unnecessary_cast, reason = "one of the types is f64")]
                let numbers: Vec<f64> = each!(&read, read => read.iter().map(|&number| number as f64).collect());
                let within = if of.is_real() { 1e-6 } else { stored[band].scale() * 0.5 + 1e-9 };
                for (number, result) in numbers.iter().zip(plane.as_slice()) {
                    let fine = match nodata {
                        _ if !result.is_nan() => (number * stored[band].scale() - result).abs() <= within,
                        Nodata::Whole(nodata) => *number == nodata as f64,
                        _ => number.is_nan(),
                    };
                    assert!(fine, "{of:?}, band {band}: {number} for {result}");
                }
            }
        }
    }
}

#[test]
fn misuse_of_a_sink_is_an_error() {
    let message = |shape, descriptions: &[&str], options: &[&str]| {
        sink::<f32, _>(Cursor::new(Vec::new()), shape, descriptions, None, options).unwrap_err().to_string()
    };
    assert_eq!(
        message((1, 1), &["a"], &["PREDICTOR=2"]),
        "h.tif: PREDICTOR=2 is for whole numbers, and what is written is floating point; choose 1 or 3; change the creation options"
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
    let e = Box::new(sink).finish().unwrap_err();
    assert!(e.to_string().contains("not all blocks were written: wrote 2 of 9"), "{e}");
    // Found when the block would go to the file, at the end if not before.
    let mut again = super::sink::<f32, _>(Cursor::new(Vec::new()), (40, 40), &["a"], None, &options).unwrap();
    let twice = [16, 16].into_iter().try_for_each(|left| again.write(0, left, &[view(16, 16)]));
    let e = twice.and_then(|()| Box::new(again).finish()).unwrap_err();
    assert!(e.to_string().contains("already been written"), "{e}");
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
