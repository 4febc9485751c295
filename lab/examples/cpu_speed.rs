//! Speed of the CPU engine on one core, memory to memory, beside a peer and the memory's limit.
//!
//! ```text
//! cargo run --release -p halotile-lab --example cpu_speed [-- SIDE [REPEATS [SIZE LEVELS [paths]]]]
//! ```
//!
//! Grids of SIDE × SIDE cells (4096), random and clustered. Every configuration is first checked
//! against the definition on some rows, then timed REPEATS times (5). The peer is what a good
//! just-in-time compiled program does: one histogram sliding along a row, after Huang, with a running
//! Σ n·ln n in f64. SIZE and LEVELS choose one configuration (0 0: all of them); `paths` also times each
//! engine on each instruction set by itself.
//!
//! ```text
//! cargo run --release -p halotile-lab --example cpu_speed -- windows [SIDE [ROUNDS [THREADS [LEVELS [SIZE ...]]]]]
//! ```
//!
//! What a larger window costs: every size in turn, ROUNDS times over, so that a busy machine slows all of
//! them; a JSON object of raw times a configuration, with the fastest beside that of the first size. On Linux the cores' own time
//! is there too, which does not run while another program has the core. LEVELS 0 (default) is 16 and 256; without a SIZE there are
//! seven, from 5 to 1001.
//!
//! ```text
//! cargo run --release -p halotile-lab --example cpu_speed -- measures [SIDE [ROUNDS [THREADS [LEVELS [SET]]]]]
//! ```
//!
//! Measures and shapes beside Shannon's entropy in squares: for each the plan's choice and the histogram, ROUNDS times in turn; the
//! fastest, in Mcell/s. Planes on one instruction set alone where SET names one (`Avx2`); with LEVELS 0 (default) there are 16.

//! ```text
//! cargo run --release -p halotile-lab --example cpu_speed -- many [SIDE [ROUNDS [THREADS [SIZE]]]]
//! ```
//!
//! Maps of 900 classes beside the map of 16 that they are made of, ROUNDS times in turn: where any tile has 16 of them at most, where one in
//! 200 × 200 cells has 14 of its own, and where any class may be anywhere; and the 16 classes as words. The fastest, in Mcell/s.

use std::time::Instant;

use halotile::codes::Code;
use halotile::cpu::bench::{Choice, entropy, entropy_of_codes, instruction_sets, measure};
use halotile::grid::{Grid, GridView};
use halotile::measure::{Footprint, Measure};
use halotile::reference;
use halotile_lab::bench::{Clock, Times};

fn main() {
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if(|a| a == "windows").is_some() {
        let numbers: Vec<usize> = args.map(|a| a.parse().expect("a number")).collect();
        let number = |i: usize, default| numbers.get(i).copied().unwrap_or(default);
        let sizes = numbers.get(4..).filter(|sizes| !sizes.is_empty()).unwrap_or(&[5, 21, 101, 255, 257, 501, 1001]);
        return windows(number(0, 4096), number(1, 5), number(2, 1), number(3, 0), sizes);
    }
    if args.next_if(|a| a == "measures").is_some() {
        let args: Vec<String> = args.collect();
        let number = |i: usize, default| args.get(i).map_or(default, |a: &String| a.parse().expect("a number"));
        return measures(number(0, 2048), number(1, 5), number(2, 2), number(3, 0), args.get(4).map(String::as_str));
    }
    if args.next_if(|a| a == "many").is_some() {
        let numbers: Vec<usize> = args.map(|a| a.parse().expect("a number")).collect();
        let number = |i: usize, default| numbers.get(i).copied().unwrap_or(default);
        return many(number(0, 2048), number(1, 5), number(2, 2), number(3, 21));
    }
    let side: usize = args.next().map_or(4096, |a| a.parse().expect("SIDE is a number"));
    let repeats: usize = args.next().map_or(5, |a| a.parse().expect("REPEATS is a number"));
    let size: usize = args.next().map_or(0, |a| a.parse().expect("SIZE is a number"));
    let levels: usize = args.next().map_or(0, |a| a.parse().expect("LEVELS is a number"));
    let paths = args.next().is_some();
    let all = [(5, 16), (21, 16), (21, 256), (101, 16), (255, 256)];
    let chosen = [(size, levels)];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    pool.install(|| report(side, repeats, if size == 0 { &all } else { &chosen }, paths));
}

