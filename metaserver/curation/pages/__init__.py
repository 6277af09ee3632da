"""The curators' pages: articles are asked about, candidates decided, decisions taken away."""

from metaserver.curation.pages.pages import CuratorPages

__all__ = ["CuratorPages"]
