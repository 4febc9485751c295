//! The commands beside `entropy`.

use halotile::io::InputFormat;
use halotile::raster::geotiff::GeoTiff;
use halotile::raster::{Raster, Rasters, Values};
use halotile_lab::generate::{Generator, Pattern};
use serde_json::Value;

use crate::place::{Place, VECTOR, VECTOR_ENTROPY};

/// The cells of a file of one grid of bytes.
fn cells(format: InputFormat, file: &[u8]) -> Vec<u8> {
    let mut rasters = Rasters::from_reader(file, format, "g");
    let raster = rasters.next().expect("one").expect("a grid");
    assert!(rasters.next().is_none());
    match raster.read(0..raster.rows(), 0..raster.cols()).expect("its cells") {
        Values::U8(cells) => cells,
        other => panic!("{:?}", other.value_type()),
    }
}

#[test]
fn generated_grids_are_the_same_in_every_format() {
    let place = Place::new();
    for pattern in Pattern::ALL {
        let wanted = Generator::new(pattern, 42, 9).expect("levels").grid(57, 83).expect("a shape");
        let make = |format: InputFormat, more: &str| {
            let args = "generate grid --rows 57 --cols 83 --levels 9 --seed 42 --overwrite g";
            assert_eq!(place.run(&format!("{args} --pattern {pattern} --of {format} {more}")).quietly(), "");
        };
        for options in ["", "--co BLOCKXSIZE=16 --co BLOCKYSIZE=32 --co COMPRESS=LZW", "--co TILED=NO --co BIGTIFF=YES"]
        {
            make(InputFormat::GeoTiff, options);
            let tiff = GeoTiff::open(&place.path("g"), 1).expect("a GeoTIFF");
            let cells = tiff.read(0..57, 0..83).expect("its cells");
            assert!(cells == Values::U8(wanted.as_slice().to_vec()), "{pattern} {options}");
            assert!(tiff.georeference().is_some());
        }
        for format in InputFormat::streams() {
            make(format, "");
            assert!(cells(format, &place.read("g")) == wanted.as_slice(), "{pattern} {format}");
        }
    }
    // The defaults, standard output, and more cells than a band has.
    let wanted = Generator::<u8>::new(Pattern::Random, 0, 16).expect("levels").grid(2500, 2000).expect("a shape");
    place.run("generate grid --rows 2500 --cols 2000 g.npy").quietly();
    assert!(cells(InputFormat::Npy, &place.read("g.npy")) == wanted.as_slice());
    // A GeoTIFF in several pieces across and down, compared with another format of the same grid.
    place
        .run("generate grid --rows 2500 --cols 2000 g.tif --co BLOCKYSIZE=16 --co BLOCKXSIZE=16 --co BIGTIFF=YES")
        .quietly();
    assert!(place.run("compare g.tif g.npy --tolerance 0").quietly().starts_with("no difference\n0 of 5000000 cells"));
    place.run("generate grid --rows 3 --cols 300000 wide.tif --co BLOCKYSIZE=64").quietly();
    place.run("generate grid --rows 3 --cols 300000 wide.npy").quietly();
    assert!(place.run("compare wide.npy wide.tif --tolerance 0").quietly().starts_with("no difference"));
    let e = place.run("generate grid --rows 2 --cols 3 --of geotiff -");
    assert_eq!((e.code, e.out.len()), (1, 0));
    assert_eq!(
        e.err,
        "halotile: standard output: a GeoTIFF cannot be written to a pipe; name a regular file, or choose another format\n"
    );
    let e = place.feed("entropy - - -q", &place.read("g.tif"));
    assert_eq!(e.err, "halotile: standard input: a GeoTIFF is read from a file, not from a pipe; name the file\n");
    let piped = place.run("generate grid --rows 2 --cols 3 -").quietly();
    assert!(piped.starts_with("2 3\n") && piped.lines().count() == 3, "{piped}");
}