fn report(side: usize, repeats: usize, configurations: &[(usize, usize)], paths: bool) {
    let sets = instruction_sets();
    println!("{side} x {side} cells, 1 thread, best set {}, Mcell/s: median (min .. max)", sets[sets.len() - 1]);
    let source: Vec<u8> = clustered(side, 256);
    let mut out = vec![0f32; side * side];
    let copy = time(repeats, side * side, || {
        for (out, &cell) in out.iter_mut().zip(&source) {
            *out = f32::from(cell);
        }
    });
    println!("{:<34} {copy}", "ceiling: read 1 byte, write 4");
    for &(size, levels) in configurations {
        for (name, cells) in [("random", random(side, levels)), ("clustered", clustered(side, levels))] {
            let view = GridView::new(&cells, side, side).expect("a square");
            let mut ways = vec![("auto".to_string(), Choice::Auto, None)];
            if paths {
                ways.extend(sets.iter().enumerate().map(|(i, set)| (format!("planes {set}"), Choice::Planes, Some(i))));
                ways.push(("histogram".to_string(), Choice::Histogram, None));
            }
            let mut grid = Grid::from_vec(std::mem::take(&mut out), side, side).expect("a square");
            let mut ours = 0.0;
            for (way, choice, set) in ways {
                entropy(view, size, levels, choice, set, grid.view_mut());
                verify(view, size, &grid);
                let figure = time(repeats, side * side, || entropy(view, size, levels, choice, set, grid.view_mut()));
                if way == "auto" {
                    ours = figure.median;
                }
                println!("{:<34} {figure}", format!("{size}x{size}, {levels} {name}, {way}"));
            }
            // The peer is slow: some rows are enough.
            let rows = side.min(1 + 400_000_000 / (side * size * 10));
            let part = time(3, rows * side, || peer(view, size, rows, grid.as_mut_slice()));
            println!("{:<34} {part}   ours / peer = {:.1}", "    peer", ours / part.median);
            out = grid.into_vec();
        }
    }
}

/// Times window sizes in turn.
fn windows(side: usize, rounds: usize, threads: usize, levels: usize, sizes: &[usize]) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let mut out = Grid::<f32>::from_vec(vec![0.0; side * side], side, side).expect("a square");
    for levels in [16, 256].into_iter().filter(|&l| levels == 0 || l == levels) {
        for (name, cells) in [("random", random(side, levels)), ("clustered", clustered(side, levels))] {
            let view = GridView::new(&cells, side, side).expect("a square");
            let mut seconds = vec![Vec::new(); sizes.len()];
            let mut busy = seconds.clone();
            for &size in sizes {
                pool.install(|| entropy(view, size, levels, Choice::Auto, None, out.view_mut()));
                verify(view, size, &out);
            }
            for _ in 0..rounds {
                for ((&size, seconds), busy) in sizes.iter().zip(&mut seconds).zip(&mut busy) {
                    let (start, core) = (Instant::now(), core_seconds());
                    pool.install(|| entropy(view, size, levels, Choice::Auto, None, out.view_mut()));
                    seconds.push(start.elapsed().as_secs_f64());
                    busy.push(core_seconds() - core);
                }
            }
            let least = |seconds: &[f64]| seconds.iter().copied().fold(f64::INFINITY, f64::min);
            for ((&size, these), busy_now) in sizes.iter().zip(&seconds).zip(&busy) {
                let (best, first) = (least(these), least(&seconds[0]));
                println!(
                    "{{\"size\": {size}, \"levels\": {levels}, \"cells\": \"{name}\", \"threads\": {threads}, \
                     \"best_mcells_per_s\": {:.1}, \"times_first\": {:.2}, \"core_times_first\": {:.2}, \
                     \"seconds\": {these:.5?}, \"core_seconds\": {busy_now:.5?}}}",
                    (side * side) as f64 / best / 1e6,
                    best / first,
                    least(busy_now) / least(&busy[0])
                );
            }
        }
    }
}

