//! What the formats say becomes a graph, from files and from streams; and every fault is one line.

mod text;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::apsp::{Distance, Matrix};

const NONE: i32 = i32::UNREACHABLE;

fn binary(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn npy(descr: &str, fortran: &str, shape: &str, body: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    [b"\x93NUMPY\x01\x00\x76\x00", format!("{text:<117}\n").as_bytes(), body].concat()
}

fn options(weight: Weight, undirected: bool) -> GraphOptions<'static> {
    GraphOptions { weight, undirected, ..GraphOptions::default() }
}

/// Reads the bytes as a stream and as a file, which have to come to the same.
fn read_as(format: GraphFormat, bytes: &[u8], options: &GraphOptions<'_>) -> Result<AnyGraph, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    std::fs::write(&path, bytes).unwrap();
    let streamed = read_graph_from(bytes, "f", format, options, &()).map_err(|e| e.to_string());
    let name = path.display().to_string();
    let read = read_graph(&path, format, options, &()).map_err(|e| e.to_string().replace(&name, "f"));
    assert_eq!(streamed, read);
    read
}

fn whole(format: GraphFormat, bytes: &[u8], undirected: bool) -> Graph<i32> {
    match read_as(format, bytes, &options(Weight::Auto, undirected)) {
        Ok(AnyGraph::Whole(graph)) => graph,
        other => panic!("{other:?}"),
    }
}

fn real(format: GraphFormat, bytes: &[u8], weight: Weight) -> Graph<f32> {
    match read_as(format, bytes, &options(weight, false)) {
        Ok(AnyGraph::Real(graph)) => graph,
        other => panic!("{other:?}"),
    }
}

fn rows<T: Distance>(matrix: &Matrix<T>) -> Vec<Vec<T>> {
    matrix.par_rows().map(<[T]>::to_vec).collect()
}

use rayon::prelude::*;

#[test]
fn binary_files_are_read() {
    let bytes = binary(&[3, 5, 0, 1, 7, 0, 1, 5, 1, 2, 0, 2, 2, 4, 2, 0, -3]);
    let graph = whole(GraphFormat::Binary, &bytes, false);
    assert_eq!(rows(&graph.weights), [[0, 5, NONE], [NONE, 0, 0], [-3, NONE, 0]]);
    assert_eq!((graph.edges, graph.negative, graph.heaviest, graph.negative_loop), (5, true, 5, None));
    let graph = whole(GraphFormat::Binary, &bytes, true);
    assert_eq!(rows(&graph.weights), [[0, 5, -3], [5, 0, 0], [-3, 0, 0]]);
    assert_eq!(graph.edges, 9);
    let graph = real(GraphFormat::Binary, &binary(&[2, 1, 0, 1, i32::MAX]), Weight::F32);
    assert_eq!(graph.weights.get(0, 1), 2_147_483_648.0);
    // No edges, and a loop that is a negative cycle.
    assert_eq!(rows(&whole(GraphFormat::Binary, &binary(&[1, 0]), false).weights), [[0]]);
    assert_eq!(whole(GraphFormat::Binary, &binary(&[2, 1, 1, 1, -1]), false).negative_loop, Some(1));
}

#[test]
fn binary_files_of_many_parts_are_read_and_their_first_fault_is_told() {
    let vertices = 300;
    let pairs = || (0..3 * vertices * vertices).map(|n| (n / 3 % vertices, n % 7 * 40 + n / 7 % 20, n % 1000));
    let mut numbers = vec![vertices, 3 * vertices * vertices];
    pairs().for_each(|(from, to, weight)| numbers.extend([from, to, weight]));
    let mut expected = Matrix::<i32>::unreachable(vertices as usize).unwrap();
    for (from, to, weight) in pairs().filter(|(from, to, _)| from != to) {
        let cell = &mut expected.row_mut(from as usize)[to as usize];
        *cell = weight.min(*cell);
    }
    let graph = whole(GraphFormat::Binary, &binary(&numbers), false);
    assert!(graph.weights == expected);
    for at in [260_000, 180_000, 70_001] {
        numbers[2 + 3 * at + 1] = -1;
        let from = numbers[2 + 3 * at];
        assert_eq!(
            read_as(GraphFormat::Binary, &binary(&numbers), &GraphOptions::default()).unwrap_err(),
            format!(
                "f: edge {at} (counted from 0): it leads from {from} to -1, and the vertices are 0 to 299; \
                 correct the edge, or the number of vertices"
            )
        );
    }
}

