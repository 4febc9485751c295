//! `halotile bench entropy`: what it prints, what it exports, what it refuses. That a wrong kernel is not timed is tested where one can be
//! planted: in `halotile_lab::bench` and in `src/bench` of the program.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use halotile::entropy::Kernel;
use halotile_lab::bench::{Clock, Outcome, Record, Row, Unit};

use crate::place::{Place, ended};

/// The row of a kernel, of which there is one.
fn row<'a>(record: &'a Record, kernel: &str) -> &'a Row {
    record.results.iter().find(|row| row.kernel == kernel).expect("a row")
}

fn record(bytes: &[u8]) -> Record {
    Record::read(bytes).expect("a record")
}

#[test]
fn the_emulator_times_every_kernel_and_exports_every_format() {
    let place = Place::new();
    let args = "bench entropy --device emulator --sizes 24x40,33 --runs 2 --warmup 1 --export-json r.json \
                --export-csv r.csv --export-markdown r.md --export-html r.html --commit abc123";
    let table = place.run(args).quietly();
    assert_eq!(place.names(), ["r.csv", "r.html", "r.json", "r.md"]);
    let record = record(&place.read("r.json"));
    let names: BTreeSet<_> = record.results.iter().map(|row| row.kernel.as_str()).collect();
    let expected: BTreeSet<_> =
        std::iter::once("cpu").chain(halotile_lab::entropy::kernels().map(Kernel::name)).collect();
    assert_eq!(names, expected);
    assert_eq!(record.results.len(), 2 * expected.len());
    for row in &record.results {
        assert!([(24, 40), (33, 33)].contains(&(row.of.number("rows"), row.of.number("cols"))));
        let Outcome::Timed(timing) = &row.outcome else { panic!("{row:?}") };
        assert_eq!((timing.time.raw.len(), timing.verified.as_str()), (2, "every cell"));
        assert!(
            timing.time.min > 0.0 && timing.time.min <= timing.time.median && timing.time.median <= timing.time.max
        );
        let device = row.place == "device";
        assert_eq!(
            (timing.time.clock == Clock::Device, timing.host_to_host.is_some()),
            (device, device),
            "{}",
            row.kernel
        );
        // Several copies, so that launches take turns here as well; sums of all windows fill the caches with one.
        if !row.kernel.starts_with("columns-sums") {
            assert_eq!(timing.copies.is_some_and(|copies| copies > 1), device, "{}", row.kernel);
        }
        assert!(table.contains(&format!("\n{:15} ", row.kernel)), "{table}");
    }
    assert_eq!((record.head.commit.as_deref(), record.options.effort.timed.most), (Some("abc123"), 2));
    assert_eq!((record.head.devices.len(), record.head.devices[0].name.as_str()), (1, "emulator:0"));
    assert!(
        record.ceilings.of("cpu", Unit::Bytes).is_some_and(|rate| rate > 0.0)
            && record.head.machine.threads > 0
            && record.head.time.ends_with('Z')
    );
    assert!(table.contains("\n24 x 40 cells\nkernel ") && table.contains("\n33 x 33 cells\nkernel "), "{table}");
    assert_eq!(place.text("r.csv").lines().count(), 1 + record.results.len());
    assert!(place.text("r.md").contains("### 24 x 40 cells") && place.text("r.md").contains("commit abc123"));
    let page = place.text("r.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("id=\"time-1\"") && page.contains("id=\"share-0\""));

    // They are there now, and stay unless one says so.
    let before = place.read("r.json");
    let ran = place.run("bench entropy --device cpu --sizes 9 --export-json r.json");
    let exists = "halotile: r.json: the file exists already; choose another name or give --overwrite\n";
    assert_eq!((ran.code, ran.err.as_str(), place.read("r.json")), (1, exists, before));
    place.run("bench entropy --device cpu --sizes 9 --kernels cpu --runs 1 --export-json r.json --overwrite").quietly();
    assert_eq!(self::record(&place.read("r.json")).results.len(), 1);
}

