"""Answers, previews and their conditions."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segapp.batch.robot_user import iou, score
from segapp.engine.trainer import Trainer, segment
from segapp.imaging import pyramid
from segapp.imaging.rasterise import rasterize
from segapp.model.answer import Answer, NotEnoughStrokes, final_answer
from segapp.model.classes import PALETTE, TWO_CLASSES, ClassInfo
from segapp.model.document import Document, Patch, Stroke
from segapp.model.settings import PRESETS, CleanUp, FeatureGroup, Samples, Settings

BEST = replace(PRESETS["best"], prototypes=150)
QUICK = replace(BEST, prototypes=60, passes=1)


def dot(x, y, label, radius=2.0):
    return Stroke(((x, y),), radius, label)


def two_halves(shape=(48, 64), noise=12):
    rng = np.random.default_rng(0)
    rgb = np.full((*shape, 3), (190, 120, 40), np.uint8)
    rgb[:, : shape[1] // 2] = (40, 90, 160)
    return (rgb + rng.integers(0, noise, rgb.shape)).astype(np.uint8)


HALVES = two_halves()
ON_HALVES = Document(strokes=(dot(10, 20, 0), dot(50, 20, 1)))


def four_fields():
    """A picture of four textured fields with their truth, and a short stroke in each."""
    rng = np.random.default_rng(5)
    y, x = np.indices((120, 160))
    wave = 55 + 12 * np.sin(y / 9.0)
    truth = np.where(y < wave, 0, 2) + (x > 80 + 10 * np.sin(y / 11.0))
    colours = np.array([(200, 60, 60), (60, 160, 80), (70, 90, 200), (210, 190, 80)])
    rgb = colours[truth] + rng.normal(0, 8, (120, 160, 3))
    classes = tuple(ClassInfo(name, PALETTE[k]) for k, name in enumerate("abcd"))
    places = ((30, 25), (130, 25), (30, 100), (130, 100))
    strokes = tuple(
        Stroke(((cx - 8, cy), (cx + 8, cy + 4)), 3.0, k) for k, (cx, cy) in enumerate(places)
    )
    return np.clip(rgb, 0, 255).astype(np.uint8), truth, Document(classes, strokes)


def test_two_halves_are_found_exactly():
    labelling = segment(HALVES, ON_HALVES, BEST)
    truth = np.broadcast_to(np.arange(64) >= 32, (48, 64))
    np.testing.assert_array_equal(labelling.labels, truth)
    assert labelling.labels.dtype == np.uint8
    assert labelling.margin.dtype == np.float32
    assert labelling.codes.dtype == np.uint32
    assert labelling.margin.min() >= 0
    assert labelling.codes.max() < 2**labelling.n_bits
    assert not labelling.labels.flags.writeable


@pytest.mark.parametrize("change", [{}, {"refine": False}, {"transductive": False}])
def test_four_classes_with_known_truth(change):
    rgb, truth, document = four_fields()
    labelling = segment(rgb, document, replace(BEST, prototypes=400, **change))
    assert labelling.n_classes == 4
    assert score(labelling.labels, truth, 4) > (0.97 if not change else 0.9)


def test_pixels_of_a_class_share_its_codeword_where_the_margin_is_large():
    trainer = Trainer(HALVES)
    *_, last = trainer.updates(ON_HALVES, BEST)
    codes = last.labelling.codes
    sure = last.labelling.margin > 0.5 * last.labelling.margin.max()
    powers = 1 << np.arange(BEST.bits)
    for label in (0, 1):
        word = int(((last.insight.codewords[label, 0] > 0) * powers).sum())
        assert set(np.unique(codes[sure & (last.labelling.labels == label)])) == {word}


def test_updates_report_progress_and_end_with_the_answer():
    updates = list(Trainer(HALVES).updates(ON_HALVES, BEST))
    fractions = [update.fraction for update in updates[:-1]]
    assert fractions == sorted(fractions)
    assert [isinstance(update, Answer) for update in updates].index(True) == len(updates) - 1
    insight = updates[-1].insight
    assert insight.kernel_weights.shape == (BEST.bits, len(insight.kernels))
    assert all(b <= a + 1e-6 * a for a, b in pairwise(insight.objective))
    assert set(insight.seconds) >= {"learning", "outline"}


def test_the_answer_does_not_depend_on_what_was_asked_before():
    rgb, _, _ = four_fields()
    first = Document(strokes=(dot(30, 30, 0, 4), dot(130, 100, 1, 4)))
    other = first.with_stroke(dot(30, 100, 0, 6)).with_stroke(dot(100, 20, 1))
    alone = segment(rgb, first, BEST)
    trainer = Trainer(rgb)
    for asked in (BEST, PRESETS["paper"], replace(BEST, features=(FeatureGroup.NEARNESS,))):
        final_answer(trainer.updates(other, asked))
    again = final_answer(trainer.updates(first, BEST)).labelling
    np.testing.assert_array_equal(again.labels, alone.labels)
    np.testing.assert_array_equal(again.codes, alone.codes)
    np.testing.assert_array_equal(again.margin, alone.margin)


def test_interleaved_updates_are_independent():
    rgb, _, _ = four_fields()
    one = Document(strokes=(dot(30, 30, 0, 4), dot(130, 100, 1, 4)))
    two = Document(strokes=(dot(30, 30, 1, 4), dot(130, 30, 0, 4)))
    trainer = Trainer(rgb)
    turns = [trainer.updates(one, BEST), trainer.updates(two, BEST)]
    ends = [None, None]
    while any(end is None for end in ends):
        for k, updates in enumerate(turns):
            for update in updates:
                if isinstance(update, Answer):
                    ends[k] = update.labelling
                break
    for end, document in zip(ends, (one, two), strict=True):
        np.testing.assert_array_equal(end.labels, segment(rgb, document, BEST).labels)


def test_erased_strokes_are_forgotten():
    wrong = ON_HALVES.with_stroke(dot(12, 40, 1, 3))
    erased = wrong.with_stroke(dot(12, 40, None, 4))
    np.testing.assert_array_equal(
        segment(HALVES, erased, BEST).labels, segment(HALVES, ON_HALVES, BEST).labels
    )


def test_classes_without_strokes_never_appear():
    classes = tuple(ClassInfo(str(k), PALETTE[k]) for k in range(4))
    document = Document(classes, (dot(10, 20, 3), dot(50, 20, 1)))
    *_, last = Trainer(HALVES).updates(document, BEST)
    assert set(np.unique(last.labelling.labels)) == {1, 3}
    assert last.labelling.n_classes == 4
    assert not last.insight.codewords[[0, 2]].any()
    assert last.insight.codewords[[1, 3]].all()


@pytest.mark.parametrize(
    ("strokes", "named"),
    [
        ((), "Nothing is marked yet"),
        ((dot(5, 5, 1),), "Only background is marked so far: mark foreground as well"),
        ((dot(32, 24, 0, radius=90.0),), "mark background as well"),  # no border is left
        ((dot(-90, 0, 1),), "Nothing"),  # outside the picture
    ],
)
def test_too_few_strokes_are_named(strokes, named):
    with pytest.raises(NotEnoughStrokes, match=named):
        Trainer(HALVES).updates(Document(strokes=strokes), BEST)


def a_ball(shape=(60, 90)):
    """A blue ball, off the picture's border, on an even brown ground."""
    y, x = np.indices(shape)
    inside = (y - 32) ** 2 + (x - 40) ** 2 < 16**2
    rng = np.random.default_rng(3)
    rgb = np.where(inside[..., None], (40, 90, 200), (170, 130, 80))
    return np.clip(rgb + rng.normal(0, 6, rgb.shape), 0, 255).astype(np.uint8), inside


