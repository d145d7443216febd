"""``segapp apply``: models on other images, and damaged models."""

import io
import json
import zipfile

import numpy as np
import pytest
from PIL import Image

from segapp.batch.robot_user import iou
from segapp.engine.learnt_model import LearntModelError, load_model
from segapp.engine.superpixels import BIN_LEVELS


def test_a_model_serves_other_images(segapp, ball, tmp_path):
    model = tmp_path / "models" / "ball.shlmodel"
    done = segapp(
        "segment", ball.image, "--strokes", ball.project, "--out", tmp_path / "m.png",
        "--save-model", model, "--json",
    )  # fmt: skip
    assert done.json["files"] == [str(tmp_path / "m.png"), str(model)]

    others = []
    for seed, centre in ((1, (25, 30)), (2, (33, 60))):
        path = ball.folder / f"other {seed}.png"
        others.append((path, ball.draw(path, seed, centre)))
    bad = ball.folder / "bad.png"
    bad.write_text("no image")
    out = tmp_path / "masks"
    done = segapp("apply", model, others[0][0], bad, others[1][0], "--out", out, "--json")
    assert done.code == 3
    assert (done.json["images"], done.json["failed"]) == (3, 1)
    assert done.json["results"][1]["error"].startswith("bad.png is not an image")
    assert "bad.png is not an image" in done.err
    for (path, inside), result in zip(others, done.json["results"][::2], strict=True):
        assert result["files"] == [str(out / path.name)]
        with Image.open(out / path.name) as image:
            labels = np.where(np.array(image) == 255, 0, 1)
        assert iou(labels, np.where(inside, 0, 1)) > 0.8

    copies = tmp_path / "copies"
    copies.mkdir()
    copy = copies / others[0][0].name
    copy.write_bytes(others[0][0].read_bytes())
    done = segapp("apply", model, others[0][0], copy, "--out", out, "--as", "numpy")
    assert done.code == 0
    assert [line.rsplit("/")[-1] for line in done.out.splitlines()] == [
        "other 1.npz",
        "other 1 2.npz",
    ]


def test_a_model_that_cannot_be_applied_gives_a_sentence(segapp, ball, tmp_path):
    (tmp_path / "m.shlmodel").write_text("hello")
    done = segapp("apply", tmp_path / "m.shlmodel", ball.image, "--out", tmp_path / "out")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "m.shlmodel" in done.err
    done = segapp("apply", tmp_path / "none.shlmodel", ball.image, "--out", tmp_path / "out")
    assert done.code == 1
    assert "none.shlmodel" in done.err
    assert not (tmp_path / "out").exists()


# Damaged models ------------------------------------------------------------------


@pytest.fixture
def model(segapp, ball, tmp_path):
    path = tmp_path / "ball.shlmodel"
    done = segapp(
        "segment", ball.image, "--strokes", ball.project, "--out", tmp_path / "m.png",
        "--save-model", path, "--set", "prototypes=100",
    )  # fmt: skip
    assert done.code == 0
    return path


def parts(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def with_header(change):
    def changed(content):
        header = json.loads(content["model.json"])
        change(header)
        return content | {"model.json": json.dumps(header)}

    return changed


def with_array(name, change):
    """Change an array of the learner's own file."""

    def changed(content):
        with np.load(io.BytesIO(content["learner"])) as archive:
            arrays = dict(archive)
        arrays[name] = change(arrays[name])
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        return content | {"learner": buffer.getvalue()}

    return changed


def with_learner_header(change):
    def changed(array):
        header = json.loads(array.tobytes())
        change(header)
        return np.frombuffer(json.dumps(header).encode(), np.uint8)

    return with_array("header", changed)


def with_raw_member(name, change):
    """Change the bytes of an array of the learner's own file."""

    def changed(content):
        buffer = io.BytesIO(content["learner"])
        with zipfile.ZipFile(buffer) as archive:
            members = {key: archive.read(key) for key in archive.namelist()}
        assert change(members[name]) != members[name]
        members[name] = change(members[name])
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for key, part in members.items():
                archive.writestr(key, part)
        return content | {"learner": buffer.getvalue()}

    return changed


def costs(value):
    return np.full(BIN_LEVELS**3 * 2, value, "<f4").tobytes()


def nan_in(array):
    return np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array)


