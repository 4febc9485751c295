//! `halotile entropy` of rasters: GeoTIFF piece by piece, numbers of all types as classes, masks, edges, limits to memory; and what of that
//! contradicts itself.

use std::path::Path;

use halotile::entropy::MAX_MEASURES;
use halotile::grid::{Grid, GridView};
use halotile::io::OutputFile;
use halotile::io::reals::{RealFormat, read};
use halotile::measure::{Edge, Footprint, Measure};
use halotile::raster::geotiff::{CreationOptions, GeoTiff, GeoTiffSink};
use halotile::raster::{Raster, ResultSink, whole};
use halotile::reference::{self, Windows};
use serde_json::{Value, json};

use crate::place::{Place, VECTOR, npy, random, seed_binary};

fn numbers(place: &Place, name: &str) -> Grid<f64> {
    if Path::new(name).extension().is_some_and(|ending| ending == "tif") {
        return whole(&GeoTiff::open(&place.path(name), 1).expect("a GeoTIFF")).expect("numbers");
    }
    let format = RealFormat::detect(name.as_ref()).expect("a known ending");
    read(format, &place.read(name)[..], name).expect("numbers").remove(0)
}

fn close(a: &Grid<f64>, b: &Grid<f64>) -> bool {
    halotile::compare::grids(a.view(), b.view(), 1e-5).is_ok_and(|found| found.agrees())
}

fn json_of(place: &Place, args: &str) -> Value {
    serde_json::from_str(&place.run(&format!("{args} -q --json --overwrite")).quietly()).expect("JSON")
}

/// Cells as an NPY file of i32.
fn npy_i32(place: &Place, name: &str, rows: usize, cols: usize, value: impl Fn(usize, usize) -> i32) {
    let data = (0..rows * cols).flat_map(|i| value(i / cols, i % cols).to_le_bytes()).collect::<Vec<u8>>();
    place.write(name, npy("<i4", "False", &format!("({rows}, {cols})"), &data));
}

/// Bands of f32 as a GeoTIFF whose nodata value is NaN.
fn tiff(place: &Place, name: &str, bands: &[Grid<f32>], options: &[&str]) {
    let mut file = OutputFile::create(&place.path(name), false).expect("a file");
    let (shape, names) = ((bands[0].rows(), bands[0].cols()), vec!["band"; bands.len()]);
    let options = CreationOptions::parse(options).expect("options");
    let mut sink = GeoTiffSink::<f32, _>::new(&mut file, name, shape, &names, None, &options).expect("a sink");
    let views: Vec<GridView<'_, f32>> = bands.iter().map(Grid::view).collect();
    sink.write(0, 0, &views).expect("written");
    Box::new(sink).finish().expect("finished");
    file.commit().expect("there");
}

#[test]
fn geotiffs_go_in_and_out_and_keep_their_place() {
    let place = Place::new();
    place.run("generate grid --rows 700 --cols 900 --levels 9 --seed 3 --pattern clustered m.tif --co BLOCKXSIZE=64 --co BLOCKYSIZE=48")
        .quietly();
    place.run("generate grid --rows 700 --cols 900 --levels 9 --seed 3 --pattern clustered m.npy").quietly();
    let cells = read(RealFormat::detect("m.npy".as_ref()).expect("npy"), &place.read("m.npy")[..], "m").expect("cells");
    let codes = cells[0].as_slice().iter().map(|&v| v as u8).collect();
    let wanted = reference::entropy(Grid::from_vec(codes, 700, 900).expect("a shape").view(), 7, None);
    for out in ["h.tif", "h.npy", "h.txt"] {
        let told = json_of(&place, &format!("entropy m.tif {out} --size 7 --preview p.png"));
        assert_eq!((&told["input_format"], &told["band"], &told["rows"]), (&json!("geotiff"), &json!(1), &json!(700)));
        assert!(close(&numbers(&place, out), &wanted), "{out}");
    }
    place.run("entropy m.npy g.tif --size 7 -q --co TILED=NO --co COMPRESS=LZW --precision f64").quietly();
    assert!(close(&numbers(&place, "g.tif"), &wanted));
    let open = |name: &str| GeoTiff::open(&place.path(name), 1).expect("a GeoTIFF");
    let (map, results, strips) = (open("m.tif"), open("h.tif"), open("g.tif"));
    assert!(map.georeference().is_some() && results.georeference() == map.georeference());
    assert_eq!((results.block(), results.nodata()), ((512, 512), Some(halotile::io::Nodata::Nan)));
    assert!(strips.block().1 == 900 && strips.georeference().is_none());
    assert_eq!(strips.value_type(), halotile::numbers::ValueType::F64);
    // The preview is the same, whatever way the results went.
    let first = place.read("p.png");
    json_of(&place, "entropy m.npy h.npy --size 7 --preview p.png");
    assert!(place.read("p.png") == first);
    // The device's pieces are the CPU's, but for the last digits.
    place.run("entropy m.tif d.tif --size 7 -q --device emulator:2").quietly();
    assert!(close(&numbers(&place, "d.tif"), &wanted));
    // An ending in capitals, and a name that says nothing.
    place.write("M.TIF", place.read("m.tif")).write("nameless", place.read("m.tif"));
    assert_eq!(place.run("entropy M.TIF a.npy -q --size 7").quietly(), "");
    assert_eq!(place.run("entropy nameless b --if geotiff --of npy -q --size 7").quietly(), "");
    assert!(place.read("a.npy") == place.read("b"));
}

