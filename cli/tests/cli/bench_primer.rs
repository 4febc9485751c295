//! `halotile bench copy`, `stride` and the other topics of the primer: what they print, what they export, what they refuse.

use halotile_lab::bench::{Clock, Outcome, Record, Row, Unit};

use crate::place::Place;

/// What tells a row from others, first of all.
fn first(row: &Row) -> &str {
    row.parameters.iter().next().and_then(|(_, value)| value.as_str()).expect("a parameter")
}

#[test]
fn a_topic_is_verified_timed_and_exported_in_every_format() {
    let place = Place::new();
    let args = "bench copy --device emulator --sizes 300,65 --runs 2 --warmup 0 --seed 7 --commit abc123 --export-json r.json \
                --export-csv r.csv --export-markdown r.md --export-html r.html";
    let table = place.run(args).quietly();
    assert_eq!(place.names(), ["r.csv", "r.html", "r.json", "r.md"]);
    let record = Record::read(&place.read("r.json")).unwrap();
    assert_eq!(
        (record.head.what.as_str(), record.head.commit.as_deref(), record.options.seed),
        ("primer", Some("abc123"), 7)
    );
    assert_eq!(record.results.len(), 2 * 33);
    for row in &record.results {
        let Outcome::Timed(timing) = &row.outcome else { panic!("{row:?}") };
        assert_eq!((timing.time.raw.len(), timing.unit, timing.share_of_ceiling), (2, Unit::Bytes, None));
        assert_eq!(timing.amount, 8.0 * row.of.numbers("size")[0] as f64);
        // Beside a line's beginning a warp's 128 bytes lie in one sector more.
        let offset: u32 = row.parameters.text("offset").parse().unwrap();
        let most = timing.counted.unwrap().global_loads.unwrap().most;
        assert_eq!(most, if offset.is_multiple_of(8) { 4 } else { 5 }, "offset {offset}");
    }
    assert!(table.contains("\ncopy, 300, f32\nkernel ") && table.contains("\ncopy, 65, f32\nkernel "), "{table}");
    assert!(table.contains("\noffset 0 ") && table.contains("\noffset 32 "), "{table}");
    assert_eq!(place.text("r.csv").lines().count(), 1 + 66);
    assert!(place.text("r.csv").contains("\ncopy,300,f32,offset,offset=3,,timed,"));
    assert!(place.text("r.md").contains("commit abc123") && place.text("r.md").contains("### copy, 65, f32"));
    let page = place.text("r.html");
    assert!(page.contains("<svg class=\"chart\" id=\"copy-1\"") && page.contains("<h2>Copy</h2>"), "{page}");
}

#[test]
fn the_emulator_counts_beside_the_times() {
    let place = Place::new();
    let table = place.run("bench banks --device emulator --sizes 1 --runs 1 --warmup 0").quietly();
    let wavefronts = |label: &str| {
        let line =
            table.lines().find(|line| line.starts_with(&format!("{label} "))).unwrap_or_else(|| panic!("{table}"));
        line.split_whitespace().rev().nth(2).unwrap().to_owned()
    };
    let expected =
        [("u32 x1", "1.00"), ("u32 x6", "2.00"), ("u8 x32", "8.00"), ("tile x32", "32.0"), ("tile x32 +1", "1.00")];
    for (label, loads) in expected {
        assert!(wavefronts(label).starts_with(&format!("{loads}/")), "{label}: {table}");
    }
}

#[test]
fn clocks_tell_more_than_a_time() {
    let place = Place::new();
    let args = "bench clock --device emulator --sizes 3 --runs 1 --warmup 0 --export-json r.json --export-csv r.csv --export-html r.html";
    let table = place.run(args).quietly();
    let record = Record::read(&place.read("r.json")).unwrap();
    let told = |kernel: &str, of: &str| {
        let found = record.results.iter().find(|row| row.kernel == kernel && first(row) == of);
        found.and_then(|row| row.timing()).unwrap_or_else(|| panic!("{kernel} {of}: {record:?}"))
    };
    for (kernel, of, clock, readings) in [
        ("minima", "64 blocks", Clock::Device, "grid blocks, block cycles, span ns"),
        ("wait", "8 args", Clock::Wall, "events us"),
        ("row", "32 args", Clock::Wall, "a launch us, to put it on the queue us, events us"),
        ("events", "0 args", Clock::Device, ""),
        ("spin", "30 us", Clock::Device, "wall us, nanoseconds us, cycles / rate us, rate GHz, step ns"),
    ] {
        let timing = told(kernel, of);
        let names: Vec<_> = timing.readings.iter().map(|r| format!("{} {}", r.name, r.unit)).collect();
        assert_eq!((timing.time.clock, timing.unit), (clock, Unit::Launches));
        // In the emulator, multiprocessors count operations, which is no clock.
        assert_eq!(names.join(", ").replace(", span by cycles cycles", ""), readings, "{kernel} {of}");
        assert!(timing.readings.iter().all(|reading| reading.value > 0.0), "{kernel} {of}: {:?}", timing.readings);
    }
    assert_eq!((told("row", "0 args").amount, told("minima", "8 an SM").readings[0].value), (3.0, 16.0));
    assert!(table.contains("\nminima 1 block ") && table.contains("grid 64.0 blocks, block "), "{table}");
    assert!(place.text("r.csv").contains(",launches,") && place.text("r.csv").contains("a launch="));
    let page = place.text("r.html");
    assert!(page.contains(">launches, thousands a second<") && !page.contains("billions a second"), "{page}");
}

