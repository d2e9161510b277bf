"""Several hosts: processes that JAX joins, whose devices share the runs as the cores of one process do."""

import socket
import subprocess
import sys

import numpy as np
import pytest

from fgtsva_ppl import PSGLD, Sparse, Thompson, simulate

PROGRAM = """
import sys
import jax
import numpy as np

address, number, path = sys.argv[1:]
jax.distributed.initialize(address, num_processes=2, process_id=int(number))
from fgtsva_ppl import PSGLD, Sparse, Thompson, simulate

assert len(jax.devices()) == 2 * len(jax.local_devices())
played = simulate(Sparse(dim=2), Thompson(sampler=PSGLD(num_steps=2)), rounds=8, runs=60, probes=[4])
np.savez(path, regret=played.regret, position=played.snapshots[0].states.sampler.position)
"""


@pytest.mark.slow
def test_two_hosts_have_the_results_of_one_process(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    paths = [tmp_path / f"{number}.npz" for number in range(2)]
    hosts = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, address, str(number), str(path)])
        for number, path in enumerate(paths)
    ]
    try:
        assert [host.wait(timeout=300) for host in hosts] == [0, 0]
    finally:
        for host in hosts:
            host.kill()
            host.wait()
    alone = simulate(Sparse(dim=2), Thompson(sampler=PSGLD(num_steps=2)), rounds=8, runs=60, probes=[4])
    for path in paths:
        with np.load(path) as stored:
            np.testing.assert_array_equal(stored["regret"], alone.regret)
            np.testing.assert_array_equal(stored["position"], alone.snapshots[0].states.sampler.position)
