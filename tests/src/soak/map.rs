//! Random grids of numbers.

use super::Random;

/// A grid of numbers, and the value that its file says is no data.
#[derive(Clone)]
pub struct Map {
    pub rows: usize,
    pub cols: usize,
    pub values: Vec<f64>,
    /// What the file says of no data.
    pub declared: Option<f64>,
    /// Its type, by NumPy's name without the byte order.
    pub kind: &'static str,
}

/// Bytes of a number.
pub fn bytes(kind: &str) -> usize {
    usize::from(kind.as_bytes()[1] - b'0')
}

/// The least and the largest whole number of a type that are drawn: f64 holds them all exactly.
fn range(kind: &str) -> (f64, f64) {
    match kind {
        "b1" => (0.0, 1.0),
        "u1" => (0.0, 255.0),
        "i1" => (-128.0, 127.0),
        "u2" => (0.0, 65535.0),
        "i2" => (-32768.0, 32767.0),
        "u4" => (0.0, 4_294_967_295.0),
        "i4" => (-2_147_483_648.0, 2_147_483_647.0),
        "f4" => (-16_777_216.0, 16_777_216.0),
        _ => (-9e15, 9e15),
    }
}

impl Map {
    /// A map of a type, of classes in patches. `below`: values are whole, from 0, and below this. `fractions`: they need not be whole.
    pub fn draw(random: &mut Random, kind: &'static str, below: Option<usize>, fractions: bool) -> Self {
        let (rows, cols) = match random.below(8) {
            0 => (1, random.number(1, 200)),
            1 => (random.number(1, 200), 1),
            2 => (random.number(100, 180), random.number(100, 180)),
            _ => (random.number(1, 50), random.number(1, 60)),
        };
        let (low, high) = range(kind);
        let count = random.number(1, 40);
        let fractions = fractions && kind.starts_with('f');
        let palette: Vec<f64> = (0..count)
            .map(|_| match below {
                Some(below) => random.below(below.min(high as usize + 1)) as f64,
                // Eighths are exact in both types.
                None if fractions => random.below(8000) as f64 / 8.0 - 300.0,
                None if random.flip() => (low + random.below(1 << 40) as f64 % (high - low + 1.0)).clamp(low, high),
                None => (random.below(300) as f64 - 20.0).clamp(low, high),
            })
            .collect();
        let patch = random.number(1, 9);
        let seed = random.below(1 << 30);
        let mut values: Vec<f64> = (0..rows * cols)
            .map(|i| {
                let (r, c) = (i / cols / patch, i % cols / patch);
                match random.once_in(5) {
                    true => palette[random.below(count)],
                    false => palette[(r * 7919 + c * 104_729 + seed) % count],
                }
            })
            .collect();
        let declared = random.flip().then(|| match random.below(4) {
            0 if kind.starts_with('f') => f64::NAN,
            1 => palette[random.below(count)],
            _ => (random.below(300) as f64 - 20.0).clamp(low, high),
        });
        if let Some(nodata) = declared {
            for value in values.iter_mut() {
                if random.once_in(6) {
                    *value = nodata;
                }
            }
        }
        if kind.starts_with('f') && random.once_in(3) {
            let at = random.below(values.len());
            values[at] = f64::NAN;
        }
        Self { rows, cols, values, declared, kind }
    }
}
