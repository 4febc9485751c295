//! Mosaics of files that are made here: by their own places, and as VRT say.

use tempfile::TempDir;

use super::*;
use crate::grid::Grid;
use crate::io::{Number, OutputFile};
use crate::raster::ResultSink as _;
use crate::raster::georeference::CrsKind;
use crate::raster::geotiff::{CreationOptions, Description, GeoTiffCells, GeoTiffSink};

/// A place `left` columns and `top` rows of 10 from that of the whole.
fn place(top: f64, left: f64) -> Georeference {
    let mut place = Georeference::default();
    place.set_epsg(CrsKind::Projected, 32633);
    place.set_geotransform([5e5 + 10.0 * left, 10.0, 0.0, 4e6 - 10.0 * top, 0.0, -10.0]);
    place
}

fn cell(row: usize, col: usize) -> u8 {
    ((row * 7 + col * 13) % 200) as u8
}

fn cells(dir: &TempDir, name: &str, grid: &Grid<u8>, place: Option<&Georeference>) -> PathBuf {
    let path = dir.path().join(name);
    let mut out = OutputFile::create(&path, true).unwrap();
    let options = CreationOptions::parse(&["BLOCKXSIZE=16", "BLOCKYSIZE=16"]).unwrap();
    let mut file = GeoTiffCells::new(&mut out, name, grid.rows(), grid.cols(), place, &options).unwrap();
    file.write(0, 0, grid.view()).unwrap();
    file.finish().unwrap();
    out.commit().unwrap();
    path
}

/// Floating-point numbers, of which NaN is no data.
fn numbers<T: Number>(dir: &TempDir, name: &str, grid: &Grid<T>, place: &Georeference) -> PathBuf {
    let path = dir.path().join(name);
    let mut out = OutputFile::create(&path, true).unwrap();
    let shape = (grid.rows(), grid.cols());
    let described = Description::of(&["a"]);
    let mut sink =
        GeoTiffSink::new(&mut out, name, shape, &described, Some(place), &CreationOptions::default()).unwrap();
    sink.write(0, 0, &[grid.view()]).unwrap();
    Box::new(sink).finish().unwrap();
    out.commit().unwrap();
    path
}

/// Six files of 40 x 50 cells that are a whole of 80 x 150.
fn tiles(dir: &TempDir) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for top in [40, 0] {
        for left in [0, 50, 100] {
            let grid = Grid::from_fn(40, 50, |r, c| cell(top + r, left + c)).unwrap();
            paths.push(cells(dir, &format!("{top}-{left}.tif"), &grid, Some(&place(top as f64, left as f64))));
        }
    }
    paths
}

