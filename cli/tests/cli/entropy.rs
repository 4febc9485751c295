//! `halotile entropy` where it works.

use halotile::entropy::Place as Where;
use halotile::grid::{Grid, GridView};
use halotile::io::reals::{RealFormat, read};
use halotile::reference;
use serde_json::Value;

use crate::place::{Place, VECTOR, VECTOR_ENTROPY, npy, random, seed_binary};

/// What the program has to write for `cells`, straight from the definition.
fn expected(cells: &Grid<u8>, size: usize, nodata: Option<u8>) -> String {
    let entropy = reference::entropy(cells.view(), size, nodata);
    let value = |v: &f64| if v.is_nan() { "         nan ".to_owned() } else { format!("{v:12.5} ") };
    let line = |r| entropy.row(r).iter().map(value).collect::<String>() + "\n";
    (0..cells.rows()).map(line).collect()
}

fn reals(place: &Place, name: &str) -> Grid<f64> {
    let format = RealFormat::detect(name.as_ref()).expect("a known ending");
    read(format, &place.read(name)[..], name).expect("numbers").remove(0)
}

#[test]
fn the_vector_of_the_report_comes_out_digit_for_digit() {
    let place = Place::new();
    place.write("v.txt", VECTOR);
    assert_eq!(place.run("entropy v.txt h.txt -q").quietly(), "");
    assert_eq!(place.text("h.txt"), VECTOR_ENTROPY);
    assert_eq!(place.names(), ["h.txt", "v.txt"]);
    // Nor is anything said without -q: that so few cells stay on the CPU is no news.
    assert_eq!(place.run("entropy v.txt -").quietly(), VECTOR_ENTROPY);
    assert_eq!(place.run("entropy v.txt - --device cpu").quietly(), VECTOR_ENTROPY);
}

#[test]
fn text_is_the_definition_correctly_rounded() {
    let place = Place::new();
    for (rows, cols, levels, size) in
        [(1, 1, 16, 5), (37, 41, 16, 5), (1, 90, 3, 7), (64, 1, 2, 255), (20, 30, 256, 21), (20, 30, 16, 1001)]
    {
        let cells = random(rows, cols, levels);
        place.cells("c.npy", &cells);
        let text = place.run(&format!("entropy c.npy - -q --size {size}")).quietly();
        assert_eq!(text, expected(&cells, size, None), "{rows} x {cols}, {levels} levels, size {size}");
    }
    assert_eq!(place.write("one.txt", "1 1\n9\n").run("entropy one.txt - -q").quietly(), "     0.00000 \n");
}

#[test]
fn every_input_format_says_the_same() {
    let place = Place::new();
    let cells = random(23, 31, 16);
    let wanted = expected(&cells, 5, None);
    for name in ["c.txt", "c.npy", "c.png", "c.pgm"] {
        place.cells(name, &cells);
        assert_eq!(place.run(&format!("entropy {name} - -q")).quietly(), wanted, "{name}");
        // The same through a pipe, by its first bytes, and by name from a file whose own says nothing.
        assert_eq!(place.feed("entropy - - -q", &place.read(name)).quietly(), wanted, "{name}");
        place.write("nameless", place.read(name));
        let format = halotile::io::InputFormat::detect(name.as_ref()).expect("known");
        assert_eq!(place.run(&format!("entropy nameless - -q --if {format}")).quietly(), wanted, "{name}");
    }
    let plain: String = cells.as_slice().iter().map(|c| format!("{c}\n")).collect();
    place.write("plain.pgm", format!("P2\n31 23\n15\n{plain}"));
    assert_eq!(place.run("entropy plain.pgm - -q").quietly(), wanted, "P2");
    type Encode = fn(u8) -> Vec<u8>;
    let types: [(&str, Encode); 5] = [
        ("|u1", |c| vec![c]),
        ("<u2", |c| u16::from(c).to_le_bytes().to_vec()),
        (">i4", |c| i32::from(c).to_be_bytes().to_vec()),
        ("<f4", |c| f32::from(c).to_le_bytes().to_vec()),
        ("<f8", |c| f64::from(c).to_le_bytes().to_vec()),
    ];
    for (descr, encode) in types {
        let c_order: Vec<u8> = cells.as_slice().iter().flat_map(|&c| encode(c)).collect();
        let columns = (0..31).flat_map(|c| (0..23).map(move |r| (r, c)));
        let fortran: Vec<u8> = columns.flat_map(|(r, c)| encode(cells.row(r)[c])).collect();
        for (order, data) in [("False", c_order), ("True", fortran)] {
            place.write("t.npy", npy(descr, order, "(23, 31)", &data));
            assert_eq!(place.run("entropy t.npy - -q").quietly(), wanted, "{descr} {order}");
        }
    }
}

