"""Corpora: imported, each import a version, and looked through."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.operations import corpora
from metaserver.operations.corpora import ArticlesOf, CorpusImported, ImportCorpus
from metaserver.operations.fields import NAME_HELP
from metaserver.operations.table import Nothing
from metaserver.web.access.bodies import upload
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import OperationForm, no_file, number, sent_file, tried
from metaserver.web.ui.forms import Form, Wording

PAGE = 100
WORDING = {
    "corpus": Wording(
        label="Name",
        help=f"{NAME_HELP.capitalize()}. The name of one that is there makes its next version.",
    ),
    "partial": Wording(
        label="Leave out files with faults",
        help="Otherwise nothing is imported as long as anything in it is wrong.",
    ),
}
IMPORTED = OperationForm(
    request=ImportCorpus, names=("corpus", "content", "partial"), wording=WORDING
)


@dataclass(frozen=True, kw_only=True)
class CorpusPages:
    """The handlers for corpora."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/organise/corpora", self.list),
            web.post("/organise/corpora", self.bring),
            web.get("/organise/corpora/{corpus}", self.articles),
        ]

    async def list(self, request: web.Request) -> web.Response:
        """Answer with all corpora's versions, and the import form."""
        return await self._list(request, self._form())

    def _form(self, values: object = None, refused: RefusedError | None = None) -> Form:
        limit = self.console.hub.settings.web.upload_bytes >> 20
        content = Wording(
            label="File",
            kind="file",
            help="Articles as text, JATS, PMC, publishers' or PubMed XML, BioC XML or JSON, plain"
            f" or gzip; or a zip of such files. At most {limit} MiB.",
        )
        return IMPORTED.form(values, refused, content=content)  # type: ignore[arg-type]

    async def _list(
        self,
        request: web.Request,
        form: Form,
        imported: CorpusImported | None = None,
        status: int = 200,
    ) -> web.Response:
        versions_listed = await self.console.ask(request, corpora.list_, Nothing())
        return self.console.answer(
            "organise_corpora.html",
            status=status,
            corpora=versions_listed,
            form=form,
            done=imported,
        )

    @upload
    async def bring(self, request: web.Request) -> web.Response:
        """Import a corpus; or show every file's fault at the field."""
        submitted = await posted(request)
        values, file = IMPORTED.values(submitted), sent_file(submitted)
        values |= {"content": file.content, "source": file.source or "-"}
        result: CorpusImported | RefusedError = (
            await tried(self.console.submit(request, corpora.import_, values), ("content",))
            if file.content
            else no_file()
        )
        if isinstance(result, RefusedError):
            return await self._list(request, self._form(submitted, result), status=result.refusal)
        return await self._list(request, self._form(), result)

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
