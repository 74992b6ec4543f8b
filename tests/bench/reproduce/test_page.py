"""The report parses, holds every section, and loads nothing from elsewhere."""

import base64
from html.parser import HTMLParser

import pytest

from napari_celis.bench.reproduce.page import write_page
from napari_celis.bench.reproduce.section import Finding, Paragraph, Picture, Section, Table
from napari_celis.bench.reproduce.sections import SECTIONS

ABOUT = {
    "volumes": {"judged": "a <script>alert(1)</script> & b.h5"},
    "command": "celis reproduce -o 'a b'",
    "environment": {"Python": "3.11"},
}
EMPTY = {"meta", "img", "link", "br"}
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


class Reader(HTMLParser):
    """Follows the tags of a page, and refuses those that do not close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.words = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in EMPTY:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src"):
                self.links.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def plain_section(name):
    blocks = [
        Paragraph("**bold** and `x < y`"),
        Table(("", "a & b"), [["row", "1.0"], ["<b>", "2"]], "cap", [(0, 1)], [("both", 2)]),
        Picture(SVG, 'a "picture"'),
    ]
    return Section(
        name,
        f"Title of {name}",
        "Figure 1",
        lambda *_: {},
        lambda _: blocks,
        lambda _: [Finding("w", "p", "h")],
    )


def kept(*names):
    return {name: {"numbers": {}, "took": {"seconds": 2.0, "processor_seconds": 1.0}} for name in names}


def test_a_page_with_everything():
    sections = [plain_section("one"), plain_section("two")]
    page = write_page(ABOUT, kept("one", "two"), sections)
    reader = read(page)
    assert reader.ids == ["one", "two"]
    assert "script" not in reader.tags
    assert "link" not in reader.tags
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in reader.links)
    picture = next(link for link in reader.links if link.startswith("data:"))
    assert base64.b64decode(picture.split(",")[1]) == SVG
    assert "a <script>alert(1)</script> & b.h5" in "".join(reader.words)
    assert "x < y" in reader.words
    assert "Not measured yet" not in page
    assert '<td class="best">1.0</td>' in page


def test_what_is_missing_is_named():
    page = write_page(ABOUT, kept("one"), [plain_section("one"), plain_section("two")])
    assert read(page).ids == ["one"]
    assert "Not measured yet" in page
    assert "two. The same command" in page


def test_a_page_without_any_section():
    assert read(write_page(ABOUT, {}, SECTIONS)).ids == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_every_section_names_the_paper(section):
    assert any(word in section.paper for word in ("Figure", "Table", "no counterpart", "Performance"))
    assert section.title