#[test]
fn seed_binary_gives_a_line_a_sample() {
    let place = Place::new();
    let samples = [random(3, 4, 16), random(1, 1, 16), random(6, 2, 16)];
    let line = |cells: &Grid<u8>| {
        let entropy = reference::entropy(cells.view(), 5, None);
        let values: String = entropy.as_slice().iter().map(|v| format!("{v:.5},")).collect();
        format!("{},{},{values}\n", cells.cols(), cells.rows())
    };
    let wanted: String = samples.iter().map(line).collect();
    place.write(
        "s.bin",
        seed_binary(&[(4, 3, samples[0].as_slice()), (1, 1, samples[1].as_slice()), (2, 6, samples[2].as_slice())]),
    );
    assert_eq!(place.run("entropy s.bin - -q").quietly(), wanted);
    assert_eq!(place.feed("entropy - - -q --if seed-binary", &place.read("s.bin")).quietly(), wanted);
    place.run("entropy s.bin s.txt -q").quietly();
    assert_eq!(place.text("s.txt"), wanted);
    // As text, an empty line between samples.
    let texts = samples.each_ref().map(|cells| expected(cells, 5, None));
    assert_eq!(place.run("entropy s.bin - -q --of text").quietly(), texts.join("\n"));
    // One sample can be anything.
    place.cells("one.bin", &samples[0]);
    place.run("entropy one.bin one.npy -q --precision f64 --preview one.png").quietly();
    assert!(close(&reals(&place, "one.npy"), &reference::entropy(samples[0].view(), 5, None), 1e-12));
    let json: Value = serde_json::from_str(&place.run("entropy s.bin s2.txt -q --json").quietly()).expect("JSON");
    assert_eq!((&json["samples"], &json["cells"], &json["rows"]), (&3.into(), &25.into(), &Value::Null));
}

fn close(a: &Grid<f64>, b: &Grid<f64>, tolerance: f64) -> bool {
    halotile::compare::grids(a.view(), b.view(), tolerance).is_ok_and(|found| found.agrees())
}

#[test]
fn units_are_what_they_say() {
    let place = Place::new();
    let cells = random(20, 30, 16);
    place.cells("c.npy", &cells);
    let nats = reference::entropy(cells.view(), 5, None);
    for (options, factor) in [
        ("--base e", 1.0),
        ("--base 2", 1.0 / std::f64::consts::LN_2),
        ("--base 10", 1.0 / std::f64::consts::LN_10),
        ("--normalize --levels 16", 1.0 / 16f64.ln()),
        ("--normalize --levels 20 --base 2", 1.0 / 20f64.ln()),
    ] {
        place.run(&format!("entropy c.npy h.npy -q --overwrite --precision f64 {options}")).quietly();
        let scaled = Grid::from_fn(20, 30, |r, c| nats.row(r)[c] * factor).expect("a shape");
        assert!(close(&reals(&place, "h.npy"), &scaled, 1e-12), "{options}");
    }
}

#[test]
fn normalize_divides_by_the_logarithm_of_the_classes_that_there_can_be() {
    let place = Place::new();
    // Of four equally full bins two are made, {0, 1} and {2, 3}: five cells of eight are 0. Of equally wide ones all are.
    place.write("r.txt", "1 8\n0 0 0 0 0 1 2 3\n").write("l.csv", "0..1,a\n2,b\n3,c\n4..5,d\n");
    let shannon = |cells: &[f64]| -cells.iter().map(|n| n / 8.0 * (n / 8.0).ln()).sum::<f64>();
    for (options, cells, classes) in [
        ("--bins 4 --binning quantile", &[6.0, 2.0][..], 2.0),
        ("--bins 4", &[5.0, 1.0, 1.0, 1.0], 4.0),
        ("--levels 16", &[5.0, 1.0, 1.0, 1.0], 16.0),
        ("--classes l.csv", &[6.0, 1.0, 1.0], 4.0),
    ] {
        place
            .run(&format!("entropy r.txt h.npy --size 15 --normalize --precision f64 -q --overwrite {options}"))
            .quietly();
        let (got, wanted) = (reals(&place, "h.npy").row(0)[3], shannon(cells) / f64::ln(classes));
        assert!((got - wanted).abs() < 1e-12, "{options}: {got}, not {wanted}");
    }
    let text = place.run("entropy r.txt - --size 15 --bins 4 --binning quantile --normalize -q").quietly();
    assert_eq!(text, "     0.81128 ".repeat(8) + "\n");
}

