//! Bytes as files: every reader of the library.
//!
//! Whatever the bytes, the outcome is a value or one line of error, and memory stays within the target's limit. Where one format has
//! several readers, they agree. Inputs are plain files, without a byte that means something to the target alone, so that
//! a finding can be given to the program as it is.

use halotile::apsp::Weight;
use halotile::apsp::files::distances::MatrixFile;
use halotile::apsp::files::graph::{GraphFormat, GraphOptions, read_graph, read_graph_from};
use halotile::classes::Classes;
use halotile::io::reals::{self, RealFormat};
use halotile::io::{FormatError, InputFormat, Nodata, OutputFormat};
use halotile::measure::Footprint;
use halotile::raster::geotiff::GeoTiff;
use halotile::raster::{Raster, Rasters, StoredRaster, Values, whole};

use crate::check::{one_line, value};
use crate::memory_file;

/// The most cells that a target asks a raster for at once.
const CELLS: usize = 1 << 16;

/// Bytes that a raster may keep of blocks.
const KEPT: usize = 16 << 20;

/// GeoTIFF: each of the first bands, in windows.
pub fn geotiff(input: &[u8]) {
    memory_file::with(input, |path| {
        let Some(mut first) = value(GeoTiff::open(path, 1)) else { return };
        let bands = first.bands();
        if value(first.set_cache_bytes(KEPT)).is_some() {
            windows(&first);
        }
        for band in [2, bands].into_iter().filter(|&band| (2..=bands).contains(&band)) {
            if let Some(mut raster) = value(GeoTiff::open(path, band))
                && value(raster.set_cache_bytes(KEPT)).is_some()
            {
                windows(&raster);
            }
        }
        one_line(&GeoTiff::open(path, bands + 1).expect_err("there is no such band"));
    });
}

/// Reads all of a small raster, or parts of a large one; what overlaps is the same numbers.
fn windows(raster: &dyn Raster) {
    let (rows, cols) = (raster.rows(), raster.cols());
    let (block_rows, block_cols) = raster.block();
    assert!(rows * cols > 0 && block_rows * block_cols > 0, "{rows} x {cols}, blocks {block_rows} x {block_cols}");
    let (high, wide) = (rows.min(200), cols.min(300));
    let corner = value(raster.read(0..high, 0..wide));
    let last = value(raster.read(rows - 1..rows, cols - cols.min(CELLS)..cols));
    let cell = value(raster.read(rows / 2..rows / 2 + 1, cols / 2..cols / 2 + 1));
    if let (Some(corner), Some(cell)) = (&corner, &cell)
        && (rows / 2 < high && cols / 2 < wide)
    {
        let at = rows / 2 * wide + cols / 2;
        assert_eq!(number(corner, at), number(cell, 0), "two windows differ in a cell");
    }
    for values in [corner, last, cell].into_iter().flatten() {
        assert!(!values.is_empty());
    }
}

/// The bits of a number.
fn number(values: &Values, at: usize) -> u64 {
    match values {
        Values::U8(v) => v[at].into(),
        Values::I8(v) => v[at] as u64,
        Values::U16(v) => v[at].into(),
        Values::I16(v) => v[at] as u64,
        Values::U32(v) => v[at].into(),
        Values::I32(v) => v[at] as u64,
        Values::U64(v) => v[at],
        Values::I64(v) => v[at] as u64,
        Values::F32(v) => v[at].to_bits().into(),
        Values::F64(v) => v[at].to_bits(),
    }
}

/// NPY: from a stream and from a file, by windows and as real numbers; all agree.
pub fn npy(input: &[u8]) {
    rasters(InputFormat::Npy, input);
    let reals = value(reals::read(RealFormat::Results(OutputFormat::Npy), input, "f"));
    memory_file::with(input, |path| {
        let mut rasters = Rasters::open(path, InputFormat::Npy, &()).expect("it is there").expect("it has positions");
        let raster = value(rasters.next().expect("one or an error"));
        if raster.as_ref().is_some_and(|raster| raster.rows() * raster.cols() > CELLS) {
            return;
        }
        let grid = raster.and_then(|raster| value(whole(&raster)));
        let bits = |grid: &halotile::grid::Grid<f64>| grid.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(grid.as_ref().map(bits), reals.as_ref().map(|grids| bits(&grids[0])), "two readers of one file");
    });
}

/// PNG.
pub fn png(input: &[u8]) {
    rasters(InputFormat::Png, input);
}

/// PGM.
pub fn pgm(input: &[u8]) {
    rasters(InputFormat::Pgm, input);
}

/// The text format.
pub fn seed_text(input: &[u8]) {
    rasters(InputFormat::SeedText, input);
}

