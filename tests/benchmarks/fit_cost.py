"""Cost of a semi-supervised fit of two classes, in units of one ``SVC.fit``.

    python tests/benchmarks/fit_cost.py

With kernel matrices at hand, n = 2000, B = 5 and the paper's eleven kernels, a whole fit is
compared with one ``SVC.fit`` on the same summed kernel, that is with the weights that the fit
learnt (targets: the fit's own answer): to LIBSVM's default tolerance, and to the one that the
fit uses. With equal weights instead, the narrow kernels make the SVM so easy that ``SVC.fit``
does little more than copy the kernel; that ratio is there as well. Then growth with n and B.
Ratios within one process; each time is the best of several.
"""

import argparse
import time
from functools import partial

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from shlcore import SHL, Grams, paper_kernels
from shlcore.kernels import KernelBank
from shlcore.svm import TOLERANCE


def scaled(X):
    width = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(width > 0, width, 1)


def digits(n):
    """Return even and odd digits; beyond the 1797 real ones, noisy copies."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = np.arange(n) % len(X)
    noise = 0.3 * rng.standard_normal((n, X.shape[1])) * (np.arange(n) >= len(X))[:, None]
    return scaled(X[rows] + noise), y[rows] % 2


def overlapping(n):
    X, y = make_classification(
        n, n_features=20, n_informative=8, class_sep=0.8, flip_y=0.05, random_state=0
    )
    return scaled(X), y


def moons(n):
    X, y = make_moons(n, noise=0.2, random_state=0)
    return scaled(X), y


DATA = {"digits, even/odd": digits, "overlapping classes": overlapping, "moons": moons}


def some_labels(y, share=0.1):
    rng = np.random.default_rng(0)
    return np.where(rng.random(len(y)) < share, y, -1)


def best_time(action, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def grams_of(X):
    bank = KernelBank(paper_kernels(), X.shape[1])
    return Grams.from_matrices(bank.cross_kernels(X, X), len(bank), len(X))


def compare(name, n, repeats):
    X, y = DATA[name](n)
    grams, labels = grams_of(X), some_labels(y)
    model = SHL(n_bits=5, kernels="precomputed", semi_supervised="paper", random_state=0)
    seconds = best_time(partial(model.fit, grams, labels), repeats)
    cells = [name, f"{1e3 * seconds:.0f}", str(model.n_iter_)]
    equal = np.full(len(grams), len(grams) ** -0.5)
    for weights, tol in (
        (model.kernel_weights_[0], 1e-3),
        (model.kernel_weights_[0], TOLERANCE),
        (equal, 1e-3),
    ):
        kernel = grams.weighted_sum(weights, np.arange(n))
        svc = SVC(kernel="precomputed", C=1000.0, tol=tol)
        peer = best_time(partial(svc.fit, kernel, model.transduction_), repeats)
        cells += [f"{1e3 * peer:.1f}", f"{seconds / peer:.1f}"]
    print("| " + " | ".join(cells) + " |")


def grow(sizes, bits, repeats, n_digits=None):
    print("\n| n | B | classes | seconds | passes |\n|---|---|---|---|---|")
    for n in sizes:
        X, y = overlapping(n)
        grams, labels = grams_of(X), some_labels(y)
        model = SHL(n_bits=5, kernels="precomputed", semi_supervised="paper", random_state=0)
        print(
            f"| {n} | 5 | 2 | {best_time(partial(model.fit, grams, labels), repeats):.3f} "
            f"| {model.n_iter_} |"
        )
    X, y = first_digits(n_digits)
    grams = grams_of(scaled(X))
    for n_bits in bits:
        model = SHL(kernels="precomputed", n_bits=n_bits, random_state=0)
        print(
            f"| {len(X)} | {n_bits} | 10 | {best_time(partial(model.fit, grams, y), 1):.3f} "
            f"| {model.n_iter_} |"
        )


def first_digits(n):
    return tuple(array[:n] for array in load_digits(return_X_y=True))


def defaults_on_digits(n=None, n_bits=15):
    """Measure CPU times of the default estimator and of an SVC on the same kernels.

    Given rows, both compute the kernels, and SVC sums them. Given matrices, SVC gets their sum,
    and *SHL sums them for every bit.
    """
    X, y = first_digits(n)
    model = SHL(n_bits=n_bits, random_state=0)

    def cpu(action):
        times = []
        for _ in range(2):
            start = time.process_time()
            action()
            times.append(time.process_time() - start)
        return min(times)

    fit, predict = cpu(lambda: model.fit(X, y)), cpu(lambda: model.predict(X))
    hash_, theta = model._result.hash, model.kernel_weights_.mean(axis=0)

    def kernel(a, b):
        return sum(t * k for t, k in zip(theta, hash_.bank.cross_kernels(a, b), strict=True))

    rows, svc = hash_.scaling.apply(X), SVC(kernel=kernel, C=1000.0)
    svc_fit, svc_predict = cpu(lambda: svc.fit(rows, y)), cpu(lambda: svc.predict(rows))
    print(f"\ndigits, {n_bits} bits, {len(theta)} kernels, CPU seconds against SVC, same kernels")
    print("\n| given | | SHL | SVC | ratio |\n|---|---|---|---|---|")
    print_line("rows", "fit", fit, svc_fit)
    print_line("rows", "predict", predict, svc_predict)
    total = kernel(rows, rows)
    grams = Grams.from_matrices(hash_.bank.cross_kernels(rows, rows), len(theta), len(rows))
    model = SHL(n_bits=n_bits, kernels="precomputed", random_state=0)
    svc = SVC(kernel="precomputed", C=1000.0)
    print_line("matrices", "fit", cpu(lambda: model.fit(grams, y)), cpu(lambda: svc.fit(total, y)))
    cost = cpu(lambda: model.predict(grams)), cpu(lambda: svc.predict(total))
    print_line("matrices", "predict", *cost)


def print_line(given, step, ours, theirs):
    print(f"| {given} | {step} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    n = 300 if options.quick else options.samples
    with threadpool_limits(1):
        print(f"n = {n}, B = 5, 11 kernels\n")
        print(
            "| data | fit, ms | passes | SVC, learnt weights, ms | ratio "
            "| SVC, same tolerance, ms | ratio | SVC, equal weights, ms | ratio |\n"
            "|---|---|---|---|---|---|---|---|---|"
        )
        for name in DATA:
            compare(name, n, options.repeats)
        defaults_on_digits(n if options.quick else None)
        if options.quick:
            grow([200], [5], 1, n)
        else:
            grow([500, 1000, 2000, 4000], [5, 15, 25, 45], 2)


if __name__ == "__main__":
    main()
