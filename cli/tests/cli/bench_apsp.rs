//! `halotile bench apsp`: what it prints, what it exports, what it refuses.

use halotile::apsp::Kernel;
use halotile_lab::bench::{Outcome, Record, Unit};

use crate::place::Place;

#[test]
fn the_cpu_is_timed_and_exported_in_every_format() {
    let place = Place::new();
    let args = "bench apsp --device cpu --vertices 65,20 --runs 2 --warmup 0 --commit abc123 --export-json r.json \
                --export-csv r.csv --export-markdown r.md";
    let table = place.run(args).quietly();
    assert_eq!(place.names(), ["r.csv", "r.json", "r.md"]);
    let record = Record::read(&place.read("r.json")).unwrap();
    let names: Vec<_> = record.results[..6].iter().map(|row| row.kernel.as_str()).collect();
    assert_eq!(names, ["cpu", "threads", "naive", "blocked32", "blocked64", "tiled"]);
    for row in &record.results {
        assert!(table.contains(&format!("\n{:15} ", row.kernel)), "{table}");
        match &row.outcome {
            Outcome::Timed(timing) => {
                assert_eq!(
                    (row.place.as_str(), timing.time.raw.len(), timing.verified.as_str()),
                    ("cpu", 2, "every cell")
                );
            }
            Outcome::Skipped { .. } => assert_eq!(row.place, "device"),
            Outcome::Wrong { reason } => panic!("{reason}"),
        }
    }
    assert_eq!(
        (record.head.what.as_str(), record.head.commit.as_deref(), record.results.len()),
        ("apsp", Some("abc123"), 12)
    );
    assert!(table.contains("\n65 vertices\nkernel ") && table.contains("\n20 vertices\nkernel "), "{table}");
    assert!(table.contains("\ncomplete graphs; weights 1 to 100, i32; seed 0\n"), "{table}");
    assert_eq!(place.text("r.csv").lines().count(), 13);
    assert!(place.text("r.md").contains("commit abc123") && place.text("r.md").contains("### 65 vertices"));
}

#[test]
fn the_emulator_has_every_kernel_and_the_graph_can_be_chosen() {
    let place = Place::new();
    let args = "bench apsp --device emulator:2 --kernels tiled,blocks-256,cpu --graph sparse --weights 0..9 --weight i16 --seed 3 \
                --vertices 33 --runs 1 --warmup 0 --export-json - -q";
    let ran = place.run(args);
    let record = Record::read(&ran.out).unwrap();
    let (o, seed) = (&record.options.work, record.options.seed);
    assert_eq!((o.text("graph"), o.numbers("weights"), o.text("weight"), seed), ("sparse", vec![0, 9], "i16", 3));
    assert_eq!((record.head.devices.len(), record.ceilings.of("device", Unit::Relaxations)), (2, None));
    let names: Vec<_> = record.results.iter().map(|row| row.kernel.as_str()).collect();
    assert_eq!(names, ["cpu", Kernel::Tiled.name(), "blocks-256"]);
    assert!(!record.results.iter().any(|row| matches!(row.outcome, Outcome::Wrong { .. })), "{record:?}");
}

#[test]
fn what_cannot_be_is_refused_in_a_line_that_says_what_to_do() {
    let place = Place::new();
    for (args, code, message) in [
        (
            "--device cpu --kernels cpu,tiled",
            2,
            "kernel tiled runs on a device; choose --device cuda or emulator".to_owned(),
        ),
        (
            "--device emulator --vertices 513",
            2,
            "513 vertices are more than the 512 that the emulator takes here; choose smaller --vertices".to_owned(),
        ),
        (
            "--device cpu --vertices 30 --weight i16 --weights 1..40000",
            1,
            "with 30 vertices there is a weight or distance of 40000, and i16 holds none above 32766".to_owned(),
        ),
        (
            "--weights 5..3",
            2,
            "invalid value '5..3' for '--weights <LO..HI>': weights are LO..HI as 1..100, whole numbers from 0 to 1073741822; \
             see halotile bench apsp --help"
                .to_owned(),
        ),
        (
            "--vertices 0",
            2,
            "invalid value '0' for '--vertices <LIST>': the number of vertices is from 1 to 2097152; see halotile bench apsp \
             --help"
                .to_owned(),
        ),
    ] {
        let ran = place.run(&format!("bench apsp {args} --runs 1 --export-json r.json"));
        assert_eq!((ran.code, ran.err), (code, format!("halotile: {message}\n")), "{args}");
        assert!(place.names().is_empty(), "{args}");
    }
    #[cfg(target_os = "linux")]
    {
        let ran = place.run("bench apsp --device cpu --vertices 2097152");
        assert!(ran.code == 1 && ran.err.ends_with(" MiB are available; choose smaller --vertices\n"), "{}", ran.err);
    }
}
