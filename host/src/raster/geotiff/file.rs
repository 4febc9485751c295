//! The images of a TIFF and where their blocks are, in one of two orders.
//!
//! ```text
//! as they come              header, blocks, directories
//! Cloud Optimized (COG)     header, what GDAL says of the order, directories, blocks of the smallest overview, ..., blocks of the whole
//! ```
//!
//! Of the first kind blocks go to the file at once. Directories of a COG come first and say where blocks are, and the whole's blocks, which are made first,
//! come last; so blocks wait in a scratch file without a name, and are copied when all have come: nothing is held but a place for each. Both are written with
//! what directories hold already known, so that nothing is patched but the way from one directory to the next.
//!
//! The order of a COG is that of GDAL: each block has its length before it and its last four bytes again behind it, and those of an image lie one after
//! the other, so that programs read a block they know the place of with one request, and neighbours with one more.

use std::fs::File;
use std::io::{BufWriter, IntoInnerError, Read as _, Seek, SeekFrom, Write};

use tiff_core::{ByteOrder, Tag, TagValue};
use tiff_writer::encoder::{
    BIGTIFF_HEADER_LEN, estimate_ifd_size, header_len, patch_first_ifd, patch_next_ifd, write_header, write_ifd,
};
use tiff_writer::{Error, ImageBuilder};

const ORDER: ByteOrder = ByteOrder::LittleEndian;
/// The last byte of a classic TIFF.
const CLASSIC_END: u64 = u32::MAX as u64;

/// What GDAL says of the order of blocks, and how many bytes of it there are.
const STRUCTURE: &str = "GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\n\
     LAYOUT=IFDS_BEFORE_DATA\n\
     BLOCK_ORDER=ROW_MAJOR\n\
     BLOCK_LEADER=SIZE_AS_UINT4\n\
     BLOCK_TRAILER=LAST_4_BYTES_REPEATED\n\
     KNOWN_INCOMPATIBLE_EDITION=NO\n ";
/// Bytes before a block, and those behind it.
const LEADER: u64 = 4;
const TRAILER: u64 = 4;

/// Whether the file is a BigTIFF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variant {
    Classic,
    Big,
    /// Where it is too long for a classic one.
    AsNeeded,
}

/// A block's first byte and its length; (0, 0) where it was left out.
type Place = (u64, u64);

struct Image {
    builder: ImageBuilder,
    blocks: Vec<Option<Place>>,
}

/// A TIFF that is being written.
pub(super) struct TiffFile<W: Write + Seek> {
    out: BufWriter<W>,
    /// Where the blocks of a COG wait.
    scratch: Option<BufWriter<File>>,
    variant: Variant,
    images: Vec<Image>,
    /// Where the next block goes: in the scratch file, if there is one.
    at: u64,
}

impl<W: Write + Seek> TiffFile<W> {
    /// Begins a file; a COG where there is a scratch file.
    pub(super) fn new(out: W, variant: Variant, scratch: Option<File>) -> Result<Self, Error> {
        // Directories are put number by number.
        let mut out = BufWriter::with_capacity(1 << 18, out);
        out.seek(SeekFrom::Start(0))?;
        let mut at = 0;
        if scratch.is_none() {
            at = header_len(variant != Variant::Classic);
            out.write_all(&[0; BIGTIFF_HEADER_LEN as usize][..at as usize])?;
        }
        let scratch = scratch.map(|file| BufWriter::with_capacity(1 << 18, file));
        Ok(Self { out, scratch, variant, images: Vec::new(), at })
    }

    /// Adds an image: the first is the whole, the others are its overviews, each smaller than the one before. They are counted from 0.
    pub(super) fn add(&mut self, builder: ImageBuilder) -> Result<(), Error> {
        builder.validate()?;
        let blocks = vec![None; builder.checked_block_count()?];
        self.images.push(Image { builder, blocks });
        Ok(())
    }

