//! `generate graph`: what it writes is what the library makes, in every format; and what it refuses.

use std::io::Read;

use halotile::apsp::files::graph::{AnyGraph, GraphFormat, GraphOptions, read_graph};
use halotile_lab::generate::graph::{GraphGenerator, GraphShape};

use crate::place::{Place, ended};

#[test]
fn generated_graphs_are_the_same_in_every_format() {
    let place = Place::new();
    let shapes = GraphShape::NAMED.map(|(name, shape)| (format!("--shape {name}"), shape));
    let random = [("--edges 900", GraphShape::Edges(900)), ("--density 0.4", GraphShape::Density(0.4))];
    let random = random.map(|(option, shape)| (option.to_owned(), shape));
    for (option, shape) in shapes.into_iter().chain(random) {
        let wanted = GraphGenerator::new(shape, 130, -4..=40, 42).expect("a graph").graph().expect("memory");
        for &format in GraphFormat::ALL {
            let args = format!(
                "generate graph --vertices 130 {option} --weights -4..40 --seed 42 --of {format} --overwrite g"
            );
            assert_eq!(place.run(&args).quietly(), "");
            let read = read_graph(&place.path("g"), format, &GraphOptions::default(), &()).expect("a graph");
            assert!(matches!(read, AnyGraph::Whole(graph) if graph == wanted), "{option} {format}");
        }
    }
    // The defaults, and standard output.
    let piped = place.run("generate graph --vertices 300 --edges 3 -").quietly();
    let wanted = GraphGenerator::new(GraphShape::Edges(3), 300, 1..=100, 0).expect("a graph");
    let mut text = "from,to,weight\n".to_owned();
    wanted.part(0, |from, to, weight| text.push_str(&format!("{from},{to},{weight}\n")));
    assert_eq!(piped, text);
    place.run("generate graph --vertices 300 --edges 3 g.CSV").quietly();
    assert_eq!(place.text("g.CSV"), text);
}

#[test]
fn what_is_refused_leaves_nothing() {
    let place = Place::new();
    place.write("old.gr", "old");
    let see = "see halotile generate graph --help";
    for (args, code, message) in [
        (
            "--vertices 3 g.gr",
            2,
            format!(
                "the following required arguments were not provided: \
                 <--edges <N>|--density <FRACTION>|--shape <SHAPE>>; {see}"
            ),
        ),
        (
            "--vertices 3 --edges 1 --shape star g.gr",
            2,
            format!("the argument '--edges <N>' cannot be used with '--shape <SHAPE>'; {see}"),
        ),
        (
            "--vertices 3 --shape star --weights 5 g.gr",
            2,
            format!(
                "invalid value '5' for '--weights <LO..HI>': weights are a range of whole numbers such as 1..100; {see}"
            ),
        ),
        (
            "--vertices 3 --density 2 g.gr",
            2,
            format!("invalid value '2' for '--density <FRACTION>': the fraction is from 0 to 1; {see}"),
        ),
        ("--vertices 3 --edges 7 g.gr", 2, "between 3 vertices there are at most 6 edges, not 7".to_owned()),
        (
            "--vertices 3 --shape ring --weights 9..2 g.gr",
            2,
            "weights are a range within -1073741822..1073741822, not 9..2".to_owned(),
        ),
        ("--vertices 3000000000 --shape ring g.gr", 2, "a graph has 1 to 2147483647 vertices, not 3000000000".to_owned()),
        (
            "--vertices 3 --shape ring g.xml",
            2,
            "g.xml: the ending does not say the format; end the name in one of .bin (binary), .gr (dimacs), \
             .csv (edge-list), .tsv (edge-list), .txt (edge-list), .edges (edge-list), .mtx (matrix-market), .npy (npy), \
             or name the format with --of"
                .to_owned(),
        ),
        (
            "--vertices 3 --shape ring old.gr",
            1,
            "old.gr: the file exists already; choose another name or give --overwrite".to_owned(),
        ),
        (
            "--vertices 50000 --shape complete g.bin",
            1,
            "g.bin: the binary format has room for 2147483647 edges, and the graph has 2499950000; write it as .npy"
                .to_owned(),
        ),
        (
            "--vertices 3 --shape ring /dev/full --of binary",
            1,
            "/dev/full: writing failed: No space left on device (os error 28); make room or choose another disk".to_owned(),
        ),
    ] {
        let ran = place.run(&format!("generate graph {args}"));
        assert_eq!((ran.code, ran.err), (code, format!("halotile: {message}\n")), "{args}");
        assert_eq!(place.names(), ["old.gr"], "{args}");
    }
}

#[test]
fn a_reader_that_leaves_ends_the_run_well() {
    let place = Place::new();
    for &format in GraphFormat::ALL {
        let args = format!("generate graph --vertices 4000 --shape complete --of {format} -");
        let mut child = place.command(&args).spawn().expect("the program starts");
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_exact(&mut [0; 100]).expect("a beginning");
        drop(stdout);
        let ran = ended(child);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{format}");
    }
}
