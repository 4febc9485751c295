//! Text: DIMACS, lists of edges and Matrix Market, in parts of any length; every fault names its line.

use super::*;

#[test]
fn dimacs_files_are_read() {
    let text = "c roads\n\np sp 3 4\na 1 2 7\r\na 1 2 5\nc in between\n a 2\t3  0 \na 3 1 -3";
    let graph = whole(GraphFormat::Dimacs, text.as_bytes(), false);
    assert_eq!(rows(&graph.weights), [[0, 5, NONE], [NONE, 0, 0], [-3, NONE, 0]]);
    assert_eq!((graph.edges, graph.negative), (4, true));
    let graph = whole(GraphFormat::Dimacs, text.as_bytes(), true);
    assert_eq!(rows(&graph.weights), [[0, 5, -3], [5, 0, 0], [-3, 0, 0]]);
    let graph = real(GraphFormat::Dimacs, b"\xef\xbb\xbfp sp 2 2\na 1 2 3\na 2 1 2.5\n", Weight::Auto);
    assert_eq!(rows(&graph.weights), [[0.0, 3.0], [2.5, 0.0]]);
}

#[test]
fn edge_lists_are_read_whatever_parts_their_columns() {
    for text in [
        "0,1,5\n1,2,7\n",
        "from,to,weight\n0,1,5\n1,2,7",
        "0\t1\t5\n1\t2\t7\n",
        "# roads\n% more\n\nsource\ttarget\tlength\n0 1 5\n# between\n\n  1 2 7\n",
        "\"a\", \"b\", \"c\"\r\n0, 1, 5.0\r\n1 ,2 ,7e0,\r\n",
        "\u{feff}0 1 +5\n1 2 7\n",
    ] {
        let graph = whole(GraphFormat::EdgeList, text.as_bytes(), false);
        assert_eq!(rows(&graph.weights), [[0, 5, NONE], [NONE, 0, 7], [NONE, NONE, 0]], "{text}");
    }
    let graph = whole(GraphFormat::EdgeList, b"0 1\n2 0\n", true);
    assert_eq!(rows(&graph.weights), [[0, 1, 1], [1, 0, NONE], [1, NONE, 0]]);
    let graph = real(GraphFormat::EdgeList, b"0 1 .5\n", Weight::Auto);
    assert_eq!(graph.weights.get(0, 1), 0.5);
    let graph = real(GraphFormat::EdgeList, b"0 1 5000000000\n", Weight::F32);
    assert_eq!(graph.weights.get(0, 1), 5e9);
}

#[test]
fn matrix_market_files_are_read() {
    let text = "%%MatrixMarket matrix coordinate integer general\n% a comment\n\n3 3 4\n1 2 7\n2 3 0\n3 1 -3\n2 2 9\n";
    let graph = whole(GraphFormat::MatrixMarket, text.as_bytes(), false);
    assert_eq!(rows(&graph.weights), [[0, 7, NONE], [NONE, 0, 0], [-3, NONE, 0]]);
    assert_eq!((graph.edges, graph.negative_loop), (4, None));
    let symmetric = text.replace("general", "Symmetric");
    for undirected in [false, true] {
        let graph = whole(GraphFormat::MatrixMarket, symmetric.as_bytes(), undirected);
        assert_eq!(rows(&graph.weights), [[0, 7, -3], [7, 0, 0], [-3, 0, 0]]);
        assert_eq!(graph.edges, 7);
    }
    let pattern = "%%matrixmarket MATRIX coordinate pattern general\n2 2 1\n2 1\n";
    assert_eq!(rows(&whole(GraphFormat::MatrixMarket, pattern.as_bytes(), false).weights), [[0, NONE], [1, 0]]);
    let fraction = "%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 2.5\n";
    assert_eq!(real(GraphFormat::MatrixMarket, fraction.as_bytes(), Weight::Auto).weights.get(1, 0), 2.5);
}

