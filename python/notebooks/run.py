"""Run notebooks and save their outputs: ``python notebooks/run.py [NOTEBOOK ...]``. Without names, run all of them."""

import pathlib
import sys
import tempfile

import nbclient
import nbformat

HERE = pathlib.Path(__file__).parent


def executed(path):
    """Return the notebook with the outputs of a run in an empty directory, without what differs from run to run."""
    book = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as directory:
        client = nbclient.NotebookClient(
            book, timeout=600, record_timing=False, coalesce_streams=True, resources={"metadata": {"path": directory}}
        )
        client.execute()
    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return book


if __name__ == "__main__":
    for path in map(pathlib.Path, sys.argv[1:] or sorted(HERE.glob("*.ipynb"))):
        nbformat.write(executed(path), path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")
