//! A grid in memory: its codes are found, and an engine computes them.
//!
//! Bytes that the levels promise to be codes are not scanned before devices take them: pieces are checked on their way. Everything else is
//! counted once (`census`), and recoded to bytes where there are few values.

use std::sync::Arc;

use super::census::{self, Coding, WordCoding};
use super::{BYTE_LEVELS, Codes, Engine, Entropy, Error, Kernel, MAX_LEVELS, Place, Real, Report, Resident, stream};
use crate::codes::{self, Code, CodesView};
use crate::cpu;
use crate::exec::Device;
use crate::grid::{Grid, GridView, GridViewMut};
use crate::measure::Edge;
use crate::numbers::Planes;
use crate::observe::Observer;

impl Entropy {
    /// The entropy of every cell, by the CPU engine on the current rayon thread pool.
    ///
    /// The result has the grid's shape. f32 results are within 2e-6 of the definition (in nats), f64
    /// results within 1e-12. Cells are `u8` or `u16` of any value.
    ///
    /// ```
    /// use halotile::entropy::Entropy;
    /// use halotile::grid::GridView;
    /// let vegetation = GridView::new(&[7292u16, 7292, 7296, 7299], 2, 2)?;
    /// let h = Entropy::new().compute::<f64>(vegetation)?;
    /// assert!((h.row(0)[0] - 1.5 * 2f64.ln()).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error`] where the question is not valid ([`validate`](Self::validate)), a cell is not below the levels given, or there is no memory for the result.
    pub fn compute<T: Real>(&self, cells: GridView<'_, impl Code>) -> Result<Grid<T>, Error> {
        let mut out = Grid::zeros(cells.rows(), cells.cols())?;
        self.compute_into(&Engine::Cpu, cells, out.view_mut(), &())?;
        Ok(out)
    }

