"""Corpora: imported, each import a version, and looked through."""

from __future__ import annotations

from functools import cached_property

from aiohttp import web

from metaserver.operations import corpora
from metaserver.operations.corpora import ArticlesOf, CorpusImported
from metaserver.operations.fields import NAME_HELP
from metaserver.operations.table import Nothing
from metaserver.web.ui.console import ConsolePages
from metaserver.web.ui.form_pages import FormPage, number
from metaserver.web.ui.forms import Form, Wording

PAGE = 100
WORDING = {
    "corpus": Wording(
        label="Name",
        help=f"{NAME_HELP.capitalize()}. An existing name makes its next version.",
    ),
    "partial": Wording(
        label="Leave out files with faults",
        help="Otherwise nothing is imported if any file is wrong.",
    ),
}


class CorpusPages(ConsolePages):
    """The handlers for corpora."""

    @cached_property
    def _import(self) -> FormPage[CorpusImported]:
        limit = self.console.hub.settings.web.upload_bytes >> 20
        content = Wording(
            label="File",
            kind="file",
            help="Articles as text, JATS, PMC, publishers' or PubMed XML, BioC XML or JSON, plain"
            f" or gzip; or a zip of such files. At most {limit} MiB.",
        )
        return FormPage(
            console=self.console,
            path="/organise/corpora",
            operation=corpora.import_,
            fields=("corpus", "content", "partial"),
            show=self._list,
            then=lambda request, imported: self._list(request, self._import.form(), imported),
            wording=WORDING | {"content": content},
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [*self._import.routes(), web.get("/organise/corpora/{corpus}", self.articles)]

    async def _list(
        self, request: web.Request, form: Form, imported: CorpusImported | None = None
    ) -> web.Response:
        """Answer with all corpora's versions, and the import form, with every file's fault."""
        return self.console.answer(
            "organise_corpora.html",
            status=form.status,
            corpora=await self.console.ask(request, corpora.list_, Nothing()),
            form=form,
            done=imported,
        )

    async def articles(self, request: web.Request) -> web.Response:
        """Answer with a corpus's articles, in pages."""
        name, query = request.match_info["corpus"], request.query
        listed = await self.console.ask(request, corpora.list_, Nothing())
        versions = [version_detail for version_detail in listed if version_detail.corpus == name]
        newest = versions[0].version if versions else 1
        version, start = number(query.get("version", "")) or newest, number(query.get("start", ""))
        request_sent = ArticlesOf(corpus=name, version=version, start=start, limit=PAGE + 1)
        listed_articles = await self.console.ask(request, corpora.list_articles, request_sent)
        return self.console.answer(
            "organise_corpus.html",
            corpus=next(
                version_detail for version_detail in versions if version_detail.version == version
            ),
            versions=versions,
            articles=listed_articles[:PAGE],
            start=start,
            earlier=max(0, start - PAGE) if start else None,
            later=start + PAGE if len(listed_articles) > PAGE else None,
        )
