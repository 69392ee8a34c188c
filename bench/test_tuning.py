"""The draws of searches. bench/run --selftest runs these tests."""

import json
import unittest

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


if __name__ == "__main__":
    unittest.main()
