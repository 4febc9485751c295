//! The command line of `halotile bench copy`, `stride` and the other topics of the primer, and of `bench primer`, which is all of them.

use halotile::choice::Devices;
use halotile_lab::bench::primer::Plan;
use halotile_lab::primer::{Elements, Size, TOPICS, Topic};

use super::{EffortArgs, ExportArgs, Loudness, ProfileArgs, device, named};

pub const HELP: &str = "\
Every case is compared with the definition before it is timed. One that is wrong stands in the table as WRONG, without a time, and \
the exit code is 1.

The table: \"median ms\" is of the kernels alone, by the device's clock; in transfer and overlap, and of the launches in clock, it is of everything, \
by the wall clock, until all is done; the rate is of the bytes, operations, accesses or launches that the work needs at least, whatever a \
kernel does; \"of ceiling\" its share of what the device can do: bytes, of a copy within its memory in the same run; bytes over the bus, of the \
faster way of a copy to and from page-locked memory, which both ways at once may exceed; operations, of what NVIDIA publishes; multiply-adds \
and accesses to shared memory, of what the clock allows. \"faster\" is than the rung before. The next \
columns are what the emulator counts of the same kernel on less data: wavefronts (passes over the banks) that a warp's loads from shared memory take \
on average, and its stores; sectors of 32 bytes that its loads from global memory touch, and its stores. \"also\" is what else there is to tell.

--device auto is cuda:0 where there is one, and the emulator otherwise, whose times say nothing of a GPU.

Without --runs and --min-time everything is timed 30 times, but 3 times are enough if they take 2 seconds.

--export-json writes one object with every raw time: schema, what, halotile, commit, time, machine, devices, options, ceilings and \
results (of (topic, size, elements), kernel, place, parameters, before, idea, status, and reason, or time and the rest of the table). \
--export-csv writes a row for each case, --export-markdown a table for each topic, size and type, --export-html one page with charts \
that needs no network.";

/// One topic.
#[derive(Debug, clap::Args)]
pub struct BenchTopicArgs {
    /// Sizes: N, ROWSxCOLS or MxNxK, as the topic has them; one number for all extents [default: the topic's]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size)]
    pub sizes: Vec<Size>,
    /// Types of the numbers [default: all that the topic has]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = named(&Elements::ALL.map(|e| (e.name(), e))))]
    pub elements: Vec<Elements>,
    /// Rungs, by name [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub kernels: Vec<String>,
    #[command(flatten)]
    pub common: BenchPrimerArgs,
}

/// What all topics have.
#[derive(Debug, clap::Args)]
pub struct BenchPrimerArgs {
    /// Where to run: auto (cuda:0, or the emulator), cuda, cuda:1, emulator
    #[arg(long, default_value = "auto", value_parser = device)]
    pub device: Devices,
    /// What the data depend on, 0 to 2^64 - 1
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    #[command(flatten)]
    pub effort: EffortArgs,
    #[command(flatten)]
    pub exports: ExportArgs,
    #[command(flatten)]
    pub profile: ProfileArgs,
    #[command(flatten)]
    pub loudness: Loudness,
}

fn size(text: &str) -> Result<Size, String> {
    const WHAT: &str = "a size is N, ROWSxCOLS or MxNxK, whole numbers from 1";
    let extents: Vec<usize> = text.split('x').map(str::parse).collect::<Result<_, _>>().map_err(|_| WHAT)?;
    if extents.contains(&0) || extents.len() > 3 {
        return Err(WHAT.to_owned());
    }
    Ok(std::array::from_fn(|i| extents.get(i).copied().unwrap_or(0)))
}

impl BenchTopicArgs {
    /// What the library is to do; or what is wrong with it.
    pub fn plan(&self, topic: &'static Topic, emulated: bool) -> Result<Plan, String> {
        let [on_gpu, in_emulator] = topic.sizes;
        let sizes = if self.sizes.is_empty() { if emulated { in_emulator } else { on_gpu } } else { &self.sizes };
        let most = topic.size.split('x').count();
        if let Some(size) = sizes.iter().find(|size| size.iter().filter(|&&extent| extent > 0).count() > most) {
            let given: Vec<_> = size.iter().filter(|&&extent| extent > 0).map(usize::to_string).collect();
            let given = given.join("x");
            return Err(format!("--sizes {given}: a size of {} is {}", topic.name, topic.size));
        }
        let elements = if self.elements.is_empty() { topic.elements } else { &self.elements };
        if let Some(unknown) = elements.iter().find(|elements| !topic.elements.contains(elements)) {
            let known: Vec<_> = topic.elements.iter().map(|elements| elements.name()).collect();
            return Err(format!("{} has no kernels for {unknown}; there are {}", topic.name, known.join(", ")));
        }
        let rungs = (topic.rungs)();
        if let Some(unknown) = self.kernels.iter().find(|name| !rungs.contains(&name.as_str())) {
            return Err(format!("{} has no kernel {unknown:?}; the names are {}", topic.name, rungs.join(", ")));
        }
        Ok(Plan {
            topics: vec![(topic, sizes.to_vec(), elements.to_vec())],
            rungs: (!self.kernels.is_empty()).then(|| self.kernels.clone()),
            seed: self.common.seed,
            effort: self.common.effort.effort(),
        })
    }
}

impl BenchPrimerArgs {
    /// All topics at their sizes.
    pub fn plan(&self, emulated: bool) -> Plan {
        let of = |topic: &'static Topic| (topic, topic.sizes[usize::from(emulated)].to_vec(), topic.elements.to_vec());
        Plan { topics: TOPICS.iter().map(of).collect(), rungs: None, seed: self.seed, effort: self.effort.effort() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_to_three_extents() {
        assert_eq!((size("7"), size("3x4"), size("3x4x5")), (Ok([7, 0, 0]), Ok([3, 4, 0]), Ok([3, 4, 5])));
        for wrong in ["", "0", "3x0", "3x", "x3", "1x2x3x4", "-1", "1e3"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
