//! Shortest paths from outside: files in, files out, one path of them; and what is refused.

use halotile::exec::cuda;
use serde_json::Value;

use crate::place::{Place, npy};

const NONE: i32 = (1 << 30) - 1;

/// A graph in the binary format.
fn binary(vertices: i32, edges: &[(i32, i32, i32)]) -> Vec<u8> {
    let head = [vertices, edges.len() as i32];
    let numbers = head.into_iter().chain(edges.iter().flat_map(|&(from, to, weight)| [from, to, weight]));
    numbers.flat_map(i32::to_le_bytes).collect()
}

fn numbers(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().expect("four bytes"))).collect()
}

/// Four vertices: 0 -5-> 1 -(-2)-> 2, 0 -4-> 2, and 3 alone.
fn small(place: &Place) {
    place.write("g.bin", binary(4, &[(0, 1, 5), (0, 1, 9), (1, 2, -2), (0, 2, 4), (3, 3, 1)]));
}

const DISTANCES: [i32; 16] = [0, 5, 3, NONE, NONE, 0, -2, NONE, NONE, NONE, 0, NONE, NONE, NONE, NONE, 0];

#[track_caller]
fn refused(place: &Place, args: &str, code: i32, message: &str) {
    let before = place.names();
    let ran = place.run(args);
    assert_eq!(ran.err, format!("halotile: {message}\n"), "{args}");
    assert_eq!((ran.code, ran.out.as_slice()), (code, &b""[..]), "{args}");
    assert_eq!(place.names(), before, "{args}");
}

#[test]
fn a_graph_becomes_distances_and_paths() {
    let place = Place::new();
    small(&place);
    assert_eq!(place.run("apsp g.bin d.bin --paths p.npy -q").quietly(), "");
    assert_eq!(numbers(&place.read("d.bin")), DISTANCES);
    assert_eq!(numbers(&place.read("p.npy")[128..])[..4], [-9999, 0, 1, -9999]);
    assert_eq!(place.run("path p.npy 0 2").quietly(), "0 1 2\n");
    assert_eq!(place.run("path p.npy 0 2 --lines").quietly(), "0\n1\n2\n");
    assert_eq!(place.run("path p.npy 0 2 --json").quietly(), "{\"from\":0,\"to\":2,\"path\":[0,1,2]}\n");
    assert_eq!(place.run("path p.npy 3 3").quietly(), "3\n");
    // Every type, every place, every format that text can show.
    for (options, wanted) in [
        ("--weight i32", "0,5,3,inf\ninf,0,-2,inf\ninf,inf,0,inf\ninf,inf,inf,0\n"),
        ("--weight i16", "0,5,3,inf\ninf,0,-2,inf\ninf,inf,0,inf\ninf,inf,inf,0\n"),
        ("--weight f32", "0,5,3,inf\ninf,0,-2,inf\ninf,inf,0,inf\ninf,inf,inf,0\n"),
        ("--kernel threads --threads 3", "0,5,3,inf\ninf,0,-2,inf\ninf,inf,0,inf\ninf,inf,inf,0\n"),
    ] {
        assert_eq!(place.run(&format!("apsp g.bin - -q {options}")).quietly(), wanted, "{options}");
    }
    place.write("u.bin", binary(3, &[(0, 1, 5), (2, 1, 7)]));
    assert_eq!(place.run("apsp u.bin - -q --undirected").quietly(), "0,5,12\n5,0,7\n12,7,0\n");
    let piped = place.feed("apsp - - --if binary -q", &binary(2, &[(0, 1, 6)]));
    assert_eq!(piped.quietly(), "0,6\ninf,0\n");
    // Without -q: what is needed.
    let ran = place.run("apsp g.bin d.bin --paths p.npy --overwrite");
    assert_eq!((ran.code, ran.err.as_str()), (0, "halotile: 4 vertices need 1 MiB of memory\n"));
}

#[test]
fn fractions_become_floating_point_numbers() {
    let place = Place::new();
    let weights: Vec<u8> = [0.0f32, 0.5, f32::INFINITY, 0.0].iter().flat_map(|w| w.to_le_bytes()).collect();
    place.write("g.npy", npy("<f4", "False", "(2, 2)", &weights));
    assert_eq!(place.run("apsp g.npy - -q").quietly(), "0,0.5\ninf,0\n");
    let ran = place.run("apsp g.npy d.bin -q");
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            1,
            "halotile: d.bin: the binary format has 32-bit integers, and the distances are floating-point numbers; \
             write them as .npy\n"
        )
    );
    assert_eq!(place.names(), ["g.npy"]);
}

