//! A chart of horizontal bars, as an SVG element: a name on the left, a bar, its figure on the right.
//!
//! Thirty names fit because each has a line of its own and figures stand in a column, not at the ends of bars; there is
//! a chart for each size, not a bar for each size in one chart. The width is that of a phone: a page lays out several side by side,
//! and a phone one below the other. A logarithmic scale begins at a power of ten, so its bars have lengths that can be read
//! off the ticks, but not compared by eye as multiples; the axis says that it is logarithmic.

use std::fmt::Write;

use super::parts::escape;

/// The chart's coordinates: about pixels.
const WIDTH: f64 = 440.0;
/// Where bars begin and end.
const LEFT: f64 = 112.0;
const RIGHT: f64 = 340.0;
/// From one bar to the next.
const PITCH: f64 = 17.0;
const THICK: f64 = 11.0;
/// Height of the title, of each mark's text and of the axis.
const TITLE: f64 = 28.0;
const MARK: f64 = 14.0;
const AXIS: f64 = 40.0;
/// Letters of a name that have room.
const LETTERS: usize = 18;
/// About the width of a letter of the small text.
const LETTER: f64 = 5.6;

/// How values become lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// From 0 to an end.
    Linear { end: f64 },
    /// From a power of ten.
    Logarithmic,
}

/// A bar.
pub struct Bar {
    pub label: String,
    /// Its colour.
    pub class: &'static str,
    /// Its length; nothing for what is wrong.
    pub value: Option<f64>,
    /// From the smallest to the largest value.
    pub spread: Option<(f64, f64)>,
    /// Its figure.
    pub text: String,
    /// What is shown when it is pointed at.
    pub hint: String,
}

/// A limit, drawn through all bars.
pub struct Mark {
    pub value: f64,
    pub class: &'static str,
    pub text: String,
}

/// A chart.
pub struct Chart {
    /// Unique in the page.
    pub id: String,
    pub title: String,
    /// What it shows, for those who do not see it.
    pub description: String,
    pub axis: String,
    pub scale: Scale,
    pub bars: Vec<Bar>,
    pub marks: Vec<Mark>,
}

/// A scale with its ends.
struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Ruler {
    fn new(chart: &Chart) -> Self {
        let bars = chart.bars.iter().flat_map(|bar| {
            let (min, max) = bar.spread.unzip();
            [bar.value, min, max].into_iter().flatten()
        });
        let values = bars.chain(chart.marks.iter().map(|mark| mark.value)).filter(|v| v.is_finite() && *v > 0.0);
        let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        match chart.scale {
            Scale::Linear { end } => Self { scale: chart.scale, low: 0.0, high: end },
            Scale::Logarithmic if high > 0.0 => {
                // A bar of no length at the very left would look like none.
                let low = 10f64.powf((low * 0.95).log10().floor());
                let high = 10f64.powf(high.log10().ceil());
                Self { scale: Scale::Logarithmic, low, high: high.max(low * 10.0) }
            }
            Scale::Logarithmic => Self { scale: Scale::Logarithmic, low: 1.0, high: 10.0 },
        }
    }

    /// Where a value is.
    fn x(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear { .. } => value / self.high,
            Scale::Logarithmic => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    /// Values with a line and, if they have room, a number.
    fn ticks(&self) -> Vec<(f64, Option<String>)> {
        match self.scale {
            Scale::Linear { .. } => {
                (0..=4).map(|i| self.high * f64::from(i) / 4.0).map(|v| (v, Some(number(v)))).collect()
            }
            Scale::Logarithmic => {
                let first = self.low.log10().round() as i32;
                let last = self.high.log10().round() as i32;
                // The longest numbers, 0.001 and 1000, take some 30.
                let every = (34.0 * f64::from(last - first) / (RIGHT - LEFT)).ceil().max(1.0) as i32;
                let label = |power: i32| ((power - first) % every == 0).then(|| number(10f64.powi(power)));
                (first..=last).map(|power| (10f64.powi(power), label(power))).collect()
            }
        }
    }
}

/// The smallest of 1, 2, 4, 6, 8 times a power of ten that is at least `value`: a quarter of it is a short number.
pub fn round(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|&end| end >= value * 0.999)
        .unwrap_or(10.0 * power)
}

