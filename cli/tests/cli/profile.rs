//! `--profile`: the trace, the page, the sums on stderr, and what is refused.

use serde_json::Value;

use crate::place::Place;

/// The events of a trace that took time.
fn spans(place: &Place, name: &str) -> Vec<Value> {
    let trace: Value = serde_json::from_slice(&place.read(name)).unwrap();
    let events = trace["traceEvents"].as_array().unwrap().clone();
    events.into_iter().filter(|event| event["ph"] == "X").collect()
}

fn seconds(spans: &[Value], name: &str) -> f64 {
    spans.iter().filter(|span| span["name"] == name).map(|span| span["dur"].as_f64().unwrap() / 1e6).sum()
}

#[test]
fn a_trace_has_launches_copies_and_stages() {
    let place = Place::new();
    place.run("generate grid --rows 60 --cols 70 --pattern random --seed 1 in.npy").quietly();
    let run = place.run("entropy in.npy out.npy --device emulator:2 --profile p.json");
    let told = run.err;
    let spans = spans(&place, "p.json");
    let of = |category: &str| spans.iter().filter(|span| span["cat"] == category).collect::<Vec<_>>();
    let (kernels, copies) = (of("kernel"), of("copy"));
    assert!(!kernels.is_empty() && copies.len() >= 2 * kernels.len(), "{spans:?}");
    let launch = &kernels[0]["args"];
    assert!(launch["registers"].as_u64().unwrap() > 0 && launch["occupancy"].as_f64().unwrap() > 0.0, "{launch}");
    assert!(launch["grid"][0].as_u64().unwrap() > 0 && launch["block"][0].as_u64().unwrap() >= 32, "{launch}");
    // All results come back, each once.
    let down = copies.iter().filter(|copy| copy["name"] == "copy to host");
    assert_eq!(down.map(|copy| copy["args"]["bytes"].as_u64().unwrap()).sum::<u64>(), 60 * 70 * 4);
    // The device works while the main thread waits for it, and the stages of that are nearly all there is.
    assert!(seconds(&spans, kernels[0]["name"].as_str().unwrap()) <= 2.0 * seconds(&spans, "compute"), "{spans:?}");
    let whole = told.lines().last().unwrap();
    assert!(whole.starts_with("entropy: ") && whole.contains(" ms by the wall clock, "), "{told}");
    let share: f64 = whole.split("clock, ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(share > 50.0, "{told}");
    for part in ["\non devices ", "\ncopy to device ", "\nstages of threads ", "\ncompute ", "\nemulator:0: kernels "] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_page_has_the_three_pictures() {
    let place = Place::new();
    let args = "bench transpose --device emulator --sizes 65x33 --elements u8 --runs 2 --warmup 0 --profile p.html";
    let run = place.run(args);
    assert!(run.err.contains("\nprimer_transpose_wide_u8 "), "{}", run.err);
    let page = place.text("p.html");
    for part in ["id=\"device\"", "id=\"host\"", "id=\"calls\"", "id=\"time\"", "<th scope=\"row\">copy to host</th>"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn shortest_paths_tell_of_their_stages() {
    let place = Place::new();
    place.run("generate graph --vertices 70 --edges 900 --weights 1..60 g.csv").quietly();
    place.run("apsp g.csv d.npy --paths p.npy --device cpu --profile p.json -q").quietly();
    let spans = spans(&place, "p.json");
    for stage in ["read", "compute", "distances", "predecessors", "write"] {
        assert!(spans.iter().any(|span| span["name"] == stage && span["cat"] == "stage"), "{stage}: {spans:?}");
    }
    let parts = ["read", "compute", "write", "wait for device"].map(|stage| seconds(&spans, stage));
    assert!(seconds(&spans, "distances") < parts[1], "{spans:?}");
}

#[test]
fn what_cannot_be_a_profile_is_refused_before_anything_is_done() {
    let place = Place::new();
    place.write("in.txt", "1 2\n0 1\n");
    place.write("old.json", "old");
    for (file, code, message) in [
        ("p.txt", 2, "halotile: p.txt: a profile is a trace, .json, or a page, .html; end its name in one of them\n"),
        ("-", 2, "halotile: a profile goes to a file, not to standard output; name one after --profile\n"),
        ("old.json", 1, "halotile: old.json: the file exists already; choose another name or give --overwrite\n"),
    ] {
        let run = place.run(&format!("entropy in.txt out.txt --profile {file}"));
        assert_eq!((run.code, run.err.as_str()), (code, message), "{file}");
        assert_eq!(place.names(), ["in.txt", "old.json"]);
    }
    let run = place.run("bench copy --device emulator --export-json a.json --profile a.json");
    let message = "halotile: a.json: the profile and --export-json are one file; name two\n";
    assert_eq!((run.code, run.err.as_str()), (2, message));
    // A run that fails leaves no profile.
    let run = place.run("entropy missing.txt out.txt --profile p.json");
    assert_eq!((run.code, place.names()), (1, vec!["in.txt".to_owned(), "old.json".to_owned()]));
}
