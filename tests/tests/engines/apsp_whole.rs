//! From a graph to its solution: types, negative weights and predecessors, over the table of graphs.

use halotile::apsp::{Apsp, Distance, Distances, Error, Graph, Matrix, MatrixError, Solution, Weight};
use halotile::apsp::{memory_needed, reference};
use halotile::engine::Engine;
use halotile_lab::apsp::Kernel;
use halotile_tests::apsp::{Case, SIZES, check_paths, random, shapes};

/// The graph of a matrix.
fn graph<T: halotile::apsp::EdgeWeight>(weights: &Matrix<T>) -> Graph<T> {
    Graph::build(weights.vertices(), |sink| {
        for i in 0..weights.vertices() {
            let edges = weights.row(i).iter().enumerate().filter(|(_, w)| **w != T::UNREACHABLE);
            sink.add_all(edges.map(|(j, &w)| (i as u64, j as u64, w))).expect("edges");
        }
        Ok::<(), MatrixError>(())
    })
    .expect("a graph")
}

fn cases(vertices: usize) -> impl Iterator<Item = Case> {
    random(vertices).into_iter().chain(shapes(vertices))
}

fn solved(weight: Weight, graph: impl Into<halotile::apsp::files::graph::AnyGraph>) -> Result<Solution, Error> {
    Apsp::new().weight(weight).predecessors(true).run(&Engine::Cpu, graph, &())
}

#[test]
fn every_walk_ends_and_is_as_long_as_the_distance() {
    for case in SIZES.into_iter().flat_map(cases) {
        let weights = case.weights(|weight| weight);
        let Solution { distances: Distances::I32(distances), predecessors, .. } =
            solved(Weight::I32, graph(&weights)).unwrap()
        else {
            panic!("whole numbers");
        };
        case.compare(&distances, 0.0).unwrap_or_else(|wrong| panic!("{wrong}"));
        check_paths(&weights, &distances, &predecessors.unwrap(), 0.0)
            .unwrap_or_else(|wrong| panic!("{}: {wrong}", case.name));
    }
}

