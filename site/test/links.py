"""Checks the links of a built site without MkDocs: links.py DIRECTORY PREFIX

Every link inside the site must lead to a file, and to an element with its anchor. PREFIX is the path of the site on its host.
Nothing may be loaded from another host.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

HOST = "https://site.invalid"
LOADS = {"script", "img", "source", "iframe", "embed", "object", "audio", "video", "track", "input"}
HARMLESS = {"canonical", "prev", "next", "alternate"}  # relations that load nothing


class Document(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[tuple[str, bool]] = []  # and whether the browser loads it
        self.anchors: set[str] = set()
        self.policy = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        self.policy |= values.get("http-equiv") == "Content-Security-Policy" and values["content"].startswith("default-src 'self';")
        loads = tag in LOADS or (tag == "link" and not set(values.get("rel", "").split()) <= HARMLESS)
        self.links += [(values[name], loads) for name in ("href", "src", "action", "data", "poster") if name in values]
        self.links += [(part.split()[0], loads) for part in values.get("srcset", "").split(",") if part.strip()]


def main(directory: Path, prefix: str) -> None:
    documents = {path: Document(path.read_text()) for path in sorted(directory.rglob("*.html"))}
    broken, inside, anchors, outside = [], 0, 0, 0
    for path, document in documents.items():
        name = path.relative_to(directory)
        if not document.policy:
            broken.append(f"{name}: no policy that keeps other hosts out")
        base = f"{HOST}{prefix}{'' if name.name == '404.html' else name}"
        for link, loads in document.links:
            url = urlsplit(urljoin(base, link))
            if url.scheme == "data":
                continue
            if f"{url.scheme}://{url.netloc}" != HOST:
                outside += 1
                if loads:
                    broken.append(f"{name}: loads {link}")
                continue
            inside += 1
            target = directory / unquote(url.path).removeprefix(prefix)
            if url.path.endswith("/"):
                target /= "index.html"
            if not url.path.startswith(prefix) or not target.is_file():
                broken.append(f"{name}: {link}")
            elif url.fragment:
                anchors += 1
                if target not in documents or unquote(url.fragment) not in documents[target].anchors:
                    broken.append(f"{name}: {link} has no such anchor")
    for path in directory.rglob("*.css"):
        for found in re.findall(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^"')]*""", path.read_text()):
            broken.append(f"{path.relative_to(directory)}: loads {found}")
    for line in broken:
        print(line)
    print(f"pages {len(documents)}, links {inside} inside, {anchors} of them with anchors, {outside} outside; broken {len(broken)}")
    if broken or not anchors:
        sys.exit(1)


main(Path(sys.argv[1]), sys.argv[2])