/// Times measures and shapes by the plan's choice, or by planes on one instruction set, and by the histogram.
fn measures(side: usize, rounds: usize, threads: usize, levels: usize, set: Option<&str>) {
    use Measure::{Evenness, Hill, Renyi, Richness, Shannon, Simpson};
    let levels = if levels == 0 { 16 } else { levels };
    let set = set.map(|set| instruction_sets().iter().position(|name| name == set).expect("an instruction set"));
    let choice = if set.is_some() { Choice::Planes } else { Choice::Auto };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let all: [&[Measure]; 8] = [
        &[Simpson],
        &[Richness],
        &[Evenness],
        &[Hill(1.0)],
        &[Hill(2.0)],
        &[Renyi(2.0)],
        &[Renyi(f64::INFINITY)],
        &[Shannon, Simpson, Richness],
    ];
    println!(
        "{side} x {side} cells, {levels} levels, {threads} threads, f32, fastest of {rounds}, Mcell/s: now, histogram"
    );
    for (name, cells) in [("random", random(side, levels)), ("clustered", clustered(side, levels))] {
        let view = GridView::new(&cells, side, side).expect("a square");
        let mut outs = vec![Grid::<f32>::from_vec(vec![0.0; side * side], side, side).expect("a square"); 3];
        let mut best = |work: &mut (dyn FnMut(&mut [Grid<f32>]) + Send)| {
            let times = (0..rounds).map(|_| {
                let start = Instant::now();
                pool.install(|| work(&mut outs));
                (side * side) as f64 / start.elapsed().as_secs_f64() / 1e6
            });
            times.fold(0.0, f64::max)
        };
        for size in [5, 21, 101] {
            let shannon = best(&mut |outs| entropy(view, size, levels, choice, set, outs[0].view_mut()));
            println!("{name:<10} {size:>3} square {:<26} {shannon:7.1}", "shannon by itself");
            for (shape, footprint) in [("square", Footprint::square(size)), ("disk", Footprint::disk(size))] {
                let footprint = footprint.expect("a shape");
                for these in
                    all.into_iter().filter(|m| shape == "square" || m.len() > 1 || matches!(m[0], Simpson | Evenness))
                {
                    let mut by = |choice, set| {
                        best(&mut |outs: &mut [Grid<f32>]| {
                            let outs = outs[..these.len()].iter_mut().map(Grid::view_mut).collect();
                            measure(view, &footprint, these, (levels, None), choice, set, outs);
                        })
                    };
                    let (now, before) = (by(choice, set), by(Choice::Histogram, None));
                    let names = these.iter().map(Measure::to_string).collect::<Vec<_>>().join(" ");
                    println!("{name:<10} {size:>3} {shape:<6} {names:<26} {now:7.1} {before:7.1}");
                }
            }
        }
    }
}