#[test]
fn the_cpu_times_its_own_and_says_why_not_the_others() {
    let place = Place::new();
    let ran = place.run("bench entropy --device cpu --sizes 50 --size 7 --levels 20 --pattern clustered --seed 3 --runs 3 --export-json -");
    assert_eq!(ran.code, 0);
    let record = record(&ran.out);
    // The table is on stderr, because the record is on stdout.
    assert!(
        ran.err.contains("\n50 x 50 cells\nkernel ") && ran.err.contains("sliding         skipped: "),
        "{}",
        ran.err
    );
    let cpu = row(&record, "cpu").timing().expect("a timing");
    assert!(cpu.share_of_ceiling.is_some_and(|share| share > 0.0) && cpu.host_to_host.is_none());
    assert_eq!((cpu.time.raw.len(), cpu.time.clock), (3, Clock::Wall));
    let sliding = &row(&record, "sliding").outcome;
    assert_eq!(*sliding, Outcome::Skipped { reason: "it runs on a device (cuda, emulator)".into() });
    assert_eq!(
        (record.options.work.text("pattern"), record.options.seed, record.head.devices.len()),
        ("clustered", 3, 0)
    );

    let ran = place.run("bench entropy --device cpu --sizes 9 --kernels cpu --min-time 0.01 --export-csv - -q");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(String::from_utf8(ran.out).expect("text").lines().count(), 2);
}

#[test]
fn the_parts_of_the_cpu_engine_and_calls_are_timed_by_name() {
    let place = Place::new();
    let ran = place.run(
        "bench entropy --device cpu --kernels slide-portable,huang,cpu --sizes 40 --size 7 --runs 2 --export-json - -q",
    );
    let of_cpu = record(&ran.out);
    let names: Vec<_> = of_cpu.results.iter().map(|row| row.kernel.as_str()).collect();
    assert_eq!((ran.code, names), (0, vec!["huang", "cpu", "slide-portable"]));
    assert!(row(&of_cpu, "cpu").timing().and_then(|timing| timing.speedup).is_some());

    let args =
        "bench entropy --device emulator:2 --kernels pinned,auto --sizes 40 --runs 2 --warmup 0 --export-json r.json";
    let table = place.run(args).quietly();
    let of_calls = record(&place.read("r.json"));
    assert!(table.contains("\nauto            ") && table.contains("\npinned          "), "{table}");
    let whole =
        |kernel| row(&of_calls, kernel).timing().map(|timing| (timing.time.clock, timing.host_to_host.is_some()));
    assert_eq!([whole("auto"), whole("pinned")], [Some((Clock::Wall, true)), Some((Clock::Wall, false))]);

    let many = "bench entropy --device cpu --kernels cpu --levels 900 --pattern regional --sizes 50 --runs 2 --export-json - -q";
    let of_many = record(&place.run(many).out);
    assert_eq!(row(&of_many, "cpu").timing().map(|timing| timing.verified.as_str()), Some("every cell"));

    let ran = place.run("bench entropy --device cpu --kernels pinned --sizes 9");
    let needs =
        "kernel pinned runs on a device (cuda, emulator), not in the CPU engine; choose --device cuda or emulator";
    assert_eq!((ran.code, ran.err), (2, format!("halotile: {needs}\n")));
}

#[test]
fn misfits_are_skipped_with_all_and_refused_by_name() {
    let place = Place::new();
    let ran = place.run("bench entropy --device emulator --sizes 20 --size 7 --runs 1 --export-json - -q");
    let record = record(&ran.out);
    assert_eq!(ran.code, 0);
    let Outcome::Skipped { reason } = &row(&record, "sliding").outcome else { panic!("{record:?}") };
    assert_eq!(reason, "it takes windows of 5 x 5, not 7 x 7");
    assert!(row(&record, "columns").timing().is_some());
}

