//! `halotile apsp` and `halotile path` with random graphs, beside the algorithm of Bellman and Ford.

use std::fs;

use anyhow::{Result, ensure};

use super::run::Runner;
use super::{Ended, Random, files};
use crate::apsp::{bellman_ford, length};

/// A graph, its distances, and some of its paths.
pub fn run(random: &mut Random, runner: &Runner) -> Result<Ended> {
    let vertices = random.number(1, 40);
    let undirected = random.once_in(4);
    let lightest = if random.once_in(4) && !undirected { -4 } else { 0 };
    let heaviest = random.one(&[10, 100, 1_000_000]);
    let mut edges: Vec<(usize, usize, i64)> = (0..random.number(0, 4 * vertices))
        .map(|_| (random.below(vertices), random.below(vertices), random.below(heaviest) as i64 + lightest))
        .collect();
    let input = write(random, runner, vertices, &mut edges)?;
    if undirected {
        let back: Vec<_> = edges.iter().map(|&(from, to, weight)| (to, from, weight)).collect();
        edges.extend(back);
    }
    let weight = random.one(&["auto", "auto", "i32", "f32"]);
    // The binary format has whole numbers.
    let format = random.one(if weight == "f32" { &["npy", "csv"] } else { &["npy", "csv", "bin"] });
    let mut args = ["apsp", input, &format!("d.{format}"), "--weight", weight, "-q"].map(str::to_owned).to_vec();
    let paths = random.flip().then(|| random.one(&["p.npy", "p.bin"]));
    args.extend(paths.into_iter().flat_map(|name| ["--paths".into(), name.to_owned()]));
    if undirected {
        args.push("--undirected".into());
    }
    if random.flip() {
        args.extend(["--threads".into(), random.number(0, 4).to_string()]);
    }
    let ran = runner.run(&args)?;
    runner.is_clean(&runner.place)?;
    let expected: Option<Vec<_>> = (0..vertices).map(|from| bellman_ford(vertices, &edges, from)).collect();
    let Some(expected) = expected else {
        ran.is_refused(&[1])?;
        ensure!(ran.err.contains("negative"), "a negative cycle is not named: {}", ran.err);
        ensure!(!runner.file(&format!("d.{format}")).exists(), "distances in spite of a negative cycle");
        return Ok(Ended::Refused);
    };
    ran.is_done()?;
    let content = fs::read(runner.file(&format!("d.{format}")))?;
    let got: Vec<f64> = match format {
        "npy" => files::of_npy(&content)?,
        "bin" => content.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()).collect(),
        _ => csv(&content)?,
    };
    ensure!(got.len() == vertices * vertices, "{} distances of {vertices} vertices", got.len());
    for (i, &got) in got.iter().enumerate() {
        let (from, to) = (i / vertices, i % vertices);
        let got = Some(got).filter(|&d| d.is_finite() && d != f64::from((1 << 30) - 1));
        let wanted = expected[from][to].map(|distance| distance as f64);
        let near = match (got, wanted) {
            (Some(got), Some(wanted)) => (got - wanted).abs() <= wanted.abs() * 1e-6,
            (got, wanted) => got == wanted,
        };
        ensure!(near, "from {from} to {to}: {got:?}, not {wanted:?}");
    }
    if let Some(paths) = paths {
        let (from, to) = (random.below(vertices), random.below(vertices));
        let words = ["path", paths, &from.to_string(), &to.to_string()].map(str::to_owned);
        let ran = runner.run(&words)?;
        match expected[from][to] {
            Some(distance) => {
                ran.is_done()?;
                let text = String::from_utf8(ran.out)?;
                let path: Vec<usize> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
                ensure!((path.first(), path.last()) == (Some(&from), Some(&to)), "a path with other ends: {text}");
                ensure!(
                    length(&path, &edges) == Some(distance),
                    "a path that is not as long as the distance {distance}: {text}"
                );
            }
            None => ran.is_refused(&[1])?,
        }
    }
    Ok(Ended::Right((vertices * vertices) as u64))
}

/// Writes a graph; the edges that the format has.
fn write(
    random: &mut Random,
    runner: &Runner,
    vertices: usize,
    edges: &mut Vec<(usize, usize, i64)>,
) -> Result<&'static str> {
    let name = random.one(&["g.bin", "g.gr", "g.csv", "g.mtx"]);
    let content = match name {
        "g.bin" => {
            let numbers = edges.iter().flat_map(|&(from, to, weight)| [from as i32, to as i32, weight as i32]);
            [vertices as i32, edges.len() as i32].into_iter().chain(numbers).flat_map(i32::to_le_bytes).collect()
        }
        "g.gr" => {
            let lines = edges.iter().map(|(from, to, weight)| format!("a {} {} {weight}\n", from + 1, to + 1));
            format!("c soak\np sp {vertices} {}\n{}", edges.len(), lines.collect::<String>()).into_bytes()
        }
        "g.mtx" => {
            let lines = edges.iter().map(|(from, to, weight)| format!("{} {} {weight}\n", from + 1, to + 1));
            let head = "%%MatrixMarket matrix coordinate integer general\n";
            format!("{head}{vertices} {vertices} {}\n{}", edges.len(), lines.collect::<String>()).into_bytes()
        }
        _ => {
            // A list names no number of vertices: an edge of the last one to itself, which counts for nothing.
            edges.push((vertices - 1, vertices - 1, 0));
            edges.iter().map(|(from, to, weight)| format!("{from},{to},{weight}\n")).collect::<String>().into_bytes()
        }
    };
    fs::write(runner.file(name), content)?;
    Ok(name)
}

/// Distances as text: what is no number is no path.
fn csv(content: &[u8]) -> Result<Vec<f64>> {
    let words =
        std::str::from_utf8(content)?.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    Ok(words.map(|word| word.parse().unwrap_or(f64::INFINITY)).collect())
}