/// Times maps of many classes.
fn many(side: usize, rounds: usize, threads: usize, size: usize) {
    const CLASSES: usize = 900;
    /// Cells of a tile, and those near its border that the next one may see.
    const TILE: usize = 256;
    const NEAR: usize = 40;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let bytes = clustered(side, 16);
    let map = |code: &dyn Fn(usize, usize, usize) -> usize| -> Vec<u16> {
        (0..side * side).map(|i| code(i / side, i % side, usize::from(bytes[i])) as u16).collect()
    };
    // 14 classes of its own in a square of so many cells, and two that all have.
    let zone =
        |side_of: usize, r: usize, c: usize| (r / side_of * side.div_ceil(side_of) + c / side_of) % (CLASSES / 14);
    let inner = |at: usize| (NEAR..TILE - NEAR).contains(&(at % TILE));
    let few = map(&|r, c, class| match class {
        0..14 if inner(r) && inner(c) => 2 + 14 * zone(TILE, r, c) + class,
        class => class % 2,
    });
    let zones = map(&|r, c, class| if class < 14 { 2 + 14 * zone(200, r, c) + class } else { class - 14 });
    let anywhere: Vec<u16> = {
        let mut state = 0x1234_5678_9abc_def1;
        (0..side * side).map(|_| (step(&mut state) % CLASSES as u64) as u16).collect()
    };
    let same: Vec<u16> = bytes.iter().map(|&class| u16::from(class)).collect();
    let byte_view = GridView::new(&bytes, side, side).expect("a square");
    let mut out = Grid::<f32>::from_vec(vec![0.0; side * side], side, side).expect("a square");
    let words = [
        ("16 as words", &same, 16),
        ("16 a tile", &few, CLASSES),
        ("zones", &zones, CLASSES),
        ("random", &anywhere, CLASSES),
    ];
    let views = words.map(|(name, cells, levels)| (name, GridView::new(cells, side, side).expect("a square"), levels));
    for (_, view, levels) in views {
        pool.install(|| entropy_of_codes(view, size, levels, out.view_mut()));
        verify(view, size, &out);
    }
    let mut best = [0.0f64; 5];
    for _ in 0..rounds {
        let timed = |work: &mut (dyn FnMut() + Send)| {
            let start = Instant::now();
            pool.install(work);
            (side * side) as f64 / start.elapsed().as_secs_f64() / 1e6
        };
        best[0] = best[0].max(timed(&mut || entropy_of_codes(byte_view, size, 16, out.view_mut())));
        for (best, (_, view, levels)) in best[1..].iter_mut().zip(views) {
            *best = best.max(timed(&mut || entropy_of_codes(view, size, levels, out.view_mut())));
        }
    }
    println!("{side} x {side} cells, {size} x {size}, {threads} threads, f32, fastest of {rounds}, Mcell/s");
    println!("{:<24} {:7.1}", "16 classes, bytes", best[0]);
    for (best_of, (name, _, levels)) in best[1..].iter().zip(views) {
        println!("{:<24} {best_of:7.1}   {:.2} of bytes", format!("{levels} classes, {name}"), best_of / best[0]);
    }
}

/// Time that the threads of this process have had on a core; 0 where the system does not say.
fn core_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let times = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    times.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}

/// Speeds, in Mcell/s.
struct Figure {
    median: f64,
    min: f64,
    max: f64,
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:8.1} ({:.1} .. {:.1})", self.median, self.min, self.max)
    }
}

fn time(repeats: usize, cells: usize, mut work: impl FnMut()) -> Figure {
    let mut once = || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    let Times { median, min, max, .. } = Times::new(Clock::Wall, (0..repeats.max(1)).map(|_| once()).collect());
    let speed = |seconds: f64| cells as f64 / seconds / 1e6;
    Figure { median: speed(median), min: speed(max), max: speed(min) }
}

