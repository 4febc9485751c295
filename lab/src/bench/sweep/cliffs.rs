//! The worst cliffs: the largest ratios between the times of neighbours.
//!
//! The ratio is of plain times. A window of 255 × 255 cells may take longer than one of 101 × 101, and richness less than Shannon's
//! entropy; whether a ratio is a cliff or what the work costs is for the reader to judge, who sees both settings and both kernels.

use serde::{Deserialize, Serialize};

use super::axes::{Axes, Axis, Setting, setting};
use crate::bench::Row;

/// Cliffs that a record keeps.
pub const MOST_CLIFFS: usize = 5;

/// Two neighbours and the ratio of their times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cliff {
    /// What they differ in.
    pub axis: Axis,
    /// The slower one's time over the faster one's: 1 or more.
    pub ratio: f64,
    /// The one that takes longer.
    pub slower: Edge,
    /// The other.
    pub faster: Edge,
}

/// One side of a cliff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// What was asked for.
    #[serde(flatten)]
    pub setting: Setting,
    /// The kernel that did it; null for the CPU engine.
    pub kernel: Option<String>,
    /// The median of its times, in seconds.
    pub seconds: f64,
}

/// The largest ratios between neighbours among the rows that have times, the largest first; `most` of them at most.
pub(super) fn worst(axes: &Axes, rows: &[Row], most: usize) -> Vec<Cliff> {
    let edge = |row: &Row| {
        let timing = row.timing()?;
        Some(Edge { setting: setting(row)?, kernel: timing.chosen.clone(), seconds: timing.time.median })
    };
    let edges: Vec<Edge> = rows.iter().filter_map(edge).collect();
    let mut cliffs = Vec::new();
    for (i, a) in edges.iter().enumerate() {
        for b in &edges[i + 1..] {
            let Some(axis) = axes.step(&a.setting, &b.setting) else { continue };
            let (slower, faster) = if a.seconds >= b.seconds { (a, b) } else { (b, a) };
            let ratio = slower.seconds / faster.seconds;
            // A clock that does not see a run gives 0, and no ratio.
            if ratio.is_finite() {
                cliffs.push(Cliff { axis, ratio, slower: slower.clone(), faster: faster.clone() });
            }
        }
    }
    cliffs.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    cliffs.truncate(most);
    cliffs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Clock, Outcome, Times, Timing, Unit};

    /// A table of 2 numbers of classes, 3 sizes and a disk, with these times; none where a time is missing.
    fn cliffs(times: [[Option<f64>; 3]; 3], most: usize) -> Vec<Cliff> {
        use super::super::axes::{Precision, Shape};
        let axes = Axes {
            sizes: vec![3, 5, 9],
            levels: vec![16, 17],
            nodata: vec![false],
            measures: vec![halotile::measure::Measure::Shannon],
            shapes: Shape::ALL.to_vec(),
            precisions: vec![Precision::F32],
        };
        let settings = axes.settings();
        // The disk of 17 classes, which comes last, is not timed.
        assert_eq!(settings.len(), 12);
        let row = |(&setting, seconds): (&Setting, &Option<f64>)| {
            let timed = |seconds: f64| {
                // The median counts.
                let time = Times::new(Clock::Wall, vec![seconds / 100.0, seconds, seconds * 100.0]);
                Timing { chosen: Some(format!("k{}", setting.levels)), ..Timing::new(time, Unit::Cells, 1.0) }
            };
            let skipped = || Outcome::Skipped { reason: "x".into() };
            let outcome = seconds.map_or_else(skipped, |seconds| Outcome::Timed(Box::new(timed(seconds))));
            Row { outcome, ..setting.row("auto", "device") }
        };
        let rows: Vec<Row> = settings.iter().zip(times.as_flattened()).map(row).collect();
        worst(&axes, &rows, most)
    }

    #[test]
    fn the_largest_ratio_between_neighbours_comes_first() {
        // 16 classes, 17 classes, the disk.
        let found = cliffs(
            [
                [Some(1.0), Some(2.0), Some(3.0)],
                [Some(8.0), Some(2.5), Some(3.0)],
                // 100 times the time of 17 classes at 9, which are no neighbours.
                [Some(1.5), Some(30.0), Some(300.0)],
            ],
            5,
        );
        let told: Vec<_> = found.iter().map(|c| (c.axis, c.ratio, c.slower.seconds, c.faster.seconds)).collect();
        assert_eq!(
            told,
            [
                (Axis::Shape, 100.0, 300.0, 3.0),
                (Axis::Size, 20.0, 30.0, 1.5),
                (Axis::Shape, 15.0, 30.0, 2.0),
                (Axis::Size, 10.0, 300.0, 30.0),
                (Axis::Levels, 8.0, 8.0, 1.0),
            ]
        );
        let levels = &found[4];
        assert_eq!((levels.slower.setting.levels, levels.faster.setting.levels), (17, 16));
        assert_eq!((levels.slower.kernel.as_deref(), levels.faster.kernel.as_deref()), (Some("k17"), Some("k16")));
    }

    #[test]
    fn what_has_no_time_has_no_neighbour() {
        let found = cliffs([[Some(1.0), None, Some(3.0)], [None, Some(0.0), None], [Some(2.0), None, None]], 5);
        // 3 and 9 have 5 between them, which has no time.
        let told: Vec<_> = found.iter().map(|cliff| (cliff.axis, cliff.ratio)).collect();
        assert_eq!(told, [(Axis::Shape, 2.0)]);
        assert!(cliffs([[None; 3]; 3], 5).is_empty());
        assert!(cliffs([[Some(1.0); 3]; 3], 0).is_empty());
    }
}