#[test]
fn arrays_in_fortran_order_are_read_in_pieces() {
    let place = Place::new();
    let (rows, cols) = (9000, 8000);
    let data: Vec<u8> = (0..rows * cols).map(|i| ((i % rows) / 50 * 7 + (i / rows) / 90 * 5) as u8 % 16).collect();
    place.write("f.npy", npy("|u1", "True", "(9000, 8000)", &data));
    let transposed: Vec<u8> = (0..rows).flat_map(|r| data.iter().skip(r).step_by(rows).copied()).collect();
    place.write("c.npy", npy("|u1", "False", "(9000, 8000)", &transposed));
    let limited = "--size 3 --precision f32 --device cpu --memory 112MiB --mask";
    let of = |name: &str| json_of(&place, &format!("entropy {name}.npy h-{name}.npy {limited} {name}.npy"));
    let (fortran, c_order) = (of("f"), of("c"));
    assert_eq!(fortran["classes"], c_order["classes"]);
    assert!(place.read("h-f.npy") == place.read("h-c.npy"));
    #[cfg(target_os = "linux")]
    {
        let peak = fortran["peak_memory"].as_u64().expect("bytes");
        assert!(peak < (112 + 16) << 20, "{peak} bytes");
    }
}

#[test]
fn a_limit_to_memory_changes_nothing_but_the_pieces() {
    let place = Place::new();
    place.run("generate grid --rows 3000 --cols 2500 m.tif").quietly();
    let free = json_of(&place, "entropy m.tif free.tif --precision f64");
    let tight = json_of(&place, "entropy m.tif tight.tif --precision f64 --memory 128MiB");
    assert_eq!((&free["memory"], &tight["memory"]), (&Value::Null, &json!(128 << 20)));
    assert!(place.read("free.tif") == place.read("tight.tif"));
    if cfg!(target_os = "linux") {
        let peak = tight["peak_memory"].as_u64().expect("bytes");
        assert!((1 << 20..140 << 20).contains(&peak), "{peak}");
    }
    let ran = place.run("entropy m.tif no.tif --memory 10M -q");
    assert!(ran.err.starts_with("halotile: m.tif: this takes ") && ran.code == 1, "{}", ran.err);
    assert!(
        ran.err.ends_with(
            " MiB of memory at least, and 10 MiB are allowed; allow more with --memory, or take a smaller window\n"
        ),
        "{}",
        ran.err
    );
    assert_eq!(place.names(), ["free.tif", "m.tif", "tight.tif"]);
}

#[test]
fn values_of_any_size_are_classes() {
    let place = Place::new();
    let cells = random(40, 50, 5);
    let codes = [-3, 11, 40_000, 95, 1 << 30];
    npy_i32(&place, "c.npy", 40, 50, |r, c| codes[usize::from(cells.row(r)[c])]);
    let told = json_of(&place, "entropy c.npy h.npy --nodata 95");
    assert!(close(&numbers(&place, "h.npy"), &reference::entropy(cells.view(), 5, Some(3))));
    let count = |code| cells.as_slice().iter().filter(|&&cell| cell == code).count();
    assert_eq!(
        told["classes"],
        json!({"from": "survey", "nodata_cells": count(3), "table": [
            {"code": 0, "values": [-3], "cells": count(0)},
            {"code": 1, "values": [11], "cells": count(1)},
            {"code": 2, "values": [40_000], "cells": count(2)},
            {"code": 3, "values": [1 << 30], "cells": count(4)},
        ]})
    );
    assert_eq!(told["nodata"], "95");
    // A file's own value for no data, and none in spite of it.
    let floats = Grid::from_fn(40, 50, |r, c| match cells.row(r)[c] {
        3 => f32::NAN,
        code => f32::from(code) * 100.0,
    });
    tiff(&place, "f.tif", &[floats.expect("a shape")], &[]);
    for (options, nodata) in [("", json!("nan")), ("--nodata none", Value::Null)] {
        let told = json_of(&place, &format!("entropy f.tif h.npy {options}"));
        assert!(close(&numbers(&place, "h.npy"), &reference::entropy(cells.view(), 5, Some(3))), "{options}");
        assert_eq!(told["nodata"], nodata);
    }
    // What has too many values, or fractions.
    npy_i32(&place, "many.npy", 260, 260, |r, c| (r * 260 + c) as i32);
    let ran = place.run("entropy many.npy x.npy -q");
    let many = "halotile: many.npy: more than 65536 different values occur, and 65536 can be classes; \
                merge some with --classes FILE, or sort them with --bins N\n";
    assert_eq!((ran.code, ran.err.as_str()), (1, many));
    let ran = place.run("entropy c.npy x.npy -q --levels 16");
    let at = cells.as_slice().iter().position(|&code| code != 1).expect("a cell");
    let level = format!(
        "halotile: c.npy: row {}, column {} (counted from 0): the value {} is no level from 0 to 15; \
         ask for more levels or for none, or name the nodata value if this is it\n",
        at / 50,
        at % 50,
        codes[usize::from(cells.as_slice()[at])]
    );
    assert_eq!((ran.code, ran.err), (1, level));
    assert!(!place.names().contains(&"x.npy".to_owned()));
}

