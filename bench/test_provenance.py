"""The digest of psi's training code. bench/run --selftest runs these tests."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import provenance

SOURCES = {
    "train.go": f'package psi\n\nimport "{provenance.MODULE}/internal/train"\n',
    "explain.go": "package psi\n",
    "internal/train/a.go": f'package train\n\nimport "{provenance.MODULE}/internal/kernel"\n',
    "internal/train/b.go": f'package train\n\nimport "{provenance.MODULE}/internal/network"\n',
    "internal/network/a.go": "package network\n",
    "internal/kernel/a.go": "package kernel\n\nvar a = 1 // one\n",
    "internal/kernel/a.s": "ADDQ $1, AX\n",
    "internal/plot/a.go": "package plot\n",
}


class Digest(unittest.TestCase):
    def changed(self, name: str, text: str, backend: str = provenance.NATIVE) -> bool:
        return provenance.digest(SOURCES, backend) != provenance.digest({**SOURCES, name: text}, backend)

    def test_counts_code_that_training_runs(self) -> None:
        self.assertTrue(self.changed("internal/kernel/a.go", "package kernel\n\nvar a = 2\n"))
        self.assertTrue(self.changed("internal/kernel/a.s", "ADDQ $2, AX\n"))
        self.assertTrue(self.changed("internal/kernel/b.go", "package kernel\n"))
        self.assertTrue(self.changed("train.go", "package psi\n"))

    def test_counts_nothing_else(self) -> None:
        self.assertFalse(self.changed("internal/kernel/a.go", "// Package kernel.\npackage kernel\n\nvar  a = 1\n"))
        self.assertFalse(self.changed("internal/plot/a.go", "package plot\n\nvar a = 1\n"))
        self.assertFalse(self.changed("explain.go", "package psi\n\nvar a = 1\n"))

    def test_counts_tensor_engines_of_what_they_train(self) -> None:
        text = "package network\n\nvar a = 1\n"
        self.assertTrue(self.changed("internal/network/a.go", text, "go"))
        self.assertFalse(self.changed("internal/network/a.go", text))

    def test_finds_the_packages_that_go_lists(self) -> None:
        command = ["go", "list", "-deps", *(f"./{package}" for package in provenance.TRAINING)]
        listed = subprocess.run(command, cwd=provenance.ROOT, check=True, capture_output=True, text=True).stdout.split()
        prefix = provenance.MODULE + "/"
        ours = {name.removeprefix(prefix) for name in listed if name.startswith(prefix)}
        for backend, left_out in {provenance.NATIVE: provenance.ENGINES, "go": set()}.items():
            found = provenance.training_packages(provenance.sources_on_disk(), backend)
            self.assertEqual(ours - provenance.NOT_TRAINING - left_out, found)

    def test_knows_its_files(self) -> None:
        for name in provenance.TRAINING_FILES:
            self.assertIn(name, provenance.sources_on_disk())

    def test_of_a_commit(self) -> None:
        self.assertIsNone(provenance.training_code("0" * 40, provenance.NATIVE))
        self.assertIsNotNone(provenance.training_code("HEAD", provenance.NATIVE))

    def test_of_changed_files_is_unknown(self) -> None:
        self.assertIsNone(provenance.training_code("HEAD" + provenance.CHANGED, provenance.NATIVE))

    def test_of_a_program_from_changed_files(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / "psi"
            program.touch()
            changed = "HEAD" + provenance.CHANGED
            native = provenance.NATIVE
            self.assertEqual(
                provenance.training_code_of(program, changed, native), provenance.training_code_on_disk(native)
            )
            os.utime(program, (0, 0))
            with self.assertRaises(RuntimeError):
                provenance.training_code_of(program, changed, native)


class Code(unittest.TestCase):
    def test_leaves_out_comments_alone(self) -> None:
        for text, want in {
            "a := 1 // b": "a := 1",
            "a /* b\nc */ := 1": "a := 1",
            'a := "// b"': 'a := "// b"',
            'a := "\\"/* b"': 'a := "\\"/* b"',
            "a := `// b`": "a := `// b`",
            "a := '\"' // b": "a := '\"'",
            "//go:build amd64\n\na": "//go:build amd64\na",
            "a //go:build": "a",
        }.items():
            self.assertEqual(provenance.code(text), want)


if __name__ == "__main__":
    unittest.main()