#[test]
fn what_is_refused() {
    let place = Place::new();
    place.write("there.csv", "");
    let names = halotile_lab::bench::names().collect::<Vec<_>>().join(", ");
    let size = |given: &str| {
        format!(
            "invalid value '{given}' for '--sizes <LIST>': a size is a number of at least 1, or rows x columns as 300x500; \
             see halotile bench entropy --help"
        )
    };
    for (args, code, message) in [
        ("--sizes 0", 2, size("0")),
        ("--sizes 12x", 2, size("12x")),
        ("--sizes 40,x", 2, size("x")),
        (
            "--sizes 1000000",
            2,
            "invalid value '1000000' for '--sizes <LIST>': 1000000 x 1000000 cells are more than the 2^34 that a benchmark's grid \
             may have; see halotile bench entropy --help"
                .into(),
        ),
        (
            "--kernels cpu,fastest",
            2,
            format!(
                "invalid value 'cpu,fastest' for '--kernels <all|LIST>': there is no kernel \"fastest\"; the names are all, \
                 {names}; see halotile bench entropy --help"
            ),
        ),
        (
            "--device emulator --kernels sliding,naive --sizes 9 --size 7 --export-json r.json",
            2,
            "kernel sliding cannot do this: it takes windows of 5 x 5, not 7 x 7".into(),
        ),
        (
            "--device cpu --kernels naive --sizes 9 --export-json r.json",
            2,
            "kernel naive runs on a device (cuda, emulator), not in the CPU engine; choose --device cuda or emulator".into(),
        ),
        (
            "--device emulator --sizes 2000",
            2,
            "2000 x 2000 cells are more than the 1048576 that the emulator takes here; choose smaller --sizes".into(),
        ),
        (
            "--device cpu --sizes 9 --export-json x --export-csv ./x",
            2,
            "./x: --export-csv and --export-json x are one file; name two".into(),
        ),
        (
            "--device cpu --sizes 9 --export-json - --export-html -",
            2,
            "standard output: --export-html and standard output are one file; name two".into(),
        ),
        (
            "--device cpu --sizes 9 --export-json new.json --export-csv there.csv",
            1,
            "there.csv: the file exists already; choose another name or give --overwrite".into(),
        ),
        (
            "--device cpu --sizes 9 --export-html no/r.html",
            1,
            "no/r.html: there is no directory no; make it, or choose another place".into(),
        ),
        (
            "--runs 0",
            2,
            "invalid value '0' for '--runs <N>': the number of runs is from 1 to 100000; see halotile bench entropy --help".into(),
        ),
        (
            "--min-time 1 --runs 3",
            2,
            "the argument '--min-time <S>' cannot be used with '--runs <N>'; see halotile bench entropy --help".into(),
        ),
    ] {
        let ran = place.run(&format!("bench entropy {args}"));
        assert_eq!((ran.err, ran.code), (format!("halotile: {message}\n"), code), "{args}");
        assert_eq!((ran.out.as_slice(), place.names()), (&b""[..], vec!["there.csv".to_owned()]), "{args}");
    }
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse::<u64>().ok());
    if available.is_some_and(|kib| kib < 150_000_000) {
        let ran = place.run("bench entropy --device cpu --sizes 131072");
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(
            ran.err.contains("131072 x 131072 cells and their results take 147456 MiB of memory, and "),
            "{}",
            ran.err
        );
    }
    if let Err(error) = halotile::exec::cuda::count() {
        let ran = place.run("bench entropy --device cuda --export-json r.json");
        assert_eq!((ran.code, ran.err), (3, format!("halotile: {error}\n")));
        let ran = place.run("bench entropy --sizes 9 --kernels cpu --runs 1");
        assert_eq!((ran.code, ran.err), (0, format!("halotile: device auto: cpu, because {error}\n")));
    }
}

#[test]
fn a_reader_of_the_table_that_leaves_ends_the_run() {
    let (place, start) = (Place::new(), Instant::now());
    let mut child =
        place.command("bench entropy --device cpu --sizes 9 --min-time 60").spawn().expect("the program starts");
    drop(child.stdout.take());
    let ran = ended(child);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