/// The numbers as elements of a type.
fn elements(descr: &str, values: &[f64]) -> Vec<u8> {
    let mut all = Vec::new();
    for &v in values {
        let mut bytes = match &descr[1..] {
            "u1" => vec![v as u8],
            "i1" => (v as i8).to_le_bytes().to_vec(),
            "u2" => (v as u16).to_le_bytes().to_vec(),
            "i2" => (v as i16).to_le_bytes().to_vec(),
            "u4" => (v as u32).to_le_bytes().to_vec(),
            "i4" => (v as i32).to_le_bytes().to_vec(),
            "u8" => (v as u64).to_le_bytes().to_vec(),
            "i8" => (v as i64).to_le_bytes().to_vec(),
            "f4" => (v as f32).to_le_bytes().to_vec(),
            "f8" => v.to_le_bytes().to_vec(),
            other => panic!("{other}"),
        };
        if descr.starts_with('>') {
            bytes.reverse();
        }
        all.extend(bytes);
    }
    all
}

#[test]
fn matrices_of_every_type_and_order_are_read() {
    for descr in
        ["|u1", "|i1", "<u2", ">u2", "<i2", "<u4", ">u4", "<i4", ">i4", "<u8", "<i8", ">i8", "<f4", "<f8", ">f8"]
    {
        let body = elements(descr, &[9.0, 1.0, 2.0, 3.0, 0.0, 5.0, 6.0, 7.0, 8.0]);
        let graph = whole(GraphFormat::Npy, &npy(descr, "False", "(3, 3)", &body), false);
        assert_eq!(rows(&graph.weights), [[0, 1, 2], [3, 0, 5], [6, 7, 0]], "{descr}");
        assert_eq!((graph.edges, graph.negative, graph.heaviest), (6, false, 7), "{descr}");
        let graph = whole(GraphFormat::Npy, &npy(descr, "True", "(3, 3)", &body), false);
        assert_eq!(rows(&graph.weights), [[0, 3, 6], [1, 0, 7], [2, 5, 0]], "{descr}");
        for fortran in ["False", "True"] {
            let graph = whole(GraphFormat::Npy, &npy(descr, fortran, "(3, 3)", &body), true);
            assert_eq!(rows(&graph.weights), [[0, 1, 2], [1, 0, 5], [2, 5, 0]], "{descr}");
            assert_eq!(graph.edges, 12);
        }
    }
}

#[test]
fn entries_that_are_no_edges_and_loops_that_count() {
    let none = f64::from(NONE);
    for descr in ["<i4", "<u4", "<i8", "<u8"] {
        let graph =
            whole(GraphFormat::Npy, &npy(descr, "False", "(2, 2)", &elements(descr, &[5.0, none, 0.0, 7.0])), false);
        assert_eq!((rows(&graph.weights), graph.edges), (vec![vec![0, NONE], vec![0, 0]], 1), "{descr}");
    }
    for descr in ["<f4", "<f8"] {
        let file = |values: &[f64]| npy(descr, "False", "(2, 2)", &elements(descr, values));
        let graph = whole(GraphFormat::Npy, &file(&[f64::NAN, f64::INFINITY, f64::NAN, 3.0]), false);
        assert_eq!((graph.edges, graph.negative_loop), (0, None));
        let graph = whole(GraphFormat::Npy, &file(&[0.0, f64::INFINITY, 3.0, -1.0]), false);
        assert_eq!((graph.edges, graph.negative_loop), (2, Some(1)));
        // The first fraction makes all of it floating-point numbers.
        let graph = real(GraphFormat::Npy, &file(&[0.0, f64::INFINITY, 2.5, 0.0]), Weight::Auto);
        assert_eq!(rows(&graph.weights), [[0.0, f32::INFINITY], [2.5, 0.0]]);
        let graph = real(GraphFormat::Npy, &file(&[0.0, 1e20, 2.0, 0.0]), Weight::F32);
        assert_eq!(rows(&graph.weights), [[0.0, 1e20], [2.0, 0.0]]);
    }
}

