//! An output that is an input, or two outputs that are one file: refused before anything is done, whatever the names.

use std::fs::{self, OpenOptions};

use crate::place::{Place, VECTOR, ended, npy};

/// What is in every file of a directory.
fn contents(place: &Place) -> Vec<(String, Vec<u8>)> {
    place
        .names()
        .into_iter()
        .filter(|name| !place.path(name).is_dir())
        .map(|name| (name.clone(), place.read(&name)))
        .collect()
}

/// Each is refused with this message, with `--overwrite` and without, and every file stays as it was.
#[track_caller]
fn refused(place: &Place, args: &str, message: &str) {
    let before = contents(place);
    for args in [args.to_owned(), format!("{args} --overwrite")] {
        let ran = place.run(&args);
        assert_eq!((ran.code, ran.err), (2, format!("halotile: {message}\n")), "{args}");
        assert!(contents(place) == before, "{args} changed a file");
    }
}

#[test]
fn no_output_is_an_input() {
    let place = Place::new();
    place.write("a.txt", VECTOR).write("m.txt", VECTOR).write("list.txt", "1\n2\n").write("w.txt", "1 1 1\n");
    place.write("p.json", VECTOR).write("a.npy", npy("|u1", "False", "(2, 2)", &[1, 2, 3, 4])).write("m.npy", "");
    for (args, message) in [
        ("a.txt a.txt", "a.txt: the output and the input are one file; choose another name for the output"),
        ("a.npy a.npy", "a.npy: the output and the input are one file; choose another name for the output"),
        ("a.txt ./a.txt", "./a.txt: the output and the input a.txt are one file; choose another name for the output"),
        (
            "a.txt h.txt --preview a.txt",
            "a.txt: the preview and the input are one file; choose another name for the preview",
        ),
        (
            "--if seed-text p.json h.txt --profile p.json",
            "p.json: the profile and the input are one file; choose another name for the profile",
        ),
        ("a.txt m.npy --mask m.npy", "m.npy: the output and the mask are one file; choose another name for the output"),
        (
            "a.txt h.txt --mask m.txt --preview m.txt",
            "m.txt: the preview and the mask are one file; choose another name for the preview",
        ),
        (
            "a.txt list.txt --classes list.txt",
            "list.txt: the output and the list of classes are one file; choose another name for the output",
        ),
        (
            "a.txt w.txt --shape w.txt",
            "w.txt: the output and the window's shape are one file; choose another name for the output",
        ),
        (
            "a.npy {measure}.npy --measure shannon --mask shannon.npy",
            "shannon.npy: the output and the mask are one file; choose another name for the output",
        ),
    ] {
        refused(&place, &format!("entropy {args}"), message);
    }
    place.write("g.csv", "0,1,5\n").write("g.bin", "");
    for (args, message) in [
        ("g.csv g.csv", "g.csv: the distances and the graph are one file; choose another name for the distances"),
        (
            "g.bin d.bin --paths g.bin",
            "g.bin: the predecessors and the graph are one file; choose another name for the predecessors",
        ),
        (
            "--if edge-list p.json d.bin --profile ./p.json",
            "./p.json: the profile and the graph p.json are one file; choose another name for the profile",
        ),
        ("g.csv d.json --of csv --profile d.json", "d.json: the profile and the distances are one file; name two"),
    ] {
        refused(&place, &format!("apsp {args}"), message);
    }
}

#[cfg(unix)]
#[test]
fn links_lead_to_one_file() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.write("a.txt", VECTOR).write("old.npy", "old");
    fs::create_dir(place.path("d")).unwrap();
    symlink("..", place.path("d/up")).unwrap();
    symlink("a.txt", place.path("soft.txt")).unwrap();
    fs::hard_link(place.path("a.txt"), place.path("hard.txt")).unwrap();
    for output in ["soft.txt", "hard.txt", "d/../a.txt", "d/up/a.txt", "d/up/hard.txt"] {
        let message = "the output and the input a.txt are one file; choose another name for the output";
        refused(&place, &format!("entropy a.txt {output}"), &format!("{output}: {message}"));
        let message = "the output and the input soft.txt are one file; choose another name for the output";
        if output != "soft.txt" {
            refused(&place, &format!("entropy soft.txt {output}"), &format!("{output}: {message}"));
        }
    }
    // Two outputs: files that are there, one that is not there yet, and one that a link will make.
    symlink("old.npy", place.path("h-richness.npy")).unwrap();
    fs::hard_link(place.path("old.npy"), place.path("h-shannon.npy")).unwrap();
    refused(
        &place,
        "entropy a.txt h-{measure}.npy --measure shannon,richness",
        "h-richness.npy: the output and the output h-shannon.npy are one file; name two",
    );
    refused(
        &place,
        "entropy a.txt h.txt --preview d/up/h.txt",
        "d/up/h.txt: the preview and the output h.txt are one file; name two",
    );
    let place = Place::new();
    place.write("a.txt", VECTOR);
    symlink("new.txt", place.path("dangling.txt")).unwrap();
    let ran = place.run("entropy a.txt new.txt --preview dangling.txt");
    let message = "halotile: dangling.txt: the preview and the output new.txt are one file; name two\n";
    assert_eq!((ran.code, ran.err.as_str()), (2, message));
    // An input may have two roles, and names that differ in case alone are two files here.
    place.write("b.npy", npy("|u1", "False", "(2, 2)", &[1, 2, 3, 4]));
    place.run("entropy b.npy h.png --of npy --mask b.npy --preview H.png -q").quietly();
    assert_eq!(place.names(), ["H.png", "a.txt", "b.npy", "dangling.txt", "h.png"]);
}

/// The dash is the file that the stream was redirected to.
#[cfg(unix)]
#[test]
fn streams_are_files_too() {
    let place = Place::new();
    place.write("a.txt", VECTOR);
    let open = |name: &str| OpenOptions::new().read(true).write(true).open(place.path(name)).unwrap();
    let run = |args: &str, input: &str, output: Option<&str>| {
        let mut command = place.command(args);
        command.stdin(open(input));
        output.map(|output| command.stdout(open(output)));
        ended(command.spawn().unwrap())
    };
    let ran = run("entropy - a.txt --overwrite", "a.txt", None);
    let message = "a.txt: the output and standard input are one file; choose another name for the output";
    assert_eq!((ran.code, ran.err), (2, format!("halotile: {message}\n")));
    let ran = run("entropy - -", "a.txt", Some("a.txt"));
    let message = "standard output: the output and standard input are one file; choose another name for the output";
    assert_eq!((ran.code, ran.err), (2, format!("halotile: {message}\n")));
    assert_eq!(place.text("a.txt"), VECTOR);
    place.write("p.png", "");
    let ran = run("entropy - - --preview p.png --overwrite", "a.txt", Some("p.png"));
    let message = "p.png: the preview and standard output are one file; name two";
    assert_eq!((ran.code, ran.err), (2, format!("halotile: {message}\n")));
}

/// Devices keep nothing, and may be given as often as one likes.
#[cfg(unix)]
#[test]
fn devices_have_any_number_of_roles() {
    let place = Place::new();
    place.write("a.txt", VECTOR);
    place.run("entropy a.txt /dev/null --of text --preview /dev/null -q").quietly();
    let ran = place.run(
        "bench entropy --device cpu --kernels cpu --sizes 9 --runs 1 -q --export-csv /dev/null --export-html /dev/null",
    );
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}
