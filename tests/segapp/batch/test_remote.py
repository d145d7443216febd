"""A batch on a Dask cluster gives what it gives here."""

import numpy as np
import pytest
from PIL import Image

from segapp.batch import Task, outcomes, remote_outcomes
from segapp.batch.cases import find_cases
from segapp.model.settings import SettingsChoice
from shlcore.cluster import ClusterError
from tests.segapp.fake_segmenter import NearestColour

distributed = pytest.importorskip("distributed")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_masks_do_not_depend_on_where_they_are_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("a", "b", "broken"):
        pixels = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(f"{name}.png")
        strokes = np.zeros((20, 30), np.uint8)
        strokes[2:4], strokes[10:12] = 1, 2
        Image.fromarray(strokes).save(f"{name}-strokes.png")
    (tmp_path / "broken.png").write_bytes(b"no image")
    cases = find_cases(".")

    def tasks(out):
        return [Task(case, tmp_path / out, SettingsChoice()) for case in cases]

    here = {outcome.name: outcome for outcome in outcomes(tasks("here"), NearestColour)}
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        address = cluster.scheduler_address
        there = {o.name: o for o in remote_outcomes(tasks("there"), NearestColour, address)}
    assert there.keys() == here.keys()
    assert there["broken"].error == here["broken"].error != ""
    for name in ("a", "b"):
        files = [tmp_path / out / "masks" / f"{name}.png" for out in ("here", "there")]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_no_cluster_is_one_clear_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("shlcore.cluster._PATIENCE", "1s")
    with pytest.raises(ClusterError, match="wanted a Dask scheduler there"):
        list(remote_outcomes([], NearestColour, "tcp://127.0.0.1:9"))
