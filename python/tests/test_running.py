"""`halotile.entropy` while it works: threads, devices, progress, logging, Ctrl-C, forks and pools."""

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

import halotile
from conftest import HOOK, close, same


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_number_of_threads_changes_no_bit(rng, threads, dtype):
    values = rng.integers(0, 50, (150, 170))
    same(halotile.entropy(values, 7, threads=threads, dtype=dtype), halotile.entropy(values, 7, dtype=dtype))


@pytest.mark.parametrize("how", [{}, {"edge": "reflect"}, {"footprint": HOOK}, {"nodata": 3}, {"measure": ["simpson", "hill:3"]}, {"dtype": "float64"}])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_emulator_agrees_with_the_cpu(codes, how, order):
    given = np.asarray(codes, order=order)
    close(halotile.entropy(given, device="emulator", **how), halotile.entropy(given, device="cpu", **how), 2e-6)


def test_a_device_that_is_not_there_is_an_error_of_its_own(codes):
    if any(device["device"].startswith("cuda") for device in halotile.devices()):
        device = "cuda:99"
    else:
        device = "cuda"
    with pytest.raises(halotile.DeviceError):
        halotile.entropy(codes, device=device)


def test_progress_is_told_and_grows(rng):
    told = []
    values = rng.integers(0, 200, (500, 600))
    halotile.entropy(values, 15, progress=lambda done, cells: told.append((done, cells)))
    assert told[-1] == (300_000, 300_000) and {cells for _, cells in told} == {300_000}
    assert told == sorted(told)


def test_progress_is_told_of_long_work_about_ten_times_a_second(rng):
    told = []
    values = rng.integers(0, 250, (700, 800), dtype=np.uint8)

    def tell(done, cells):
        told.append(done)

    start = time.perf_counter()
    halotile.entropy(values, 255, footprint="disk", threads=1, progress=tell)
    took = time.perf_counter() - start
    assert told == sorted(told)
    assert len(told) >= min(took, 3) * 4, f"{len(told)} in {took} s"


def test_what_progress_raises_stops_the_work(rng):
    values = rng.integers(0, 250, (6000, 6000), dtype=np.uint8)

    class Enough(Exception):
        pass

    def tell(done, cells):
        raise Enough(done)

    start = time.perf_counter()
    with pytest.raises(Enough):
        halotile.entropy(values, 255, footprint="disk", dtype="float64", progress=tell)
    assert time.perf_counter() - start < 4


def test_the_device_is_logged(codes, caplog):
    with caplog.at_level(logging.INFO, logger="halotile"):
        halotile.entropy(codes)
    assert any(record.name == "halotile" and "221 cells on cpu, because" in record.getMessage() for record in caplog.records)


def test_nothing_is_printed_where_nobody_listens(in_new_process):
    assert in_new_process("import halotile; halotile.entropy([[1, 2], [3, 4]])") == ""


def test_other_threads_of_python_go_on_meanwhile(rng):
    values = rng.integers(0, 250, (1500, 1500), dtype=np.uint8)
    done, steps = threading.Event(), []

    def count():
        while not done.wait(0.001):
            steps.append(time.perf_counter())

    other = threading.Thread(target=count)
    other.start()
    start = time.perf_counter()
    halotile.entropy(values, 51, footprint="disk", threads=1, dtype="float64")
    end = time.perf_counter()
    done.set()
    other.join()
    within = [start] + [step for step in steps if start <= step <= end] + [end]
    assert end - start > 0.1, "too short to tell"
    assert np.diff(within).max() < (end - start) / 2, "the GIL was held"


def test_several_threads_may_call_at_once(rng, definition):
    values = [rng.integers(0, 9, (60, 60)) for _ in range(6)]
    expected = [definition(value) for value in values]
    wrong = []

    def work(i):
        for _ in range(20):
            if not np.allclose(halotile.entropy(values[i], dtype="float64", threads=1 + i % 2), expected[i], rtol=0, atol=1e-12):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads) and not wrong


LONG = """
    import signal, sys, threading, time
    import numpy as np
    import halotile

    signal.signal(signal.SIGINT, signal.default_int_handler)
    values = np.random.default_rng(1).integers(0, 250, (20000, 4000), dtype=np.uint8)
    disk = np.hypot(*np.mgrid[-127:128, -127:128]) <= 127
"""


def interrupted(text):
    """Starts a process, interrupts it half a second after it says that it is ready; its exit code, what it says, and how long it takes to end."""
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(LONG) + textwrap.dedent(text)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        start = time.perf_counter()
        said, errors = child.communicate(timeout=5)
        return child.returncode, said, errors, time.perf_counter() - start
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("how", ["footprint=disk, dtype='float64'", "size=255", "measure=['renyi:0.5', 'simpson'], size=255"])
def test_ctrl_c_stops_the_work(how):
    code, _, errors, took = interrupted(f"print('ready', flush=True)\nhalotile.entropy(values, {how})\n")
    assert code == -signal.SIGINT and errors.rstrip().endswith("KeyboardInterrupt"), errors
    assert took < 2