/// The binary format of samples.
pub fn seed_binary(input: &[u8]) {
    rasters(InputFormat::SeedBinary, input);
}

/// Rasters from a stream and from a file: both ways give the same numbers, or none.
fn rasters(format: InputFormat, input: &[u8]) {
    let streamed = seen(Rasters::from_reader(input, format, "f"));
    let filed = memory_file::with(input, |path| {
        seen(Rasters::open(path, format, &()).expect("it is there").expect("it has positions"))
    });
    assert!(streamed == filed, "a file and a stream");
}

/// Looks at windows of every raster; the shape and the first numbers of each, or none where something is wrong with one of them.
fn seen(rasters: Rasters<'_>) -> Option<Vec<(usize, usize, String)>> {
    let look = |raster: Result<StoredRaster, FormatError>| {
        let raster = value(raster)?;
        windows(&raster);
        let first = value(raster.read(0..raster.rows().min(9), 0..raster.cols().min(99)));
        Some((raster.rows(), raster.cols(), format!("{first:?}")))
    };
    rasters.map(look).collect()
}

/// Files of results, as `compare` reads them.
pub fn reals(input: &[u8]) {
    for format in OutputFormat::ALL.iter().copied().map(RealFormat::Results).chain([RealFormat::AnyText]) {
        value(reals::read(format, input, "f"));
    }
}

/// Lists of classes. What is read can code numbers.
pub fn classes(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    for nodata in [None, Some(Nodata::Whole(0)), Some(Nodata::Nan)] {
        let Some(classes) = value(Classes::parse(text, "f", nodata)) else { continue };
        assert!((1..=65_536).contains(&classes.levels()));
        assert_eq!(classes.describe().len(), classes.levels());
        // A table is made for each type of numbers: one type an execution.
        let values = match input.len() % 3 {
            0 => Values::U8((0..=255).collect()),
            1 => Values::I32(vec![-1, 0, 7, 43, 90, 300]),
            _ => Values::F64(vec![f64::NAN, 1.0, -5.0, 0.5, 1e300]),
        };
        let mut codes = vec![0u16; values.len()];
        if classes.encode(&values, &mut codes).is_ok() {
            let is_fine = |&code: &u16| usize::from(code) < classes.levels() || Some(code) == classes.nodata_code();
            assert!(codes.iter().all(is_fine), "codes {codes:?} of {} levels", classes.levels());
        }
    }
}

/// Shapes of windows.
pub fn window(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Some(window) = value(Footprint::parse(text)) {
        let inside =
            (0..window.rows() * window.cols()).filter(|i| window.contains(i / window.cols(), i % window.cols()));
        assert_eq!(inside.count(), window.count());
        assert!(window.count() > 0);
    }
}

/// Graphs, in the format of edges of 12 bytes.
pub fn graph_binary(input: &[u8]) {
    graph(GraphFormat::Binary, input);
}

/// Graphs, in the format of the DIMACS challenges.
pub fn graph_dimacs(input: &[u8]) {
    graph(GraphFormat::Dimacs, input);
}

/// Graphs, as lists of edges.
pub fn graph_edge_list(input: &[u8]) {
    graph(GraphFormat::EdgeList, input);
}

/// Graphs, as matrices of Matrix Market.
pub fn graph_matrix_market(input: &[u8]) {
    graph(GraphFormat::MatrixMarket, input);
}

/// Graphs, as matrices of NPY.
pub fn graph_npy(input: &[u8]) {
    graph(GraphFormat::Npy, input);
}

/// Reads a graph from a stream with every type of weight, and from a file; both ways agree.
fn graph(format: GraphFormat, input: &[u8]) {
    // A matrix of more vertices would be larger than the limit, as the file asks for it: the program compares it with the memory there is.
    let admit = |vertices: usize| if vertices <= 64 { Ok(()) } else { Err("that is too many vertices".to_owned()) };
    for (weight, undirected) in [(Weight::Auto, false), (Weight::I32, true), (Weight::I16, false), (Weight::F32, true)]
    {
        let options = GraphOptions { weight, undirected, admit: &admit };
        let streamed = value(read_graph_from(input, "f", format, &options, &()));
        if weight == Weight::Auto {
            let filed = memory_file::with(input, |path| value(read_graph(path, format, &options, &())));
            assert_eq!(streamed, filed, "a file and a stream");
        }
    }
}

/// Matrices of distances, read by position.
pub fn distances(input: &[u8]) {
    memory_file::with(input, |path| {
        let Some(file) = value(MatrixFile::open(path)) else { return };
        let last = file.vertices() - 1;
        let (row, cell) = (value(file.row(last)), value(file.get(last, 0)));
        assert_eq!(row.map(|row| row[0]), cell, "a row and a cell of it");
    });
}