#[test]
fn bands_are_chosen_by_number() {
    let place = Place::new();
    let bands = [random(30, 40, 3), random(30, 40, 7)];
    let real = |cells: &Grid<u8>| Grid::from_fn(30, 40, |r, c| f32::from(cells.row(r)[c]) * 11.0).expect("a shape");
    tiff(&place, "two.tif", &bands.each_ref().map(real), &["COMPRESS=ZSTD"]);
    for (band, cells) in (1..).zip(&bands) {
        let told = json_of(&place, &format!("entropy two.tif h.npy --band {band}"));
        assert_eq!(told["band"], band);
        assert!(close(&numbers(&place, "h.npy"), &reference::entropy(cells.view(), 5, None)), "{band}");
    }
    let ran = place.run("entropy two.tif x.npy --band 3 -q");
    let none = "halotile: two.tif: there is no band 3: the file has 2 bands, counted from 1; choose another band\n";
    assert_eq!((ran.code, ran.err.as_str()), (1, none));
}

#[test]
fn lists_of_classes_merge_values() {
    let place = Place::new();
    let cells = random(30, 30, 6);
    npy_i32(&place, "c.npy", 30, 30, |r, c| [41, 42, 43, 11, -9999, 255][usize::from(cells.row(r)[c])]);
    place.write("classes.csv", "# forests are one\n41..43,forest\n11,water\n*,nodata\n");
    let merged = Grid::from_fn(30, 30, |r, c| [0u8, 0, 0, 1, 2, 2][usize::from(cells.row(r)[c])]).expect("a shape");
    let told = json_of(&place, "entropy c.npy h.npy --classes classes.csv --normalize");
    let nats = reference::entropy(merged.view(), 5, Some(2));
    let evenness = Grid::from_fn(30, 30, |r, c| nats.row(r)[c] / 2f64.ln()).expect("a shape");
    assert!(close(&numbers(&place, "h.npy"), &evenness));
    assert_eq!(
        told["classes"],
        json!({"from": "list", "table": [
            {"code": 0, "name": "forest", "values": [41, 42, 43]}, {"code": 1, "name": "water", "values": [11]}
        ]})
    );
    // The list's word goes before the file's; a value for no data that text cannot hold is no value of the list.
    place.write("t.txt", "1 4\n1 2 -9999 7\n").write("l.csv", "1\n2\n7\n255\n");
    let text = place.run("entropy t.txt - -q --size 1 --nodata -9999 --classes l.csv").quietly();
    assert_eq!(text, "     0.00000      0.00000          nan      0.00000 \n");
    place.write("l.csv", "1\n2\n");
    for (options, code, message) in [
        (
            "entropy t.txt x.npy --nodata -9999 --classes l.csv",
            1,
            "t.txt: row 0, column 3 (counted from 0), line 2: the value 7 is not listed in l.csv; list it, or add a line *,nodata",
        ),
        (
            "entropy c.npy x.npy --classes none.csv",
            1,
            "none.csv: the file cannot be opened: No such file or directory (os error 2); check the name",
        ),
        (
            "entropy c.npy x.npy --classes t.txt",
            1,
            "t.txt: line 1: \"1 4\" is not a whole number; begin the line with a whole number, two as in 41..43, or *; \
             put # before what is a comment",
        ),
    ] {
        let ran = place.run(&format!("{options} -q"));
        assert_eq!((ran.code, ran.err), (code, format!("halotile: {message}\n")));
    }
    assert!(!place.names().contains(&"x.npy".to_owned()));
}

#[test]
fn bins_are_equally_wide_or_equally_full() {
    let place = Place::new();
    // Squares: far from evenly spread. The last is no data.
    let value = |i: usize| if i == 2999 { f32::NAN } else { ((i * 37 % 3000) as f32 / 10.0).powi(2) };
    let heights = Grid::from_fn(50, 60, |r, c| value(r * 60 + c)).expect("a shape");
    tiff(&place, "dem.tif", std::slice::from_ref(&heights), &[]);
    let mut sorted: Vec<f32> = heights.as_slice().iter().copied().filter(|v| !v.is_nan()).collect();
    sorted.sort_by(f32::total_cmp);
    let (low, high) = (f64::from(sorted[0]), f64::from(sorted[2998]));
    let equal: Vec<f64> = (1..8).map(|k| low + (high - low) * f64::from(k) / 8.0).collect();
    let full: Vec<f64> = (1..8).map(|k| f64::from(sorted[2999 * k / 8])).collect();
    for (binning, edges) in [("", &equal), ("--binning equal", &equal), ("--binning quantile", &full)] {
        let told = json_of(&place, &format!("entropy dem.tif h.npy --bins 8 {binning}"));
        let code = |v: f32| if v.is_nan() { 8 } else { edges.iter().filter(|&&e| e <= f64::from(v)).count() as u8 };
        let codes = Grid::from_fn(50, 60, |r, c| code(heights.row(r)[c])).expect("a shape");
        assert!(close(&numbers(&place, "h.npy"), &reference::entropy(codes.view(), 5, Some(8))), "{binning}");
        assert_eq!(told["classes"]["from"], "bins");
        let table = told["classes"]["table"].as_array().expect("a table");
        assert_eq!((table.len(), &table[3]["between"]), (8, &json!([edges[2], edges[3]])), "{binning}");
    }
    let ran = place.run("entropy dem.tif x.npy -q");
    assert!(
        ran.err.ends_with("is not a whole number and so no class; give --bins N, or --nodata if this is it\n"),
        "{}",
        ran.err
    );
    let ran = place.run("entropy dem.tif x.npy -q --bins 65536");
    assert!(ran.err.starts_with("halotile: dem.tif: 65536 classes and no data take 65537 codes"), "{}", ran.err);
    // Pictures have bins too.
    place.cells("c.png", &random(20, 20, 200));
    json_of(&place, "entropy c.png h.npy --bins 4 --normalize");
    let binned = numbers(&place, "h.npy");
    // For the rungs, too.
    json_of(&place, "entropy c.png h.npy --bins 4 --normalize --kernel v11");
    assert!(close(&numbers(&place, "h.npy"), &binned));
}