@pytest.mark.parametrize("preset", ["best", "alike", "paper"])
def test_an_object_alone_is_separated_from_the_image_border(preset):
    rgb, inside = a_ball()
    labels = segment(rgb, Document(strokes=(dot(40, 32, 0),)), PRESETS[preset]).labels
    assert score(labels, np.where(inside, 0, 1), 2) > 0.95


def test_of_several_objects_one_alone_suffices_where_a_background_is_named():
    rgb, inside = a_ball()
    classes = tuple(ClassInfo(name, PALETTE[0]) for name in ("background", "ball", "cup"))
    labels = segment(rgb, Document(classes, (dot(40, 32, 1),)), BEST).labels
    assert score(labels, inside.astype(int), 2) > 0.95


def test_an_object_may_reach_the_border_that_is_taken_for_background():
    labels = segment(HALVES, Document(strokes=(dot(10, 20, 0), dot(3, 24, 0))), BEST).labels
    assert (labels[:, 0] == 0).any()
    assert (labels[:, 40:] == 1).all()


def test_a_large_picture_is_answered_from_an_object_alone():
    rgb, inside = (part.repeat(20, axis=0).repeat(20, axis=1) for part in a_ball())
    labels = segment(rgb, Document(strokes=(dot(800, 640, 0, radius=40.0),)), QUICK).labels
    assert score(labels, np.where(inside, 0, 1), 2) > 0.95


