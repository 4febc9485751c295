"""TIFF files that no writer in use makes any more, or that are made wrongly, and that GDAL reads all the same: made by hand, byte by byte.

`FILES` names them; `raster_files.py` writes each and compares every cell that the library reads with what rasterio (GDAL) reads; what
rasterio cannot read, the library must refuse. `REFUSED` names files that are not read, with the words of the refusal; `OTHERWISE` those of
`FILES` in which the library departs from GDAL, and why. A file is a header, the blocks, the directory and its tables, in
this order; `tiff` takes every tag as it is, so that it can be wrong.
"""

import lzma
import struct
import zlib

import numpy as np

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 11: 4, 12: 8, 16: 8, 17: 8}
CODES = {1: "B", 2: "B", 3: "H", 4: "I", 5: "II", 6: "b", 7: "B", 8: "h", 9: "i", 11: "f", 12: "d", 16: "Q", 17: "q"}


def tiff(shape, blocks, *, order="<", bits=8, samples=1, compression=1, tile=None, rows=None, planar=1, photometric=1, **more):
    """A file of one image. `more`: tags by number as `t339=(type, [values])`, or `t279=None` to leave one out."""
    height, width = shape
    header = struct.pack(order + "2sHI", b"II" if order == "<" else b"MM", 42, 0)
    body, places = bytearray(header), []
    for block in blocks:
        places.append(len(body))
        body += block + bytes(len(block) % 2)
    where, how_long = (324, 325) if tile else (273, 279)
    tags = {
        256: (4, [width]),
        257: (4, [height]),
        258: (3, [bits] * samples),
        259: (3, [compression]),
        262: (3, [photometric]),
        where: (4, places),
        277: (3, [samples]),
        how_long: (4, [len(block) for block in blocks]),
        284: (3, [planar]),
    }
    tags |= {322: (3, [tile[1]]), 323: (3, [tile[0]])} if tile else {278: (4, [rows or height])}
    tags |= {int(name[1:]): value for name, value in more.items()}
    entries, outside = [], bytearray()
    tags = sorted((code, value) for code, value in tags.items() if value is not None)
    directory = len(body)
    after = directory + 2 + 12 * len(tags) + 4
    for code, (kind, values) in tags:
        packed = b"".join(struct.pack(order + CODES[kind], *(v if isinstance(v, tuple) else (v,))) for v in values)
        if len(packed) <= 4:
            place = packed.ljust(4, b"\0")
        else:
            place = struct.pack(order + "I", after + len(outside))
            outside += packed + bytes(len(packed) % 2)
        entries.append(struct.pack(order + "HHI", code, kind, len(values)) + place)
    body += struct.pack(order + "H", len(tags)) + b"".join(entries) + bytes(4) + outside
    body[4:8] = struct.pack(order + "I", directory)
    return bytes(body)


