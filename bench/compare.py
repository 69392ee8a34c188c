"""Tools compared over folds and sets: which is better on a set, whether chance explains it, and which is better overall.

Everything here is of errors, of which less is better: the RMSE of numbers, the log loss of classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt
from statistics import mean, variance

from scipy import stats

Errors = Mapping[str, Mapping[str, list[float]]]  # of each set and tool, one error for each fold

LEVEL = 0.05


@dataclass(frozen=True)
class Verdict:
    change: float  # of the mean error, as a share of the other tool's: below 0, the tool is ahead
    p: float  # of the corrected t test, adjusted by Holm over the sets

    @property
    def ahead(self) -> bool:
        return self.change < 0

    @property
    def significant(self) -> bool:
        return self.p < LEVEL


def corrected_t(a: list[float], b: list[float], test_share: float = 1 / 4) -> float:
    """The two-sided p of the t test of Nadeau and Bengio (2003) for errors of the same k folds.

    The training rows of folds overlap, so their differences d are no independent sample: their variance counts 1/k plus the
    rows tested for each row learned from, here 1/5 + 1/4, instead of 1/k.

        t = mean(d) / √((1/k + n_test/n_train) · var(d)), with k − 1 degrees of freedom
    """
    differences = [x - y for x, y in zip(a, b, strict=True)]
    k = len(differences)
    centre, spread = mean(differences), sqrt((1 / k + test_share) * variance(differences))
    if spread == 0:
        return 1.0 if centre == 0 else 0.0
    return float(2 * stats.t.sf(abs(centre) / spread, k - 1))


def holm(ps: list[float]) -> list[float]:
    """The p of each test of a family, adjusted by Holm (1979): the i-th smallest of m times m − i + 1, never below one that was
    smaller, and at most 1."""
    adjusted, largest = [0.0] * len(ps), 0.0
    for place, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - place) * ps[index]))
        adjusted[index] = largest
    return adjusted


def verdicts(errors: Errors, tool: str, other: str) -> dict[str, Verdict]:
    """Of each set, the tool beside another one. The sets are the family of tests."""
    changes = {name: mean(of[tool]) / mean(of[other]) - 1 for name, of in errors.items()}
    ps = holm([corrected_t(of[tool], of[other]) for of in errors.values()])
    return {name: Verdict(change, p) for (name, change), p in zip(changes.items(), ps, strict=True)}


def beside_best(errors: Errors, tool: str, others: list[str]) -> dict[str, tuple[str, float]]:
    """Of each set, the best of other tools by its mean error, and by which share of it the tool's is larger."""
    found = {}
    for name, of in errors.items():
        best = min(others, key=lambda other: mean(of[other]))
        found[name] = best, mean(of[tool]) / mean(of[best]) - 1
    return found


def wilcoxon(errors: Errors, tool: str, other: str) -> float:
    """The two-sided p of the signed-rank test over sets, of the logarithm of the ratio of both mean errors: a set counts by
    how many percent it differs, in whatever units its error is."""
    ratios = [log(mean(of[tool]) / mean(of[other])) for of in errors.values()]
    return float(stats.wilcoxon(ratios).pvalue) if any(ratios) else 1.0


def mean_ranks(errors: Errors) -> dict[str, float]:
    """The mean over sets of a tool's place by its mean error, 1 the best; equal tools share their places."""
    places = [
        dict(zip(of, stats.rankdata([mean(folds) for folds in of.values()]), strict=True)) for of in errors.values()
    ]
    return {tool: mean(float(place[tool]) for place in places) for tool in places[0]}


def mean_ratios(errors: Errors) -> dict[str, float]:
    """The mean over sets of a tool's mean error, divided by that of the best tool of the set."""
    ratios = []
    for of in errors.values():
        means = {tool: mean(folds) for tool, folds in of.items()}
        best = min(means.values())
        ratios.append({tool: value / best for tool, value in means.items()})
    return {tool: mean(ratio[tool] for ratio in ratios) for tool in ratios[0]}