#[test]
fn decimals_and_precision() {
    let place = Place::new();
    place.write("v.txt", VECTOR);
    let first = |options: &str| {
        let text = place.run(&format!("entropy v.txt - -q {options}")).quietly();
        text.split(' ').find(|word| !word.is_empty()).map(str::to_owned)
    };
    assert_eq!(first("--decimals 2").as_deref(), Some("1.52"));
    assert_eq!(first("--decimals 0").as_deref(), Some("2"));
    assert_eq!(first("--decimals 12").as_deref(), Some("1.522955067531"));
    // f32 has seven digits.
    let single: f64 = first("--decimals 12 --precision f32").and_then(|w| w.parse().ok()).expect("a number");
    assert!(single != 1.522955067531 && (single - 1.522955067531).abs() < 1e-6, "{single}");
    for (options, descr) in [("", "<f4"), ("--precision f64", "<f8"), ("--precision f32", "<f4")] {
        place.run(&format!("entropy v.txt h.npy -q --overwrite {options}")).quietly();
        let header = String::from_utf8_lossy(&place.read("h.npy")[..60]).into_owned();
        assert!(header.contains(descr), "{options}: {header}");
    }
    assert_eq!(place.run("entropy v.txt - -q --of npy").code, 0);
}

#[test]
fn nodata_is_not_counted() {
    let place = Place::new();
    let cells = random(19, 17, 6);
    // Class 5 stands for no data; the same grid with other values in its place.
    let wanted = expected(&cells, 5, Some(5));
    assert!(wanted.contains(" nan "));
    let with = |value: &str| {
        let word = |&c: &u8| if c == 5 { value.to_owned() } else { c.to_string() };
        let line = |r| cells.row(r).iter().map(word).collect::<Vec<_>>().join(" ") + "\n";
        "19 17\n".to_owned() + &(0..19).map(line).collect::<String>()
    };
    for value in ["5", "255", "-9999", "0.5", "nan"] {
        place.write("c.txt", with(value));
        let text = place.run(&format!("entropy c.txt - -q --levels 6 --nodata {value}")).quietly();
        assert_eq!(text, wanted, "{value}");
    }
    let floats: Vec<u8> =
        cells.as_slice().iter().flat_map(|&c| if c == 5 { f32::NAN } else { f32::from(c) }.to_le_bytes()).collect();
    place.write("c.npy", npy("<f4", "False", "(19, 17)", &floats));
    assert_eq!(place.run("entropy c.npy - -q --nodata nan").quietly(), wanted);
    place.write("c.txt", with("5"));
    assert_eq!(place.run("entropy c.txt - -q --nodata none").quietly(), expected(&cells, 5, None));
    let all = place.write("all.txt", "1 2\n7 7\n").run("entropy all.txt - -q --nodata 7").quietly();
    assert_eq!(all, "         nan          nan \n");
}

#[test]
fn every_kernel_agrees_with_the_cpu() {
    let place = Place::new();
    let cells = random(26, 45, 16);
    place.cells("c.npy", &cells);
    let wanted = reference::entropy(cells.view(), 5, None);
    for kernel in halotile_lab::entropy::kernels() {
        let name = kernel.name();
        let (device, called) = match kernel.place() {
            Where::Cpu => ("cpu", "cpu"),
            Where::Device | Where::Both => ("emulator", "emulator:0"),
        };
        let args = format!("entropy c.npy h.npy -q --overwrite --device {device} --kernel {name} --json");
        let json: Value = serde_json::from_str(&place.run(&args).quietly()).expect("JSON");
        assert_eq!((&json["kernel"], &json["device"]), (&name.into(), &called.into()));
        assert_eq!(json["precision"] == "f64", kernel.is_f64(), "{name}");
        // Plans leave a grid as small as this one to the CPU.
        let seconds = json["kernel_seconds"].as_f64();
        assert_eq!(seconds.is_some_and(|s| s > 0.0), kernel.place() == Where::Device, "{name}: {seconds:?}");
        assert!(close(&reals(&place, "h.npy"), &wanted, 1e-5), "{name}");
    }
    // Text is f64 on every engine, and several devices make no difference.
    assert_eq!(place.run("entropy c.npy - -q --device emulator").quietly(), expected(&cells, 5, None));
    place.run("entropy c.npy one.npy -q --device emulator").quietly();
    place.run("entropy c.npy three.npy -q --device emulator:3").quietly();
    assert_eq!(place.read("one.npy"), place.read("three.npy"));
}