#[test]
fn floating_point_walks_too() {
    for case in [1, 2, 33, 64, 129, 257].into_iter().flat_map(cases) {
        let weights = case.weights(|weight| weight as f32 * 0.1);
        let solution = solved(Weight::Auto, graph(&weights)).unwrap();
        let Distances::F32(distances) = solution.distances else { panic!("fractions") };
        let whole = distances.vertices();
        let wanted = reference::distances(whole, |i, j| weights.get(i, j).to_f64());
        assert_eq!(reference::first_difference(&distances, &wanted, 1e-5), None, "{}", case.name);
        check_paths(&weights, &distances, &solution.predecessors.unwrap(), 1e-5)
            .unwrap_or_else(|wrong| panic!("{}: {wrong}", case.name));
        // Whole weights as floating-point numbers, because it is asked for.
        let weights = case.weights(|weight| weight);
        let Distances::F32(distances) = solved(Weight::F32, graph(&weights)).unwrap().distances else { panic!("f32") };
        case.compare(&distances, 1e-6).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

#[test]
fn sixteen_bits_are_exact_or_refused() {
    let mut refused = 0;
    for case in [2, 65, 129, 256].into_iter().flat_map(cases) {
        let weights = case.weights(|weight| weight);
        match solved(Weight::I16, graph(&weights)) {
            Ok(Solution { distances: Distances::I16(distances), predecessors, report }) => {
                assert_eq!(report.weight, Weight::I16);
                case.compare(&distances, 0.0).unwrap_or_else(|wrong| panic!("{wrong}"));
                let narrow = case.weights(|weight| weight.min(32_767) as u16);
                check_paths(&narrow, &distances, &predecessors.unwrap(), 0.0).unwrap();
            }
            Err(Error::OverflowRisk(_)) => {
                assert!(case.name.contains("heavy"), "{} fits", case.name);
                refused += 1;
            }
            other => panic!("{}: {other:?}", case.name),
        }
    }
    assert!(refused > 0);
}

#[test]
fn auto_takes_16_bits_where_they_do_and_32_where_not() {
    // The last one looks well from where the guess is made: its far end is reached from one vertex only.
    let n = 1100;
    let near = |i: usize, j: usize| 1 + ((i * 7 + j * 13) % 100) as i32;
    type Edge = Box<dyn Fn(usize, usize) -> i32>;
    let table: [(&str, Edge, Weight); 3] = [
        ("near", Box::new(near), Weight::I16),
        ("far", Box::new(move |i, j| if j == (i + 1) % n { 40 } else { i32::UNREACHABLE }), Weight::I32),
        ("far from one", Box::new(move |i, j| if i == 77 { 40_000 + near(i, j) } else { near(i, j) }), Weight::I32),
    ];
    for (name, weight, wanted) in table {
        let weights = Matrix::from_fn(n, |i, j| if i == j { 0 } else { weight(i, j) }).unwrap();
        let auto = solved(Weight::Auto, graph(&weights)).unwrap();
        let wide = solved(Weight::I32, graph(&weights)).unwrap();
        assert_eq!((auto.report.weight, wide.report.weight), (wanted, Weight::I32), "{name}");
        assert!(auto.distances == wide.distances && auto.predecessors == wide.predecessors, "{name}");
        let lengths = Apsp::new().run(&Engine::Cpu, graph(&weights), &()).unwrap();
        assert!(lengths.distances == wide.distances && lengths.predecessors.is_none(), "{name}");
        // No room for a second matrix: no attempt.
        let tight = Apsp::new().memory(Some(memory_needed(n, Weight::Auto, false)));
        assert_eq!(tight.run(&Engine::Cpu, graph(&weights), &()).unwrap().report.weight, Weight::I32);
    }
}

#[test]
fn negative_weights_are_as_if_there_were_none() {
    // Moving the weights of a graph by heights moves its distances by the same.
    for case in [2, 33, 64, 129].into_iter().flat_map(cases) {
        let plain = case.weights(|weight| weight);
        let n = plain.vertices();
        let height = |v: usize| ((v * 7919) % 1009) as i32;
        let move_by = |w: i32, i: usize, j: usize| if w == i32::UNREACHABLE { w } else { w + height(i) - height(j) };
        let moved = Matrix::from_fn(n, |i, j| move_by(plain.get(i, j), i, j)).unwrap();
        let wanted = solved(Weight::I32, graph(&plain)).unwrap();
        let Distances::I32(wanted) = wanted.distances else { panic!("i32") };
        let wanted = Matrix::from_fn(n, |i, j| move_by(wanted.get(i, j), i, j)).unwrap();
        for weight in [Weight::Auto, Weight::I32] {
            let solution = solved(weight, graph(&moved)).unwrap();
            assert!(solution.distances == Distances::I32(wanted.clone()), "{} {weight:?}", case.name);
            let Distances::I32(distances) = solution.distances else { panic!("i32") };
            check_paths(&moved, &distances, &solution.predecessors.unwrap(), 0.0)
                .unwrap_or_else(|wrong| panic!("{}: {wrong}", case.name));
        }
        // Negative distances are not of 16 bits, whatever they were computed in.
        if !case.name.contains("heavy") && graph(&moved).negative {
            let short = solved(Weight::I16, graph(&moved)).unwrap();
            assert_eq!(short.report.weight, Weight::I16);
            assert!(short.distances == Distances::I32(wanted.clone()), "{}", case.name);
        }
        let real = Matrix::from_fn(n, |i, j| {
            if moved.get(i, j) == i32::UNREACHABLE { f32::INFINITY } else { moved.get(i, j) as f32 }
        });
        let solution = solved(Weight::Auto, graph(&real.unwrap())).unwrap();
        let Distances::F32(distances) = solution.distances else { panic!("f32") };
        let same = |i, j| f64::from(distances.get(i, j)) == wanted.get(i, j).to_f64();
        assert!((0..n).all(|i| (0..n).all(|j| same(i, j))), "{} f32", case.name);
    }
}

#[test]
fn what_is_refused() {
    let three = |edges: &[(u64, u64, i32)]| {
        Graph::<i32>::build(3, |sink| {
            sink.add_all(edges.iter().copied()).expect("edges");
            Ok::<(), MatrixError>(())
        })
        .unwrap()
    };
    let refused = |apsp: Apsp, edges: &[(u64, u64, i32)]| apsp.run(&Engine::Cpu, three(edges), &()).unwrap_err();
    for (edges, vertex) in [(&[(0, 1, 3), (1, 2, -4), (2, 1, 3)][..], 1), (&[(2, 2, -1), (0, 1, 1)], 2)] {
        let error = refused(Apsp::new(), edges);
        assert!(matches!(&error, Error::Cycle(cycle) if cycle.vertex == vertex), "{error}");
    }
    // Two heavy edges one after the other: that cannot be told from no path.
    let most = (1 << 30) - 2;
    let heavy = [(0, 1, most), (1, 2, most)];
    let error = refused(Apsp::new(), &heavy);
    assert!(matches!(error, Error::OverflowRisk(risk) if risk.bits == 32), "{error}");
    let error = refused(Apsp::new().weight(Weight::I16), &heavy);
    assert!(matches!(error, Error::OverflowRisk(risk) if risk.bits == 16), "{error}");
    let error = refused(Apsp::new(), &[(0, 1, -most), (1, 2, -most), (2, 0, most), (0, 2, most), (2, 1, most)]);
    assert!(matches!(error, Error::Cycle(_)), "{error}");
    let error = refused(Apsp::new(), &[(0, 1, -most), (1, 2, -most), (0, 2, -1)]);
    assert!(matches!(error, Error::Overflow(_) | Error::OverflowRisk(_)), "{error}");
    let needed = memory_needed(3, Weight::I32, true);
    assert_eq!(needed, 3 * 64 * 64 * 4);
    let error = refused(Apsp::new().predecessors(true).memory(Some(needed - 1)), &heavy);
    assert_eq!(error.to_string(), "3 vertices need 1 MiB of memory, and there are 0 MiB");
    let error = refused(Apsp::new().kernel(Some(Kernel::Tiled.into())), &heavy);
    assert_eq!(error.to_string(), "kernel tiled cannot do this: it runs on a device");
    let real = Graph::<f32>::build(2, |_| Ok::<(), MatrixError>(())).unwrap();
    let error = Apsp::new().weight(Weight::I32).run(&Engine::Cpu, real, &()).unwrap_err();
    assert_eq!(error.to_string(), "the weights are floating-point numbers, and i32 are asked for");
}

#[test]
fn the_rung_on_the_cpu_gives_the_same() {
    for case in cases(65) {
        let weights = case.weights(|weight| weight);
        let solution =
            Apsp::new().kernel(Some(Kernel::Threads.into())).run(&Engine::Cpu, graph(&weights), &()).unwrap();
        assert_eq!(solution.report.kernel, Some(Kernel::Threads.into()));
        let Distances::I32(distances) = solution.distances else { panic!("i32") };
        case.compare(&distances, 0.0).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}
