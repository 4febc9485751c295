"""scikit-image's own tests of rank filters, with its local entropy replaced by `halotile.skimage.entropy`.

`cargo xtask python-test` runs this with a Python that has the package and scikit-image, and gives it scikit-image's source distribution of the same
version: the wheel has no tests. All of `test_rank.py` runs, other filters too, whose results show that nothing beside entropy was replaced. What the
tests call must really have come to halotile, so the calls that halotile computes, and those that it has scikit-image do, are noted for each test. The last
line counts: `N passed, N failed`.
"""

import argparse
import collections
import os
import pathlib
import sys
import tarfile
import tempfile

import numpy as np
import pytest
import skimage
import skimage._shared.testing
import skimage.filters.rank

import halotile.skimage

TESTS = "tests/skimage/filters/rank/test_rank.py"
REFERENCES = "data/rank_filter_tests.npz"

# Results for volumes are compared with a file that is in neither distribution and would have to be downloaded, so these tests are left out, and
# no others. Entropy of volumes is in three of those that are left.
VOLUMES, VOLUMES_REFERENCES = "test_rank_filters_3D", "data/rank_filters_tests_3d.npz"

# Tests in which halotile has to have computed something, and those in which it has to have asked scikit-image.
COMPUTED = {"test_rank_filter", "test_entropy", "test_rank_filters_boolean_shift"}
ASKED = {
    "test_compare_ubyte_vs_float_3d",
    "test_compare_8bit_unsigned_vs_signed_3d",
    "test_rank_filters_3D_boolean_shift",
}


def test_name():
    """The name of the test that runs, without its parameters."""
    return os.environ["PYTEST_CURRENT_TEST"].rsplit("::", 1)[1].split("[")[0].split(" ")[0]


def replace_entropy(computed, asked):
    """Puts our entropy in the place of scikit-image's, and has the tests of calls noted.

    The function itself goes there, without anything around it: a test looks at the line that warnings name.
    """
    rank = skimage.filters.rank
    compute, theirs = halotile._entropy.compute, halotile.skimage._skimage

    def noted_compute(*arguments, **options):
        computed[test_name()] += 1
        return compute(*arguments, **options)

    def theirs_noted(reason):
        asked[test_name()] += 1
        return theirs(reason)

    halotile._entropy.compute = noted_compute
    halotile.skimage._skimage = theirs_noted
    rank.entropy = halotile.skimage.entropy


def unpack(archive, directory, top):
    """The tests and their references, unpacked; `top` is the directory that all of the archive is in."""
    with tarfile.open(archive) as archive:
        for name in (TESTS, f"src/skimage/{REFERENCES}"):
            path = directory / top / name
            path.parent.mkdir(parents=True)
            # A KeyError if it is another version's.
            path.write_bytes(archive.extractfile(f"{top}/{name}").read())
    return directory / top


def replace_references(sources, directory):
    """Has references of tests come from the source distribution, and those of volumes, which are not in there, be none."""
    none = directory / "none.npz"
    np.savez(none)
    skimage._shared.testing.fetch = {REFERENCES: str(sources / "src/skimage" / REFERENCES), VOLUMES_REFERENCES: str(none)}.__getitem__


class Watch:
    """What becomes of each test."""

    def __init__(self):
        self.left_out, self.kept = [], []
        self.outcomes = {}
        self.said = []

    def pytest_collection_modifyitems(self, items):
        self.left_out = [item for item in items if item.originalname == VOLUMES]
        self.kept = items[:] = [item for item in items if item.originalname != VOLUMES]

    def pytest_runtest_logreport(self, report):
        # Setting up, the test, clearing away: one that went wrong counts.
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome
        if report.outcome != "passed":
            self.said.append(f"{report.nodeid} {report.outcome}")

    def pytest_collectreport(self, report):
        if report.outcome != "passed":
            self.said.append(f"{report.nodeid} was not collected: {report.outcome}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", required=True, type=pathlib.Path, help="scikit-image's source distribution")
    arguments = parser.parse_args()
    version = skimage.__version__
    print(f"scikit-image {version}, numpy {np.__version__}, halotile {halotile.__version__}")
    computed, asked = collections.Counter(), collections.Counter()
    watch = Watch()
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        sources = unpack(arguments.sources, directory, f"scikit_image-{version}")
        replace_entropy(computed, asked)
        replace_references(sources, directory)
        # Nothing of scikit-image's own settings for its tests is wanted, and nothing is written.
        options = ["-q", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull, "--rootdir", str(sources), "--import-mode=importlib"]
        code = pytest.main([str(sources / TESTS), *options], plugins=[watch])

    wrong = list(watch.said)
    if code != 0 and not wrong:
        wrong.append(f"pytest ended with {code!r}")
    of_entropy = [item for item in watch.kept if "entropy" in item.name]
    wrong += [f"{item.nodeid} did not run" for item in watch.kept if item.nodeid not in watch.outcomes]
    if len(of_entropy) < 12:
        wrong.append(f"only {len(of_entropy)} tests have entropy in their names")
    wrong += [f"halotile computed nothing in {name}" for name in sorted(COMPUTED - set(computed))]
    wrong += [f"halotile asked scikit-image for nothing in {name}" for name in sorted(ASKED - set(asked))]

    # A skipped test is one that went wrong, too: none needs anything that is not here.
    passed = sum(outcome == "passed" for outcome in watch.outcomes.values())
    print(f"entropy: halotile computed {computed.total()} images and had scikit-image do {asked.total()}; {len(of_entropy)} tests by name:")
    for item in of_entropy:
        print(f"    {watch.outcomes.get(item.nodeid, 'did not run')} {item.name}")
    print(f"left out: {len(watch.left_out)} cases of {VOLUMES}, whose references are not in the source distribution")
    for text in wrong:
        print(f"WRONG   {text}")
    print(f"{passed} passed, {len(wrong)} failed")
    sys.exit(bool(wrong) or passed == 0)


if __name__ == "__main__":
    main()
