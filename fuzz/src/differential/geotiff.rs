//! Our GeoTIFFs read again: with any creation options, the numbers, nodata and georeference that were written.

use std::io::Cursor;

use halotile::grid::{Grid, GridView};
use halotile::io::{Nodata, Number};
use halotile::numbers::Real;
use halotile::raster::geotiff::{CreationOptions, Description, GeoTiff, GeoTiffCells, GeoTiffSink};
use halotile::raster::{Georeference, Raster, ResultSink, Values};

use crate::case::Case;
use crate::check::value;
use crate::memory_file;

/// Options, some of which do not go together: those are refused.
fn options(case: &mut Case<'_>) -> Option<CreationOptions> {
    let mut words = Vec::new();
    let mut add = |chance: bool, word: String| words.extend(chance.then_some(word));
    let compression = case.one(&["DEFLATE", "LZW", "ZSTD", "NONE"]);
    add(true, format!("COMPRESS={compression}"));
    add(case.seldom(8), format!("ZLEVEL={}", case.number(1, 12)));
    add(case.seldom(8), format!("ZSTD_LEVEL={}", case.number(1, 22)));
    add(case.flip(), format!("PREDICTOR={}", case.number(1, 3)));
    let tiled = case.flip();
    add(true, format!("TILED={}", if tiled { "YES" } else { "NO" }));
    add(tiled, format!("BLOCKXSIZE={}", 16 * case.number(1, 4)));
    add(tiled || case.flip(), format!("BLOCKYSIZE={}", case.number(1, 5) * if tiled { 16 } else { 1 }));
    add(case.flip(), format!("BIGTIFF={}", case.one(&["YES", "NO", "IF_NEEDED", "IF_SAFER"])));
    add(case.flip(), "SPARSE_OK=YES".to_owned());
    add(tiled && case.flip(), "LAYOUT=COG".to_owned());
    add(tiled && case.seldom(4), "OVERVIEWS=AUTO".to_owned());
    add(case.seldom(4), "STATISTICS=NO".to_owned());
    value(CreationOptions::parse(&words))
}

fn georeference(case: &mut Case<'_>) -> Option<Georeference> {
    case.flip().then(|| Georeference {
        pixel_scale: Some(vec![case.number(1, 1000) as f64 / 10.0, case.number(1, 1000) as f64 / 10.0, 0.0]),
        tiepoints: Some(vec![0.0, 0.0, 0.0, case.number(0, 1 << 20) as f64, case.number(0, 1 << 20) as f64, 0.0]),
        transformation: None,
        key_directory: Some(vec![1, 1, 0, 1, 3072, 0, 1, case.number(1024, 32766) as u16]),
        key_doubles: None,
        key_text: None,
        rpc: case.flip().then(|| (0..92).map(f64::from).collect()),
    })
}

/// Results of one or more measures in either precision, or classes.
pub fn geotiff_written(input: &[u8]) {
    let mut case = Case::new(input);
    let Some(options) = options(&mut case) else { return };
    let place = georeference(&mut case);
    let (rows, cols) = (case.number(1, 70), case.number(1, 70));
    match case.number(0, 2) {
        0 => {
            let grid = case.grid(rows, cols, 256);
            let made = GeoTiffCells::new(Cursor::new(Vec::new()), "f", rows, cols, place.as_ref(), &options);
            let Some(mut sink) = value(made) else { return };
            let block = sink.block();
            rectangles((rows, cols), block, !case.flip() || block.1 >= cols, |top, left, high, wide| {
                let cells = grid.view().rect(top..top + high, left..left + wide);
                sink.write(top, left, cells).expect("there is memory");
            });
            let file = sink.finish().expect("there is memory").into_inner();
            memory_file::with(&file, |path| {
                let raster = GeoTiff::open(path, 1).expect("our own file");
                assert!(place.is_none() || raster.georeference() == place.as_ref(), "the georeference");
                let got = raster.read(0..rows, 0..cols).expect("our own file");
                assert_eq!(got, Values::U8(grid.as_slice().to_vec()));
            });
        }
        1 => results::<f32>(&mut case, (rows, cols), place.as_ref(), &options),
        _ => results::<f64>(&mut case, (rows, cols), place.as_ref(), &options),
    }
}

fn results<T: Real + Number>(
    case: &mut Case<'_>,
    (rows, cols): (usize, usize),
    place: Option<&Georeference>,
    options: &CreationOptions,
) {
    let planes = case.number(1, 3);
    let number = |bytes: &[u8]| {
        let mut number = T::default();
        bytemuck::bytes_of_mut(&mut number).copy_from_slice(bytes);
        number
    };
    let mut plane = || {
        let bytes = case.bytes(rows * cols * size_of::<T>());
        let numbers = bytes.chunks_exact(size_of::<T>()).map(number).collect();
        Grid::<T>::from_vec(numbers, rows, cols).expect("a shape")
    };
    let grids: Vec<Grid<T>> = (0..planes).map(|_| plane()).collect();
    let mut file = Cursor::new(Vec::new());
    let names = ["shannon", "hill:2", "richness"];
    let made =
        GeoTiffSink::<T, _>::new(&mut file, "f", (rows, cols), &Description::of(&names[..planes]), place, options);
    let Some(mut sink) = value(made) else { return };
    let (block, whole) = (sink.block(), sink.whole_rows());
    rectangles((rows, cols), block, whole, |top, left, high, wide| {
        let views: Vec<GridView<'_, T>> =
            grids.iter().map(|grid| grid.view().rect(top..top + high, left..left + wide)).collect();
        sink.write(top, left, &views).expect("there is memory");
    });
    Box::new(sink).finish().expect("there is memory");
    memory_file::with(file.get_ref(), |path| {
        for (band, grid) in (1..).zip(&grids) {
            let raster = GeoTiff::open(path, band).expect("our own file");
            assert_eq!((raster.bands(), raster.nodata()), (planes, Some(Nodata::Nan)));
            assert_eq!(raster.georeference().cloned().unwrap_or_default(), place.cloned().unwrap_or_default());
            let bits = |values: &[T]| values.iter().map(|v| v.to_f64()).map(of_nan).collect::<Vec<_>>();
            let got = match raster.read(0..rows, 0..cols).expect("our own file") {
                Values::F32(v) => v.into_iter().map(f64::from).map(of_nan).collect(),
                Values::F64(v) => v.into_iter().map(of_nan).collect(),
                other => vec![other.len() as u64],
            };
            assert_eq!(got, bits(grid.as_slice()), "band {band} of {planes}");
        }
    });
}

/// The bits of a number; one NaN for all, because blocks of nothing but NaN may be left out.
fn of_nan(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

/// Rectangles of whole blocks, in the order that sinks take.
fn rectangles(
    (rows, cols): (usize, usize),
    (high, wide): (usize, usize),
    whole: bool,
    mut write: impl FnMut(usize, usize, usize, usize),
) {
    let wide = if whole { cols } else { wide };
    for top in (0..rows).step_by(high) {
        for left in (0..cols).step_by(wide) {
            write(top, left, high.min(rows - top), wide.min(cols - left));
        }
    }
}
