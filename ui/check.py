"""Are the committed pages those that these sources give? Compares the digest that the builds carry; needs no
Node. `python ui/check.py --rebuild` also builds anew where Node is installed, and compares every byte."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "src" / "somelab" / "view" / "static"
PAGES = ("index.html", "playground.html")
DOCS_COPY = HERE.parent / "docs" / "playground.html"
SINGLE_FILES = (
    "index.html",
    "package-lock.json",
    "package.json",
    "playground.html",
    "sources.ts",
    "tsconfig.json",
    "vite.config.ts",
)


def source_digest(root: Path = HERE) -> str:
    """The same as `sourceDigest` in sources.ts: SHA-256 over path and content of every source file, in the
    order of their paths."""
    names = [*SINGLE_FILES]
    for folder in ("public", "src"):
        names += [path.relative_to(root).as_posix() for path in (root / folder).rglob("*") if path.is_file()]
    digest = hashlib.sha256()
    for name in sorted(names):
        content = (root / name).read_bytes().replace(b"\r\n", b"\n")
        digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()


def built_digest(page: Path) -> str:
    """The digest that a built page carries."""
    found = re.search(r'<meta name="ui-sources" content="([0-9a-f]{64})">', page.read_text(encoding="utf-8"))
    return found[1] if found else "none"


def rebuilt_differences() -> list[str]:
    """Files of the committed build that a fresh one does not give."""
    if not (HERE / "node_modules").is_dir():
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=HERE, check=True)
    with tempfile.TemporaryDirectory() as folder:
        for more in (["--emptyOutDir"], ["--mode", "playground"]):
            subprocess.run(
                ["npx", "vite", "build", "--outDir", folder, *more, "--logLevel", "warn"],
                cwd=HERE,
                check=True,
            )
        fresh, committed = Path(folder), BUILD
        names = {path.name for path in fresh.iterdir()} | {path.name for path in committed.iterdir()}
        return sorted(name for name in names if _content(fresh / name) != _content(committed / name))


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def main(arguments: list[str]) -> int:
    pages = [*(BUILD / name for name in PAGES), DOCS_COPY]
    if any(built_digest(page) != source_digest() for page in pages):
        print(
            "the pages in src/somelab/view/static and docs/playground.html are not built from ui/ as it is "
            "now; run `make ui`",
            file=sys.stderr,
        )
        return 1
    if "--rebuild" in arguments and shutil.which("npx"):
        if differing := rebuilt_differences():
            print(f"a fresh build differs in {', '.join(differing)}; run `make ui`", file=sys.stderr)
            return 1
        print("the pages are what a fresh build gives")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
