//! The arguments that are about graphs.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{ArgGroup, ValueHint};
use halotile::apsp::files::graph::GraphFormat;
use halotile_lab::generate::graph::GraphShape;

use super::{Loudness, named, one_of, side};

pub const GRAPH_HELP: &str = "\
Formats: .bin is the binary one (32-bit numbers of vertices and edges, then from, to and weight of each, vertices from 0); .gr \
is DIMACS; .csv, .tsv, .txt and .edges are lines from,to,weight; .mtx is Matrix Market; .npy is a matrix of weights, 2^30 - 1 where \
there is no edge.

Shapes: chain (from each vertex to the next), ring (and from the last to the first), grid (a square, both ways), hypercube (vertices that \
differ in one bit, both ways), star (vertex 0 and all others, both ways), complete.

Examples:
  halotile generate graph --vertices 2000 --shape complete --weights 1..1000 g.bin
  halotile generate graph --vertices 100000 --edges 1000000 --seed 42 g.gr
  halotile generate graph --vertices 5 --density 0.5 --weights -2..9 -";

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("joined").required(true).args(["edges", "density", "shape"])))]
pub struct GraphArgs {
    /// The graph; - is standard output
    #[arg(value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Vertices, at least 1
    #[arg(long, value_name = "N", value_parser = side)]
    pub vertices: usize,
    /// So many edges between different vertices, chosen at random
    #[arg(long, value_name = "N")]
    pub edges: Option<u64>,
    /// Each edge with this probability, 0 to 1
    #[arg(long, value_name = "FRACTION", value_parser = super::fraction)]
    pub density: Option<f64>,
    /// Which vertices are joined
    #[arg(long, value_parser = named(&GraphShape::NAMED))]
    pub shape: Option<GraphShape>,
    /// Weights, whole numbers from LO to HI; they may be negative
    #[arg(long, value_name = "LO..HI", default_value = "1..100", allow_hyphen_values = true, value_parser = weights)]
    pub weights: RangeInclusive<i32>,
    /// What the graph depends on, 0 to 2^64 - 1
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    /// Format of OUTPUT [default: by its name's ending; edge-list for -]
    #[arg(long = "of", value_name = "FORMAT", value_parser = one_of(GraphFormat::ALL, GraphFormat::name))]
    pub output_format: Option<GraphFormat>,
    /// Replace OUTPUT if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub loudness: Loudness,
}

fn weights(text: &str) -> Result<RangeInclusive<i32>, String> {
    let range = text.split_once("..").and_then(|(low, high)| Some(low.parse().ok()?..=high.parse().ok()?));
    range.ok_or_else(|| "weights are a range of whole numbers such as 1..100".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_ranges() {
        assert_eq!(weights("1..100"), Ok(1..=100));
        assert_eq!(weights("-5..-5"), Ok(-5..=-5));
        for wrong in ["", "5", "..5", "1..", "1...5", "1..x", "1..3000000000"] {
            assert!(weights(wrong).is_err(), "{wrong}");
        }
    }
}
