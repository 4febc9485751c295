//! Memory: what is needed and what there is, before any of it is taken.

use halotile::apsp::{Weight, memory_needed};

use crate::args::ApspArgs;
use crate::machine::{self, available, memory_available};

/// What is wanted and allowed.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    weight: Weight,
    paths: bool,
    /// Bytes; none where no number is given.
    pub allowed: Option<u64>,
    /// Whether the user said it.
    given: bool,
}

impl Memory {
    /// What the options and the machine say.
    pub fn of(args: &ApspArgs) -> Self {
        let given = args.memory.map(|bytes| bytes as u64);
        Self {
            weight: args.weight,
            paths: args.paths.is_some(),
            allowed: given.or_else(memory_available),
            given: given.is_some(),
        }
    }

    /// Bytes that so many vertices need.
    pub fn needed(&self, vertices: usize) -> u128 {
        memory_needed(vertices, self.weight, self.paths)
    }

    /// How much so many vertices need, in words; the error says that there is not so much.
    pub fn admit(&self, vertices: usize) -> Result<String, String> {
        let needed = self.needed(vertices);
        let need = format!("{vertices} vertices need {} of memory", machine::needed(needed));
        match self.allowed.map(u128::from).filter(|&allowed| needed > allowed) {
            None => Ok(need),
            Some(allowed) => {
                let (there, advice) = match self.given {
                    true => ("--memory allows", "allow more"),
                    false => ("free are", "take a smaller graph, or a machine with more memory"),
                };
                let paths = if self.paths { " or leave out --paths, which takes two thirds of it" } else { "" };
                Err(format!("{need}, and {there} {}; {advice}{paths}", available(allowed)))
            }
        }
    }
}
