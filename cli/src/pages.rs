//! Completions and man pages, both made from the same description of the command line as `--help`.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;
use halotile::io::write_failed;

use crate::args::Args;
use crate::outcome::{Done, Usage};

pub fn completions(shell: Shell) -> anyhow::Result<Done> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "halotile", &mut script);
    print(&script)
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
    print(&page)
}

fn print(bytes: &[u8]) -> anyhow::Result<Done> {
    let mut out = std::io::stdout();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| write_failed("standard output", e))?;
    Ok(Done::Well)
}