/// Compares cells of the top, of the middle and of the bottom with the definition.
fn verify<C: Code>(cells: GridView<'_, C>, size: usize, got: &Grid<f32>) {
    let (rows, cols, radius) = (cells.rows(), cells.cols(), size / 2);
    for y in [0, 1, rows / 2, rows - 1] {
        let (top, bottom) = (y.saturating_sub(radius), rows.min(y + radius + 1));
        // The definition is slow: every so many columns of a wide window is enough.
        for x in (0..cols).step_by(1 + size * size / 500) {
            let (left, right) = (x.saturating_sub(radius), cols.min(x + radius + 1));
            let mut window = Vec::new();
            for row in top..bottom {
                window.extend_from_slice(&cells.row(row)[left..right]);
            }
            // A window as a grid of one row: its middle sees all of it.
            let mut counts = vec![0u32; C::LEVELS];
            for &value in &window {
                counts[usize::from(C::get(value))] += 1;
            }
            let n = window.len() as f64;
            let truth: f64 =
                counts.iter().filter(|&&c| c > 0).map(|&c| f64::from(c) / n * (n / f64::from(c)).ln()).sum();
            let h = f64::from(got.row(y)[x]);
            assert!((h - truth).abs() < 2e-6, "size {size}, row {y}, column {x}: {h}, not {truth}");
        }
    }
    // And a corner with the oracle itself.
    let corner = GridView::with_stride(cells.as_strided(), 8.min(rows), 8.min(cols), cells.stride()).expect("a corner");
    if size <= 5 {
        let truth = reference::entropy(corner, size, None);
        for y in 0..corner.rows() - size / 2 {
            for x in 0..corner.cols() - size / 2 {
                assert!((f64::from(got.row(y)[x]) - truth.row(y)[x]).abs() < 2e-6);
            }
        }
    }
}

fn step(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 16
}

fn random(side: usize, levels: usize) -> Vec<u8> {
    let mut state = 0x1234_5678_9abc_def1;
    (0..side * side).map(|_| (step(&mut state) % levels as u64) as u8).collect()
}

/// Patches of about 24 cells with ragged borders, 2 % of the cells out of place.
fn clustered(side: usize, levels: usize) -> Vec<u8> {
    let mut state = 0x1234_5678_9abc_def1;
    let mut cells = Vec::with_capacity(side * side);
    for y in 0..side {
        for x in 0..side {
            let noise = step(&mut state);
            let (py, px) = ((y + (noise % 4) as usize) / 24, (x + (noise / 4 % 4) as usize) / 24);
            let mut patch = ((py * 7919 + px + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let value = if (noise / 16).is_multiple_of(50) { noise >> 12 } else { step(&mut patch) };
            cells.push((value % levels as u64) as u8);
        }
    }
    cells
}

/// The peer: one histogram slides along each row.
fn peer(cells: GridView<'_, u8>, size: usize, rows: usize, out: &mut [f32]) {
    let (height, width, radius) = (cells.rows(), cells.cols(), size / 2);
    // A window takes its new column before it gives the old one up.
    let most = size * (size + 1);
    let f: Vec<f64> = (0..=most).map(|n| if n < 2 { 0.0 } else { n as f64 * (n as f64).ln() }).collect();
    let ln: Vec<f64> = (0..=most).map(|n| if n == 0 { 0.0 } else { (n as f64).ln() }).collect();
    for y in 0..rows {
        let (top, bottom) = (y.saturating_sub(radius), height.min(y + radius + 1));
        let mut counts = [0u32; 256];
        let (mut n, mut sum) = (0usize, 0.0f64);
        let enter = |x: usize, n: &mut usize, sum: &mut f64, counts: &mut [u32; 256]| {
            for row in top..bottom {
                let count = &mut counts[usize::from(cells.row(row)[x])];
                *sum += f[*count as usize + 1] - f[*count as usize];
                *count += 1;
                *n += 1;
            }
        };
        for x in 0..radius.min(width) {
            enter(x, &mut n, &mut sum, &mut counts);
        }
        for x in 0..width {
            if x + radius < width {
                enter(x + radius, &mut n, &mut sum, &mut counts);
            }
            if x > radius {
                for row in top..bottom {
                    let count = &mut counts[usize::from(cells.row(row)[x - radius - 1])];
                    sum -= f[*count as usize] - f[*count as usize - 1];
                    *count -= 1;
                    n -= 1;
                }
            }
            out[y * width + x] = (ln[n] - sum / n as f64) as f32;
        }
    }
}
