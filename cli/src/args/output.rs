//! The place for results, which can be said in two ways, and inputs beyond the first.

use std::ops::Deref;
use std::path::PathBuf;

use clap::{ArgMatches, FromArgMatches, ValueHint};

use super::OUTPUT;

/// The place for results: OUTPUT, or what -o names in its place. With -o all other names are of inputs.
#[derive(Debug)]
pub struct OutputArg {
    output: PathBuf,
    /// Inputs after the first.
    pub more: Vec<PathBuf>,
    /// It was the last of several names: -o has to say which one it is.
    pub is_guessed: bool,
}

/// Both ways to say it, of which one is there.
#[derive(Debug, clap::Args)]
struct OutputPlaces {
    /// The results; - is standard output. {measure} in it stands for the name of each measure. With -o: more inputs
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "named_output", num_args = 1..)]
    output: Vec<PathBuf>,
    /// The results, in place of OUTPUT
    ///
    /// All other names are of inputs then: GeoTIFFs of one grid that lie side by side, which become one raster.
    #[arg(help_heading = OUTPUT, id = "named_output", short = 'o', long = "output", value_name = "FILE", value_hint = ValueHint::FilePath)]
    named: Option<PathBuf>,
}

impl Deref for OutputArg {
    type Target = PathBuf;

    fn deref(&self) -> &PathBuf {
        &self.output
    }
}

impl FromArgMatches for OutputArg {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let OutputPlaces { output: mut more, named } = OutputPlaces::from_arg_matches(matches)?;
        let is_guessed = named.is_none() && more.len() > 1;
        // The parser has seen to it that one is there.
        let output = named.or_else(|| more.pop());
        let output = output.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingRequiredArgument))?;
        Ok(Self { output, more, is_guessed })
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