#[test]
fn masks_hide_cells() {
    let place = Place::new();
    let (cells, mask) = (random(33, 44, 4), random(33, 44, 3));
    place.cells("c.npy", &cells).cells("m.npy", &mask).cells("m.png", &mask).cells("m.txt", &mask);
    place.run("generate grid --rows 33 --cols 44 --levels 3 --seed 7 m.tif").quietly();
    let hidden = Grid::from_fn(33, 44, |r, c| if mask.row(r)[c] == 0 { 4 } else { cells.row(r)[c] }).expect("a shape");
    let wanted = reference::entropy(hidden.view(), 5, Some(4));
    for name in ["m.npy", "m.png", "m.txt", "m.tif"] {
        let told = json_of(&place, &format!("entropy c.npy h.npy --mask {name}"));
        assert!(close(&numbers(&place, "h.npy"), &wanted), "{name}");
        assert_eq!(told["mask"], name);
    }
    // Every sample of several has the same.
    place.write("one.npy", npy("|u1", "False", "(1, 2)", &[1, 0]));
    place.write("s.bin", seed_binary(&[(2, 1, &[5, 5]), (2, 1, &[7, 8])]));
    let lines = place.run("entropy s.bin - -q --mask one.npy").quietly();
    assert_eq!(lines, "2,1,0.00000,nan,\n2,1,0.00000,nan,\n");
    let ran = place.run("entropy c.npy x.npy -q --mask one.npy");
    let shape =
        "halotile: one.npy: the mask has 1 rows and 2 columns, and c.npy has 33 and 44; crop or resample one of them\n";
    assert_eq!((ran.code, ran.err.as_str()), (1, shape));
    let ran = place.run("entropy c.npy x.npy -q --mask s.bin");
    let several = "halotile: s.bin: a mask is one grid, and the file holds several; give one of them\n";
    assert_eq!((ran.code, ran.err.as_str()), (1, several));
}

#[test]
fn grids_go_on_beyond_their_edges() {
    let place = Place::new();
    let (rows, cols, reach) = (12, 17, 4);
    let cells = random(rows, cols, 5);
    place.cells("c.txt", &cells);
    place.run("generate grid --rows 12 --cols 17 --levels 5 --seed 7 c.tif").quietly();
    for &edge in Edge::ALL {
        let wanted = if edge.extends() {
            let seen = |at: usize, len| edge.seen(at as isize - reach as isize, len).expect("it goes on");
            let around =
                Grid::from_fn(rows + 2 * reach, cols + 2 * reach, |r, c| cells.row(seen(r, rows))[seen(c, cols)]);
            let all = reference::entropy(around.expect("a shape").view(), 2 * reach + 1, None);
            Grid::from_fn(rows, cols, |r, c| all.row(r + reach)[c + reach])
        } else {
            let all = reference::entropy(cells.view(), 2 * reach + 1, None);
            let inside = |at: usize, len: usize| at >= reach && at + reach < len;
            let kept = |r, c| edge == Edge::Shrink || (inside(r, rows) && inside(c, cols));
            Grid::from_fn(rows, cols, |r, c| if kept(r, c) { all.row(r)[c] } else { f64::NAN })
        };
        let wanted = wanted.expect("a shape");
        for input in ["c.txt", "c.tif"] {
            let told = json_of(&place, &format!("entropy {input} h.npy --size 9 --edge {}", edge.name()));
            assert!(close(&numbers(&place, "h.npy"), &wanted), "{input} {}", edge.name());
            assert_eq!(told["edge"], edge.name());
        }
    }
}