def pack(numbers, bits):
    """Rows of numbers as bits, the highest first; each row begins with a byte."""
    rows = []
    for row in np.atleast_2d(numbers):
        text = "".join(format(int(v), f"0{bits}b") for v in row)
        text += "0" * (-len(text) % 8)
        rows.append(int(text, 2).to_bytes(len(text) // 8, "big"))
    return b"".join(rows)


def packbits(data):
    """Runs of three and more, and what lies between them; a no-op first."""
    out, i, literal = bytearray([128]), 0, bytearray()

    def flush():
        for at in range(0, len(literal), 128):
            part = literal[at : at + 128]
            out.extend([len(part) - 1, *part])
        literal.clear()

    while i < len(data):
        run = 1
        while run < 128 and i + run < len(data) and data[i + run] == data[i]:
            run += 1
        if run > 2:
            flush()
            out.extend([257 - run, data[i]])
        else:
            literal.extend(data[i : i + run])
        i += run
    flush()
    return bytes(out)


def lzw(data, old=False):
    """LZW as TIFF has it, or as writers before TIFF 5.0's errata had it: the lowest bit first, and each width one code longer."""
    bits, held, out = 0, 0, bytearray()

    def put(code, width):
        nonlocal bits, held
        held = held | code << bits if old else held << width | code
        bits += width
        while bits >= 8:
            if old:
                out.append(held & 255)
                held >>= 8
            else:
                out.append(held >> (bits - 8) & 255)
                held &= (1 << (bits - 8)) - 1
            bits -= 8

    table, width = {bytes([i]): i for i in range(256)}, 9
    put(256, width)
    following, last = 258, b""
    for byte in data:
        longer = last + bytes([byte])
        if longer in table:
            last = longer
            continue
        put(table[last], width)
        table[longer], following = following, following + 1
        last = bytes([byte])
        if following > (1 << width) - (0 if old else 1):
            width += 1
        if following == 4094:
            put(table[last], width)
            put(256, width)
            table, width, following, last = {bytes([i]): i for i in range(256)}, 9, 258, b""
    if last:
        put(table[last], width)
        following += 1
        if following > (1 << width) - (0 if old else 1) and width < 12:
            width += 1
    put(257, width)
    put(0, 7)
    return bytes(out)


def reverse(data):
    """Every byte with its lowest bit first."""
    return bytes(int(format(b, "08b")[::-1], 2) for b in data)


def cells(shape, dtype="uint8", high=None, seed=3):
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (random.random(shape) * 1000 - 500).astype(dtype)
    high = high or min(np.iinfo(dtype).max, 2**40)
    return random.integers(0, high + 1, shape).astype(dtype)


def strips(made, rows):
    return [made[at : at + rows] for at in range(0, len(made), rows)]


def tiles(made, height, width, whole=True):
    """Tiles, row by row; those at the lower edge with only the rows that are in the image, unless `whole`."""
    blocks = []
    for top in range(0, made.shape[0], height):
        for left in range(0, made.shape[1], width):
            part = made[top : top + height, left : left + width]
            padded = np.zeros((height if whole else len(part), width, *made.shape[2:]), made.dtype)
            padded[: len(part), : part.shape[1]] = part
            blocks.append(padded)
    return blocks


def differences(made):
    """Predictor 2, within rows, in the numbers' own width."""
    out = made.copy()
    out[:, 1:] = made[:, 1:] - made[:, :-1]
    return out


def float_bytes(made):
    """Predictor 3: the bytes of a row, all highest ones first, as differences."""
    size = made.dtype.itemsize
    rows = []
    for row in made:
        big = np.frombuffer(row.astype(row.dtype.newbyteorder(">")).tobytes(), "uint8").reshape(-1, size)
        flat = big.T.ravel().copy()
        flat[1:] = flat[1:] - flat[:-1]
        rows.append(flat.tobytes())
    return b"".join(rows)


SHAPE = (53, 41)
U8 = cells(SHAPE)
U12 = cells(SHAPE, "uint16", 4095)
U16 = cells(SHAPE, "uint16")
FILES, REFUSED = {}, {}


def of(name, made):
    FILES[name] = made


deflate = zlib.compress

# Predictors.
for code, name in [(2, "2"), (3, "3")]:
    of(f"predictor {name} without compression", tiff(SHAPE, [U8.tobytes()], t317=(3, [code])))
of("f32, predictor 3 without compression", tiff(SHAPE, [cells(SHAPE, "f4").tobytes()], bits=32, t317=(3, [3]), t339=(3, [3])))
of("f64, predictor 2", tiff(SHAPE, [deflate(differences(cells(SHAPE, "f8").view("u8")).tobytes())], bits=64, compression=8, t317=(3, [2]), t339=(3, [3])))
of("f32, predictor 2", tiff(SHAPE, [deflate(differences(cells(SHAPE, "f4").view("u4")).tobytes())], bits=32, compression=8, t317=(3, [2]), t339=(3, [3])))
for kind in (1, 3, 4, 6, 7, 8, 9, 12, 11, 5, 16):
    value = (2, 1) if kind == 5 else 2
    of(f"predictor 2 of field type {kind}", tiff(SHAPE, [deflate(differences(U8).tobytes())], compression=8, t317=(kind, [value])))
of("predictor 2 said twice", tiff(SHAPE, [deflate(differences(U8).tobytes())], compression=8, t317=(3, [2, 2])))
of("predictor 1 of 12 bits", tiff(SHAPE, [deflate(pack(U12, 12))], bits=12, compression=8, t317=(3, [1])))
of("predictor 2 of 12 bits", tiff(SHAPE, [deflate(pack(U12, 12))], bits=12, compression=8, t317=(3, [2])))
of("predictor 2 of 12 bits, no compression", tiff(SHAPE, [pack(U12, 12)], bits=12, t317=(3, [2])))
of("predictor 2 of 4 bits", tiff(SHAPE, [deflate(pack(U8 // 16, 4))], bits=4, compression=8, t317=(3, [2])))
of("predictor 9 without compression", tiff(SHAPE, [U8.tobytes()], t317=(3, [9])))

# Bits.
for bits in (*range(1, 8), *range(9, 16), *range(17, 32)):
    made = cells(SHAPE, "uint32", 2**bits - 1)
    for order in "<>":
        of(f"{bits} bits, {order}", tiff(SHAPE, [pack(made, bits)], bits=bits, order=order))
        of(f"{bits} bits, deflate, tiles, {order}", tiff(SHAPE, [deflate(pack(t, bits)) for t in tiles(made, 16, 16)], bits=bits, order=order, compression=8, tile=(16, 16)))
        two = np.stack([made, made[::-1]], 2).reshape(SHAPE[0], -1)
        of(f"2 samples of {bits} bits, {order}", tiff(SHAPE, [deflate(pack(two, bits))], bits=bits, samples=2, order=order, compression=8, t338=(3, [0])))
for bits in (4, 7, 8, 12, 16, 24):
    made = cells(SHAPE, "uint32", 2**bits - 1)
    of(f"signed, {bits} bits", tiff(SHAPE, [pack(made, bits)], bits=bits, order=">", t339=(3, [2])))
for order in "<>":
    half = cells(SHAPE, order + "f2")
    half[0, :8] = [0, -0.0, np.inf, -np.inf, np.nan, 6e-8, 6.1e-5, 65504]
    of(f"f16, {order}", tiff(SHAPE, [half.tobytes()], bits=16, order=order, t339=(3, [3])))
    of(f"f16, deflate, {order}", tiff(SHAPE, [deflate(half.tobytes())], bits=16, order=order, compression=8, t339=(3, [3])))
    of(f"f16, predictor 3, {order}", tiff(SHAPE, [deflate(float_bytes(half))], bits=16, order=order, compression=8, t317=(3, [3]), t339=(3, [3])))
    of(f"f16, predictor 2, {order}", tiff(SHAPE, [deflate(differences(half.view(order + "u2")).tobytes())], bits=16, order=order, compression=8, t317=(3, [2]), t339=(3, [3])))
    random = np.random.default_rng(5).integers(0, 256, (*SHAPE, 3), "uint8")
    random[0, :4] = [[0, 0, 0], [0, 0, 128], [1, 0, 128], [0, 255, 127]]
    of(f"f24, {order}", tiff(SHAPE, [random.tobytes()], bits=24, order=order, t339=(3, [3])))
    of(f"f24, deflate tiles, {order}", tiff(SHAPE, [deflate(t.tobytes()) for t in tiles(random, 16, 16)], bits=24, order=order, compression=8, tile=(16, 16), t339=(3, [3])))
    of(f"f24, predictor 3, {order}", tiff(SHAPE, [deflate(b"".join(
        np.diff(row[:, :: -1 if order == "<" else 1].T.ravel(), prepend=np.uint8(0)).astype("uint8").tobytes() for row in random))],
        bits=24, order=order, compression=8, t317=(3, [3]), t339=(3, [3])))

# Where blocks lie, and how long they are.
of("StripByteCounts 0, one strip", tiff(SHAPE, [U8.tobytes()], t279=(4, [0])))
of("StripByteCounts 0, one strip of deflate", tiff(SHAPE, [deflate(U8.tobytes())], compression=8, t279=(4, [0])))
of("StripByteCounts too small, one strip", tiff(SHAPE, [U8.tobytes()], t279=(4, [100])))
of("StripByteCounts too large, one strip", tiff(SHAPE, [U8.tobytes()], t279=(4, [10**9])))
of("StripByteCounts missing, one strip", tiff(SHAPE, [U8.tobytes()], t279=None))
of("StripByteCounts missing, one strip of deflate", tiff(SHAPE, [deflate(U8.tobytes())], compression=8, t279=None))
of("StripByteCounts missing, one strip of PackBits", tiff(SHAPE, [packbits(U8.tobytes())], compression=32773, t279=None))
some = [s.tobytes() for s in strips(U8, 10)]
of("StripByteCounts 0 of some strips", tiff(SHAPE, some, rows=10, t279=(4, [410, 0, 410, 0, 410, 123])))
of("StripByteCounts 0 of all strips", tiff(SHAPE, some, rows=10, t279=(4, [0] * 6)))
of("StripByteCounts of a whole plane", tiff(SHAPE, some, rows=10, t279=(4, [2173] + [410] * 5)))
of("StripByteCounts missing, several strips", tiff(SHAPE, some, rows=10, t279=None))
of("StripByteCounts too few", tiff(SHAPE, some, rows=10, t279=(4, [410, 410])))
of("StripByteCounts too many", tiff(SHAPE, some, rows=10, t279=(4, [410] * 5 + [123, 9, 9])))
planes = [U8.tobytes(), U8[::-1].tobytes()]
of("StripByteCounts missing, a strip a plane", tiff(SHAPE, planes, samples=2, planar=2, t279=None, t338=(3, [0])))
of("StripByteCounts missing, a strip of deflate a plane", tiff(SHAPE, [deflate(p) for p in planes], samples=2, planar=2, compression=8, t279=None, t338=(3, [0])))
of("RowsPerStrip missing", tiff(SHAPE, [U8.tobytes()], t278=None))
of("RowsPerStrip 0", tiff(SHAPE, [U8.tobytes()], t278=(4, [0])))
of("RowsPerStrip of 2^32 - 1", tiff(SHAPE, [U8.tobytes()], t278=(4, [2**32 - 1])))
of("offsets of type SHORT", tiff(SHAPE, some, rows=10, t273=(3, [8, 418, 828, 1238, 1648, 2058]), t279=(3, [410] * 5 + [123])))
whole = [s.tobytes() for s in strips(np.vstack([U8, np.full((7, 41), 9, "u1")]), 10)]
of("last strip padded", tiff(SHAPE, whole, rows=10))
for name, code, compressed in [("deflate", 8, deflate), ("LZW", 5, lzw), ("PackBits", 32773, packbits)]:
    of(f"last strip padded, {name}", tiff(SHAPE, [compressed(b) for b in whole], rows=10, compression=code))
    of(f"last strip short, {name}", tiff(SHAPE, [compressed(b) for b in some], rows=10, compression=code))
for name, code, compressed in [("as they are", 1, bytes), ("deflate", 8, deflate), ("LZW", 5, lzw)]:
    inside = [compressed(t.tobytes()) for t in tiles(U8, 16, 16, whole=False)]
    of(f"tiles with only the rows inside, {name}", tiff(SHAPE, inside, tile=(16, 16), compression=code))
full = [t.tobytes() for t in tiles(U8, 16, 16)]
places = [8 + 256 * i for i in range(12)]
of("tiles by StripOffsets", tiff(SHAPE, full, tile=(16, 16), t324=None, t325=None, t273=(4, places), t279=(4, [256] * 12)))
of("tiles by StripOffsets and TileByteCounts", tiff(SHAPE, full, tile=(16, 16), t324=None, t273=(4, places)))
of("tiles without TileByteCounts", tiff(SHAPE, full, tile=(16, 16), t325=None))
of("one tile without TileByteCounts", tiff((16, 16), full[:1], tile=(16, 16), t325=None))
of("strips by TileOffsets", tiff(SHAPE, some, rows=10, t273=None, t279=None, t324=(4, [8, 418, 828, 1238, 1648, 2058]), t325=(4, [410] * 5 + [123])))
of("deflate with junk after it", tiff(SHAPE, [deflate(U8.tobytes()) + b"junk!"], compression=8))
of("deflate longer than its strip", tiff(SHAPE, [deflate(U8.tobytes() + bytes(500))], compression=8))
of("deflate, old code", tiff(SHAPE, [deflate(U8.tobytes())], compression=32946))
of("deflate with a wrong checksum", tiff(SHAPE, [deflate(U8.tobytes())[:-4] + b"\0\0\0\0"], compression=8))
of("deflate without its checksum", tiff(SHAPE, [deflate(U8.tobytes())[:-4]], compression=8))

# LZW, fill order.
long = cells((200, 300))
smooth = (np.add.outer(np.arange(200), np.arange(300)) // 7).astype("uint8")
for name, made in [("noise", long), ("smooth", smooth), ("one value", np.full((200, 300), 5, "uint8"))]:
    of(f"old-style LZW, {name}", tiff((200, 300), [lzw(made.tobytes(), True)], compression=5))
    of(f"LZW, {name}", tiff((200, 300), [lzw(made.tobytes())], compression=5))
of("old-style LZW, strips, predictor 2", tiff(SHAPE, [lzw(differences(s).tobytes(), True) for s in strips(U8, 10)], rows=10, compression=5, t317=(3, [2])))
of("LZW without its end", tiff(SHAPE, [lzw(U8.tobytes())[:-2]], compression=5))
for name, code, compressed in [("as it is", 1, bytes), ("deflate", 8, deflate), ("LZW", 5, lzw), ("PackBits", 32773, packbits)]:
    of(f"fill order 2, {name}", tiff(SHAPE, [reverse(compressed(U8.tobytes()))], compression=code, t266=(3, [2])))
of("fill order 2, 1 bit", tiff(SHAPE, [reverse(pack(U8 & 1, 1))], bits=1, t266=(3, [2])))
of("fill order 2, 12 bits", tiff(SHAPE, [reverse(pack(U12, 12))], bits=12, t266=(3, [2])))
of("fill order 2, 16 bits", tiff(SHAPE, [reverse(U16.tobytes())], bits=16, t266=(3, [2])))

# Colours and samples.
four = cells((*SHAPE, 4))
of("CMYK", tiff(SHAPE, [four.tobytes()], samples=4, photometric=5, t332=(3, [1])))
of("CMYK, deflate, planes", tiff(SHAPE, [deflate(four[:, :, i].tobytes()) for i in range(4)], samples=4, photometric=5, planar=2, compression=8))
of("inks", tiff(SHAPE, [four[:, :, :2].tobytes()], samples=2, photometric=5, t332=(3, [2])))
of("0 is white", tiff(SHAPE, [U8.tobytes()], photometric=0))
of("0 is white, 1 bit", tiff(SHAPE, [pack(U8 & 1, 1)], bits=1, photometric=0))
of("a mask's photometric", tiff(SHAPE, [pack(U8 & 1, 1)], bits=1, photometric=4))
of("no photometric", tiff(SHAPE, [U8.tobytes()], t262=None))
of("photometric that is not known", tiff(SHAPE, [U8.tobytes()], photometric=999))
of("colour filter array", tiff(SHAPE, [U8.tobytes()], photometric=32803))
of("linear raw", tiff(SHAPE, [U8.tobytes()], photometric=34892))
of("RGB with too few samples", tiff(SHAPE, [U8.tobytes()], photometric=2))
of("grey with too many samples", tiff(SHAPE, [four.tobytes()], samples=4))
of("palette of too few colours", tiff(SHAPE, [U8.tobytes()], photometric=3, t320=(3, [7] * 30)))
of("palette without colours", tiff(SHAPE, [U8.tobytes()], photometric=3))
of("CIELab", tiff(SHAPE, [four[:, :, :3].tobytes()], samples=3, photometric=8))
of("SampleFormat 4", tiff(SHAPE, [U8.tobytes()], t339=(3, [4])))
of("SampleFormat as LONG", tiff(SHAPE, [cells(SHAPE, "f4").tobytes()], bits=32, t339=(4, [3])))
of("BitsPerSample once for 3 samples", tiff(SHAPE, [four[:, :, :3].tobytes()], samples=3, photometric=2, t258=(3, [8])))
of("BitsPerSample missing", tiff(SHAPE, [pack(U8 & 1, 1)], t258=None))
of("planar configuration missing", tiff(SHAPE, [four[:, :, :3].tobytes()], samples=3, photometric=2, t284=None))
of("planar configuration 0", tiff(SHAPE, [U8.tobytes()], t284=(3, [0])))
of("compression missing", tiff(SHAPE, [U8.tobytes()], t259=None))
of("compression 0", tiff(SHAPE, [U8.tobytes()], compression=0))
of("width of type SHORT and BYTE", tiff(SHAPE, [U8.tobytes()], t256=(1, [41]), t257=(3, [53])))
of("u64, predictor 2, big", tiff(SHAPE, [deflate(differences(cells(SHAPE, ">u8")).tobytes())], bits=64, order=">", compression=8, t317=(3, [2])))

# What is not read.
for name, code, words in [
    ("CCITT RLE", 2, "CCITT"), ("CCITT fax 3", 3, "CCITT"), ("CCITT fax 4", 4, "CCITT"), ("CCITT RLE/W", 32771, "CCITT"),
    ("old JPEG", 6, "JPEG"), ("JPEG", 7, "JPEG"), ("NeXT", 32766, "NeXT"), ("ThunderScan", 32809, "ThunderScan"),
    ("LZMA", 34925, "LZMA"), ("JPEG XL", 50002, "JPEG XL"), ("JPEG XL of DNG", 52546, "JPEG XL"), ("WebP", 50001, "WebP"),
    ("JPEG 2000", 34712, "JPEG 2000"), ("SGI log", 34676, "SGI"), ("Pixar log", 32909, "Pixar"), ("JBIG", 34661, "JBIG"),
    ("lossy JPEG of DNG", 34892, "JPEG"), ("nothing known", 12345, "12345"),
]:
    REFUSED[name] = tiff(SHAPE, [lzma.compress(U8.tobytes()) if code == 34925 else U8.tobytes()], compression=code), words
for name, bits, form in [("CInt16", 32, 5), ("CInt32", 64, 5), ("CFloat32", 64, 6), ("CFloat64", 128, 6), ("CFloat16", 32, 6)]:
    REFUSED[name] = tiff(SHAPE, [bytes(53 * 41 * bits // 8)], bits=bits, t339=(3, [form])), "complex"
REFUSED["YCbCr"] = tiff(SHAPE, [four[:, :, :3].tobytes()], samples=3, photometric=6, t530=(3, [1, 1])), "YCbCr"

OTHERWISE = {
    "StripByteCounts too few": "blocks without a length hold zeros in GDAL, which could be anything: refused",
    "CIELab": "GDAL makes other colours of it: refused",
    "CMYK": "GDAL makes red, green and blue of it: read as it is, with a note",
    "CMYK, deflate, planes": "as above",
}
