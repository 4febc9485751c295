//! Which line of a text each number of a grid stands on, for messages: runs of lines that have as many numbers each.
//!
//! A list of lines would be as long as the grid where each number has a line of its own. Most texts are one run; one that has too many is
//! told without lines from there on.

/// Runs that are kept.
const MOST: usize = 1 << 16;

/// The lines of the numbers of a text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines {
    runs: Vec<Run>,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    /// The first number of its first line.
    first: usize,
    line: u64,
    /// The last of its lines, which may have more numbers than the others.
    last: u64,
    /// Numbers of a line; 0 as long as there is one line.
    each: usize,
}

impl Lines {
    /// Says that the number `first` is the first of a line. Numbers and lines ascend.
    pub(crate) fn begin(&mut self, first: usize, line: u64) {
        if let Some(run) = self.runs.last_mut() {
            if run.each == 0 && line == run.line + 1 {
                run.each = first - run.first;
            }
            let lines = line - run.line;
            if run.each > 0
                && line == run.last + 1
                && lines.checked_mul(run.each as u64) == Some((first - run.first) as u64)
            {
                run.last = line;
                return;
            }
        }
        // The last one is the end: what comes after it has no line.
        if self.runs.len() <= MOST {
            self.runs.push(Run { first, line, last: line, each: 0 });
        }
    }

    /// The line that a number stands on, if it is known.
    pub(crate) fn of(&self, number: usize) -> Option<u64> {
        let run = self.runs.partition_point(|run| run.first <= number).checked_sub(1)?;
        let Run { first, line, last, each } = *self.runs.get(run).filter(|_| run < MOST)?;
        Some(last.min(line + (number - first).checked_div(each).unwrap_or(0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_the_line_that_it_was_given() {
        // Rows of three, an empty line, one of two, single numbers, and three on a line again.
        let starts = [(0, 2), (3, 3), (6, 5), (9, 6), (11, 7), (12, 8), (13, 9), (16, 10)];
        let mut lines = Lines::default();
        starts.iter().for_each(|&(first, line)| lines.begin(first, line));
        for number in 0..18 {
            let expected = starts.iter().rev().find(|(first, _)| *first <= number).map(|&(_, line)| line);
            assert_eq!(lines.of(number), expected, "{number}");
        }
        assert_eq!(Lines::default().of(0), None);
    }

    /// A long line and an empty one after it: as many numbers as if there were none of either.
    #[test]
    fn a_line_that_makes_up_for_an_empty_one_is_no_part_of_a_run() {
        let mut lines = Lines::default();
        [(0, 4), (3, 5), (9, 7)].into_iter().for_each(|(first, line)| lines.begin(first, line));
        assert_eq!([0, 2, 3, 7, 8, 9].map(|number| lines.of(number)), [4, 4, 5, 5, 5, 7].map(Some));
    }

    #[test]
    fn a_text_of_one_shape_is_one_run_and_a_wild_one_ends() {
        let mut lines = Lines::default();
        (0..1_000_000).for_each(|row| lines.begin(row * 7, 2 + row as u64));
        assert_eq!((lines.runs.len(), lines.of(7 * 999_999 + 6)), (1, Some(1_000_001)));
        let mut lines = Lines::default();
        (0..1_000_000).for_each(|i| lines.begin(i * i, 1 + i as u64));
        assert!(lines.runs.len() <= MOST + 1);
        assert_eq!((lines.of(50 * 50), lines.of(999_999 * 999_999)), (Some(51), None));
    }
}
