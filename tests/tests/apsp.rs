//! Every engine for shortest paths over the table of graphs.

use halotile::apsp::cpu;
use halotile_tests::apsp::{SIZES, random, shapes};

#[test]
fn the_cpu_engine() {
    for vertices in SIZES {
        for case in random(vertices).into_iter().chain(shapes(vertices)) {
            case.check(|matrix| cpu::solve(matrix, &()).unwrap()).unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }
    for case in shapes(1000) {
        case.check(|matrix| cpu::solve(matrix, &()).unwrap()).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}
