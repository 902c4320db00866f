"""Builds the site from the Markdown as it is: pages link to source files and to Markdown outside `docs`,
which become pages of the site; notebooks become pages with their outputs; public names get a reference.

mkdocs calls the functions named on_*; mkdocs.yml names this file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import relpath
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]*)(#[^)\s]*)?(\))")
CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".yaml": "yaml", ".cff": "yaml", ".cpp": "cpp", ".txt": "text"}
MOST_BYTES = 400_000
REFERENCE = "reference/python.md"


def links(text: str) -> Iterator[str]:
    """The targets of all relative links outside of code."""
    for part in CODE.split(text)[::2]:
        yield from (found[2] for found in LINK.finditer(part) if found[2] and not _is_external(found[2]))


def _is_external(target: str) -> bool:
    return re.match(r"[a-z]+:", target) is not None


def page_of(file: Path) -> str | None:
    """The page of the site that shows a file of the repository; None if none does."""
    if DOCS in file.parents:
        inside = file.relative_to(DOCS).as_posix()
        return inside.removesuffix(".ipynb") + ".md" if file.suffix == ".ipynb" else inside
    if not file.is_relative_to(ROOT) or not file.is_file() or file.stat().st_size > MOST_BYTES:
        return None
    outside = file.relative_to(ROOT).as_posix()
    return f"project/{outside}" if file.suffix == ".md" else f"source/{outside}.md"


def linked_files(start: list[Path]) -> list[Path]:
    """The files outside `docs`, and the notebooks, that pages lead to, directly or by each other."""
    found: list[Path] = []
    seen, waiting = set(start), list(start)
    while waiting:
        page = waiting.pop()
        for target in links(page.read_text(encoding="utf-8")):
            file = (page.parent / target).resolve()
            if file in seen or page_of(file) is None or not file.is_file():
                continue
            seen.add(file)
            if DOCS not in file.parents or file.suffix == ".ipynb":
                found.append(file)
                if file.suffix == ".md":
                    waiting.append(file)
    return sorted(found)


def rewritten(text: str, file: Path, page: str) -> str:
    """The Markdown of a file as the page `page`: each link leads to the page that shows its target."""

    def replaced(found: re.Match[str]) -> str:
        start, target, anchor, end = found[1], found[2], found[3] or "", found[4]
        if not target or _is_external(target):
            return found[0]
        wanted = page_of((file.parent / target).resolve())
        if wanted is None:  # a folder, or a file too large to show: its name, without a link
            return start.strip("![(").removesuffix("]")
        return f"{start}{relpath(wanted, Path(page).parent.as_posix())}{anchor}{end}"

    parts = CODE.split(text)
    return "".join(part if number % 2 else LINK.sub(replaced, part) for number, part in enumerate(parts))


def shown(file: Path) -> str:
    """The Markdown of a generated page."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return rewritten(text, file, page_of(file) or "")
    if file.suffix == ".ipynb":
        return rewritten(notebook(json.loads(text)), file, page_of(file) or "")
    name = file.relative_to(ROOT).as_posix()
    fence = "````"
    return f"# `{name}`\n\n{fence}{LANGUAGES.get(file.suffix, 'text')}\n{text}\n{fence}\n"


def notebook(content: dict[str, Any]) -> str:
    """A notebook as Markdown: text, code, and what was printed and drawn."""
    parts: list[str] = []
    for cell in content["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            if written := "".join(output.get("text", ())):
                parts.append(f"```text\n{written.rstrip()}\n```")
            if image := output.get("data", {}).get("image/png"):
                inline = f"data:image/png;base64,{''.join(image)}"
                parts.append(f'<img alt="drawn by the cell above" src="{inline}">')
    return "\n\n".join(parts) + "\n"


def reference() -> str:
    """A page with every public name, read from the source by mkdocstrings."""
    import somelab

    where = somelab._WHERE  # pyright: ignore[reportPrivateUsage]
    parts = ["# Python reference", "", "Every name of `import somelab`, with signatures and source.", ""]
    parts += [f"::: somelab.{where[name]}.{name}\n" for name in somelab.__all__]
    return "\n".join(parts)


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    pages = [Path(file.abs_src_path) for file in files.documentation_pages()]
    for file in linked_files(pages):
        page = page_of(file)
        assert page is not None
        files.append(File.generated(config, page, content=shown(file)))
    files.append(File.generated(config, REFERENCE, content=reference()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Pages of `docs`; generated ones are rewritten already."""
    if page.file.generated_by is not None:
        return markdown
    return rewritten(markdown, Path(page.file.abs_src_path), page.file.src_uri)
