//! `halotile generate graph`: a synthetic graph, made and written part by part so that it may be larger than memory.

use halotile::apsp::files::graph::{GraphFormat, GraphWriter};
use halotile_lab::generate::graph::{GraphGenerator, GraphShape};

use crate::args::GraphArgs;
use crate::console::Console;
use crate::outcome::{Done, Usage};
use crate::sink::{self, Sink};
use crate::source::{is_dash, name_the_format};

pub fn run(args: &GraphArgs) -> anyhow::Result<Done> {
    let console = Console::new(args.loudness);
    let format = match args.output_format {
        Some(format) => format,
        None if is_dash(&args.output) => GraphFormat::EdgeList,
        None => GraphFormat::detect(&args.output).map_err(|error| name_the_format(error, "--of"))?,
    };
    let numbers = args.edges.map(GraphShape::Edges).or(args.density.map(GraphShape::Density));
    let Some(shape) = numbers.or(args.shape) else {
        return Err(Usage("give --edges, --density or --shape".to_owned()).into());
    };
    let generator = GraphGenerator::new(shape, args.vertices, args.weights.clone(), args.seed);
    let generator = generator.map_err(|error| Usage(error.to_string()))?;
    let mut sink = Sink::create(&args.output, args.overwrite)?;
    let writer = GraphWriter::new(&generator, format, &sink.name(), &console)?;
    console.vertices("making", args.vertices as u64);
    writer.write(&mut console.watch(&mut sink), &console)?;
    sink::commit([sink])?;
    Ok(Done::Success)
}