#[test]
fn options_that_contradict_each_other() {
    let place = Place::new();
    place.write("v.txt", VECTOR).write("w.txt", "111\n").write("t.tif", "no TIFF");
    let before = place.names();
    let clipped = "computes Shannon's entropy in clipped squares, of grids in memory; leave out --kernel or";
    for (args, message) in [
        ("v.txt o.txt --band 1", "--band chooses a band of a GeoTIFF, and the input is none; leave it out".to_owned()),
        ("- o.txt --if geotiff", "a GeoTIFF is read from a file, not from standard input; name the file".to_owned()),
        ("v.txt - --of geotiff", "a GeoTIFF goes to a file, not to standard output; name one".to_owned()),
        ("v.txt o.txt --co TILED=NO", "--co is for GeoTIFF, and the output's format is text; leave it out".to_owned()),
        ("v.txt o.tif --co TILED=2", "--co: the creation option TILED is \"2\"; it takes YES or NO".to_owned()),
        (
            "v.txt o.npy --measure shannon,richness",
            "o.npy: a file of the format npy holds one measure, and there are 2; put {measure} into the output's name, \
             or choose --of geotiff"
                .to_owned(),
        ),
        (
            &format!("v.txt o.tif --measure {}", (0..100).map(|q| format!("hill:{q}")).collect::<Vec<_>>().join(",")),
            format!("--measure: there are from 1 to {MAX_MEASURES} measures at a time, not 100"),
        ),
        ("v.txt o.tif --measure simpson,shannon,simpson", "--measure names simpson twice; leave one of them".to_owned()),
        (
            "v.txt o.tif --measure simpson --normalize --bins 4",
            "--normalize changes shannon alone, and --measure does not name it; leave it out".to_owned(),
        ),
        (
            "v.txt h-{measure}.npy --preview h-shannon.npy",
            "h-shannon.npy: the preview and the output are one file; name two".to_owned(),
        ),
        ("v.txt o.txt --shape w.txt --size 5", "a file for --shape says how large the window is; leave out --size".to_owned()),
        ("v.txt o.txt --mask -", "a mask is read from a file, not from standard input; name one after --mask".to_owned()),
        (
            "v.txt o.txt --mask mask",
            "mask: the mask's name does not say its format; end it in .tif, .npy, .png, .pgm or .txt".to_owned(),
        ),
        ("v.txt o.txt --kernel v7 --edge reflect", format!("kernel v7 is a rung: it {clipped} --edge")),
        ("v.txt o.txt --kernel v12 --measure simpson", format!("kernel v12 is a rung: it {clipped} --measure")),
        ("v.txt o.txt --kernel b3 --shape disk", format!("kernel b3 is a rung: it {clipped} --shape")),
        ("v.txt o.txt --kernel v14 --min-valid 0.5", format!("kernel v14 is a rung: it {clipped} --min-valid")),
        ("v.txt o.txt --kernel v14 --fill-nodata", format!("kernel v14 is a rung: it {clipped} --fill-nodata")),
        ("v.txt o.txt --kernel v7 --memory 1G", format!("kernel v7 is a rung: it {clipped} --memory")),
        (
            "t.tif o.txt --kernel v7",
            "kernel v7 is a rung, which takes grids in memory, and a GeoTIFF is read piece by piece; leave out --kernel"
                .to_owned(),
        ),
    ] {
        let ran = place.run(&format!("entropy {args} -q"));
        assert_eq!((ran.code, ran.err), (2, format!("halotile: {message}\n")), "{args}");
    }
    let see = "; see halotile entropy --help\n";
    for (options, part) in [
        ("--levels 4 --bins 4", "cannot be used with"),
        ("--levels 4 --classes w.txt", "cannot be used with"),
        ("--classes w.txt --bins 9", "cannot be used with"),
        ("--binning equal", "--bins <N>"),
        ("--bins 0", "the number of bins is from 1 to 65536"),
        ("--bins 65537", "the number of bins is from 1 to 65536"),
        ("--bins 9 --binning jenks", "[possible values: equal, quantile]"),
        ("--band 0", "it is not a whole number of at least 1"),
        ("--memory much", "it is no size such as 512MiB, 1.5G or 2000000000"),
        ("--min-valid 1.5", "the fraction is from 0 to 1"),
        ("--min-valid nan", "the fraction is from 0 to 1"),
        ("--edge wrap", "[possible values: shrink, nodata, symmetric, reflect, replicate]"),
        ("--measure entropy", "no measure is called \"entropy\"; the measures are shannon, simpson"),
        ("--measure renyi", "the order is a number from 0 up or inf"),
        ("--shape=", "it is square, disk or the name of a file"),
    ] {
        let ran = place.run(&format!("entropy v.txt o.txt {options}"));
        assert!(ran.code == 2 && ran.err.contains(part) && ran.err.ends_with(see), "{options}: {}", ran.err);
    }
    assert_eq!(place.names(), before);
}

