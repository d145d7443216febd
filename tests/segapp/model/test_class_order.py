import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from segapp.imaging.rasterise import rasterize, rasterize_marks
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Patch, Stroke
from segapp.model.labelling import InitialLabels, Labelling

SIZE = (6, 9)


def document(n_classes, ground, rng):
    classes = [ClassInfo(f"class {k}", (k, k, k)) for k in range(n_classes)]
    if ground is not None:
        classes[ground] = ClassInfo("background", (9, 9, 9))
    labels = rng.integers(0, n_classes, SIZE).astype(np.uint8)
    codes = np.zeros(SIZE, np.uint32)
    start = InitialLabels.from_labelling(
        Labelling(labels, np.ones(SIZE, np.float32), codes, n_classes, 1), "a model"
    )
    strokes = [Stroke(((k + 0.5, 1.5),), 0.6, k) for k in range(n_classes)]
    retouch = Patch.of_mask(labels == labels[0, 0], int(labels[0, 0]))
    erased = Stroke(((2.5, 4.5),), 1.0, None)
    return Document(tuple(classes), tuple(strokes), start, (retouch, erased))


@given(st.data(), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_everything_keeps_the_class_that_it_had(data, n_classes, seed):
    ground = data.draw(st.none() | st.integers(0, n_classes - 1))
    index, place = (data.draw(st.integers(0, n_classes - 1)) for _ in range(2))
    before = document(n_classes, ground, np.random.default_rng(seed))
    after = before.with_class_moved(index, place)
    names = [info.name for info in before.classes]
    wanted = names[:index] + names[index + 1 :]
    wanted.insert(place, names[index])
    assert [info.name for info in after.classes] == wanted

    def named(doc, labels):
        return np.array([info.name for info in doc.classes] + [""])[labels]

    def seen(doc):
        return [
            named(doc, labels)
            for labels in (
                rasterize(doc, SIZE),
                rasterize_marks(doc.retouches, SIZE),
                doc.initial.labelling(n_classes).labels,
            )
        ]

    for one, other in zip(seen(before), seen(after), strict=True):
        np.testing.assert_array_equal(one, other)
    assert after.classes[after.background].name == names[before.background]
    back = after.with_class_moved(place, index)
    assert [info.name for info in back.classes] == names
    assert back.strokes == before.strokes
