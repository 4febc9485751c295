//! How a run ends: the exit code, and an error as one line on stderr.
//!
//! ```text
//! 0    done; also when the program that read our output stopped reading
//! 1    failed, or `compare` found a difference
//! 2    the command line is wrong
//! 3    the device asked for is not there
//! 130  interrupted
//! ```

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind as ParseErrorKind;
use halotile::apsp;
use halotile::entropy;
use halotile::exec::DeviceError;
use halotile::io::FormatError;

use crate::args::Args;
use crate::{console, interrupt, stdout};

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const DEVICE_UNAVAILABLE: u8 = 3;
const INTERRUPTED: u8 = 130;

/// What a command did when nothing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// What was asked for.
    Success,
    /// It compared, and there is a difference.
    Different,
}

/// The command line cannot be meant, for a reason that the parser does not see.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// The device asked for is not there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DeviceUnavailable(pub String);

/// Ends a run of a command.
pub fn exit_code(result: anyhow::Result<Done>) -> ExitCode {
    let error = match result {
        Ok(Done::Success) => return ExitCode::SUCCESS,
        Ok(Done::Different) => return ExitCode::from(FAILED),
        Err(error) => error,
    };
    if interrupt::requested() {
        interrupt::say();
        return ExitCode::from(INTERRUPTED);
    }
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    console::say(&format!("{error:#}"));
    ExitCode::from(error.chain().find_map(code).unwrap_or(FAILED))
}

/// Ends a run whose command line was not understood, or asked for help.
pub fn exit_code_of_parsing(error: &clap::Error) -> ExitCode {
    use ParseErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand) {
        if let (false, Err(closed)) = (error.use_stderr(), stdout::open()) {
            console::say(&closed.to_string());
            return ExitCode::from(FAILED);
        }
        // A reader that has gone needs no help.
        let _ = error.print();
        return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
    }
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    console::say(&one_line(&error.to_string(), &command_of(arguments)));
    ExitCode::from(USAGE)
}

/// The parser's message, several paragraphs with a usage and a hint to `--help`, as one line.
fn one_line(message: &str, command: &str) -> String {
    let paragraphs = message.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "));
    let told = paragraphs.filter(|p| !p.starts_with("Usage:") && !p.starts_with("For more information"));
    let told: Vec<_> = told.map(|p| p.strip_prefix("error: ").unwrap_or(&p).to_owned()).collect();
    format!("{}; see {command} --help", told.join("; "))
}

/// The command that the arguments name, as far as it can be made out.
fn command_of(arguments: impl Iterator<Item = String>) -> String {
    let (mut command, mut name) = (Args::command(), "halotile".to_owned());
    for argument in arguments {
        let Some(found) = command.find_subcommand(&argument).cloned() else { break };
        name = format!("{name} {argument}");
        command = found;
    }
    name
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    let io = io.or_else(|| error.downcast_ref::<FormatError>().and_then(FormatError::io));
    // The engines' error shows the file's as its own, and hides it.
    let io = io.or_else(|| match error.downcast_ref::<entropy::Error>() {
        Some(entropy::Error::File(error)) => error.io(),
        _ => None,
    });
    io.is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
}

fn code(error: &(dyn std::error::Error + 'static)) -> Option<u8> {
    if error.is::<Usage>() {
        return Some(USAGE);
    }
    let device = error.downcast_ref::<DeviceError>().or_else(|| match error.downcast_ref::<entropy::Error>() {
        Some(entropy::Error::Device(device)) => Some(device),
        _ => None,
    });
    let device = device.or_else(|| match error.downcast_ref::<apsp::Error>() {
        Some(apsp::Error::Device(device)) => Some(device),
        _ => None,
    });
    (error.is::<DeviceUnavailable>() || matches!(device, Some(DeviceError::Absent(_)))).then_some(DEVICE_UNAVAILABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parsers_paragraphs_become_one_line() {
        assert_eq!(
            one_line(
                "error: the following required arguments were not provided:\n  <INPUT>\n\n\
                 Usage: halotile entropy <INPUT>\n\nFor more information, try '--help'.\n",
                "halotile entropy"
            ),
            "the following required arguments were not provided: <INPUT>; see halotile entropy --help"
        );
        let of = |line: &str| command_of(line.split(' ').map(str::to_owned));
        assert_eq!(of("generate grid --rows x"), "halotile generate grid");
        assert_eq!(of("--frobnicate"), "halotile");
    }

    #[test]
    fn exit_codes_follow_the_cause_whatever_is_wrapped_around_it() {
        let find = |error: anyhow::Error| error.context("f").chain().find_map(code);
        assert_eq!(find(Usage("x".into()).into()), Some(USAGE));
        assert_eq!(find(DeviceError::Absent("x".into()).into()), Some(DEVICE_UNAVAILABLE));
        assert_eq!(find(entropy::Error::Device(DeviceError::Absent("x".into())).into()), Some(DEVICE_UNAVAILABLE));
        assert_eq!(find(apsp::Error::Device(DeviceError::Absent("x".into())).into()), Some(DEVICE_UNAVAILABLE));
        assert_eq!(find(anyhow::anyhow!("x")), None);
        let gone = anyhow::Error::from(halotile::io::write_failed("-", ErrorKind::BrokenPipe.into())).context("f");
        assert!(gone.chain().any(is_broken_pipe));
    }
}