#[test]
fn what_json_tells() {
    let place = Place::new();
    small(&place);
    let told = place.run("apsp g.bin d.bin --paths p.bin --json -q --threads 2 --memory 1MiB").quietly();
    let told: Value = serde_json::from_str(&told).expect("JSON");
    for (key, wanted) in [
        ("vertices", Value::from(4)),
        ("edges", Value::from(5)),
        ("input_format", Value::from("binary")),
        ("output_format", Value::from("binary")),
        ("paths", Value::from("p.bin")),
        ("paths_format", Value::from("binary")),
        ("undirected", Value::from(false)),
        ("negative", Value::from(true)),
        ("weight", Value::from("i32")),
        ("computed", Value::from("i32")),
        ("device", Value::from("cpu")),
        ("kernel", Value::Null),
        ("threads", Value::from(2)),
        ("device_seconds", Value::Null),
    ] {
        assert_eq!(told[key], wanted, "{key}");
    }
    assert_eq!((&told["memory"]["needed"], &told["memory"]["allowed"]), (&49_152.into(), &(1 << 20).into()));
    for stage in ["read", "device", "potential", "width", "compute", "paths", "write", "total"] {
        assert!(told["seconds"][stage].as_f64().is_some_and(|seconds| seconds >= 0.0), "{stage}");
    }
    assert!(told["relaxations_per_second"].as_f64().is_some_and(|rate| rate > 0.0));
}

#[test]
fn what_is_refused_leaves_no_file() {
    let place = Place::new();
    small(&place);
    place.write("c.bin", binary(5, &[(0, 1, 1), (1, 2, -3), (2, 3, 1), (3, 1, 1)]));
    place.write("l.bin", binary(3, &[(0, 1, 1), (2, 2, -1)]));
    place.write("h.bin", binary(3, &[(0, 1, NONE - 1), (1, 2, NONE - 1)]));
    place.write("v.bin", binary(2, &[(0, 2, 1)]));
    place.write("old.bin", "something");
    let around = "there is no shortest path through it";
    for (args, code, message) in [
        (
            "apsp c.bin d.bin -q --paths p.npy",
            1,
            format!("c.bin: vertex 1 is on a cycle of negative length (1 -> 2 -> 3 -> 1): {around}"),
        ),
        ("apsp l.bin d.bin -q", 1, format!("l.bin: vertex 2 is on a cycle of negative length (2 -> 2): {around}")),
        (
            "apsp h.bin d.bin -q",
            1,
            "h.bin: distances may exceed 1073741822, the most in 32 bits: the longest that fits is 1073741822, the heaviest \
             edge 1073741822, and some vertices look unreachable; choose --weight f32"
                .to_owned(),
        ),
        (
            "apsp h.bin d.bin -q --weight i16",
            1,
            "h.bin: distances may exceed 32766, the most in 16 bits: the longest that fits is 0, the heaviest \
             edge 1073741822, and some vertices look unreachable; choose --weight i32 or auto"
                .to_owned(),
        ),
        (
            "apsp g.bin d.bin -q --paths p.npy --memory 48k --json",
            1,
            String::new(),
        ),
        ("apsp g.bin old.bin -q", 1, "old.bin: the file exists already; choose another name or give --overwrite".to_owned()),
        (
            "apsp g.bin d.bin --json --paths d.bin",
            2,
            "d.bin: the predecessors and the distances are one file; name two".to_owned(),
        ),
        (
            "apsp g.bin d.bin --paths p.csv",
            2,
            "p.csv: the name does not say the format of paths; end it in .npy or .bin".to_owned(),
        ),
        (
            "apsp g.bin d.bin --paths -",
            2,
            "predecessors go to a file, not to standard output; name one after --paths".to_owned(),
        ),
        (
            "apsp g.bin - --json",
            2,
            "--json and the output - would both go to standard output; name a file for the output".to_owned(),
        ),
        (
            "apsp g.bin d.bin --weight f32",
            2,
            "the binary format has whole numbers, and --weight f32 has none; choose another format".to_owned(),
        ),
        ("apsp - d.bin", 2, "standard input does not say its format; name it with --if".to_owned()),
        (
            "apsp g.bin d.bin --device cpu --kernel tiled",
            2,
            "kernel tiled runs on a device, not on the CPU; leave out --kernel or choose --device cuda or emulator".to_owned(),
        ),
        (
            "apsp g.bin d.bin --device emulator --kernel threads",
            2,
            "kernel threads runs on the CPU; leave out --device or choose --device cpu".to_owned(),
        ),
    ] {
        if message.is_empty() {
            assert_eq!(place.run(args).code, 0, "{args}");
            std::fs::remove_file(place.path("d.bin")).expect("it is there");
            std::fs::remove_file(place.path("p.npy")).expect("it is there");
            continue;
        }
        refused(&place, args, code, &message);
    }
    refused(
        &place,
        "apsp g.bin d.bin -q --paths p.npy --memory 40k",
        1,
        "g.bin: 4 vertices need 1 MiB of memory, and --memory allows 0 MiB; allow more or \
         leave out --paths, which takes two thirds of it",
    );
    // The readers' messages are theirs; what counts is that nothing is left.
    for args in ["apsp v.bin d.bin -q --paths p.npy", "apsp lost.bin d.bin -q", "apsp g.bin d.xyz"] {
        let before = place.names();
        assert!([1, 2].contains(&place.run(args).code), "{args}");
        assert_eq!(place.names(), before, "{args}");
    }
}

