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

use clap::error::ErrorKind as ParseErrorKind;
use halotile::entropy;
use halotile::exec::DeviceError;
use halotile::io::FormatError;

use crate::{console, interrupt};

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const ABSENT: u8 = 3;
const INTERRUPTED: u8 = 130;

/// What a command did when nothing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// What was asked for.
    Well,
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
pub struct Absent(pub String);

/// Ends a run of a command.
pub fn of_running(result: anyhow::Result<Done>) -> ExitCode {
    let error = match result {
        Ok(Done::Well) => return ExitCode::SUCCESS,
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
pub fn of_parsing(error: &clap::Error) -> ExitCode {
    use ParseErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand) {
        // A reader that has gone needs no help.
        let _ = error.print();
        return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
    }
    console::say(&one_line(&error.to_string()));
    ExitCode::from(USAGE)
}

/// The parser's message, several paragraphs with a usage and a hint to `--help`, as one line.
fn one_line(message: &str) -> String {
    let mut command = "halotile".to_owned();
    let mut parts = Vec::new();
    for paragraph in message.split("\n\n") {
        let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(usage) = line.strip_prefix("Usage: ") {
            // The subcommands stand before the first option or argument.
            command = usage.split(' ').take_while(|w| w.bytes().all(|b| b.is_ascii_lowercase())).collect::<Vec<_>>().join(" ");
        } else if !line.is_empty() && !line.starts_with("For more information") {
            parts.push(line.strip_prefix("error: ").unwrap_or(&line).to_owned());
        }
    }
    format!("{}; see {command} --help", parts.join("; "))
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    let io = io.or_else(|| error.downcast_ref::<FormatError>().and_then(FormatError::io));
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
    (error.is::<Absent>() || matches!(device, Some(DeviceError::Absent(_)))).then_some(ABSENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parsers_paragraphs_become_one_line() {
        assert_eq!(
            one_line(
                "error: the following required arguments were not provided:\n  <INPUT>\n\n\
                 Usage: halotile entropy <INPUT>\n\nFor more information, try '--help'.\n"
            ),
            "the following required arguments were not provided: <INPUT>; see halotile entropy --help"
        );
        assert_eq!(
            one_line("error: invalid value 'x' for '--of <F>'\n  [possible values: a, b]\n\nFor more information, try '--help'.\n"),
            "invalid value 'x' for '--of <F>' [possible values: a, b]; see halotile --help"
        );
    }

    #[test]
    fn exit_codes_follow_the_cause_whatever_is_wrapped_around_it() {
        let find = |error: anyhow::Error| error.context("f").chain().find_map(code);
        assert_eq!(find(Usage("x".into()).into()), Some(USAGE));
        assert_eq!(find(DeviceError::Absent("x".into()).into()), Some(ABSENT));
        assert_eq!(find(entropy::Error::Device(DeviceError::Absent("x".into())).into()), Some(ABSENT));
        assert_eq!(find(anyhow::anyhow!("x")), None);
        let gone = anyhow::Error::from(halotile::io::write_failed("-", ErrorKind::BrokenPipe.into())).context("f");
        assert!(gone.chain().any(is_broken_pipe));
    }
}