    /// Takes the bytes of a block of an image.
    pub(super) fn put(&mut self, image: usize, block: usize, bytes: &[u8]) -> Result<(), Error> {
        let (at, length) = (self.at, bytes.len() as u64);
        if self.variant == Variant::Classic && at + length > CLASSIC_END {
            return Err(Error::ClassicOffsetOverflow { offset: at + length });
        }
        self.place(image, block, (at, length))?;
        match &mut self.scratch {
            Some(scratch) => scratch.write_all(bytes)?,
            None => self.out.write_all(bytes)?,
        }
        self.at += length;
        Ok(())
    }

    /// Leaves a block out: readers see no data.
    pub(super) fn leave_out(&mut self, image: usize, block: usize) -> Result<(), Error> {
        self.place(image, block, (0, 0))
    }

    fn place(&mut self, image: usize, block: usize, place: Place) -> Result<(), Error> {
        let blocks = &mut self.images[image].blocks;
        let total = blocks.len();
        let there = blocks.get_mut(block).ok_or(Error::BlockIndexOutOfRange { index: block, total })?;
        if there.replace(place).is_some() {
            return Err(Error::BlockAlreadyWritten { index: block });
        }
        Ok(())
    }

    /// Writes what is left, with more tags of the first image, and gives the file back. Blocks that did not come are an error.
    pub(super) fn finish(mut self, tags: Vec<Tag>) -> Result<W, Error> {
        for Image { blocks, .. } in &self.images {
            let (written, total) = (blocks.iter().flatten().count(), blocks.len());
            if written < total {
                return Err(Error::IncompleteImage { written, total });
            }
        }
        if let Some(whole) = self.images.first_mut() {
            whole.builder = tags.into_iter().fold(whole.builder.clone(), ImageBuilder::tag);
        }
        match self.scratch.take() {
            None => self.finish_as_it_came()?,
            Some(scratch) => {
                let scratch = scratch.into_inner().map_err(IntoInnerError::into_error)?;
                self.finish_cog(scratch)?;
            }
        }
        self.out.into_inner().map_err(|error| error.into_error().into())
    }

    fn finish_as_it_came(&mut self) -> Result<(), Error> {
        let start = self.at.next_multiple_of(2);
        let big = self.is_big(|file| Ok(start + file.directory_bytes(false)?))?;
        self.out.write_all(&[0; 1][..(start - self.at) as usize])?;
        let places: Vec<Vec<Place>> =
            self.images.iter().map(|image| image.blocks.iter().flatten().copied().collect()).collect();
        self.write_directories(big, start, &places)
    }

    fn finish_cog(&mut self, mut scratch: File) -> Result<(), Error> {
        let blocks = || self.images.iter().flat_map(|image| image.blocks.iter().flatten());
        let data: u64 = blocks().filter(|place| place.1 > 0).map(|place| place.1 + LEADER + TRAILER).sum();
        let begin = |big| (header_len(big) + STRUCTURE.len() as u64).next_multiple_of(2);
        let big = self.is_big(|file| Ok(begin(false) + file.directory_bytes(false)? + data))?;
        let mut at = begin(big) + self.directory_bytes(big)?;
        let mut places: Vec<Vec<Place>> = self.images.iter().map(|_| Vec::new()).collect();
        for (image, places) in self.images.iter().zip(&mut places).rev() {
            for &(_, length) in image.blocks.iter().flatten() {
                let here = if length > 0 { (at + LEADER, length) } else { (0, 0) };
                places.push(here);
                at += if length > 0 { LEADER + length + TRAILER } else { 0 };
            }
        }
        self.out.seek(SeekFrom::Start(header_len(big)))?;
        self.out.write_all(STRUCTURE.as_bytes())?;
        self.out.write_all(&[0; 1][..(begin(big) - header_len(big)) as usize - STRUCTURE.len()])?;
        self.write_directories(big, begin(big), &places)?;
        let (mut bytes, mut read) = (Vec::new(), None);
        for (offset, length) in self.images.iter().rev().flat_map(|image| image.blocks.iter().flatten().copied()) {
            if length == 0 {
                continue;
            }
            // Mostly the next block lies behind the last one.
            if read != Some(offset) {
                scratch.seek(SeekFrom::Start(offset))?;
            }
            read = Some(offset + length);
            bytes.resize(length as usize, 0);
            scratch.read_exact(&mut bytes)?;
            self.out.write_all(&(length as u32).to_le_bytes())?;
            self.out.write_all(&bytes)?;
            let mut last = [0; TRAILER as usize];
            let repeated = bytes.len().min(last.len());
            last[..repeated].copy_from_slice(&bytes[bytes.len() - repeated..]);
            self.out.write_all(&last)?;
        }
        Ok(())
    }

