//! `halotile entropy` of rasters: GeoTIFF piece by piece, numbers of all types as classes, masks, edges, limits to memory; and what of that
//! contradicts itself.

mod classes;
mod refused;

use std::path::Path;

use halotile::entropy::MAX_MEASURES;
use halotile::grid::{Grid, GridView};
use halotile::io::reals::{RealFormat, read};
use halotile::io::{Nodata, OutputFile};
use halotile::measure::{Edge, Footprint, Measure};
use halotile::raster::Values;
use halotile::raster::geotiff::{CreationOptions, Description, GeoTiff, GeoTiffSink};
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
    let mut sink =
        GeoTiffSink::<f32, _>::new(&mut file, name, shape, &Description::of(&names), None, &options).expect("a sink");
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
fn cogs_are_asked_for_by_their_name() {
    let place = Place::new();
    place.run("generate grid --rows 600 --cols 700 --levels 9 --seed 3 --pattern clustered m.npy").quietly();
    place.run("entropy m.npy plain.tif -q").quietly();
    let first: Vec<u8> = place.read("plain.tif")[..4].to_vec();
    for (name, options) in
        [("a", "--of COG"), ("b", "--of cog --co LAYOUT=GTIFF"), ("c", "--of GeoTIFF --co layout=cog")]
    {
        place.run(&format!("entropy m.npy {name}.tif -q --memory 256MiB {options}")).quietly();
        let file = place.read(&format!("{name}.tif"));
        let said = String::from_utf8_lossy(&file[8..300]);
        assert!(file.starts_with(&first) && said.starts_with("GDAL_STRUCTURAL_METADATA_SIZE="), "{options}: {said}");
        assert!(close(&numbers(&place, &format!("{name}.tif")), &numbers(&place, "plain.tif")), "{options}");
    }
    place.run("generate grid --rows 600 --cols 700 g.tif --co LAYOUT=COG").quietly();
    assert!(String::from_utf8_lossy(&place.read("g.tif")[..300]).contains("LAYOUT=IFDS_BEFORE_DATA"));
    // What waited beside the files is gone.
    assert_eq!(place.names(), ["a.tif", "b.tif", "c.tif", "g.tif", "m.npy", "plain.tif"]);
}

#[test]
fn results_are_stored_as_whole_numbers_where_that_is_asked_for() {
    let place = Place::new();
    place.run("generate grid --rows 70 --cols 90 --levels 9 --seed 3 --pattern clustered m.tif").quietly();
    let told = json_of(&place, "entropy m.tif h.tif --measure shannon,richness --type u16 --levels 9");
    let scale = 9f64.ln() / 65_534.0;
    assert_eq!(
        (&told["types"], &told["precision"], &told["scales"]),
        (&json!(["u16", "u16"]), &json!("f32"), &json!([scale, 1.0]))
    );
    place.run("entropy m.tif f.tif --measure shannon,richness --precision f64 --type f32 -q").quietly();
    let open = |name: &str, band| GeoTiff::open(&place.path(name), band).expect("a GeoTIFF");
    let read = |name: &str, band| open(name, band).read(0..70, 0..90).expect("numbers");
    for (band, scale) in [(1, scale), (2, 1.0)] {
        let (Values::U16(whole), Values::F32(real)) = (read("h.tif", band), read("f.tif", band)) else {
            panic!("of the types that were asked for")
        };
        let off =
            whole.iter().zip(&real).map(|(&w, &r)| (f64::from(w) * scale - f64::from(r)).abs()).fold(0.0, f64::max);
        assert!(off <= if band == 2 { 0.0 } else { scale / 2.0 + 1e-6 }, "band {band}: {off}");
    }
    // What it costs is said; a type that is too small, or has no place in the format, is refused.
    let said = place.run("entropy m.tif b.tif --type u8 --levels 9");
    assert!(
        said.code == 0 && said.err.contains("b.tif: shannon is stored as u8 in steps of 8.650e-3, at most 4.3e-3 off"),
        "{}",
        said.err
    );
    let said = place.run("entropy m.tif c.tif --type u8 --measure richness --levels 300 -s 21");
    assert!(
        said.code == 1
            && said.err.contains("there may be 300 classes in a window, which u8 has no number for; choose u16 or f32"),
        "{}",
        said.err
    );
    // Numbers of classes alone are whole by themselves, from 1, so that 0 is no data; beside other measures, or where that is asked for, they are not.
    let told = json_of(&place, "entropy m.tif r.tif --measure richness --nodata 3 --size 3");
    assert_eq!((&told["types"], &told["scales"]), (&json!(["u8"]), &json!([1.0])));
    place.run("entropy m.tif s.tif --measure richness --nodata 3 --size 3 --type f32 -q").quietly();
    let (Values::U8(whole), Values::F32(real)) = (read("r.tif", 1), read("s.tif", 1)) else {
        panic!("bytes by default and f32 when that is asked for")
    };
    assert_eq!(open("r.tif", 1).nodata(), Some(Nodata::Whole(0)));
    assert!(
        whole.contains(&0)
            && whole.iter().zip(&real).all(|(&w, r)| if r.is_nan() { w == 0 } else { f32::from(w) == *r })
    );
    // As results they are the same, and `compare` takes them as that.
    assert!(place.run("compare r.tif s.tif --tolerance 0").quietly().starts_with("no difference"));
    place.run("entropy m.tif e.tif --nodata 3 --size 3 --type u16 --levels 9 -q").quietly();
    place.run("entropy m.tif g.tif --nodata 3 --size 3 --levels 9 -q").quietly();
    place.run("compare e.tif g.tif --tolerance 1.8e-5").quietly();
    // A map without a scale is compared as it is stored.
    place.run("generate grid --rows 70 --cols 90 --levels 9 --seed 3 --pattern clustered m.npy").quietly();
    assert!(place.run("compare m.tif m.npy").quietly().starts_with("no difference"));
    let types = |names: [&str; 3]| names.map(|name| open(name, 1).value_type().name());
    let told = json_of(&place, "entropy m.tif p-{measure}.tif --measure richness,hill:2");
    assert_eq!((&told["types"], &told["scales"]), (&json!(["u8", null]), &json!([1.0, null])));
    let said = place.run("entropy m.tif n-{measure}.tif --measure hill:2,richness").err;
    assert!(
        said.contains("n-richness.tif: richness is stored as u8 in steps of 1, 0 where there is no data"),
        "{said}"
    );
    place.run("entropy m.tif q.tif --measure richness --co PREDICTOR=3 -q").quietly();
    assert_eq!(types(["p-richness.tif", "p-hill-2.tif", "q.tif"]), ["u8", "f32", "f32"]);
    place.run("entropy m.tif w.tif --measure richness --levels 300 -s 21 -q").quietly();
    assert_eq!(types(["w.tif", "f.tif", "h.tif"]), ["u16", "f32", "u16"]);
    let said = place.run("entropy m.tif c.npy --type u8");
    assert!(
        said.code == 2 && said.err.contains("--type is for GeoTIFF, and the output's format is npy"),
        "{}",
        said.err
    );
    assert!(!place.path("c.tif").exists() && !place.path("c.npy").exists());
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
