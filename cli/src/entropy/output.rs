//! Where results go: the files of one or several measures, in one of two ways, and the preview, which looks on.
//!
//! Text and NPY are written row by row, a measure a file, sample after sample. A GeoTIFF takes rectangles of tiles, has a band
//! a measure, and is whole when its one sample is.

use std::io::{self, BufWriter, Seek, SeekFrom};
use std::ops::Range;

use halotile::grid::GridView;
use halotile::io::preview::Preview;
use halotile::io::{FormatError, Number, OutputFormat, ResultWriter, write_failed};
use halotile::raster::geotiff::{CreationOptions, Description, GeoTiffSink, Stored};
use halotile::raster::{Georeference, ResultSink};

use crate::console::{Console, Watched};
use crate::sink::Sink;

/// The files of a run.
pub struct Outputs<'c, T> {
    files: Files<'c, T>,
    measures: Vec<Described>,
    /// What a GeoTIFF says of its making: names and values.
    items: Vec<(String, String)>,
    /// How a GeoTIFF stores each measure, where that is not as it comes.
    stored: Vec<Option<Stored>>,
    /// The current sample has got results.
    begun: bool,
}

/// A measure by its name, and the unit of its numbers.
pub struct Described {
    pub name: String,
    pub unit: Option<&'static str>,
}

enum Files<'c, T> {
    Rows(Vec<Rows<'c, T>>),
    Tiles(Vec<Tiles<'c>>),
}

/// A file that is written tile by tile, and how.
struct Tiles<'c> {
    name: String,
    file: Watched<'c, Sink>,
    creation: CreationOptions,
}

/// A file that is written row by row.
struct Rows<'c, T> {
    writer: ResultWriter<T, BufWriter<Watched<'c, Sink>>>,
    name: String,
}

impl<'c, T: Number> Outputs<'c, T> {
    /// Of one file for all measures, or one for each.
    pub fn new(
        sinks: Vec<Sink>,
        format: OutputFormat,
        measures: Vec<Described>,
        creation: CreationOptions,
        decimals: usize,
        console: &'c Console,
    ) -> Result<Self, FormatError> {
        let rows = |sink: Sink| {
            let name = sink.name();
            let file = BufWriter::with_capacity(1 << 16, console.watch(sink));
            let writer = ResultWriter::new(format, file, decimals).map_err(|e| write_failed(&name, e))?;
            Ok(Rows { writer, name })
        };
        let files = match format {
            OutputFormat::GeoTiff => {
                let tiles = |sink: Sink| {
                    // What waits to be written does so on the same disk.
                    let creation = match sink.directory() {
                        Some(directory) => creation.clone().scratch_in(directory),
                        None => creation.clone(),
                    };
                    Tiles { name: sink.name(), file: console.watch(sink), creation }
                };
                Files::Tiles(sinks.into_iter().map(tiles).collect())
            }
            _ => Files::Rows(sinks.into_iter().map(rows).collect::<Result<_, FormatError>>()?),
        };
        Ok(Self { files, measures, items: Vec::new(), stored: Vec::new(), begun: false })
    }

    /// What a GeoTIFF is to say of its making, and how it is to store each measure unless as it comes, from the next sample on.
    pub fn describe(&mut self, items: Vec<(String, String)>, stored: Vec<Option<Stored>>) {
        (self.items, self.stored) = (items, stored);
    }