#[test]
fn what_crosses_the_bus_is_timed_by_the_wall_clock() {
    let place = Place::new();
    let args = "--device emulator --runs 1 --warmup 0 --export-json r.json --overwrite";
    for (topic, sizes, kernels, labels) in [
        (
            "transfer",
            "77",
            13,
            ["pageable up", "staged down", "pinned both", "pieces up", "write-combined down", "zero-copy down"]
                .as_slice(),
        ),
        ("overlap", "300", 13, &["in", "run", "out", "serial", "streams 1", "streams 16", "pipeline 16"]),
    ] {
        let table = place.run(&format!("bench {topic} --sizes {sizes} {args}")).quietly();
        for label in labels {
            assert!(table.contains(&format!("\n{label:26}")), "{label}: {table}");
        }
        let record = Record::read(&place.read("r.json")).unwrap();
        assert_eq!((record.results.len(), record.ceilings.of("device", Unit::Transferred)), (kernels, None));
        for row in &record.results {
            let Outcome::Timed(timing) = &row.outcome else { panic!("{row:?}") };
            assert_eq!(timing.time.clock, Clock::Wall, "{row:?}");
            let alone = row.kernel == "run";
            assert_eq!(timing.unit, if alone { Unit::Bytes } else { Unit::Transferred }, "{row:?}");
        }
        // What is told beside is in the table.
        let beside = if topic == "transfer" { "CPU writes " } else { "longest stage " };
        assert!(table.contains(beside), "{table}");
    }
}

#[test]
fn instructions_and_branches_count_operations() {
    let place = Place::new();
    let run = |topic| {
        let table = place
            .run(&format!("bench {topic} --device emulator --sizes 1 --runs 1 --warmup 0 --export-json {topic}.json"));
        let record = Record::read(&place.read(&format!("{topic}.json"))).unwrap();
        for row in &record.results {
            let Outcome::Timed(timing) = &row.outcome else { panic!("{row:?}") };
            assert_eq!(timing.unit, Unit::Operations, "{row:?}");
        }
        (table.quietly(), record)
    };
    let (table, record) = run("instructions");
    for label in ["add f32", "min, max i32", "ld.shared 32 ways", "atom.global one word"] {
        assert!(table.contains(&format!("\n{label} ")), "{label}: {table}");
    }
    let shuffle = record.results.iter().find(|row| first(row) == "shuffle").unwrap();
    let readings = &shuffle.timing().unwrap().readings;
    assert_eq!(readings.iter().map(|reading| reading.unit.as_str()).collect::<Vec<_>>(), ["/clk/SM", "clocks"]);
    assert!(table.lines().any(|line| line.starts_with("shuffle u32 ") && line.contains(", latency ")), "{table}");

    let (table, record) = run("divergence");
    assert_eq!(record.results.len(), 12);
    assert!(table.contains("\n8 of lanes ") && table.contains("\n32 of warps "), "{table}");
}

#[test]
fn what_cannot_be_is_refused_in_a_line_that_says_what_to_do() {
    let place = Place::new();
    for (args, message) in [
        ("copy --device cpu", "these kernels run on a device; choose --device cuda or emulator"),
        ("copy --sizes 3x4", "--sizes 3x4: a size of copy is N"),
        ("copy --elements f64", "copy has no kernels for f64; there are f32"),
        ("stride --kernels stride,fast", "stride has no kernel \"fast\"; the names are stride"),
    ] {
        let ran = place.run(&format!("bench {args} --export-json r.json"));
        assert_eq!((ran.code, ran.err), (2, format!("halotile: {message}\n")), "{args}");
        assert!(place.names().is_empty(), "{args}");
    }
}
