//! The command line of `halotile bench apsp`.

use halotile::apsp::Weight;
use halotile::choice::Devices;
use halotile_lab::bench::apsp::{GraphKind, Plan, Subject};

use super::{EffortArgs, ExportArgs, Loudness, ProfileArgs, device, named, threads};

pub const HELP: &str = "\
Every kernel is compared with Dijkstra's algorithm before it is timed: all distances of a graph of up to 512 vertices, and of a \
larger one those from 8 to 64 vertices, besides bounds for all the others. One that is wrong stands in the table as WRONG, \
without a time, and the exit code is 1.

The table: \"median ms\" is of the computation alone, by the device's clock; on the CPU it is of the whole, by the wall clock. \
\"Grelax/s\" is the number of vertices cubed over that, whatever a kernel does; \"of ceiling\" its share of what the machine can do: \
on the CPU sums and minima in registers on all threads, measured in the same run; on GPUs 64 relaxations (128 of 16 bits) a clock and \
multiprocessor, computed. \"copies ms\" are to the device and back, \"host ms\" is from host memory to host memory, \
\"faster\" is than the rung before, by the same clock. In the emulator times say nothing of a GPU.

Kernels: cpu is the engine for use, threads the plain one on the CPU; naive, blocked32, blocked64 and tiled run on a device. blocks-SIDE is tiled \
in blocks of SIDE vertices (a multiple of 256) from the host's memory, as where the devices do not hold the matrix; all has none of them.

Without --runs and --min-time everything is timed 30 times, but 3 times are enough if they take 2 seconds.

--export-json writes one object with every raw time: schema, what, halotile, commit, time, machine, devices, options, \
ceilings and results (of (vertices), kernel, place, parameters, before, idea, status, and reason, or time, transfers, host_to_host \
and the rest of the table). --export-csv writes a row for each kernel and number of vertices, --export-markdown a table, --export-html one page \
with charts that needs no network.

Examples:
  halotile bench apsp
  halotile bench apsp --device cpu --kernels cpu --vertices 2048
  halotile bench apsp --device cuda --kernels blocked64,tiled --vertices 4096,24000 --weight i16 --export-json apsp.json
  halotile bench apsp --device cuda:0,1 --kernels tiled,blocks-8192 --vertices 32768
  halotile bench apsp --device emulator --runs 1";

#[derive(Debug, clap::Args)]
pub struct BenchApspArgs {
    /// What to time: all, or a list of names: cpu (the CPU engine), threads, naive, blocked32, blocked64, tiled, blocks-SIDE
    #[arg(long, value_name = "all|LIST", default_value = "all", value_parser = subjects)]
    pub kernels: Subjects,
    /// Vertices of the graphs [default: 512,2048; on GPUs 4096,16384; in the emulator 64]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = vertices)]
    pub vertices: Vec<usize>,
    /// Where to run: auto (cuda:0 if it is there), cpu, cuda, cuda:0,1, emulator
    #[arg(long, default_value = "auto", value_parser = device)]
    pub device: Devices,
    /// Edges. complete: from every vertex to every other; sparse: 8 from each, on average
    #[arg(long, default_value = "complete", value_parser = named(&GraphKind::ALL.map(|kind| (kind.name(), kind))))]
    pub graph: GraphKind,
    /// The least and the largest weight: whole numbers from 0 to 1073741822
    #[arg(long, value_name = "LO..HI", default_value = "1..100", value_parser = weights)]
    pub weights: (u32, u32),
    /// Type of weights and distances
    #[arg(long, default_value = "i32", value_parser = named(&[Weight::I32, Weight::I16, Weight::F32].map(|w| (w.name(), w))))]
    pub weight: Weight,
    /// What the graphs depend on, 0 to 2^64 - 1
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// CPU threads, 0 to 1024; 0 for as many as there are cores
    #[arg(long, value_name = "N", default_value = "0", value_parser = threads)]
    pub threads: usize,
    #[command(flatten)]
    pub exports: ExportArgs,
    #[command(flatten)]
    pub profile: ProfileArgs,
    #[command(flatten)]
    pub loudness: Loudness,
}

