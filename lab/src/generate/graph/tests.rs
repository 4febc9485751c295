//! What graphs are made: shapes, numbers of edges and their spread, the same for ever, and read back from every format.

use std::collections::BTreeSet;

use halotile::apsp::files::graph::{AnyGraph, GraphFormat, GraphOptions, GraphWriter, read_graph_from};

use super::*;

fn make(shape: GraphShape, vertices: usize) -> GraphGenerator {
    GraphGenerator::new(shape, vertices, 1..=100, 7).unwrap()
}

fn edges(generator: &GraphGenerator) -> Vec<(u32, u32, i32)> {
    let mut edges = Vec::new();
    (0..generator.parts()).for_each(|part| generator.part(part, |from, to, weight| edges.push((from, to, weight))));
    edges
}

/// By rows, as they have to be: ascending, and each with the weight that the parts say.
fn by_rows(generator: &GraphGenerator) -> Vec<(u32, u32, i32)> {
    let mut edges = Vec::new();
    (0..generator.vertices()).for_each(|from| generator.row(from, |to, weight| edges.push((from as u32, to, weight))));
    assert!(edges.is_sorted());
    edges
}

fn pairs(shape: GraphShape, vertices: usize) -> Vec<(u32, u32)> {
    edges(&make(shape, vertices)).into_iter().map(|(from, to, _)| (from, to)).collect()
}

