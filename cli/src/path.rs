//! `halotile path`: the vertices on a shortest path, out of a file of predecessors. One row of it is read.

use anyhow::anyhow;
use halotile::apsp::files::distances::MatrixFile;
use halotile::apsp::predecessors::{NONE, reconstruct_path};
use serde::Serialize;

use crate::args::PathArgs;
use crate::outcome::{Done, Usage};
use crate::{report, stdout};

/// What `--json` prints.
#[derive(Serialize)]
struct PathReport {
    from: usize,
    to: usize,
    path: Vec<usize>,
}

pub fn run(args: &PathArgs) -> anyhow::Result<Done> {
    let &PathArgs { ref paths, from, to, lines, json } = args;
    let (file, name) = (MatrixFile::open(paths)?, paths.display());
    let vertices = file.vertices();
    if from.max(to) >= vertices {
        let wrong = from.max(to);
        return Err(Usage(format!("{name}: there is no vertex {wrong}; there are {vertices}, counted from 0")).into());
    }
    let broken = |error| anyhow!("{name}: {error}; give the file that apsp --paths wrote");
    let before = file.row(from)?;
    // Distances have 0 there.
    if before[from] != NONE {
        return Err(anyhow!("{name}: these are no predecessors; give the file that apsp --paths wrote"));
    }
    let path = reconstruct_path(&before, from, to).map_err(broken)?;
    let path = path.ok_or_else(|| anyhow!("{name}: there is no path from {from} to {to}"))?;
    if json {
        report::print(&PathReport { from, to, path })?;
        return Ok(Done::Success);
    }
    let vertices: Vec<_> = path.iter().map(usize::to_string).collect();
    let text = vertices.join(if lines { "\n" } else { " " });
    stdout::print(format!("{text}\n").as_bytes())?;
    Ok(Done::Success)
}
