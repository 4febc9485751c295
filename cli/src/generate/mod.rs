//! `halotile generate`: synthetic grids and graphs, written as they are made.

pub mod graph;
pub mod grid;
