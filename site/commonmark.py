"""Renders Markdown as GitHub does, for which the pages are written.

Python-Markdown, which MkDocs calls, reads nested lists, emphasis and lists after paragraphs in another way. It keeps what
comes after the parsing: anchors, the table of contents and links.
"""

from __future__ import annotations

import xml.etree.ElementTree as etree

from markdown import Extension, Markdown
from markdown.util import Registry
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name


class Renderer(RendererHTML):
    def fence(self, tokens: list[Token], index: int, *_: object) -> str:
        """Returns a block of code with the classes of the theme's colours. An unknown language is an error."""
        language = tokens[index].info.split()[:1] or ["text"]
        code = highlight(tokens[index].content, get_lexer_by_name(language[0]), HtmlFormatter(nowrap=True))
        return f'<div class="highlight"><pre><code>{code}</code></pre></div>\n'

    code_block = fence


class Parser:
    def __init__(self) -> None:
        self.markdown = MarkdownIt("commonmark", {"xhtmlOut": True}, renderer_cls=Renderer).enable("table")

    def parseDocument(self, lines: list[str]) -> etree.ElementTree:
        html = self.markdown.render("\n".join(lines))
        root = etree.fromstring(f"<div>{html}</div>")
        for cell in root.iter("th"):
            if not "".join(cell.itertext()).strip():
                cell.tag = "td"  # a heading without words confuses screen readers
        return etree.ElementTree(root)


class CommonMark(Extension):
    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors = Registry()
        md.treeprocessors.deregister("inline")
        md.parser = Parser()
