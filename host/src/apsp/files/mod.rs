//! Files of paths, larger than those of grids and read and written by position from all threads: graphs in, distances out. What they share with
//! other files, as places in messages, the output's temporary file and NPY's header, is [`io`](crate::io)'s, which knows nothing of graphs.

pub mod distances;
pub mod graph;
