"""The draws of searches. bench/run --selftest runs these tests."""

import json
import tempfile
import unittest
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import sets
import tuning
from peers import PEERS

TUNED = {tool: peer for tool, peer in PEERS.items() if peer.search is not None}


class Search(unittest.TestCase):
    def test_starts_from_the_default(self) -> None:
        for tool, peer in TUNED.items():
            first, *others = tuning.candidates(peer)
            self.assertEqual(first, {}, tool)
            self.assertEqual(len(others), peer.search.trials - 1, tool)
            for drawn in others:
                self.assertEqual(drawn.keys(), peer.search.space.keys(), tool)
                self.assertTrue(all(value in peer.search.space[key] for key, value in drawn.items()), tool)

    def test_draws_each_trial_anew(self) -> None:
        for tool, peer in TUNED.items():
            drawn = [json.dumps(changes) for changes in tuning.candidates(peer)]
            self.assertEqual(len(set(drawn)), len(drawn), tool)
            self.assertEqual(drawn, [json.dumps(changes) for changes in tuning.candidates(peer)], tool)

    def test_default_is_the_peer_without_a_search(self) -> None:
        for tool, peer in TUNED.items():
            self.assertTrue(tool.endswith(str(peer.search.trials)), tool)
            untuned = PEERS[tool.removesuffix(str(peer.search.trials))].configuration
            self.assertEqual({**peer.configuration, **untuned}, peer.configuration, tool)

    def test_goes_on_after_the_trials_that_are_stored(self) -> None:
        lines = ["a,b,target", *(f"{row % 7},{row % 5},{row % 3}.5" for row in range(60))]
        with tempfile.TemporaryDirectory() as directory:
            for part in ["train", "validation", "test"]:
                Path(directory, f"{part}.csv").write_text("\n".join(lines))
            fold = sets.Fold("med", 0, "regression", [], Path(directory))
            with (
                patch.object(sets, "load", lambda *_: fold),
                patch.object(tuning, "STORE", Path(directory, "tuned.json")),
            ):
                job = tuning.Job("med", "XGB20")
                whole = list(tuning.search(job))[-1]
                for found in islice(tuning.search(job), 3):
                    tuning.add(found)
                self.assertIsNone(tuning.of("XGB20", "med"))
                *_, last = tuning.search(job)
                tuning.add(last)
                self.assertEqual(last["errors"], whole["errors"])
                self.assertEqual(last["chosen"], whole["chosen"])
                self.assertEqual(tuning.of("XGB20", "med"), last)
                self.assertEqual(list(tuning.search(job)), [])


if __name__ == "__main__":
    unittest.main()
