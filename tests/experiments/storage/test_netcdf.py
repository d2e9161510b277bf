"""Our reader returns the same trees as xarray."""

import random

import h5py
import numpy as np
import pytest
import xarray as xr

from experiments.storage.errors import DamagedError
from experiments.storage.files import read_tree
from experiments.storage.netcdf import from_netcdf, to_netcdf_bytes, with_digest


def tree():
    rng = np.random.default_rng(0)
    root = xr.Dataset(
        {"regret": (("run", "round"), rng.normal(size=(3, 40))), "flags": ("run", [True, False, True])},
        {"run": np.arange(3), "round": 10 * np.arange(40)},
        {"seconds": 1.5, "settings": '{"a": 1}', "pair": [1.0, 2.0]},
    )
    inner = xr.Dataset(
        {"theta": (("chain", "draw", "theta_dim"), rng.normal(size=(2, 5, 4)))}, attrs={"n": 3}
    )
    single = xr.Dataset(
        {"total_variation": (("run", "probe"), np.array([[0.1, np.nan]] * 3, "float32"))}, {"probe": [1, 7]}
    )
    return xr.DataTree.from_dict({"/": root, "/round_7/posterior": inner, "/diagnostics": single})


def test_trees_are_read_as_xarray_reads_them(tmp_path):
    path = tmp_path / "tree.nc"
    path.write_bytes(to_netcdf_bytes(tree()))
    with xr.open_datatree(path, engine="h5netcdf") as opened:
        theirs = opened.load()
    ours = from_netcdf(path)
    assert [node.path for node in ours.subtree] == [node.path for node in theirs.subtree]
    for node in theirs.subtree:
        own = ours[node.path].to_dataset()
        xr.testing.assert_equal(own, node.to_dataset())
        assert {name: own[name].dtype for name in own} == {name: node[name].dtype for name in node.data_vars}
        assert {key: str(value) for key, value in own.attrs.items()} == {
            key: str(value) for key, value in node.attrs.items()
        }


def test_links_to_other_files_are_rejected(tmp_path):
    path = tmp_path / "tree.nc"
    path.write_bytes(to_netcdf_bytes(tree()))
    with h5py.File(path, "a") as file:
        file["elsewhere"] = h5py.ExternalLink(str(tmp_path / "other.nc"), "/")
    path.write_bytes(with_digest(path.read_bytes()))
    with pytest.raises(ValueError, match="points to another file"):
        from_netcdf(path)


@pytest.mark.parametrize("damage", ["a value", "a coordinate", "an attribute", "a name"])
def test_a_changed_file_is_rejected(tmp_path, damage):
    """HDF5 opens all of these: only the digest detects the change."""
    path = tmp_path / "tree.nc"
    path.write_bytes(to_netcdf_bytes(tree()))
    read_tree(path)
    with h5py.File(path, "a") as file:
        if damage == "a value":
            file["diagnostics/total_variation"][0, 0] += 1e-6
        elif damage == "a coordinate":
            file["round"][3] = 31
        elif damage == "an attribute":
            file.attrs["seconds"] = 2.5
        else:
            file.move("flags", "other")
    with pytest.raises(DamagedError, match="not what was written"):
        read_tree(path)


def test_a_flipped_bit_is_detected_before_hdf5_opens_the_file(tmp_path, monkeypatch):
    """Some of them would make HDF5 loop forever, others would crash the process."""
    path, whole, rng = tmp_path / "tree.nc", to_netcdf_bytes(tree()), random.Random(0)
    opened = []
    monkeypatch.setattr(h5py, "File", lambda *args, **kwargs: opened.append(args))
    spoiled = [bytearray(whole) for _ in range(300)]
    for content in spoiled:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    for content in [*spoiled, whole[:-1], whole[:-500], whole[:10], b"", whole + b"\0"]:
        path.write_bytes(content)
        with pytest.raises(DamagedError, match="not what was written"):
            read_tree(path)
    assert not opened