DAMAGE = {
    "costs that are no numbers": lambda c: c | {"colours.f4": costs(np.nan)},
    "endless costs": lambda c: c | {"colours.f4": costs(np.inf)},
    "costs below nothing": lambda c: c | {"colours.f4": costs(-1)},
    "too few costs": lambda c: c | {"colours.f4": costs(0)[:-8]},
    "half a cost": lambda c: c | {"colours.f4": costs(0)[:-1]},
    "no costs": lambda c: {name: part for name, part in c.items() if name != "colours.f4"},
    "no learner": lambda c: {name: part for name, part in c.items() if name != "learner"},
    "an empty learner": lambda c: c | {"learner": b""},
    "a learner cut short": lambda c: c | {"learner": c["learner"][:-300]},
    "a learner with wrong bytes": lambda c: c | {
        "learner": c["learner"][:900] + bytes(50) + c["learner"][950:]
    },
    "an array whose header ends early": with_raw_member(
        "classes_.npy", lambda data: data.replace(b"(2,), }", b"(2,    ")
    ),
    "a class of a huge number": with_header(lambda h: h.update(learnt_classes=[0, 10**30])),
    "a class below nothing": with_header(lambda h: h.update(learnt_classes=[-1, 0])),
    "a class too many": with_header(lambda h: h.update(learnt_classes=[0, 2])),
    "a class twice": with_header(lambda h: h.update(learnt_classes=[0, 0])),
    "classes of a text": with_header(lambda h: h.update(learnt_classes="01")),
    "one class alone": with_header(lambda h: h.update(classes=h["classes"][:1])),
    "a colour of huge numbers": with_header(lambda h: h["classes"][0].update(colour=[1e999] * 3)),
    "a nested header": lambda c: c | {"model.json": "[" * 100_000},
    "a version of no number": with_header(lambda h: h.update(version="1")),
    "another feature": with_header(lambda h: h["settings"].update(features=["rgb"])),
    "a feature of one picture": with_header(lambda h: h["settings"].update(features=["position"])),
    "other bits": with_header(lambda h: h["settings"].update(bits=9)),
    "codewords as text": with_array("codewords_", lambda a: a.astype(str)),
    "codewords of another shape": with_array("codewords_", lambda a: a.ravel()),
    "codewords of one class": with_array("codewords_", lambda a: a[:1]),
    "classes from seven": with_array("classes_", lambda a: a + 7),
    "weights that are no numbers": with_array("hash_coefficients", nan_in),
    "huge weights": with_array("hash_coefficients", lambda a: a * 0 + 1e300),
    "complex weights": with_array("hash_coefficients", lambda a: a.astype(complex)),
    "dates for offsets": with_array("offsets", lambda a: a.astype("M8[s]")),
    "offsets too few": with_array("offsets", lambda a: a[:-1]),
    "factors of another rank": with_array("factors", lambda a: a[:, np.newaxis, np.newaxis]),
    "support rows too narrow": with_array("support_rows", lambda a: a[:, :-1]),
    "support rows too few": with_array("support_rows", lambda a: a[:-1]),
    "intercepts too few": with_array("hash_intercepts", lambda a: a[:-1]),
    "a kernel of no width": with_learner_header(
        lambda h: h["kernels"][0].update(sigma=0)
    ),
    "a kernel of a text": with_learner_header(
        lambda h: h["kernels"][0].update(sigma="wide")
    ),
    "a kernel of unknown columns": with_learner_header(
        lambda h: h["kernels"][0].update(columns="none")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_model_gives_a_sentence(segapp, ball, model, tmp_path, name):
    write(model, DAMAGE[name](parts(model)))
    done = segapp("apply", model, ball.image, "--out", tmp_path / "out")
    assert done.code == 1
    assert done.err.startswith("segapp: ball.shlmodel is ")
    assert done.err.endswith(".\n")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_only_packed_anew_opens(model):
    write(model, parts(model))
    assert load_model(model).classes[0].name == "foreground"


@pytest.mark.parametrize("name", ["model.json", "colours.f4", "learner", "inside the learner"])
def test_a_model_that_unpacks_to_a_gigabyte_is_refused(model, tmp_path, name):
    content = parts(model)
    inner = io.BytesIO(content["learner"])
    target = inner if name == "inside the learner" else model
    if name != "inside the learner":
        write(model, {key: part for key, part in content.items() if key != name})
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
        member = "codewords_2.npy" if name == "inside the learner" else name
        with archive.open(member, "w") as part:
            for _ in range(100):
                part.write(bytes(1 << 20))
    if name == "inside the learner":
        write(model, content | {"learner": inner.getvalue()})
    with pytest.raises(LearntModelError, match=r"unpacks to more than the \d+ MB it may hold"):
        load_model(model)


def test_a_missing_file_or_a_folder_gives_a_sentence(tmp_path):
    with pytest.raises(LearntModelError, match="There is no file"):
        load_model(tmp_path / "none.shlmodel")
    with pytest.raises(LearntModelError, match="is a folder"):
        load_model(tmp_path)