    /// What takes the results of the next sample; of the same again, unless it has begun.
    pub fn sink<'s>(
        &'s mut self,
        shape: (usize, usize),
        georeference: Option<&Georeference>,
        preview: Option<&'s mut Preview>,
    ) -> Result<Box<dyn ResultSink<T> + 's>, FormatError> {
        self.begun = false;
        let begun = &mut self.begun;
        match &mut self.files {
            Files::Rows(files) => Ok(Box::new(RowSink { files, shape, begun, preview })),
            Files::Tiles(files) => {
                let each = if files.len() == 1 { self.measures.len() } else { 1 };
                let mut parts = Vec::new();
                for (i, Tiles { name, file, creation }) in files.iter_mut().enumerate() {
                    // Where it has positions at all: GeoTIFF says what to do about others.
                    let _ = file.seek(SeekFrom::Start(0));
                    let planes = i * each..(i + 1) * each;
                    let description = described(&self.measures[planes.clone()], &self.items);
                    let stored =
                        self.stored.get(planes.clone()).and_then(|all| all.iter().copied().collect::<Option<Vec<_>>>());
                    let description = match stored {
                        Some(stored) => description.stored(&stored),
                        None => description,
                    };
                    let sink = GeoTiffSink::new(file, name, shape, &description, georeference, creation)?;
                    parts.push((Box::new(sink), planes));
                }
                Ok(Box::new(TileSink { parts, begun, preview }))
            }
        }
    }

    /// True when the current sample has got results, so that there is no way back.
    pub fn begun(&self) -> bool {
        self.begun
    }

    /// The finished files.
    pub fn finish(self) -> Result<Vec<Sink>, FormatError> {
        match self.files {
            Files::Tiles(files) => Ok(files.into_iter().map(|tiles| tiles.file.into_inner()).collect()),
            Files::Rows(files) => {
                let finish = |Rows { writer, name }: Rows<'c, T>| {
                    let file =
                        writer.finish().and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error));
                    Ok(file.map_err(|e| write_failed(&name, e))?.into_inner())
                };
                files.into_iter().map(finish).collect()
            }
        }
    }
}

fn described(measures: &[Described], items: &[(String, String)]) -> Description {
    let names: Vec<&str> = measures.iter().map(|measure| measure.name.as_str()).collect();
    let units = measures.iter().enumerate().filter_map(|(band, measure)| Some((band, measure.unit?)));
    let bands = units.fold(Description::of(&names), |description, (band, unit)| description.unit(band, unit));
    items.iter().fold(bands, |description, (name, value)| description.item(name, value))
}

/// Lets the preview see the first measure.
fn show<T: Number>(
    preview: &mut Option<&mut Preview>,
    top: usize,
    left: usize,
    planes: &[GridView<'_, T>],
) -> Result<(), FormatError> {
    match (preview, planes.first()) {
        (Some(preview), Some(plane)) => preview.rect(top, left, *plane).map_err(|e| write_failed("the preview", e)),
        _ => Ok(()),
    }
}

struct RowSink<'s, 'c, T> {
    files: &'s mut [Rows<'c, T>],
    shape: (usize, usize),
    begun: &'s mut bool,
    preview: Option<&'s mut Preview>,
}

impl<T: Number> ResultSink<T> for RowSink<'_, '_, T> {
    fn block(&self) -> (usize, usize) {
        (1, 1)
    }

    fn whole_rows(&self) -> bool {
        true
    }

    fn write(&mut self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError> {
        for (Rows { writer, name }, plane) in self.files.iter_mut().zip(planes) {
            let begin = if *self.begun { Ok(()) } else { writer.begin(self.shape.0, self.shape.1) };
            begin.and_then(|()| writer.rows(*plane)).map_err(|e| write_failed(name, e))?;
        }
        *self.begun = true;
        show(&mut self.preview, top, left, planes)
    }

    fn finish(self: Box<Self>) -> Result<(), FormatError> {
        Ok(())
    }
}

/// A GeoTIFF and the planes that go to it.
type Part<'s, 'c, T> = (Box<GeoTiffSink<T, &'s mut Watched<'c, Sink>>>, Range<usize>);

struct TileSink<'s, 'c, T> {
    parts: Vec<Part<'s, 'c, T>>,
    begun: &'s mut bool,
    preview: Option<&'s mut Preview>,
}

impl<T: Number> ResultSink<T> for TileSink<'_, '_, T> {
    fn block(&self) -> (usize, usize) {
        // All are made alike.
        self.parts.first().map_or((1, 1), |(sink, _)| sink.block())
    }

    fn whole_rows(&self) -> bool {
        self.parts.iter().any(|(sink, _)| sink.whole_rows())
    }

    fn kept_bytes(&self) -> usize {
        self.parts.iter().map(|(sink, _)| sink.kept_bytes()).fold(0, usize::saturating_add)
    }

    fn write(&mut self, top: usize, left: usize, planes: &[GridView<'_, T>]) -> Result<(), FormatError> {
        *self.begun = true;
        for (sink, range) in &mut self.parts {
            sink.write(top, left, &planes[range.clone()])?;
        }
        show(&mut self.preview, top, left, planes)
    }

    fn finish(self: Box<Self>) -> Result<(), FormatError> {
        self.parts.into_iter().try_for_each(|(sink, _)| sink.finish())
    }
}
