"""Makes elements of SVG 1.1: shapes, text with everything escaped, and a style sheet for light and dark mode.

Colours are classes with plain values, and not variables, so that viewers that are no browsers show the colours, too.
"""

from collections.abc import Iterable
from html import escape
from typing import Final

from ..check.report.styled_lines import visible

FONT_WIDTH: Final = 0.61
"""The width of a monospaced character relative to the font size; DejaVu Sans Mono, the widest common font, has
0.602."""

# class: light, dark. Text on a fill has a contrast of 4.5 or more in both (WCAG 2.2, 1.4.3).
_FILLS: Final = {
    "paper": ("#ffffff", "#0d1117"),
    "panel": ("#f3f5f8", "#161b22"),
    "ink": ("#1c2128", "#e6edf3"),
    "faint": ("#57606a", "#9aa4af"),
    "good": ("#1a7f37", "#3fb950"),
    "warn": ("#9a6700", "#d29922"),
    "ill": ("#cf222e", "#ff7b72"),
    "whole": ("#cfe3f7", "#1f3f63"),
    "part1": ("#c8ead2", "#1d4a2b"),
    "part2": ("#dcd4f5", "#3b2f6b"),
    "free": ("#ffffff", "#0d1117"),
    "near": ("#b9e4c6", "#1d4a2b"),
    "mid": ("#d3e5f8", "#1f3f63"),
    "far": ("#f6e3b4", "#553f10"),
    "bad": ("#ffd7d5", "#5c1a1b"),
    "self": ("#e4e7eb", "#30363d"),
}
_STROKES: Final = {"line": ("#c3cad3", "#3d444d")}


def style() -> str:
    """Return the CSS style sheet of an SVG picture, for light and dark mode."""
    light = _rules(0)
    dark = _rules(1)
    font = "font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"
    night = f"@media screen and (prefers-color-scheme:dark){{{dark}}}"  # paper is white
    return f"<style>.pb text{{{font}}}.pb .b{{font-weight:bold}}{light}{night}</style>"


def _rules(column: int) -> str:
    fills = (f".pb .{name}{{fill:{colours[column]}}}" for name, colours in _FILLS.items())
    strokes = (f".pb .{name}{{stroke:{colours[column]}}}" for name, colours in _STROKES.items())
    return "".join((*fills, *strokes))


def safe(text: str) -> str:
    """Return a text from a document as XML character data: escaped, and without characters that XML forbids."""
    return escape(visible(text), quote=True)


def fits(text: str, room: float, size: float) -> bool:
    """Return whether a text of font size ``size`` fits into ``room`` pixels."""
    return len(visible(text)) * size * FONT_WIDTH <= room


def fitted(text: str, room: float, size: float, *, keeps_end: bool = False) -> str:
    """Return a text, truncated to fit into ``room`` pixels at font size ``size``.

    With ``keeps_end``, the text is truncated in its middle: identifiers often differ at their ends alone.
    """
    most = max(int(room / (size * FONT_WIDTH)), 0)
    shown = visible(text)
    if len(shown) <= most:
        return shown
    end = (most - 1) // 2 if keeps_end else 0
    return f"{shown[: max(most - 1 - end, 0)]}…{shown[len(shown) - end :]}" if most else ""


def text(x: float, y: float, words: str, look: str = "ink", *, size: float = 13, anchor: str = "start") -> str:
    """Return the SVG element for one line of text, ``words``, with its baseline at ``y``.

    ``look`` is the CSS class of the text, and ``size`` the font size in pixels. ``anchor`` is SVG's text-anchor: the
    part of the text (start, middle or end) that is at ``x``.
    """
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" class="{look}"{at}>{safe(words)}</text>'


def box(x: float, y: float, width: float, height: float, look: str, *, tip: str = "") -> str:
    """Return the SVG element for a rectangle of the CSS class ``look``; ``tip`` is the tooltip, empty for none."""
    said = f"<title>{safe(tip)}</title>" if tip else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{max(width, 0):g}" height="{height:g}" rx="3" class="{look}">{said}</rect>'
    )


def drawing(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """Return an SVG picture of the elements ``parts``, which can be a file, or be embedded in an HTML page."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="pb" role="img" '
        'aria-labelledby="pb-title" aria-describedby="pb-desc" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">\n'
        f'<title id="pb-title">{safe(title)}</title>\n<desc id="pb-desc">{safe(description)}</desc>\n{style()}\n'
        f"{box(0, 0, width, height, 'paper')}\n" + "\n".join(parts) + "\n</svg>\n"
    )