    /// Whether it becomes a BigTIFF, where a classic one would have so many bytes.
    fn is_big(&self, bytes: impl Fn(&Self) -> Result<u64, Error>) -> Result<bool, Error> {
        match self.variant {
            Variant::Big => Ok(true),
            Variant::AsNeeded => Ok(bytes(self)? > CLASSIC_END),
            Variant::Classic => match bytes(self)? {
                offset if offset > CLASSIC_END => Err(Error::ClassicOffsetOverflow { offset }),
                _ => Ok(false),
            },
        }
    }

    /// Bytes of all directories, each of which begins at an even place.
    fn directory_bytes(&self, big: bool) -> Result<u64, Error> {
        self.images.iter().try_fold(0, |bytes: u64, image| {
            let one = estimate_ifd_size(ORDER, big, &image.builder.checked_build_tags(big)?)?;
            Ok(bytes + one.next_multiple_of(2))
        })
    }

    /// Writes the header and, from the even place `start` on, the directories.
    fn write_directories(&mut self, big: bool, start: u64, places: &[Vec<Place>]) -> Result<(), Error> {
        let (mut at, mut before) = (start, None);
        for (image, places) in self.images.iter().zip(places) {
            let tags = image.tags(big, places)?;
            self.out.seek(SeekFrom::Start(at))?;
            let (offsets, lengths) = image.builder.offset_tag_codes();
            let written = write_ifd(&mut self.out, ORDER, big, &tags, offsets, lengths, places.len())?;
            let end = self.out.stream_position()?;
            self.out.write_all(&[0; 1][..(end % 2) as usize])?;
            match before {
                Some(pointer) => patch_next_ifd(&mut self.out, ORDER, big, pointer, at)?,
                None => {
                    self.out.seek(SeekFrom::Start(0))?;
                    write_header(&mut self.out, ORDER, big)?;
                    patch_first_ifd(&mut self.out, 0, ORDER, big, at)?;
                }
            }
            before = Some(written.next_ifd_pointer_offset);
            at = end.next_multiple_of(2);
        }
        self.out.seek(SeekFrom::Start(at))?;
        Ok(())
    }
}