#[test]
fn measures_are_bands_or_files() {
    let place = Place::new();
    let cells = random(31, 42, 7);
    place.cells("c.npy", &cells);
    place.write("cross.txt", "# a cross and its centre\n0 1 0\n1 1 1\n0 1 0\n0 1 0\n0 0 0\n");
    let cross = [0, 1, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0].map(|cell| cell == 1).to_vec();
    let names = "shannon,simpson,richness,evenness,renyi:2,hill:1.5";
    let measures: Vec<Measure> = names.split(',').map(|name| name.parse().expect("a measure")).collect();
    for (options, footprint, edge, min_valid) in [
        ("--size 7 --shape disk", Footprint::disk(7), Edge::Shrink, 0.0),
        ("--size 3 --fill-nodata", Footprint::square(3), Edge::Shrink, 0.0),
        ("--shape cross.txt --edge reflect", Footprint::new(5, 3, cross), Edge::Reflect, 0.0),
        ("--size 5 --min-valid 0.9", Footprint::square(5), Edge::Shrink, 0.9),
        ("--size 3 --edge nodata", Footprint::square(3), Edge::Nodata, 0.0),
    ] {
        let footprint = footprint.expect("a window");
        let fill = options.contains("--fill-nodata");
        let windows = Windows { edge, min_valid, fill, nodata: Some(4), ..Windows::of(&footprint) };
        let wanted = reference::measures(cells.view(), &windows, &measures);
        for device in ["cpu", "emulator"] {
            let args = format!("{options} --nodata 4 --measure {names} --device {device}");
            let told = json_of(&place, &format!("entropy c.npy h.tif {args}"));
            assert_eq!(told["window"]["cells"], footprint.count(), "{args}");
            assert_eq!(told["measures"].as_array().map(Vec::len), Some(6));
            for (band, wanted) in (1..).zip(&wanted) {
                let found = whole(&GeoTiff::open(&place.path("h.tif"), band).expect("a band")).expect("numbers");
                assert!(close(&found, wanted), "{args}: band {band}");
            }
        }
        json_of(
            &place,
            &format!("entropy c.npy h-{{measure}}.npy {options} --nodata 4 --measure {names} --preview p.png"),
        );
        for (measure, wanted) in measures.iter().zip(&wanted) {
            let name = format!("h-{}.npy", measure.to_string().replace(':', "-"));
            assert!(close(&numbers(&place, &name), wanted), "{options} {name}");
        }
    }
    json_of(&place, "entropy c.npy g-{measure}.tif --measure richness,hill:2");
    assert_eq!(GeoTiff::open(&place.path("g-hill-2.tif"), 1).expect("a GeoTIFF").bands(), 1);
    let bits = "--base 2 --measure renyi:2,shannon --normalize --levels 7";
    json_of(&place, &format!("entropy c.npy n-{{measure}}.npy {bits}"));
    let shannon = reference::entropy(cells.view(), 5, None);
    let evenness = Grid::from_fn(31, 42, |r, c| shannon.row(r)[c] / 7f64.ln()).expect("a shape");
    assert!(close(&numbers(&place, "n-shannon.npy"), &evenness));
}

#[test]
fn a_measures_name_in_the_outputs() {
    let place = Place::new();
    place.write("v.txt", VECTOR);
    let told = json_of(&place, "entropy v.txt h-{measure}.npy");
    assert_eq!((&told["output"], &told["outputs"]), (&json!("h-{measure}.npy"), &json!(["h-shannon.npy"])));
    assert_eq!(place.names(), ["h-shannon.npy", "v.txt"]);
    assert_eq!(told["measures"], json!(["shannon"]));
    assert_eq!(told["window"], json!({"rows": 5, "cols": 5, "cells": 25}));
}

#[test]
fn geotiffs_that_fail_leave_nothing() {
    let place = Place::new();
    place.write("t.tif", "no TIFF").write("v.txt", VECTOR);
    place.run("generate grid --rows 300 --cols 300 m.tif").quietly();
    let whole = place.read("m.tif");
    // Damaged in the middle: the first pass over the cells meets it, or, without one, the computation.
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xff);
    place.write("bad.tif", damaged);
    let before = place.names();
    for (args, part) in [
        ("entropy t.tif o.tif", "t.tif: this is not a TIFF file; name a GeoTIFF"),
        ("entropy bad.tif o.tif", "bad.tif: row 0, column 0 (counted from 0): "),
        ("entropy bad.tif o.tif --levels 16 --preview p.png", "bad.tif: row 0, column 0 (counted from 0): "),
        ("entropy v.txt o.tif --mask t.tif", "t.tif: this is not a TIFF file; name a GeoTIFF"),
    ] {
        let ran = place.run(&format!("{args} -q"));
        assert!(ran.code == 1 && ran.err.starts_with(&format!("halotile: {part}")), "{args}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    if cfg!(target_os = "linux") {
        let ran = place.run("entropy v.txt /dev/full -q --of geotiff");
        assert!(ran.code == 1 && ran.err.starts_with("halotile: /dev/full: "), "{}", ran.err);
    }
    // Several samples do not go into one.
    place.write("s.bin", seed_binary(&[(1, 1, &[1]), (1, 1, &[2])]));
    let ran = place.run("entropy s.bin o.tif -q");
    let several = "halotile: s.bin: there are several samples, and a GeoTIFF holds one; choose --of seed-lines\n";
    assert_eq!((ran.code, ran.err.as_str()), (1, several));
    std::fs::remove_file(place.path("s.bin")).expect("removed");
    assert_eq!(place.names(), before);
}

