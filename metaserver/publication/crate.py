"""Describing a package as an RO-Crate (https://w3id.org/ro/crate/1.1), for its deposit.

The library `rocrate` would bring four more for a single JSON document, and dates it by the clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from metaserver.publication.folder import PackageFolder
from metaserver.publication.zips import CHECKSUMS

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


def write_crate(
    folder: PackageFolder,
    *,
    name: str,
    description: str,
    published: str,
    license_url: str,
    keywords: Sequence[str],
) -> None:
    """Write the metadata of the files that are there; `published` is a date (ISO 8601)."""
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
        "keywords": ", ".join(keywords),
        "hasPart": [{"@id": article_file["@id"]} for article_file in files],
        "mentions": {"@id": "#metaserver"},
    }
    contexts: list[Mapping[str, Any]] = []
    if license_url:
        root["license"] = {"@id": license_url}
        contexts.append({"@id": license_url, "@type": "CreativeWork", "name": license_url})
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