#[test]
fn compare_tells_the_largest_difference() {
    let place = Place::new();
    place.write("v.txt", VECTOR).write("h.txt", VECTOR_ENTROPY);
    place.write("near.txt", VECTOR_ENTROPY.replacen("1.84075", "1.84076", 1));
    place.write("nan.txt", VECTOR_ENTROPY.replacen("1.84075", "    nan", 1));
    place.run("entropy v.txt h.npy -q").quietly();
    let run = |args: &str| {
        let ran = place.run(&format!("compare {args}"));
        (ran.code, String::from_utf8_lossy(&ran.out).into_owned(), ran.err)
    };
    let none = String::new;
    assert_eq!(run("h.txt h.txt"), (0, "no difference\n0 of 16 cells differ by more than 1e-5\n".into(), none()));
    let (code, out, _) = run("h.txt h.npy");
    assert_eq!(code, 0, "{out}");
    let (code, out, _) = run("h.txt near.txt --tolerance 1e-6");
    assert_eq!(code, 1);
    assert_eq!(
        out,
        "largest difference 1.000e-5 at row 1, column 1 (counted from 0): 1.84075 and 1.84076\n\
         1 of 16 cells differ by more than 1e-6\n"
    );
    assert_eq!(run("h.txt near.txt --tolerance 1e-4").0, 0);
    assert_eq!(
        run("nan.txt h.txt"),
        (
            1,
            "largest difference inf at row 1, column 1 (counted from 0): NaN and 1.84075\n\
             1 of 16 cells differ by more than 1e-5, 1 of them NaN on one side only\n"
                .into(),
            none()
        )
    );
    place.write("small.txt", "1 1\n0\n").write("two.txt", "1,1,0.5,\n1,1,0.5,\n");
    assert_eq!(
        run("v.txt small.txt"),
        (
            1,
            none(),
            "halotile: v.txt and small.txt: sample 0 (counted from 0) has 4 x 4 cells in one file and 1 x 1 in the other\n"
                .into()
        )
    );
    assert_eq!(
        run("two.txt small.txt"),
        (1, none(), "halotile: two.txt and small.txt: there are 2 samples in one file and 1 in the other\n".into())
    );
    let piped = place.feed("compare - h.npy --if text --if npy", VECTOR_ENTROPY.as_bytes());
    assert_eq!((piped.code, piped.err.as_str()), (0, ""));
}

#[test]
fn compare_speaks_json() {
    let place = Place::new();
    place.write("a.txt", "0.5 1.5\n").write("b.txt", "0.5 1.75\n").write("n.txt", "0.5 nan\n");
    let json = |args: &str, code| -> Value {
        let ran = place.run(&format!("compare --json {args}"));
        assert_eq!(ran.code, code, "{args}");
        serde_json::from_slice(&ran.out).expect("JSON")
    };
    let found = json("a.txt b.txt", 1);
    assert_eq!((&found["a"], &found["cells"], &found["above"]), (&"a.txt".into(), &2.into(), &1.into()));
    let largest = &found["largest"];
    assert_eq!((&largest["sample"], &largest["row"], &largest["col"]), (&0.into(), &0.into(), &1.into()));
    assert_eq!((&largest["a"], &largest["b"], &largest["difference"]), (&1.5.into(), &1.75.into(), &0.25.into()));
    assert_eq!(json("a.txt a.txt", 0)["largest"], Value::Null);
    let nan = json("a.txt n.txt", 1);
    assert_eq!((&nan["unpaired_nan"], &nan["largest"]["difference"]), (&1.into(), &Value::Null));
}

#[test]
fn devices_says_what_there_is_or_why_not() {
    let place = Place::new();
    let text = place.run("devices").quietly();
    assert!(text.starts_with("cpu: ") && text.contains("\ncuda") && text.contains("\nemulator: "), "{text}");
    let json: Value = serde_json::from_str(&place.run("devices --json").quietly()).expect("JSON");
    assert!(json["cpu"]["threads"].as_u64().is_some_and(|n| n > 0));
    let gpus = json["cuda"]["devices"].as_array().expect("a list").len();
    match halotile::exec::cuda::count() {
        Ok(count) => assert_eq!((gpus, &json["cuda"]["off"]), (count, &Value::Null)),
        Err(error) => {
            assert_eq!((gpus, &json["cuda"]["off"]), (0, &error.to_string().into()));
            assert!(text.contains(&format!("\ncuda: {error}\n")), "{text}");
            assert_eq!(place.run("devices --measure").quietly(), text);
        }
    }
}

#[test]
fn help_pages_and_completions_come_from_one_source() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.run(&format!("completions {shell}")).quietly();
        assert!(script.contains("normalize") && script.contains("halotile"), "{shell}");
    }
    assert!(place.run("man").quietly().contains(".TH halotile 1"));
    let page = place.run("man generate grid").quietly();
    assert!(page.contains(".TH halotile-generate-grid 1") && page.contains("\\-\\-pattern"), "{page}");
    assert_eq!(place.run("--version").quietly(), format!("halotile {}\n", env!("CARGO_PKG_VERSION")));
    let help = place.run("entropy --help").quietly();
    for option in ["--size", "--nodata", "--device", "--kernel", "--preview", "Examples:", "--json prints one object"] {
        assert!(help.contains(option), "{option}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    // Colours are for terminals.
    assert!(!help.contains('\u{1b}'));
    let ran = place.run("");
    assert_eq!((ran.code, ran.out.as_slice()), (2, &b""[..]));
    assert!(ran.err.contains("Usage: halotile <COMMAND>"), "{}", ran.err);
}
