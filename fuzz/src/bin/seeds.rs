//! Writes the first inputs of every target to `fuzz/corpus/`: small files of every kind, valid and nearly so.
//!
//! `cargo run -p halotile-fuzz --bin fuzz-seeds`, after a format or a target has come along. The search goes on from there; what it finds
//! worth keeping has other names and stays.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use halotile::grid::{Grid, GridView};
use halotile::io::{InputFormat, OutputFormat, write_cells, write_results};
use halotile::raster::geotiff::{CreationOptions, Description, GeoTiffCells, GeoTiffSink};
use halotile::raster::{Georeference, ResultSink};
use halotile_fuzz::TARGETS;

type Seed = (&'static str, String, Vec<u8>);

fn main() -> std::io::Result<()> {
    let mut seeds = Vec::new();
    geotiffs(&mut seeds);
    tiffs_by_hand(&mut seeds);
    arrays(&mut seeds);
    grids(&mut seeds);
    graphs(&mut seeds);
    texts(&mut seeds);
    cases(&mut seeds);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (target, name, bytes) in seeds {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        fs::File::create(folder.join(name))?.write_all(&bytes)?;
    }
    Ok(())
}

fn cells(rows: usize, cols: usize) -> Grid<u8> {
    Grid::from_fn(rows, cols, |r, c| ((r / 3 * 5 + c / 4) % 7) as u8).expect("a shape")
}

fn place() -> Georeference {
    Georeference {
        pixel_scale: Some(vec![30.0, 30.0, 0.0]),
        tiepoints: Some(vec![0.0, 0.0, 0.0, 500_000.0, 4_649_776.0, 0.0]),
        key_directory: Some(vec![1, 1, 0, 1, 3072, 0, 1, 32633]),
        ..Georeference::default()
    }
}

/// Our own files, with every codec, layout and predictor.
fn geotiffs(seeds: &mut Vec<Seed>) {
    let all: [&[&str]; 9] = [
        &["COMPRESS=NONE", "TILED=NO"],
        &["COMPRESS=NONE", "BLOCKXSIZE=16", "BLOCKYSIZE=16", "BIGTIFF=YES"],
        &["COMPRESS=DEFLATE", "BLOCKXSIZE=16", "BLOCKYSIZE=16"],
        &["COMPRESS=DEFLATE", "TILED=NO", "BLOCKYSIZE=5", "PREDICTOR=1"],
        &["COMPRESS=LZW", "BLOCKXSIZE=16", "BLOCKYSIZE=16"],
        &["COMPRESS=LZW", "TILED=NO", "PREDICTOR=1"],
        &["COMPRESS=ZSTD", "BLOCKXSIZE=16", "BLOCKYSIZE=16"],
        &["COMPRESS=ZSTD", "TILED=NO", "BIGTIFF=YES"],
        &["COMPRESS=DEFLATE", "SPARSE_OK=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16"],
    ];
    for (i, words) in all.iter().enumerate() {
        let options = CreationOptions::parse(words).expect("options of ours");
        let grid = cells(18, 20);
        let mut sink = GeoTiffCells::new(Cursor::new(Vec::new()), "f", 18, 20, None, &options).expect("a file");
        let (high, wide) = sink.block();
        for top in (0..18).step_by(high) {
            for left in (0..20).step_by(wide) {
                let rect = grid.view().rect(top..18.min(top + high), left..20.min(left + wide));
                sink.write(top, left, rect).expect("a block");
            }
        }
        seeds.push(("geotiff", format!("ours-u8-{i}.tif"), sink.finish().expect("a file").into_inner()));

        let mut file = Cursor::new(Vec::new());
        let (a, b) = (real(18, 20), real(18, 20));
        let names = ["shannon", "richness"];
        let sink =
            GeoTiffSink::<f32, _>::new(&mut file, "f", (18, 20), &Description::of(&names), Some(&place()), &options);
        let mut sink = sink.expect("a file");
        let (high, wide) = (sink.block().0, if sink.whole_rows() { 20 } else { sink.block().1 });
        for top in (0..18).step_by(high) {
            for left in (0..20).step_by(wide) {
                let rect = |grid: &'_ Grid<f32>| (top..18.min(top + high), left..grid.cols().min(left + wide));
                let views = [&a, &b].map(|grid| grid.view().rect(rect(grid).0, rect(grid).1));
                sink.write(top, left, &views).expect("a block");
            }
        }
        Box::new(sink).finish().expect("a file");
        seeds.push(("geotiff", format!("ours-f32-{i}.tif"), file.into_inner()));
    }
}

fn real(rows: usize, cols: usize) -> Grid<f32> {
    Grid::from_fn(rows, cols, |r, c| if (r + c) % 11 == 0 { f32::NAN } else { (r / 4 * 3 + c / 5) as f32 / 8.0 })
        .expect("a shape")
}

/// A TIFF of one strip, uncompressed: what other programs write and ours does not.
struct Tiff {
    big_endian: bool,
    bits: u16,
    /// 1 unsigned, 2 signed, 3 floating point.
    sample_format: u16,
    samples: u16,
    planar: u16,
    predictor: u16,
    photometric: u16,
    compression: u16,
    nodata: &'static str,
}

impl Tiff {
    const PLAIN: Self = Self {
        big_endian: false,
        bits: 8,
        sample_format: 1,
        samples: 1,
        planar: 1,
        predictor: 1,
        photometric: 1,
        compression: 1,
        nodata: "",
    };

    fn bytes(&self) -> Vec<u8> {
        let (rows, cols) = (6u16, 7u16);
        let short = |v: u16| if self.big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
        let long = |v: u32| if self.big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
        let row = (usize::from(cols) * usize::from(self.samples) * usize::from(self.bits)).div_ceil(8);
        let mut data: Vec<u8> = (0..usize::from(rows) * row).map(|i| (i * 37 % 11) as u8).collect();
        if self.compression == 32773 {
            data = data.chunks(row).flat_map(|row| [&[(row.len() - 1) as u8], row].concat()).collect();
        }
        let strips = if self.planar == 2 { usize::from(self.samples) } else { 1 };
        let length = data.len() / strips;
        let mut file = if self.big_endian { b"MM\0\x2a".to_vec() } else { b"II\x2a\0".to_vec() };
        file.extend(long(8 + data.len() as u32));
        file.extend(&data);
        // Values that do not fit in an entry come after the directory.
        let entries: Vec<(u16, u16, Vec<u32>)> = vec![
            (256, 3, vec![cols.into()]),
            (257, 3, vec![rows.into()]),
            (258, 3, vec![self.bits.into(); self.samples.into()]),
            (259, 3, vec![self.compression.into()]),
            (262, 3, vec![self.photometric.into()]),
            (273, 4, (0..strips).map(|i| (8 + i * length) as u32).collect()),
            (277, 3, vec![self.samples.into()]),
            (278, 3, vec![rows.into()]),
            (279, 4, vec![length as u32; strips]),
            (284, 3, vec![self.planar.into()]),
            (317, 3, vec![self.predictor.into()]),
            (339, 3, vec![self.sample_format.into(); self.samples.into()]),
            (42113, 2, self.nodata.bytes().chain([0]).map(u32::from).collect()),
        ];
        let entries: Vec<_> = entries.into_iter().filter(|entry| entry.0 != 42113 || !self.nodata.is_empty()).collect();
        let mut after = file.len() + 2 + 12 * entries.len() + 4;
        let mut beyond = Vec::new();
        file.extend(short(entries.len() as u16));
        for (tag, kind, values) in entries {
            let bytes: Vec<u8> = values
                .iter()
                .flat_map(|&v| match kind {
                    2 => vec![v as u8],
                    3 => short(v as u16).to_vec(),
                    _ => long(v).to_vec(),
                })
                .collect();
            file.extend([short(tag), short(kind)].concat());
            file.extend(long(values.len() as u32));
            if bytes.len() <= 4 {
                file.extend(bytes.iter().copied().chain([0; 4]).take(4));
            } else {
                file.extend(long(after as u32));
                after += bytes.len();
                beyond.extend(bytes);
            }
        }
        file.extend(long(0));
        file.extend(beyond);
        file
    }
}

fn tiffs_by_hand(seeds: &mut Vec<Seed>) {
    let mut add = |name: &str, tiff: Tiff| seeds.push(("geotiff", format!("hand-{name}.tif"), tiff.bytes()));
    let of = |bits, sample_format| Tiff { bits, sample_format, ..Tiff::PLAIN };
    for bits in [1, 2, 4, 8, 12, 16, 32, 64] {
        add(&format!("u{bits}"), of(bits, 1));
    }
    for bits in [8, 16, 32, 64] {
        add(&format!("i{bits}"), Tiff { nodata: "-1", ..of(bits, 2) });
    }
    for bits in [16, 24, 32, 64] {
        add(&format!("f{bits}"), Tiff { nodata: "nan", ..of(bits, 3) });
    }
    add("u16-big-endian", Tiff { big_endian: true, ..of(16, 1) });
    add("f64-big-endian", Tiff { big_endian: true, nodata: "-3.4e38", ..of(64, 3) });
    add("pixels", Tiff { samples: 3, photometric: 2, ..Tiff::PLAIN });
    add("planes", Tiff { samples: 3, planar: 2, ..Tiff::PLAIN });
    add("cmyk", Tiff { samples: 4, photometric: 5, ..Tiff::PLAIN });
    add("predictor-2", Tiff { predictor: 2, ..of(16, 1) });
    add("predictor-3", Tiff { predictor: 3, ..of(32, 3) });
    add("packbits", Tiff { compression: 32773, ..Tiff::PLAIN });
    add("lerc", Tiff { compression: 34887, ..of(32, 3) });
    add("lzma", Tiff { compression: 34925, ..Tiff::PLAIN });
    add("white-is-zero", Tiff { photometric: 0, ..of(4, 1) });
    add("complex", Tiff { sample_format: 6, ..of(64, 1) });
}

fn array(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn arrays(seeds: &mut Vec<Seed>) {
    let types = [
        ("|u1", 1),
        ("|b1", 1),
        ("<i2", 2),
        (">u2", 2),
        ("<i4", 4),
        ("<u4", 4),
        ("<i8", 8),
        (">u8", 8),
        ("<f4", 4),
        (">f8", 8),
    ];
    for (descr, size) in types {
        let data: Vec<u8> = (0..3 * 4 * size).map(|i| if i % size == 0 { (i % 16) as u8 } else { 0 }).collect();
        for fortran in [false, true] {
            let name = format!(
                "{}{}{}.npy",
                &descr[1..],
                if descr.starts_with('>') { "-big" } else { "" },
                if fortran { "-fortran" } else { "" }
            );
            seeds.push(("npy", name, array(descr, fortran, "(3, 4)", &data)));
        }
    }
    for descr in ["<i4", "<f4", "<f8", "|u1"] {
        let size = usize::from(descr.as_bytes()[2] - b'0');
        let data: Vec<u8> = (0..9 * size).map(|i| (i * 7 % 5) as u8).collect();
        let file = array(descr, false, "(3, 3)", &data);
        seeds.push(("graph_npy", format!("{}.npy", &descr[1..]), file.clone()));
        seeds.push(("distances", format!("{}.npy", &descr[1..]), file));
    }
    let reals: [f64; 4] = [0.0, f64::INFINITY, 2.5, f64::NAN];
    seeds.push((
        "graph_npy",
        "infinite.npy".into(),
        array("<f8", false, "(2, 2)", &reals.map(f64::to_le_bytes).concat()),
    ));
    seeds.push(("distances", "plain".into(), [0i32, 5, 7, 0].map(i32::to_le_bytes).concat()));
    for format in OutputFormat::ALL.iter().copied().filter(|&format| format != OutputFormat::GeoTiff) {
        let results = [1.5f64, f64::NAN, 0.0, 12.25, -1.0, 3.0];
        let view = GridView::new(&results, 2, 3).expect("a shape");
        if let Ok(file) = write_results(format, Vec::new(), view, 5) {
            seeds.push(("reals", format.name().to_owned(), file));
        }
    }
}

fn grids(seeds: &mut Vec<Seed>) {
    let grid = cells(5, 6);
    let formats = [
        (InputFormat::Png, "png"),
        (InputFormat::Pgm, "pgm"),
        (InputFormat::SeedText, "seed_text"),
        (InputFormat::SeedBinary, "seed_binary"),
        (InputFormat::Npy, "npy"),
    ];
    for (format, target) in formats {
        let file = write_cells(format, Vec::new(), grid.view()).expect("a file in memory");
        if format == InputFormat::SeedBinary {
            seeds.push((target, "two".into(), [&file[..], &file].concat()));
        }
        seeds.push((target, "grid".into(), file));
    }
    for (name, text) in [
        ("plain", "P2\n# a comment\n3 2\n15\n0 1 2\n3 4 15\n"),
        ("plain-16", "P2 2 2 65535 0 255 256 65535"),
        ("bits", "P1\n3 2\n0 1 0 101"),
        ("raw-16", "P5\n2 2\n300\n\u{0}\u{1}\u{0}\u{2}\u{0}\u{3}\u{0}\u{4}"),
        ("colours", "P3\n1 1\n255\n1 2 3\n"),
    ] {
        seeds.push(("pgm", name.into(), text.into()));
    }
    for (name, text) in [
        ("two-rows", "2 3\n1 2 3\n4 5 6\n"),
        ("one-line", "1 8\n0 0 0 0 0 1 2 3\n"),
        ("nodata", "2 2\n-9999 1\n1.0 2e0\n"),
        ("windows", "\u{feff}1 2\r\n1\t2\r\n"),
        ("many", "1 2 3 4\n"),
        ("words", "2 3\n-1 255 256\n65535 -1 0\n"),
    ] {
        seeds.push(("seed_text", name.into(), text.into()));
        seeds.push(("reals", format!("{name}.txt"), text.into()));
    }
    seeds.push(("reals", "lines".into(), b"2,2,1.5,0.0,nan,2.0,\n1,1,7,\n".to_vec()));
}

fn graphs(seeds: &mut Vec<Seed>) {
    let edges: [i32; 11] = [3, 3, 0, 1, 5, 1, 2, 7, 2, 0, -1];
    seeds.push(("graph_binary", "three".into(), edges.map(i32::to_le_bytes).concat()));
    seeds.push(("graph_binary", "none".into(), [2i32, 0].map(i32::to_le_bytes).concat()));
    for (target, name, text) in [
        ("graph_dimacs", "arcs", "c a comment\np sp 3 3\na 1 2 5\na 2 3 7\na 3 1 -1\n"),
        ("graph_dimacs", "edges", "p edge 3 2\ne 1 2\ne 2 3\n"),
        ("graph_edge_list", "weights", "# from to weight\n0 1 5\n1 2 7\n2 0 -1\n"),
        ("graph_edge_list", "plain", "0 1\n1 2\n"),
        ("graph_edge_list", "commas", "0,1,2.5\n1,2,1e-3\n"),
        ("graph_matrix_market", "real", "%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 2 0.5\n2 3 7\n"),
        (
            "graph_matrix_market",
            "symmetric",
            "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 5\n3 3 1\n",
        ),
        ("graph_matrix_market", "pattern", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"),
        ("graph_matrix_market", "array", "%%MatrixMarket matrix array integer general\n2 2\n0\n1\n2\n0\n"),
        ("graph_matrix_market", "skew", "%%MatrixMarket matrix array real skew-symmetric\n2 2\n1.5\n"),
    ] {
        seeds.push((target, name.into(), text.into()));
    }
}

fn texts(seeds: &mut Vec<Seed>) {
    for (target, name, text) in [
        ("classes", "nlcd", "11, water\n41..43, forest   # deciduous, evergreen, mixed\n90, forest\n95\n*, nodata\n"),
        ("classes", "others", "-5..-1, low\n0, nodata\n*, rest\n"),
        ("classes", "wide", "-9223372036854775808..18446744073709551615, all\n"),
        ("window", "cross", "010\n111\n010\n"),
        ("window", "blanks", "# a cross\n0 1 0\r\n1,1, 1 # all\n\n\t0 1 0"),
        ("window", "row", "1\n"),
        (
            "options",
            "geotiff",
            "COMPRESS=DEFLATE\nZLEVEL=9\nPREDICTOR=2\nTILED=YES\nBLOCKXSIZE=512\nBLOCKYSIZE=16\nBIGTIFF=IF_SAFER\nSPARSE_OK=on\n",
        ),
        ("options", "strips", "COMPRESS=ZSTD\nTILED=NO\nBLOCKYSIZE=7"),
        ("options", "measures", "shannon\nsimpson\nrichness\nevenness\nrenyi:0.5\nhill:inf\nhill:-0\n"),
        ("options", "devices", "auto\ncpu\ncuda\ncuda:0,1\nemulator:3\n"),
        ("options", "numbers", "-9999\n-1.#INF\nnan\n1e400\n0.5\n-0\n"),
        (
            "options",
            "names",
            "shrink\nnodata\nseed-text\ntiff\nnpy\ntensor\nv14\ntiled\ni16\nclustered\nmap.tif\ng.mtx\n",
        ),
    ] {
        seeds.push((target, name.into(), text.into()));
    }
}

/// Bytes for the targets that draw cases from them.
fn cases(seeds: &mut Vec<Seed>) {
    let drawn = ["mask", "entropy", "measures", "stream", "emulator", "paths", "geotiff_written"];
    for target in TARGETS.iter().map(|target| target.name).filter(|name| drawn.contains(name)) {
        for (i, length) in [16usize, 60, 200, 400, 700, 1000].into_iter().enumerate() {
            // SplitMix64, from a seed that the name decides.
            let mut state = target.bytes().fold(i as u64, |state, byte| state.wrapping_mul(31) + u64::from(byte));
            let mut next = || {
                state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let z = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                (z ^ z >> 27) as u8
            };
            seeds.push((target, format!("random-{i}"), (0..length).map(|_| next()).collect()));
        }
    }
}
