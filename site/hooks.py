"""Makes a site of pages that are written for the repository.

Links in docs/ are relative to the repository, so that they work there. Here a link to a file that is a page leads to the
page, a link to any other file leads to the repository on the web, and a picture from elsewhere in the repository is
copied. A link to a file that does not exist ends the build.
"""

from __future__ import annotations

import os
import posixpath
import re
import xml.etree.ElementTree as etree
from pathlib import Path
from urllib.parse import unquote, urlsplit

from commonmark import CommonMark
from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
DECISIONS = "adr/index.md"


def pages_outside_docs() -> dict[str, str]:
    """Returns the names of the site's pages that are not in docs/, by their path in the repository."""
    pages = {f"project/{page.name.lower()}": page.name for page in sorted(ROOT.glob("*.md")) if page.name != "README.md"}
    return {"python.md": "python/README.md"} | pages


class Links(Treeprocessor):
    """Links turns the links of one page after another."""

    def __init__(self, config: MkDocsConfig) -> None:
        self.config = config
        self.outside = pages_outside_docs()
        self.pages = {path: name for name, path in self.outside.items()} | {"docs/adr": DECISIONS}
        self.revision = os.environ.get("PSI_REVISION", "main")
        self.files = Files([])
        self.name = ""

    def source(self) -> str:
        """Returns the path of the page in the repository."""
        return self.outside.get(self.name, f"docs/{self.name}")

    def run(self, root: etree.Element) -> None:
        for element in root.iter():
            for attribute in {"a": ["href"], "img": ["src"]}.get(element.tag, []):
                if link := element.get(attribute):
                    element.set(attribute, self.turned(link, copy=element.tag == "img"))

    def turned(self, link: str, *, copy: bool) -> str:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            return link
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.source()), unquote(parts.path)))
        place = ROOT / path
        if path.startswith("..") or not place.exists():
            raise PluginError(f"{self.source()}: {link} leads to {path}, which does not exist")
        name = self.pages.get(path)
        if name is None and path.startswith("docs/") and place.is_file():
            name = path.removeprefix("docs/")
        if name is None and copy:
            name = f"repository/{path}"
            if not self.files.get_file_from_path(name):
                self.files.append(File.generated(self.config, name, abs_src_path=str(place)))
        if name is None:
            kind = "tree" if place.is_dir() else "blob"
            url = f"{self.config.repo_url}/{kind}/{self.revision}/{path}"
        else:
            url = posixpath.relpath(name, posixpath.dirname(self.name) or ".")
        return url + (f"#{parts.fragment}" if parts.fragment else "")


class LinksExtension(Extension):
    def __init__(self, links: Links) -> None:
        super().__init__()
        self.links = links

    def extendMarkdown(self, md: Markdown) -> None:
        md.treeprocessors.register(self.links, "links", 1)  # after inline text is parsed, before MkDocs looks at links


def decision_title(page: Path) -> str:
    """Returns the heading of a decision, which begins with its number: "# 0007: Title" or "# 7. Title"."""
    heading = page.read_text().split("\n", 1)[0]
    if not (found := re.fullmatch(r"# 0*(\d+)(?::|\.) (.+)", heading)):
        raise PluginError(f'{page}: the first line is not "# NUMBER. TITLE"')
    return f"{found[1]}: {found[2]}"


def expanded(entry: object, names: list[str]) -> list[object]:
    """Replaces patterns in the navigation by the pages that they match, of which there may be none."""
    match entry:
        case str() if "*" in entry:
            found = [name for name in names if Path(name).match(entry)]
            return [{decision_title(DOCS / name): name} if name.startswith("adr/") else name for name in found]
        case list():
            return [[e for part in entry for e in expanded(part, names)]]
        case dict():
            return [{title: expanded(part, names)[0] for title, part in entry.items()}]
    return [entry]


links: Links


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    global links
    links = Links(config)
    config.markdown_extensions += [CommonMark(), LinksExtension(links)]
    names = sorted([str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")] + list(links.outside))
    config.nav = expanded(config.nav, names)[0]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, path in links.outside.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    files.append(File.generated(config, DECISIONS, content=decisions(DOCS / "adr")))
    links.files = files
    return files


def decisions(directory: Path) -> str:
    """Returns the page that lists the decisions."""
    items = [f"- [{decision_title(page)}]({page.name})" for page in sorted(directory.glob("*.md"))]
    return "\n".join(["# Decisions", "", "Each page is one decision, with the measurements of what was rejected.", "", *items, ""])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    links.name = page.file.src_uri
    return markdown


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Names the theme's search dialogue, for screen readers."""
    unnamed = 'data-md-component="search" role="dialog"'
    if output.count(unnamed) != 1:
        raise PluginError("the theme has changed: its search dialogue is not found")
    return output.replace(unnamed, unnamed + ' aria-label="Search"')
