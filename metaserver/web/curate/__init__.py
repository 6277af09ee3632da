"""The curators' pages: articles are asked about, candidates decided, decisions taken away."""

from metaserver.web.curate.pages import CuratorPages

__all__ = ["CuratorPages"]
