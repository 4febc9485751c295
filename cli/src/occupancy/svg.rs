//! The chart of occupancy over block sizes as one SVG file: no script, no font and no picture from elsewhere.
//!
//! A bar is a size, its height the occupancy, the number on it the active blocks, its colour what limits it, which the
//! legend and every bar's tooltip say in words. Colours follow the reader's preference for light or dark; they are those of
//! Okabe and Ito, which colour-blind readers tell apart.

use std::fmt::Write as _;

use halotile::occupancy::{Occupancy, OccupancyError, Resource, WARP};

use super::{Case, count, limits, percent};

/// Left and right edge of the bars, and the heights of 0 and 100 %.
const LEFT: f64 = 56.0;
const RIGHT: f64 = 744.0;
const BOTTOM: f64 = 340.0;
const TOP: f64 = 84.0;

const STYLE: &str = "\
svg { --paper: #ffffff; --ink: #1f2328; --faint: #d0d7de; --warps: #0072b2; --blocks: #b3588a; --registers: #d55e00; --shared: #008060; \
font-family: system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e6edf3; --faint: #30363d; --warps: #56b4e9; \
--blocks: #e6a5cc; --registers: #f58b3d; --shared: #2bc79b; } }
.paper { fill: var(--paper); } text { fill: var(--ink); font-size: 11px; } .title { font-size: 16px; font-weight: 600; }
.line { stroke: var(--faint); } .middle { text-anchor: middle; } .end { text-anchor: end; } .own { font-weight: 700; }
.warps { fill: var(--warps); } .blocks { fill: var(--blocks); } .registers { fill: var(--registers); } .shared { fill: var(--shared); }
";

fn class(resource: Resource) -> &'static str {
    match resource {
        Resource::Warps => "warps",
        Resource::Blocks => "blocks",
        Resource::Registers => "registers",
        Resource::SharedMemory => "shared",
    }
}

/// The whole file.
pub fn chart(case: &Case) -> String {
    let (entry, arch, own) = (case.entry, case.arch.name, case.block.threads());
    let sizes: Vec<_> = case.sizes().collect();
    let description = format!(
        "Bars of occupancy from blocks of {WARP} threads to blocks of {}. {} a thread, {} bytes of static and {} of \
         dynamic shared memory a block. With blocks of {own} threads: {}.",
        sizes.last().map_or(own, |&(threads, _)| threads),
        count(case.used.registers, "register"),
        case.used.shared_bytes,
        case.dynamic,
        said(&case.occupancy(own)),
    );
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 400" role="img" aria-labelledby="title desc">
<title id="title">Occupancy of {entry} on {arch}</title>
<desc id="desc">{description}</desc>
<style>
{STYLE}</style>
<rect class="paper" width="760" height="400"/>
<text class="title" x="{LEFT}" y="28">Occupancy of {entry} on {arch}</text>
<text x="{LEFT}" y="46">{} a thread, {} + {} bytes of shared memory (static + dynamic)</text>
"#,
        count(case.used.registers, "register"),
        case.used.shared_bytes,
        case.dynamic
    );
    legend(&mut svg);
    axis(&mut svg);
    let step = (RIGHT - LEFT) / sizes.len().max(1) as f64;
    for (i, (threads, found)) in sizes.iter().enumerate() {
        bar(&mut svg, LEFT + i as f64 * step, step, *threads, found, *threads == own);
    }
    let middle = (LEFT + RIGHT) / 2.0;
    let note = if sizes.iter().any(|&(threads, _)| threads == own) { " (bold: as asked or launched)" } else { "" };
    let _ = writeln!(
        svg,
        "<text class=\"middle\" x=\"{middle}\" y=\"{:.0}\">threads of a block{note}; on the bars: active blocks</text>",
        BOTTOM + 36.0
    );
    svg + "</svg>\n"
}

/// What a size gives, in words.
fn said(found: &Result<Occupancy, OccupancyError>) -> String {
    match found {
        Ok(found) => format!(
            "{}, {} of {} warps, {}, limited by {}",
            count(found.blocks, "block"),
            found.active_warps,
            found.warps,
            percent(found),
            limits(found)
        ),
        Err(error) => format!("0 blocks, because {error}"),
    }
}

fn legend(svg: &mut String) {
    for (i, resource) in Resource::ALL.iter().copied().enumerate() {
        let x = LEFT + 150.0 * i as f64;
        let (class, name) = (class(resource), resource.name());
        let _ = writeln!(svg, r#"<rect class="{class}" x="{x}" y="56" width="10" height="10"/>"#);
        let _ = writeln!(svg, r#"<text x="{}" y="65">limited by {name}</text>"#, x + 15.0);
    }
}

fn axis(svg: &mut String) {
    for percent in [0, 25, 50, 75, 100] {
        let y = BOTTOM - (BOTTOM - TOP) * f64::from(percent) / 100.0;
        let _ = writeln!(svg, r#"<line class="line" x1="{LEFT}" y1="{y}" x2="{RIGHT}" y2="{y}"/>"#);
        let _ = writeln!(svg, r#"<text class="end" x="{}" y="{}">{percent} %</text>"#, LEFT - 6.0, y + 4.0);
    }
}

fn bar(svg: &mut String, x: f64, step: f64, threads: u32, found: &Result<Occupancy, OccupancyError>, own: bool) {
    let (height, blocks, class) = match found {
        Ok(found) => {
            let limiting = found.limited_by().next().map_or("", class);
            ((BOTTOM - TOP) * found.fraction(), found.blocks, limiting)
        }
        Err(_) => (0.0, 0, ""),
    };
    let (top, middle, own) = (BOTTOM - height, x + step / 2.0, if own { " own" } else { "" });
    let (left, width) = (x + step * 0.1, (step * 0.8).min(48.0));
    let left = left.max(middle - width / 2.0);
    let _ = write!(
        svg,
        "<g><title>{threads} threads: {}</title>\
         <rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\
         <text class=\"middle{own}\" x=\"{middle:.1}\" y=\"{:.1}\">{blocks}</text>",
        said(found),
        top - 4.0
    );
    // 32 sizes leave no room for a four-figure number under each.
    let small = if step < 30.0 { " style=\"font-size:8px\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text class=\"middle{own}\"{small} x=\"{middle:.1}\" y=\"{:.0}\">{threads}</text></g>",
        BOTTOM + 16.0
    );
}
