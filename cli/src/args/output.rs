//! The place for results, which can be said in two ways.

use std::ops::Deref;
use std::path::PathBuf;

use clap::{ArgMatches, FromArgMatches, ValueHint};

use super::OUTPUT;

/// The place for results: OUTPUT, or what -o names in its place.
#[derive(Debug)]
pub struct OutputArg(PathBuf);

/// Both ways to say it, of which one is there.
#[derive(Debug, clap::Args)]
struct OutputPlaces {
    /// The results; - is standard output. {measure} in it stands for the name of each measure
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "named_output")]
    output: Option<PathBuf>,
    /// The results, in place of OUTPUT
    #[arg(help_heading = OUTPUT, id = "named_output", short = 'o', long = "output", value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    named: Option<PathBuf>,
}

impl Deref for OutputArg {
    type Target = PathBuf;

    fn deref(&self) -> &PathBuf {
        &self.0
    }
}

impl FromArgMatches for OutputArg {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let OutputPlaces { output, named } = OutputPlaces::from_arg_matches(matches)?;
        // The parser has seen to it that one is there.
        named.or(output).map(Self).ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingRequiredArgument))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for OutputArg {
    fn augment_args(command: clap::Command) -> clap::Command {
        OutputPlaces::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        OutputPlaces::augment_args_for_update(command)
    }
}
