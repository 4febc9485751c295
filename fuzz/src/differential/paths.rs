//! Shortest paths beside the algorithm of Bellman and Ford: a few lines that know negative weights.
//!
//! Weights are whole numbers or quarters, so that floating-point sums are exact and distances are compared for equality.

use std::sync::{Arc, LazyLock};

use halotile::apsp::{Apsp, Distances, Error, Graph, MatrixError, Weight};
use halotile::engine::Engine;
use halotile::exec::Device;
use halotile::exec::emulator::EmulatedDevice;
use halotile_tests::apsp::{bellman_ford, length};

use super::POOL;
use crate::case::Case;

static EMULATOR: LazyLock<Engine> =
    LazyLock::new(|| Engine::Devices(vec![Arc::new(EmulatedDevice::new(0, None)) as Arc<dyn Device>]));

/// A graph of a few vertices, with predecessors or without, in every type of distances, on the CPU.
pub fn paths(input: &[u8]) {
    check(&mut Case::new(input), &Engine::Cpu);
}

/// The same in the emulator, where a launch takes as long as a thousand graphs on the CPU.
pub fn paths_emulated(case: &mut Case<'_>) {
    POOL.run(|| check(case, &EMULATOR));
}

fn check(case: &mut Case<'_>, engine: &Engine) {
    let vertices = case.number(1, 20);
    let weight = case.one(&[Weight::Auto, Weight::I32, Weight::I16, Weight::F32]);
    let fractions = case.seldom(4) && matches!(weight, Weight::Auto | Weight::F32);
    let predecessors = case.flip();
    let (negative, heavy) = (case.flip(), case.seldom(8));
    let edges: Vec<(usize, usize, i64)> = (0..case.number(0, 60))
        .map(|_| {
            let (from, to) = (case.number(0, vertices - 1), case.number(0, vertices - 1));
            let weight = case.number(0, if heavy { 100_000 } else { 60 }) as i64;
            (from, to, if negative { weight - 5 } else { weight })
        })
        .collect();
    let apsp = Apsp::new().weight(weight).predecessors(predecessors);
    let scale = if fractions { 0.25 } else { 1.0 };
    let found = if fractions {
        let edges = edges.iter().map(|&(from, to, weight)| (from as u64, to as u64, weight as f32 * 0.25));
        let graph = Graph::<f32>::build(vertices, |sink| {
            sink.add_all(edges).expect("all of them are edges");
            Ok::<(), MatrixError>(())
        });
        apsp.run(engine, graph.expect("there is memory"), &())
    } else {
        let graph = Graph::<i32>::build(vertices, |sink| {
            let edges = edges.iter().map(|&(from, to, weight)| (from as u64, to as u64, weight as i32));
            sink.add_all(edges).expect("all of them are edges");
            Ok::<(), MatrixError>(())
        });
        apsp.run(engine, graph.expect("there is memory"), &())
    };
    let expected: Option<Vec<Vec<Option<i64>>>> =
        (0..vertices).map(|from| bellman_ford(vertices, &edges, from)).collect();
    match (found, expected) {
        (Ok(solution), Some(expected)) => {
            let got = |i, j| match &solution.distances {
                Distances::I32(m) => Some(f64::from(m.get(i, j))).filter(|&d| d != f64::from((1 << 30) - 1)),
                Distances::I16(m) => Some(f64::from(m.get(i, j))).filter(|&d| d != f64::from((1 << 15) - 1)),
                Distances::F32(m) => Some(f64::from(m.get(i, j))).filter(|d| d.is_finite()),
            };
            for (i, j) in (0..vertices).flat_map(|i| (0..vertices).map(move |j| (i, j))) {
                let wanted = expected[i][j].map(|distance| distance as f64 * scale);
                assert_eq!(got(i, j), wanted, "from {i} to {j}; {edges:?}");
                if predecessors {
                    let path = solution.path(i, j);
                    assert_eq!(
                        path.as_deref().and_then(|path| length(path, &edges)),
                        expected[i][j],
                        "{path:?}; {edges:?}"
                    );
                }
            }
        }
        (Err(Error::Cycle(_)), None) => {}
        // Distances of 16 bits end at 2^15 - 2.
        (Err(Error::OverflowRisk(_) | Error::Overflow(_)), Some(_)) if weight == Weight::I16 && heavy => {}
        (found, expected) => panic!("found {found:?}, expected {expected:?}; {edges:?}"),
    }
}