def disc(height, width, x, y, radius):
    rows, columns = np.mgrid[:height, :width]
    return (columns - x) ** 2 + (rows - y) ** 2 <= radius**2


def two_discs():
    """Return an image of a red and a yellow disc on noisy ground, and the mask of each."""
    noise = np.random.default_rng(5).normal(0, 6, (90, 140, 3))
    red, yellow = disc(90, 140, 40, 45, 22), disc(90, 140, 100, 45, 22)
    rgb = np.full((90, 140, 3), (70, 90, 80), float)
    rgb[red], rgb[yellow] = (190, 60, 50), (200, 190, 60)
    return np.clip(rgb + noise, 0, 255).astype(np.uint8), red, yellow


def test_the_first_background_stroke_keeps_a_good_answer():
    rgb, red, _ = two_discs()
    document = Document(strokes=(dot(40, 45, 0, 6),))
    trainer = Trainer(rgb)
    scores = []
    for following in (dot(10, 10, 1), dot(130, 80, 1), dot(70, 45, 1)):
        labels = final_answer(trainer.updates(document, BEST)).labelling.labels
        scores.append(iou(labels, np.where(red, 0, 1)))
        document = document.with_stroke(following)
    assert min(scores) > 0.95


def test_a_second_object_class_keeps_the_first_and_the_background():
    rgb, red, yellow = two_discs()
    classes = (*TWO_CLASSES, ClassInfo("yellow", (250, 250, 0)))
    document = Document(classes, (dot(40, 45, 0, 6), dot(100, 45, 2, 6)))
    truth = np.where(red, 0, np.where(yellow, 2, 1))
    assert score(segment(rgb, document, BEST).labels, truth, 3) > 0.95
    assert score(segment(rgb, document.as_one_state(), BEST).labels, truth, 3) > 0.95


def test_an_object_at_the_border_is_whole_once_the_background_is_marked():
    """The border stands for the background only as long as that has no marks."""
    labels = segment(HALVES, ON_HALVES, BEST).labels
    np.testing.assert_array_equal(labels, np.broadcast_to(np.arange(64) >= 32, (48, 64)))


def test_the_answer_from_the_border_is_the_prior_of_the_next_one():
    """Remembered or computed anew, it is the same."""
    first = Document(strokes=(dot(10, 20, 0),))
    second = first.with_stroke(dot(50, 20, 1))
    trainer = Trainer(HALVES)
    final_answer(trainer.updates(first, QUICK))
    step_by_step = final_answer(trainer.updates(second, QUICK)).labelling
    afresh = segment(HALVES, second, QUICK)
    np.testing.assert_array_equal(step_by_step.labels, afresh.labels)
    np.testing.assert_array_equal(step_by_step.margin, afresh.margin)


def test_a_model_still_wants_two_classes():
    with pytest.raises(NotEnoughStrokes, match="mark background as well"):
        Trainer(HALVES).learnt_model(Document(strokes=(dot(5, 5, 0),)), BEST)


def test_of_many_classes_any_second_one_suffices():
    classes = tuple(ClassInfo(f"class {k}", PALETTE[k % 8]) for k in range(12))
    with pytest.raises(NotEnoughStrokes, match=r"Only class 3 is marked.*one other class") as told:
        Trainer(HALVES).updates(Document(classes, (dot(5, 5, 3),)), BEST)
    assert str(told.value).count("class 1") == 0


def test_an_invalid_array_is_refused():
    with pytest.raises(ValueError, match="rgb: wanted H x W x 3 of uint8"):
        Trainer(np.zeros((4, 4), np.uint8))