fn bytes(raster: &dyn Raster, rows: Range<usize>, cols: Range<usize>) -> Vec<u8> {
    match raster.read(rows, cols).unwrap() {
        Values::U8(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

fn expected(rows: Range<usize>, cols: Range<usize>) -> Vec<u8> {
    rows.flat_map(|r| cols.clone().map(move |c| cell(r, c))).collect()
}

#[test]
fn files_lie_where_they_say() {
    let dir = tempfile::tempdir().unwrap();
    let mut mosaic = Mosaic::of_files(&tiles(&dir), 1).unwrap();
    assert_eq!((mosaic.rows(), mosaic.cols(), mosaic.block(), mosaic.bands()), (80, 150, (16, 16), 1));
    assert!(!mosaic.has_mask() && mosaic.nodata().is_none() && mosaic.name().ends_with("40-0.tif and 5 more"));
    assert_eq!(mosaic.georeference(), Some(&place(0.0, 0.0)));
    for _ in 0..2 {
        for (rows, cols) in [(0..80, 0..150), (39..41, 49..51), (10..30, 60..61), (79..80, 0..150)] {
            assert_eq!(bytes(&mosaic, rows.clone(), cols.clone()), expected(rows, cols));
        }
        // With little memory for blocks.
        mosaic.set_cache_bytes(1 << 16).unwrap();
        assert_eq!((mosaic.block(), mosaic.side_by_side()), ((16, 16), 3));
    }
}

#[test]
fn gaps_are_masked_or_have_the_value_for_no_data() {
    let dir = tempfile::tempdir().unwrap();
    let mut paths = tiles(&dir);
    paths.remove(1);
    let mosaic = Mosaic::of_files(&paths, 1).unwrap();
    assert!(mosaic.has_mask() && mosaic.nodata().is_none());
    let masked = mosaic.masked(38..42, 48..52).unwrap().unwrap();
    let hidden = |row: usize, col: usize| row >= 40 && (50..100).contains(&col);
    assert!(masked.iter().enumerate().all(|(i, &masked)| masked == hidden(38 + i / 4, 48 + i % 4)), "{masked:?}");

    // The last one lies over the others, but for its holes.
    let of = |first: f32| Grid::from_fn(4, 4, |r, c| if (r + c) % 2 == 0 { f32::NAN } else { first }).unwrap();
    let full = Grid::from_fn(4, 4, |_, _| 1.0f32).unwrap();
    let (a, b) = (numbers(&dir, "a.tif", &full, &place(0.0, 0.0)), numbers(&dir, "b.tif", &of(2.0), &place(2.0, 3.0)));
    let mosaic = Mosaic::of_files(&[a, b], 1).unwrap();
    assert!(mosaic.nodata() == Some(Nodata::Nan) && (mosaic.rows(), mosaic.cols()) == (6, 7));
    let Values::F32(values) = mosaic.read(2..4, 2..7).unwrap() else { panic!("floating point") };
    let Values::F32(gap) = mosaic.read(0..1, 6..7).unwrap() else { panic!("floating point") };
    assert!(gap[0].is_nan() && mosaic.masked(0..1, 6..7).unwrap() == Some(vec![true]));
    let shown: Vec<i32> = values.iter().map(|value| if value.is_nan() { 0 } else { *value as i32 }).collect();
    assert_eq!(shown, [1, 1, 2, 0, 2, 1, 2, 0, 2, 0]);
}

#[test]
fn files_that_do_not_fit_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let grid = Grid::from_fn(16, 16, cell).unwrap();
    let a = cells(&dir, "a.tif", &grid, Some(&place(0.0, 0.0)));
    let said = |b: PathBuf| Mosaic::of_files(&[a.clone(), b], 1).unwrap_err().to_string();
    let mut elsewhere = place(16.0, 0.0);
    elsewhere.set_epsg(CrsKind::Projected, 3035);
    let mut coarse = place(16.0, 0.0);
    coarse.set_geotransform([5e5, 20.0, 0.0, 4e6, 0.0, -20.0]);
    let unplaced = Georeference { key_text: Some("x".to_owned()), ..Georeference::default() };
    let real = Grid::from_fn(16, 16, |_, _| 1.0f32).unwrap();
    for (path, what) in [
        (
            cells(&dir, "b.tif", &grid, Some(&elsewhere)),
            "b.tif: its coordinate reference system is EPSG:3035, and that of ",
        ),
        (cells(&dir, "c.tif", &grid, Some(&coarse)), "c.tif: its cells are 20 x -20, and those of "),
        (cells(&dir, "d.tif", &grid, Some(&place(16.5, 0.0))), "d.tif: it begins 0 columns and 16.5 rows from "),
        (cells(&dir, "e.tif", &grid, Some(&unplaced)), "e.tif: the file does not say where it lies"),
        (numbers(&dir, "f.tif", &real, &place(16.0, 0.0)), "f.tif: its numbers are f32, and those of "),
        (cells(&dir, "g.tif", &grid, Some(&place(4e9, 0.0))), "rows and 16 columns apart"),
        (dir.path().join("h.tif"), "h.tif: "),
    ] {
        let said = said(path);
        assert!(said.contains(what) && !said.contains('\n'), "{said}");
    }
    assert!(Mosaic::of_files(&[a], 2).unwrap_err().to_string().contains("there is no band 2"));
    assert!(Mosaic::of_files(&[], 1).is_err());
}

/// A VRT of one band of bytes.
fn vrt(dir: &TempDir, name: &str, band: &str, more: &str) -> Result<Mosaic, String> {
    let path = dir.path().join(name);
    let band = format!("<VRTRasterBand dataType=\"Byte\" band=\"1\">{band}</VRTRasterBand>");
    let text = format!("<VRTDataset rasterXSize=\"100\" rasterYSize=\"60\">{more}{band}</VRTDataset>");
    std::fs::write(&path, text).unwrap();
    Mosaic::open_vrt(&path, 1).map_err(|error| error.to_string())
}

fn rect(name: &str, [top, left, rows, cols]: [usize; 4]) -> String {
    format!("<{name} xOff=\"{left}\" yOff=\"{top}\" xSize=\"{cols}\" ySize=\"{rows}.0\"/>")
}

fn source(name: &str, from: [usize; 4], to: [usize; 4], more: &str) -> String {
    let file = format!("<SourceFilename relativeToVRT=\"1\">{name}</SourceFilename><SourceBand>1</SourceBand>");
    format!("<ComplexSource>{file}{}{}{more}</ComplexSource>", rect("SrcRect", from), rect("DstRect", to))
}

#[test]
fn a_vrt_lays_parts_of_files_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    tiles(&dir);
    // The middle of two files, 5 columns apart; the second is cut at the raster's end, and its 17s are transparent.
    let sources = source("0-0.tif", [10, 20, 30, 30], [0, 0, 30, 30], "")
        + &source(
            "40-50.tif",
            [0, 0, 40, 50],
            [20, 25, 40, 50],
            "<NODATA>17</NODATA><UseMaskBand>true</UseMaskBand><ScaleRatio>1</ScaleRatio>",
        )
        + &source("40-100.tif", [0, 0, 40, 50], [30, 80, 40, 50], "");
    let more = "<SRS>EPSG:32633</SRS><GeoTransform> 500, 10.0, 0, 4000, 0, -10</GeoTransform><Metadata><MDI key=\"YEAR\">2024</MDI></Metadata>";
    let check = |mosaic: &Mosaic, gap: u8| {
        let got = bytes(mosaic, 0..60, 0..100);
        for (i, &got) in got.iter().enumerate() {
            let (row, col) = (i / 100, i % 100);
            let first = (row < 30 && col < 30).then(|| cell(row + 10, col + 20));
            let second =
                (row >= 20 && (25..75).contains(&col)).then(|| cell(row + 20, col + 25)).filter(|&value| value != 17);
            let third = (row >= 30 && col >= 80).then(|| cell(row + 10, col + 20));
            assert_eq!(got, third.or(second).or(first).unwrap_or(gap), "row {row}, column {col}");
        }
        assert_eq!(bytes(mosaic, 19..21, 24..31), [&got[1924..1931], &got[2024..2031]].concat());
    };
    let mosaic = vrt(&dir, "m.vrt", &format!("<NoDataValue>255</NoDataValue>{sources}"), more).unwrap();
    check(&mosaic, 255);
    assert_eq!((mosaic.nodata(), mosaic.has_mask(), mosaic.items().len()), (Some(Nodata::Whole(255)), false, 1));
    let place = mosaic.georeference().unwrap();
    assert_eq!((place.epsg(), place.geotransform()), (Some(32633), Some([500.0, 10.0, 0.0, 4000.0, 0.0, -10.0])));
    assert_eq!(mosaic.files().len(), 3);
    // Without a value for no data gaps are 0, as GDAL has it.
    let mosaic = vrt(&dir, "n.vrt", &sources, "").unwrap();
    check(&mosaic, 0);
    assert!(mosaic.nodata().is_none() && mosaic.masked(0..1, 0..1).unwrap().is_none());
    // A VRT of a VRT; nothing but gaps.
    let nested = vrt(
        &dir,
        "o.vrt",
        "<SimpleSource><SourceFilename relativeToVRT=\"1\">n.vrt</SourceFilename></SimpleSource>",
        "",
    );
    check(&nested.unwrap(), 0);
    let mask = |band: &str| {
        let source = format!(
            "<SimpleSource><SourceFilename relativeToVRT=\"1\">0-0.tif</SourceFilename><SourceBand>{band}</SourceBand></SimpleSource>"
        );
        vrt(
            &dir,
            "q.vrt",
            &sources,
            &format!("<MaskBand><VRTRasterBand dataType=\"Byte\">{source}</VRTRasterBand></MaskBand>"),
        )
    };
    let masked = mask("mask,1").unwrap();
    assert!(masked.has_mask() && masked.masked(29..30, 29..32).unwrap() == Some(vec![false; 3]));
    assert_eq!(masked.masked(0..1, 29..32).unwrap(), Some(vec![false, true, true]));
    assert!(mask("2").unwrap_err().contains("its mask band is not made of masks"));
    let empty = vrt(&dir, "p.vrt", "<NoDataValue>7</NoDataValue>", "").unwrap();
    assert_eq!(bytes(&empty, 58..60, 99..100), [7, 7]);
}

#[test]
fn more_files_than_are_kept_open() {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..100)
        .map(|i| {
            let grid = Grid::from_fn(3, 2, |r, c| cell(r, 2 * i + c)).unwrap();
            cells(&dir, &format!("{i}.tif"), &grid, Some(&place(0.0, 2.0 * i as f64)))
        })
        .collect();
    let mosaic = Mosaic::of_files(&paths, 1).unwrap();
    for _ in 0..2 {
        assert_eq!(bytes(&mosaic, 1..3, 0..200), expected(1..3, 0..200));
    }
    let budget = |mosaic: &Mosaic| (mosaic.open.lock().unwrap().cap().get(), mosaic.cache);
    assert_eq!(budget(&mosaic), (BUDGET / ENOUGH, Some((BUDGET, BUDGET / ENOUGH))));
    let mut little = Mosaic::of_files(&paths, 1).unwrap();
    little.set_cache_bytes(ENOUGH / 2).unwrap();
    assert_eq!(budget(&little), (1, Some((ENOUGH / 2, 1))));
    assert_eq!(bytes(&little, 1..3, 0..200), expected(1..3, 0..200));
    // One that goes away, and one that becomes another.
    std::fs::remove_file(&paths[0]).unwrap();
    assert!(mosaic.read(0..1, 0..200).unwrap_err().to_string().contains("0.tif"));
    let real = Grid::from_vec(vec![1.0f32; 6], 3, 2).unwrap();
    numbers(&dir, "0.tif", &real, &place(0.0, 0.0));
    assert!(mosaic.read(0..1, 0..2).unwrap_err().to_string().contains("another one before"));
}

