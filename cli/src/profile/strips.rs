//! Pictures of a profile as SVG elements: all calls in their order, a bar each; and the time line, a strip for each stream and
//! thread, whole and where most happens.
//!
//! A run may have more calls than a picture has columns. What falls into one column is drawn once: of calls in their order the longest, on
//! the time line what follows so soon that no gap would be seen.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use halotile::profile::{Direction, Span, SpanKind, Track};

use crate::bench::export::html::chart::round;
use crate::bench::export::html::parts::escape;
use crate::bench::figures::{ms, significant};

/// The pictures' coordinates: about pixels.
const WIDTH: f64 = 1200.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 1165.0;
const TITLE: f64 = 28.0;
const AXIS: f64 = 36.0;
/// Height of the bars of calls.
const TALL: f64 = 180.0;
/// From one strip to the next, and its height.
const PITCH: f64 = 20.0;
const THICK: f64 = 14.0;
/// Calls that the enlarged picture shows.
const MANY: usize = 200;
/// Letters of a strip's name that have room.
const LETTERS: usize = 30;

/// The colour of a span.
pub fn class(kind: &SpanKind) -> &'static str {
    match kind {
        SpanKind::Launch(_) => "kernel",
        SpanKind::Copy { direction: Direction::HostToDevice, .. } => "cpu",
        SpanKind::Copy { direction: Direction::DeviceToHost, .. } => "rung",
        SpanKind::Copy { .. } | SpanKind::Fill { .. } => "both",
        SpanKind::Stage => "stage",
    }
}

/// What is said of a span that is pointed at.
fn hint(span: &Span) -> String {
    let mut text = format!("{}: {} ms from {} ms on", span.name, ms(span.seconds), ms(span.start));
    match span.kind {
        SpanKind::Launch(launch) => {
            let [x, y, z] = launch.grid;
            let threads: u32 = launch.block.iter().product();
            let _ = write!(text, "; grid {x} x {y} x {z}, {threads} threads a block");
            if let Some(registers) = launch.registers {
                let _ = write!(text, ", {registers} registers");
            }
            if let Some(occupancy) = launch.occupancy {
                let _ = write!(text, ", occupancy {:.0} %", occupancy * 100.0);
            }
        }
        SpanKind::Copy { bytes, .. } | SpanKind::Fill { bytes } if span.seconds > 0.0 => {
            let _ = write!(text, "; {bytes} bytes, {} GB/s", significant(bytes as f64 / span.seconds / 1e9));
        }
        _ => {}
    }
    text
}

fn open(id: &str, title: &str, description: &str, height: f64) -> String {
    format!(
        "<svg class=\"chart\" id=\"{id}\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.1}\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{title}</title>\n<desc id=\"{id}-desc\">{description}</desc>\n\
         <text class=\"title\" x=\"12\" y=\"19\">{title}</text>\n"
    )
}

fn rect(svg: &mut String, class: &str, [x, y, width, height]: [f64; 4], hint: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"><title>{}</title></rect>",
        escape(hint)
    );
}

/// What devices did, in the order in which it began: a bar as tall as it took long.
pub fn calls(spans: &[Span]) -> String {
    let calls: Vec<&Span> = spans.iter().filter(|span| span.kind != SpanKind::Stage).collect();
    if calls.is_empty() {
        return String::new();
    }
    let longest = round(calls.iter().map(|span| span.seconds).fold(0.0, f64::max) * 1e3);
    let mut svg = open("calls", "Calls in their order", "Bars: how long each call took.", TITLE + TALL + AXIS);
    let bottom = TITLE + TALL;
    for i in 0..=4 {
        let (y, value) = (bottom - TALL * f64::from(i) / 4.0, significant(longest * f64::from(i) / 4.0));
        let _ = writeln!(svg, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
        let _ = writeln!(svg, "<text class=\"tick end\" x=\"{}\" y=\"{:.1}\">{value} ms</text>", LEFT - 6.0, y + 3.0);
    }
    let columns = calls.len().min((RIGHT - LEFT) as usize);
    let wide = (RIGHT - LEFT) / columns as f64;
    for column in 0..columns {
        let here = &calls[column * calls.len() / columns..(column + 1) * calls.len() / columns];
        let Some(span) = here.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)) else { continue };
        let height = (span.seconds * 1e3 / longest * TALL).max(0.5);
        let x = LEFT + column as f64 * wide;
        let width = if wide > 3.0 { wide - 1.0 } else { wide };
        rect(&mut svg, class(&span.kind), [x, bottom - height, width, height], &hint(span));
    }
    let text = format!("{} calls, the first on the left", calls.len());
    let middle = (LEFT + RIGHT) / 2.0;
    let _ = writeln!(svg, "<text class=\"axis middle\" x=\"{middle}\" y=\"{:.1}\">{text}</text>", bottom + 22.0);
    svg + "</svg>\n"
}

/// Everything in its time.
pub fn timeline(spans: &[Span]) -> String {
    let end = spans.iter().map(Span::end).fold(0.0, f64::max);
    strips(spans, ("time", "Time"), 0.0..end)
}

/// Where the most calls come within the shortest time. Nothing where there are so few that the whole time line shows them.
pub fn enlarged(spans: &[Span]) -> String {
    let calls: Vec<&Span> = spans.iter().filter(|span| span.kind != SpanKind::Stage).collect();
    let lasts = |few: &&[&Span]| few[few.len() - 1].start - few[0].start;
    let Some(densest) = calls.windows(MANY).min_by(|a, b| lasts(a).total_cmp(&lasts(b))) else { return String::new() };
    let end = densest.iter().map(|span| span.end()).fold(0.0, f64::max);
    let within: Vec<Span> =
        spans.iter().filter(|span| span.start < end && span.end() > densest[0].start).cloned().collect();
    strips(&within, ("enlarged", "Time, where most happens"), densest[0].start..end)
}