/// Lines whose lengths have no measure in common with the parts, and some that are longer than what is scanned at once.
#[test]
fn text_of_many_parts_is_read_and_its_lines_are_counted() {
    let vertices = 500;
    let mut text = String::from("c many\np sp 500 400000\n");
    let mut expected = Matrix::<i32>::unreachable(vertices).unwrap();
    let mut lines = 2;
    for n in 0..400_000usize {
        let (from, to, weight) = (n / 800, n * 7 % vertices, (n % 1_000) as i32);
        writeln!(text, "a {} {} {weight}", from + 1, to + 1).unwrap();
        lines += 1;
        if n % 50_000 == 0 {
            writeln!(text, "c {}", "x".repeat(n + 1)).unwrap();
            lines += 1;
        }
        if from != to {
            let cell = &mut expected.row_mut(from)[to];
            *cell = weight.min(*cell);
        }
    }
    let graph = whole(GraphFormat::Dimacs, text.as_bytes(), false);
    assert!(graph.weights == expected);
    assert_eq!(graph.edges, 400_000);
    let wrong = format!("{text}a 1 501 3\n");
    assert_eq!(
        read_as(GraphFormat::Dimacs, wrong.as_bytes(), &GraphOptions::default()).unwrap_err(),
        format!("f: line {}: \"501\" is not a vertex; vertices are numbered from 1 to 500", lines + 1)
    );
    // A fault in the middle is reported before the one at the end.
    let at = text.match_indices('\n').nth(200_000).unwrap().0;
    let wrong = format!("{}\na 0 1 3{}a 1 501 3\n", &text[..at], &text[at..]);
    assert_eq!(
        read_as(GraphFormat::Dimacs, wrong.as_bytes(), &GraphOptions::default()).unwrap_err(),
        "f: line 200002: \"0\" is not a vertex; vertices are numbered from 1 to 500"
    );
    // A fraction far behind makes all of it floating-point numbers, and the observer is not notified of more than there is.
    let fraction = text.replace("sp 500 400000", "sp 500 400001") + "a 1 2 0.5\n";
    let watch = Watch(AtomicU64::new(0), AtomicUsize::new(usize::MAX));
    let read = read_graph_from(fraction.as_bytes(), "f", GraphFormat::Dimacs, &GraphOptions::default(), &watch);
    assert!(matches!(read, Ok(AnyGraph::Real(graph)) if graph.weights.get(0, 1) == 0.5));
    assert_eq!(watch.0.into_inner(), fraction.len() as u64);
    // Line ends where parts meet.
    for filling in (1 << 20) - 3..(1 << 20) + 3 {
        let text = format!("#{}\n0 1 5\n1 2 7\n", "x".repeat(filling - 2));
        let graph = whole(GraphFormat::EdgeList, text.as_bytes(), false);
        assert_eq!((graph.edges, graph.weights.get(0, 1), graph.weights.get(1, 2)), (2, 5, 7), "{filling}");
    }
}