marks = st.builds(
    dot,
    st.integers(0, 63),
    st.integers(0, 47),
    st.sampled_from([0, 1, None]),
    st.floats(0.5, 9),
)
any_settings = st.builds(
    replace,
    st.just(QUICK),
    refine=st.booleans(),
    transductive=st.booleans(),
    samples=st.sampled_from(Samples),
    clean_up=st.builds(
        CleanUp,
        keep_touching=st.booleans(),
        fill_holes=st.booleans(),
        smoothing=st.integers(0, 2),
        smallest_area=st.sampled_from([0, 50]),
    ),
)


@given(st.lists(marks, min_size=1, max_size=6), any_settings)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_strokes_are_never_overruled(strokes, chosen):
    document = Document(strokes=(dot(3, 3, 0), dot(60, 44, 1), *strokes))
    marked = rasterize(document, (48, 64))
    if len(np.unique(marked[marked >= 0])) < 2:
        return
    labelling = segment(HALVES, document, chosen)
    np.testing.assert_array_equal(labelling.labels[marked >= 0], marked[marked >= 0])
    assert (labelling.margin[marked >= 0] == labelling.margin.max()).all()


@pytest.mark.parametrize("shape", [(1, 2), (2, 2), (1, 40), (40, 1), (30, 30)])
@pytest.mark.parametrize("preset", ["best", "paper"])
def test_tiny_pictures_and_pictures_of_one_colour(shape, preset):
    """One colour separates nothing: pixels under strokes alone are known."""
    mask = np.zeros(shape, bool)
    mask[0, 0] = True
    document = Document(strokes=(Patch.of_mask(mask, 0), Patch.of_mask(mask[::-1, ::-1], 1)))
    labelling = segment(np.full((*shape, 3), 99, np.uint8), document, PRESETS[preset])
    assert labelling.labels.shape == shape
    assert (labelling.labels[0, 0], labelling.labels[-1, -1]) == (0, 1)


def test_two_classes_within_one_region_both_learn():
    """Both strokes lie in one cell of the palette: the rarer one must not get lost."""
    rgb = np.full((20, 20, 3), 10, np.uint8)
    rgb[:, 10:] = 240
    document = Document(strokes=(dot(3, 3, 0, 3), dot(8, 15, 1, 1)))
    labelling = segment(rgb, document, replace(PRESETS["paper"], refine=False))
    assert set(np.unique(labelling.labels)) == {0, 1}


def test_paper_preset_separates_colours_wherever_they_are():
    labelling = segment(HALVES, ON_HALVES, PRESETS["paper"])
    assert (labelling.labels == (np.arange(64) >= 32)).mean() > 0.999
    assert labelling.n_bits == 5


@pytest.mark.slow
def test_a_large_picture_is_refined_at_its_full_size():
    rgb = two_halves((1300, 1600), noise=6)
    truth = np.broadcast_to(np.arange(1600) >= 800, (1300, 1600))
    document = Document(strokes=(dot(200, 200, 0, 30), dot(1300, 900, 1, 30)))
    labelling = segment(rgb, document, replace(BEST, passes=1))
    np.testing.assert_array_equal(labelling.labels, truth)
    assert labelling.codes.shape == labelling.margin.shape == truth.shape


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bits": 0}, "bits: wanted 1 to 32, got 0"),
        ({"features": ()}, "features: wanted at least one group"),
        ({"bandwidths": (0.5, -1.0)}, "bandwidths: wanted 0.001 to 1000, got -1.0"),
        ({"lambda1": 0.0}, r"lambda1: wanted 0.001 to 1e\+06, got 0.0"),
        ({"prototypes": 1}, "prototypes: wanted 2 to 5000, got 1"),
        ({"p": 1.0}, "p: wanted 1.001 to 100, got 1.0"),
    ],
)
def test_settings_out_of_range_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        Settings(**change)


