"""A package's folder: its files with a line on each, bounded in size.

For its deposit it is described as an RO-Crate (https://w3id.org/ro/crate/1.1);
the library `rocrate` would bring four more for a single JSON document, and dates it by the clock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from metaserver.base import files
from metaserver.base.errors import HubError
from metaserver.base.files import FOLDER_MODE
from metaserver.base.zips import CHECKSUMS
from scoring.tables import Table, csv_table, latex_float, latex_table

MOST_BYTES = 2**31
"""The maximum bytes in a package's files."""


class PackageFolder:
    """A new folder that at most `most` bytes are written into; `about` describes each file."""

    def __init__(self, folder: Path, limit: int = MOST_BYTES) -> None:
        self.place = folder
        self._most = limit
        self.about: dict[str, str] = {}
        self._size = 0
        folder.mkdir(mode=FOLDER_MODE, parents=True)

    def write(self, name: str, text: str | Iterable[str], about: str) -> None:
        """Write a file; `HubError` if the package would become too large."""
        with files.create(self.new(name, about)) as out:
            for part in [text] if isinstance(text, str) else text:
                data = part.encode()
                self._count(len(data))
                out.write(data)

    def append(self, name: str, text: str, about: str) -> None:
        """Write at the end of a file; `HubError` if the package would become too large."""
        if name not in self.about:
            files.create(self.new(name, about)).close()
        data = text.encode()
        self._count(len(data))
        with (self.place / name).open("ab") as out:
            out.write(data)

    def new(self, name: str, about: str) -> Path:
        """Return the path for a file that the caller writes before it calls `written`."""
        path = self.place / name
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        self.about[name] = about
        return path

    def written(self, name: str) -> None:
        """Count a file that another has written, and keep it for its owner alone."""
        path = self.place / name
        path.chmod(files.FILE_MODE)
        self._count(path.stat().st_size)

    def table(
        self,
        name: str,
        table: Table,
        about: str,
        *,
        printed: Table | None = None,
        bold: Collection[tuple[int, int]] = (),
        comments: Iterable[str] = (),
    ) -> None:
        """Write a table as CSV with all digits, and `printed` as LaTeX, best in bold."""
        self.write(f"{name}.csv", csv_table(table) + "\n", about)
        tabular = latex_table(printed or table, bold)
        label = f"tab:{name.removeprefix('tables/').replace('/', '-')}"
        lines = [*(f"% {comment}" for comment in comments), latex_float(tabular, about, label)]
        self.write(f"{name}.tex", "\n".join(lines) + "\n", f"{about} (LaTeX, booktabs)")

    def finish(self) -> None:
        """Write all files' checksums."""
        lines = []
        for name in sorted(self.about):
            with (self.place / name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            lines.append(f"{digest}\t{(self.place / name).stat().st_size}\t{name}\n")
        self.write(CHECKSUMS, lines, "SHA-256 and size of every file")

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._most:
            raise HubError(f"a package has more than {self._most:,} bytes: nothing was made")


METADATA = "ro-crate-metadata.json"
_TYPES = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".svg": "image/svg+xml",
    ".tex": "application/x-tex",
    ".tsv": "text/tab-separated-values",
    ".txt": "text/plain",
    ".xml": "application/xml",
}

NO_LICENCE = "No licence is given: ask the organisers before you use this for anything else."
"""Said of a package without a licence: RO-Crate demands `license`, and takes words too."""


def write_crate(
    folder: PackageFolder,
    *,
    name: str,
    description: str,
    published: str,
    license_url: str,
    authors: Sequence[str] = (),
    keywords: Sequence[str],
) -> None:
    """Write the metadata of the files that are there; `published` is a date (ISO 8601)."""
    people = [
        {"@id": f"#author-{number}", "@type": "Person", "name": author}
        for number, author in enumerate(authors, 1)
    ]
    files = [_file(folder, path, about) for path, about in sorted(folder.about.items())]
    files.append(
        {
            "@id": CHECKSUMS,
            "@type": "File",
            "name": "SHA-256 and size of every file",
            "encodingFormat": _TYPES[".tsv"],
        }
    )
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": name,
        "description": description,
        "datePublished": published,
        "license": {"@id": license_url} if license_url else NO_LICENCE,
        "keywords": ", ".join(keywords),
        "hasPart": [{"@id": article_file["@id"]} for article_file in files],
        "mentions": {"@id": "#metaserver"},
    }
    if people:
        root["author"] = [{"@id": person["@id"]} for person in people]
    contexts: list[Mapping[str, Any]] = [*people]
    if license_url:
        contexts.append(
            {
                "@id": license_url,
                "@type": "CreativeWork",
                "name": license_url,
                "description": "The licence that the organisers chose for this package.",
            }
        )
    software = {
        "@id": "#metaserver",
        "@type": "SoftwareApplication",
        "name": "BioCreative Meta-Server",
    }
    descriptor = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    graph = [descriptor, root, *files, *contexts, software]
    document = {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    folder.write(METADATA, text, "RO-Crate metadata of the package")


def _file(folder: PackageFolder, path: str, about: str) -> Mapping[str, Any]:
    entity = {
        "@id": path,
        "@type": "File",
        "name": about,
        "contentSize": str((folder.place / path).stat().st_size),
    }
    kind = _TYPES.get(PurePath(path).suffix)
    return entity | ({"encodingFormat": kind} if kind else {})