#[test]
fn shapes_are_what_they_are_called() {
    assert_eq!(pairs(GraphShape::Chain, 4), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(pairs(GraphShape::Ring, 3), [(0, 1), (1, 2), (2, 0)]);
    assert_eq!(pairs(GraphShape::Star, 3), [(0, 1), (0, 2), (1, 0), (2, 0)]);
    assert_eq!(pairs(GraphShape::Complete, 3), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
    // 0 1 2
    // 3 4
    assert_eq!(
        pairs(GraphShape::Grid, 5),
        [(0, 1), (0, 3), (1, 0), (1, 2), (1, 4), (2, 1), (3, 0), (3, 4), (4, 1), (4, 3)]
    );
    assert_eq!(
        pairs(GraphShape::Hypercube, 6),
        [
            (0, 1),
            (0, 2),
            (0, 4),
            (1, 0),
            (1, 3),
            (1, 5),
            (2, 0),
            (2, 3),
            (3, 1),
            (3, 2),
            (4, 0),
            (4, 5),
            (5, 1),
            (5, 4)
        ]
    );
    for (name, shape) in GraphShape::NAMED {
        assert_eq!(pairs(shape, 1), [], "{name}");
        for vertices in [2, 63, 64, 65, 1000] {
            let generator = make(shape, vertices);
            assert_eq!(edges(&generator), by_rows(&generator), "{name} {vertices}");
            assert_eq!(generator.edges(&()).unwrap(), edges(&generator).len() as u64, "{name} {vertices}");
        }
    }
}

#[test]
fn any_number_of_random_edges_is_made_exactly() {
    for vertices in [1, 2, 3, 5, 64, 400] {
        let most = vertices as u64 * (vertices as u64 - 1);
        for count in [0, 1, most / 100, most / FEW, most / FEW + 1, most / 2, most.saturating_sub(1), most] {
            let generator = make(GraphShape::Edges(count.min(most)), vertices);
            let mut edges = edges(&generator);
            edges.sort_unstable();
            assert_eq!(edges, by_rows(&generator), "{count} of {vertices}");
            let distinct: BTreeSet<_> = edges.iter().map(|&(from, to, _)| (from, to)).collect();
            assert_eq!((edges.len(), distinct.len() as u64), (distinct.len(), count.min(most)));
            assert!(edges.iter().all(|&(from, to, _)| from != to && from.max(to) < vertices as u32));
        }
    }
}

/// All sets of two edges of three vertices, over many seeds.
#[test]
fn all_sets_of_edges_are_as_likely() {
    let mut seen = std::collections::BTreeMap::new();
    const SEEDS: u64 = 15_000;
    for seed in 0..SEEDS {
        let generator = GraphGenerator::new(GraphShape::Edges(2), 3, 1..=1, seed).unwrap();
        *seen.entry(by_rows(&generator)).or_insert(0u64) += 1;
    }
    // 15 sets; five standard deviations.
    assert_eq!(seen.len(), 15);
    for (set, count) in seen {
        assert!(count.abs_diff(SEEDS / 15) < 155, "{set:?}: {count}");
    }
}

#[test]
fn densities_and_weights_are_spread_as_they_should() {
    let vertices = 1000;
    for density in [0.0, 0.01, 0.5, 1.0] {
        let generator = make(GraphShape::Density(density), vertices);
        let edges = edges(&generator);
        let expected = density * 999_000.0;
        let deviation = (expected * (1.0 - density)).sqrt();
        assert!((edges.len() as f64 - expected).abs() <= 5.0 * deviation, "{density}: {}", edges.len());
        assert_eq!(generator.edges(&()).unwrap(), edges.len() as u64);
    }
    let generator = GraphGenerator::new(GraphShape::Complete, vertices, -3..=6, 1).unwrap();
    let mut count = [0u32; 10];
    edges(&generator).iter().for_each(|&(_, _, weight)| count[(weight + 3) as usize] += 1);
    assert!(count.iter().all(|&n| n.abs_diff(99_900) < 1_500), "{count:?}");
    let wide = GraphGenerator::new(GraphShape::Complete, 50, -MOST..=MOST, 1).unwrap();
    let (low, high) = edges(&wide).iter().fold((0, 0), |(l, h), &(_, _, w)| (w.min(l), w.max(h)));
    assert!(low < -1_000_000_000 && high > 1_000_000_000 && low >= -MOST && high <= MOST, "{low} {high}");
}

#[test]
fn graphs_never_change_and_seeds_differ() {
    let generator = make(GraphShape::Edges(5), 1000);
    assert_eq!(edges(&generator), EDGES);
    let digest = |edges: &[(u32, u32, i32)]| {
        edges.iter().fold(0xcbf2_9ce4_8422_2325, |h, &(from, to, weight)| {
            [from, to, weight.cast_unsigned()]
                .iter()
                .fold(h, |h: u64, &v| (h ^ u64::from(v)).wrapping_mul(0x100_0000_01b3))
        })
    };
    assert_eq!(digest(&edges(&make(GraphShape::Density(0.3), 200))), DIGEST);
    let other = GraphGenerator::new(GraphShape::Edges(5), 1000, 1..=100, 8).unwrap();
    assert_ne!(edges(&other), EDGES);
}

// Both worked out by another program from what the module says.
const EDGES: [(u32, u32, i32); 5] = [(981, 397, 90), (508, 677, 14), (53, 448, 57), (335, 272, 65), (760, 245, 100)];
const DIGEST: u64 = 0xa3c6_36ce_9fc7_33f1;

#[test]
fn a_graph_in_memory_has_the_same_edges() {
    for shape in [GraphShape::Edges(3000), GraphShape::Edges(30_000), GraphShape::Grid] {
        let generator = make(shape, 200);
        let graph = generator.graph().unwrap();
        let edges = edges(&generator);
        assert_eq!(graph.edges, edges.len() as u64);
        assert!(edges.iter().all(|&(from, to, weight)| graph.weights.get(from as usize, to as usize) == weight));
    }
}

#[test]
fn what_cannot_be_made_says_so() {
    let fails = |shape, vertices, weights| GraphGenerator::new(shape, vertices, weights, 0).unwrap_err().to_string();
    assert_eq!(fails(GraphShape::Ring, 0, 1..=1), "a graph has 1 to 2147483647 vertices, not 0");
    assert_eq!(fails(GraphShape::Ring, 1 << 31, 1..=1), "a graph has 1 to 2147483647 vertices, not 2147483648");
    assert_eq!(fails(GraphShape::Edges(7), 3, 1..=1), "between 3 vertices there are at most 6 edges, not 7");
    assert_eq!(fails(GraphShape::Density(1.5), 3, 1..=1), "a density is from 0 to 1, not 1.5");
    assert_eq!(fails(GraphShape::Density(f64::NAN), 3, 1..=1), "a density is from 0 to 1, not NaN");
    #[expect(clippy::reversed_empty_ranges, reason = "it is what is refused")]
    let reversed = 5..=3;
    assert_eq!(fails(GraphShape::Ring, 3, reversed), "weights are a range within -1073741822..1073741822, not 5..3");
    assert_eq!(
        fails(GraphShape::Ring, 3, 0..=MOST + 1),
        "weights are a range within -1073741822..1073741822, not 0..1073741823"
    );
    struct Stop;
    impl Observer for Stop {
        fn cancelled(&self) -> bool {
            true
        }
    }
    assert_eq!(make(GraphShape::Density(0.5), 100).edges(&Stop), Err(Cancelled));
}

fn written(generator: &GraphGenerator, format: GraphFormat) -> Vec<u8> {
    let mut file = Vec::new();
    GraphWriter::new(generator, format, "g", &()).unwrap().write(&mut file, &()).unwrap();
    file
}

fn read(bytes: &[u8], format: GraphFormat) -> Graph<i32> {
    match read_graph_from(bytes, "g", format, &GraphOptions::default(), &()) {
        Ok(AnyGraph::Whole(graph)) => graph,
        other => panic!("{format}: {other:?}"),
    }
}

#[test]
fn what_is_generated_is_read_from_every_format() {
    let random = |shape: &GraphShape| matches!(shape, GraphShape::Edges(_) | GraphShape::Density(_));
    let numbered = [GraphShape::Edges(1000), GraphShape::Edges(60_000), GraphShape::Density(0.3)];
    for shape in numbered.into_iter().chain(GraphShape::NAMED.map(|(_, shape)| shape)) {
        for vertices in [2, 300, 601].into_iter().filter(|&v| v > 2 || !random(&shape)) {
            let generator = GraphGenerator::new(shape, vertices, -9..=9, 5).unwrap();
            let wanted = generator.graph().unwrap();
            for &format in GraphFormat::ALL {
                let got = read(&written(&generator, format), format);
                // A list of edges does not say how many vertices there are.
                if format != GraphFormat::EdgeList || got.weights.vertices() == vertices {
                    assert!(got == wanted, "{shape:?} {vertices} {format}");
                }
                assert_eq!(got.edges, wanted.edges, "{shape:?} {vertices} {format}");
            }
        }
    }
}