#[test]
fn rungs_on_the_cpu_need_no_device() {
    let place = Place::new();
    place.cells("c.npy", &random(40, 45, 16));
    let cells = random(40, 45, 16);
    let wanted = reference::entropy(cells.view(), 5, None);
    for name in ["v10", "v11", "v12", "v13", "b10"] {
        let ran = place.run(&format!("entropy c.npy h.npy --overwrite --kernel {name} --json"));
        let note = format!("halotile: device auto: cpu, because kernel {name} is a function on the CPU\n");
        assert_eq!((ran.code, ran.err), (0, note));
        let json: Value = serde_json::from_slice(&ran.out).expect("JSON");
        assert_eq!((&json["kernel"], &json["device"]), (&name.into(), &"cpu".into()));
        assert_eq!((&json["kernel_seconds"], &json["precision"]), (&Value::Null, &"f32".into()), "{name}");
        assert!(close(&reals(&place, "h.npy"), &wanted, 1e-5), "{name}");
        place.run(&format!("entropy c.npy h.npy -q --overwrite --kernel {name} --device cpu")).quietly();
        assert!(close(&reals(&place, "h.npy"), &wanted, 1e-5), "{name}");
    }
    // A plan takes what there is: here, maybe nothing but the CPU.
    for name in ["v14", "v14-parallel", "v14-share"] {
        let ran = place.run(&format!("entropy c.npy h.npy --overwrite --kernel {name}"));
        let (before, after) = ran.err.split_once(", because ").expect("a reason");
        assert!(ran.code == 0 && before.starts_with("halotile: device auto: c"), "{}", ran.err);
        assert!(after.starts_with(&format!("kernel {name} takes all GPUs that are there")), "{after}");
        assert!(close(&reals(&place, "h.npy"), &wanted, 1e-5), "{name}");
        place.run(&format!("entropy c.npy h.npy -q --overwrite --kernel {name} --device cpu")).quietly();
        assert!(close(&reals(&place, "h.npy"), &wanted, 1e-5), "{name}");
    }
    // Above the cut-off of 163,840 cells the devices do take part.
    let cells = random(410, 410, 16);
    place.cells("large.npy", &cells);
    let args = "entropy large.npy h.npy -q --overwrite --json --device emulator:2 --kernel v14-share";
    let json: Value = serde_json::from_str(&place.run(args).quietly()).expect("JSON");
    assert_eq!((&json["kernel"], &json["device"]), (&"v14-share".into(), &"emulator:0, emulator:1".into()));
    assert!(json["kernel_seconds"].as_f64().is_some_and(|s| s > 0.0), "{json}");
    assert!(close(&reals(&place, "h.npy"), &reference::entropy(cells.view(), 5, None), 1e-5));
}

#[test]
fn previews_are_pictures() {
    let place = Place::new();
    place.cells("c.pgm", &random(40, 60, 16));
    for options in ["", "--base 2", "--normalize --levels 16"] {
        place.run(&format!("entropy c.pgm h.txt -q --preview h.png --overwrite {options}")).quietly();
        let mut reader = png::Decoder::new(std::io::Cursor::new(place.read("h.png"))).read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut pixels).expect("pixels");
        assert!(info.width > 300 && info.height > 200 && info.color_type == png::ColorType::Rgb);
    }
    assert_eq!(place.names(), ["c.pgm", "h.png", "h.txt"]);
    assert_ne!(place.run("entropy c.pgm - -q --preview p.png").out, b"");
    assert!(place.names().contains(&"p.png".to_owned()));
}

