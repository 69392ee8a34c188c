"""The attacks in turn, for long, on one server that others load meanwhile. bench/serving.py soak --attacks uses it."""

import itertools
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from .attacks import attacks
from .scene import Scene
from .server import Server
from .trial import Served


class UnderAttack:
    """A server that is attacked from entering to leaving, and started again whenever it ends."""

    def __init__(self, scene: Scene, directory: Path) -> None:
        self.server = Server(scene, directory, "--ui")
        self.runs: Counter[str] = Counter()
        self.restarts: list[str] = []  # the attack under way, for each
        self.current = ""
        self.leaving = threading.Event()
        self.threads = [threading.Thread(target=self.attack), threading.Thread(target=self.supervise)]

    def __enter__(self) -> "UnderAttack":
        self.server.start()
        return self

    def begin(self) -> None:
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self.leaving.set()
        for thread in self.threads:
            if thread.ident is not None:
                thread.join()
        self.server.stop()

    def attack(self) -> None:
        for case in itertools.cycle(case for case in attacks() if isinstance(case, Served)):
            if self.leaving.is_set():
                return
            self.current = case.name
            try:
                case.do(self.server)
            except Exception as error:  # the server may have ended under it
                print(f"{case.name}: {error}", file=sys.stderr, flush=True)
            self.runs[case.name] += 1
            self.leaving.wait(1)

    def supervise(self) -> None:
        while not self.leaving.wait(0.1):
            if not self.server.process.alive():
                self.restarts.append(self.current)
                print(f"the server ended during: {self.current}", file=sys.stderr, flush=True)
                self.server.process.close()
                time.sleep(0.5)
                self.server.start()