impl Image {
    /// The directory, with where blocks are.
    fn tags(&self, big: bool, places: &[Place]) -> Result<Vec<Tag>, Error> {
        let numbers = |of: fn(&Place) -> u64| {
            let numbers = places.iter().map(of);
            match big {
                true => TagValue::Long8(numbers.collect()),
                // The whole file was found to be shorter than 2^32.
                false => TagValue::Long(numbers.map(|number| number as u32).collect()),
            }
        };
        let (offsets, lengths) = self.builder.offset_tag_codes();
        let mut tags = self.builder.checked_build_tags(big)?;
        for tag in &mut tags {
            if tag.code == offsets {
                *tag = Tag::new(offsets, numbers(|place| place.0));
            } else if tag.code == lengths {
                *tag = Tag::new(lengths, numbers(|place| place.1));
            }
        }
        Ok(tags)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn number(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    /// A file of a whole of 32 x 32 cells and an overview of 16 x 16, in tiles of 16 x 16.
    fn written(variant: Variant, cog: bool) -> Result<Vec<u8>, Error> {
        let scratch = cog.then(|| tempfile::tempfile().unwrap());
        let mut file = TiffFile::new(Cursor::new(Vec::new()), variant, scratch)?;
        file.add(ImageBuilder::new(32, 32).tiles(16, 16))?;
        file.add(ImageBuilder::new(16, 16).tiles(16, 16).overview())?;
        for block in [0, 2, 3] {
            file.put(0, block, &[block as u8; 256])?;
        }
        file.put(1, 0, &[9; 256])?;
        file.leave_out(0, 1)?;
        file.finish(vec![Tag::new(42113, TagValue::Ascii("0".to_owned()))]).map(Cursor::into_inner)
    }

    #[test]
    fn a_cog_has_its_directories_first_and_the_smallest_blocks_before_the_larger_ones() {
        let file = written(Variant::AsNeeded, true).unwrap();
        assert_eq!(&file[..4], b"II\x2a\0");
        assert!(file[8..].starts_with(STRUCTURE.as_bytes()) && STRUCTURE.len() == 43 + 140);
        assert_eq!(number(&file, 4), 192);
        let leaders: Vec<usize> =
            (0..file.len() - 3).filter(|&at| number(&file, at) == 256 && file[at + 4..].len() >= 260).collect();
        let data: Vec<(u8, u32)> = leaders
            .iter()
            .filter(|&&at| (1..256).all(|i| file[at + 4 + i] == file[at + 4]))
            .map(|&at| (file[at + 4], number(&file, at + 260)))
            .collect();
        assert_eq!(data, [(9, 0x0909_0909), (0, 0), (2, 0x0202_0202), (3, 0x0303_0303)]);
        // The last bytes are the last block's.
        assert_eq!(leaders.last(), Some(&(file.len() - 264)));
        let big = written(Variant::Big, true).unwrap();
        assert_eq!((&big[..4], number(&big, 8)), (&b"II\x2b\0"[..], 200));
    }

    #[test]
    fn other_files_have_their_blocks_as_they_came_and_then_the_directories() {
        for (variant, first) in [(Variant::Classic, 8), (Variant::AsNeeded, 16), (Variant::Big, 16)] {
            let file = written(variant, false).unwrap();
            let bytes: Vec<u8> = [0, 2, 3, 9].into_iter().flat_map(|byte| [byte; 256]).collect();
            assert_eq!(&file[first..][..1024], &bytes[..], "{variant:?}");
            let at = if variant == Variant::Big { 8 } else { 4 };
            assert_eq!(number(&file, at) as usize, first + 1024);
        }
    }

    #[test]
    fn blocks_that_are_missing_or_come_twice_are_errors() {
        let file = || {
            let mut file = TiffFile::new(Cursor::new(Vec::new()), Variant::AsNeeded, None).unwrap();
            file.add(ImageBuilder::new(32, 16).tiles(16, 16)).unwrap();
            file.put(0, 1, &[1]).unwrap();
            file
        };
        assert!(matches!(file().put(0, 1, &[1]), Err(Error::BlockAlreadyWritten { index: 1 })));
        assert!(matches!(file().leave_out(0, 2), Err(Error::BlockIndexOutOfRange { index: 2, total: 2 })));
        assert!(matches!(file().finish(Vec::new()), Err(Error::IncompleteImage { written: 1, total: 2 })));
    }

    #[test]
    fn a_classic_file_ends_before_4_gib() {
        for scratch in [false, true] {
            let scratch = scratch.then(|| tempfile::tempfile().unwrap());
            let mut file = TiffFile::new(Cursor::new(Vec::new()), Variant::Classic, scratch).unwrap();
            file.add(ImageBuilder::new(16, 16).tiles(16, 16)).unwrap();
            file.at = CLASSIC_END - 10;
            assert!(matches!(file.put(0, 0, &[1; 11]), Err(Error::ClassicOffsetOverflow { .. })));
        }
        // As needed: places decide.
        let mut file = TiffFile::new(Cursor::new(Vec::new()), Variant::AsNeeded, None).unwrap();
        file.add(ImageBuilder::new(16, 16).tiles(16, 16)).unwrap();
        assert!(!file.is_big(|file| Ok(file.at + file.directory_bytes(false)?)).unwrap());
        file.at = CLASSIC_END;
        assert!(file.is_big(|file| Ok(file.at + file.directory_bytes(false)?)).unwrap());
    }
}