#[test]
fn what_is_there_is_replaced_only_when_asked() {
    let place = Place::new();
    place.write("v.txt", VECTOR).write("h.txt", "old").write("h.png", "old");
    let exists = |name| format!("halotile: {name}: the file exists already; choose another name or give --overwrite\n");
    for (args, name) in [
        ("entropy v.txt h.txt", "h.txt"),
        ("entropy v.txt new.txt --preview h.png", "h.png"),
        ("generate grid --rows 2 --cols 2 h.txt", "h.txt"),
    ] {
        let ran = place.run(args);
        assert_eq!((ran.code, ran.err), (1, exists(name)), "{args}");
    }
    assert_eq!((place.text("h.txt").as_str(), place.names().len()), ("old", 3));
    place.run("entropy v.txt h.txt --preview h.png -q --overwrite").quietly();
    assert_eq!(place.text("h.txt"), VECTOR_ENTROPY);
    assert!(place.read("h.png").starts_with(b"\x89PNG"));
    // A failure keeps the old file.
    place.write("bad.txt", "1 1\n0.5\n");
    assert_eq!(place.run("entropy bad.txt h.txt -q --overwrite").code, 1);
    assert_eq!((place.text("h.txt").as_str(), place.names().len()), (VECTOR_ENTROPY, 4));
}

#[test]
fn json_says_what_was_done() {
    let place = Place::new();
    place.cells("c.npy", &random(50, 70, 16));
    let args = "entropy c.npy h.npy -q --json --levels 16 --size 7 --nodata 3 --threads 1 --preview h.png";
    let json: Value = serde_json::from_str(&place.run(args).quietly()).expect("JSON");
    for (key, value) in [
        ("input", Value::from("c.npy")),
        ("output", "h.npy".into()),
        ("preview", "h.png".into()),
        ("input_format", "npy".into()),
        ("output_format", "npy".into()),
        ("samples", 1.into()),
        ("rows", 50.into()),
        ("cols", 70.into()),
        ("cells", 3500.into()),
        ("size", 7.into()),
        ("levels", 16.into()),
        ("unit", "nats".into()),
        ("nodata", "3".into()),
        ("device", "cpu".into()),
        ("kernel", Value::Null),
        ("kernel_seconds", Value::Null),
        ("precision", "f32".into()),
        ("threads", 1.into()),
        ("band", Value::Null),
        ("shape", "square".into()),
        ("edge", "shrink".into()),
        ("min_valid", 0.0.into()),
        ("fill_nodata", false.into()),
        ("mask", Value::Null),
        ("memory", Value::Null),
        ("types", Value::Null),
        ("scales", Value::Null),
    ] {
        assert_eq!(json[key], value, "{key}");
    }
    let stages: Vec<f64> = ["read", "classes", "device", "compute", "write", "total"]
        .iter()
        .map(|stage| json["seconds"][stage].as_f64().expect("seconds"))
        .collect();
    assert!(stages[..5].iter().sum::<f64>() <= stages[5], "{stages:?}");
    assert!(json["cells_per_second"].as_f64().is_some_and(|rate| rate > 0.0));
    assert_eq!(json.as_object().map(serde_json::Map::len), Some(37));
}

#[test]
fn threads_change_nothing_and_verbose_tells_times() {
    let place = Place::new();
    place.cells("c.npy", &random(300, 500, 16));
    for threads in [1, 3] {
        place.run(&format!("entropy c.npy h{threads}.npy -q --threads {threads}")).quietly();
    }
    assert!(place.read("h1.npy") == place.read("h3.npy"));
    let ran = place.run("entropy c.npy h.npy -v --threads 2 --device emulator --size 3 --levels 16");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!((ran.code, ran.out.len(), lines.len()), (0, 0, 4), "{}", ran.err);
    assert!(lines[0].ends_with("INFO c.npy: no data: none, mask: none; place: none"), "{}", lines[0]);
    assert!(lines[1].contains("INFO c.npy: 16 classes, by --levels: 0, 1, 2, "), "{}", lines[1]);
    assert!(lines[2].starts_with("halotile: INFO seconds: read 0."), "{}", lines[2]);
    assert!(lines[3].contains("300 x 500 cells in f32 on emulator:0, kernel "), "{}", lines[3]);
    assert!(lines[3].contains(", 2 threads: "), "{}", lines[3]);
    assert!(place.run("entropy c.npy h.npy -vv --overwrite").err.contains("DEBUG"));
}

#[test]
fn a_window_larger_than_the_grid_is_clipped() {
    let place = Place::new();
    let cells = Grid::from_vec(vec![1u8, 2, 2, 3], 2, 2).expect("a shape");
    place.cells("c.txt", &cells);
    let whole = reference::entropy(GridView::new(&[1u8, 2, 2, 3], 2, 2).expect("a shape"), 255, None);
    assert!(whole.as_slice().iter().all(|&h| h == whole.row(0)[0]));
    assert_eq!(place.run("entropy c.txt - -q --size 255").quietly(), expected(&cells, 255, None));
}