#[test]
fn every_fault_in_text_names_its_line() {
    let f32 = "read the weights as f32 (--weight f32)";
    let write = "write it as p sp VERTICES ARCS";
    let banner = "write %%MatrixMarket matrix coordinate real general";
    let general = "%%MatrixMarket matrix coordinate real general\n";
    let mut table = vec![
        (GraphFormat::Dimacs, String::new(), format!("f: there is no line p; {write}")),
        (
            GraphFormat::Dimacs,
            "c x\na 1 2 3\n".into(),
            format!("f: line 2: the line begins with \"a\" before there is a line p; {write}"),
        ),
        (
            GraphFormat::Dimacs,
            "p max 3 2\n".into(),
            format!("f: line 1: the line p is none of a shortest-path problem; {write}"),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 0 0\n".into(),
            "f: line 1: the line promises \"0\" vertices and \"0\" arcs; there can be 1 to 2147483647 vertices".into(),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 5 -2\n".into(),
            "f: line 1: the line promises \"5\" vertices and \"-2\" arcs; there can be 1 to 2147483647 vertices".into(),
        ),
        (
            GraphFormat::Dimacs,
            "c\np sp 3 3\na 1 2 3\n".into(),
            "f: line 2: the line promises 3 arcs, and there are 1; the file is cut short, or the line is wrong".into(),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 3 0\na 1 2 3\n".into(),
            "f: line 1: the line promises 0 arcs, and there are 1; the file is cut short, or the line is wrong".into(),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 3 1\np sp 3 1\n".into(),
            "f: line 2: this is a second line p; give a file with one graph".into(),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 3 1\na 1 4 1\n".into(),
            "f: line 2: \"4\" is not a vertex; vertices are numbered from 1 to 3".into(),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 3 1\na 1 2\n".into(),
            "f: line 2: an arc has three numbers; write it as a FROM TO WEIGHT".into(),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 3 1\na 1 2 3 4\n".into(),
            "f: line 2: an arc has three numbers; write it as a FROM TO WEIGHT".into(),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 3 1\ne 1 2 3\n".into(),
            "f: line 2: the line begins with \"e\"; lines begin with c, p or a".into(),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 3 1\na 1 2 x\n".into(),
            "f: line 2: \"x\" is not a number; correct the file".into(),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 3 1\na 1 2 inf\n".into(),
            "f: line 2: the weight inf is none that an edge can have; leave out edges that are not there".into(),
        ),
        (
            GraphFormat::Dimacs,
            "p sp 3 1\na 1 2 1073741823\n".into(),
            format!("f: line 2: the weight 1073741823 is not from -1073741822 to 1073741822; {f32}"),
        ),
        (GraphFormat::EdgeList, String::new(), "f: there are no edges; give lines of from, to and weight".into()),
        (
            GraphFormat::EdgeList,
            "# x\nfrom to\n".into(),
            "f: there are no edges; give lines of from, to and weight".into(),
        ),
        (
            GraphFormat::EdgeList,
            "from to\n1\n".into(),
            "f: line 2: the line has 1 column; an edge has from, to and, if there are weights, a weight".into(),
        ),
        (
            GraphFormat::EdgeList,
            "1,2,3,4\n".into(),
            "f: line 1: the line has 4 columns; an edge has from, to and, if there are weights, a weight".into(),
        ),
        (
            GraphFormat::EdgeList,
            format!("1{}\n", ",2".repeat(200)),
            "f: line 1: the line has 100 columns or more; an edge has from, to and, if there are weights, a weight"
                .into(),
        ),
        (
            GraphFormat::EdgeList,
            "1,2,3\n\n2,1\n".into(),
            "f: line 3: the line has 2 columns, and the first edge has 3; correct the line".into(),
        ),
        (
            GraphFormat::EdgeList,
            "1,2\n2,1,1\n".into(),
            "f: line 2: the line has 3 columns, and the first edge has 2; correct the line".into(),
        ),
        (
            GraphFormat::EdgeList,
            "0,1\n1,-1\n".into(),
            "f: line 2: \"-1\" is not a vertex; vertices are numbered from 0 to 2147483646".into(),
        ),
        (
            GraphFormat::EdgeList,
            "0,1\n1,,2\n".into(),
            "f: line 2: the line has 3 columns, and the first edge has 2; correct the line".into(),
        ),
        (
            GraphFormat::EdgeList,
            "0,1,2\n1,,2\n".into(),
            "f: line 2: \"\" is not a vertex; vertices are numbered from 0 to 2147483646".into(),
        ),
        (
            GraphFormat::EdgeList,
            "0,2147483647\n".into(),
            "f: line 1: \"2147483647\" is not a vertex; vertices are numbered from 0 to 2147483646".into(),
        ),
        (
            GraphFormat::EdgeList,
            "0 1 2\n1 0 1.5x\n".into(),
            "f: line 2: \"1.5x\" is not a number; correct the file".into(),
        ),
        (
            GraphFormat::MatrixMarket,
            String::new(),
            format!("f: line 1: the file does not begin with a line %%MatrixMarket and four words; {banner}"),
        ),
        (
            GraphFormat::MatrixMarket,
            "2 2 1\n1 2 3\n".into(),
            format!("f: line 1: the file does not begin with a line %%MatrixMarket and four words; {banner}"),
        ),
        (
            GraphFormat::MatrixMarket,
            general.into(),
            "f: there is no line with the size; write rows, columns and entries".into(),
        ),
        (
            GraphFormat::MatrixMarket,
            format!("{general}%\n2 x 1\n"),
            "f: line 3: \"2 x 1\" is not the size of a matrix; write rows, columns and entries".into(),
        ),
        (
            GraphFormat::MatrixMarket,
            format!("{general}2 3 1\n"),
            "f: line 2: the matrix has 2 rows and 3 columns; a matrix of weights is square".into(),
        ),
        (
            GraphFormat::MatrixMarket,
            format!("{general}0 0 0\n"),
            "f: line 2: the line promises 0 vertices; there can be 1 to 2147483647".into(),
        ),
        (
            GraphFormat::MatrixMarket,
            format!("{general}2 2 2\n1 2 5\n"),
            "f: line 2: the line promises 2 entries, and there are 1; the file is cut short, or the line is wrong"
                .into(),
        ),
        (
            GraphFormat::MatrixMarket,
            format!("{general}2 2 1\n1 2\n"),
            "f: line 3: an entry has three numbers; write row, column and, unless it is a pattern, weight".into(),
        ),
        (
            GraphFormat::MatrixMarket,
            format!("{}2 2 1\n1 2 3\n", general.replace("real", "pattern")),
            "f: line 3: an entry of a pattern has two numbers; write row, column and, unless it is a pattern, weight"
                .into(),
        ),
        (
            GraphFormat::MatrixMarket,
            format!("{general}2 2 1\n0 2 3\n"),
            "f: line 3: \"0\" is not a vertex; vertices are numbered from 1 to 2".into(),
        ),
    ];
    for (word, with, advice) in [
        ("matrix ", "vector", "save a matrix"),
        ("coordinate", "array", "save the matrix in coordinate format, or as .npy"),
        ("real", "complex", "weights are real, integer or pattern"),
        ("general", "skew-symmetric", "save all entries, as general"),
        ("general", "hermitian", "save all entries, as general"),
    ] {
        let text = general.replace(word, &format!("{with} ")) + "1 1 0\n";
        table.push((GraphFormat::MatrixMarket, text, format!("f: line 1: \"{with}\" is not read; {advice}")));
    }
    for (format, text, expected) in table {
        assert_eq!(read_as(format, text.as_bytes(), &options(Weight::I32, false)).unwrap_err(), expected, "{text}");
    }
    let fraction = read_as(GraphFormat::EdgeList, b"0 1 3.0\n\n1 0 2.5\n", &options(Weight::I32, false));
    assert_eq!(fraction.unwrap_err(), format!("f: line 3: the weight 2.5 is not a whole number; {f32}"));
    assert!(matches!(
        read_as(GraphFormat::EdgeList, b"0 1 3.0\n", &options(Weight::I32, false)),
        Ok(AnyGraph::Whole(graph)) if graph.weights.get(0, 1) == 3
    ));
    for format in [GraphFormat::Dimacs, GraphFormat::EdgeList, GraphFormat::MatrixMarket] {
        assert_eq!(
            read_as(format, b"\xff\xfe1\0", &GraphOptions::default()).unwrap_err(),
            "f: line 1: the text is UTF-16; save it as plain ASCII or UTF-8"
        );
        // A binary file without line ends.
        let e = read_as(format, &[b'7'; 3 << 20], &GraphOptions::default()).unwrap_err();
        assert_eq!(e, "f: line 1: the line is longer than 1048576 bytes; the file is damaged, or not in this format");
    }
}