#[test]
fn matrices_of_many_parts_are_read() {
    let n = 700;
    let at = |i: usize, j: usize| (i * 31 + j * 17) as i32 % 1000 - 3;
    let body: Vec<u8> = (0..n * n).flat_map(|at_| at(at_ / n, at_ % n).to_le_bytes()).collect();
    let shape = format!("({n}, {n})");
    let same = |graph: &Graph<i32>, of: &dyn Fn(usize, usize) -> i32| {
        (0..n * n).all(|at| graph.weights.get(at / n, at % n) == if at / n == at % n { 0 } else { of(at / n, at % n) })
    };
    assert!(same(&whole(GraphFormat::Npy, &npy("<i4", "False", &shape, &body), false), &at));
    assert!(same(&whole(GraphFormat::Npy, &npy("<i4", "True", &shape, &body), false), &|i, j| at(j, i)));
    let both = |i, j| at(i, j).min(at(j, i));
    assert!(same(&whole(GraphFormat::Npy, &npy("<i4", "False", &shape, &body), true), &both));
    let graph = whole(GraphFormat::Npy, &npy("<i4", "True", &shape, &body), true);
    assert!(same(&graph, &both));
    let first = (0..n).find(|&i| at(i, i) < 0);
    assert_eq!((graph.negative, graph.negative_loop), (true, first));
}

