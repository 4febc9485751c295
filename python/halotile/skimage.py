"""scikit-image's local entropy, with its arguments and its conventions.

    from halotile.skimage import entropy    # in place of skimage.filters.rank

In bits, in float64, the neighbourhood clipped at the border; a mask hides pixels from neighbourhoods, but every pixel has a result, 0 where its
neighbourhood is empty. What halotile does not do is done by scikit-image, which has to be installed for it: volumes, masked images of all 65536
values, neighbourhoods of more than 4095 pixels across. So is the conversion of images that are neither uint8 nor uint16.

Differences by design: sums are exact integers, so results differ from scikit-image's in the last digits (they are within 1e-12 of the definition);
and a mask is what scikit-image's documentation says of it, pixels where it is greater than 0, whatever its type (scikit-image scales it to uint8, by which
ones in an integer mask become zeros).
"""

import warnings

import numpy as np

import halotile
from halotile import _arguments, _gpu

__all__ = ["entropy"]


@_arguments.public("halotile.skimage.entropy")
def entropy(image, footprint, out=None, mask=None, shift_x=0, shift_y=0, shift_z=0, *, device="auto", threads=None):
    """Local entropy in bits, with the arguments of `skimage.filters.rank.entropy`.

    Parameters
    ----------
    image : array_like, shape (rows, cols)
        uint8 or uint16; others become uint8 as scikit-image has it, with a warning.
    footprint : ndarray
        The neighbourhood: greater than 0 where a pixel belongs to it. Its centre is at ``shape // 2``. For an image on a GPU it may be CuPy's.
    out : ndarray, optional
        Where the result goes, converted to its type.
    mask : array_like, optional
        Pixels where it is not greater than 0 are in no neighbourhood.
    shift_x, shift_y, shift_z : int
        What the centre of the footprint is moved by, within it.
    device, threads
        As for `halotile.entropy`.

    Returns
    -------
    ndarray of float64, shape (rows, cols)
        Or `out`. For an image on a GPU (CuPy) an array there.

    Raises
    ------
    ValueError
        The image has not two or three dimensions, it is boolean, the footprint has other dimensions than it, or none of its pixels belongs to it.
    NotImplementedError
        `out` is the image.
    ImportError
        scikit-image would have to do it and is not installed.

    References
    ----------
    .. [1] C. E. Shannon, A Mathematical Theory of Communication (1948), section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from halotile.skimage import entropy
    >>> image = np.array([[0, 0, 7], [0, 7, 7], [9, 7, 7]], dtype=np.uint8)
    >>> entropy(image, np.ones((3, 3))).round(3)
    array([[0.811, 1.   , 0.811],
           [1.459, 1.352, 0.65 ],
           [1.5  , 1.252, 0.   ]])
    """
    on_gpu = _gpu.is_remote(image)
    image = image if on_gpu else np.asanyarray(image)
    if image.ndim not in (2, 3):
        raise ValueError(f"`image` must have 2 or 3 dimensions, got {image.ndim}.")
    shifts = {"shift_x": shift_x, "shift_y": shift_y, "shift_z": shift_z}
    if image.ndim == 3:
        return _by_skimage(image, footprint, out, mask, shifts, "it is a volume")
    if image.dtype == bool:
        raise ValueError("dtype cannot be bool.")
    if not hasattr(footprint, "shape"):
        raise ValueError("footprint sequences are not currently supported by rank filters")
    if footprint.ndim != image.ndim:
        raise ValueError("Image dimensions and neighborhood dimensions do not match")
    if image is out:
        raise NotImplementedError("Cannot perform rank operation in place.")
    if image.dtype not in (np.uint8, np.uint16):
        warnings.warn(
            f"Possible precision loss converting image of type {image.dtype} to uint8 as required by rank filters. "
            "Convert manually using skimage.util.img_as_ubyte to silence this warning.",
            stacklevel=3,
        )
        image = _skimage("its type is neither uint8 nor uint16").util.img_as_ubyte(image)
    if image.dtype == np.uint16 and isinstance(image, np.ndarray) and image.size and (levels := int(image.max()) + 1) > 1024:
        # Callers may wait for this one, too.
        warnings.warn(
            f"Bad rank filter performance is what scikit-image would expect of {levels} grey levels; those that occur are what counts here.",
            stacklevel=3,
        )
    for name in ("shift_x", "shift_y"):
        if isinstance(shifts[name], (bool, np.bool_)):
            warnings.warn(
                f"Parameter `{name}` is boolean and will be interpreted as int. "
                "This is not officially supported, use int instead.",
                stacklevel=3,
            )
    shifts = {name: int(value) for name, value in shifts.items()}
    window = _window(_arguments.on_host(footprint) > 0, shifts["shift_y"], shifts["shift_x"])
    if max(window.shape) > _arguments.MAX_SIZE:
        return _by_skimage(image, footprint, out, mask, shifts, "its neighbourhoods are more than 4095 pixels across")
    if not window.any():
        # No neighbourhood has a pixel in it.
        return _given(np.zeros(image.shape), out)

    mask = None if mask is None else (mask if hasattr(mask, "dtype") else np.asarray(mask)) > 0
    plan, meaning = _arguments.options(
        footprint=window, base=2, dtype="float64", fill_nodata=mask is not None, device=device, threads=threads
    )
    try:
        # scikit-image knows no masked arrays.
        given = image if on_gpu else np.asarray(image)
        result = halotile._entropy.compute(given, mask, plan, meaning)
    except (ValueError, halotile.DeviceError) as error:
        # All values and a mask, which leave no code for what it hides, or more of them than GPUs count in float64.
        if not any(reason in str(error) for reason in ("different values", "classes and no data", "no kernel that can do this")):
            raise
        return _by_skimage(image, footprint, out, mask, shifts, str(error))
    # Where a neighbourhood is empty.
    if mask is not None or not window[window.shape[0] // 2, window.shape[1] // 2]:
        result[result != result] = 0.0
    return _given(result, out)


def _window(footprint, shift_y, shift_x):
    """The footprint in a window with odd sides and its centre in their middle."""
    sides = []
    for length, shift, name in zip(footprint.shape, (shift_y, shift_x), ("y", "x")):
        centre = length // 2 + shift
        if not 0 <= centre < length:
            raise ValueError(f"shift_{name}={shift}: the centre is outside the footprint, whose shape is {footprint.shape}")
        radius = max(centre, length - 1 - centre)
        sides.append((radius - centre, radius - (length - 1 - centre)))
    # Padding by nothing takes as long as a good part of a GPU's work.
    return np.pad(footprint, sides) if any(map(any, sides)) else footprint


def _given(result, out):
    """The result, in `out` if there is one."""
    if out is None:
        return result
    out[...] = result
    return out


def _skimage(reason):
    try:
        import skimage
        import skimage.filters.rank.generic
    except ImportError:
        raise ImportError(f"halotile has scikit-image do this, because {reason}; install scikit-image") from None
    return skimage


def _by_skimage(image, footprint, out, mask, shifts, reason):
    """scikit-image's own result, with its own warnings and errors."""
    if _gpu.is_remote(image):
        raise ValueError(f"image: {reason}, which halotile does not do on a GPU")
    # Where it is defined: `rank.entropy` may have been replaced, as by the function above.
    generic = _skimage(reason).filters.rank.generic
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = generic.entropy(image, footprint, out=out, mask=mask, **shifts)
    for warning in caught:
        # As if they came from here, so that they name the caller's line; `public` has a frame of its own.
        warnings.warn(warning.message, stacklevel=4)
    return result