    /// The entropy of every cell, by `engine`, into `out`, which has the grid's shape.
    ///
    /// The observer hears of finished cells and may stop the work. After an error the contents of `out` are unspecified.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use halotile::entropy::{Engine, Entropy, Kernel};
    /// use halotile::exec::{Device, emulator::EmulatedDevice};
    /// use halotile::grid::{Grid, GridView};
    ///
    /// let cells = [7u8; 30];
    /// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    /// let mut h = Grid::<f32>::zeros(5, 6)?;
    /// let report = Entropy::new().levels(16).compute_into(
    ///     &Engine::Devices(vec![device]),
    ///     GridView::new(&cells, 5, 6)?,
    ///     h.view_mut(),
    ///     &(),
    /// )?;
    /// assert_eq!(report.kernel, Some(Kernel::Sliding));
    /// assert_eq!(h.as_slice(), [0.0; 30]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`measure_into`](Self::measure_into).
    pub fn compute_into<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, impl Code>,
        out: GridViewMut<'_, T>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        self.measure_into(engine, cells, vec![out], observer)
    }

    /// All measures of every cell, by `engine`, into `outs`, one for each measure in their order, each of the grid's shape.
    ///
    /// Of more than 256 different values devices compute what [comes from sums](Self::comes_from_sums), in squares of up to 255 × 255, and nothing else
    /// ([`Error::NoKernel`]). Otherwise like [`compute_into`](Self::compute_into). f64 results are
    /// within 1e-12 of the definition, f32 results within 2e-6 (of Hill's numbers: times the number; richness is exact).
    ///
    /// ```
    /// use halotile::entropy::{Engine, Entropy};
    /// use halotile::grid::{Grid, GridView};
    /// use halotile::measure::Measure;
    ///
    /// let cells = GridView::new(&[1u8, 1, 2, 2], 2, 2)?;
    /// let (mut simpson, mut richness) = (Grid::<f32>::zeros(2, 2)?, Grid::<f32>::zeros(2, 2)?);
    /// let outs = vec![simpson.view_mut(), richness.view_mut()];
    /// let measures = [Measure::Simpson, Measure::Richness];
    /// Entropy::new().measures(measures).measure_into(&Engine::Cpu, cells, outs, &())?;
    /// assert_eq!((simpson.row(0)[0], richness.row(0)[0]), (0.5, 2.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error`]: a question that is not valid, outputs of another number or shape, a cell that is not below the levels given, no kernel for it on the device
    /// ([`Error::is_for_cpu`]), a device that fails, too little memory, or that the observer asked to stop.
    pub fn measure_into<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, impl Code>,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        match CodesView::from(cells) {
            CodesView::Bytes(cells) => self.measure_bytes(engine, cells, outs, observer),
            CodesView::Words(cells) => self.measure_words(engine, cells, outs, observer),
        }
    }

    fn measure_bytes<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, u8>,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let on_device = matches!(engine, Engine::Devices(_));
        self.check_outs(cells, &outs, on_device)?;
        // Devices are faster than a scan of the cells: pieces are checked on their way, where that is enough.
        let promised = match self.kernel {
            Some(Kernel::Custom(_)) => None,
            _ if on_device => Coding::promised(self.levels, self.nodata_byte()),
            _ => None,
        };
        let unseen = promised.is_some();
        let coding = promised.map_or_else(|| Coding::of(cells, self.levels, self.nodata_byte(), on_device), Ok)?;
        self.compute_coded(engine, cells, &coding, unseen, T::planes(outs), observer)
    }

    /// Words are recoded to bytes where they have few values, as bytes are where their values are scattered.
    fn measure_words<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, u16>,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        self.check_outs(cells, &outs, matches!(engine, Engine::Devices(_)))?;
        let counted = census::Words::of(cells, self.levels, self.nodata)?;
        if let Some(numbers) = counted.as_bytes() {
            let coding = Coding { levels: counted.levels, nodata: numbers.nodata, codes: None };
            let bytes = numbers.of(cells)?;
            return self.compute_coded(engine, bytes.view(), &coding, false, T::planes(outs), observer);
        }
        self.compute_words(engine, cells, counted.coding(), T::planes(outs), observer)
    }

    /// All measures of every cell of a grid whose codes are known, into `outs`, one for each measure in their order, each of the
    /// grid's shape: what [`stream`](Self::stream) gives of the same [`Cells`](crate::raster::Cells), bit for bit.
    ///
    /// Levels and nodata are those of `codes`; [`levels`](Self::levels) only say what is [normalised](Self::normalize) by. Otherwise
    /// like [`measure_into`](Self::measure_into).
    ///
    /// ```
    /// use halotile::entropy::{Codes, Engine, Entropy};
    /// use halotile::grid::{Grid, GridView};
    ///
    /// let codes = [0u8, 1, 1, 0, 2, 2, 1, 1, 0, 2];
    /// let mut h = Grid::<f32>::zeros(1, 10)?;
    /// let codes = Codes { cells: GridView::new(&codes, 1, 10)?, levels: 3, nodata: None };
    /// Entropy::new().measure_codes_into(&Engine::Cpu, codes, vec![h.view_mut()], &())?;
    /// assert!((h.row(0)[0] - 0.636_514).abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`measure_into`](Self::measure_into); [`Error::Value`] for a cell that is no code.
    pub fn measure_codes_into<T: Real, C: Code>(
        &self,
        engine: &Engine,
        codes: Codes<'_, C>,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let Codes { cells, levels, nodata } = codes;
        let on_device = matches!(engine, Engine::Devices(_));
        self.check_outs(cells, &outs, on_device)?;
        if !(1..=MAX_LEVELS).contains(&levels) {
            return Err(Error::Levels(levels));
        }
        if levels > C::LEVELS {
            return Err(Error::LevelsOfBytes(levels));
        }
        census::check(cells, (0, 0), levels, nodata)?;
        let nodata = nodata.map(Code::get);
        match C::view(cells) {
            CodesView::Bytes(cells) => {
                let coding = Coding { levels, nodata: nodata.and_then(u8::of), codes: None };
                self.compute_coded(engine, cells, &coding, false, T::planes(outs), observer)
            }
            // As `stream` has them: bytes where bytes do, which all kernels take.
            CodesView::Words(cells) if on_device && codes::width(levels, nodata) == 1 => {
                let coding = Coding { levels, nodata: nodata.and_then(u8::of), codes: None };
                let bytes = census::narrowed(cells)?;
                self.compute_coded(engine, bytes.view(), &coding, false, T::planes(outs), observer)
            }
            CodesView::Words(cells) => {
                self.compute_words(engine, cells, WordCoding::below(levels, nodata), T::planes(outs), observer)
            }
        }
    }

    /// Codes that are known to be valid. Generic in nothing, as [`compute_coded`](Self::compute_coded): the engines are compiled with this crate
    /// and not anew with each that uses it.
    fn compute_words(
        &self,
        engine: &Engine,
        cells: GridView<'_, u16>,
        codes: WordCoding,
        outs: Planes<'_>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        match outs {
            Planes::F32(outs) => self.words_of(engine, cells, codes, outs, observer),
            Planes::F64(outs) => self.words_of(engine, cells, codes, outs, observer),
        }
    }

    fn words_of<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, u16>,
        codes: WordCoding,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let WordCoding { levels, nodata, .. } = codes;
        if let Some(kernel @ Kernel::Custom(_)) = self.kernel {
            let reason = format!("it counts up to {BYTE_LEVELS} codes, and there are more");
            return Err(Error::KernelMisfit { kernel: kernel.name(), reason });
        }
        let report = match (engine, self.edge.extends() || self.edge == Edge::Nodata) {
            (Engine::Devices(_), _) | (Engine::Cpu, true) => {
                stream::words_in_memory(self, engine, cells, codes, outs, observer)?
            }
            (Engine::Cpu, false) => {
                let task = cpu::Task {
                    grid: self.whole.unwrap_or((cells.rows(), cells.cols())),
                    levels,
                    nodata,
                    scale: self.scale(),
                    ..cpu::Task::whole(cells, self.size)
                };
                let window = self.window();
                cpu::run_codes(&task, window.as_ref(), outs, observer)?;
                Report { cpu_cells: cells.rows() * cells.cols(), ..Report::default() }
            }
        };
        Ok(Report { levels: self.levels.unwrap_or(levels), ..report })
    }

    /// The grid is `unseen` where it has not been checked that its cells match the coding.
    fn compute_coded(
        &self,
        engine: &Engine,
        cells: GridView<'_, u8>,
        coding: &Coding,
        unseen: bool,
        outs: Planes<'_>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        match outs {
            Planes::F32(outs) => self.coded_of(engine, cells, coding, unseen, outs, observer),
            Planes::F64(outs) => self.coded_of(engine, cells, coding, unseen, outs, observer),
        }
    }

    fn coded_of<T: Real>(
        &self,
        engine: &Engine,
        cells: GridView<'_, u8>,
        coding: &Coding,
        unseen: bool,
        outs: Vec<GridViewMut<'_, T>>,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let report = match (engine, self.kernel, <[_; 1]>::try_from(outs)) {
            (engine, Some(kernel @ Kernel::Custom(custom)), Ok([out])) => {
                let coded = coding.coded(cells)?;
                let task = custom.task::<T>(coded.view(), coding, self.size, self.scale())?;
                if matches!(engine, Engine::Devices(devices) if devices.is_empty()) {
                    return Err(Error::NoDevices);
                }
                // SAFETY: the cells have been coded, and nothing was found against the task.
                let report = unsafe { custom.algorithm().compute(engine, &task, T::planes(vec![out]), observer) }?;
                Report { kernel: Some(kernel), ..report }
            }
            (Engine::Cpu, _, Ok([out])) if self.is_plain() && self.edge == Edge::Shrink => {
                let coded = coding.coded(cells)?;
                let task = cpu::Task {
                    grid: self.whole.unwrap_or((cells.rows(), cells.cols())),
                    levels: coding.levels,
                    nodata: coding.nodata,
                    scale: self.scale(),
                    ..cpu::Task::whole(coded.view(), self.size)
                };
                cpu::run(&task, out, observer)?;
                Report { cpu_cells: cells.rows() * cells.cols(), ..Report::default() }
            }
            (engine, _, outs) => {
                let outs = outs.map_or_else(|outs| outs, Vec::from);
                stream::in_memory(self, engine, cells, coding, unseen, outs, observer)?
            }
        };
        Ok(Report { levels: self.levels.unwrap_or(coding.levels), ..report })
    }

    /// Copies the grid and the kernel's table to the device, for benchmarks that launch it repeatedly.
    ///
    /// The device holds several copies, each with memory for its result, until together they take `spread` bytes
    /// (0: once). [`Resident::launch`] takes them in turn, so that a grid smaller than a cache of `spread / 2` bytes does not
    /// hit that cache. Grid and result must fit in the device's memory.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use halotile::entropy::Entropy;
    /// use halotile::exec::{Device, emulator::EmulatedDevice};
    /// use halotile::grid::{Grid, GridView};
    ///
    /// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
    /// let mut resident = Entropy::new().resident::<f32>(&device, GridView::new(&[7; 30], 5, 6)?, 1000)?;
    /// let seconds = resident.launch()?;
    /// let mut h = Grid::<f32>::zeros(5, 6)?;
    /// resident.download(h.view_mut())?;
    /// assert!(seconds > 0.0 && h.as_slice() == [0.0; 30]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error`]: those of [`measure_into`](Self::measure_into), and [`Error::NotResident`] where more than Shannon's entropy in squares is asked for.
    pub fn resident<T: Real>(
        &self,
        device: &Arc<dyn Device>,
        cells: GridView<'_, u8>,
        spread: usize,
    ) -> Result<Resident<T>, Error> {
        self.validate()?;
        self.check::<T>((cells.rows(), cells.cols()), (cells.rows(), cells.cols()), true)?;
        if !self.is_plain() || self.edge != Edge::Shrink {
            return Err(Error::NotResident);
        }
        self.check_place(true)?;
        if let Some(kernel) = self.kernel.filter(|kernel| kernel.place() == Place::Both) {
            let reason = "it is a plan over devices, and no single launch".into();
            return Err(Error::KernelMisfit { kernel: kernel.name(), reason });
        }
        let coding = Coding::of(cells, self.levels, self.nodata_byte(), true)?;
        Resident::new(device, self.kernel, cells, &coding, self.size, self.scale(), spread)
    }
}
