"""Each formula of compare.py against another way to compute it. bench/run --selftest runs these tests."""

import random
import unittest
from itertools import product
from math import log, sqrt
from statistics import mean, stdev

import compare


def t_with_4_degrees(t: float) -> float:
    """The two-sided p of Student's t with four degrees of freedom, whose distribution has a closed form."""
    u = t * t / 4
    below = 1 / 2 + 3 / 8 * abs(t) / sqrt(1 + u) * (1 - u / (3 * (1 + u)))
    return 2 * (1 - below)


class BesideBest(unittest.TestCase):
    def test_of_two_sets(self) -> None:
        errors = {
            "one": {"a": [1.0, 3.0], "b": [2.0, 2.4], "c": [1.9, 2.1]},
            "two": {"a": [3.0], "b": [4.0], "c": [5.0]},
        }
        found = compare.beside_best(errors, "a", ["b", "c"])
        self.assertEqual({name: best for name, (best, _) in found.items()}, {"one": "c", "two": "b"})
        self.assertAlmostEqual(found["one"][1], 0)
        self.assertAlmostEqual(found["two"][1], -0.25)


class CorrectedT(unittest.TestCase):
    def test_is_the_closed_form(self) -> None:
        draw = random.Random(1)
        for _ in range(50):
            a, b = ([draw.gauss(centre, 1) for _ in range(5)] for centre in (0, 0.7))
            d = [x - y for x, y in zip(a, b, strict=True)]
            paired = mean(d) / (stdev(d) / sqrt(5))
            # A variance of .45 in place of .2.
            self.assertAlmostEqual(compare.corrected_t(a, b), t_with_4_degrees(paired * sqrt(0.2 / 0.45)), places=12)

    def test_of_a_table(self) -> None:
        # mean 1, variance 1, t = 1/√.45 = 1.4907; 2.7764 is the 97.5 % point of t with four degrees of freedom.
        self.assertAlmostEqual(compare.corrected_t([0, 0, 1, 2, 2], [0] * 5), 0.2103, places=4)
        size = 2.776445 * sqrt(0.45 * 2.5)
        self.assertAlmostEqual(
            compare.corrected_t([size - 2, size - 1, size, size + 1, size + 2], [0] * 5), 0.05, places=6
        )

    def test_without_spread(self) -> None:
        self.assertEqual(compare.corrected_t([1] * 5, [1] * 5), 1)
        self.assertEqual(compare.corrected_t([2] * 5, [1] * 5), 0)


class Holm(unittest.TestCase):
    def test_is_the_step_down_procedure(self) -> None:
        def rejected(ps: list[float], level: float) -> set[int]:
            """As Holm states it: the smallest first, each against the level over the number that is left, until one fails."""
            left = set(range(len(ps)))
            while left:
                least = min(left, key=lambda i: ps[i])
                if ps[least] > level / len(left):
                    break
                left.remove(least)
            return set(range(len(ps))) - left

        draw = random.Random(2)
        for _ in range(50):
            ps = [draw.random() ** 3 for _ in range(7)]
            adjusted = compare.holm(ps)
            for level in (0.01, 0.05, 0.1, 0.3, 0.7):
                self.assertEqual(rejected(ps, level), {i for i, p in enumerate(adjusted) if p <= level})

    def test_of_three(self) -> None:
        self.assertEqual(compare.holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06])
        self.assertEqual(compare.holm([0.9, 0.8]), [1, 1])


def made(draw: random.Random, sets: int, *tools: str) -> dict[str, dict[str, list[float]]]:
    """Sets with errors of different sizes."""
    return {f"set {i}": {tool: [10**i * draw.uniform(1, 2) for _ in range(5)] for tool in tools} for i in range(sets)}


class OverSets(unittest.TestCase):
    def test_wilcoxon_enumerates_signs(self) -> None:
        errors = made(random.Random(3), 9, "a", "b")
        d = [log(mean(of["a"]) / mean(of["b"])) for of in errors.values()]
        ranks = [1 + sum(abs(x) < abs(y) for x in d) for y in d]
        found = abs(sum(rank * (1 if y > 0 else -1) for rank, y in zip(ranks, d, strict=True)))
        as_far = [
            abs(sum(r * s for r, s in zip(ranks, signs, strict=True))) >= found for signs in product([1, -1], repeat=9)
        ]
        self.assertAlmostEqual(compare.wilcoxon(errors, "a", "b"), sum(as_far) / 2**9, places=12)

    def test_wilcoxon_of_equal_tools(self) -> None:
        self.assertEqual(compare.wilcoxon({"s": {"a": [1, 2], "b": [1, 2]}}, "a", "b"), 1)

    def test_ranks(self) -> None:
        errors = {"s": {"a": [1, 3], "b": [5, 5], "c": [2, 2]}, "t": {"a": [9, 9], "b": [1, 1], "c": [2, 2]}}
        self.assertEqual(compare.mean_ranks(errors), {"a": (1.5 + 3) / 2, "b": (3 + 1) / 2, "c": (1.5 + 2) / 2})

    def test_ratios(self) -> None:
        errors = {"s": {"a": [1, 3], "b": [5, 5]}, "t": {"a": [9, 9], "b": [3, 3]}}
        self.assertEqual(compare.mean_ratios(errors), {"a": (1 + 3) / 2, "b": (2.5 + 1) / 2})

    def test_verdicts(self) -> None:
        errors = {
            "ahead": {"a": [1.0, 1.1, 0.9, 1.0, 1.0], "b": [10.0, 10.1, 9.9, 10.0, 10.2]},
            "behind": {"a": [1.0, 3.0, 2.0, 5.0, 4.0], "b": [3.0, 1.0, 4.0, 2.0, 4.0]},
        }
        found = compare.verdicts(errors, "a", "b")
        self.assertTrue(found["ahead"].ahead and found["ahead"].significant)
        self.assertFalse(found["behind"].ahead or found["behind"].significant)
        self.assertAlmostEqual(found["behind"].change, 15 / 14 - 1)
        of_one = compare.corrected_t(errors["ahead"]["a"], errors["ahead"]["b"])
        self.assertEqual(found["ahead"].p, 2 * of_one)


if __name__ == "__main__":
    unittest.main()