fn number(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value) {
        format!("{value:.0e}")
    } else {
        format!("{}", (value * 1e6).round() / 1e6)
    }
}

impl Chart {
    /// True when it has no bar to show.
    pub fn is_empty(&self) -> bool {
        self.bars.iter().all(|bar| bar.value.is_none())
    }

    /// The element.
    pub fn svg(&self) -> String {
        let ruler = Ruler::new(self);
        let top = TITLE + MARK * self.marks.len() as f64;
        let bottom = top + PITCH * self.bars.len().max(1) as f64 + 4.0;
        let height = bottom + AXIS;
        let (id, title) = (&self.id, escape(&self.title));
        let mut svg = format!(
            "<svg class=\"chart\" id=\"{id}\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{title}</title>\n\
             <desc id=\"{id}-desc\">{}</desc>\n<text class=\"title\" x=\"12\" y=\"19\">{title}</text>\n",
            escape(&self.description)
        );
        // Writing to a string cannot fail.
        let _ = self.draw(&mut svg, &ruler, top, bottom);
        svg += "</svg>\n";
        svg
    }

    fn draw(&self, svg: &mut String, ruler: &Ruler, top: f64, bottom: f64) -> std::fmt::Result {
        for (value, label) in ruler.ticks() {
            let x = ruler.x(value);
            writeln!(svg, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>")?;
            if let Some(label) = label {
                writeln!(svg, "<text class=\"tick middle\" x=\"{x:.1}\" y=\"{:.1}\">{label}</text>", bottom + 13.0)?;
            }
        }
        let middle = (LEFT + RIGHT) / 2.0;
        let axis = escape(&self.axis);
        writeln!(svg, "<text class=\"axis middle\" x=\"{middle}\" y=\"{:.1}\">{axis}</text>", bottom + 29.0)?;
        if self.is_empty() {
            writeln!(
                svg,
                "<text class=\"axis middle\" x=\"{middle}\" y=\"{:.1}\">nothing to show here</text>",
                top + 13.0
            )?;
        }
        for (i, bar) in self.bars.iter().enumerate() {
            bar.draw(svg, ruler, top + 2.0 + PITCH * i as f64)?;
        }
        for (i, mark) in self.marks.iter().enumerate() {
            let (x, y) = (ruler.x(mark.value), TITLE + MARK * i as f64);
            let (class, text) = (mark.class, escape(&mark.text));
            writeln!(
                svg,
                "<line class=\"mark {class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom}\"/>",
                y + 2.0
            )?;
            // The text stands right of the line, or left where it would leave the chart.
            let right = x + 4.0 + mark.text.len() as f64 * LETTER < WIDTH - 6.0;
            let (class, x) = if right { ("limit", x + 4.0) } else { ("limit end", x - 4.0) };
            writeln!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>", y + 10.0)?;
        }
        Ok(())
    }
}

/// The end of a name that is too long, which is where kernels of a family differ.
fn fitting(name: &str) -> String {
    let letters = name.chars().count();
    if letters <= LETTERS {
        return name.to_owned();
    }
    std::iter::once('…').chain(name.chars().skip(letters + 1 - LETTERS)).collect()
}

impl Bar {
    fn draw(&self, svg: &mut String, ruler: &Ruler, y: f64) -> std::fmt::Result {
        let (label, hint, text) = (escape(&fitting(&self.label)), escape(&self.hint), escape(&self.text));
        let base = y + THICK - 2.0;
        writeln!(svg, "<g class=\"bar\"><title>{hint}</title>")?;
        let (row, wide) = (y - (PITCH - THICK) / 2.0, WIDTH - 8.0);
        writeln!(svg, "<rect class=\"hit\" x=\"4\" y=\"{row:.1}\" width=\"{wide}\" height=\"{PITCH}\" rx=\"3\"/>")?;
        writeln!(svg, "<text class=\"end\" x=\"{}\" y=\"{base:.1}\">{label}</text>", LEFT - 6.0)?;
        if let Some(value) = self.value {
            let width = (ruler.x(value) - LEFT).max(1.0);
            let class = self.class;
            writeln!(
                svg,
                "<rect class=\"length {class}\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{THICK}\" rx=\"1.5\"/>"
            )?;
        }
        if let Some((min, max)) = self.spread {
            let (from, to, at) = (ruler.x(min), ruler.x(max), y + THICK / 2.0);
            // Shorter than it is wide it would be a blot.
            if to - from >= 2.0 {
                writeln!(
                    svg,
                    "<line class=\"spread\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"
                )?;
            }
        }
        let class = if self.value.is_some() { "value end" } else { "value none end" };
        writeln!(svg, "<text class=\"{class}\" x=\"{}\" y=\"{base:.1}\">{text}</text></g>", WIDTH - 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(value: f64) -> Bar {
        Bar {
            label: "v<1>".into(),
            class: "rung",
            value: Some(value),
            spread: None,
            text: "1 & 2".into(),
            hint: "\"h\"".into(),
        }
    }

    fn chart(scale: Scale, values: &[f64]) -> Chart {
        let bars = values.iter().copied().map(bar).collect();
        let (id, title) = ("c".to_owned(), "a < b".to_owned());
        Chart { id, title, description: "d".into(), axis: "x".into(), scale, bars, marks: Vec::new() }
    }

    fn lengths(svg: &str) -> Vec<f64> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let bars = document.descendants().filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("length ")));
        bars.map(|n| n.attribute("width").unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn lengths_are_in_proportion() {
        let found = lengths(&chart(Scale::Linear { end: 40.0 }, &[10.0, 20.0, 40.0]).svg());
        assert_eq!(found, [57.0, 114.0, 228.0]);
        // From 0.1 (1 would have no length) to 100: 0.1 is the left end, each power of ten a third.
        let found = lengths(&chart(Scale::Logarithmic, &[1.0, 10.0, 100.0]).svg());
        assert_eq!(found, [76.0, 152.0, 228.0]);
    }

    #[test]
    fn text_is_escaped_and_the_element_well_formed() {
        let svg = chart(Scale::Linear { end: 1.0 }, &[1.0]).svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let text: Vec<_> = document.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect();
        for wanted in ["a < b", "v<1>", "1 & 2", "\"h\""] {
            assert!(text.contains(&wanted), "{wanted}: {svg}");
        }
    }

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!(fitting("ld.shared 16 ways"), "ld.shared 16 ways");
        assert_eq!(fitting("atom.global one word"), "…m.global one word");
    }

    #[test]
    fn odd_values_draw_something() {
        for scale in [Scale::Linear { end: 7.0 }, Scale::Logarithmic] {
            for values in [&[][..], &[0.0], &[1e-9, 1e9], &[5.0], &[f64::NAN], &[f64::INFINITY, 1.0]] {
                let svg = chart(scale, values).svg();
                roxmltree::Document::parse(&svg).unwrap();
                assert!(!svg.contains("inf\"") && !svg.contains("NaN\""), "{values:?}: {svg}");
            }
        }
    }

    #[test]
    fn scales_end_at_round_numbers() {
        for (value, end) in [(43.0, 60.0), (100.0, 100.0), (0.7, 0.8), (8.1, 10.0), (0.0, 1.0)] {
            assert!((round(value) - end).abs() < 1e-9, "{value}: {}", round(value));
        }
        assert_eq!((number(0.001).as_str(), number(1000.0).as_str(), number(12.5).as_str()), ("0.001", "1000", "12.5"));
    }
}
