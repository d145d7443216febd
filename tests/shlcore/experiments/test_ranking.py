import numpy as np

from shlcore.experiments.methods import rank_by_score


def test_ranking_by_score_is_that_of_a_sorted_list():
    rng = np.random.default_rng(0)
    queries, database = rng.normal(size=(7, 3)), rng.normal(size=(20, 3))
    wanted, labels = rng.integers(3, size=7), rng.integers(3, size=20)
    ranking = rank_by_score(queries, wanted, database, labels)
    precisions, areas = [], []
    for scores, label in zip(queries, wanted, strict=True):
        best = max(range(3), key=lambda c: scores[c])
        order = sorted(range(20), key=lambda row: -database[row, best])
        hits = [int(labels[row] == label) for row in order]
        precisions.append(sum(hits[:5]) / 5)
        found = [sum(hits[: i + 1]) / (i + 1) for i in range(20) if hits[i]]
        areas.append(np.mean(found))
    np.testing.assert_allclose(ranking.precision_at([5])[0], np.mean(precisions))
    np.testing.assert_allclose(ranking.mean_average_precision(), np.mean(areas))
