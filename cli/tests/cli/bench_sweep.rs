//! `halotile bench entropy --sweep`: what it prints, what it exports, what it refuses. That a wrong result is not timed, and which ratios
//! are named, is tested where one can be planted: in `halotile_lab::bench::sweep`.

use halotile_lab::bench::Record;
use halotile_lab::bench::sweep::setting;

use crate::place::Place;

#[test]
fn the_emulator_sweeps_and_names_its_kernels() {
    let place = Place::new();
    let args = "bench entropy --sweep --device emulator --sizes 20x24 --sweep-sizes 3,5,9 --sweep-levels 16,17 \
                --sweep-measures shannon,hill:2 --runs 2 --warmup 0 --export-json s.json --export-csv s.csv --export-markdown s.md \
                --commit abc";
    let table = place.run(args).quietly();
    assert_eq!(place.names(), ["s.csv", "s.json", "s.md"]);
    let record = Record::read(&place.read("s.json")).expect("a record");
    assert_eq!((record.head.what.as_str(), record.head.commit.as_deref()), ("sweep", Some("abc")));
    // 2 numbers of classes with and without nodata, of both a measure, the disk, f64; at 3 sizes.
    assert_eq!(record.results.len(), (2 * 2 + 2 * 3) * 3);
    for row in &record.results {
        let timing = row.timing().unwrap_or_else(|| panic!("{row:?}"));
        assert_eq!((timing.time.raw.len(), timing.verified.as_str()), (2, "every cell"));
        assert!(table.contains(timing.chosen.as_deref().expect("a kernel")), "{row:?}: {table}");
    }
    assert!(record.results.iter().any(|row| row.of.text("precision") == "f64"));
    let ratios: Vec<f64> = record.cliffs.iter().map(|cliff| cliff.ratio).collect();
    assert!(ratios.len() == 5 && ratios.is_sorted_by(|a, b| a >= b), "{ratios:?}");
    for row in
        ["\n16 classes, nodata ", "\n17 classes ", "\n16 classes, hill:2 ", "\n16 classes, disk ", "\n16 classes, f64 "]
    {
        assert!(table.contains(row), "{row}: {table}");
    }
    let (_, cliffs) = table.split_once("\nlargest steps between neighbours\n").expect("cliffs");
    assert_eq!(cliffs.lines().count(), 10, "{cliffs}");
    assert_eq!(place.text("s.csv").lines().count(), 1 + record.results.len());
    let page = place.text("s.md");
    assert!(
        page.contains("| | 3 x 3 | 5 x 5 | 9 x 9 | kernels |") && page.contains("| 16 classes, nodata | "),
        "{page}"
    );
    for line in page.lines().filter(|line| line.starts_with("| 1")) {
        assert!([6, 5].contains(&line.replace("\\|", "").matches('|').count()), "{line}");
    }
}

#[test]
fn the_cpu_sweeps_from_memory_to_memory() {
    let place = Place::new();
    let ran = place.run(
        "bench entropy --sweep --device cpu --sizes 310 --sweep-sizes 5 --sweep-levels 256 --sweep-measures richness \
         --sweep-shapes disk --sweep-precisions f64 --sweep-nodata yes --pattern clustered --runs 1 --export-json - -q",
    );
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let record = Record::read(&ran.out).expect("a record");
    let [row] = &record.results[..] else { panic!("{record:?}") };
    assert_eq!(setting(row).expect("a setting").to_string(), "5 x 5, 256 classes, richness, disk, f64, nodata");
    let timing = row.timing().expect("times");
    assert_eq!(timing.verified, "every cell of 300 x 300 cells; every cell");
    assert!(
        timing.chosen.is_none() && timing.share_of_ceiling.is_some_and(|share| share > 0.0) && record.cliffs.is_empty()
    );
}

#[test]
fn a_part_of_the_cpu_engine_sweeps_in_place_of_its_choice() {
    let place = Place::new();
    let args = "bench entropy --sweep --device cpu --kernels slide-portable --sizes 40 --sweep-sizes 3,5 --sweep-levels 16 --runs 1 \
                --export-json s.json";
    let table = place.run(args).quietly();
    assert!(table.contains("\ntimes of a call from host memory to host memory, all by slide-portable; "), "{table}");
    let record = Record::read(&place.read("s.json")).expect("a record");
    assert!(record.results.iter().all(|row| row.kernel == "slide-portable" && row.timing().is_some()), "{record:?}");
}

#[test]
fn what_is_refused() {
    let place = Place::new();
    for (args, message) in [
        (
            "--sweep --sizes 20,30",
            "--sweep is over one grid; give --sizes one size, and the windows' to --sweep-sizes".to_owned(),
        ),
        (
            "--sweep --sweep-sizes 4",
            "invalid value '4' for '--sweep-sizes <LIST>': a window's size is an odd number from 1 to 4095, not 4; see halotile bench \
             entropy --help"
                .to_owned(),
        ),
        (
            "--sweep --kernels cpu",
            "--sweep is of what the library chooses, or of one of planes-portable, planes-avx2, planes-avx512, planes-neon, slide-portable, \
             slide-avx2, slide-avx512, slide-neon"
                .to_owned(),
        ),
        (
            "--sweep --export-html x.html",
            "the argument '--sweep' cannot be used with '--export-html <FILE>'; see halotile bench entropy --help".to_owned(),
        ),
    ] {
        let ran = place.run(&format!("bench entropy --device cpu {args}"));
        assert_eq!((ran.err, ran.code), (format!("halotile: {message}\n"), 2), "{args}");
    }
    let ran = place.run("bench entropy --device emulator --sweep --kernels slide-portable");
    let message = "halotile: slide-portable is a part of the CPU engine; choose --device cpu\n".to_owned();
    assert_eq!((ran.err, ran.code), (message, 2));
    let ran = place.run("bench entropy --device cpu --sweep-sizes 5");
    assert!(ran.code == 2 && ran.err.contains("--sweep"), "{}", ran.err);
    assert!(place.names().is_empty());
}