#[test]
fn a_mask_of_another_place_is_refused_before_any_work() {
    let place = Place::new();
    place.run("generate grid --rows 60 --cols 50 --levels 5 m.tif").quietly();
    place.run("generate grid --rows 60 --cols 50 --levels 2 mask.tif").quietly();
    place.run("entropy m.tif same.npy --mask mask.tif -q").quietly();
    let pam = |inside: &str| {
        place.write("mask.tif.aux.xml", format!("<PAMDataset>{inside}</PAMDataset>"));
        place.run("entropy m.tif no.npy --mask mask.tif -q")
    };
    let ran = pam("<GeoTransform>4420250, 30, 0, 3210900, 0, -30</GeoTransform>");
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            1,
            "halotile: mask.tif: the mask lies elsewhere: its upper left corner is (4420250, 3210900), and that of m.tif is \
             (4320250, 3210900); give a mask of the same place, as with gdalwarp\n"
        )
    );
    let ran = pam("<SRS>EPSG:32633</SRS>");
    assert!(ran.code == 1 && ran.err.contains("is EPSG:32633, and that of m.tif is EPSG:3035"), "{}", ran.err);
    assert_eq!(place.names(), ["m.tif", "mask.tif", "mask.tif.aux.xml", "same.npy"]);
    // A system without a code cannot be compared: that is said, and no more.
    let mut place_of =
        GeoTiff::open(&place.path("m.tif"), 1).expect("a GeoTIFF").georeference().expect("a place").clone();
    (place_of.key_directory, place_of.key_text) = (None, None);
    let mut file = OutputFile::create(&place.path("bare.tif"), false).expect("a file");
    let options = CreationOptions::default();
    let mut sink = GeoTiffSink::<f32, _>::new(&mut file, "bare.tif", (60, 50), &["band"], Some(&place_of), &options)
        .expect("a sink");
    sink.write(0, 0, &[Grid::from_fn(60, 50, |r, _| (r % 2) as f32).expect("a grid").view()]).expect("written");
    Box::new(sink).finish().expect("finished");
    file.commit().expect("there");
    let ran = place.run("entropy m.tif bare.npy --mask bare.tif");
    assert!(ran.code == 0 && ran.err.contains("cannot be compared with that of m.tif (EPSG:3035)"), "{}", ran.err);
}

#[test]
fn what_was_assumed_of_a_file_can_be_seen() {
    let place = Place::new();
    place.run("generate grid --rows 60 --cols 50 --levels 5 m.tif").quietly();
    place.write(
        "m.tif.aux.xml",
        "<PAMDataset><PAMRasterBand band=\"1\"><NoDataValue>3</NoDataValue></PAMRasterBand></PAMDataset>",
    );
    let told = json_of(&place, "entropy m.tif h.npy --size 1 --measure richness");
    assert_eq!(
        (&told["nodata"], &told["nodata_from"], &told["georeference_from"], &told["mask_from"]),
        (&json!("3"), &json!("m.tif.aux.xml"), &json!("the file's tags"), &Value::Null)
    );
    let cells = numbers(&place, "m.tif");
    let nan = |name: &str| numbers(&place, name).as_slice().iter().map(|v| v.is_nan()).collect::<Vec<_>>();
    assert_eq!(nan("h.npy"), cells.as_slice().iter().map(|&v| v == 3.0).collect::<Vec<_>>());
    let told = json_of(&place, "entropy m.tif h.npy --size 1 --measure richness --nodata none");
    assert_eq!((&told["nodata"], &told["nodata_from"]), (&Value::Null, &json!("--nodata")));
    assert!(nan("h.npy").iter().all(|nan| !nan));
    let ran = place.run("entropy m.tif h.npy -v --overwrite");
    assert!(ran.err.contains("no data: 3 (from m.tif.aux.xml), mask: none; place: the file's tags"), "{}", ran.err);

    let bands: Vec<Grid<f32>> =
        (0..3).map(|b| Grid::from_fn(20, 20, |r, c| ((r + c * b) % 4) as f32).expect("a grid")).collect();
    tiff(&place, "bands.tif", &bands, &[]);
    let ran = place.run("entropy bands.tif h.npy --overwrite");
    assert!(ran.err.contains("halotile: bands.tif: band 1 of 3 is taken; --band chooses another\n"), "{}", ran.err);
    for quiet in ["--band 1", "-q"] {
        assert!(!place.run(&format!("entropy bands.tif h.npy --overwrite {quiet}")).err.contains("band 1 of 3"));
    }
}

/// A grid of few cells takes little memory, and a limit that it keeps is none too small.
#[test]
fn a_small_grid_asks_for_little_memory() {
    let place = Place::new();
    place.run("generate grid --rows 2 --cols 53 m.tif").quietly();
    place.run("entropy m.tif h.tif --memory 16MiB -q").quietly();
    let ran = place.run("entropy m.tif no.tif --memory 4MiB -q");
    assert!(ran.code == 1 && ran.err.contains("allow more with --memory"), "{}", ran.err);
}

