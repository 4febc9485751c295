//! The colour map: dark violet over blue, teal and green to light yellow, like viridis, but made here by rule.
//!
//! Colours are points in Oklab (Björn Ottosson, 2020), a space in which equal steps look equal. Lightness rises
//! in a straight line from 0.26 to 0.94, so that the picture reads the same in grey and to colour-blind eyes;
//! hue turns from 305° to 105°; chroma follows a parabola that stays inside what a screen can show nearly
//! everywhere (following the limit itself makes bright bands where it has corners), and is cut to the limit
//! where it does not.

/// Cells without a value: a grey that the map does not have.
pub(super) const NODATA: [u8; 3] = [190, 190, 190];

/// The 256 colours, darkest first.
pub(super) fn table() -> Vec<[u8; 3]> {
    (0..256).map(|i| colour(f64::from(i) / 255.0)).collect()
}

/// Which of the 256 colours `value` has on a scale from 0 to `max`.
pub(super) fn index(value: f64, max: f64) -> usize {
    // `as` saturates, and what is not a number (0 of 0) is 0.
    ((value / max).clamp(0.0, 1.0) * 255.0).round() as usize
}

fn colour(t: f64) -> [u8; 3] {
    let lightness = 0.26 + 0.68 * t;
    let hue = (305.0 - 200.0 * t).to_radians();
    let (mut low, mut high) = (0.0, 0.100 + 0.045 * (2.0 * t - 1.0) * (2.0 * t - 1.0));
    for _ in 0..20 {
        let middle = 0.5 * (low + high);
        let shown = linear_rgb(lightness, middle, hue).iter().all(|c| (0.0..=1.0).contains(c));
        *(if shown { &mut low } else { &mut high }) = middle;
    }
    linear_rgb(lightness, low, hue).map(|c| {
        let encoded = if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 };
        (encoded.clamp(0.0, 1.0) * 255.0).round() as u8
    })
}

/// From Oklab (as lightness, chroma, hue) to linear sRGB, with the constants of its definition.
fn linear_rgb(lightness: f64, chroma: f64, hue: f64) -> [f64; 3] {
    let (a, b) = (chroma * hue.cos(), chroma * hue.sin());
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_get_lighter_step_by_step() {
        // Luminance as the eye weighs it, from the bytes that are written.
        let luminance = |c: [u8; 3]| {
            let linear = c.map(|v| (f64::from(v) / 255.0).powf(2.2));
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        let table = table();
        assert!(table.windows(2).all(|pair| luminance(pair[0]) < luminance(pair[1])));
        assert!(luminance(table[0]) < 0.03 && luminance(table[255]) > 0.7);
        assert!(!table.contains(&NODATA));
    }

    #[test]
    fn values_off_the_scale_have_its_ends() {
        assert_eq!([index(-1.0, 2.0), index(0.0, 2.0), index(2.0, 2.0), index(9.0, 2.0)], [0, 0, 255, 255]);
        assert_eq!([index(0.0, 0.0), index(1.0, f64::NAN), index(1.0, f64::INFINITY)], [0, 0, 0]);
    }
}
