"""Figures as parts of a page."""

import re

from markupsafe import Markup

HINT = "Point at a box, tap it, or choose it by the arrows up and down: it says more here."
TELLING = Markup(
    '<figcaption><span><button type="button" value="+">Zoom in</button> '
    '<button type="button" value="-">Zoom out</button> '
    '<button type="button" value="0">Reset</button></span><output>{}</output></figcaption>'
).format(HINT)
"""What stands below a picture with charts to zoom."""


def figure(svg: str, label: str) -> Markup:
    """An SVG as a figure. One with charts to zoom is a group, so that their boxes can be read."""
    said = Markup('<figcaption aria-hidden="true">{}</figcaption>').format(label)
    role, caption = ("group", TELLING) if 'class="zoom"' in svg else ("img", said)
    opening = Markup('<figure role="{}" aria-label="{}" tabindex="0">').format(role, label)
    return opening + Markup(svg) + caption + Markup("</figure>")


def inlined(svg: str, name: str) -> str:
    """An SVG as a part of a page, of which no other has its ids; ValueError if it isn't one."""
    drawn = _slim(svg[svg.index("<svg") :], name)
    short: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        return found[1] + short.setdefault(found[2], f"{name}.{len(short):x}")

    return re.sub(r'((?<!\w)id="|href="#|url\(#)([^")]+)', renamed, drawn)


def _slim(svg: str, name: str) -> str:
    """An SVG of matplotlib's in fewer bytes, half of which say the same style again."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\n +", "\n", svg).replace("\n\n", "\n")
    svg = re.sub(r'<g id="[^"]*">', "<g>", re.sub(r' transform="rotate\(-0 [^"]*"', "", svg))
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{3,}", _rounded, tag[0]), svg)
    styles: dict[str, str] = {}

    def classed(found: re.Match[str]) -> str:
        return f' class="{styles.setdefault(found[1], f"{name}-{len(styles)}")}"'

    svg = re.sub(r' style="([^"]*)"', classed, _flat(svg)).replace("xlink:href", "href")
    rules = "".join(f".{each}{{{style}}}" for style, each in styles.items())
    return re.sub(r"(<svg[^>]*>)", rf"\1<style>{rules}</style>", svg, count=1) if rules else svg


def _flat(svg: str) -> str:
    """An SVG without groups that say nothing."""
    kept: list[bool] = []

    def group(tag: re.Match[str]) -> str:
        if tag[0] != "</g>":
            kept.append(tag[0] != "<g>")
        is_kept = kept[-1] if tag[0] != "</g>" else kept.pop()
        return tag[0] if is_kept else ""

    return re.sub(r"\n\n+", "\n", re.sub(r"<g(?: [^>]*[^/])?>|</g>", group, svg))


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
