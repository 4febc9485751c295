//! Completions and man pages, both made from the same description of the command line as `--help`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::outcome::{Done, Usage};
use crate::stdout;

pub fn completions(shell: Shell) -> anyhow::Result<Done> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "halotile", &mut script);
    stdout::print(&script)?;
    Ok(Done::Success)
}

pub fn man(names: &[String]) -> anyhow::Result<Done> {
    let mut command = Args::command();
    // Gives subcommands their full names, "halotile-generate-grid".
    command.build();
    for name in names {
        let found = command.find_subcommand(name).cloned();
        command =
            found.ok_or_else(|| Usage(format!("there is no command {:?}; see halotile --help", names.join(" "))))?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    stdout::print(&page)?;
    Ok(Done::Success)
}