#[test]
fn every_fault_says_where_and_what_to_do() {
    let f32 = "read the weights as f32 (--weight f32)";
    let damaged = "the file is damaged, or not in this format";
    let begins = "it begins with the numbers of vertices and edges, 32 bits each";
    let bin = |numbers: &[i32], expected: &str| (GraphFormat::Binary, binary(numbers), expected.to_owned());
    let matrix = |descr: &str, values: &[f64], expected: String| {
        (GraphFormat::Npy, npy(descr, "False", "(2, 2)", &elements(descr, values)), expected)
    };
    let table = vec![
        bin(&[], &format!("f: the file is empty; {begins}")),
        (GraphFormat::Binary, vec![1, 0, 0, 0, 0, 0, 0], format!("f: the file ends inside its header; {begins}")),
        bin(&[0, 0], &format!("f: the header promises 0 vertices; a graph has at least one; {damaged}")),
        bin(&[-4, 0], &format!("f: the header promises -4 vertices; a graph has at least one; {damaged}")),
        bin(&[4, -1], &format!("f: the header promises -1 edges; {damaged}")),
        bin(&[4, 2, 0, 1, 5], "f: the file ends after 1 of 2 edges; it is cut short; copy it again"),
        bin(
            &[i32::MAX, i32::MAX, 0, 1, 5, 0],
            "f: the file ends after 1 of 2147483647 edges; it is cut short; copy it again",
        ),
        bin(
            &[4, 1, 0, 1, 5, 0],
            "f: there are 4 more bytes after the 1 edges; the header is wrong, or the file is not in this format",
        ),
        bin(
            &[4, 2, 0, 1, 5, 4, 0, 1],
            "f: edge 1 (counted from 0): it leads from 4 to 0, and the vertices are 0 to 3; \
             correct the edge, or the number of vertices",
        ),
        bin(
            &[4, 1, 0, -1, 5],
            "f: edge 0 (counted from 0): it leads from 0 to -1, and the vertices are 0 to 3; \
             correct the edge, or the number of vertices",
        ),
        bin(
            &[4, 1, 0, 1, NONE],
            &format!("f: edge 0 (counted from 0): the weight 1073741823 is not from -1073741822 to 1073741822; {f32}"),
        ),
        bin(
            &[4, 1, 0, 1, i32::MIN],
            &format!("f: edge 0 (counted from 0): the weight -2147483648 is not from -1073741822 to 1073741822; {f32}"),
        ),
        (
            GraphFormat::Npy,
            npy("<i4", "False", "(2, 3)", &[0; 24]),
            "f: the array has 2 rows and 3 columns; a matrix of weights is square".to_owned(),
        ),
        (
            GraphFormat::Npy,
            npy("<i4", "False", "(0, 0)", &[]),
            "f: the array is empty; a graph has at least one vertex".to_owned(),
        ),
        (
            GraphFormat::Npy,
            npy("|b1", "False", "(1, 1)", &[0]),
            "f: the array is one of booleans; save weights, and 2^30 - 1 or infinity where there is no edge".to_owned(),
        ),
        (
            GraphFormat::Npy,
            npy("<i4", "False", "(2, 2)", &[0; 15]),
            "f: the file ends after 3 of 4 elements; the file is cut short; copy it again".to_owned(),
        ),
        (
            GraphFormat::Npy,
            npy("<f8", "False", "(4294967296, 4294967296)", &[0; 15]),
            "f: the file ends after 1 of 18446744073709551616 elements; the file is cut short; copy it again"
                .to_owned(),
        ),
        (
            GraphFormat::Npy,
            npy("<i4", "False", "(2, 2)", &[0; 17]),
            "f: there is more after the 2 x 2 elements of the array; save one array a file".to_owned(),
        ),
        (
            GraphFormat::Npy,
            b"GIF89a...".to_vec(),
            "f: this is not an NPY file; save the array with numpy.save".to_owned(),
        ),
        matrix(
            "<i4",
            &[0.0, 1.0, -1_073_741_823.0, 0.0],
            format!(
                "f: row 1, column 0 (counted from 0): the weight -1073741823 is not from -1073741822 to 1073741822; {f32}"
            ),
        ),
        matrix(
            "<f8",
            &[0.0, 1e10, 0.0, 0.0],
            format!(
                "f: row 0, column 1 (counted from 0): the weight 10000000000 is not from -1073741822 to 1073741822; {f32}"
            ),
        ),
        matrix(
            "<f4",
            &[0.0, f64::NEG_INFINITY, 0.0, 0.0],
            format!(
                "f: row 0, column 1 (counted from 0): the weight -inf is not from -1073741822 to 1073741822; {f32}"
            ),
        ),
    ];
    for (format, bytes, expected) in table {
        assert_eq!(read_as(format, &bytes, &options(Weight::I32, false)).unwrap_err(), expected);
    }
    let whole = options(Weight::I16, false);
    let fraction = npy("<f8", "True", "(2, 2)", &elements("<f8", &[0.0, 1.5, 0.0, 0.0]));
    assert_eq!(
        read_as(GraphFormat::Npy, &fraction, &whole).unwrap_err(),
        format!("f: row 1, column 0 (counted from 0): the weight 1.5 is not a whole number; {f32}")
    );
    let large = npy("<f8", "False", "(2, 2)", &elements("<f8", &[0.0, 1e39, 0.0, 0.0]));
    assert_eq!(
        read_as(GraphFormat::Npy, &large, &options(Weight::F32, false)).unwrap_err(),
        "f: row 0, column 1 (counted from 0): the weight 1e39 is none that an f32 holds; make the weights smaller"
    );
}