/// Vegetation types are some hundreds, more than bytes: found, listed, binned and as levels, from GeoTIFF and NPY, piece by piece.
#[test]
fn maps_have_more_classes_than_bytes() {
    let place = Place::new();
    let (rows, cols) = (90, 120);
    let class = |r: usize, c: usize| (r / 3 * 37 + c / 4 * 11) % 700;
    npy_i32(&place, "veg.npy", rows, cols, |r, c| if c == 7 { -9999 } else { class(r, c) as i32 * 13 - 40 });
    let codes = Grid::from_fn(rows, cols, |r, c| if c == 7 { 9999 } else { class(r, c) as u16 }).expect("a shape");
    let expected = reference::entropy(codes.view(), 21, Some(9999));
    for options in ["", "--memory 64MiB --threads 2", "--device auto"] {
        let told = json_of(&place, &format!("entropy veg.npy h.npy --size 21 --nodata -9999 {options}"));
        assert!(close(&numbers(&place, "h.npy"), &expected), "{options}");
        assert_eq!((told["device"].as_str(), &told["kernel"]), (Some("cpu"), &Value::Null));
        assert_eq!((&told["classes"]["from"], &told["classes"]["nodata_cells"]), (&json!("survey"), &json!(rows)));
        let table = told["classes"]["table"].as_array().expect("a table");
        let distinct = codes.as_slice().iter().filter(|&&code| code != 9999).collect::<std::collections::BTreeSet<_>>();
        assert!(table.len() == distinct.len() && table.len() > 256);
        assert_eq!(
            (&table[300]["code"], &table[300]["values"]),
            (&json!(300), &json!([**distinct.iter().nth(300).expect("so many") as i32 * 13 - 40]))
        );
    }
    // Measures, normalised by the number of levels; a window that sees more than 256 of them.
    npy_i32(&place, "levels.npy", rows, cols, |r, c| class(r, c) as i32);
    let ran = place.run("entropy levels.npy h.tif --size 61 --levels 900 --normalize --measure shannon,richness -q");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let all = Grid::from_fn(rows, cols, |r, c| class(r, c) as u16).expect("a shape");
    let footprint = halotile::measure::Footprint::square(61).expect("a size");
    let windows = reference::Windows { normalize: Some(900), ..reference::Windows::of(&footprint) };
    let [shannon, richness] = &reference::measures(all.view(), &windows, &[Measure::Shannon, Measure::Richness])[..]
    else {
        panic!("two measures")
    };
    assert!(richness.as_slice().iter().any(|&classes| classes > 256.0));
    for (band, expected) in [(1, shannon), (2, richness)] {
        let raster = GeoTiff::open(&place.path("h.tif"), band).expect("a GeoTIFF");
        assert!(close(&halotile::raster::whole(&raster).expect("numbers"), expected), "band {band}");
    }
    // Bins of fractions, and more of them than bytes.
    let heights = Grid::from_fn(rows, cols, |r, c| (r * cols + c) as f32 / 7.0).expect("a shape");
    tiff(&place, "dem.tif", &[heights], &[]);
    let told = json_of(&place, "entropy dem.tif h.npy --bins 1000 --normalize");
    assert_eq!(told["classes"]["table"].as_array().map(Vec::len), Some(1000));
    let binned = Grid::from_fn(rows, cols, |r, c| ((r * cols + c) * 1000 / (rows * cols - 1)).min(999) as u16);
    let nats = reference::entropy(binned.expect("a shape").view(), 5, None);
    let even = Grid::from_fn(rows, cols, |r, c| nats.row(r)[c] / 1000f64.ln()).expect("a shape");
    assert!(close(&numbers(&place, "h.npy"), &even));
    // Text and pictures of 16 bits; a list that names more than bytes.
    let numbers_of = |of: &dyn Fn(u16) -> u16| {
        let row = |r: usize| all.row(r).iter().map(|&code| of(code).to_string()).collect::<Vec<_>>().join(" ");
        (0..rows).map(row).collect::<Vec<_>>().join("\n")
    };
    place.write("c.txt", format!("{rows} {cols}\n{}\n", numbers_of(&|code| 60_000 - 7 * code)));
    place.write("c.pgm", format!("P2 {cols} {rows} 65535\n{}\n", numbers_of(&|code| 90 * code)));
    let raw: Vec<u8> = all.as_slice().iter().flat_map(|code| code.to_be_bytes()).collect();
    place.write("raw.pgm", [format!("P5 {cols} {rows} 1000\n").into_bytes(), raw].concat());
    place.write("list.csv", (0..900).map(|code| format!("{code},type {code}\n")).collect::<String>());
    let expected = reference::entropy(all.view(), 5, None);
    for args in ["c.txt", "c.pgm", "raw.pgm", "raw.pgm --levels 900", "raw.pgm --classes list.csv"] {
        let (input, options) = args.split_once(' ').unwrap_or((args, ""));
        json_of(&place, &format!("entropy {input} h.npy {options}"));
        assert!(close(&numbers(&place, "h.npy"), &expected), "{args}");
    }
    // Devices have kernels for what comes from sums of so many in squares, and no other.
    json_of(&place, "entropy veg.npy h.npy");
    let told = json_of(&place, "entropy veg.npy there.npy --device emulator");
    assert!(told["kernel"] == "columns" && close(&numbers(&place, "there.npy"), &numbers(&place, "h.npy")));
    json_of(&place, "entropy veg.npy simpson.npy --measure simpson");
    let told = json_of(&place, "entropy veg.npy there.npy --device emulator --measure simpson");
    assert!(told["kernel"] == "columns-sums" && close(&numbers(&place, "there.npy"), &numbers(&place, "simpson.npy")));
    let ran = place.run("entropy veg.npy x.npy -q --device emulator --measure hill:1.5");
    let many = "halotile: veg.npy: emulator:0 has no kernel that can do this: it computes no measures that need powers of counts or the \
                largest of them; choose --device cpu\n";
    assert_eq!((ran.code, ran.err.as_str()), (1, many));
    assert!(!place.path("x.npy").exists());
}