/// A strip for each track, from a time to another.
fn strips(spans: &[Span], (id, title): (&str, &str), range: Range<f64>) -> String {
    let mut tracks: BTreeMap<&Track, Vec<&Span>> = BTreeMap::new();
    spans.iter().for_each(|span| tracks.entry(&span.track).or_default().push(span));
    if range.is_empty() {
        return String::new();
    }
    let Range { start: first, end } = range;
    let bottom = TITLE + PITCH * tracks.len() as f64 + 4.0;
    let mut svg = open(id, title, "Strips: what each stream and each thread did, and when.", bottom + AXIS);
    let x = |seconds: f64| LEFT + (seconds.clamp(first, end) - first) / (end - first) * (RIGHT - LEFT);
    for i in 0..=8 {
        let seconds = first + (end - first) * f64::from(i) / 8.0;
        let at = x(seconds);
        let _ = writeln!(svg, "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TITLE}\" y2=\"{bottom:.1}\"/>");
        // What tells the ticks from each other may come after the point.
        let digits = (3.0 - (end - first).log10()).clamp(0.0, 9.0) as usize;
        let text = format!("{:.*} ms", digits.saturating_sub(3), seconds * 1e3);
        let _ = writeln!(svg, "<text class=\"tick middle\" x=\"{at:.1}\" y=\"{:.1}\">{text}</text>", bottom + 13.0);
    }
    for (i, (track, spans)) in tracks.iter().enumerate() {
        let y = TITLE + PITCH * i as f64 + 2.0;
        let name = match track {
            Track::Thread(name) => name.to_string(),
            Track::Device { device, stream } => {
                let device = device.split(' ').next().unwrap_or_default();
                if *stream == 0 { device.to_owned() } else { format!("{device}, queue {stream}") }
            }
        };
        let name: String = name.chars().take(LETTERS).collect();
        let name = escape(&name);
        let _ = writeln!(svg, "<text class=\"end\" x=\"{}\" y=\"{:.1}\">{name}</text>", LEFT - 6.0, y + THICK - 3.0);
        // Stages lie in stages: the inner ones are drawn later, and lower.
        let mut outer: Vec<f64> = Vec::new();
        let mut drawn: Option<(f64, &str)> = None;
        for span in spans {
            outer.retain(|&end| end > span.start);
            let depth = if span.kind == SpanKind::Stage { outer.len().min(3) as f64 } else { 0.0 };
            outer.push(span.end());
            let (from, to, class) = (x(span.start), x(span.end()), class(&span.kind));
            // Half a pixel that continues what is there already would add nothing but bytes.
            if drawn.is_some_and(|(until, before)| before == class && depth == 0.0 && to < until + 0.5) {
                continue;
            }
            drawn = Some((to.max(from + 0.5), class));
            let sizes = [from, y + depth * 4.0, (to - from).max(0.5), THICK - depth * 4.0];
            rect(&mut svg, class, sizes, &hint(span));
        }
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copies(count: usize) -> Vec<Span> {
        let kind = SpanKind::Copy { direction: Direction::HostToDevice, bytes: 8 };
        let track = Track::Device { device: "cuda:0 (A <B>)".into(), stream: 1 };
        let span = |i| Span {
            name: "copy to device".into(),
            track: track.clone(),
            start: i as f64,
            seconds: if i == 1 { 0.5 } else { 0.25 },
            host_seconds: 0.0,
            kind,
        };
        (0..count).map(span).collect()
    }

    fn rects(svg: &str) -> Vec<[f64; 4]> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let rects = document.descendants().filter(|node| node.has_tag_name("rect"));
        let get = |node: roxmltree::Node<'_, '_>| {
            ["x", "y", "width", "height"].map(|name| node.attribute(name).unwrap().parse().unwrap())
        };
        rects.map(get).collect()
    }

    #[test]
    fn bars_are_as_tall_as_calls_are_long() {
        let bars = rects(&calls(&copies(3)));
        assert_eq!(bars.iter().map(|bar| bar[3]).collect::<Vec<_>>(), [75.0, 150.0, 75.0]);
        assert_eq!(calls(&[]), "");
    }

    #[test]
    fn more_calls_than_columns_leave_the_longest() {
        let bars = rects(&calls(&copies(100_000)));
        assert!(bars.len() < 1000 && bars[0][3] > bars[1][3], "{}", bars.len());
    }

    #[test]
    fn strips_are_where_and_as_long_as_things_happened() {
        let strips = rects(&timeline(&copies(3)));
        let scale = (RIGHT - LEFT) / 2.25;
        for (strip, (start, seconds)) in strips.iter().zip([(0.0, 0.25), (1.0, 0.5), (2.0, 0.25)]) {
            assert!((strip[0] - LEFT - start * scale).abs() < 0.01 && (strip[2] - seconds * scale).abs() < 0.01);
        }
        assert_eq!(strips.len(), 3);
        assert!(rects(&timeline(&copies(100_000))).len() < 3000);
        assert_eq!(enlarged(&copies(MANY - 1)), "");
        // The second of all calls is the longest; more of them come as soon as possible at the very end.
        let mut more = copies(1000);
        more.iter_mut().skip(700).for_each(|span| span.start = 700.0 + (span.start - 700.0) / 2.0);
        let shown = rects(&enlarged(&more));
        assert_eq!(shown.len(), MANY);
        assert!((shown[0][0] - LEFT).abs() < 0.01 && shown[0][2] > 1.9 * shown[0][3] / THICK, "{:?}", shown[0]);
        assert_eq!(timeline(&[]), "");
    }
}
