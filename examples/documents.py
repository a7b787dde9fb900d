"""Documents with highlighting: index the pages of docs/ and print the best passages for a query.

python examples/documents.py ["query"]
"""

from __future__ import annotations

import sys
import tempfile
from html import unescape
from pathlib import Path

import pyarrow as pa

import indextables as it

DOCS = Path(__file__).resolve().parent.parent / "docs"


def passages(directory: Path) -> pa.Table:
    """Return one row for each section of each page."""
    rows = []
    for page in sorted(directory.glob("*.md")):
        title = page.stem
        for part in page.read_text().split("\n#"):
            heading, _, text = part.partition("\n")
            rows.append({"page": page.name, "title": heading.strip("# ") or title, "text": text.strip()})
    return pa.Table.from_pylist([row for row in rows if row["text"]])


def main() -> None:
    query = sys.argv[1] if len(sys.argv) > 1 else 'text:(purge AND retention) OR title:"erase rows"'
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "documents"
        it.write(path, passages(DOCS), text=["title", "text"])
        hits = it.open(path).hits(query, limit=5, snippet="text")
        print(hits)
        for row in hits.arrow.to_pylist():
            snippet = unescape(row["_snippet"] or row["text"][:120]).replace("\n", " ")
            print(f"\n{row['_score']:.2f}  {row['page']}: {row['title']}")
            print("     ", snippet.replace("<b>", "**").replace("</b>", "**"))


if __name__ == "__main__":
    main()
