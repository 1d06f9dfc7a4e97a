"""Prose as HTML: Markdown without tables, whose raw HTML is shown as text, never passed through."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

import markdown  # type: ignore[import-untyped,unused-ignore]
from markdown.extensions.toc import TocExtension  # type: ignore[import-untyped,unused-ignore]
from markupsafe import Markup

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


def _converter() -> markdown.Markdown:
    contents = TocExtension(toc_depth="2-3")
    converter = markdown.Markdown(extensions=["sane_lists", contents])
    converter.preprocessors.deregister("html_block")
    converter.inlinePatterns.deregister("html")
    return converter


def inline(text: str) -> Markup:
    """A piece of a sentence in Markdown as HTML."""
    converted = str(_converter().convert(text))
    return Markup(converted.removeprefix("<p>").removesuffix("</p>"))


class Prose:
    """Markdown as HTML."""

    def __init__(self, text: str) -> None:
        """Convert the text."""
        converter = _converter()
        sections = _Sections(converter)
        converter.treeprocessors.register(sections, "sections", 0)
        self.body = str(converter.convert(text))
        self.contents = str(converter.toc)  # type: ignore[attr-defined,unused-ignore]
        """A list of links to the headings."""
        self.sections = sections.above
        """The id and the text of the heading above each paragraph that says only @@name@@."""


class _Sections(markdown.treeprocessors.Treeprocessor):  # type: ignore[misc,unused-ignore]
    """Remembers below which heading each place stands; headings have their ids by then."""

    def __init__(self, converter: markdown.Markdown) -> None:
        super().__init__(converter)
        self.above: dict[str, tuple[str, str]] = {}

    def run(self, root: Element) -> None:
        """Read a page."""
        heading = ("", "")
        for each in _leaves(root):
            text = "".join(each.itertext())
            if each.tag in HEADINGS:
                heading = (each.get("id", ""), text)
            elif text.startswith("@@") and text.endswith("@@"):
                self.above[text.strip("@")] = heading


def _leaves(root: Element) -> Iterator[Element]:
    return (each for each in root.iter() if each.tag == "p" or each.tag in HEADINGS)