def test_ctrl_c_stops_the_emulator():
    # A block of it ends before it looks: with the largest windows that takes seconds.
    text = "print('ready', flush=True)\nhalotile.entropy(values[:2000], 31, footprint='disk', device='emulator')\n"
    code, _, errors, took = interrupted(text)
    assert code == -signal.SIGINT and took < 2, errors


def test_ctrl_c_stops_work_on_few_cells():
    """Few cells, but a window and measures that make much work of them."""
    text = """
        small, noise = values[:512, :512], np.random.default_rng(1).random((255, 255)) < 0.5
        print("ready", flush=True)
        while True:
            halotile.entropy(small, footprint=noise, measure=[f"renyi:{i / 7 + 0.3}" for i in range(40)], dtype="float64")
    """
    code, _, errors, took = interrupted(text)
    assert code == -signal.SIGINT and took < 2, errors


def test_ctrl_c_stops_the_look_at_values_too():
    text = "values = values.astype('f8')[:, :2000]\nprint('ready', flush=True)\nwhile True: halotile._native.Classes.survey(values)\n"
    code, _, errors, took = interrupted(text)
    assert code == -signal.SIGINT and took < 2, errors


def test_ctrl_c_can_be_caught_and_work_goes_on():
    text = """
        print("ready", flush=True)
        try:
            halotile.entropy(values, footprint=disk, dtype="float64")
        except KeyboardInterrupt:
            print(halotile.entropy(values[:9, :9], 3).shape)
    """
    code, said, errors, took = interrupted(text)
    assert (code, said) == (0, "(9, 9)\n") and took < 2, errors


def test_ctrl_c_reaches_the_main_thread_while_another_works():
    text = """
        worker = threading.Thread(target=halotile.entropy, args=(values,), kwargs={"footprint": disk, "dtype": "float64"}, daemon=True)
        worker.start()
        print("ready", flush=True)
        try:
            worker.join()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            sys.exit(3)
    """
    code, said, errors, took = interrupted(text)
    assert (code, said) == (3, "interrupted\n") and took < 2, errors


# Processes.

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@needs_fork
def test_a_child_that_was_forked_can_compute(in_new_process):
    said = in_new_process(
        """
        import os, signal, numpy as np, halotile
        values = np.random.default_rng(1).integers(0, 9, (600, 600))
        expected = halotile.entropy(values)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            ok = (halotile.entropy(values) == expected).all() and (halotile.apsp(np.ones((70, 70))) <= 1).all()
            os._exit(0 if ok else 1)
        print(os.waitpid(child, 0)[1], (halotile.entropy(values) == expected).all())
        """
    )
    assert said == "0 True\n"


@needs_fork
def test_a_child_can_be_forked_while_another_thread_computes(in_new_process):
    said = in_new_process(
        """
        import os, signal, threading, numpy as np, halotile
        values = np.random.default_rng(1).integers(0, 9, (300, 300))
        expected = halotile.entropy(values)
        done = threading.Event()
        def work():
            while not done.is_set():
                halotile.entropy(values)
        worker = threading.Thread(target=work)
        worker.start()
        codes = []
        for _ in range(15):
            child = os.fork()
            if child == 0:
                signal.alarm(10)
                os._exit(0 if (halotile.entropy(values) == expected).all() else 1)
            codes.append(os.waitpid(child, 0)[1])
        done.set()
        worker.join()
        print(codes)
        """
    )
    assert said == f"{[0] * 15}\n"


def _one(seed):
    return halotile.entropy(np.random.default_rng(seed).integers(0, 9, (40, 50)))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_pools_of_processes_can_compute(method):
    halotile.entropy(np.eye(600))
    with warnings.catch_warnings():
        # Python warns of forks where threads run.
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(method).Pool(2) as pool:
            results = pool.map_async(_one, range(4)).get(timeout=40)
    for seed, result in enumerate(results):
        same(result, _one(seed))


def test_many_calls_keep_no_memory(in_new_process):
    said = in_new_process(
        """
        import resource, numpy as np, halotile
        values = np.random.default_rng(1).integers(0, 9, (60, 1000))
        def call(n):
            for _ in range(n):
                halotile.entropy(values, 3)
                halotile.entropy(values, bins=4, mask=values)
                try:
                    halotile.entropy(values, levels=2)
                except ValueError:
                    pass
        call(50)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        call(300)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """
    )
    assert int(said) < 20_000