@given(st.lists(marks, min_size=1, max_size=3), st.data())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_live_previews_do_not_change_the_answer_to_the_finished_stroke(strokes, data):
    chosen = data.draw(st.sampled_from([QUICK, replace(QUICK, locality=0.0)]))
    trainer = Trainer(HALVES)
    document = ON_HALVES
    for finished in strokes:
        for _ in range(data.draw(st.integers(0, 2))):
            unfinished = document.with_stroke(data.draw(marks))
            try:
                reports = trainer.live_preview(unfinished, chosen)
            except NotEnoughStrokes:
                continue
            if data.draw(st.booleans()):
                *_, last = reports
                assert last.preview.labelling.labels.shape == HALVES.shape[:2]
            else:
                next(reports)  # the brush was lifted meanwhile
        document = document.with_stroke(finished)
        marked = rasterize(document, HALVES.shape[:2])
        if len(np.unique(marked[marked >= 0])) < 2:
            return
        answer = final_answer(trainer.updates(document, chosen)).labelling
        alone = segment(HALVES, document, chosen)
        np.testing.assert_array_equal(answer.labels, alone.labels)
        np.testing.assert_array_equal(answer.margin, alone.margin)
        np.testing.assert_array_equal(answer.codes, alone.codes)


def test_a_live_preview_is_near_the_answer_at_the_working_resolution():
    rgb = two_halves((1200, 1600))
    document = Document(strokes=(dot(300, 500, 0, 20.0), dot(1300, 500, 1, 20.0)))
    trainer = Trainer(rgb)
    *_, last = trainer.live_preview(document, QUICK)
    preview = last.preview
    assert preview.times == 2
    assert preview.labelling.labels.shape == (600, 800)
    enlarged = preview.labelling.labels.repeat(2, axis=0).repeat(2, axis=1)
    assert (enlarged == (np.arange(1600) >= 800)).mean() > 0.97


def test_a_large_answer_is_previewed_at_the_working_resolution():
    rgb = two_halves((1200, 1600))
    document = Document(strokes=(dot(300, 500, 0, 20.0), dot(1300, 500, 1, 20.0)))
    *reports, answer = Trainer(rgb).updates(document, QUICK)
    previews = [report.preview for report in reports if report.preview is not None]
    assert {preview.times for preview in previews} == {2}
    last = previews[-1].labelling
    assert last.labels.shape == last.margin.shape == last.codes.shape == (600, 800)
    enlarged = last.labels.repeat(2, axis=0).repeat(2, axis=1)
    assert (enlarged == answer.labelling.labels).mean() > 0.99


def test_a_cut_along_patches_is_previewed():
    """Of the newest stroke alone, not of earlier states on the way to it."""
    document = ON_HALVES.with_stroke(dot(12, 30, 0))
    *reports, answer = Trainer(HALVES).updates(document, QUICK)
    (preview,) = [report.preview for report in reports if report.preview is not None]
    found = preview.labelling
    assert preview.times == 1
    assert found.labels.shape == found.margin.shape == found.codes.shape == HALVES.shape[:2]
    assert (found.labels == answer.labelling.labels).mean() > 0.9
    marked = rasterize(document, HALVES.shape[:2])
    np.testing.assert_array_equal(found.labels[marked >= 0], marked[marked >= 0])


@pytest.fixture
def halved(monkeypatch):
    """Halve images of more than 2000 pixels, such as the two halves."""
    monkeypatch.setattr(pyramid, "MAX_WORKING_PIXELS", 2000)


def rectangle(left, top, width, height, label):
    mask = np.zeros((48, 64), bool)
    mask[top : top + height, left : left + width] = True
    return Patch.of_mask(mask, label)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("job", ["updates", "live_preview", "learnt_model"])
def test_a_mark_of_one_pixel_survives_at_the_working_resolution(halved, first, job):
    """One pixel of the first class shares its block with a stroke of the other class."""
    pixel, other = rectangle(10, 20, 1, 1, 0), rectangle(11, 20, 9, 4, 1)
    marks = (pixel, other) if first == 0 else (other, pixel)
    trainer, document = Trainer(HALVES), Document(strokes=marks)
    result = getattr(trainer, job)(document, QUICK)
    if job == "updates":
        labels = final_answer(result).labelling.labels
        marked = rasterize(document, HALVES.shape[:2])
        np.testing.assert_array_equal(labels[marked >= 0], marked[marked >= 0])
        grown = final_answer(trainer.updates(document.with_stroke(dot(50, 20, 1)), QUICK))
        assert set(np.unique(grown.labelling.labels)) == {0, 1}
    elif job == "live_preview":
        *_, last = result
        assert 0 in last.preview.labelling.labels