/// Without a wish for a type, what whole numbers do not hold is read as f32, wherever it stands; what that does not hold either is refused.
#[test]
fn large_weights_are_read_as_f32_where_nobody_asks_for_whole_ones() {
    for (large, half) in [((0, 1), (1, 0)), ((1, 0), (0, 1))] {
        let mut rows = [[0.0; 2]; 2];
        rows[large.0][large.1] = 1e10;
        for other in [0.5, 3.0] {
            rows[half.0][half.1] = other;
            let file = npy("<f8", "False", "(2, 2)", &elements("<f8", rows.as_flattened()));
            let graph = real(GraphFormat::Npy, &file, Weight::Auto);
            assert_eq!((graph.weights.get(large.0, large.1), graph.weights.get(half.0, half.1)), (1e10, other as f32));
        }
    }
    let file = npy("<i8", "False", "(2, 2)", &elements("<i8", &[0.0, 1.0, -1_073_741_823.0, 0.0]));
    // As negative as that no path back is short enough.
    assert_eq!(real(GraphFormat::Npy, &file, Weight::Auto).weights.get(1, 0), -1_073_741_824.0);
    let lines = b"p sp 2 2\na 1 2 1073741823\na 2 1 3\n";
    assert_eq!(real(GraphFormat::Dimacs, lines, Weight::Auto).weights.get(0, 1), 1_073_741_824.0);
    for (large, message) in [(1e39, "the weight 1e39 is not from"), (f64::NEG_INFINITY, "the weight -inf is not from")]
    {
        let file = npy("<f8", "False", "(2, 2)", &elements("<f8", &[0.0, large, 0.0, 0.0]));
        assert!(read_as(GraphFormat::Npy, &file, &options(Weight::Auto, false)).unwrap_err().contains(message));
    }
}

#[test]
fn the_caller_is_asked_before_memory_is_taken() {
    let asked = AtomicUsize::new(0);
    let admit = |vertices: usize| {
        asked.fetch_add(vertices, Relaxed);
        if vertices > 1000 {
            Err(format!("{vertices} vertices need more memory than --memory; give more"))
        } else {
            Ok(())
        }
    };
    let options = GraphOptions { admit: &admit, ..GraphOptions::default() };
    let read = |numbers: &[i32]| read_graph_from(&binary(numbers)[..], "f", GraphFormat::Binary, &options, &());
    let e = read(&[i32::MAX, 0]).unwrap_err();
    assert_eq!(e.to_string(), "f: 2147483647 vertices need more memory than --memory; give more");
    assert!(read(&[1000, 0]).is_ok());
    assert_eq!(asked.load(Relaxed), 2_147_483_647 + 1000);
    // Once, also where the work begins again.
    let fraction = npy("<f8", "False", "(2, 2)", &elements("<f8", &[0.0, 1.5, 0.0, 0.0]));
    read_graph_from(&fraction[..], "f", GraphFormat::Npy, &options, &()).unwrap();
    assert_eq!(asked.load(Relaxed), 2_147_483_647 + 1002);
    // No machine has so much memory.
    let e = read_graph_from(&binary(&[i32::MAX, 0])[..], "f", GraphFormat::Binary, &GraphOptions::default(), &());
    assert_eq!(
        e.unwrap_err().to_string(),
        "f: there is no memory for the 2147483647 x 2147483647 distances, 17592186044416 MiB; \
         take a smaller graph or a machine with more memory"
    );
}

/// Counts bytes, and stops the work when it has been asked so often.
struct Watch(AtomicU64, AtomicUsize);

impl Observer for Watch {
    fn advance(&self, bytes: u64) {
        self.0.fetch_add(bytes, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.1.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn the_observer_hears_of_bytes_and_can_stop_the_work() {
    let mut numbers = vec![5, 200_000];
    (0..200_000).for_each(|n| numbers.extend([n % 5, n % 4, n]));
    let bytes = binary(&numbers);
    let read = |watch: &Watch| read_graph_from(&bytes[..], "f", GraphFormat::Binary, &GraphOptions::default(), watch);
    let watch = Watch(AtomicU64::new(0), AtomicUsize::new(usize::MAX));
    read(&watch).unwrap();
    assert_eq!(watch.0.into_inner(), bytes.len() as u64);
    // While it comes, and when it is there.
    for asked in [0, 1, bytes.len() / (1 << 20) + 3] {
        let e = read(&Watch(AtomicU64::new(0), AtomicUsize::new(asked))).unwrap_err();
        assert!(e.is_cancelled() && e.to_string() == "f: stopped before the work was done", "{asked}: {e}");
    }
}
