//! What numbers mean: values of any type and size as classes, lists that merge them, bins, maps of more classes than bytes have.

use super::*;

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
