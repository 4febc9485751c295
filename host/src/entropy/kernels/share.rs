//! How the rows of a frame are shared by workers that slide down them: each piece has a start-up cost, and the last round should not be half empty.

use halotile_kernels::entropy as kernels;

use crate::entropy::frame::Frame;

/// How many rows each of the pieces gets into which `count` rows are cut, so that `across` columns of pieces make whole
/// rounds for `slots` workers that are all equally fast; a piece costs its rows plus `startup` rows' worth of work.
pub(super) fn rows_in_rounds(count: u32, across: u32, slots: u32, startup: u32) -> u32 {
    // Fewer would be mostly start-up.
    const LEAST: u32 = 4;
    let cost = |rows: u32| {
        let units = u64::from(across) * u64::from(count.div_ceil(rows));
        units.div_ceil(u64::from(slots)) * u64::from(rows + startup)
    };
    let whole = |rounds: u32| {
        let pieces = (u64::from(rounds) * u64::from(slots) / u64::from(across.max(1))).clamp(1, u64::from(count));
        count.div_ceil(pieces as u32).max(LEAST)
    };
    (1..=8).map(whole).min_by_key(|&rows| cost(rows)).unwrap_or(count)
}

/// The wait for the slowest worker where all pieces take about as long, in rounds.
pub(super) const SHORT_WAIT: f64 = 0.2;

/// How many rows each of the pieces gets into which `count` rows are cut, so that `across` columns of pieces keep
/// `slots` workers busy: the whole takes as many rounds as the busiest worker has pieces, and a piece its rows plus
/// `startup` rows' worth of work. Several rounds even out the wait for the slowest worker of a single one, which is `wait` of a round.
pub(super) fn share_rows(count: u32, across: u32, slots: u32, startup: u32, wait: f64) -> u32 {
    let mut best = (f64::INFINITY, count);
    let most = (count / (24 + startup / 2)).clamp(1, 60_000);
    for pieces in (1..=most).take(4096) {
        let rows_each = count.div_ceil(pieces);
        let rounds = (u64::from(across) * u64::from(count.div_ceil(rows_each))).div_ceil(u64::from(slots));
        let cost = (rounds as f64 + wait) * f64::from(rows_each + startup);
        if cost < best.0 {
            best = (cost, rows_each);
        }
    }
    best.1
}

/// How many rows a unit of the kernels on the tensor cores has inside a frame and at its border, and how many units that makes, for so many `workers` that take
/// one after another. A unit costs its rows plus `startup` rows' worth of work; `units` counts them.
pub(super) fn share_units(
    frame: &Frame<'_>,
    startup: u32,
    workers: u32,
    units: impl Fn((u32, u32)) -> u32,
) -> ((u32, u32), u32) {
    let strips = frame.cols.div_ceil(kernels::UNIT_COLS);
    let each = |pieces: u32| {
        let rows_each = frame.count.div_ceil(pieces);
        // A row at the border takes up to twice as long.
        (rows_each, (rows_each / 2).max(1))
    };
    let cost = |each: (u32, u32)| u64::from(units(each).div_ceil(workers)) * u64::from(each.0 + startup);
    let most = frame.count.div_ceil(4).min(4 * workers.div_ceil(strips));
    let best = (1..=most).map(each).min_by_key(|each| cost(*each)).unwrap_or((frame.count, frame.count));
    (best, units(best))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_make_whole_rounds() {
        // 83 strips on 132 multiprocessors with 24 warps each: 38 pieces of a strip, and nearly all warps have one.
        assert_eq!(rows_in_rounds(10_240, 83, 3168, 6), 270);
        assert_eq!(rows_in_rounds(2560, 21, 3168, 6), 18);
        assert_eq!(rows_in_rounds(400, 4, 3168, 6), 4);
        assert_eq!(rows_in_rounds(3, 4, 3168, 6), 4);
        // More strips than workers.
        assert_eq!(rows_in_rounds(10, 100_000, 3168, 6), 10);
    }

    #[test]
    fn rows_are_shared_without_leaving_a_last_round_half_empty() {
        // 83 strips of the sliding kernel on 132 multiprocessors with 16 warps each.
        let rows_each = share_rows(10_240, 83, 132 * 16, 3, SHORT_WAIT);
        let units = 83 * 10_240u32.div_ceil(rows_each);
        let rounds = units.div_ceil(2112);
        assert!(f64::from(units) / f64::from(rounds * 2112) > 0.9, "{rows_each} rows each, {units} units");
        assert_eq!(share_rows(1, 1, 2112, 3, SHORT_WAIT), 1);
        assert!(share_rows(u32::MAX / 4, 1, 2112, 3, SHORT_WAIT) > 0);
    }
}