#[test]
fn the_longest_distances_and_those_beyond() {
    let place = Place::new();
    // All that a type holds, where other vertices are out of reach.
    place.write("long.csv", b"0,1,1073741822\n");
    assert_eq!(place.run("apsp long.csv - -q").quietly(), "0,1073741822\ninf,0\n");
    place.write("beyond.csv", b"0,1,1073741822\n1,2,1\n");
    assert_eq!(place.run("apsp beyond.csv - -q").code, 1);
    place.write("infinite.csv", b"0,1,3e38\n1,2,3e38\n");
    assert_eq!(place.run("apsp infinite.csv - -q --weight f32").code, 1);
    // Beside a negative weight that is far larger nothing is lost.
    place.write("large.csv", b"0,2,0.5\n1,2,-1e8\n");
    assert_eq!(place.run("apsp large.csv - -q").quietly(), "0,inf,0.5\ninf,0,-100000000\ninf,inf,0\n");
    // A damaged line is no header.
    place.write("damaged.csv", b"O,1,5\n1,2,3\n");
    let said = "damaged.csv: line 1: \"O\" is not a vertex; vertices are numbered from 0 to 2147483646";
    refused(&place, "apsp damaged.csv - -q", 1, said);
    place.write("named.csv", b"from,to,weight\n0,1,5\n");
    assert_eq!(place.run("apsp named.csv - -q").quietly(), "0,5\ninf,0\n");
}

#[test]
fn paths_that_are_not_there() {
    let place = Place::new();
    small(&place);
    place.run("apsp g.bin d.bin --paths p.bin -q").quietly();
    refused(&place, "path p.bin 0 3", 1, "p.bin: there is no path from 0 to 3");
    refused(&place, "path p.bin 0 4", 2, "p.bin: there is no vertex 4; there are 4, counted from 0");
    // Distances are no predecessors, and neither are circles.
    place.write("c.bin", [-9999, 2, 1, 5, -9999, 7, 1, 2, -9999].map(i32::to_le_bytes).as_flattened());
    refused(
        &place,
        "path c.bin 0 1",
        1,
        "c.bin: the predecessors from vertex 0 do not lead from 1 back to it: they go round in a circle; \
         give the file that apsp --paths wrote",
    );
    refused(
        &place,
        "path c.bin 1 2",
        1,
        "c.bin: the predecessors from vertex 1 do not lead from 2 back to it: they have 7 before 2; \
         give the file that apsp --paths wrote",
    );
    let said = "d.bin: these are no predecessors; give the file that apsp --paths wrote";
    refused(&place, "path d.bin 0 1", 1, said);
    // A header that claims more cells than any number holds.
    let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (9223372036854775808, 9223372036854775808), }\n";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    place.write("claims.npy", &npy);
    assert_eq!(place.run("path claims.npy 0 1").code, 1);
    assert_eq!(place.run("path p.bin 0 x").code, 2);
    assert_eq!(place.run("path p.bin 0 1 --lines --json").code, 2);
}

#[test]
fn a_gpu_that_is_not_there_is_never_replaced() {
    let place = Place::new();
    small(&place);
    let Err(error) = cuda::count() else {
        println!("skipped: this machine has GPUs");
        return;
    };
    refused(&place, "apsp g.bin d.bin --device cuda", 3, &error.to_string());
    let message = format!("kernel tiled runs on a device, and {error}; choose --device emulator or no kernel");
    refused(&place, "apsp g.bin d.bin -q --kernel tiled", 3, &message);
}