@pytest.mark.parametrize("job", ["updates", "live_preview", "learnt_model"])
def test_classes_without_a_block_of_their_own_are_named(halved, job):
    both = Document(strokes=(rectangle(10, 20, 1, 1, 0), rectangle(11, 20, 1, 2, 1)))
    with pytest.raises(NotEnoughStrokes, match="marks of foreground are too small here: paint"):
        for _ in getattr(Trainer(HALVES), job)(both, QUICK):
            pass
    more = both.with_stroke(dot(50, 20, 1))  # that state is no prior of the next
    assert set(np.unique(segment(HALVES, more, QUICK).labels)) == {0, 1}


def test_a_live_preview_needs_the_marks_of_an_answer():
    with pytest.raises(NotEnoughStrokes):
        Trainer(HALVES).live_preview(Document(strokes=(dot(10, 20, 1),)), QUICK)


def test_a_threshold_takes_more_or_less_for_the_object_and_changes_no_later_answer():
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (60, 80, 3), np.uint8)
    first = Document(strokes=(dot(20, 30, 0), dot(60, 30, 1))).as_one_state()
    document = first.with_stroke(dot(20, 10, 0))
    areas = []
    trainer = Trainer(rgb)
    for threshold in (-0.6, 0.0, 0.6):
        settings = replace(QUICK, threshold=threshold)
        labels = final_answer(trainer.updates(document, settings)).labelling.labels
        assert (labels == segment(rgb, document, settings).labels).all()
        areas.append(int((labels == 0).sum()))
    assert areas[0] < areas[1] < areas[2]
    more = document.with_stroke(dot(70, 50, 1))
    after = final_answer(trainer.updates(more, QUICK)).labelling.labels
    assert (after == segment(rgb, more, QUICK).labels).all()


def test_a_negligible_threshold_changes_nothing():
    rgb = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    document = Document(strokes=(dot(20, 30, 0), dot(60, 30, 1)))
    for mark in (dot(20, 10, 0), dot(70, 50, 1)):
        document = document.with_stroke(mark)
        plain = segment(rgb, document, QUICK).labels
        leaning = segment(rgb, document, replace(QUICK, threshold=1e-9)).labels
        np.testing.assert_array_equal(leaning, plain)


def test_a_threshold_is_for_two_classes():
    classes = tuple(ClassInfo(name, (0, 0, 0)) for name in ("a", "b", "background"))
    marks = (dot(10, 10, 0), dot(50, 10, 1), dot(10, 50, 2))
    document = Document(classes, marks)
    rgb = two_halves((60, 80))
    plain = segment(rgb, document, QUICK).labels
    assert (segment(rgb, document, replace(QUICK, threshold=1.0)).labels == plain).all()


def test_retouches_are_painted_without_learning_anything_anew():
    trainer, touched = Trainer(HALVES), ON_HALVES.with_retouch(dot(40, 10, 0, 4.0))
    assert len(list(trainer.updates(ON_HALVES, QUICK))) > 1
    for document in (touched, touched.with_retouch(dot(12, 40, 1)), touched, ON_HALVES):
        (only,) = trainer.updates(document, QUICK)
        fresh = final_answer(Trainer(HALVES).updates(document, QUICK))
        np.testing.assert_array_equal(only.labelling.labels, fresh.labelling.labels)
        np.testing.assert_array_equal(only.labelling.margin, fresh.labelling.margin)
    assert (
        len(list(trainer.updates(ON_HALVES, QUICK))) > 1
    )  # asked for once more, it is computed again
    more = touched.with_stroke(dot(44, 40, 0))
    answered = final_answer(trainer.updates(more, QUICK))
    fresh = final_answer(Trainer(HALVES).updates(more, QUICK))
    np.testing.assert_array_equal(answered.labelling.labels, fresh.labelling.labels)
    other = final_answer(trainer.updates(touched, replace(QUICK, smoothness=3.0)))
    fresh = final_answer(Trainer(HALVES).updates(touched, replace(QUICK, smoothness=3.0)))
    np.testing.assert_array_equal(other.labelling.labels, fresh.labelling.labels)