#[test]
fn a_vrt_that_computes_or_makes_no_sense_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    tiles(&dir);
    let whole = [0, 0, 40, 50];
    let with = |more: &str| source("0-0.tif", whole, whole, more);
    for (band, what) in [
        (with("<LUT>0:1</LUT>"), "its element LUT of a source computes cells"),
        (with("<ScaleRatio>2</ScaleRatio>"), "ScaleRatio"),
        (source("0-0.tif", whole, [0, 0, 20, 25], ""), "sizes of cells differ"),
        (source("0-0.tif", [0, 0, 41, 50], [0, 0, 41, 50], ""), "has 40 rows and 50 columns, and more"),
        (source("none.tif", whole, whole, ""), "r.vrt: its source "),
        ("<KernelFilteredSource/>".to_owned(), "KernelFilteredSource computes cells"),
        ("<SimpleSource/>".to_owned(), "no SourceFilename"),
        ("<NoDataValue>x</NoDataValue>".to_owned(), "its NoDataValue is no number"),
        (
            "<SimpleSource><SourceFilename>/vsicurl/http://a/b.tif</SourceFilename></SimpleSource>".to_owned(),
            "is not a file of this machine",
        ),
        (with("").replace("<SourceBand>1<", "<SourceBand>mask,1<"), "the band \"mask,1\" of a file"),
        (with("").replace("<SourceBand>1<", "<SourceBand>2<"), "there is no band 2"),
        (with("").replace("xOff=\"0\"", "xOff=\"0.5\""), "between those of the raster"),
        (with("").replace("xOff=\"0\"", "xOff=\"-1\""), "no place in a raster"),
        (
            "<SimpleSource><SourceFilename relativeToVRT=\"1\">r.vrt</SourceFilename></SimpleSource>".to_owned(),
            "without end",
        ),
    ] {
        let said = vrt(&dir, "r.vrt", &band, "").unwrap_err();
        assert!(
            said.contains(what) && said.contains(".vrt: ") | said.contains(".tif: ") && !said.contains('\n'),
            "{said}"
        );
    }
    let said = |text: &str| {
        let path = dir.path().join("s.vrt");
        std::fs::write(&path, text).unwrap();
        Mosaic::open_vrt(&path, 1).unwrap_err().to_string()
    };
    for (text, what) in [
        ("<VRTDataset", "this is not XML"),
        ("<a/>", "there is no VRTDataset"),
        ("<VRTDataset rasterXSize=\"0\" rasterYSize=\"1\"/>", "rasterXSize is no size"),
        ("<VRTDataset rasterXSize=\"1\" rasterYSize=\"1\"/>", "there is no band 1: the file has 0 bands"),
        (
            "<VRTDataset subClass=\"VRTWarpedDataset\" rasterXSize=\"1\" rasterYSize=\"1\"/>",
            "VRTWarpedDataset, which computes",
        ),
        (
            "<VRTDataset rasterXSize=\"1\" rasterYSize=\"1\"><VRTRasterBand dataType=\"CFloat32\"/></VRTDataset>",
            "the type CFloat32",
        ),
        (
            "<VRTDataset rasterXSize=\"1\" rasterYSize=\"1\"><VRTRasterBand subClass=\"VRTDerivedRasterBand\"/></VRTDataset>",
            "VRTDerivedRasterBand",
        ),
        (
            "<VRTDataset rasterXSize=\"1\" rasterYSize=\"1\"><GeoTransform>1</GeoTransform><VRTRasterBand/></VRTDataset>",
            "GeoTransform",
        ),
    ] {
        assert!(said(text).contains(what), "{}", said(text));
    }
    let view = |raster: &Mosaic| format!("{raster:?}");
    assert!(view(&vrt(&dir, "t.vrt", &with(""), "").unwrap()).contains("60 x 100"));
}