/// `--kernels`: in the order of the table; none stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects(pub Option<Vec<Subject>>);

fn subjects(text: &str) -> Result<Subjects, String> {
    if text == "all" {
        return Ok(Subjects(None));
    }
    let of = |name: &str| {
        let names: Vec<_> = Subject::all().map(Subject::name).collect();
        let names = names.join(", ");
        Subject::named(name).ok_or_else(|| {
            format!("there is no kernel {name:?}; the names are all, {names}, and blocks-SIDE with a multiple of 256")
        })
    };
    let named = text.split(',').map(of).collect::<Result<Vec<_>, _>>()?;
    let mut chosen: Vec<_> = Subject::all().filter(|subject| named.contains(subject)).collect();
    for blocks in named.into_iter().filter(|subject| matches!(subject, Subject::Blocks(_))) {
        if !chosen.contains(&blocks) {
            chosen.push(blocks);
        }
    }
    Ok(Subjects(Some(chosen)))
}

/// More would be 16 TiB.
const MOST_VERTICES: usize = 1 << 21;

fn vertices(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (1..=MOST_VERTICES).contains(n));
    number.ok_or_else(|| format!("the number of vertices is from 1 to {MOST_VERTICES}"))
}

fn weights(text: &str) -> Result<(u32, u32), String> {
    const MOST: u32 = (1 << 30) - 2;
    let number = |text: &str| text.parse().ok().filter(|&n: &u32| n <= MOST);
    let limits = text.split_once("..").and_then(|(least, most)| Some((number(least)?, number(most)?)));
    let limits = limits.filter(|(least, most)| least <= most);
    limits.ok_or_else(|| format!("weights are LO..HI as 1..100, whole numbers from 0 to {MOST}"))
}

impl BenchApspArgs {
    /// What the library is to do; `vertices` where the command line has none.
    pub fn plan(&self, vertices: &[usize]) -> Plan {
        let vertices = if self.vertices.is_empty() { vertices } else { &self.vertices };
        let Self { graph, weights, seed, weight, .. } = *self;
        Plan { vertices: vertices.to_vec(), graph, weights, seed, weight, effort: self.effort.effort() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halotile_lab::apsp::Kernel;

    #[test]
    fn kernels_come_in_the_order_of_the_table() {
        assert_eq!(subjects("all"), Ok(Subjects(None)));
        let chosen = subjects("tiled,cpu,tiled").unwrap();
        assert_eq!(chosen.0, Some(vec![Subject::Cpu, Subject::Kernel(Kernel::Tiled)]));
        let blocks = [Subject::Kernel(Kernel::Tiled), Subject::Blocks(512), Subject::Blocks(256)];
        assert_eq!(subjects("blocks-512,blocks-256,tiled,blocks-512").unwrap().0, Some(blocks.to_vec()));
        for wrong in ["", "cpu,", "fast", "v0", "blocks-", "blocks-0", "blocks-100"] {
            let error = subjects(wrong).unwrap_err();
            let names =
                "are all, cpu, threads, naive, blocked32, blocked64, tiled, and blocks-SIDE with a multiple of 256";
            assert!(error.ends_with(names), "{error}");
        }
    }

    #[test]
    fn weights_are_two_numbers_in_order() {
        assert_eq!((weights("0..0"), weights("5..1073741822")), (Ok((0, 0)), Ok((5, 1_073_741_822))));
        for wrong in ["", "5", "5..4", "-1..4", "1..1073741823", "1...4", "1..x"] {
            assert!(weights(wrong).is_err(), "{wrong}");
        }
        assert_eq!((vertices("1"), vertices("2097152")), (Ok(1), Ok(1 << 21)));
        assert!(vertices("0").is_err() && vertices("2097153").is_err());
    }
}
